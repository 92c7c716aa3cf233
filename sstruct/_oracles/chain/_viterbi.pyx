# Design:
# (a) Max-sum on one chain: the best labeling (Viterbi). Input: potentials; output: labels. Weights,
#     features and losses are handled elsewhere.
# (b) Rows indexed by labels are padded to KP labels (sstruct/_kernels/kernels.h); the padding is never
#     used as a label. Forbidden transitions are -inf.
# (c) With many labels, most of them usually cannot be on the best path, whatever the labels of their
#     neighbors: replacing a label changes the rest of the score by at most the range of its transitions.
#     `pruned_forward` skips such labels. Rounding is monotone, so comparisons of computed sums with
#     computed bounds are exact, and the result has the same bits.
"""Viterbi algorithm of chains."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import os

from sstruct._kernels._interruption cimport poll_signals

cdef extern from "sstruct/_kernels/kernels.h":
    const int sstruct_path
    void sstruct_prefetch(const void* memory, int64_t size) noexcept nogil
    void sstruct_viterbi_forward(
        const double* theta, int64_t L, int64_t K, int64_t KP, const double* edge,
        int64_t edge_step, int64_t begin, double* best, int32_t* origin) noexcept nogil
    void sstruct_transition_bounds(
        const double* edge, int64_t K, int64_t KP, double* in_most, double* out_most,
        double* out_least) noexcept nogil

cdef enum:
    MIN_BOUNDED_LENGTH = 8    # for chains of this length or more, bounds save more time than they cost
    PAIRS_AT_ONCE = 8           # pairs that the vectorized kernel processes in the time of one pair here
# Work between calls of `poll_signals` within a chain, about a millisecond.
cdef Py_ssize_t STRETCH = 1000000
# Names of the kernel variants (sstruct_path).
INSTRUCTIONS = {0: "default", 3: "x86-64-v3", 4: "x86-64-v4"}
if os.environ.get("SSTRUCT_INSTRUCTIONS", "") not in ("", *INSTRUCTIONS.values()):
    raise ValueError(
        f"the environment variable SSTRUCT_INSTRUCTIONS must be one of "
        f"{', '.join(INSTRUCTIONS.values())}; found {os.environ['SSTRUCT_INSTRUCTIONS']!r}")


def instructions():
    """Return the instruction set of the kernels, the best that the machine and the build support.

    The environment variable ``SSTRUCT_INSTRUCTIONS``, read when the package is imported, sets an
    upper limit.
    """
    return INSTRUCTIONS[sstruct_path]


cdef int viterbi_forward(
        const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, double* best, int32_t* origin) except -1 nogil:
    """best[l, k]: best score of positions 0 ... l with label k at l; origin: the previous label.

    The arguments are those of `viterbi_labels`, except that edge must not be NULL. Checks for signals.
    """
    cdef Py_ssize_t begin = 0, end, step = max(STRETCH // (K * KP), 1)
    while begin < L:
        end = min(begin + step, L)
        sstruct_viterbi_forward(theta, end, K, KP, edge, edge_step, begin, best, origin)
        poll_signals(<double> (end - begin) * K * KP)
        begin = end
    return 0


cdef Py_ssize_t keep_leading(
        const double* score, const int32_t* label, Py_ssize_t count, const double* out_most,
        const double* out_least, int32_t* kept) noexcept nogil:
    """List the labels that may precede the next label of the best path; return their number."""
    cdef Py_ssize_t q, n = 0
    cdef int32_t k
    cdef double least = -INFINITY
    for q in range(count):
        k = label[q]
        least = max(least, score[k] + out_least[k])
    for q in range(count):
        k = label[q]
        kept[n] = k
        n += score[k] + out_most[k] >= least
    return n


cdef void transition_bounds(
        const double* edge, Py_ssize_t K, Py_ssize_t KP, double* bounds) noexcept nogil:
    """Compute the largest score of transitions into each label, the largest and the smallest out of it.

    bounds : 3 KP    OUT
    """
    sstruct_transition_bounds(edge, K, KP, bounds, bounds + KP, bounds + 2 * KP)


cdef int pruned_forward(
        const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        bint ends, double* best, int32_t* origin, const double* bounds, double* scratch,
        int32_t* kept) except -1 nogil:
    """Like `viterbi_forward` with one table of transitions, only for labels that may be on best paths.

    For other labels, `best` may be -inf and `origin` unset. All other entries are bitwise identical,
    except for origins if the best score is -inf.
    ends : whether the chain ends at the last position; otherwise a transition may follow
    bounds : result of `transition_bounds`    scratch, kept : 2 KP each
    O(L (K + P^2)) time if P labels of a position are left, at most O(L K^2).
    """
    cdef const double* in_most = bounds
    cdef const double* out_most = bounds + KP
    cdef const double* out_least = bounds + 2 * KP
    cdef double* reach = scratch
    cdef double* nothing = scratch + KP
    cdef int32_t* before = kept             # labels of the previous position, in order
    cdef int32_t* here = kept + KP          # labels of this position
    cdef Py_ssize_t l, k, p, q, champion, n_before, n_here
    cdef double highest, least, value
    cdef const double* row
    cdef double* previous
    cdef double* now
    cdef int32_t* back
    memset(nothing, 0, KP * sizeof(double))
    for k in range(K):
        best[k] = theta[k]
        here[k] = <int32_t> k
    n_before = keep_leading(best, here, K, out_most, out_least, before)
    for l in range(1, L):
        if l == L - 1 and ends:   # no transition follows
            out_most = out_least = nothing
        now, back = best + l * KP, origin + l * KP
        previous = now - KP
        # `reach` is an upper bound of the score of each label. Labels are skipped if it is below the
        # score that another label attains for all following labels.
        highest, least, champion = -INFINITY, -INFINITY, 0
        for p in range(n_before):
            highest = max(highest, previous[before[p]])
        for k in range(K):
            reach[k] = (highest + in_most[k]) + theta[l * KP + k]
            if reach[k] > reach[champion]:
                champion = k
        for p in range(n_before):
            least = max(least, previous[before[p]] + edge[before[p] * KP + champion])
        least = (least + theta[l * KP + champion]) + out_least[champion]
        n_here = 0
        for k in range(K):
            here[n_here] = <int32_t> k
            n_here += reach[k] + out_most[k] >= least
        if n_before * n_here * PAIRS_AT_ONCE > K * K:
            sstruct_viterbi_forward(theta, l + 1, K, KP, edge, 0, l, best, origin)
            poll_signals(<double> K * KP)
        else:
            for k in range(K):
                now[k] = -INFINITY
            for q in range(n_here):
                back[here[q]] = before[0]
            for p in range(n_before):
                row, value = edge + before[p] * KP, previous[before[p]]
                if p + 1 < n_before:   # the table may be too large for caches
                    for q in range(n_here):
                        sstruct_prefetch(edge + before[p + 1] * KP + here[q], 1)
                for q in range(n_here):
                    k = here[q]
                    if value + row[k] > now[k]:
                        now[k] = value + row[k]
                        back[k] = before[p]
            for q in range(n_here):
                now[here[q]] += theta[l * KP + here[q]]
            poll_signals(4.0 * K + <double> n_before * n_here)
        if l < L - 1:
            n_before = keep_leading(now, here, n_here, out_most, out_least, before)
    return 0


cdef double trace_back(
        Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, int32_t* labels, const double* best,
        const int32_t* origin) except? -1 nogil:
    """Write the labels of the best path; return its score."""
    cdef Py_ssize_t l, k = lowest_argmax(best + (L - 1) * KP, K)
    cdef double value = best[(L - 1) * KP + k]
    for l in range(L - 1, 0, -1):
        labels[l] = <int32_t> k
        k = origin[l * KP + k]
        if l % STRETCH == 0:
            poll_signals(10.0 * STRETCH)
    labels[0] = <int32_t> k
    return value


cdef double viterbi_labels(
        const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, const double* bounds, int32_t* labels, double* best,
        int32_t* origin) except? -1 nogil:
    """Maximize sum_l theta[l, y_l] + sum_l edge[y_{l-1}, y_l].

    theta : L x KP    IN    best, origin : L x KP    OUT (scratch)    labels : L    OUT
    edge : K x KP tables with a stride of `edge_step` doubles between positions (0: one table for
    all), or NULL for no edges.
    bounds : result of `transition_bounds` for one table, or wider bounds, or NULL
    Returns the maximum. Time O(L K^2), less if many labels can be skipped, or O(L K) without edges.
    Ties: the lowest last label, then the lowest predecessor.
    """
    cdef Py_ssize_t l, k
    cdef double value
    cdef double* scratch
    if edge == NULL:
        value = 0
        for l in range(L):
            k = lowest_argmax(theta + l * KP, K)
            labels[l] = <int32_t> k
            value += theta[l * KP + k]
            if l % STRETCH == 0:
                poll_signals(<double> STRETCH * K)
        return value
    if edge_step == 0 and K >= MIN_PRUNED_LABELS and (bounds != NULL or L >= MIN_BOUNDED_LENGTH):
        scratch = <double*> malloc(5 * KP * sizeof(double) + 2 * KP * sizeof(int32_t))
        if scratch == NULL:
            with gil:
                raise MemoryError(f"not enough memory for bounds on the transitions of {K} labels")
        try:
            if bounds == NULL:
                transition_bounds(edge, K, KP, scratch + 2 * KP)
                bounds = scratch + 2 * KP
            pruned_forward(
                theta, L, K, KP, edge, True, best, origin, bounds, scratch,
                <int32_t*> (scratch + 5 * KP))
        finally:
            free(scratch)
    else:
        viterbi_forward(theta, L, K, KP, edge, edge_step, best, origin)
    return trace_back(L, K, KP, labels, best, origin)
