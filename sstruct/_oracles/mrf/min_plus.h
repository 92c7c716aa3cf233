/* Min-plus products of a vector and a table: the messages of pairwise models.
 *
 * With gcc, each is also compiled for AVX-512 and AVX2; kernels.h selects the variant. Compilers
 * vectorize the first product automatically, but not the minima of the second, which uses explicit
 * vector instructions. With AVX-512, separate functions multiply tables of at most 8 rows and columns,
 * whose rows fit into one vector: with 8 labels, a sweep takes half of the time. +inf forbids; there is
 * no NaN, because weights of tables with +inf are positive. */
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

#define SSTRUCT_NOT_SMALL(FUNCTION, ARGUMENTS)

#if SSTRUCT_MULTIVERSION
#define SSTRUCT_SMALL(FUNCTION, ARGUMENTS)                                                   \
    if (n <= 8 && m <= 8) {                                                                  \
        FUNCTION ARGUMENTS;                                                                  \
        return;                                                                              \
    }
#define SSTRUCT_AVX512 __attribute__((target("arch=x86-64-v4"), unused)) static
#define SSTRUCT_MASK(n) ((__mmask8)((1 << (n)) - 1))

SSTRUCT_AVX512 inline __m512d sstruct_rows_product(
    const double *source, int64_t n, const double *table, double weight, int64_t m)
{
    const __m512d scale = _mm512_set1_pd(weight);
    __m512d least = _mm512_set1_pd(INFINITY);
    for (int64_t j = 0; j < n; j++) {
        if (source[j] == INFINITY) continue;
        const __m512d row = _mm512_maskz_loadu_pd(SSTRUCT_MASK(m), table + j * m);
        least = _mm512_min_pd(least, _mm512_set1_pd(source[j]) + scale * row);
    }
    return least;
}

/* Entries of `source` after the first n are +inf. */
SSTRUCT_AVX512 inline __m512d sstruct_columns_product(
    __m512d source, int64_t n, const double *table, double weight, int64_t m)
{
    const __m512d scale = _mm512_set1_pd(weight);
    __m512d row[8], pair[4], half[2];
    for (int k = 0; k < 8; k++) {
        row[k] = source;
        if (k < m) row[k] += scale * _mm512_maskz_loadu_pd(SSTRUCT_MASK(n), table + k * n);
    }
    /* Entries 2 l and 2 l + 1 of pair k are minima of rows 2 k and 2 k + 1. */
    for (int k = 0; k < 4; k++)
        pair[k] = _mm512_min_pd(
            _mm512_unpacklo_pd(row[2 * k], row[2 * k + 1]),
            _mm512_unpackhi_pd(row[2 * k], row[2 * k + 1]));
    for (int k = 0; k < 2; k++)
        half[k] = _mm512_min_pd(
            _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0x44),
            _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0xee));
    return _mm512_min_pd(
        _mm512_shuffle_f64x2(half[0], half[1], 0x88), _mm512_shuffle_f64x2(half[0], half[1], 0xdd));
}

SSTRUCT_AVX512 void sstruct_small_rows(
    const double *__restrict source, int64_t n, const double *__restrict table, double weight,
    int64_t m, double *__restrict out)
{
    _mm512_mask_storeu_pd(
        out, SSTRUCT_MASK(m), sstruct_rows_product(source, n, table, weight, m));
}

SSTRUCT_AVX512 void sstruct_small_columns(
    const double *__restrict source, int64_t n, const double *__restrict table, double weight,
    int64_t m, double *__restrict out)
{
    const __m512d at = _mm512_mask_loadu_pd(_mm512_set1_pd(INFINITY), SSTRUCT_MASK(n), source);
    _mm512_mask_storeu_pd(
        out, SSTRUCT_MASK(m), sstruct_columns_product(at, n, table, weight, m));
}
#endif

#define SSTRUCT_MIN_PLUS(TARGET, NAME, FIND_MINIMUM, SMALL)                                  \
    /* out[k] = min_j source[j] + weight table[j, k];  table (n, m) */                       \
    TARGET SSTRUCT_KERNEL void sstruct_min_plus_rows_##NAME(                                 \
        const double *__restrict source, int64_t n, const double *__restrict table,          \
        double weight, int64_t m, double *__restrict out)                                    \
    {                                                                                        \
        SMALL(sstruct_small_rows, (source, n, table, weight, m, out))                        \
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
        SMALL(sstruct_small_columns, (source, n, table, weight, m, out))                     \
        for (int64_t k = 0; k < m; k++) {                                                    \
            const double *row = table + k * n;                                               \
            double least = INFINITY;                                                         \
            FIND_MINIMUM                                                                     \
            out[k] = least;                                                                  \
        }                                                                                    \
    }

#if defined(__GNUC__) && defined(__SSE2__)
SSTRUCT_MIN_PLUS(, default, SSTRUCT_VECTOR_MINIMUM(2, __m128d, _mm_loadu_pd, _mm_min_pd),
                 SSTRUCT_NOT_SMALL)
#else
SSTRUCT_MIN_PLUS(, default, SSTRUCT_SCALAR_MINIMUM(), SSTRUCT_NOT_SMALL)
#endif
#if SSTRUCT_MULTIVERSION
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v3"))), v3,
                 SSTRUCT_VECTOR_MINIMUM(4, __m256d, _mm256_loadu_pd, _mm256_min_pd),
                 SSTRUCT_NOT_SMALL)
SSTRUCT_MIN_PLUS(__attribute__((target("arch=x86-64-v4"))), v4,
                 SSTRUCT_VECTOR_MINIMUM(8, __m512d, _mm512_loadu_pd, _mm512_min_pd),
                 SSTRUCT_SMALL)
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
