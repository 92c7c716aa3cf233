# Design:
# (a) Functions for tests: each calls a C function or method of the solvers' loops, after validating its
#     arguments.
"""Python access to the C functions of solvers."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from sstruct._kernels._random cimport Random, random_seed
from sstruct._problems.core._sharing cimport Sharing, begin_sharing, may_share, note_run
from sstruct._solvers.core._sampling cimport SumTree
from sstruct._solvers.gdmm._entries cimport Entries, append
from sstruct._solvers.gdmm._label_block cimport LabelBlock
from sstruct._solvers.gdmm._label_pass cimport (
    SSTRUCT_EDGE_LANES, SSTRUCT_EDGE_ROWS, LabelFactors, sstruct_outcome_steps)
from sstruct._solvers.gdmm._pairs cimport BoundedPairs
from sstruct._kernels._simplex cimport simplex_minimum as minimum_on_simplex

import numpy as np


def put(SumTree tree not None, Py_ssize_t i, double value):
    """Set the weight of a leaf."""
    if not 0 <= i < tree.n_leaves or not value >= 0:
        raise ValueError(f"cannot set weight {value} of leaf {i} of {tree.n_leaves}")
    tree.put(i, value)


def draws(SumTree tree not None, seed, Py_ssize_t count):
    """Return `count` draws with a new random generator."""
    cdef Random random
    cdef Py_ssize_t k
    if not tree.total() > 0:
        raise ValueError("all weights are zero")
    random_seed(&random, seed)
    cdef Py_ssize_t[::1] out = np.empty(count, dtype=np.intp)
    for k in range(count):
        out[k] = tree.draw(&random)
    return np.asarray(out)


def shared_runs(
        const double[::1] alone, const double[::1] together, const unsigned char[::1] left,
        const unsigned char[::1] alike, double work, double of_visit, Py_ssize_t n_weights):
    """Return which runs of a sequence of visits lanes would share.

    alone, together : seconds of a run in one thread and in lanes; left: whether a lane then leaves it;
    alike: approximate or exact; work: of each run; of_visit: of each of its visits
    """
    cdef Sharing sharing[2]
    cdef Sharing* own
    cdef Py_ssize_t k
    if not len(alone) == len(together) == len(left) == len(alike):
        raise ValueError("alone, together, left and alike must have the same length")
    begin_sharing(&sharing[0], n_weights)
    begin_sharing(&sharing[1], n_weights)
    shared = np.zeros(len(alone), dtype=bool)
    for k in range(alone.shape[0]):
        own = &sharing[0 if alike[k] else 1]
        shared[k] = may_share(own, alike[k], of_visit, &sharing[0])
        note_run(
            own, alike[k], shared[k], shared[k] and left[k],
            together[k] if shared[k] else alone[k], work)
    return shared


def simplex_minimum(const double[::1] c, double Q, double C):
    """Return a (m,) and the multiplier b; see `sstruct._kernels._simplex`."""
    if c.shape[0] == 0 or not Q >= 0 or not C > 0:
        raise ValueError("c must not be empty, Q must be nonnegative, and C positive")
    cdef double[::1] out = np.empty(c.shape[0])
    cdef double b = minimum_on_simplex(&c[0], Q, C, c.shape[0], &out[0])
    return np.asarray(out), b


def outcome_steps(double[:, ::1] table, double rho, double C, double step):
    """Step over the edges of a table (see outcomes.h), in place.

    Returns
    -------
    residual, change : float
        Sums of squares of the differences between masses and labels after the step, and of the steps
        of the masses.
    """
    cdef double[2] sums
    if table.shape[0] != SSTRUCT_EDGE_ROWS or table.shape[1] % SSTRUCT_EDGE_LANES:
        raise ValueError(
            f"expected {SSTRUCT_EDGE_ROWS} rows and a multiple of {SSTRUCT_EDGE_LANES} edges")
    sums[0] = sums[1] = 0
    if table.shape[1]:
        sstruct_outcome_steps(&table[0, 0], table.shape[1], table.shape[1], rho, C, step, sums)
    return sums[0], sums[1]


def change_pair(BoundedPairs pairs not None, int32_t first, int32_t second, double difference):
    """Add `difference` to the score of a pair."""
    if not (0 <= first < pairs.n_labels and 0 <= second < pairs.n_labels):
        raise IndexError(f"pair {first}, {second} is out of range for {pairs.n_labels} labels")
    if pairs.score[first * pairs.width + second] == -INFINITY:
        raise ValueError(f"pair {first}, {second} is forbidden")
    pairs.change(first, second, difference)


def search_pairs(BoundedPairs pairs not None, left, right, active, double bound=-INFINITY):
    """Search the best pair for given messages {label: message} and active pairs.

    Returns
    -------
    pair : tuple of int, or None
    value : float
    work : int
        Number of pairs and bounds considered.
    """
    cdef Entries lists[3]
    cdef Py_ssize_t k
    for k in range(3):
        lists[k] = Entries(0, 0, NULL)
    try:
        for k, messages in enumerate((left, right)):
            for label, message in messages.items():
                if not 0 <= label < pairs.n_labels:
                    raise IndexError(f"label {label} is out of range for {pairs.n_labels} labels")
                append(&lists[k], label, 0, message)
        for first, second in active:
            if not (0 <= first < pairs.n_labels and 0 <= second < pairs.n_labels):
                raise IndexError(f"pair {first}, {second} is out of range for {pairs.n_labels} labels")
            append(&lists[2], first, second, 0)
        pairs.work = 0
        pairs.load(&lists[0], &lists[1], 1.0, False)
        pairs.mark(&lists[2])
        found = pairs.search(bound)
        pairs.unmark()
        pairs.unload(&lists[0], &lists[1])
    finally:
        for k in range(3):
            free(lists[k].at)
    pair = (pairs.best_first, pairs.best_second) if found else None
    return pair, pairs.best, int(pairs.work)


def search_labels(
        LabelFactors factors not None, Py_ssize_t i, Py_ssize_t part, w=None, slack=None):
    """Search the factors of a sample as a visit does, without a step.

    Parameters
    ----------
    i, part : int
    w : ndarray of shape (n_weights,), optional
        Weights that permanently replace the running ones.
    slack : ndarray of shape (K,), optional
        Slacks of the admitted labels, at most 0. Default: 0.

    Returns
    -------
    label, top, edge, joint : results of `_best_label` and `_best_edge`
    """
    if not 0 <= i < factors.n_blocks or not 0 <= part < factors.n_parts:
        raise IndexError(f"block {i} or part {part} is out of range")
    cdef LabelBlock* block = &factors.blocks[i]
    cdef double top, joint = 0
    cdef int32_t at, label
    cdef Py_ssize_t edge
    if w is not None:
        np.asarray(factors.weights)[:factors.problem.n_weights] = w
        np.asarray(factors.bound)[:] = np.inf
    factors._score(i, block, part)
    for at in range(block.n_labels):
        factors.place[block.label[at]] = at
        factors.slack[at] = 0 if slack is None else slack[block.label[at]]
    label = factors._best_label(&top)
    edge = factors._best_edge(block, top, &joint)
    for at in range(block.n_labels):
        factors.place[block.label[at]] = -1
    return label, top, edge, joint


def label_state(LabelFactors factors not None, Py_ssize_t i):
    """Return copies of the variables of a sample: a dict of arrays by name."""
    if not 0 <= i < factors.n_blocks:
        raise IndexError(f"block {i} is out of range")
    cdef LabelBlock* block = &factors.blocks[i]
    cdef Py_ssize_t j, side
    return {
        "n_true": block.n_true,
        "label": np.array([block.label[j] for j in range(block.n_labels)], dtype=np.int32),
        "alpha": np.array([block.alpha[j] for j in range(block.n_labels)]),
        "edge": np.array([block.edge[j] for j in range(block.n_pairs)], dtype=np.int32),
        "end": np.array(
            [[block.end[2 * j + side] for side in range(2)] for j in range(block.n_pairs)],
            dtype=np.int32).reshape(-1, 2),
        "beta": np.array(
            [[block.beta[3 * j + side] for side in range(3)] for j in range(block.n_pairs)],
        ).reshape(-1, 3),
        "message": np.array(
            [[block.message[2 * j + side] for side in range(2)] for j in range(block.n_pairs)],
        ).reshape(-1, 2),
    }


def label_parts(LabelFactors factors not None):
    """Return the label groups that visits search, as arrays."""
    K, n_parts = factors.problem.n_labels, factors.n_parts
    return [np.arange(k * K // n_parts, (k + 1) * K // n_parts) for k in range(n_parts)]
