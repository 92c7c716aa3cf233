/* The kernels whose best code depends on the instruction set. kernels.h includes this file for each
 * set, with SSTRUCT_OF(name) for the names of its functions, SSTRUCT_LANES for the number of doubles
 * in its vectors, SSTRUCT_TOTAL(v) for the sum of a vector, SSTRUCT_HIGHER(v, m, a, b) for "a where
 * v > m, else b" on vectors, and SSTRUCT_MAXIMUM(v, m) for SSTRUCT_HIGHER(v, m, v, m).
 */
#if defined(__GNUC__)
typedef double SSTRUCT_OF(sstruct_vector)
    __attribute__((vector_size(8 * SSTRUCT_LANES), aligned(8), may_alias));
#define SSTRUCT_VECTOR SSTRUCT_OF(sstruct_vector)
#define SSTRUCT_LOAD(p) (*(const SSTRUCT_VECTOR *)(p))
#define SSTRUCT_STORE(p, v) (*(SSTRUCT_VECTOR *)(p) = (v))
/* Consecutive features as doubles. gcc 12 converts eight floats as two halves and joins them, which
 * takes four instructions instead of one. */
typedef float SSTRUCT_OF(sstruct_floats)
    __attribute__((vector_size(4 * SSTRUCT_LANES), aligned(4), may_alias));
#define SSTRUCT_FEATURES_double(x) SSTRUCT_LOAD(x)
#if SSTRUCT_LANES == 8
#define SSTRUCT_FEATURES_float(x) ((SSTRUCT_VECTOR)_mm512_cvtps_pd(_mm256_loadu_ps(x)))
#else
#define SSTRUCT_FEATURES_float(x) \
    __builtin_convertvector(*(const SSTRUCT_OF(sstruct_floats) *)(x), SSTRUCT_VECTOR)
#endif
#endif

/* out[0:W] += sum_f x[f] w[f, 0:W]   (W consecutive labels: N vectors; w has KP entries per feature)
 * U partial sums per label, over the features of each residue modulo U: additions in one sum have to
 * wait for each other, so eight vectors are in flight for any N. */
#if defined(__GNUC__)
#define SSTRUCT_ACCUMULATE(TYPE, N, U)                                                       \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_accumulate_##TYPE##_##N)(                         \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        double *out)                                                                         \
    {                                                                                        \
        SSTRUCT_VECTOR sum[U][N];                                                            \
        int64_t f = 0;                                                                       \
        for (int u = 0; u < U; u++)                                                          \
            for (int q = 0; q < N; q++)                                                      \
                sum[u][q] = u ? (SSTRUCT_VECTOR){0} : SSTRUCT_LOAD(out + q * SSTRUCT_LANES); \
        for (; f + U <= size; f += U)                                                        \
            for (int u = 0; u < U; u++) {                                                    \
                const double *row = w + (index ? (int64_t)index[f + u] : f + u) * KP;        \
                const double value = SSTRUCT_VALUE_##TYPE(x, f + u);                         \
                for (int q = 0; q < N; q++)                                                  \
                    sum[u][q] += value * SSTRUCT_LOAD(row + q * SSTRUCT_LANES);              \
            }                                                                                \
        for (; f < size; f++) {                                                              \
            const double *row = w + (index ? (int64_t)index[f] : f) * KP;                    \
            const double value = SSTRUCT_VALUE_##TYPE(x, f);                                 \
            for (int q = 0; q < N; q++)                                                      \
                sum[0][q] += value * SSTRUCT_LOAD(row + q * SSTRUCT_LANES);                  \
        }                                                                                    \
        for (int u = 1; u < U; u++)                                                          \
            for (int q = 0; q < N; q++) sum[0][q] += sum[u][q];                              \
        for (int q = 0; q < N; q++) SSTRUCT_STORE(out + q * SSTRUCT_LANES, sum[0][q]);       \
    }
#else
#define SSTRUCT_ACCUMULATE(TYPE, N, U)                                                       \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_accumulate_##TYPE##_##N)(                         \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        double *out)                                                                         \
    {                                                                                        \
        double sum[N * SSTRUCT_LANES];                                                       \
        for (int k = 0; k < N * SSTRUCT_LANES; k++) sum[k] = out[k];                         \
        for (int64_t f = 0; f < size; f++) {                                                 \
            const double *row = w + (index ? (int64_t)index[f] : f) * KP;                    \
            const double value = SSTRUCT_VALUE_##TYPE(x, f);                                 \
            for (int k = 0; k < N * SSTRUCT_LANES; k++) sum[k] += value * row[k];            \
        }                                                                                    \
        for (int k = 0; k < N * SSTRUCT_LANES; k++) out[k] = sum[k];                         \
    }
#endif

#define SSTRUCT_ROW_POTENTIALS(TYPE)                                                         \
    SSTRUCT_ACCUMULATE(TYPE, 8, 1)                                                           \
    SSTRUCT_ACCUMULATE(TYPE, 4, 2)                                                           \
    SSTRUCT_ACCUMULATE(TYPE, 2, 4)                                                           \
    SSTRUCT_ACCUMULATE(TYPE, 1, 8)                                                           \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_row_potentials_##TYPE)(                           \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        int64_t n, double *out)                                                              \
    {                                                                                        \
        int64_t k = 0;                                                                       \
        for (; n - k >= 8 * SSTRUCT_LANES; k += 8 * SSTRUCT_LANES)                           \
            SSTRUCT_OF(sstruct_accumulate_##TYPE##_8)(x, index, size, w + k, KP, out + k);   \
        if (n - k >= 4 * SSTRUCT_LANES) {                                                    \
            SSTRUCT_OF(sstruct_accumulate_##TYPE##_4)(x, index, size, w + k, KP, out + k);   \
            k += 4 * SSTRUCT_LANES;                                                          \
        }                                                                                    \
        if (n - k >= 2 * SSTRUCT_LANES) {                                                    \
            SSTRUCT_OF(sstruct_accumulate_##TYPE##_2)(x, index, size, w + k, KP, out + k);   \
            k += 2 * SSTRUCT_LANES;                                                          \
        }                                                                                    \
        if (n - k >= SSTRUCT_LANES)                                                          \
            SSTRUCT_OF(sstruct_accumulate_##TYPE##_1)(x, index, size, w + k, KP, out + k);   \
    }

SSTRUCT_ROW_POTENTIALS(float)
SSTRUCT_ROW_POTENTIALS(double)
SSTRUCT_ROW_POTENTIALS(sstruct_ones)

/* out[0:n] += X[r] @ w[:, 0:n]; n is a multiple of the vectors' lanes and at most KP. Separate loops
 * for dense and sparse rows, so indices are not checked for every feature. */
SSTRUCT_INLINE void SSTRUCT_OF(sstruct_add_row_potentials)(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, int64_t n, double *out)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    const double factor = rows->factor, inverse = 1 / factor;
    if (factor != 1)   /* f (out / f + sum) takes 2 n products; scaling each value would take `size` */
        for (int64_t k = 0; k < n; k++) out[k] *= inverse;
    if (rows->kind == SSTRUCT_ONES)
        SSTRUCT_OF(sstruct_row_potentials_sstruct_ones)(NULL, index, size, w, KP, n, out);
    else if (index && rows->kind == SSTRUCT_SINGLE)
        SSTRUCT_OF(sstruct_row_potentials_float)(
            (const float *)rows->values + start, index, size, w, KP, n, out);
    else if (index)
        SSTRUCT_OF(sstruct_row_potentials_double)(
            (const double *)rows->values + start, index, size, w, KP, n, out);
    else if (rows->kind == SSTRUCT_SINGLE)
        SSTRUCT_OF(sstruct_row_potentials_float)(
            (const float *)rows->values + start, NULL, size, w, KP, n, out);
    else
        SSTRUCT_OF(sstruct_row_potentials_double)(
            (const double *)rows->values + start, NULL, size, w, KP, n, out);
    if (factor != 1)
        for (int64_t k = 0; k < n; k++) out[k] *= factor;
}

/* theta[0:count, :] = bias + X[first:first + count] @ W + scale * cost[truth]
 * bias (KP) or NULL; cost (K x KP) or NULL to omit the last term. */
SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_potentials)(
    const sstruct_rows *rows, int64_t first, int64_t count, const double *w, int64_t KP,
    const double *bias, const double *cost, const int32_t *truth, double scale, double *theta)
{
    for (int64_t l = 0; l < count; l++) {
        double *out = theta + l * KP;
        const double *row = cost ? cost + (int64_t)truth[l] * KP : NULL;
        for (int64_t k = 0; k < KP; k++) out[k] = bias ? bias[k] : 0;
        if (row)
            for (int64_t k = 0; k < KP; k++) out[k] += scale * row[k];
        SSTRUCT_OF(sstruct_add_row_potentials)(rows, first + l, w, KP, KP, out);
    }
}

SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_add_potentials)(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, int64_t n, double *out)
{
    SSTRUCT_OF(sstruct_add_row_potentials)(rows, r, w, KP, n, out);
}

/* out[q] = X[r] @ w[:, label[q]]: the potentials of M labels. Every label has two partial sums, and
 * all labels share one pass over the row. */
#define SSTRUCT_LABEL_POTENTIALS(TYPE, M)                                                    \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_label_potentials_##TYPE##_##M)(                   \
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
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_some_potentials_##TYPE)(                          \
        const TYPE *x, const int32_t *index, int64_t size, const double *w, int64_t KP,      \
        const int32_t *label, int64_t count, double *out)                                    \
    {                                                                                        \
        for (; count >= 4; count -= 4, label += 4, out += 4)                                 \
            SSTRUCT_OF(sstruct_label_potentials_##TYPE##_4)(x, index, size, w, KP, label, out); \
        if (count == 3)                                                                      \
            SSTRUCT_OF(sstruct_label_potentials_##TYPE##_3)(x, index, size, w, KP, label, out);\
        if (count == 2)                                                                      \
            SSTRUCT_OF(sstruct_label_potentials_##TYPE##_2)(x, index, size, w, KP, label, out);\
        if (count == 1)                                                                      \
            SSTRUCT_OF(sstruct_label_potentials_##TYPE##_1)(x, index, size, w, KP, label, out);\
    }

SSTRUCT_SOME_POTENTIALS(float)
SSTRUCT_SOME_POTENTIALS(double)
SSTRUCT_SOME_POTENTIALS(sstruct_ones)

SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_some_potentials)(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t KP, const int32_t *label,
    int64_t count, double *out)
{
    const int64_t start = sstruct_row_start(rows, r), size = sstruct_row_size(rows, r);
    const int32_t *index = rows->indices ? rows->indices + start : NULL;
    if (rows->kind == SSTRUCT_ONES)
        SSTRUCT_OF(sstruct_some_potentials_sstruct_ones)(NULL, index, size, w, KP, label, count, out);
    else if (rows->kind == SSTRUCT_SINGLE)
        SSTRUCT_OF(sstruct_some_potentials_float)(
            (const float *)rows->values + start, index, size, w, KP, label, count, out);
    else
        SSTRUCT_OF(sstruct_some_potentials_double)(
            (const double *)rows->values + start, index, size, w, KP, label, count, out);
    if (rows->factor != 1)
        for (int64_t q = 0; q < count; q++) out[q] *= rows->factor;
}

#if defined(__GNUC__) && SSTRUCT_LANES == 8
#define SSTRUCT_EIGHT_SUMS(TYPE)                                                             \
    SSTRUCT_VECTOR sums = {0};                                                               \
    for (; f + 8 <= n; f += 8)                                                               \
        sums += SSTRUCT_FEATURES_##TYPE(x + f) * SSTRUCT_FEATURES_##TYPE(z + f);             \
    SSTRUCT_STORE(sum, sums);
#else
#define SSTRUCT_EIGHT_SUMS(TYPE)                                                             \
    for (; f + 8 <= n; f += 8)                                                               \
        for (int k = 0; k < 8; k++) sum[k] += (double)x[f + k] * (double)z[f + k];
#endif

/* X[r] @ X[s]; the column indices of CSR rows increase. Eight partial sums, to be vectorized. */
#define SSTRUCT_ROW_PRODUCT(TYPE)                                                            \
    SSTRUCT_INLINE double SSTRUCT_OF(sstruct_sparse_product_##TYPE)(                         \
        const TYPE *x, const int32_t *i, int64_t n, const TYPE *z, const int32_t *j, int64_t m) \
    {                                                                                        \
        double sum = 0;                                                                      \
        int64_t p = 0, q = 0;                                                                \
        if (x == z && n == m)   /* an empty row starts where the next one does */            \
            for (; p < n; p++) sum += (double)x[p] * (double)x[p];                           \
        while (p < n && q < m) {                                                             \
            const int32_t a = i[p], b = j[q];                                                \
            if (a == b) sum += (double)x[p] * (double)z[q];                                  \
            p += a <= b;                                                                     \
            q += b <= a;                                                                     \
        }                                                                                    \
        return sum;                                                                          \
    }                                                                                        \
    SSTRUCT_INLINE double SSTRUCT_OF(sstruct_dense_product_##TYPE)(const TYPE *x, const TYPE *z, int64_t n) \
    {                                                                                        \
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};                                            \
        int64_t f = 0;                                                                       \
        SSTRUCT_EIGHT_SUMS(TYPE)                                                             \
        for (; f < n; f++) sum[0] += (double)x[f] * (double)z[f];                            \
        return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])); \
    }                                                                                        \
    SSTRUCT_INLINE double SSTRUCT_OF(sstruct_row_product_##TYPE)(                            \
        const sstruct_rows *rows, int64_t r, int64_t s)                                      \
    {                                                                                        \
        const TYPE *values = (const TYPE *)rows->values;                                     \
        const int64_t a = sstruct_row_start(rows, r), b = sstruct_row_start(rows, s);        \
        if (!rows->indices)                                                                  \
            return SSTRUCT_OF(sstruct_dense_product_##TYPE)(values + a, values + b, rows->n_features); \
        return SSTRUCT_OF(sstruct_sparse_product_##TYPE)(                                    \
            values + a, rows->indices + a, sstruct_row_size(rows, r),                        \
            values + b, rows->indices + b, sstruct_row_size(rows, s));                       \
    }

SSTRUCT_ROW_PRODUCT(float)
SSTRUCT_ROW_PRODUCT(double)

/* Rows of ones: the number of common columns. If the second row fits in a few vectors, every column of the
 * first row is compared with these vectors, which takes less time than merging the two rows. */
SSTRUCT_INLINE int64_t SSTRUCT_OF(sstruct_shared_columns)(
    const int32_t *i, int64_t n, const int32_t *j, int64_t m)
{
    int64_t p = 0, q = 0, shared = 0;
#if defined(__GNUC__)
    enum { WIDTH = 2 * SSTRUCT_LANES };
    static const int32_t order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    typedef int32_t columns __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
    if (m >= WIDTH && m <= 4 * WIDTH) {
        columns found = {0};
        for (; q < m; q += WIDTH) {
            const int64_t first = q < m - WIDTH ? q : m - WIDTH;
            const columns some = *(const columns *)(j + first);
            columns equal = {0};
            for (p = 0; p < n; p++) equal |= some == i[p];
            found -= equal & (*(const columns *)order >= (int32_t)(q - first));
        }
        for (int k = 0; k < WIDTH; k++) shared += found[k];
        return shared;
    }
#endif
    while (p < n && q < m) {
        const int32_t a = i[p], b = j[q];
        shared += a == b;
        p += a <= b;
        q += b <= a;
    }
    return shared;
}

SSTRUCT_INLINE double SSTRUCT_OF(sstruct_row_product_ones)(
    const sstruct_rows *rows, int64_t r, int64_t s)
{
    const int64_t n = sstruct_row_size(rows, r);
    if (r == s) return (double)n;
    return (double)SSTRUCT_OF(sstruct_shared_columns)(
        rows->indices + rows->indptr[r], n, rows->indices + rows->indptr[s],
        sstruct_row_size(rows, s));
}

SSTRUCT_KERNEL double SSTRUCT_OF(sstruct_row_product)(const sstruct_rows *rows, int64_t r, int64_t s)
{
    const double factor = rows->factor * rows->factor;
    return factor * (
        rows->kind == SSTRUCT_ONES ? SSTRUCT_OF(sstruct_row_product_ones)(rows, r, s)
        : rows->kind == SSTRUCT_SINGLE ? SSTRUCT_OF(sstruct_row_product_float)(rows, r, s)
        : SSTRUCT_OF(sstruct_row_product_double)(rows, r, s));
}

/* out = rows @ w, for contiguous dense rows */
SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_products)(
    const double *rows, int64_t count, int64_t n, const double *w, double *out)
{
    for (int64_t r = 0; r < count; r++) out[r] = SSTRUCT_OF(sstruct_dense_product_double)(rows + r * n, w, n);
}

/* best[k] = max_j previous[j] + edge[j, k], from[k] the lowest such j, for N vectors of labels k.
 * Labels are doubles until they are written to `from`. Without branches, which would be hard to predict. */
#if defined(__GNUC__)
#define SSTRUCT_MAX_PLUS(N)                                                                  \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_max_plus_##N)(                                    \
        const double *previous, int64_t K, const double *edge, int64_t KP, double *best,     \
        int32_t *from)                                                                       \
    {                                                                                        \
        SSTRUCT_VECTOR m[N], g[N];                                                           \
        for (int q = 0; q < N; q++) {                                                        \
            m[q] = previous[0] + SSTRUCT_LOAD(edge + q * SSTRUCT_LANES);                     \
            g[q] = (SSTRUCT_VECTOR){0};                                                      \
        }                                                                                    \
        for (int64_t j = 1; j < K; j++) {                                                    \
            const double score = previous[j];                                                \
            const double *row = edge + j * KP;                                               \
            const SSTRUCT_VECTOR label = (SSTRUCT_VECTOR){0} + (double)j;                    \
            for (int q = 0; q < N; q++) {                                                    \
                const SSTRUCT_VECTOR value = score + SSTRUCT_LOAD(row + q * SSTRUCT_LANES);  \
                g[q] = SSTRUCT_HIGHER(value, m[q], label, g[q]);                             \
                m[q] = SSTRUCT_MAXIMUM(value, m[q]);                                         \
            }                                                                                \
        }                                                                                    \
        for (int q = 0; q < N; q++) {                                                        \
            SSTRUCT_STORE(best + q * SSTRUCT_LANES, m[q]);                                   \
            for (int k = 0; k < SSTRUCT_LANES; k++)                                          \
                from[q * SSTRUCT_LANES + k] = (int32_t)g[q][k];                              \
        }                                                                                    \
    }
#else
#define SSTRUCT_MAX_PLUS(N)                                                                  \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_max_plus_##N)(                                    \
        const double *previous, int64_t K, const double *edge, int64_t KP, double *best,     \
        int32_t *from)                                                                       \
    {                                                                                        \
        double m[N * SSTRUCT_LANES], g[N * SSTRUCT_LANES];                                   \
        for (int k = 0; k < N * SSTRUCT_LANES; k++) { m[k] = previous[0] + edge[k]; g[k] = 0; } \
        for (int64_t j = 1; j < K; j++) {                                                    \
            const double score = previous[j], label = (double)j;                             \
            const double *row = edge + j * KP;                                               \
            for (int k = 0; k < N * SSTRUCT_LANES; k++) {                                    \
                const double value = score + row[k];                                         \
                g[k] = value > m[k] ? label : g[k];                                          \
                m[k] = value > m[k] ? value : m[k];                                          \
            }                                                                                \
        }                                                                                    \
        for (int k = 0; k < N * SSTRUCT_LANES; k++) { best[k] = m[k]; from[k] = (int32_t)g[k]; } \
    }
#endif

SSTRUCT_MAX_PLUS(4)
SSTRUCT_MAX_PLUS(2)
SSTRUCT_MAX_PLUS(1)

/* The forward sweep of Viterbi over positions begin ... L - 1: best[l, k] is the score of the best prefix
 * that ends in label k at position l, from[l, k] its label at l - 1. Position l > 0 uses the table
 * edge + (l - 1) * edge_step (K x KP). */
SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_viterbi_forward)(
    const double *theta, int64_t L, int64_t K, int64_t KP, const double *edge, int64_t edge_step,
    int64_t begin, double *best, int32_t *from)
{
    if (begin == 0) memcpy(best, theta, KP * sizeof(double));
    for (int64_t l = begin > 0 ? begin : 1; l < L; l++) {
        const double *previous = best + (l - 1) * KP, *table = edge + (l - 1) * edge_step;
        double *now = best + l * KP;
        int32_t *back = from + l * KP;
        int64_t k = 0;
        for (; KP - k >= 4 * SSTRUCT_LANES; k += 4 * SSTRUCT_LANES)
            SSTRUCT_OF(sstruct_max_plus_4)(previous, K, table + k, KP, now + k, back + k);
        if (KP - k >= 2 * SSTRUCT_LANES) {
            SSTRUCT_OF(sstruct_max_plus_2)(previous, K, table + k, KP, now + k, back + k);
            k += 2 * SSTRUCT_LANES;
        }
        if (KP - k >= SSTRUCT_LANES)
            SSTRUCT_OF(sstruct_max_plus_1)(previous, K, table + k, KP, now + k, back + k);
        for (k = 0; k < KP; k++) now[k] += theta[l * KP + k];
    }
}

/* Bounds of a table of transitions, K x KP: in_most[k] = max_j edge[j, k]; out_most[j] and out_least[j] are
 * the largest and the smallest entry of row j. Padding is included, so bounds of rows may be wider than
 * necessary. */
SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_transition_bounds)(
    const double *edge, int64_t K, int64_t KP, double *in_most, double *out_most, double *out_least)
{
    memcpy(in_most, edge, KP * sizeof(double));
    for (int64_t j = 0; j < K; j++) {
        const double *row = edge + j * KP;
        double most = row[0], least = row[0];
#if defined(__GNUC__)
        SSTRUCT_VECTOR high = SSTRUCT_LOAD(row), low = -high;
        for (int64_t k = 0; k < KP; k += SSTRUCT_LANES) {
            const SSTRUCT_VECTOR value = SSTRUCT_LOAD(row + k);
            high = SSTRUCT_MAXIMUM(value, high);
            low = SSTRUCT_MAXIMUM(-value, low);
            SSTRUCT_STORE(in_most + k, SSTRUCT_MAXIMUM(value, SSTRUCT_LOAD(in_most + k)));
        }
        for (int q = 0; q < SSTRUCT_LANES; q++) {
            most = high[q] > most ? high[q] : most;
            least = -low[q] < least ? -low[q] : least;
        }
#else
        for (int64_t k = 0; k < KP; k++) {
            most = row[k] > most ? row[k] : most;
            least = row[k] < least ? row[k] : least;
            in_most[k] = row[k] > in_most[k] ? row[k] : in_most[k];
        }
#endif
        out_most[j] = most;
        out_least[j] = least;
    }
}

/* out[k] = exp(scale (x[k] - shift)) for n entries, n a multiple of the vectors' lanes; 0 for exponents of
 * -700 or less. Returns whether a finite exponent is below SSTRUCT_LEAST_EXPONENT, so that sums of products
 * may underflow.
 * Reduction to |r| <= log(2) / 2 and the Taylor polynomial of degree 13: about one unit in the last place. */
#if defined(__GNUC__)
typedef int64_t SSTRUCT_OF(sstruct_integers)
    __attribute__((vector_size(8 * SSTRUCT_LANES), aligned(8), may_alias));
SSTRUCT_KERNEL int SSTRUCT_OF(sstruct_exponentials)(
    const double *x, int64_t n, double shift, double scale, double *out)
{
    static const double inverse[14] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
        1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    const SSTRUCT_VECTOR zero = {0}, one = zero + 1.0, magic = zero + 6755399441055744.0;
    SSTRUCT_VECTOR low = zero;
    int found = 0;
    if (shift == -INFINITY) {
        memset(out, 0, n * sizeof(double));
        return 0;
    }
    for (int64_t k = 0; k < n; k += SSTRUCT_LANES) {
        const SSTRUCT_VECTOR t = scale * (SSTRUCT_LOAD(x + k) - shift);
        const SSTRUCT_VECTOR clipped = SSTRUCT_MAXIMUM(t, zero - 708.0);
        const SSTRUCT_VECTOR turns = clipped * 1.4426950408889634 + magic, whole = turns - magic;
        const SSTRUCT_VECTOR r = (clipped - whole * 0.693147180369123816490)
            - whole * 1.90821492927058770002e-10;
        SSTRUCT_VECTOR p = zero + inverse[13];
        for (int d = 12; d >= 0; d--) p = p * r + inverse[d];
        const SSTRUCT_OF(sstruct_integers) power =
            ((SSTRUCT_OF(sstruct_integers))turns << 52) + ((int64_t)1023 << 52);
        const SSTRUCT_VECTOR value = p * (SSTRUCT_VECTOR)power;
        SSTRUCT_STORE(out + k, SSTRUCT_HIGHER(t, zero - 700.0, value, zero));
        low = SSTRUCT_MAXIMUM(low, SSTRUCT_HIGHER(
            t, zero - 1e308,
            SSTRUCT_HIGHER(zero + SSTRUCT_LEAST_EXPONENT, t, one, zero), zero));
    }
    for (int q = 0; q < SSTRUCT_LANES; q++) found |= low[q] > 0;
    return found;
}
#else
SSTRUCT_KERNEL int SSTRUCT_OF(sstruct_exponentials)(
    const double *x, int64_t n, double shift, double scale, double *out)
{
    int found = 0;
    for (int64_t k = 0; k < n; k++) {
        const double t = shift == -INFINITY ? -INFINITY : scale * (x[k] - shift);
        out[k] = t > -700 ? exp(t) : 0;
        found |= t > -1e308 && t < SSTRUCT_LEAST_EXPONENT;
    }
    return found;
}
#endif

/* Divide n nonnegative entries by their sum, and return the sum; set `found` if the sum is 0, or if an
 * entry other than 0 becomes less than SSTRUCT_LEAST_SHARE. */
SSTRUCT_INLINE double SSTRUCT_OF(sstruct_divide_by_sum)(double *x, int64_t n, int *found)
{
#if defined(__GNUC__)
    const SSTRUCT_VECTOR zero = {0}, one = zero + 1.0;
    SSTRUCT_VECTOR sum = zero, low = zero;
    for (int64_t k = 0; k < n; k += SSTRUCT_LANES) sum += SSTRUCT_LOAD(x + k);
    const double total = SSTRUCT_TOTAL(sum), factor = total > 0 ? 1 / total : 0;
    for (int64_t k = 0; k < n; k += SSTRUCT_LANES) {
        const SSTRUCT_VECTOR value = SSTRUCT_LOAD(x + k) * factor;
        SSTRUCT_STORE(x + k, value);
        low = SSTRUCT_MAXIMUM(low, SSTRUCT_HIGHER(
            value, zero, SSTRUCT_HIGHER(zero + SSTRUCT_LEAST_SHARE, value, one, zero), zero));
    }
    for (int q = 0; q < SSTRUCT_LANES; q++) *found |= low[q] > 0;
#else
    double total = 0;
    for (int64_t k = 0; k < n; k++) total += x[k];
    const double factor = total > 0 ? 1 / total : 0;
    for (int64_t k = 0; k < n; k++) {
        x[k] *= factor;
        *found |= x[k] > 0 && x[k] < SSTRUCT_LEAST_SHARE;
    }
#endif
    *found |= !(total > 0);
    return total;
}

SSTRUCT_INLINE double SSTRUCT_OF(sstruct_highest)(const double *x, int64_t n)
{
    double highest = x[0];
#if defined(__GNUC__)
    SSTRUCT_VECTOR high = SSTRUCT_LOAD(x);
    for (int64_t k = SSTRUCT_LANES; k < n; k += SSTRUCT_LANES)
        high = SSTRUCT_MAXIMUM(SSTRUCT_LOAD(x + k), high);
    for (int q = 0; q < SSTRUCT_LANES; q++) highest = high[q] > highest ? high[q] : highest;
#else
    for (int64_t k = 1; k < n; k++) highest = x[k] > highest ? x[k] : highest;
#endif
    return highest;
}

/* Forward sweep of the sum-product algorithm over positions begin ... end - 1. The padding of theta is -inf
 * and that of `edge`, a table of exponentials that all transitions share, is 0.
 * share[l, k] is proportional to the sum of exp(scale * score) over labelings of 0 ... l that end in k, and
 * sums to 1 over k. factor[2 l] is the sum by which position l was divided, and factor[2 l + 1] the largest
 * theta[l, k], which was subtracted before. Returns whether there was a risk of underflow, in which case
 * the results are useless. */
SSTRUCT_KERNEL int SSTRUCT_OF(sstruct_sum_forward)(
    const double *theta, int64_t K, int64_t KP, const double *edge, double scale, int64_t begin,
    int64_t end, double *node, double *share, double *factor)
{
    int found = 0;
    for (int64_t l = begin; l < end; l++) {
        double *now = share + l * KP;
        const double shift = SSTRUCT_OF(sstruct_highest)(theta + l * KP, KP);
        found |= SSTRUCT_OF(sstruct_exponentials)(theta + l * KP, KP, shift, scale, node);
        if (l > 0) {
            memset(now, 0, KP * sizeof(double));
            SSTRUCT_OF(sstruct_row_potentials_double)(now - KP, NULL, K, edge, KP, KP, now);
            for (int64_t k = 0; k < KP; k++) now[k] *= node[k];
        } else
            memcpy(now, node, KP * sizeof(double));
        factor[2 * l] = SSTRUCT_OF(sstruct_divide_by_sum)(now, KP, &found);
        factor[2 * l + 1] = shift;
    }
    return found;
}

/* Backward sweep over positions end - 1 ... begin, for the same arguments; `transposed`: the transpose
 * of `edge`. rest[l, k] is proportional to the sum of exp(scale * score) over the labels of later positions,
 * given label k at l, and sums to 1 over k; rest[end] is given. */
SSTRUCT_KERNEL int SSTRUCT_OF(sstruct_sum_backward)(
    const double *theta, int64_t K, int64_t KP, const double *transposed, double scale,
    int64_t begin, int64_t end, const double *factor, double *node, double *rest)
{
    int found = 0;
    for (int64_t l = end - 1; l >= begin; l--) {
        double *now = rest + l * KP;
        const double *later = now + KP;
        found |= SSTRUCT_OF(sstruct_exponentials)(
            theta + (l + 1) * KP, KP, factor[2 * l + 3], scale, node);
        for (int64_t k = 0; k < KP; k++) node[k] *= later[k];
        memset(now, 0, KP * sizeof(double));
        SSTRUCT_OF(sstruct_row_potentials_double)(node, NULL, K, transposed, KP, KP, now);
        SSTRUCT_OF(sstruct_divide_by_sum)(now, KP, &found);
    }
    return found;
}

/* out = share * rest, divided by its sum: n entries */
SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_normalized_product)(
    const double *share, const double *rest, int64_t n, double *out)
{
    int found = 0;
    for (int64_t k = 0; k < n; k++) out[k] = share[k] * rest[k];
    SSTRUCT_OF(sstruct_divide_by_sum)(out, n, &found);
}

/* |w|^2 */
SSTRUCT_KERNEL double SSTRUCT_OF(sstruct_squared_norm)(const double *w, int64_t size)
{
    double sum[32] = {0}, total = 0;
    int64_t i = 0;
    for (; i + 32 <= size; i += 32)
        for (int k = 0; k < 32; k++) sum[k] += w[i + k] * w[i + k];
    for (; i < size; i++) total += w[i] * w[i];
    for (int k = 0; k < 32; k++) total += sum[k];
    return total;
}

#include "label_kernels.h"

#undef SSTRUCT_VECTOR
#undef SSTRUCT_LOAD
#undef SSTRUCT_STORE
#undef SSTRUCT_ACCUMULATE
#undef SSTRUCT_ROW_POTENTIALS
#undef SSTRUCT_LABEL_POTENTIALS
#undef SSTRUCT_SOME_POTENTIALS
#undef SSTRUCT_ROW_PRODUCT
#undef SSTRUCT_MAX_PLUS
#undef SSTRUCT_LABEL_PRODUCTS
#undef SSTRUCT_ADD_VECTORS
#undef SSTRUCT_EIGHT_SUMS
#undef SSTRUCT_EITHER
#undef SSTRUCT_BLOCK
#undef SSTRUCT_LABEL_KERNELS
#undef SSTRUCT_FEATURES_double
#undef SSTRUCT_FEATURES_float
