# Design:
# (a) An upper bound on the optimum, valid for any state of GDMM on chains: multipliers move scores
#     between neighboring factors without changing their sum. The sum of the factors' maxima is
#     therefore at least the maximum over labelings. The lower bound is in _chain_dual.pyx.
# (b) The node weights and the residuals, which are updated by differences, are recomputed here. The
#     scores of transitions keep their rounding errors, because their bounds would have to be updated.
"""Upper bound, statistics and rebuilding of the state of GDMM on chains."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._solvers.gdmm._chain_pass cimport OF_NODE, ChainFactors
from sstruct._solvers.gdmm._entries cimport ROUNDING, Entries
from sstruct._solvers.gdmm._pairs cimport BoundedPairs

import numpy as np


def relaxed_hinge(ChainFactors factors not None):
    """Bound sum_i C_i H_i(w) from above by the maxima of the factors with the current multipliers.

    Returns
    -------
    hinge : float
        An upper bound of the sum, at the current weights of nodes and transitions.
    """
    cdef Py_ssize_t b, l, r, k
    cdef BoundedPairs pairs = factors.pairs
    cdef double total = 0, block, best
    cdef Entries* source
    cdef Entries* sources[2]
    cdef int32_t j, i
    cdef bint has_pairs = pairs is not None
    cdef double of_row = factors.stored_in_row()
    with nogil:
        for b in range(factors.problem.n_blocks):
            block = 0
            for l in range(factors.problem.length[b]):
                r = factors.problem.start[b] + l
                poll_signals(OF_NODE + of_row * factors.problem.n_labels)
                factors.all_scores(b, l, 0, factors.problem.n_labels)
                factors.messages_at(b, l, sources)
                for source in sources:
                    for k in range(source.size):
                        factors.theta[source.at[k].first] -= (
                            factors.rho * source.at[k].multiplier)
                best = -INFINITY
                for k in range(factors.problem.n_labels):
                    if factors.theta[k] > best:
                        best = factors.theta[k]
                block += best - factors.theta[factors.problem.labels[r]]
                if l == 0 or not has_pairs:
                    continue
                pairs.load(&factors.left[r], &factors.right[r], factors.rho, True)
                pairs.mark(&factors.no_entries)
                j, i = factors.problem.labels[r - 1], factors.problem.labels[r]
                best = pairs.score[j * pairs.width + i] + pairs.left[j] + pairs.right[i]
                if pairs.search(best):
                    block += pairs.best - best
                pairs.unload(&factors.left[r], &factors.right[r])
            total += factors.mass[b] * block
    return total


def rebuild(ChainFactors factors not None):
    """Recompute w and the residuals from the dual variables; remove messages that are zero.

    Returns
    -------
    dict
        feasibility: the mean over ends of edges of sum |residual| / (2 C), a distance between
        distributions; labels_per_unigram and labels_per_bigram: mean numbers of active labels and
        pairs, including the truth.
    """
    cdef Py_ssize_t b, l, r, k
    cdef double total = 0, n_labels = 0, n_pairs = 0
    cdef Entries* active
    cdef bint has_pairs = factors.pairs is not None
    cdef double of_row = factors.stored_in_row()
    factors.w[:] = factors.start
    with nogil:
        for b in range(factors.problem.n_blocks):
            for l in range(factors.problem.length[b]):
                r = factors.problem.start[b] + l
                active = &factors.active_labels[r]
                poll_signals(OF_NODE + of_row * active.size)
                n_labels += active.size
                factors.reserve(active.size)
                for k in range(active.size):
                    factors.label[k], factors.change[k] = active.at[k].first, active.at[k].value
                if active.size > 1:
                    factors.problem.add_node(
                        b, l, &factors.label[0], &factors.change[0], active.size,
                        &factors.weights[0])
                if l > 0 and has_pairs:
                    n_pairs += factors.active_pairs[r].size
                    total += end_residual(factors, r, active - 1, &factors.left[r], False) / (
                        factors.mass[b])
                    total += end_residual(factors, r, active, &factors.right[r], True) / (
                        factors.mass[b])
    n_rows, n_edges = int(np.asarray(factors.problem.length).sum()), factors.n_edges
    return {
        "feasibility": total / (4 * n_edges) if n_edges else 0.0,
        "labels_per_unigram": n_labels / n_rows,
        "labels_per_bigram": n_pairs / n_edges if n_edges else 0.0,
    }


cdef double end_residual(
        ChainFactors factors, Py_ssize_t r, const Entries* node, Entries* messages, bint right
        ) except -1 nogil:
    """Compute the residuals at one end of an edge; return the sum of their absolute values."""
    cdef Py_ssize_t k
    cdef int32_t kept = 0
    cdef double total = 0, C = 0
    cdef const Entries* pairs = &factors.active_pairs[r]
    cdef Py_ssize_t n = pairs.size
    factors.reserve(max(n, node.size))
    for k in range(messages.size):
        messages.at[k].value = 0
    for k in range(n):
        factors.label[k] = pairs.at[k].second if right else pairs.at[k].first
        factors.change[k] = pairs.at[k].value
        C = max(C, fabs(factors.change[k]))
    factors.send(messages, &factors.label[0], n, 1)
    for k in range(node.size):
        factors.label[k], factors.change[k] = node.at[k].first, node.at[k].value
        C = max(C, fabs(factors.change[k]))
    factors.send(messages, &factors.label[0], node.size, -1)
    for k in range(messages.size):
        total += fabs(messages.at[k].value)
        if fabs(messages.at[k].value) + fabs(messages.at[k].multiplier) > ROUNDING * C:
            messages.at[kept] = messages.at[k]
            kept += 1
    messages.size = kept
    return total


def set_rho(ChainFactors factors not None, double rho):
    """Change the penalty without changing the multipliers rho mu."""
    cdef Py_ssize_t r, k
    cdef double factor = factors.rho / rho
    cdef Entries* messages
    cdef Entries* ends[2]
    if not 0 < rho < INFINITY:
        raise ValueError(f"rho must be positive, found {rho}")
    with nogil:
        for r in range(factors.n_rows):
            ends[0], ends[1] = &factors.left[r], &factors.right[r]
            for messages in ends:
                for k in range(messages.size):
                    messages.at[k].multiplier *= factor
    factors.rho = rho


def squared_sizes(ChainFactors factors not None):
    """Return the sums of squares of alpha, at the ends of edges, and of the multipliers mu."""
    cdef Py_ssize_t b, l, r, k
    cdef double marginals = 0, multipliers = 0
    cdef int degree
    cdef Entries* messages
    cdef Entries* ends[2]
    with nogil:
        for b in range(factors.problem.n_blocks):
            for l in range(factors.problem.length[b]):
                r = factors.problem.start[b] + l
                degree = (l > 0) + (l + 1 < factors.problem.length[b])
                for k in range(factors.active_labels[r].size):
                    marginals += degree * factors.active_labels[r].at[k].value ** 2
                ends[0], ends[1] = &factors.left[r], &factors.right[r]
                for messages in ends:
                    for k in range(messages.size):
                        multipliers += messages.at[k].multiplier ** 2
    return marginals, multipliers
