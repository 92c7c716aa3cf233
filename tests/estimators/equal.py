"""Comparison of nested results, to the type and the bit."""

import numpy as np
from scipy import sparse


def equal(a, b):
    """Whether two nested values of arrays, lists and numbers are the same, to the bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return equal(a.tolist(), b.tolist()) if a.dtype == object else a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        return a.shape == b.shape and equal(a.toarray(), b.toarray())
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b or (a != a and b != b)
