/* A message of a sweep over a reduced model (_reduced_model.pyx), compiled like min_plus.h. */
#ifndef SSTRUCT_MESSAGES_H
#define SSTRUCT_MESSAGES_H

#include "sstruct/_oracles/mrf/min_plus.h"

/* The table of an edge, with K labels at the sender and L at the receiver: entry (j, k) is
 * entries[j L + k], or entries[k K + j] if `by_columns`, or potts [j != k] if potts >= 0. */
typedef struct {
    const double *entries;
    double potts;
    int64_t by_columns;
} sstruct_table;

/* mine -= share costs;  out[k] = min_j table(j, k) - mine[j];  of_t += out - theirs;  theirs = out.
 * Labels of cost +inf are ignored. If out[k] is +inf, of_t[k] becomes +inf, and
 * theirs[k] is unchanged. */
#define SSTRUCT_SEND(TARGET, NAME, SMALL)                                                    \
    TARGET SSTRUCT_KERNEL void sstruct_product_##NAME(                                       \
        const double *__restrict source, int64_t K, const sstruct_table *table, int64_t L,   \
        double *__restrict out)                                                              \
    {                                                                                        \
        if (table->potts >= 0) {                                                             \
            double least = INFINITY;                                                         \
            for (int64_t k = 0; k < K; k++) least = source[k] < least ? source[k] : least;   \
            least += table->potts;                                                           \
            for (int64_t k = 0; k < K; k++) out[k] = source[k] < least ? source[k] : least;  \
        } else if (table->by_columns) {                                                      \
            sstruct_min_plus_columns_##NAME(source, K, table->entries, 1.0, L, out);         \
        } else {                                                                             \
            sstruct_min_plus_rows_##NAME(source, K, table->entries, 1.0, L, out);            \
        }                                                                                    \
    }                                                                                        \
    TARGET SSTRUCT_KERNEL void sstruct_send_##NAME(                                          \
        const double *__restrict costs, int64_t K, double share, double *__restrict mine,    \
        const sstruct_table *table, int64_t L, double *__restrict theirs,                    \
        double *__restrict of_t, double *__restrict scratch)                                 \
    {                                                                                        \
        double *__restrict source = scratch, *__restrict out = scratch + K;                  \
        SMALL                                                                                \
        for (int64_t k = 0; k < K; k++) {                                                    \
            mine[k] -= costs[k] < INFINITY ? share * costs[k] : 0.0;                         \
            source[k] = costs[k] < INFINITY ? -mine[k] : INFINITY;                           \
        }                                                                                    \
        sstruct_product_##NAME(source, K, table, L, out);                                    \
        for (int64_t k = 0; k < L; k++) {                                                    \
            of_t[k] += out[k] - theirs[k];                                                   \
            theirs[k] = out[k] < INFINITY ? out[k] : theirs[k];                              \
        }                                                                                    \
    }

SSTRUCT_SEND(, default, )
#if SSTRUCT_MULTIVERSION
SSTRUCT_SEND(__attribute__((target("arch=x86-64-v3"))), v3, )

/* The same for at most 8 labels at both ends, which fit into one vector. */
SSTRUCT_AVX512 void sstruct_send_small(
    const double *__restrict costs, int64_t K, double share, double *__restrict mine,
    const sstruct_table *table, int64_t L, double *__restrict theirs, double *__restrict of_t)
{
    double source[8];
    const __mmask8 k_mask = SSTRUCT_MASK(K), l_mask = SSTRUCT_MASK(L);
    const __m512d none = _mm512_set1_pd(INFINITY), own = _mm512_mask_loadu_pd(none, k_mask, costs);
    const __mmask8 left = _mm512_cmp_pd_mask(own, none, _CMP_LT_OQ);
    __m512d message = _mm512_maskz_loadu_pd(k_mask, mine), out;
    message = _mm512_mask_sub_pd(message, left, message, share * own);
    _mm512_mask_storeu_pd(mine, k_mask, message);
    message = _mm512_mask_sub_pd(none, left, _mm512_setzero_pd(), message);
    if (table->potts >= 0) {
        out = _mm512_set1_pd(_mm512_reduce_min_pd(message) + table->potts);
        out = _mm512_min_pd(message, out);
    } else if (table->by_columns) {
        out = sstruct_columns_product(message, K, table->entries, 1.0, L);
    } else {
        _mm512_storeu_pd(source, message);
        out = sstruct_rows_product(source, K, table->entries, 1.0, L);
    }
    message = _mm512_maskz_loadu_pd(l_mask, theirs);
    _mm512_mask_storeu_pd(
        of_t, l_mask, _mm512_maskz_loadu_pd(l_mask, of_t) + (out - message));
    _mm512_mask_storeu_pd(
        theirs, _mm512_mask_cmp_pd_mask(l_mask, out, none, _CMP_LT_OQ), out);
}

#define SSTRUCT_SEND_SMALL                                                                   \
    if (K <= 8 && L <= 8) {                                                                  \
        sstruct_send_small(costs, K, share, mine, table, L, theirs, of_t);                   \
        return;                                                                              \
    }
SSTRUCT_SEND(__attribute__((target("arch=x86-64-v4"))), v4, SSTRUCT_SEND_SMALL)
#endif

SSTRUCT_INLINE void sstruct_product(
    const double *source, int64_t K, const sstruct_table *table, int64_t L, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_product, (source, K, table, L, out));
}

SSTRUCT_INLINE void sstruct_send(
    const double *costs, int64_t K, double share, double *mine, const sstruct_table *table,
    int64_t L, double *theirs, double *of_t, double *scratch)
{
    SSTRUCT_ON(sstruct_path, sstruct_send,
               (costs, K, share, mine, table, L, theirs, of_t, scratch));
}

#endif
