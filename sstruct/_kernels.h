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

/* Feature rows, dense (indices == NULL) or CSR, in single or double precision. */
typedef struct {
    const void *values;
    const int32_t *indices;
    const int64_t *indptr;
    int64_t n_features;
    int single;
} sstruct_rows;

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
                const double value = (double)x[f + u];                                       \
                for (int q = 0; q < N; q++)                                                  \
                    sum[u][q] += value * SSTRUCT_LOAD(VECTOR, row + q * (W / N));            \
            }                                                                                \
        for (; f < size; f++) {                                                              \
            const double *row = w + (index ? (int64_t)index[f] : f) * KP;                    \
            const double value = (double)x[f];                                               \
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
            const double value = (double)x[f];                                               \
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
        if (index && rows->single)
            sstruct_row_potentials_float((const float *)rows->values + start, index, size, w, KP, out);
        else if (index)
            sstruct_row_potentials_double((const double *)rows->values + start, index, size, w, KP, out);
        else if (rows->single)
            sstruct_row_potentials_float((const float *)rows->values + start, NULL, size, w, KP, out);
        else
            sstruct_row_potentials_double((const double *)rows->values + start, NULL, size, w, KP, out);
    }
}

/* X[r] @ w[:, k]: the potential of one label. */
#define SSTRUCT_ONE_POTENTIAL(TYPE)                                                          \
    SSTRUCT_INLINE double sstruct_one_potential_##TYPE(                                      \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP)      \
    {                                                                                        \
        double even = 0, odd = 0;                                                            \
        int64_t f = 0;                                                                       \
        if (index) {                                                                         \
            for (; f + 1 < size; f += 2) {                                                   \
                even += (double)x[f] * w[(int64_t)index[f] * KP];                            \
                odd += (double)x[f + 1] * w[(int64_t)index[f + 1] * KP];                     \
            }                                                                                \
            if (f < size) even += (double)x[f] * w[(int64_t)index[f] * KP];                  \
        } else {                                                                             \
            for (; f + 1 < size; f += 2) {                                                   \
                even += (double)x[f] * w[f * KP];                                            \
                odd += (double)x[f + 1] * w[(f + 1) * KP];                                   \
            }                                                                                \
            if (f < size) even += (double)x[f] * w[f * KP];                                  \
        }                                                                                    \
        return even + odd;                                                                   \
    }

SSTRUCT_ONE_POTENTIAL(float)
SSTRUCT_ONE_POTENTIAL(double)

SSTRUCT_INLINE double sstruct_one_potential(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    return rows->single
        ? sstruct_one_potential_float((const float *)rows->values + start, index, size, w, KP)
        : sstruct_one_potential_double((const double *)rows->values + start, index, size, w, KP);
}

/* w[:, gain] += c X[r],  w[:, lose] -= c X[r] */
#define SSTRUCT_MOVE(TYPE)                                                                   \
    SSTRUCT_INLINE void sstruct_move_row_##TYPE(                                             \
        const TYPE *x, const int32_t *index, int64_t size, double c, int64_t gain,           \
        int64_t lose, double *w, int64_t KP)                                                 \
    {                                                                                        \
        for (int64_t f = 0; f < size; f++) {                                                 \
            double *row = w + (index ? (int64_t)index[f] : f) * KP;                          \
            const double value = c * (double)x[f];                                           \
            row[gain] += value;                                                              \
            row[lose] -= value;                                                              \
        }                                                                                    \
    }

SSTRUCT_MOVE(float)
SSTRUCT_MOVE(double)

SSTRUCT_INLINE void sstruct_move_row(
    const sstruct_rows *rows, int64_t r, double c, int64_t gain, int64_t lose, double *w, int64_t KP)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    if (rows->single)
        sstruct_move_row_float((const float *)rows->values + start, index, size, c, gain, lose, w, KP);
    else
        sstruct_move_row_double((const double *)rows->values + start, index, size, c, gain, lose, w, KP);
}

/* X[r] @ X[s]; column indices of a CSR row increase. Eight partial sums: they vectorize. */
#define SSTRUCT_ROW_PRODUCT(TYPE)                                                            \
    SSTRUCT_INLINE double sstruct_sparse_product_##TYPE(                                     \
        const TYPE *x, const int32_t *i, int64_t n, const TYPE *z, const int32_t *j, int64_t m) \
    {                                                                                        \
        double sum = 0;                                                                      \
        int64_t p = 0, q = 0;                                                                \
        while (p < n && q < m) {                                                             \
            if (i[p] == j[q]) sum += (double)x[p++] * (double)z[q++];                        \
            else if (i[p] < j[q]) p++;                                                       \
            else q++;                                                                        \
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

SSTRUCT_MULTIVERSION static double sstruct_row_product(const sstruct_rows *rows, int64_t r, int64_t s)
{
    return rows->single ? sstruct_row_product_float(rows, r, s) : sstruct_row_product_double(rows, r, s);
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
