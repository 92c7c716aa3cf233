# Design:
# (a) Viterbi if most transitions score 0. A transition that is not stored may be optimal, so it must
#     be considered, but not individually.
# (b) Predecessors are visited in descending order of their scores, from a heap that is sorted only as
#     far as needed. The best unstored transition into a label comes from the first predecessor whose
#     row does not store that label. `free_at` is the number of predecessors before it.
# (c) Once every label has an unstored transition from one of the visited predecessors, the score of
#     the last visited one is a lower bound for all labels. A row whose score plus largest stored
#     transition is below the bound cannot matter and is skipped; this is exact, since rounding is
#     monotone. If node scores are informative, few rows remain.
# (d) With a beam, only that many best predecessors are visited, which is approximate.
"""Max-sum on chains of very many labels with sparse transitions."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t


import numpy as np
from scipy import sparse

from sstruct._checks.compressed import check_compressed
from sstruct._kernels._interruption cimport poll_signals
from sstruct._checks.arrays import real_array
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened


cdef inline bint ranks_before(const double* score, int32_t a, int32_t b) noexcept nogil:
    return score[a] > score[b] or (score[a] == score[b] and a < b)


cdef inline void sift_down(
        int32_t* heap, Py_ssize_t size, Py_ssize_t at, const double* score) noexcept nogil:
    cdef int32_t moved = heap[at]
    cdef Py_ssize_t child = 2 * at + 1
    while child < size:
        if child + 1 < size and ranks_before(score, heap[child + 1], heap[child]):
            child += 1
        if not ranks_before(score, heap[child], moved):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = moved


cdef inline void push_row(
        int32_t j, double score, const SparseTransitions* edge, double* now,
        int32_t* origin) noexcept nogil:
    """Update the successors of label j by its stored transitions; ties keep the lowest predecessor."""
    cdef int64_t e
    cdef int32_t k
    cdef double value
    for e in range(edge.indptr[j], edge.indptr[j + 1]):
        k = edge.indices[e]
        value = score + edge.values[e]
        if value > now[k] or (value == now[k] and j < origin[k]):
            now[k] = value
            origin[k] = j


cdef void sparse_step(
        const double* before, const SparseTransitions* edge, Py_ssize_t beam, double* now,
        int32_t* origin, SparseScratch* scratch) noexcept nogil:
    """now[k] = max_j before[j] + edge[j, k] with the lowest argmax j, over at most `beam` values of j."""
    cdef Py_ssize_t K = edge.n_labels, size = K, taken = 0, waiting = K, still, r
    cdef int32_t j, k
    cdef int32_t* heap = scratch.heap
    cdef int32_t* order = scratch.order
    cdef int32_t* free_at = scratch.free_at
    cdef int64_t e
    cdef double floor
    for k in range(<int32_t> K):
        heap[k] = k
        free_at[k] = 0
        now[k] = -INFINITY
        origin[k] = <int32_t> K
    for r in range(K // 2 - 1, -1, -1):
        sift_down(heap, K, r, before)
    while taken < beam and (waiting > 0 or beam < K):
        j = heap[0]
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, 0, before)
        order[taken] = j
        still = 0
        for e in range(edge.indptr[j], edge.indptr[j + 1]):
            k = edge.indices[e]
            if free_at[k] == taken:
                free_at[k] += 1
                still += 1
        push_row(j, before[j], edge, now, origin)
        waiting = still
        taken += 1
    floor = before[order[taken - 1]]
    if beam >= K:
        for r in range(size):
            if before[heap[r]] + edge.row_most[heap[r]] >= floor:
                push_row(heap[r], before[heap[r]], edge, now, origin)
    for k in range(<int32_t> K):
        if free_at[k] < taken:
            j = order[free_at[k]]
            if before[j] > now[k] or (before[j] == now[k] and j < origin[k]):
                now[k] = before[j]
                origin[k] = j


cdef double sparse_viterbi_labels(
        const double* theta, Py_ssize_t L, Py_ssize_t KP, const SparseTransitions* edge,
        Py_ssize_t beam, int32_t* labels, double* best, int32_t* origin,
        SparseScratch* scratch) except? -1 nogil:
    """Maximize sum_l theta[l, y_l] + sum_l edge[y_{l-1}, y_l].

    theta : L x KP    IN    best, origin : L x KP    OUT (scratch)    labels : L    OUT
    beam : number of predecessors visited per position, at least 1; if it is K or more, the result is exact
    Returns the maximum. Time O(L (nnz + K log K)), less if (c) applies; memory O(L K). Ties and
    rounding are those of `viterbi_labels`, if exact: the lowest last label, then the lowest predecessor.
    """
    cdef Py_ssize_t l, k, last = 0, K = edge.n_labels
    cdef double* now
    for k in range(K):
        best[k] = theta[k]
    for l in range(1, L):
        now = best + l * KP
        sparse_step(now - KP, edge, beam, now, origin + l * KP, scratch)
        for k in range(K):
            now[k] += theta[l * KP + k]
        poll_signals(10.0 * K + edge.indptr[K])
    now = best + (L - 1) * KP
    for k in range(1, K):
        if now[k] > now[last]:
            last = k
    k = last
    for l in range(L - 1, 0, -1):
        labels[l] = <int32_t> k
        k = origin[l * KP + k]
    labels[0] = <int32_t> k
    return now[last]


def row_maxima(const int64_t[::1] indptr not None, const double[::1] values not None):
    """Return the largest value of each row, -inf for empty rows."""
    cdef Py_ssize_t k
    cdef int64_t e
    out = np.full(indptr.shape[0] - 1, -np.inf)
    cdef double[::1] most = out
    for k in range(most.shape[0]):
        for e in range(indptr[k], indptr[k + 1]):
            most[k] = max(most[k], values[e])
    return out


def sparse_viterbi(node_scores, edge_scores, beam=None):
    """Find the best labeling of one chain; transitions that `edge_scores` does not store score 0.

    beam : number of predecessors visited per position, an approximation; None: exact

    Returns the labels and their score; see :func:`sstruct.inference.viterbi`.
    """
    node = np.ascontiguousarray(real_array(node_scores, "node_scores"))
    if node.ndim != 2 or node.shape[0] == 0 or node.shape[1] == 0:
        raise ValueError(
            f"node_scores must be nonempty with shape (n_positions, n_labels); found {node.shape}")
    cdef Py_ssize_t L = node.shape[0], K = node.shape[1], kept = node.shape[1]
    check_compressed(edge_scores, "sparse edge_scores")
    if edge_scores.shape != (K, K):
        raise ValueError(
            f"sparse edge_scores must have shape {(K, K)} for node_scores of shape {node.shape}; "
            f"found {edge_scores.shape}")
    edge = sparse.csr_array(edge_scores.astype(np.float64))   # SciPy does not convert float16
    if not edge.has_canonical_format:
        edge = edge.copy()
        edge.sum_duplicates()
    for name, scores in (("node_scores", node), ("edge_scores", edge.data)):
        if np.isnan(scores).any() or np.isposinf(scores).any():
            raise ValueError(f"{name} must not contain NaN or +inf (-inf forbids a label or transition)")
    if beam is not None:
        if not is_integer(beam) or beam < 1:
            raise ValueError(f"beam must be a positive integer or None, found {shortened(beam)}")
        kept = min(int(beam), K)
    # One additional entry, so that the address of the first one always exists.
    stored = np.append(edge.indices, 0).astype(np.int32)
    cdef const double[:, ::1] theta = node
    cdef const int64_t[::1] indptr = edge.indptr.astype(np.int64)
    cdef const int32_t[::1] indices = stored
    cdef const double[::1] values = np.append(edge.data, 0.0)
    cdef const double[::1] most = row_maxima(indptr, values)
    labels = np.empty(L, dtype=np.int32)
    cdef int32_t[::1] out = labels
    cdef double[:, ::1] best = np.empty((L, K))
    cdef int32_t[:, ::1] origin = np.empty((L, K), dtype=np.int32)
    cdef int32_t[:, ::1] room = np.empty((3, K), dtype=np.int32)
    cdef SparseTransitions transitions
    cdef SparseScratch scratch
    cdef double value
    transitions.n_labels, transitions.indptr, transitions.indices = K, &indptr[0], &indices[0]
    transitions.values, transitions.row_most = &values[0], &most[0]
    scratch.heap, scratch.order, scratch.free_at = &room[0, 0], &room[1, 0], &room[2, 0]
    with nogil:
        value = sparse_viterbi_labels(
            &theta[0, 0], L, K, &transitions, kept, &out[0], &best[0, 0], &origin[0, 0], &scratch)
    return labels, value
