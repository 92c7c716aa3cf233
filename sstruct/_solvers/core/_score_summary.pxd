# Collect and summarize the scores of a working set. Header only.
from libc.math cimport fabs

from sstruct._solvers.core._scratch cimport Scratch
from sstruct._solvers.core._working_set cimport WorkingSet, labeling


cdef inline bint above_rounding(double gap, double size) noexcept nogil:
    """Whether a gap exceeds the rounding error of scores of that size; otherwise no step is made."""
    return gap > 32 * 2.220446049250313e-16 * size


cdef inline Py_ssize_t gather(
        const WorkingSet* working_set, Scratch* scratch, bint idle, Py_ssize_t extra) noexcept nogil:
    """List the entries to score: active ones, entry `extra` and, if `idle`, inactive ones too."""
    cdef Py_ssize_t k, count = 0
    for k in range(working_set.size):
        if idle or working_set.alpha[k] > 0 or k == extra:
            scratch.member[count] = k
            scratch.codes[count] = labeling(working_set, k)
            count += 1
    return count


cdef inline Py_ssize_t summarize(
        const WorkingSet* working_set, const Scratch* scratch, Py_ssize_t count, double* mean,
        double* size) noexcept nogil:
    """Return the position of the best score; set the mean under alpha and the largest magnitude."""
    cdef Py_ssize_t k, best = 0
    mean[0] = size[0] = 0
    for k in range(count):
        if scratch.score[k] > scratch.score[best]:
            best = k
        mean[0] += working_set.alpha[scratch.member[k]] * scratch.score[k]
        size[0] = max(size[0], fabs(scratch.score[k]))
    return best
