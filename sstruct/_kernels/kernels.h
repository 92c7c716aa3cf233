/* The hot loops over labels: potentials, max-plus products, products of feature rows.
 *
 * Design: (a) Arrays indexed by labels are padded to KP = sstruct_padded(K) entries, so that
 * loops over labels are divided into chunks of a few vectors, which stay in registers.
 * Padded weights are zero and stay zero.
 * (b) A wheel is built for baseline x86-64. With gcc 12 or later, wide_kernels.h is also compiled for
 * AVX-512 and AVX2, each with vectors of its native width (arrays of 64-byte vectors would be kept in
 * memory on AVX2 machines, thirty times slower), and the best variant for the machine is selected
 * when the module is loaded. Other compilers and machines (MSVC, clang, Arm, gcc on Windows) use the
 * baseline.
 * (c) The environment variable SSTRUCT_INSTRUCTIONS, read at that time, sets an upper limit on the
 * instruction set, so that every variant can be tested on one machine.
 * (d) No relaxed floating-point options: sums over features are written with several partial sums
 * where order is irrelevant, and infinities are preserved (forbidden transitions are -inf).
 * Results may differ in the last bits between machines (fused multiply-add), but not between
 * runs on one machine. The max-plus product is the same everywhere.
 */
#ifndef SSTRUCT_KERNELS_H
#define SSTRUCT_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define SSTRUCT_INLINE static inline __attribute__((always_inline))
#define SSTRUCT_KERNEL static __attribute__((unused))
#else
#define SSTRUCT_INLINE static __forceinline
#define SSTRUCT_KERNEL static
#endif

/* Not on Windows, where gcc does not align the stack for wide vectors. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) \
    && !defined(_WIN32)
#define SSTRUCT_MULTIVERSION 1
#else
#define SSTRUCT_MULTIVERSION 0
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Feature rows, dense (indices == NULL) or CSR, in single or double precision; CSR rows of ones
 * (indicators) require no values. Every value is multiplied by `factor`. With a factor of 1 the
 * results are bitwise equal to those without one.
 * Rows may have scores of the labels, one padded row of doubles for each feature row; NULL: none.
 * The kernels do not read them: see the functions of _problems/core/_rows.pxd. */
enum { SSTRUCT_DOUBLE, SSTRUCT_SINGLE, SSTRUCT_ONES };
typedef struct {
    const void *values;
    const int32_t *indices;
    const int64_t *indptr;
    int64_t n_features;
    int kind;
    double factor;
    const double *scores;
} sstruct_rows;
typedef char sstruct_ones;
#define SSTRUCT_VALUE_double(x, f) ((x)[f])
#define SSTRUCT_VALUE_float(x, f) ((double)(x)[f])
#define SSTRUCT_VALUE_sstruct_ones(x, f) 1.0

SSTRUCT_INLINE int64_t sstruct_padded(int64_t K)
{
    return K <= 4 ? 4 : (K + 7) / 8 * 8;
}

SSTRUCT_INLINE int64_t sstruct_row_start(const sstruct_rows *rows, int64_t r)
{
    return rows->indices ? rows->indptr[r] : r * rows->n_features;
}

SSTRUCT_INLINE int64_t sstruct_row_size(const sstruct_rows *rows, int64_t r)
{
    return rows->indices ? rows->indptr[r + 1] - rows->indptr[r] : rows->n_features;
}

/* Prefetch `size` bytes of memory. */
SSTRUCT_INLINE void sstruct_prefetch(const void *memory, int64_t size)
{
#if defined(__GNUC__)
    for (int64_t k = 0; k < size; k += 64) __builtin_prefetch((const char *)memory + k);
#else
    (void)memory;
    (void)size;
#endif
}

/* Prefetch feature rows; only the first of long rows, since the hardware prefetches the rest. */
SSTRUCT_INLINE void sstruct_prefetch_rows(const sstruct_rows *rows, int64_t first, int64_t count)
{
    const int64_t start = sstruct_row_start(rows, first);
    int64_t size = sstruct_row_start(rows, first + count) - start;
    if (size > 512) size = 512;
    if (rows->indices) sstruct_prefetch(rows->indices + start, size * sizeof(int32_t));
    if (rows->kind == SSTRUCT_SINGLE)
        sstruct_prefetch((const float *)rows->values + start, size * sizeof(float));
    if (rows->kind == SSTRUCT_DOUBLE)
        sstruct_prefetch((const double *)rows->values + start, size * sizeof(double));
}

/* Limits of scaled sums of products: exponentials of node and transition scores and shares of sums are 0
 * or at least exp(-230) times their maximum or sum, so that products of three are at least exp(-690). */
#define SSTRUCT_LEAST_EXPONENT (-230.0)
#define SSTRUCT_LEAST_SHARE 1.3e-100

/* The variants of wide_kernels.h. gcc does not generate the instructions for "a where v > m, else b"
 * automatically, so intrinsics are used; the max-plus product takes a quarter less time with them. */
#define SSTRUCT_LANES 2
#define SSTRUCT_OF(name) name##_default
#define SSTRUCT_TOTAL(v) ((v)[0] + (v)[1])
#if defined(__SSE2__)
#define SSTRUCT_HIGHER(v, m, a, b) \
    _mm_or_pd(_mm_and_pd(_mm_cmpgt_pd(v, m), a), _mm_andnot_pd(_mm_cmpgt_pd(v, m), b))
#define SSTRUCT_MAXIMUM(v, m) _mm_max_pd(v, m)
#elif defined(__GNUC__)
typedef int64_t sstruct_bits __attribute__((vector_size(16)));
#define SSTRUCT_HIGHER(v, m, a, b) \
    ((SSTRUCT_VECTOR)((((v) > (m)) & (sstruct_bits)(a)) | (~((v) > (m)) & (sstruct_bits)(b))))
#define SSTRUCT_MAXIMUM(v, m) SSTRUCT_HIGHER(v, m, v, m)
#endif
#include "wide_kernels.h"
#undef SSTRUCT_LANES
#undef SSTRUCT_TOTAL
#undef SSTRUCT_OF
#undef SSTRUCT_HIGHER
#undef SSTRUCT_MAXIMUM

#if SSTRUCT_MULTIVERSION
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define SSTRUCT_LANES 4
#define SSTRUCT_OF(name) name##_v3
#define SSTRUCT_TOTAL(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define SSTRUCT_HIGHER(v, m, a, b) _mm256_blendv_pd(b, a, _mm256_cmp_pd(v, m, _CMP_GT_OQ))
#define SSTRUCT_MAXIMUM(v, m) _mm256_max_pd(v, m)
#include "wide_kernels.h"
#undef SSTRUCT_LANES
#undef SSTRUCT_TOTAL
#undef SSTRUCT_OF
#undef SSTRUCT_HIGHER
#undef SSTRUCT_MAXIMUM
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define SSTRUCT_LANES 8
#define SSTRUCT_OF(name) name##_v4
#define SSTRUCT_TOTAL(v) _mm512_reduce_add_pd(v)
#define SSTRUCT_HIGHER(v, m, a, b) \
    _mm512_mask_mov_pd(b, _mm512_cmp_pd_mask(v, m, _CMP_GT_OQ), a)
#define SSTRUCT_MAXIMUM(v, m) _mm512_max_pd(v, m)
#include "wide_kernels.h"
#undef SSTRUCT_LANES
#undef SSTRUCT_TOTAL
#undef SSTRUCT_OF
#undef SSTRUCT_HIGHER
#undef SSTRUCT_MAXIMUM
#pragma GCC pop_options
#endif

/* The variant: 0 for the baseline, 3 for x86-64-v3 (AVX2), 4 for x86-64-v4 (AVX-512). Set once, before
 * any function of the module is called. */
static int sstruct_path = 0;

#if SSTRUCT_MULTIVERSION
__attribute__((constructor)) static void sstruct_choose_path(void)
{
    const char *highest = getenv("SSTRUCT_INSTRUCTIONS");
    if (highest && !strcmp(highest, "default")) return;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v3")) sstruct_path = 3;
    if (highest && !strcmp(highest, "x86-64-v3")) return;
    if (__builtin_cpu_supports("x86-64-v4")) sstruct_path = 4;
}
#define SSTRUCT_ON(path, name, arguments) \
    ((path) == 4 ? name##_v4 arguments \
     : (path) == 3 ? name##_v3 arguments : name##_default arguments)
#else
#define SSTRUCT_ON(path, name, arguments) ((void)(path), name##_default arguments)
#endif

/* Rows of four labels are shorter than vectors of eight. */
SSTRUCT_INLINE int sstruct_path_of(int64_t KP)
{
    return KP < 8 && sstruct_path == 4 ? 3 : sstruct_path;
}

SSTRUCT_INLINE void sstruct_potentials(
    const sstruct_rows *rows, int64_t first, int64_t count, const double *w, int64_t KP,
    const double *bias, const double *cost, const int32_t *truth, double scale, double *theta)
{
    SSTRUCT_ON(sstruct_path_of(KP), sstruct_potentials,
               (rows, first, count, w, KP, bias, cost, truth, scale, theta));
}

/* out[low:high] += X[r] @ w[:, low:high], extended to full vectors. */
SSTRUCT_INLINE void sstruct_range_potentials(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, int64_t low, int64_t high,
    double *out)
{
    const int64_t first = low / 8 * 8, end = (high + 7) / 8 * 8;
    SSTRUCT_ON(sstruct_path_of(KP), sstruct_add_potentials,
               (rows, r, w + first, KP, (end < KP ? end : KP) - first, out + first));
}

SSTRUCT_INLINE void sstruct_some_potentials(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, const int32_t *label,
    int64_t count, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_some_potentials, (rows, r, w, KP, label, count, out));
}

/* Dense rows and weights that are stored label by label, see label_kernels.h.
 * theta[0:count, 0:n_labels] += X[first:first + count] @ w.T */
SSTRUCT_INLINE void sstruct_add_block(
    const sstruct_rows *rows, int64_t first, int64_t count, const double *w, int64_t step,
    int64_t n_labels, double *theta, int64_t KP)
{
    SSTRUCT_ON(sstruct_path, sstruct_add_block,
               (rows, first, count, w, step, n_labels, theta, KP));
}

/* out[q] = X[r] @ w[label[q]] */
SSTRUCT_INLINE void sstruct_label_potentials(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t step, const int32_t *label,
    int64_t count, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_label_potentials, (rows, r, w, step, label, count, out));
}

/* w[label[q]] += change[q] X[r] */
SSTRUCT_INLINE void sstruct_add_label_row(
    const sstruct_rows *rows, int64_t r, const int32_t *label, const double *change,
    int64_t count, double *w, int64_t step)
{
    SSTRUCT_ON(sstruct_path, sstruct_add_label_row, (rows, r, label, change, count, w, step));
}

SSTRUCT_INLINE double sstruct_row_product(const sstruct_rows *rows, int64_t r, int64_t s)
{
    return SSTRUCT_ON(sstruct_path, sstruct_row_product, (rows, r, s));
}

SSTRUCT_INLINE void sstruct_products(
    const double *rows, int64_t count, int64_t n, const double *w, double *out)
{
    SSTRUCT_ON(sstruct_path, sstruct_products, (rows, count, n, w, out));
}

SSTRUCT_INLINE void sstruct_viterbi_forward(
    const double *theta, int64_t L, int64_t K, int64_t KP, const double *edge, int64_t edge_step,
    int64_t begin, double *best, int32_t *from)
{
    SSTRUCT_ON(sstruct_path_of(KP), sstruct_viterbi_forward,
               (theta, L, K, KP, edge, edge_step, begin, best, from));
}

SSTRUCT_INLINE void sstruct_transition_bounds(
    const double *edge, int64_t K, int64_t KP, double *in_most, double *out_most, double *out_least)
{
    SSTRUCT_ON(sstruct_path_of(KP), sstruct_transition_bounds,
               (edge, K, KP, in_most, out_most, out_least));
}

SSTRUCT_INLINE int sstruct_exponentials(
    const double *x, int64_t n, double shift, double scale, double *out)
{
    return SSTRUCT_ON(sstruct_path_of(n), sstruct_exponentials, (x, n, shift, scale, out));
}

SSTRUCT_INLINE int sstruct_sum_forward(
    const double *theta, int64_t K, int64_t KP, const double *edge, double scale, int64_t begin,
    int64_t end, double *node, double *share, double *factor)
{
    return SSTRUCT_ON(sstruct_path_of(KP), sstruct_sum_forward,
                      (theta, K, KP, edge, scale, begin, end, node, share, factor));
}

SSTRUCT_INLINE int sstruct_sum_backward(
    const double *theta, int64_t K, int64_t KP, const double *transposed, double scale,
    int64_t begin, int64_t end, const double *factor, double *node, double *rest)
{
    return SSTRUCT_ON(sstruct_path_of(KP), sstruct_sum_backward,
                      (theta, K, KP, transposed, scale, begin, end, factor, node, rest));
}

SSTRUCT_INLINE void sstruct_normalized_product(
    const double *share, const double *rest, int64_t n, double *out)
{
    SSTRUCT_ON(sstruct_path_of(n), sstruct_normalized_product, (share, rest, n, out));
}

SSTRUCT_INLINE double sstruct_squared_norm(const double *w, int64_t size)
{
    return SSTRUCT_ON(sstruct_path, sstruct_squared_norm, (w, size));
}

/* w[:, label[q]] += change[q] X[r], for up to four labels at a time. The steps are copied, since the
 * compiler must assume that the changes may alias w. */
#define SSTRUCT_ADD_LABELS(TYPE, M)                                                          \
    SSTRUCT_INLINE void sstruct_add_labels_##TYPE##_##M(                                     \
        const TYPE *x, const int32_t *index, int64_t size, double factor,                    \
        const int32_t *label, const double *change, double *w, int64_t KP)                   \
    {                                                                                        \
        int64_t column[M];                                                                   \
        double step[M];                                                                      \
        for (int q = 0; q < M; q++) {                                                        \
            column[q] = label[q];                                                            \
            step[q] = factor * change[q];                                                    \
        }                                                                                    \
        for (int64_t f = 0; f < size; f++) {                                                 \
            double *row = w + (index ? (int64_t)index[f] : f) * KP;                          \
            for (int q = 0; q < M; q++)                                                      \
                row[column[q]] += step[q] * SSTRUCT_VALUE_##TYPE(x, f);                      \
        }                                                                                    \
    }

#define SSTRUCT_ADD_ROW(TYPE)                                                                \
    SSTRUCT_ADD_LABELS(TYPE, 1)                                                              \
    SSTRUCT_ADD_LABELS(TYPE, 2)                                                              \
    SSTRUCT_ADD_LABELS(TYPE, 3)                                                              \
    SSTRUCT_ADD_LABELS(TYPE, 4)                                                              \
    SSTRUCT_INLINE void sstruct_add_row_##TYPE(                                              \
        const TYPE *x, const int32_t *index, int64_t size, double factor,                    \
        const int32_t *label, const double *change, int64_t count, double *w, int64_t KP)    \
    {                                                                                        \
        for (; count >= 4; count -= 4, label += 4, change += 4)                              \
            sstruct_add_labels_##TYPE##_4(x, index, size, factor, label, change, w, KP);     \
        if (count == 3)                                                                      \
            sstruct_add_labels_##TYPE##_3(x, index, size, factor, label, change, w, KP);     \
        if (count == 2)                                                                      \
            sstruct_add_labels_##TYPE##_2(x, index, size, factor, label, change, w, KP);     \
        if (count == 1)                                                                      \
            sstruct_add_labels_##TYPE##_1(x, index, size, factor, label, change, w, KP);     \
    }

SSTRUCT_ADD_ROW(float)
SSTRUCT_ADD_ROW(double)
SSTRUCT_ADD_ROW(sstruct_ones)

SSTRUCT_INLINE void sstruct_add_row(
    const sstruct_rows *rows, int64_t r, const int32_t *label, const double *change, int64_t count,
    double *w, int64_t KP)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    if (rows->kind == SSTRUCT_ONES)
        sstruct_add_row_sstruct_ones(NULL, index, size, rows->factor, label, change, count, w, KP);
    else if (rows->kind == SSTRUCT_SINGLE)
        sstruct_add_row_float(
            (const float *)rows->values + start, index, size, rows->factor, label, change, count, w, KP);
    else
        sstruct_add_row_double(
            (const double *)rows->values + start, index, size, rows->factor, label, change, count, w, KP);
}

/* Half of the squared distance between the transition counts of labelings a and b, which differ in
 * the transitions into the positions `where`. */
SSTRUCT_INLINE int64_t sstruct_transition_distance(
    const int32_t *a, const int32_t *b, const int32_t *where, int64_t count)
{
#define SSTRUCT_SAME(x, l, y, m) (x[l] == y[m] && x[l - 1] == y[m - 1])
    int64_t total = count;
    for (int64_t p = 0; p < count; p++)
        for (int64_t q = 0; q < p; q++) {
            const int32_t l = where[p], m = where[q];
            total += SSTRUCT_SAME(a, l, a, m) - SSTRUCT_SAME(a, l, b, m)
                - SSTRUCT_SAME(b, l, a, m) + SSTRUCT_SAME(b, l, b, m);
        }
    return total;
#undef SSTRUCT_SAME
}

/* The first entry of the highest score, the first active entry (alpha > 0) of the lowest score, and the
 * mean under alpha. Compilers can use conditional moves: branches would be hard to predict. */
SSTRUCT_INLINE void sstruct_extremes(
    const double *score, const double *alpha, int64_t count, int64_t *best, int64_t *lowest,
    double *mean)
{
    double high = score[0], low = INFINITY, sum = 0;
    int64_t s = 0, v = 0;
    for (int64_t k = 0; k < count; k++) {
        const double x = score[k];
        if (x > high) {
            high = x;
            s = k;
        }
        if (alpha[k] > 0 && x < low) {
            low = x;
            v = k;
        }
        sum += alpha[k] * x;
    }
    *best = s;
    *lowest = v;
    *mean = sum;
}

#endif
