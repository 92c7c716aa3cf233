cdef class PriceBundle:
    cdef Py_ssize_t n_prices, n_cuts, max_cuts
    cdef double center_value, step, expected, change
    cdef double[::1] center, point, direction, weights, intercepts, excess, gradient
    cdef double[:, ::1] cuts, products

    cdef void begin(self, Py_ssize_t n_prices) noexcept nogil
    cdef void add(self, double value, const double* slope, double length) noexcept nogil
    cdef bint propose(self, double least) noexcept nogil
    cdef void solve(self) noexcept nogil
