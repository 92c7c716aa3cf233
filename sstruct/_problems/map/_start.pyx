# Design:
# (a) A sweep of TRW-S results in an equivalent form of the energy: a bound plus nonnegative node terms and
#     edge terms. Assigned to the trees, with whole edge terms and equal shares of node terms, it defines
#     multipliers at which the minimum of each tree is at least its share of the bound: h is at least the
#     bound of the sweep, and higher if the minimum of a tree exceeds the sum of the minima of its terms.
# (b) After a sweep an edge st has the message m to t, the node it was sent to. The message to s is
#     min_b cost_st(., b) - m(b), the largest that leaves all edge terms nonnegative. In a tree, the
#     costs of a node are its share of the total, minus the messages of the tree's edges to it:
#         lambda^t = -sum of the messages to the node along edges of t, minus the mean over copies.
# (c) +inf: an impossible label. Its multipliers are finite, as if its message were the largest finite
#     one, so the bound may be lower.
"""Initial multipliers from the messages of a sweep."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._problems.map._map_problem cimport MapProblem

import numpy as np

from sstruct._problems.map.map_arguments import project


cdef void make_finite(double* message, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef double most = -INFINITY
    for k in range(n):
        if message[k] < INFINITY:
            most = max(most, message[k])
    for k in range(n):
        if message[k] == INFINITY:
            message[k] = most if most > -INFINITY else 0


def multipliers_of_messages(
        MapProblem problem, const double[::1] messages, const int64_t[::1] message_start,
        const int32_t[::1] rank):
    """Return multipliers whose bound is at least that of the sweep that sent the messages.

    Parameters
    ----------
    problem : MapProblem
        Its trees must contain all edges. If labels are forbidden by +inf, the bound may be lower.
    messages, message_start, rank
        Output of `MessagePassing.last_messages` on the same model.

    Returns
    -------
    multipliers : ndarray of shape (n_weights,)
        The multipliers, which sum to zero over the copies of each label.
    """
    cdef Py_ssize_t t, p, k, e, v, u, early, late, first, n, s
    cdef const int32_t* n_labels = problem.packed.costs.n_labels
    cdef double[::1] back = np.empty(problem.message.shape[0])
    cdef double[::1] source = np.empty(problem.message.shape[0])
    cdef const double* message
    cdef double* to_late = &source[0]
    cdef double* to_early = &back[0]
    out = np.zeros(problem.n_weights)
    cdef double[::1] multipliers = out
    # The index of each position among those with multipliers, or -1.
    slot = np.full(problem.start[problem.n_blocks], -1, dtype=np.int64)
    cdef int64_t[::1] slot_of = slot
    with nogil:
        for t in range(problem.n_blocks):
            first = problem.start[t]
            for s in range(problem.shared_start[t], problem.shared_start[t + 1]):
                slot_of[first + problem.shared[s]] = s
            for p in range(first + 1, problem.start[t + 1]):
                e = problem.edge[p]
                if e < 0:
                    continue
                v, u = p, first + problem.parent[p]
                if rank[problem.node[v]] < rank[problem.node[u]]:
                    early, late = v, u
                else:
                    early, late = u, v
                n = n_labels[problem.node[late]]
                message = &messages[message_start[e]]
                for k in range(n):
                    to_late[k] = INFINITY if message[k] == INFINITY else -message[k]
                problem.packed.send(e, problem.node[late], to_late, to_early)
                for k in range(n):
                    to_late[k] = message[k]
                make_finite(to_late, n)
                poll_signals(100.0 + 10 * n)
                s = slot_of[late]
                for k in range(n if s >= 0 else 0):
                    multipliers[problem.weight_at[s] + k * problem.stride[s]] -= to_late[k]
                n = n_labels[problem.node[early]]
                make_finite(to_early, n)
                s = slot_of[early]
                for k in range(n if s >= 0 else 0):
                    multipliers[problem.weight_at[s] + k * problem.stride[s]] -= to_early[k]
    return project(problem.copy_start, out)
