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
#define SSTRUCT_WORK_PER_CHECK 2e6

SSTRUCT_THREAD_LOCAL double sstruct_work_since_check;

static inline int sstruct_is_check_due(double work)
{
    sstruct_work_since_check += work;
    if (!(sstruct_work_since_check >= SSTRUCT_WORK_PER_CHECK)) return 0;
    sstruct_work_since_check = 0;
    return 1;
}

#endif
