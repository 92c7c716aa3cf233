from libc.stdint cimport int32_t, int64_t

from sstruct._problems.custom._callable cimport CallableProblem

ctypedef int (*ArgmaxFunction)(
    const double* w, const void* x, const int32_t* shape, const int32_t* y_true,
    double loss_weight, int32_t* y, void* user_data) noexcept nogil
ctypedef int (*FeatureFunction)(
    const void* x, const int32_t* shape, const int32_t* y, int32_t* index, double* value,
    void* user_data) noexcept nogil
ctypedef double (*LossFunction)(
    const int32_t* y_true, const int32_t* y, int32_t size, void* user_data) noexcept nogil


cdef class CompiledProblem(CallableProblem):
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

    cdef int set_scratch(self) except -1
    cdef int find(self, Py_ssize_t i, const double* w, double loss_weight, bint plain) except -1 nogil
    cdef Py_ssize_t features(
        self, Py_ssize_t i, const int32_t* labeling, double* sums,
        Py_ssize_t n_touched) except -1 nogil
    cdef int compute_loss(self, Py_ssize_t i, const int32_t* labeling, double* out) except -1 nogil
    cdef int32_t put_plane(self, Py_ssize_t i, double loss, Py_ssize_t n_touched) except? -1 nogil
