from libc.stdint cimport int32_t

from sstruct._problems.core._rows cimport (
    FeatureRows, add_some_scores, collect_scores, some_potentials, sstruct_add_row, sstruct_row_size,
    sstruct_rows)


cdef class NodeWeights:
    cdef FeatureRows features
    cdef Py_ssize_t n_labels, KP
    cdef Py_ssize_t step            # between the weights of two labels in the copy; 0 without a copy
    cdef double* tracked            # the original: F x KP, or NULL
    cdef double[::1] by_label       # the copy: K x step
    cdef bint copied, changed       # whether the copy has been made, and differs from the original

    cdef void track(self, const double* w) noexcept nogil
    cdef double* copy_of(self, const double* w) noexcept nogil
    cdef void exchange(self, bint to_copy) noexcept nogil
    cdef double potential_work(self, const double* w, double n_values) noexcept nogil
    cdef double some_work(self, Py_ssize_t count) noexcept nogil
    cdef int potentials(
        self, Py_ssize_t first, Py_ssize_t count, const double* w, const double* bias,
        const double* cost, const int32_t* truth, double scale, bint decodes,
        double* theta) except -1 nogil
    cdef void some_potentials(
        self, Py_ssize_t r, const double* w, const int32_t* label, Py_ssize_t count,
        double* out) noexcept nogil
    cdef void add_row(
        self, Py_ssize_t r, const int32_t* label, const double* change, Py_ssize_t count,
        double* out) noexcept nogil


# Inlined, since most rows are short. Weights other than the tracked ones have no copy, and use the kernels
# for their original layout.
cdef inline void some_potentials_of(
        NodeWeights nodes, const sstruct_rows* rows, Py_ssize_t r, const double* w,
        const int32_t* label, Py_ssize_t count, double* out) noexcept nogil:
    if w == nodes.tracked:
        nodes.some_potentials(r, w, label, count, out)
    else:
        some_potentials(rows, r, w, nodes.KP, label, count, out)
    if rows.scores != NULL:
        add_some_scores(rows, r, w, nodes.KP, label, count, out)


cdef inline double some_work_of(
        NodeWeights nodes, const sstruct_rows* rows, Py_ssize_t r, const double* w,
        Py_ssize_t count) noexcept nogil:
    if w == nodes.tracked:
        return nodes.some_work(count)
    return count * sstruct_row_size(rows, r)


cdef inline void add_row_of(
        NodeWeights nodes, const sstruct_rows* rows, Py_ssize_t r, const int32_t* label,
        const double* change, Py_ssize_t count, double* out) noexcept nogil:
    if out == nodes.tracked:
        nodes.add_row(r, label, change, count, out)
    else:
        sstruct_add_row(rows, r, label, change, count, out, nodes.KP)
    if rows.scores != NULL:
        collect_scores(rows, r, label, change, count, out, nodes.KP)
