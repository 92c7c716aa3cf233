# An interval of the ratio g / h of two factors of a labeling: its loss g and its margin-like score h.
# Header only.


cdef struct Interval:
    # lower h <= g <= upper h with h > 0; `above`, `below`: strict inequality at lower or upper.
    double lower, upper
    bint above, below


cdef inline bint is_inside(const Interval* interval, double h, double g) noexcept nogil:
    cdef double least = interval.lower * h, most = interval.upper * h
    if not h > 0:
        return False
    return (g > least if interval.above else g >= least) and (
        g < most if interval.below else g <= most)
