"""Decoder of change points."""
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.segment._segment_costs cimport SegmentSums


# Scores of change points of a signal of L nodes: the scores of the durations of all segments, minus
# their weighted costs, minus a penalty for each change, plus `loss_weight` times the loss.
cdef struct ChangeScores:
    SegmentSums sums
    Py_ssize_t L
    Py_ssize_t n_costs
    const int32_t* kind              # n_costs: kind of each cost
    const double* weight             # n_costs x n_features
    double penalty
    # Scores of segments of 1, 2, ... n_durations nodes; longer segments have the last score.
    const double* duration           # n_durations entries; durations have no score if it is 0
    Py_ssize_t n_durations
    # The loss of a change before node t is -1 if the segment before it starts before window[t], else 1.
    # NULL: no loss.
    const int32_t* window            # L entries
    double loss_weight
    int64_t least, most              # limits on the duration of a segment
    # Intervals with exactly one change each, numbered from 1. Entry t is the number of the interval that
    # contains node t, or 0 if no change is allowed before this node. NULL: changes are not restricted.
    const int32_t* interval          # L entries
    int32_t n_intervals


# A cost of one feature with a nonzero weight.
cdef struct WeightedCost:
    int kind
    Py_ssize_t feature
    double weight


cdef class ChangeDecoder(Storage):
    # Scratch memory of this object.
    cdef WeightedCost* cost
    cdef Py_ssize_t n_costs
    cdef double* best                # L + 1: score of the best segments of the nodes before a node
    cdef int32_t* before             # L + 1: start of the last of these segments, or -1
    cdef int32_t* start              # candidate starts, increasing
    cdef int64_t* last               # L: for each start, the last node before which its segment may end
    cdef double* score               # of each candidate: best[start] minus the costs of its segment

    cdef int prepare(self, const ChangeScores* scores) except -1 nogil
    cdef double decode(
        self, const ChangeScores* scores, int32_t* begins, double* work) except? -1 nogil
