/* Whether it is time to look for signals, told by work that is counted: without a clock or a lock.
 *
 * A thread has a count of its own in every module, so that loops of many short calls add up too. */
#ifndef SSTRUCT_INTERRUPTION_H
#define SSTRUCT_INTERRUPTION_H

#if defined(_MSC_VER)
#define SSTRUCT_THREAD_LOCAL static __declspec(thread)
#else
#define SSTRUCT_THREAD_LOCAL static __thread
#endif

/* Units of about a nanosecond, as `work` of oracles. */
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
