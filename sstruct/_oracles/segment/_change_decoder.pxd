"""Decoder of change points."""
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.segment._segment_costs cimport SegmentSums


# Scores of change points of a signal of L nodes: minus the weighted costs of all segments, minus a
# penalty for each change, plus `loss_weight` times the loss.
cdef struct ChangeScores:
    SegmentSums sums
    Py_ssize_t L
    Py_ssize_t n_costs
    const int32_t* kind              # n_costs: of each cost
    const double* weight             # n_costs x n_features
    double penalty
    const double* duration           # n_durations: score of a segment of each duration from 1 on; longer
    Py_ssize_t n_durations           # segments have the last score. 0: no scores of durations
    # The loss of a change before node t is -1 if the segment before it starts before window[t], else 1.
    # NULL: no loss.
    const int32_t* window            # L entries
    double loss_weight
    int64_t least, most              # durations of segments
    # Number, from 1 on, of the interval of node t, in each of which there is one change; 0: none is
    # allowed before node t. NULL: changes are free.
    const int32_t* interval          # L entries
    int32_t n_intervals


# A weight that is not 0.
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
    cdef int64_t* last               # L: the last node before which a segment from a start may end
    cdef double* score               # of each candidate's segment and the segments before it

    cdef int prepare(self, const ChangeScores* scores) except -1 nogil
    cdef double decode(
        self, const ChangeScores* scores, int32_t* begins, double* work) except? -1 nogil
