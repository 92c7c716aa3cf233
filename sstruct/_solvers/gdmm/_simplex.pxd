# The block of one factor: an exact quadratic program. Header only, so that it inlines.


cdef inline double simplex_minimum(
        const double* c, double Q, double C, Py_ssize_t m, double* a) noexcept nogil:
    """Minimize sum_k c_k a_k + Q/2 a_k^2 subject to sum_k a_k = 0, a_0 <= C, a_k <= 0 for k > 0.

    c : m    IN    a : m    OUT    Q >= 0, C > 0. Entry 0 is the truth.
    Returns the multiplier b of the sum: c_k + Q a_k = b wherever a_k is below its bound, and is not
    above b where a_k is at it. With Q = 0 all of C goes to the first entry of the largest c.

    With D = c + Q u, u the bounds, the masses C q = u - a are (D - b)_+ / Q, and they sum to C. b is
    found by Michelot's method: the entries at or below b are left out, until there is none; in
    O(m) each time, and few times. q is normalized by its own sum, so that rounding in b does not
    take it off the simplex.
    """
    cdef Py_ssize_t k, n_free = m + 2, n_before = m + 3
    cdef double b, total, high = c[0] + Q * C, truth
    truth = high
    for k in range(1, m):
        if c[k] > high:
            high = c[k]
    # Relative to the largest: differences alone matter, and b - high is at least -Q C.
    b = -Q * C
    while n_free < n_before:   # rounding might add one again, and not end
        n_before = n_free
        n_free, total = 0, 0
        for k in range(m):
            a[k] = (c[k] if k else truth) - high
            if a[k] > b:
                total += a[k]
                n_free += 1
        if n_free == 0:   # Q = 0, or lost beside c
            break
        if n_free < n_before:
            b = (total - Q * C) / n_free
    total = 0
    for k in range(m):
        a[k] = a[k] - b if a[k] > b else 0
        total += a[k]
    if not total > 0:
        for k in range(m):
            if (c[k] if k else truth) == high:
                a[k] = total = 1
                break
    truth = 0
    for k in range(1, m):
        if a[k] > 0:
            a[k] *= -C / total
            truth -= a[k]
        else:
            a[k] = 0
    a[0] = truth
    return b + high
