# Design:
# (a) The generalized distance transform of costs on a line or a grid under a parabola: the max-sum
#     message between two parts of a pictorial structure, in time linear in the number of places.
# (b) A line: the lower envelope of one parabola per place (Felzenszwalb and Huttenlocher, 2012,
#     algorithm 1); a linear term shifts the costs. A grid: lines along x, then lines along y.
# (c) Values are computed by the formula at the selected place: rounding can move a border of the
#     envelope, which changes values only by rounding.
# (d) +inf: a forbidden place, which has no parabola. Ties are resolved by the lowest place.
"""Generalized distance transforms."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._checks.shown import shortened
from sstruct._checks.arrays import real_array

# Places of a line between checks for signals.
cdef enum: STRETCH = 1 << 18


cdef inline double parabola(Parabola shape, Py_ssize_t t) noexcept nogil:
    return t * (shape.quadratic * t + shape.linear)


cdef int transform_line(
        const double* costs, Py_ssize_t n, Parabola shape, double* values, int32_t* place,
        int32_t* site, double* begin) except -1 nogil:
    """values[p] = min_q costs[q] + quadratic (p - q)^2 + linear (p - q); place[p] its argmin.

    costs : n    IN    values, place : n    OUT    site, begin : n    scratch
    If every place is forbidden, values are +inf and places -1. O(n).
    """
    cdef Py_ssize_t p, q, k = -1
    cdef double a = shape.quadratic, b = shape.linear, border, least = INFINITY
    if a == 0:   # min_q (costs[q] - linear q) + linear p: one place for all
        for q in range(n):
            if costs[q] - b * q < least:
                least = costs[q] - b * q
                site[0] = <int32_t> q
                k = 0
        begin[0] = -INFINITY
    else:
        # site[0 ... k] are the parabolas of the envelope; that of site[j] starts at begin[j].
        for q in range(n):
            if q & (STRETCH - 1) == STRETCH - 1:
                poll_signals(10.0 * STRETCH)
            if costs[q] == INFINITY:
                continue
            border = -INFINITY
            while k >= 0:
                # To the right of the border, where both are equal, q is below site[k].
                border = 0.5 * (
                    ((costs[q] - costs[site[k]]) / (q - site[k]) - b) / a + (q + site[k]))
                if border > begin[k]:
                    break
                k -= 1
                border = -INFINITY
            k += 1
            site[k] = <int32_t> q
            begin[k] = border
    if k < 0:
        for p in range(n):
            values[p], place[p] = INFINITY, -1
        return 0
    q = 0
    for p in range(n):
        if p & (STRETCH - 1) == STRETCH - 1:
            poll_signals(10.0 * STRETCH)
        while q < k and begin[q + 1] < p:
            q += 1
        place[p] = site[q]
        values[p] = costs[site[q]] + parabola(shape, p - site[q])
    return 0


cdef int transform_grid(
        const double* costs, Py_ssize_t height, Py_ssize_t width, Parabola down, Parabola right,
        double* values, int32_t* place, double* scratch, int32_t* int_scratch) except -1 nogil:
    """As `transform_line` on a grid: a parabola of the row difference plus one of the column difference.

    costs : height x width    IN    values, place : height x width    OUT, place row-major
    scratch : (height + 3) x max(height, width), int_scratch the same    scratch. O(places).
    """
    cdef Py_ssize_t y, x, n = max(height, width)
    cdef int32_t* site = int_scratch
    cdef int32_t* row = int_scratch + n
    cdef int32_t* column_of = int_scratch + 2 * n
    cdef double* begin = scratch
    cdef double* column = scratch + n
    cdef double* best = scratch + 2 * n
    cdef double* within = scratch + 3 * n
    for y in range(height):
        transform_line(
            costs + y * width, width, right, within + y * width, column_of + y * width,
            site, begin)
        poll_signals(10.0 * width)
    for x in range(width):
        for y in range(height):
            column[y] = within[y * width + x]
        transform_line(column, height, down, best, row, site, begin)
        for y in range(height):
            values[y * width + x] = best[y]
            place[y * width + x] = (
                -1 if row[y] < 0
                else <int32_t> (row[y] * width + column_of[row[y] * width + x]))
            poll_signals(30 if x > 0 else 4000)   # the first column touches new memory
    return 0


def _coefficients(value, name, ndim):
    """Return a finite coefficient for each axis."""
    out = real_array(value, name)
    if out.shape not in ((), (ndim,)):
        raise ValueError(f"{name} must be a number or {ndim}, one per axis; found shape {out.shape}")
    out = np.broadcast_to(out, (ndim,))
    if not np.isfinite(out).all():
        raise ValueError(f"{name} must be finite, found {shortened(value)}")
    return out


def distance_transform(costs, quadratic, linear=0.0):
    """Compute the distance transform of costs on a line or a grid.

    In one dimension, ``values[p] = min_q costs[q] + quadratic (p - q)^2 + linear (p - q)``. In two
    dimensions, the second and third term are summed over both axes.

    Parameters
    ----------
    costs : array-like of shape (n,) or (height, width)
        Cost of each place, finite or ``+inf`` if it is forbidden.
    quadratic : float or pair of floats
        Nonnegative coefficient, or one for each axis: differences of rows, then of columns.
    linear : float or pair of floats, default=0.0
        Coefficient of any sign, or one for each axis.

    Returns
    -------
    values : ndarray of the shape of `costs`
        The transformed costs; ``+inf`` if every place is forbidden.
    places : ndarray of the shape of `costs`, dtype int32
        The minimizers q; on a grid ``row * width + column``. Ties (up to rounding) are resolved by
        the lowest place; -1 if every place is forbidden.

    Raises
    ------
    ValueError
        If `costs` is empty, has the wrong number of dimensions or more than 2^31 - 1 places, a cost is
        NaN or ``-inf``, a coefficient is not finite, or a quadratic coefficient is negative.

    Notes
    -----
    The time is linear in the number of places. :class:`sstruct.TreeSSVM` uses this transform to
    decode score maps.

    References
    ----------
    P. F. Felzenszwalb, D. P. Huttenlocher. Distance transforms of sampled functions. Theory of
    Computing 8, 2012.

    Examples
    --------
    >>> from sstruct.inference import distance_transform
    >>> values, places = distance_transform([0.0, 5.0, 9.0, 1.0], quadratic=1.0)
    >>> values, places
    (array([0., 1., 2., 1.]), array([0, 0, 3, 3], dtype=int32))
    """
    table = real_array(costs, "costs")
    if table.ndim not in (1, 2) or table.size == 0:
        raise ValueError(
            f"costs must be nonempty with shape (n,) or (height, width); found {table.shape}")
    if np.isnan(table).any() or np.isneginf(table).any():
        raise ValueError("costs must not contain NaN or -inf (+inf forbids a place)")
    if table.size > np.iinfo(np.int32).max:
        raise ValueError(f"costs has {table.size} places, expected at most 2^31 - 1")
    steep = _coefficients(quadratic, "quadratic", table.ndim)
    slope = _coefficients(linear, "linear", table.ndim)
    if (steep < 0).any():
        raise ValueError(f"quadratic must not be negative, found {shortened(quadratic)}")
    grid = np.ascontiguousarray(np.atleast_2d(table))
    cdef const double[:, ::1] given = grid
    cdef Py_ssize_t height = given.shape[0], width = given.shape[1]
    values, places = np.empty(grid.shape), np.empty(grid.shape, dtype=np.int32)
    cdef double[:, ::1] out = values
    cdef int32_t[:, ::1] where = places
    size = (height + 3) * max(height, width)
    cdef double[::1] scratch = np.empty(size)
    cdef int32_t[::1] int_scratch = np.empty(size, dtype=np.int32)
    cdef Parabola right, down
    right.quadratic, right.linear = steep[table.ndim - 1], slope[table.ndim - 1]
    down.quadratic, down.linear = steep[0], slope[0]
    with nogil:
        transform_grid(
            &given[0, 0], height, width, down, right, &out[0, 0], &where[0, 0], &scratch[0],
            &int_scratch[0])
    return values.reshape(table.shape), places.reshape(table.shape)
