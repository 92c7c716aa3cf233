from libc.stdint cimport int32_t

from sstruct._solvers.gdmm._entries cimport Entries


cdef struct Raised:    # a label with a positive message
    double message
    double top         # bound of the scores of its line
    int32_t label


cdef struct Lines:
    double* score      # K lines of `width` entries
    double* block      # K lines of `n_blocks` bounds, each for BLOCK scores
    double* top        # K bounds of lines
    Py_ssize_t width, n_blocks


cdef class BoundedPairs:
    cdef readonly Py_ssize_t n_labels, width
    cdef readonly bint exhaustive
    cdef double[::1] score           # K x KP, -inf where forbidden
    cdef double[::1] turned          # its transpose
    cdef double[::1] bound           # memory of the bounds in `rows` and `columns`
    cdef double[::1] group           # bounds for BLOCK rows each
    cdef Lines rows, columns
    # The messages to one factor and its active pairs, during its visit.
    cdef double[::1] left, right
    cdef Raised* raised_left
    cdef Raised* raised_right
    cdef Py_ssize_t n_left, n_right
    cdef int32_t[::1] head, following
    cdef const Entries* active
    cdef double work
    cdef double best
    cdef int32_t best_first, best_second

    cdef void change(self, int32_t first, int32_t second, double difference) noexcept nogil
    cdef void load(
        self, const Entries* left, const Entries* right, double rho, bint multipliers
        ) noexcept nogil
    cdef void unload(self, const Entries* left, const Entries* right) noexcept nogil
    cdef int mark(self, const Entries* active) except -1 nogil
    cdef void unmark(self) noexcept nogil
    cdef void consider(self, int32_t first, int32_t second) noexcept nogil
    cdef void walk(self, Lines* lines, int32_t line, double message, bint turned) noexcept nogil
    cdef bint search_all(self) noexcept nogil
    cdef bint search(self, double bound) noexcept nogil
