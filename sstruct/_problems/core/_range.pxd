# Range check of scores for oracles. Beyond this range, sums and differences of scores may be NaN, and
# algorithms that compare them may not terminate or may not find a labeling.


cdef inline int check_scores(Py_ssize_t i, double total) except -1 nogil:
    """Raise unless the scores of block i, whose magnitudes sum to `total`, are in a safe range."""
    if not total < 1e200:
        with gil:
            raise ValueError(
                f"block {i}: the scores exceed the range of float64. Rescale the features, or "
                "increase lam")
    return 0
