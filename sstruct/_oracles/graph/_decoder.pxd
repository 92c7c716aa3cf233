from libc.stdint cimport int32_t, uint64_t

from sstruct._oracles.graph._expansion_moves cimport AlphaExpansion
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.graph._forest_moves cimport ForestMoves
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts
from sstruct._oracles.graph._partial_optimality cimport PartialOptimality
from sstruct._oracles.graph._subgraph cimport SubGraph


cdef class GraphDecoder:
    cdef readonly str method
    cdef readonly uint64_t random_state
    cdef int kind                       # index of the method in METHODS
    cdef AlphaExpansion moves           # used by "cut" and "expansion"
    cdef PartialOptimality partial      # used by "expansion"
    cdef bint has_partial               # whether "expansion" uses `partial`; may change between calls
    cdef bint stops_early               # whether "expansion" stops early if gains are small; likewise
    cdef ForestMoves trees              # used by "expansion"
    cdef SubGraph rest                  # all nodes except a hub, for "expansion"
    cdef Forest forest                  # used by "max-sum"
    cdef readonly bint bounded          # whether answers are exact or have a bound
    cdef readonly bint is_constrained   # whether only some labelings are allowed
    cdef readonly bint may_be_hasty     # whether `is_hasty` has an effect
    cdef Py_ssize_t block               # index of the graph, set before `decode`
    cdef bint is_hasty                  # whether the call may stop early; set before `decode`
    cdef bint is_training               # whether the call may change the memory; set before `decode`

    cdef int decode(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int expand(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int move(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int move_around_hub(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int marginals(
        self, const GraphCosts* costs, const int32_t* labels, double* out) except -1 nogil
    cpdef GraphDecoder fork(self)
