# Design:
# (a) A user's oracle of C functions as a BlockProblem: like CallableProblem, but calls use function
#     pointers without the GIL instead of Python methods, so oracles run in threads.
# (b) A labeling is an array of labels whose length is determined by the sample; its features are given
#     as index and value, possibly with repeated indices. Everything that a function writes is validated
#     before use: return value, labels, indices, numbers. Its memory accesses cannot be checked.
# (c) The plane of an answer is phi(truth) - phi(answer), accumulated in two vectors of the size of w that
#     are zero between calls: the cost of a plane depends on its entries (and on sorting them), not on
#     n_weights.
# (d) c_functions.py validates the functions and packs the data.
"""A problem defined by C functions."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.custom._callable cimport CallableProblem

import numpy as np

from sstruct._checks.arrays import LARGEST
from sstruct._problems.custom.c_functions import capsule_of

cdef double MOST = LARGEST

ctypedef int (*ArgmaxFunction)(
    const double* w, const void* x, const int32_t* shape, const int32_t* y_true,
    double loss_weight, int32_t* y, void* user_data) noexcept nogil
ctypedef int (*FeatureFunction)(
    const void* x, const int32_t* shape, const int32_t* y, int32_t* index, double* value,
    void* user_data) noexcept nogil
ctypedef double (*LossFunction)(
    const int32_t* y_true, const int32_t* y, int32_t size, void* user_data) noexcept nogil


cdef int ascending(const void* a, const void* b) noexcept nogil:
    cdef int32_t p = (<const int32_t*> a)[0], q = (<const int32_t*> b)[0]
    return (p > q) - (p < q)


cdef void* pointer_of(function, void** data) except NULL:
    """Return the address in a LowLevelCallable, and its user data."""
    capsule = capsule_of(function)
    data[0] = PyCapsule_GetContext(capsule)
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef class CompiledProblem(CallableProblem):
    """Blocks whose joint feature map, loss and max-oracle are C functions.

    Parameters
    ----------
    samples : PackedSamples
    functions : tuple of three scipy.LowLevelCallable
        argmax, joint_feature, loss; with validated signatures.
    oracle_work : float
        Work of a call of the oracle, in multiply-adds.
    batch_size : int, optional
        See CallableProblem.

    Raises
    ------
    ValueError
        If the functions reject a true labeling, or its loss is not 0.
    """

    # Data, shared by forks.
    cdef readonly object samples     # PackedSamples, which owns the memory of the views below
    cdef tuple functions
    cdef ArgmaxFunction argmax
    cdef FeatureFunction joint_feature
    cdef LossFunction label_loss
    cdef void* argmax_data
    cdef void* feature_data
    cdef void* loss_data
    cdef const Py_ssize_t[::1] address   # address of the array of each sample
    cdef const int32_t[:, ::1] shape
    cdef const int64_t[::1] offsets      # offsets of the codes
    cdef const int32_t[::1] truths
    cdef const int32_t[::1] n_labels     # number of labels of each sample
    cdef const int32_t[::1] most         # largest number of entries of its joint feature vector
    # Of this object.
    cdef int32_t[::1] labeling, entry, touched, index
    cdef double[::1] entry_value, true_sum, sum, value
    cdef unsigned char[::1] seen

    def __init__(self, samples, functions, *, oracle_work, batch_size=None):
        cdef Py_ssize_t i
        cdef double loss = 0
        self.samples, self.functions = samples, functions
        self._take_data()
        # `samples` has the sizes and error methods that CallableProblem needs.
        CallableProblem.__init__(self, samples, oracle_work=oracle_work, batch_size=batch_size)
        self.set_scratch()
        if self.has_labels:
            for i in range(self.n_blocks):
                PyErr_CheckSignals()
                self.compute_loss(i, &self.truths[self.offsets[i]], &loss)
                if loss != 0:
                    raise samples.error(i, "loss", f"returned {loss:g} for the true labeling, expected 0")
                self._forget(self.features(
                    i, &self.truths[self.offsets[i]], &self.true_sum[0], 0))

    def _take_data(self):
        samples = self.samples
        self.argmax = <ArgmaxFunction> pointer_of(self.functions[0], &self.argmax_data)
        self.joint_feature = <FeatureFunction> pointer_of(self.functions[1], &self.feature_data)
        self.label_loss = <LossFunction> pointer_of(self.functions[2], &self.loss_data)
        self.address, self.shape, self.offsets = samples.address, samples.shape, samples.offsets
        self.n_labels, self.most = samples.n_labels, samples.most
        self.has_labels = samples.truths is not None
        self.truths = samples.truths if self.has_labels else np.zeros(1, dtype=np.int32)

    cdef int set_scratch(self) except -1:
        cdef Py_ssize_t most = np.max(self.most)
        self.labeling = np.empty(max(1, np.max(np.diff(self.offsets))), dtype=np.int32)
        self.entry, self.entry_value = np.empty(most + 1, dtype=np.int32), np.empty(most + 1)
        self.touched = np.empty(2 * most + 1, dtype=np.int32)
        self.true_sum, self.sum = np.zeros((2, self.n_weights))
        self.index, self.value = np.empty(self.n_weights, dtype=np.int32), np.empty(self.n_weights)
        self.seen = np.zeros(self.n_weights, dtype=np.uint8)
        return 0

    cpdef BlockProblem fork(self):
        cdef CompiledProblem other = CompiledProblem.__new__(CompiledProblem)
        other.samples, other.functions = self.samples, self.functions
        other._take_data()
        other.share(self)
        other.set_scratch()
        return other

    cdef int find(
            self, Py_ssize_t i, const double* w, double loss_weight, bint plain) except -1 nogil:
        """Call argmax, without the true labeling if `plain`; write the labeling to scratch memory."""
        cdef Py_ssize_t k, size = self.offsets[i + 1] - self.offsets[i]
        cdef const int32_t* truth = NULL
        cdef int status
        if not plain:
            truth = &self.truths[self.offsets[i]]
        for k in range(size):
            self.labeling[k] = -1
        status = self.argmax(
            w, <const void*> self.address[i], &self.shape[i, 0], truth, loss_weight,
            &self.labeling[0], self.argmax_data)
        if status != 0:
            with gil:
                raise self._failed(self.samples.error(i, "argmax", f"returned {status}, expected 0"))
        for k in range(size):
            if not 0 <= self.labeling[k] < self.n_labels[i]:
                with gil:
                    raise self._failed(self.samples.error(
                        i, "argmax", f"wrote label {self.labeling[k]} at position {k}, expected 0 to "
                        f"{self.n_labels[i] - 1}"))
        return 0

    cdef Py_ssize_t features(
            self, Py_ssize_t i, const int32_t* labeling, double* sums,
            Py_ssize_t n_touched) except -1 nogil:
        """Add phi(x_i, y) to `sums`; append modified weights to the n_touched ones; return their number."""
        cdef Py_ssize_t k
        cdef int32_t j, n_entries = self.joint_feature(
            <const void*> self.address[i], &self.shape[i, 0], labeling, &self.entry[0],
            &self.entry_value[0], self.feature_data)
        if not 0 <= n_entries <= self.most[i]:
            with gil:
                self._forget(n_touched)
                raise self._failed(self.samples.error(
                    i, "joint_feature", f"returned {n_entries}, expected 0 to {self.most[i]}"))
        for k in range(n_entries):
            j = self.entry[k]
            if not 0 <= j < self.n_weights or not fabs(self.entry_value[k]) <= MOST:
                with gil:
                    self._forget(n_touched)
                    raise self._failed(self.samples.error(
                        i, "joint_feature", f"wrote index {j} and value {self.entry_value[k]} at "
                        f"position {k}, expected indices from 0 to {self.n_weights - 1} and values with "
                        f"magnitudes of at most {MOST:g}"))
            sums[j] += self.entry_value[k]
            if not self.seen[j]:
                self.seen[j] = True
                self.touched[n_touched] = j
                n_touched += 1
        return n_touched

    def _forget(self, Py_ssize_t n_touched):
        """Reset the scratch memory of the modified weights to zero."""
        cdef Py_ssize_t k
        for k in range(n_touched):
            j = self.touched[k]
            self.sum[j] = self.true_sum[j] = 0
            self.seen[j] = False

    cdef int compute_loss(self, Py_ssize_t i, const int32_t* labeling, double* out) except -1 nogil:
        cdef Py_ssize_t first = self.offsets[i]
        out[0] = self.label_loss(
            &self.truths[first], labeling, <int32_t> (self.offsets[i + 1] - first), self.loss_data)
        if not 0 <= out[0] <= MOST:
            with gil:
                raise self._failed(self.samples.error(
                    i, "loss", f"returned {out[0]}, expected a finite number of at least 0 "
                    f"and at most {MOST:g}"))
        return 0

    cdef int32_t put_plane(
            self, Py_ssize_t i, double loss, Py_ssize_t n_touched) except? -1 nogil:
        """Store the plane in scratch memory in the open table; reset scratch; return the code."""
        cdef Py_ssize_t k, size = 0
        cdef int32_t j
        cdef double value
        cdef const int32_t* index = NULL
        if n_touched > 0:
            qsort(&self.touched[0], n_touched, sizeof(int32_t), &ascending)
        for k in range(n_touched):
            j = self.touched[k]
            value = self.true_sum[j] - self.sum[j]
            self.true_sum[j] = self.sum[j] = 0
            self.seen[j] = False
            if value != 0:
                self.index[size], self.value[size] = j, value
                size += 1
        if 2 * size < self.n_weights:
            index = &self.index[0] if size > 0 else NULL
        else:
            # Dense: expand in place, starting at the end, since each entry moves up.
            k = size - 1
            for j in range(<int32_t> self.n_weights - 1, -1, -1):
                if k >= 0 and self.index[k] == j:
                    value = self.value[k]
                    k -= 1
                else:
                    value = 0
                self.value[j] = value
            size = self.n_weights
        return self.keep(i, loss, size, index, &self.value[0])

    cdef int ask(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code) except -1 nogil:
        cdef double loss = 0
        cdef Py_ssize_t n_touched
        self.find(i, w, loss_weight, False)
        self.compute_loss(i, &self.labeling[0], &loss)
        n_touched = self.features(i, &self.truths[self.offsets[i]], &self.true_sum[0], 0)
        n_touched = self.features(i, &self.labeling[0], &self.sum[0], n_touched)
        code[0] = self.put_plane(i, loss, n_touched)
        return 0

    def labelings(self, const double[::1] w not None):
        """Return the best labeling of each sample at w, without loss, as int32 arrays."""
        cdef Py_ssize_t i, k
        cdef int32_t[::1] out
        self._check_weights(w)
        found = []
        for i in range(self.n_blocks):
            PyErr_CheckSignals()
            with nogil:
                self.find(i, &w[0], 0, True)
            labeling = np.empty(self.offsets[i + 1] - self.offsets[i], dtype=np.int32)
            out = labeling
            for k in range(out.shape[0]):
                out[k] = self.labeling[k]
            found.append(labeling)
        return found

    def labeling_loss(self, Py_ssize_t i, const int32_t[::1] labeling):
        """Return the loss of a labeling of a sample."""
        cdef double loss = 0
        if labeling.shape[0] != self.offsets[i + 1] - self.offsets[i] or labeling.shape[0] == 0:
            raise self.samples.error(
                i, "loss", f"was called with {labeling.shape[0]} labels, expected "
                f"{self.offsets[i + 1] - self.offsets[i]}")
        self.compute_loss(i, &labeling[0], &loss)
        return loss
