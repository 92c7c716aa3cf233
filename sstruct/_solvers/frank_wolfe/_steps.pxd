from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._solvers.core._scratch cimport Lane
from sstruct._solvers.core._state cimport DualState

# A corrective visit stops at this share of its initial gap, or after this many steps.
cdef double CORRECTION
cdef Py_ssize_t MAX_CORRECTIONS


cpdef enum StepKind:
    FW
    PAIRWISE
    AWAY
    CORRECTIVE


cdef double relaxation(Py_ssize_t lag) noexcept nogil

cdef int take_visit_step(
    DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, StepKind kind,
    Py_ssize_t toward, Py_ssize_t count, double mean) except -1 nogil

cdef double choice_curvature(
    DualState state, BlockProblem problem, Py_ssize_t i) except? -1 nogil

cdef double correct(
    DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, Py_ssize_t first,
    Py_ssize_t count, double target, Py_ssize_t max_steps) except? -1 nogil
