/* The hot loops over labels: potentials, max-plus products, products of feature rows.
 *
 * Design: (a) Label-indexed arrays are padded to KP = sstruct_padded(K) entries, so that
 * every loop over labels is cut into chunks of 32, 16, 8 or 4 of constant length, which
 * compilers keep in vector registers. Padded weights are zero and stay zero.
 * (b) A wheel is built for plain x86-64; where the compiler and the C library offer it,
 * each kernel is compiled for AVX-512 and AVX2 too and the machine's best is chosen when
 * the module is loaded (SSTRUCT_MULTIVERSION; empty elsewhere: MSVC, musl, macOS, Arm).
 * (c) No relaxed floating point: sums over features are written with several partial sums
 * where order does not matter to us, and infinities keep their meaning (forbidden
 * transitions are -inf). Bits may differ between machines (fused multiply-add), not
 * between runs on one.
 */
#ifndef SSTRUCT_KERNELS_H
#define SSTRUCT_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) \
    && defined(__linux__) && defined(__GLIBC__)
#define SSTRUCT_MULTIVERSION \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), unused))
#define SSTRUCT_INLINE static inline __attribute__((always_inline))
#elif defined(__GNUC__)
#define SSTRUCT_MULTIVERSION __attribute__((unused))
#define SSTRUCT_INLINE static inline __attribute__((always_inline))
#else
#define SSTRUCT_MULTIVERSION
#define SSTRUCT_INLINE static __forceinline
#endif

/* Feature rows, dense (indices == NULL) or CSR, in single or double precision; CSR rows of ones
 * (indicators) need no values. */
enum { SSTRUCT_DOUBLE, SSTRUCT_SINGLE, SSTRUCT_ONES };
typedef struct {
    const void *values;
    const int32_t *indices;
    const int64_t *indptr;
    int64_t n_features;
    int kind;
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

/* Ask for memory that is read soon: `size` bytes. */
SSTRUCT_INLINE void sstruct_prefetch(const void *memory, int64_t size)
{
#if defined(__GNUC__)
    for (int64_t k = 0; k < size; k += 64) __builtin_prefetch((const char *)memory + k);
#else
    (void)memory;
    (void)size;
#endif
}

/* Eight labels at once. Written as a vector type where the compiler has them: left to loops, gcc
 * interchanges labels and features and computes one label after another. */
#if defined(__GNUC__)
typedef double sstruct_eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef double sstruct_four __attribute__((vector_size(32), aligned(8), may_alias));
#define SSTRUCT_LOAD(VECTOR, p) (*(const VECTOR *)(p))
#define SSTRUCT_STORE(VECTOR, p, v) (*(VECTOR *)(p) = (v))
#endif

/* out[0:W] += sum_f x[f] w[f, 0:W]   (W consecutive labels in N vectors; w has KP a feature)
 * U partial sums a label, over the features of each residue modulo U: a chain of additions waits
 * for every one of them, so eight vectors are in flight whatever W is. Vectors of four, which
 * AVX2 has: gcc keeps arrays of eight in memory there, forty times slower, and AVX-512 gains
 * nothing from them here. */
#if defined(__GNUC__)
#define SSTRUCT_ACCUMULATE(TYPE, W, VECTOR, N, U)                                            \
    SSTRUCT_INLINE void sstruct_accumulate_##TYPE##_##W(                                     \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        double *out)                                                                         \
    {                                                                                        \
        VECTOR sum[U][N];                                                                    \
        int64_t f = 0;                                                                       \
        for (int u = 0; u < U; u++)                                                          \
            for (int q = 0; q < N; q++)                                                      \
                sum[u][q] = u ? (VECTOR){0} : SSTRUCT_LOAD(VECTOR, out + q * (W / N));       \
        for (; f + U <= size; f += U)                                                        \
            for (int u = 0; u < U; u++) {                                                    \
                const double *row = w + (index ? (int64_t)index[f + u] : f + u) * KP;        \
                const double value = SSTRUCT_VALUE_##TYPE(x, f + u);                                       \
                for (int q = 0; q < N; q++)                                                  \
                    sum[u][q] += value * SSTRUCT_LOAD(VECTOR, row + q * (W / N));            \
            }                                                                                \
        for (; f < size; f++) {                                                              \
            const double *row = w + (index ? (int64_t)index[f] : f) * KP;                    \
            const double value = SSTRUCT_VALUE_##TYPE(x, f);                               \
            for (int q = 0; q < N; q++)                                                      \
                sum[0][q] += value * SSTRUCT_LOAD(VECTOR, row + q * (W / N));                \
        }                                                                                    \
        for (int u = 1; u < U; u++)                                                          \
            for (int q = 0; q < N; q++) sum[0][q] += sum[u][q];                              \
        for (int q = 0; q < N; q++) SSTRUCT_STORE(VECTOR, out + q * (W / N), sum[0][q]);     \
    }
#else
#define SSTRUCT_ACCUMULATE(TYPE, W, VECTOR, N, U)                                            \
    SSTRUCT_INLINE void sstruct_accumulate_##TYPE##_##W(                                     \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        double *out)                                                                         \
    {                                                                                        \
        double sum[W];                                                                       \
        for (int k = 0; k < W; k++) sum[k] = out[k];                                         \
        for (int64_t f = 0; f < size; f++) {                                                 \
            const double *row = w + (index ? (int64_t)index[f] : f) * KP;                    \
            const double value = SSTRUCT_VALUE_##TYPE(x, f);                               \
            for (int k = 0; k < W; k++) sum[k] += value * row[k];                            \
        }                                                                                    \
        for (int k = 0; k < W; k++) out[k] = sum[k];                                         \
    }
#endif

#define SSTRUCT_ROW_POTENTIALS(TYPE)                                                         \
    SSTRUCT_ACCUMULATE(TYPE, 32, sstruct_four, 8, 1)                                         \
    SSTRUCT_ACCUMULATE(TYPE, 16, sstruct_four, 4, 2)                                         \
    SSTRUCT_ACCUMULATE(TYPE, 8, sstruct_four, 2, 4)                                          \
    SSTRUCT_ACCUMULATE(TYPE, 4, sstruct_four, 1, 8)                                          \
    SSTRUCT_INLINE void sstruct_row_potentials_##TYPE(                                       \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        double *out)                                                                         \
    {                                                                                        \
        int64_t k = 0;                                                                       \
        for (; KP - k >= 32; k += 32)                                                        \
            sstruct_accumulate_##TYPE##_32(x, index, size, w + k, KP, out + k);              \
        if (KP - k >= 16) {                                                                  \
            sstruct_accumulate_##TYPE##_16(x, index, size, w + k, KP, out + k);              \
            k += 16;                                                                         \
        }                                                                                    \
        if (KP - k >= 8) {                                                                   \
            sstruct_accumulate_##TYPE##_8(x, index, size, w + k, KP, out + k);               \
            k += 8;                                                                          \
        }                                                                                    \
        if (KP - k >= 4) sstruct_accumulate_##TYPE##_4(x, index, size, w + k, KP, out + k);  \
    }

SSTRUCT_ROW_POTENTIALS(float)
SSTRUCT_ROW_POTENTIALS(double)
SSTRUCT_ROW_POTENTIALS(sstruct_ones)

/* theta[0:count, :] = bias + X[first:first + count] @ W + scale * cost[truth]
 * bias (KP) or NULL; cost (K x KP) or NULL: then without the last term. */
SSTRUCT_MULTIVERSION static void sstruct_potentials(
    const sstruct_rows *rows, int64_t first, int64_t count, const double *w, int64_t KP,
    const double *bias, const double *cost, const int32_t *truth, double scale, double *theta)
{
    for (int64_t l = 0; l < count; l++) {
        double *out = theta + l * KP;
        const int64_t start = sstruct_row_start(rows, first + l);
        const int64_t size = sstruct_row_size(rows, first + l);
        const int32_t *index = rows->indices ? rows->indices + start : NULL;
        const double *row = cost ? cost + (int64_t)truth[l] * KP : NULL;
        for (int64_t k = 0; k < KP; k++) out[k] = bias ? bias[k] : 0;
        if (row)
            for (int64_t k = 0; k < KP; k++) out[k] += scale * row[k];
        /* One loop each: whether there are indices is not asked again for every feature. */
        if (rows->kind == SSTRUCT_ONES)
            sstruct_row_potentials_sstruct_ones(NULL, index, size, w, KP, out);
        else if (index && rows->kind == SSTRUCT_SINGLE)
            sstruct_row_potentials_float((const float *)rows->values + start, index, size, w, KP, out);
        else if (index)
            sstruct_row_potentials_double((const double *)rows->values + start, index, size, w, KP, out);
        else if (rows->kind == SSTRUCT_SINGLE)
            sstruct_row_potentials_float((const float *)rows->values + start, NULL, size, w, KP, out);
        else
            sstruct_row_potentials_double((const double *)rows->values + start, NULL, size, w, KP, out);
    }
}

/* out[q] = X[r] @ w[:, label[q]]: the potentials of M labels. Every label has two partial sums, and
 * all share what is read of the row. */
#define SSTRUCT_LABEL_POTENTIALS(TYPE, M)                                                    \
    SSTRUCT_INLINE void sstruct_label_potentials_##TYPE##_##M(                               \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        const int32_t *label, double *out)                                                   \
    {                                                                                        \
        const double *column[M];                                                             \
        double even[M], odd[M];                                                              \
        int64_t f = 0;                                                                       \
        for (int q = 0; q < M; q++) {                                                        \
            column[q] = w + label[q];                                                        \
            even[q] = odd[q] = 0;                                                            \
        }                                                                                    \
        for (; f + 1 < size; f += 2) {                                                       \
            const int64_t at = (index ? (int64_t)index[f] : f) * KP;                         \
            const int64_t next = (index ? (int64_t)index[f + 1] : f + 1) * KP;               \
            for (int q = 0; q < M; q++) {                                                    \
                even[q] += SSTRUCT_VALUE_##TYPE(x, f) * column[q][at];                       \
                odd[q] += SSTRUCT_VALUE_##TYPE(x, f + 1) * column[q][next];                  \
            }                                                                                \
        }                                                                                    \
        if (f < size) {                                                                      \
            const int64_t at = (index ? (int64_t)index[f] : f) * KP;                         \
            for (int q = 0; q < M; q++) even[q] += SSTRUCT_VALUE_##TYPE(x, f) * column[q][at]; \
        }                                                                                    \
        for (int q = 0; q < M; q++) out[q] = even[q] + odd[q];                               \
    }

#define SSTRUCT_SOME_POTENTIALS(TYPE)                                                        \
    SSTRUCT_LABEL_POTENTIALS(TYPE, 1)                                                        \
    SSTRUCT_LABEL_POTENTIALS(TYPE, 2)                                                        \
    SSTRUCT_LABEL_POTENTIALS(TYPE, 3)                                                        \
    SSTRUCT_LABEL_POTENTIALS(TYPE, 4)                                                        \
    SSTRUCT_INLINE void sstruct_some_potentials_##TYPE(                                      \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        const int32_t *label, int64_t count, double *out)                                    \
    {                                                                                        \
        for (; count > 4; count -= 4, label += 4, out += 4)                                  \
            sstruct_label_potentials_##TYPE##_4(x, index, size, w, KP, label, out);          \
        if (count == 4) sstruct_label_potentials_##TYPE##_4(x, index, size, w, KP, label, out); \
        if (count == 3) sstruct_label_potentials_##TYPE##_3(x, index, size, w, KP, label, out); \
        if (count == 2) sstruct_label_potentials_##TYPE##_2(x, index, size, w, KP, label, out); \
        if (count == 1) sstruct_label_potentials_##TYPE##_1(x, index, size, w, KP, label, out); \
    }

SSTRUCT_SOME_POTENTIALS(float)
SSTRUCT_SOME_POTENTIALS(double)
SSTRUCT_SOME_POTENTIALS(sstruct_ones)

SSTRUCT_MULTIVERSION static void sstruct_some_potentials(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, const int32_t *label,
    int64_t count, double *out)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    if (rows->kind == SSTRUCT_ONES)
        sstruct_some_potentials_sstruct_ones(NULL, index, size, w, KP, label, count, out);
    else if (rows->kind == SSTRUCT_SINGLE)
        sstruct_some_potentials_float((const float *)rows->values + start, index, size, w, KP, label, count, out);
    else
        sstruct_some_potentials_double((const double *)rows->values + start, index, size, w, KP, label, count, out);
}

/* w[:, label[q]] += change[q] X[r], for two labels at a time */
#define SSTRUCT_ADD_ROW(TYPE)                                                                \
    SSTRUCT_INLINE void sstruct_add_row_##TYPE(                                              \
        const TYPE *x, const int32_t *index, int64_t size, const int32_t *label,             \
        const double *change, int64_t count, double *w, int64_t KP)                          \
    {                                                                                        \
        for (; count > 1; count -= 2, label += 2, change += 2) {                             \
            double *one = w + label[0], *other = w + label[1];                               \
            for (int64_t f = 0; f < size; f++) {                                             \
                const int64_t at = (index ? (int64_t)index[f] : f) * KP;                     \
                one[at] += change[0] * SSTRUCT_VALUE_##TYPE(x, f);                           \
                other[at] += change[1] * SSTRUCT_VALUE_##TYPE(x, f);                         \
            }                                                                                \
        }                                                                                    \
        if (count)                                                                           \
            for (int64_t f = 0; f < size; f++)                                               \
                w[(index ? (int64_t)index[f] : f) * KP + label[0]] +=                        \
                    change[0] * SSTRUCT_VALUE_##TYPE(x, f);                                  \
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
        sstruct_add_row_sstruct_ones(NULL, index, size, label, change, count, w, KP);
    else if (rows->kind == SSTRUCT_SINGLE)
        sstruct_add_row_float((const float *)rows->values + start, index, size, label, change, count, w, KP);
    else
        sstruct_add_row_double((const double *)rows->values + start, index, size, label, change, count, w, KP);
}

/* X[r] @ X[s]; column indices of a CSR row increase. Eight partial sums: they vectorize. */
#define SSTRUCT_ROW_PRODUCT(TYPE)                                                            \
    SSTRUCT_INLINE double sstruct_sparse_product_##TYPE(                                     \
        const TYPE *x, const int32_t *i, int64_t n, const TYPE *z, const int32_t *j, int64_t m) \
    {                                                                                        \
        double sum = 0;                                                                      \
        int64_t p = 0, q = 0;                                                                \
        while (p < n && q < m) {                                                             \
            const int32_t a = i[p], b = j[q];                                                \
            if (a == b) sum += (double)x[p] * (double)z[q];                                  \
            p += a <= b;                                                                     \
            q += b <= a;                                                                     \
        }                                                                                    \
        return sum;                                                                          \
    }                                                                                        \
    SSTRUCT_INLINE double sstruct_dense_product_##TYPE(const TYPE *x, const TYPE *z, int64_t n) \
    {                                                                                        \
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};                                            \
        int64_t f = 0;                                                                       \
        for (; f + 8 <= n; f += 8)                                                           \
            for (int k = 0; k < 8; k++) sum[k] += (double)x[f + k] * (double)z[f + k];       \
        for (; f < n; f++) sum[0] += (double)x[f] * (double)z[f];                            \
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])); \
    }                                                                                        \
    SSTRUCT_INLINE double sstruct_row_product_##TYPE(                                        \
        const sstruct_rows *rows, int64_t r, int64_t s)                                      \
    {                                                                                        \
        const TYPE *values = (const TYPE *)rows->values;                                     \
        const int64_t a = sstruct_row_start(rows, r), b = sstruct_row_start(rows, s);        \
        if (!rows->indices)                                                                  \
            return sstruct_dense_product_##TYPE(values + a, values + b, rows->n_features);   \
        return sstruct_sparse_product_##TYPE(                                                \
            values + a, rows->indices + a, sstruct_row_size(rows, r),                        \
            values + b, rows->indices + b, sstruct_row_size(rows, s));                       \
    }

SSTRUCT_ROW_PRODUCT(float)
SSTRUCT_ROW_PRODUCT(double)

/* Rows of ones: the number of columns they share. */
SSTRUCT_INLINE double sstruct_row_product_ones(const sstruct_rows *rows, int64_t r, int64_t s)
{
    const int32_t *i = rows->indices + rows->indptr[r], *j = rows->indices + rows->indptr[s];
    const int64_t n = sstruct_row_size(rows, r), m = sstruct_row_size(rows, s);
    int64_t p = 0, q = 0, shared = 0;
    while (p < n && q < m) {
        const int32_t a = i[p], b = j[q];
        shared += a == b;
        p += a <= b;
        q += b <= a;
    }
    return (double)shared;
}

SSTRUCT_MULTIVERSION static double sstruct_row_product(const sstruct_rows *rows, int64_t r, int64_t s)
{
    return rows->kind == SSTRUCT_ONES ? sstruct_row_product_ones(rows, r, s)
        : rows->kind == SSTRUCT_SINGLE ? sstruct_row_product_float(rows, r, s)
        : sstruct_row_product_double(rows, r, s);
}

/* out = rows @ w, for dense rows one after another */
SSTRUCT_MULTIVERSION static void sstruct_products(
    const double *rows, int64_t count, int64_t n, const double *w, double *out)
{
    for (int64_t r = 0; r < count; r++) out[r] = sstruct_dense_product_double(rows + r * n, w, n);
}

/* Half of the squared distance of the transition counts of labelings a and b, which differ in
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

/* best[k] = max_j previous[j] + edge[j, k], from[k] the lowest such j. Labels travel as doubles.
 * No branches: which label wins is hard to predict. */
#if defined(__GNUC__)
typedef int64_t sstruct_eight_bits __attribute__((vector_size(64)));
typedef int64_t sstruct_four_bits __attribute__((vector_size(32)));
#define SSTRUCT_MAX_PLUS(W, VECTOR, BITS, N)                                                 \
    SSTRUCT_INLINE void sstruct_max_plus_##W(                                                \
        const double *previous, int64_t K, const double *edge, int64_t KP, double *best,     \
        int32_t *from)                                                                       \
    {                                                                                        \
        VECTOR m[N], g[N];                                                                   \
        for (int q = 0; q < N; q++) {                                                        \
            m[q] = previous[0] + SSTRUCT_LOAD(VECTOR, edge + q * (W / N));                   \
            g[q] = (VECTOR){0};                                                              \
        }                                                                                    \
        for (int64_t j = 1; j < K; j++) {                                                    \
            const double score = previous[j];                                                \
            const double *row = edge + j * KP;                                               \
            const VECTOR label = (VECTOR){0} + (double)j;                                    \
            for (int q = 0; q < N; q++) {                                                    \
                const VECTOR value = score + SSTRUCT_LOAD(VECTOR, row + q * (W / N));        \
                const BITS higher = value > m[q];                                            \
                g[q] = (VECTOR)((higher & (BITS)label) | (~higher & (BITS)g[q]));            \
                m[q] = (VECTOR)((higher & (BITS)value) | (~higher & (BITS)m[q]));            \
            }                                                                                \
        }                                                                                    \
        for (int q = 0; q < N; q++) {                                                        \
            SSTRUCT_STORE(VECTOR, best + q * (W / N), m[q]);                                 \
            for (int k = 0; k < W / N; k++) from[q * (W / N) + k] = (int32_t)g[q][k];        \
        }                                                                                    \
    }
#else
#define SSTRUCT_MAX_PLUS(W, VECTOR, BITS, N)                                                 \
    SSTRUCT_INLINE void sstruct_max_plus_##W(                                                \
        const double *previous, int64_t K, const double *edge, int64_t KP, double *best,     \
        int32_t *from)                                                                       \
    {                                                                                        \
        double m[W], g[W];                                                                   \
        for (int k = 0; k < W; k++) { m[k] = previous[0] + edge[k]; g[k] = 0; }              \
        for (int64_t j = 1; j < K; j++) {                                                    \
            const double score = previous[j], label = (double)j;                             \
            const double *row = edge + j * KP;                                               \
            for (int k = 0; k < W; k++) {                                                    \
                const double value = score + row[k];                                         \
                g[k] = value > m[k] ? label : g[k];                                          \
                m[k] = value > m[k] ? value : m[k];                                          \
            }                                                                                \
        }                                                                                    \
        for (int k = 0; k < W; k++) { best[k] = m[k]; from[k] = (int32_t)g[k]; }             \
    }
#endif

SSTRUCT_MAX_PLUS(32, sstruct_eight, sstruct_eight_bits, 4)
SSTRUCT_MAX_PLUS(16, sstruct_eight, sstruct_eight_bits, 2)
SSTRUCT_MAX_PLUS(8, sstruct_eight, sstruct_eight_bits, 1)
SSTRUCT_MAX_PLUS(4, sstruct_four, sstruct_four_bits, 1)

/* The forward sweep of Viterbi: best[l, k] is the score of the best prefix that ends in
 * label k at position l, from[l, k] its label at l - 1. Position l > 0 uses the table
 * edge + (l - 1) * edge_step (K x KP). */
SSTRUCT_MULTIVERSION static void sstruct_viterbi_forward(
    const double *theta, int64_t L, int64_t K, int64_t KP, const double *edge, int64_t edge_step,
    double *best, int32_t *from)
{
    memcpy(best, theta, KP * sizeof(double));
    for (int64_t l = 1; l < L; l++) {
        const double *previous = best + (l - 1) * KP, *table = edge + (l - 1) * edge_step;
        double *now = best + l * KP;
        int32_t *back = from + l * KP;
        int64_t k = 0;
        for (; KP - k >= 32; k += 32)
            sstruct_max_plus_32(previous, K, table + k, KP, now + k, back + k);
        if (KP - k >= 16) {
            sstruct_max_plus_16(previous, K, table + k, KP, now + k, back + k);
            k += 16;
        }
        if (KP - k >= 8) {
            sstruct_max_plus_8(previous, K, table + k, KP, now + k, back + k);
            k += 8;
        }
        if (KP - k >= 4) sstruct_max_plus_4(previous, K, table + k, KP, now + k, back + k);
        for (k = 0; k < KP; k++) now[k] += theta[l * KP + k];
    }
}

/* First entry of the highest score, first active one (alpha > 0) of the lowest, mean under alpha.
 * No branches: where they are is hard to predict. */
SSTRUCT_INLINE void sstruct_extremes(
    const double *score, const double *alpha, int64_t count, int64_t *best, int64_t *lowest,
    double *mean)
{
    double high = score[0], low = INFINITY, sum = 0;
    int64_t s = 0, v = 0;
    for (int64_t k = 0; k < count; k++) {
        const double x = score[k], y = alpha[k] > 0 ? x : INFINITY;
        s = x > high ? k : s;
        high = x > high ? x : high;
        v = y < low ? k : v;
        low = y < low ? y : low;
        sum += alpha[k] * x;
    }
    *best = s;
    *lowest = v;
    *mean = sum;
}

/* |w|^2 */
SSTRUCT_MULTIVERSION static double sstruct_squared_norm(const double *w, int64_t size)
{
    double sum[32] = {0}, total = 0;
    int64_t i = 0;
    for (; i + 32 <= size; i += 32)
        for (int k = 0; k < 32; k++) sum[k] += w[i + k] * w[i + k];
    for (; i < size; i++) total += w[i] * w[i];
    for (int k = 0; k < 32; k++) total += sum[k];
    return total;
}

#endif
