# Quadratic programs over a simplex, solved exactly. Header only, so that they are inlined.


cdef inline double put_on_simplex(
        double* d, Py_ssize_t m, double width, double* total) noexcept nogil:
    """Replace d by max(d - b, 0) for the level b at which the result sums to `width`; return b.

    d : m    IN and OUT    width >= 0. `total` is the computed sum: divide by it, so that rounding of
    b does not move d off the simplex. With width = 0 the first of the largest entries becomes 1 and
    all others 0.

    b is found by Michelot's method: entries at or below b are removed until there are none, in O(m)
    per iteration and few iterations.
    """
    cdef Py_ssize_t k, n_free = m + 2, n_before = m + 3, top = 0
    cdef double b, high
    for k in range(1, m):
        if d[k] > d[top]:
            top = k
    high = d[top]
    # Relative to the largest entry: only differences matter, and b - high is at least -width.
    b = -width
    while n_free < n_before:   # rounding might add an entry again and not terminate
        n_before = n_free
        n_free, total[0] = 0, 0
        for k in range(m):
            if d[k] - high > b:
                total[0] += d[k] - high
                n_free += 1
        if n_free == 0:   # width = 0, or negligible relative to d
            break
        if n_free < n_before:
            b = (total[0] - width) / n_free
    total[0] = 0
    for k in range(m):
        d[k] -= high
        d[k] = d[k] - b if d[k] > b else 0
        total[0] += d[k]
    if not total[0] > 0 and high == high:
        d[top] = total[0] = 1
    return b + high


cdef inline double simplex_minimum(
        const double* c, double Q, double C, Py_ssize_t m, double* a) noexcept nogil:
    """Minimize sum_k c_k a_k + Q/2 a_k^2 subject to sum_k a_k = 0, a_0 <= C, a_k <= 0 for k > 0.

    c : m    IN    a : m    OUT    Q >= 0, C > 0. Entry 0 is the true labeling.
    Returns the multiplier b of the sum: c_k + Q a_k = b if a_k is below its bound, and <= b if a_k is
    at its bound. With Q = 0 all of C is assigned to the first entry of the largest c.

    With D = c + Q u and the bounds u, the masses C q = u - a are (D - b)_+ / Q and sum to C
    (`put_on_simplex`).
    """
    cdef Py_ssize_t k
    cdef double b, total = 0, truth = 0
    a[0] = c[0] + Q * C
    for k in range(1, m):
        a[k] = c[k]
    b = put_on_simplex(a, m, Q * C, &total)
    for k in range(1, m):
        if a[k] > 0:
            a[k] *= -C / total
            truth -= a[k]
        else:
            a[k] = 0
    a[0] = truth
    return b
