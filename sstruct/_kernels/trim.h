/* Returns freed memory to the system. glibc keeps the memory of freed arrays of up to 32 MB. */
#ifndef SSTRUCT_TRIM_H
#define SSTRUCT_TRIM_H

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
static void sstruct_trim(void) { malloc_trim(0); }
#else
static void sstruct_trim(void) {}
#endif

#endif
