from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._average cimport RunningAverage
from sstruct._solvers.core._scratch cimport Lane
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._watch cimport Watch

# Makes visit number `a` of a run at the weights of a lane: changes the block's dual weights and
# notes its move in `lane.move`, with the block. The first pointer is the run's context.
ctypedef int (*Find)(
    void* context, DualState state, BlockProblem problem, Lane* lane, Py_ssize_t a) except -1 nogil
# Drops what a visit's block no longer needs, once its move has been made everywhere; returns how many
# labelings. May be NULL.
ctypedef Py_ssize_t (*Tidy)(
    void* context, DualState state, BlockProblem problem, Lane* lane,
    Py_ssize_t block) except? -1 nogil


cdef struct Visits:
    Find find
    Tidy tidy
    void* context
    Py_ssize_t count        # of a run
    Py_ssize_t lag          # a visit does not see the moves of so many visits before it
    void* average           # RunningAverage that follows, or NULL
    double work             # of a visit, about; 0: little
    bint alike              # whether the run is like others, whose seconds say what this one will take


cdef bint visit_all(
    Visits* visits, DualState state, ThreadPool pool, Watch* watch) except -1
cdef int visit_alone(Visits* visits, DualState state, Py_ssize_t a) except -1 nogil
