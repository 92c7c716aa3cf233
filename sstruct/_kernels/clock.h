/* Seconds of a monotonic clock; used in passes without the GIL. */
#ifndef SSTRUCT_CLOCK_H
#define SSTRUCT_CLOCK_H

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
static double sstruct_seconds(void)
{
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceFrequency(&per_second);
    QueryPerformanceCounter(&ticks);
    return (double)ticks.QuadPart / (double)per_second.QuadPart;
}
#else
#include <time.h>
static double sstruct_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif

#endif
