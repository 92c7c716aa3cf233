/* Counters shared by threads, and pauses for loops that wait until a counter changes.
 *
 * Design: oracle calls may take microseconds. The threads of a pool therefore take tickets, the numbers
 * of the tasks of a run, from a counter, and spin until the next run; threads that wait longer yield
 * the processor. The inputs of a run are published by `store` and `load`, the results of its tasks by
 * `add` and `load`. `replace`, which takes a ticket, does not order memory accesses, so
 * ThreadSanitizer detects any two conflicting tasks of a run; on x86, the instruction is the same. In
 * builds with ThreadSanitizer, threads yield before they take a ticket, since a short run might
 * otherwise end before the other threads start.
 */
#ifndef SSTRUCT_THREADS_H
#define SSTRUCT_THREADS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#include <windows.h>
typedef volatile __int64 sstruct_counter;
static __forceinline int64_t sstruct_load(sstruct_counter *c) { return _InterlockedCompareExchange64(c, 0, 0); }
static __forceinline void sstruct_store(sstruct_counter *c, int64_t x) { _InterlockedExchange64(c, x); }
static __forceinline int64_t sstruct_add(sstruct_counter *c, int64_t x) { return _InterlockedExchangeAdd64(c, x); }
static __forceinline int sstruct_replace(sstruct_counter *c, int64_t old, int64_t x)
{
    return _InterlockedCompareExchange64(c, x, old) == old;
}
static __forceinline void sstruct_pause(void) { YieldProcessor(); }
static __forceinline void sstruct_give_way(void) { SwitchToThread(); }
static __forceinline void sstruct_sleep(void) { Sleep(1); }
#else
#include <sched.h>
#include <time.h>
typedef int64_t sstruct_counter;
static inline int64_t sstruct_load(sstruct_counter *c) { return __atomic_load_n(c, __ATOMIC_ACQUIRE); }
static inline void sstruct_store(sstruct_counter *c, int64_t x) { __atomic_store_n(c, x, __ATOMIC_RELEASE); }
static inline int64_t sstruct_add(sstruct_counter *c, int64_t x) { return __atomic_fetch_add(c, x, __ATOMIC_RELEASE); }
static inline int sstruct_replace(sstruct_counter *c, int64_t old, int64_t x)
{
#if defined(__SANITIZE_THREAD__)
    sched_yield();
#endif
    return __atomic_compare_exchange_n(c, &old, x, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#if defined(__x86_64__) || defined(__i386__)
static inline void sstruct_pause(void) { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
static inline void sstruct_pause(void) { __asm__ __volatile__("yield"); }
#else
static inline void sstruct_pause(void) {}
#endif
static inline void sstruct_give_way(void) { sched_yield(); }
static inline void sstruct_sleep(void)
{
    const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
}
#endif

/* One turn of waiting: a pause at first, later yielding to other threads. */
static inline void sstruct_wait(int64_t turn)
{
    if (turn < 2000) sstruct_pause();
    else sstruct_give_way();
}

/* The same for an idle thread, which may wait for a long time. */
static inline void sstruct_rest(int64_t turn)
{
    if (turn < 3000) sstruct_wait(turn);
    else sstruct_sleep();
}

#endif
