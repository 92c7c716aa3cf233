/* Min-plus products of a vector and a table: the messages of pairwise models.
 *
 * The loops are plain C that compilers vectorize; with gcc each is compiled for AVX-512 and AVX2
 * too, and the path is the one that _kernels.h chose. +inf forbids; there is no NaN: a weight is
 * positive where its table has +inf. */
#ifndef SSTRUCT_MIN_PLUS_H
#define SSTRUCT_MIN_PLUS_H

#include "_kernels.h"

/* Columns a row of the second product is cut into: partial minima that do not wait for another. */
#define SSTRUCT_PARTS 16

#define SSTRUCT_MIN_PLUS(TARGET, NAME)                                                       \
    /* out[k] = min_j source[j] + weight table[j, k];  table (n, m) */                       \
    TARGET SSTRUCT_KERNEL void sstruct_min_plus_rows_##NAME(                                 \
        const double *__restrict source, int64_t n, const double *__restrict table,              \
        double weight, int64_t m, double *__restrict out)                                      \
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
        const double *__restrict source, int64_t n, const double *__restrict table,              \
        double weight, int64_t m, double *__restrict out)                                      \
    {                                                                                        \
        for (int64_t k = 0; k < m; k++) {                                                    \
            const double *row = table + k * n;                                               \
            double part[SSTRUCT_PARTS], least = INFINITY;                                    \
            int64_t j = 0;                                                                   \
            if (n >= SSTRUCT_PARTS) {                                                        \
                for (int l = 0; l < SSTRUCT_PARTS; l++) part[l] = INFINITY;                  \
                for (; j + SSTRUCT_PARTS <= n; j += SSTRUCT_PARTS)                           \
                    for (int l = 0; l < SSTRUCT_PARTS; l++) {                                \
                        const double value = source[j + l] + weight * row[j + l];            \
                        part[l] = value < part[l] ? value : part[l];                         \
                    }                                                                        \
                for (int l = 0; l < SSTRUCT_PARTS; l++)                                      \
                    least = part[l] < least ? part[l] : least;                               \
            }                                                                                \
            for (; j < n; j++) {                                                             \
                const double value = source[j] + weight * row[j];                            \
                least = value < least ? value : least;                                       \
            }                                                                                \
            out[k] = least;                                                                  \
        }                                                                                    \
    }

SSTRUCT_MIN_PLUS(, default)
#if SSTRUCT_MULTIVERSION
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v3"))), v3)
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v4"))), v4)
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
