from sstruct._solvers._state cimport DualState
from sstruct._solvers._steps cimport StepKind
from sstruct._solvers._watch cimport Watch


cdef Py_ssize_t approximate_visits(
    DualState state, StepKind kind, bint all_blocks, Py_ssize_t number, Py_ssize_t keep,
    bint sequential, double enough, Watch* watch, bint* late) except -1 nogil
