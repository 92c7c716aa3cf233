from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._average cimport RunningAverage
from sstruct._solvers.core._scratch cimport Lane
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._watch cimport Watch

# Makes visit number `a` of a run at the weights of a lane: changes the dual weights of the block and
# writes the block and its move to `lane.move`. The first pointer is the context of the run.
ctypedef int (*Find)(
    void* context, DualState state, BlockProblem problem, Lane* lane, Py_ssize_t a) except -1 nogil
# Removes unused data of the block of a visit, after all lanes have applied its move; returns the
# number of labelings dropped. May be NULL.
ctypedef Py_ssize_t (*Tidy)(
    void* context, DualState state, BlockProblem problem, Lane* lane,
    Py_ssize_t block) except? -1 nogil


cdef struct Visits:
    Find find
    Tidy tidy
    void* context
    Py_ssize_t count        # number of visits in the run
    Py_ssize_t lag          # number of previous visits whose moves a visit does not see
    void* average           # RunningAverage that is updated after each visit, or NULL
    double work             # approximate work of a visit; 0: little
    bint alike              # whether earlier runs predict the duration of this one


cdef bint visit_all(
    Visits* visits, DualState state, ThreadPool pool, Watch* watch) except -1
cdef int visit_alone(Visits* visits, DualState state, Py_ssize_t a) except -1 nogil
