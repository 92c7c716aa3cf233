from libc.stdint cimport int32_t


cdef struct Parabola:
    double quadratic, linear     # quadratic t^2 + linear t, quadratic >= 0, both finite


cdef int transform_line(
    const double* costs, Py_ssize_t n, Parabola shape, double* values, int32_t* place,
    int32_t* site, double* begin) except -1 nogil

cdef int transform_grid(
    const double* costs, Py_ssize_t height, Py_ssize_t width, Parabola down, Parabola right,
    double* values, int32_t* place, double* scratch, int32_t* int_scratch) except -1 nogil
