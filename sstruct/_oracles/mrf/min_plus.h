/* Min-plus products of a vector and a table: the messages of pairwise models.
 *
 * With gcc, each is also compiled for AVX-512 and AVX2; kernels.h selects the variant. Compilers
 * vectorize the first product automatically, but not the minima of the second, which uses explicit
 * vector instructions. +inf forbids; there is no NaN, because weights of tables with +inf are
 * positive. */
#ifndef SSTRUCT_MIN_PLUS_H
#define SSTRUCT_MIN_PLUS_H

#include "sstruct/_kernels/kernels.h"

/* least = min_j source[j] + weight row[j], n >= 1: in scalars, or in vectors if n is at least W. The
 * last vector may overlap the previous one, which does not change a minimum. */
#define SSTRUCT_SCALAR_MINIMUM()                                                             \
    for (int64_t j = 0; j < n; j++) {                                                        \
        const double value = source[j] + weight * row[j];                                    \
        least = value < least ? value : least;                                               \
    }

#define SSTRUCT_VECTOR_MINIMUM(W, VECTOR, LOAD, MINIMUM)                                     \
    if (n < W) {                                                                             \
        SSTRUCT_SCALAR_MINIMUM()                                                             \
    } else {                                                                                 \
        VECTOR one = LOAD(source + n - W) + weight * LOAD(row + n - W), other = one;         \
        double part[W];                                                                      \
        int64_t j = 0;                                                                       \
        for (; j + 2 * W <= n; j += 2 * W) {                                                 \
            one = MINIMUM(one, LOAD(source + j) + weight * LOAD(row + j));                   \
            other = MINIMUM(other, LOAD(source + j + W) + weight * LOAD(row + j + W));       \
        }                                                                                    \
        if (j + W <= n) one = MINIMUM(one, LOAD(source + j) + weight * LOAD(row + j));       \
        one = MINIMUM(one, other);                                                           \
        memcpy(part, &one, sizeof part);                                                     \
        for (int l = 0; l < W; l++) least = part[l] < least ? part[l] : least;               \
    }

#define SSTRUCT_MIN_PLUS(TARGET, NAME, FIND_MINIMUM)                                         \
    /* out[k] = min_j source[j] + weight table[j, k];  table (n, m) */                       \
    TARGET SSTRUCT_KERNEL void sstruct_min_plus_rows_##NAME(                                 \
        const double *__restrict source, int64_t n, const double *__restrict table,          \
        double weight, int64_t m, double *__restrict out)                                    \
    {                                                                                        \
        for (int64_t k = 0; k < m; k++) out[k] = INFINITY;                                   \
        for (int64_t j = 0; j < n; j++) {                                                    \
            const double *row = table + j * m, at = source[j];                               \
            if (at == INFINITY) continue;                                                    \
            for (int64_t k = 0; k < m; k++) {                                                \
                const double value = at + weight * row[k];                                   \
                out[k] = value < out[k] ? value : out[k];                                    \
            }                                                                                \
        }                                                                                    \
    }                                                                                        \
    /* out[k] = min_j source[j] + weight table[k, j];  table (m, n) */                       \
    TARGET SSTRUCT_KERNEL void sstruct_min_plus_columns_##NAME(                              \
        const double *__restrict source, int64_t n, const double *__restrict table,          \
        double weight, int64_t m, double *__restrict out)                                    \
    {                                                                                        \
        for (int64_t k = 0; k < m; k++) {                                                    \
            const double *row = table + k * n;                                               \
            double least = INFINITY;                                                         \
            FIND_MINIMUM                                                                     \
            out[k] = least;                                                                  \
        }                                                                                    \
    }

#if defined(__GNUC__) && defined(__SSE2__)
SSTRUCT_MIN_PLUS(, default, SSTRUCT_VECTOR_MINIMUM(2, __m128d, _mm_loadu_pd, _mm_min_pd))
#else
SSTRUCT_MIN_PLUS(, default, SSTRUCT_SCALAR_MINIMUM())
#endif
#if SSTRUCT_MULTIVERSION
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v3"))), v3,
                 SSTRUCT_VECTOR_MINIMUM(4, __m256d, _mm256_loadu_pd, _mm256_min_pd))
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v4"))), v4,
                 SSTRUCT_VECTOR_MINIMUM(8, __m512d, _mm512_loadu_pd, _mm512_min_pd))
#endif

SSTRUCT_INLINE void sstruct_min_plus_rows(
    const double *source, int64_t n, const double *table, double weight, int64_t m, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_min_plus_rows, (source, n, table, weight, m, out));
}

SSTRUCT_INLINE void sstruct_min_plus_columns(
    const double *source, int64_t n, const double *table, double weight, int64_t m, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_min_plus_columns, (source, n, table, weight, m, out));
}

#endif
