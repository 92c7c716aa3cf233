/* Dense feature rows times weights that are stored label by label: w is K x step, step a multiple of 8,
 * with zeros after the features of each label. wide_kernels.h includes this file for each instruction set.
 *
 * Every product of a row and a label's weights has one partial sum for each lane, over the features of
 * each residue, regardless of the rows and labels that are computed together. Its bits therefore depend
 * only on the row and on the weights.
 */
/* Number of rows of a block. With AVX-512, registers hold the sums of the products of four rows and four
 * labels. */
#if SSTRUCT_LANES == 8
#define SSTRUCT_BLOCK 4
#else
#define SSTRUCT_BLOCK 2
#endif

#if defined(__GNUC__)
/* out[r * M + q] = x[r] @ w[q], for R consecutive rows of n features and M labels */
#define SSTRUCT_LABEL_PRODUCTS(TYPE, NAME, R, M)                                                \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_##NAME##_products_##TYPE##_##M)(                  \
        const TYPE *x, int64_t n, const double *const *w, double *out)                       \
    {                                                                                        \
        SSTRUCT_VECTOR sum[R][M], weight[M];                                                 \
        int64_t f = 0;                                                                       \
        for (int r = 0; r < R; r++)                                                          \
            for (int q = 0; q < M; q++) sum[r][q] = (SSTRUCT_VECTOR){0};                     \
        for (; f + SSTRUCT_LANES <= n; f += SSTRUCT_LANES) {                                 \
            for (int q = 0; q < M; q++) weight[q] = SSTRUCT_LOAD(w[q] + f);                  \
            for (int r = 0; r < R; r++) {                                                    \
                const SSTRUCT_VECTOR value = SSTRUCT_FEATURES_##TYPE(x + r * n + f);         \
                for (int q = 0; q < M; q++) sum[r][q] += value * weight[q];                  \
            }                                                                                \
        }                                                                                    \
        if (f < n) {                                                                         \
            for (int q = 0; q < M; q++) weight[q] = SSTRUCT_LOAD(w[q] + f);                  \
            for (int r = 0; r < R; r++) {                                                    \
                TYPE last[SSTRUCT_LANES] = {0};                                              \
                for (int64_t k = 0; f + k < n; k++) last[k] = x[r * n + f + k];              \
                const SSTRUCT_VECTOR value = SSTRUCT_FEATURES_##TYPE(last);                  \
                for (int q = 0; q < M; q++) sum[r][q] += value * weight[q];                  \
            }                                                                                \
        }                                                                                    \
        for (int r = 0; r < R; r++)                                                          \
            for (int q = 0; q < M; q++) out[r * M + q] = SSTRUCT_TOTAL(sum[r][q]);           \
    }
#else
#define SSTRUCT_LABEL_PRODUCTS(TYPE, NAME, R, M)                                                   \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_##NAME##_products_##TYPE##_##M)(                  \
        const TYPE *x, int64_t n, const double *const *w, double *out)                       \
    {                                                                                        \
        for (int r = 0; r < R; r++)                                                          \
            for (int q = 0; q < M; q++) {                                                    \
                double sum[4] = {0, 0, 0, 0};                                                \
                for (int64_t f = 0; f < n; f++) sum[f % 4] += (double)x[r * n + f] * w[q][f]; \
                out[r * M + q] = (sum[0] + sum[1]) + (sum[2] + sum[3]);                      \
            }                                                                                \
    }
#endif

#if defined(__GNUC__)
#define SSTRUCT_ADD_VECTORS(TYPE)                                                            \
    for (; f + SSTRUCT_LANES <= n; f += SSTRUCT_LANES)                                       \
        SSTRUCT_STORE(of + f, SSTRUCT_LOAD(of + f) + by * SSTRUCT_FEATURES_##TYPE(x + f));
#else
#define SSTRUCT_ADD_VECTORS(TYPE)
#endif

/* theta[0:count, 0:n_labels] += factor * X[0:count] @ w.T; `label_potentials`: the same for `n_labels`
 * listed labels of one row, out[q] = factor * X[0] @ w[label[q]]; `add_label_row`: its adjoint,
 * w[label[q]] += factor * change[q] X[0]. */
#define SSTRUCT_LABEL_KERNELS(TYPE)                                                          \
    SSTRUCT_LABEL_PRODUCTS(TYPE, block, SSTRUCT_BLOCK, 4)                                    \
    SSTRUCT_LABEL_PRODUCTS(TYPE, block, SSTRUCT_BLOCK, 3)                                    \
    SSTRUCT_LABEL_PRODUCTS(TYPE, block, SSTRUCT_BLOCK, 2)                                    \
    SSTRUCT_LABEL_PRODUCTS(TYPE, block, SSTRUCT_BLOCK, 1)                                    \
    SSTRUCT_LABEL_PRODUCTS(TYPE, row, 1, 4)                                                  \
    SSTRUCT_LABEL_PRODUCTS(TYPE, row, 1, 3)                                                  \
    SSTRUCT_LABEL_PRODUCTS(TYPE, row, 1, 2)                                                  \
    SSTRUCT_LABEL_PRODUCTS(TYPE, row, 1, 1)                                                  \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_row_products_##TYPE)(                             \
        const TYPE *x, int64_t n, const double *const *w, int M, double *out)                \
    {                                                                                        \
        if (M == 4) SSTRUCT_OF(sstruct_row_products_##TYPE##_4)(x, n, w, out);               \
        if (M == 3) SSTRUCT_OF(sstruct_row_products_##TYPE##_3)(x, n, w, out);               \
        if (M == 2) SSTRUCT_OF(sstruct_row_products_##TYPE##_2)(x, n, w, out);               \
        if (M == 1) SSTRUCT_OF(sstruct_row_products_##TYPE##_1)(x, n, w, out);               \
    }                                                                                        \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_add_block_##TYPE)(                                \
        const TYPE *x, int64_t n, int64_t count, double factor, const double *w, int64_t step,\
        int64_t n_labels, double *theta, int64_t KP)                                         \
    {                                                                                        \
        double out[4 * SSTRUCT_BLOCK];                                                       \
        for (int64_t k = 0; k < n_labels; k += 4) {                                          \
            const int M = n_labels - k < 4 ? (int)(n_labels - k) : 4;                        \
            const double *of[4];                                                             \
            for (int q = 0; q < M; q++) of[q] = w + (k + q) * step;                          \
            for (int64_t l = 0, R; l < count; l += R) {                                      \
                R = count - l < SSTRUCT_BLOCK ? 1 : SSTRUCT_BLOCK;                           \
                if (R == 1)                                                                  \
                    SSTRUCT_OF(sstruct_row_products_##TYPE)(x + l * n, n, of, M, out);       \
                else if (M == 4)                                                             \
                    SSTRUCT_OF(sstruct_block_products_##TYPE##_4)(x + l * n, n, of, out);    \
                else if (M == 3)                                                             \
                    SSTRUCT_OF(sstruct_block_products_##TYPE##_3)(x + l * n, n, of, out);    \
                else if (M == 2)                                                             \
                    SSTRUCT_OF(sstruct_block_products_##TYPE##_2)(x + l * n, n, of, out);    \
                else                                                                         \
                    SSTRUCT_OF(sstruct_block_products_##TYPE##_1)(x + l * n, n, of, out);    \
                for (int r = 0; r < R; r++)                                                  \
                    for (int q = 0; q < M; q++)                                              \
                        theta[(l + r) * KP + k + q] += factor * out[r * M + q];              \
            }                                                                                \
        }                                                                                    \
    }                                                                                        \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_label_potentials_##TYPE)(                         \
        const TYPE *x, int64_t n, double factor, const double *w, int64_t step,              \
        const int32_t *label, int64_t n_labels, double *out)                                 \
    {                                                                                        \
        for (int64_t k = 0; k < n_labels; k += 4) {                                          \
            const double *of[4];                                                             \
            const int M = n_labels - k < 4 ? (int)(n_labels - k) : 4;                        \
            for (int q = 0; q < M; q++) of[q] = w + label[k + q] * step;                     \
            SSTRUCT_OF(sstruct_row_products_##TYPE)(x, n, of, M, out + k);                   \
            for (int q = 0; q < M; q++) out[k + q] *= factor;                                \
        }                                                                                    \
    }                                                                                        \
    SSTRUCT_INLINE void SSTRUCT_OF(sstruct_add_label_row_##TYPE)(                            \
        const TYPE *x, int64_t n, double factor, const int32_t *label,              \
        const double *change, int64_t n_labels, double *w, int64_t step)            \
    {                                                                                        \
        for (int64_t q = 0; q < n_labels; q++) {                                             \
            double *of = w + label[q] * step;                                                \
            const double by = factor * change[q];                                            \
            int64_t f = 0;                                                                   \
            SSTRUCT_ADD_VECTORS(TYPE)                                                        \
            for (; f < n; f++) of[f] += by * (double)x[f];                                   \
        }                                                                                    \
    }
SSTRUCT_LABEL_KERNELS(float)
SSTRUCT_LABEL_KERNELS(double)

#define SSTRUCT_EITHER(name, r, arguments)                                                   \
    if (rows->kind == SSTRUCT_SINGLE) {                                                      \
        const float *x = (const float *)rows->values + (r) * n;                              \
        SSTRUCT_OF(name##_float) arguments;                                                  \
    } else {                                                                                 \
        const double *x = (const double *)rows->values + (r) * n;                            \
        SSTRUCT_OF(name##_double) arguments;                                                 \
    }

SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_add_block)(
    const sstruct_rows *rows, int64_t first, int64_t count, const double *w, int64_t step,
    int64_t n_labels, double *theta, int64_t KP)
{
    const int64_t n = rows->n_features;
    SSTRUCT_EITHER(sstruct_add_block, first,
                   (x, n, count, rows->factor, w, step, n_labels, theta, KP))
}

SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_label_potentials)(
    const sstruct_rows *rows, int64_t r, const double *w, int64_t step, const int32_t *label,
    int64_t count, double *out)
{
    const int64_t n = rows->n_features;
    SSTRUCT_EITHER(sstruct_label_potentials, r, (x, n, rows->factor, w, step, label, count, out))
}

SSTRUCT_KERNEL void SSTRUCT_OF(sstruct_add_label_row)(
    const sstruct_rows *rows, int64_t r, const int32_t *label, const double *change,
    int64_t count, double *w, int64_t step)
{
    const int64_t n = rows->n_features;
    SSTRUCT_EITHER(sstruct_add_label_row, r, (x, n, rows->factor, label, change, count, w, step))
}
