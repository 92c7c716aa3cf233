/* Decides by counted work, without a clock or a lock, whether to check for signals.
 *
 * Each thread has a separate count in every module, so that many short calls are summed. */
#ifndef SSTRUCT_INTERRUPTION_H
#define SSTRUCT_INTERRUPTION_H

#if defined(_MSC_VER)
#define SSTRUCT_THREAD_LOCAL static __declspec(thread)
#else
#define SSTRUCT_THREAD_LOCAL static __thread
#endif

/* In units of about a nanosecond, like the work of decoders. */
#define SSTRUCT_WORK_PER_LOOK 2e6

SSTRUCT_THREAD_LOCAL double sstruct_work_since_look;

static inline int sstruct_is_look_due(double work)
{
    sstruct_work_since_look += work;
    if (!(sstruct_work_since_look >= SSTRUCT_WORK_PER_LOOK)) return 0;
    sstruct_work_since_look = 0;
    return 1;
}

#endif
