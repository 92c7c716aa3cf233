/* Steps over the masses of many edges of one sample: GDMM's hot loop on label sets.
 *
 * Design: (a) An edge has four masses, for the outcomes (0, 0), (0, 1), (1, 0) and (1, 1): nonnegative
 * with sum C. A step minimizes sum_o Q/2 (M_o - m_o)^2 - g_o M_o over them, with
 * Q = 1 + 2 rho: M_o = (D_o - b)_+ / Q, where D = g + Q m and b is the maximum over r of
 * (sum of the r largest D - Q C) / r, so that there are no branches.
 * (b) One array for each quantity, padded to LANES edges, so that the loop over lanes is a sequence of
 * vector operations. The instruction set is chosen as in kernels.h.
 */
#ifndef SSTRUCT_GDMM_OUTCOMES_H
#define SSTRUCT_GDMM_OUTCOMES_H

#include "sstruct/_kernels/kernels.h"

enum { SSTRUCT_EDGE_LANES = 8 };
/* Rows of the table of a sample's edges: masses, messages at both ends, weights, and C times the
 * values of the labels at the ends. */
enum {
    SSTRUCT_MASS,
    SSTRUCT_MESSAGE = 4,
    SSTRUCT_WEIGHT = 6,
    SSTRUCT_LABEL_VALUE = 7,
    SSTRUCT_EDGE_ROWS = 9
};

#define SSTRUCT_ORDER(a, b)                                                                  \
    {                                                                                        \
        const double high = a > b ? a : b, low = a > b ? b : a;                              \
        a = high;                                                                            \
        b = low;                                                                             \
    }

/* One step of each of n edges and of their multipliers; n is a multiple of LANES.
 * table: EDGE_ROWS x room   INOUT. The messages contain residuals and scaled multipliers.
 * sums: squared residuals, squared steps of the marginals of the masses   INOUT */
SSTRUCT_INLINE void sstruct_outcome_steps_here(
    double *table, int64_t room, int64_t n, double rho, double C, double step, double *sums)
{
    const double Q = 1 + 2 * rho, full = Q * C;
    double residual[SSTRUCT_EDGE_LANES] = {0}, change[SSTRUCT_EDGE_LANES] = {0};
    for (int64_t first = 0; first < n; first += SSTRUCT_EDGE_LANES) {
        double *m0 = table + first, *m1 = m0 + room, *m2 = m1 + room, *m3 = m2 + room;
        double *left = m3 + room, *right = left + room, *weight = right + room;
        const double *on_left = weight + room, *on_right = on_left + room;
        for (int q = 0; q < SSTRUCT_EDGE_LANES; q++) {
            const double g1 = rho * right[q], g2 = rho * left[q];
            double d0 = Q * m0[q], d1 = g1 + Q * m1[q], d2 = g2 + Q * m2[q];
            double d3 = weight[q] + g1 + g2 + Q * m3[q];
            double s0 = d0, s1 = d1, s2 = d2, s3 = d3;
            SSTRUCT_ORDER(s0, s1)
            SSTRUCT_ORDER(s2, s3)
            SSTRUCT_ORDER(s0, s2)
            SSTRUCT_ORDER(s1, s3)
            SSTRUCT_ORDER(s1, s2)
            /* Relative to the largest: the result depends only on differences, and Q C may be lost
             * in rounding. The largest is then 0 and b < 0, so that the total is positive. */
            const double top = s0;
            d0 -= top;
            d1 -= top;
            d2 -= top;
            d3 -= top;
            double sum = s1 - s0 - full, b = -full, now = sum / 2;
            b = now > b ? now : b;
            sum += s2 - s0;
            now = sum / 3;
            b = now > b ? now : b;
            sum += s3 - s0;
            now = sum / 4;
            b = now > b ? now : b;
            d0 = d0 > b ? d0 - b : 0;
            d1 = d1 > b ? d1 - b : 0;
            d2 = d2 > b ? d2 - b : 0;
            d3 = d3 > b ? d3 - b : 0;
            /* Normalized, so that rounding errors of b do not violate the sum. */
            const double total = d0 + d1 + d2 + d3;
            d0 = C * (d0 / total);
            d1 = C * (d1 / total);
            d2 = C * (d2 / total);
            d3 = C * (d3 / total);
            const double moved_left = (m2[q] - d2) + (m3[q] - d3);
            const double moved_right = (m1[q] - d1) + (m3[q] - d3);
            const double off_left = on_left[q] - d2 - d3, off_right = on_right[q] - d1 - d3;
            weight[q] += m3[q] - d3;
            left[q] += moved_left + step * off_left;
            right[q] += moved_right + step * off_right;
            m0[q] = d0;
            m1[q] = d1;
            m2[q] = d2;
            m3[q] = d3;
            residual[q] += off_left * off_left + off_right * off_right;
            change[q] += moved_left * moved_left + moved_right * moved_right;
        }
    }
    for (int q = 0; q < SSTRUCT_EDGE_LANES; q++) {
        sums[0] += residual[q];
        sums[1] += change[q];
    }
}

#define SSTRUCT_OUTCOME_STEPS(name)                                                          \
    SSTRUCT_KERNEL void name(                                                                \
        double *table, int64_t room, int64_t n, double rho, double C, double step, double *sums) \
    {                                                                                        \
        sstruct_outcome_steps_here(table, room, n, rho, C, step, sums);                      \
    }

SSTRUCT_OUTCOME_STEPS(sstruct_outcome_steps_default)
#if SSTRUCT_MULTIVERSION
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
SSTRUCT_OUTCOME_STEPS(sstruct_outcome_steps_v3)
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
SSTRUCT_OUTCOME_STEPS(sstruct_outcome_steps_v4)
#pragma GCC pop_options
#endif

SSTRUCT_INLINE void sstruct_outcome_steps(
    double *table, int64_t room, int64_t n, double rho, double C, double step, double *sums)
{
    SSTRUCT_ON(sstruct_path, sstruct_outcome_steps, (table, room, n, rho, C, step, sums));
}

#undef SSTRUCT_ORDER
#endif
