# Design:
# (a) Two bounds on the optimum from the state of GDMM on chains; neither asks for convergence.
# (b) Upper: multipliers move scores between factors, and what one loses its neighbours gain. The sum
#     of the factors' maxima is then no less than the maximum over labellings, at any w.
# (c) Lower: the marginals of bigram factors are made consistent with those of unigram factors. They
#     are scaled down to fit both ends, first the rows, then the columns, and what is left at the two
#     ends is spread as a product (the rounding of transport plans by Altschuler, Weed, Rigollet,
#     2017). What changes is no more than twice the residual.
# (d) Sums that grew by differences are built anew here, so that bounds are those of the variables.
"""Bounds, statistics and rebuilding of the state of GDMM on chains."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sstruct._solvers._gdmm_chain cimport ChainFactors
from sstruct._solvers._gdmm_entries cimport Entries, append
from sstruct._solvers._gdmm_pairs cimport OrderedPairs

import numpy as np

# Shares of a mass that are rounding.
cdef double ROUNDING = 1e-14


cdef class Marginals:
    """Vectors over labels, zero between uses; and a coupling."""

    cdef double[::1] row, column, first, second, first_rest, second_rest
    cdef Entries coupling

    def __cinit__(self, Py_ssize_t K):
        self.row, self.column, self.first, self.second = np.zeros((4, K))
        self.first_rest, self.second_rest = np.zeros((2, K))
        self.coupling = Entries(0, 0, NULL)

    def __dealloc__(self):
        free(self.coupling.at)


def relaxed_hinge(ChainFactors factors not None):
    """Bound sum_i C_i H_i(w) from above, by the factors' maxima under the multipliers.

    Returns
    -------
    hinge : float
        Not less than the sum, at the present weights of nodes and transitions.
    """
    cdef Py_ssize_t b, l, r, k
    cdef OrderedPairs pairs = factors.pairs
    cdef double total = 0, block, best
    cdef Entries* source
    cdef Entries* sources[2]
    cdef int32_t j, i
    cdef bint some = pairs is not None
    with nogil:
        for b in range(factors.n_blocks):
            block = 0
            for l in range(factors.length[b]):
                r = factors.start[b] + l
                factors.all_scores(b, l, 0, factors.n_labels)
                factors.messages_at(b, l, sources)
                for source in sources:
                    for k in range(source.size):
                        factors.theta[source.at[k].first] -= (
                            factors.rho * source.at[k].multiplier)
                best = -INFINITY
                for k in range(factors.n_labels):
                    if factors.theta[k] > best:
                        best = factors.theta[k]
                block += best - factors.theta[factors.labels[r]]
                if l == 0 or not some:
                    continue
                pairs.load(&factors.left[r], &factors.right[r], factors.rho, True)
                pairs.mark(&factors.nobody)
                j, i = factors.labels[r - 1], factors.labels[r]
                best = pairs.score[j * pairs.width + i] + pairs.left[j] + pairs.right[i]
                if pairs.search(best):
                    block += pairs.best - best
                pairs.unload(&factors.left[r], &factors.right[r])
            total += factors.mass[b] * block
    return total


def consistent_dual(ChainFactors factors not None, double[::1] v not None):
    """Build dual variables of the whole problem from those of the factors.

    Parameters
    ----------
    v : ndarray of shape (K * width,)
        OUT: the scores of transitions that belong to them.

    Returns
    -------
    loss : float
        sum_i C_i times the expected loss. With it, and w of the nodes,
        ``loss - (|w|^2 + |v|^2) / 2`` is a lower bound of the optimum over lam.
    """
    cdef Py_ssize_t b, l, r, k
    cdef double loss = 0
    cdef Entries* active
    cdef Entries* pairs
    cdef Marginals scratch = Marginals(factors.n_labels)
    cdef Entries* out = &scratch.coupling
    if v.shape[0] != factors.n_labels * factors.KP:
        raise ValueError("v does not fit the problem")
    with nogil:
        memset(&v[0], 0, v.shape[0] * sizeof(double))
        for b in range(factors.n_blocks):
            for l in range(factors.length[b]):
                r = factors.start[b] + l
                active = &factors.active_labels[r]
                for k in range(active.size):
                    loss -= active.at[k].value * factors.loss_scale[b] * (
                        factors.cost[factors.labels[r], active.at[k].first])
                if l > 0 and factors.transitions:
                    pairs = &factors.active_pairs[r]
                    couple(active - 1, active, pairs, factors.mass[b], scratch, out)
                    v[pairs.at[0].first * factors.KP + pairs.at[0].second] += factors.mass[b]
                    for k in range(out.size):
                        v[out.at[k].first * factors.KP + out.at[k].second] -= out.at[k].value
    return loss


cdef inline double mass_of(const Entries* active, Py_ssize_t k, double C) noexcept nogil:
    """C q of an entry, from C (e_truth - q)."""
    return max(C - active.at[k].value, 0) if k == 0 else -active.at[k].value


cdef int couple(
        const Entries* left, const Entries* right, const Entries* pairs, double C,
        Marginals scratch, Entries* out) except -1 nogil:
    """List a coupling of two nodes' marginals that is close to an edge's own masses."""
    cdef Py_ssize_t k, j
    cdef double mass, total = 0
    cdef int32_t a, c
    cdef double* row = &scratch.row[0]
    cdef double* column = &scratch.column[0]
    cdef double* first = &scratch.first[0]
    cdef double* second = &scratch.second[0]
    cdef double* first_rest = &scratch.first_rest[0]
    cdef double* second_rest = &scratch.second_rest[0]
    out.size = 0
    for k in range(left.size):
        first[left.at[k].first] = first_rest[left.at[k].first] = mass_of(left, k, C)
    for k in range(right.size):
        second[right.at[k].first] = second_rest[right.at[k].first] = mass_of(right, k, C)
    for k in range(pairs.size):
        row[pairs.at[k].first] += mass_of(pairs, k, C)
    for k in range(pairs.size):
        a = pairs.at[k].first
        column[pairs.at[k].second] += mass_of(pairs, k, C) * fitting(first[a], row[a])
    for k in range(pairs.size):
        a, c = pairs.at[k].first, pairs.at[k].second
        mass = mass_of(pairs, k, C) * fitting(first[a], row[a]) * fitting(second[c], column[c])
        if mass > 0:
            append(out, a, c, mass)
            first_rest[a] -= mass
            second_rest[c] -= mass
    for k in range(left.size):
        total += max(first_rest[left.at[k].first], 0)
    # Rounding apart, both sides have the same left; below it there is nothing to spread.
    if total > ROUNDING * C:
        for k in range(left.size):
            a = left.at[k].first
            if not first_rest[a] > 0:
                continue
            for j in range(right.size):
                c = right.at[j].first
                if second_rest[c] > 0:
                    append(out, a, c, first_rest[a] * second_rest[c] / total)
    for k in range(pairs.size):
        row[pairs.at[k].first] = column[pairs.at[k].second] = 0
    for k in range(left.size):
        first[left.at[k].first] = first_rest[left.at[k].first] = 0
    for k in range(right.size):
        second[right.at[k].first] = second_rest[right.at[k].first] = 0
    # Pairs of labels that the nodes do not have were scaled to nothing.
    return 0


cdef inline double fitting(double wanted, double present) noexcept nogil:
    """Factor that scales masses down to what is wanted."""
    return wanted / present if present > wanted else 1


def rebuild(ChainFactors factors not None):
    """Compute w and the residuals anew from the dual variables; forget messages that are nothing.

    Returns
    -------
    dict
        feasibility: the mean over ends of edges of sum |residual| / (2 C), a distance of
        distributions; labels_per_node and pairs_per_edge: active ones, with the truth, on average.
    """
    cdef Py_ssize_t b, l, r, k
    cdef double total = 0, n_labels = 0, n_pairs = 0
    cdef Entries* active
    cdef bint some = factors.pairs is not None
    with nogil:
        memset(&factors.weights[0], 0, factors.n_node_weights * sizeof(double))
        for b in range(factors.n_blocks):
            for l in range(factors.length[b]):
                r = factors.start[b] + l
                active = &factors.active_labels[r]
                n_labels += active.size
                with gil:
                    factors.reserve(active.size)
                for k in range(active.size):
                    factors.label[k], factors.change[k] = active.at[k].first, active.at[k].value
                if active.size > 1:
                    factors.add_node(
                        b, l, &factors.label[0], &factors.change[0], active.size,
                        &factors.weights[0])
                if l > 0 and some:
                    n_pairs += factors.active_pairs[r].size
                    total += end_residual(factors, r, active - 1, &factors.left[r], False) / (
                        factors.mass[b])
                    total += end_residual(factors, r, active, &factors.right[r], True) / (
                        factors.mass[b])
    n_rows, n_edges = int(np.asarray(factors.length).sum()), factors.n_edges
    return {
        "feasibility": total / (4 * n_edges) if n_edges else 0.0,
        "labels_per_node": n_labels / n_rows,
        "pairs_per_edge": n_pairs / n_edges if n_edges else 0.0,
    }


cdef double end_residual(
        ChainFactors factors, Py_ssize_t r, const Entries* node, Entries* messages, bint right
        ) except -1 nogil:
    """Set the residuals at one end of an edge; return the sum of their sizes."""
    cdef Py_ssize_t k
    cdef int32_t kept = 0
    cdef double total = 0, C = 0
    cdef const Entries* pairs = &factors.active_pairs[r]
    cdef Py_ssize_t n = pairs.size
    with gil:
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
    """Change the penalty; the multipliers rho mu stay what they are."""
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
        for b in range(factors.n_blocks):
            for l in range(factors.length[b]):
                r = factors.start[b] + l
                degree = (l > 0) + (l + 1 < factors.length[b])
                for k in range(factors.active_labels[r].size):
                    marginals += degree * factors.active_labels[r].at[k].value ** 2
                ends[0], ends[1] = &factors.left[r], &factors.right[r]
                for messages in ends:
                    for k in range(messages.size):
                        multipliers += messages.at[k].multiplier ** 2
    return marginals, multipliers
