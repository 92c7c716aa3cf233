/* The direct min-plus convolution: out[l] = min over a + b = l of first[a] + second[b].
 *
 * For each a, a row of sums is compared with the outputs from a on, which compilers vectorize. With
 * gcc it is also compiled for AVX-512 and AVX2 (see kernels.h). +inf forbids; there is no NaN. */
#ifndef SSTRUCT_MIN_PLUS_CONVOLUTION_H
#define SSTRUCT_MIN_PLUS_CONVOLUTION_H

#include "sstruct/_kernels/kernels.h"

/* out[l - low] for l = low, ..., high; indices of first and second start at 0. */
#define SSTRUCT_CONVOLUTION(TARGET, NAME)                                                        \
    TARGET SSTRUCT_KERNEL void sstruct_min_plus_convolution_##NAME(                              \
        const double *__restrict first, int64_t n, const double *__restrict second, int64_t m,   \
        int64_t low, int64_t high, double *__restrict out)                                       \
    {                                                                                            \
        for (int64_t l = 0; l <= high - low; l++) out[l] = INFINITY;                             \
        for (int64_t a = 0; a < n; a++) {                                                        \
            const double at = first[a];                                                          \
            const int64_t begin = low - a > 0 ? low - a : 0;                                     \
            const int64_t end = high - a < m - 1 ? high - a + 1 : m;                             \
            double *target = out + a - low;                                                      \
            for (int64_t b = begin; b < end; b++) {                                              \
                const double value = at + second[b];                                             \
                target[b] = value < target[b] ? value : target[b];                               \
            }                                                                                    \
        }                                                                                        \
    }

SSTRUCT_CONVOLUTION(, default)
#if SSTRUCT_MULTIVERSION
SSTRUCT_CONVOLUTION(__attribute__((target("arch=x86-64-v3"))), v3)
SSTRUCT_CONVOLUTION(__attribute__((target("arch=x86-64-v4"))), v4)
#endif

SSTRUCT_INLINE void sstruct_min_plus_convolution(
    const double *first, int64_t n, const double *second, int64_t m, int64_t low, int64_t high,
    double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_min_plus_convolution, (first, n, second, m, low, high, out));
}

#endif
