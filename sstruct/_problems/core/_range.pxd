# What oracles of graphs and trees refuse to decode: sums and differences of such scores are no
# numbers, and what compares them may not end, or end in no labeling.


cdef inline int check_scores(Py_ssize_t i, double total) except -1 nogil:
    """Raise unless scores of block i, of whose sizes this is the sum, are far from infinite."""
    if not total < 1e200:
        with gil:
            raise ValueError(
                f"block {i}: its scores leave the range of float64. Scale the features, or take a "
                "larger lam")
    return 0
