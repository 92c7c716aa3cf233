"""Validated and packed arguments of the C functions of a user-defined oracle."""

import re

import numpy as np
from scipy import LowLevelCallable

from sstruct._checks.arrays import contiguous
from sstruct._checks.shown import shortened

# dtype of a sample's array by the type in the function's signature; None for any.
ELEMENTS = {"void *": None, "double *": np.float64, "float *": np.float32, "int *": np.int32}
SIGNATURES = {
    "argmax": "int (double *, {x}, int *, int *, double, int *, void *)",
    "joint_feature": "int ({x}, int *, int *, int *, double *, void *)",
    "loss": "double (int *, int *, int, void *)",
}


def capsule_of(function):
    """Return the capsule in a LowLevelCallable."""
    return tuple.__getitem__(function, 0)


def check_function(name, function):
    """Check that a function is a LowLevelCallable with the signature of the method `name`.

    Return the type of a sample's elements, which is arbitrary for "loss".
    """
    if not isinstance(function, LowLevelCallable):
        raise TypeError(f"{name} must be a scipy.LowLevelCallable, found {type(function).__name__}")
    found = re.sub(r"\bconst\b", "", function.signature)
    found = re.sub(r"\bint32_t\b", "int", found)
    found = re.sub(r"\s*\*", " *", re.sub(r"\s+", " ", found)).replace("( ", "(").strip()
    found = re.sub(r"\s+([,)])", r"\1", found)
    for x in ELEMENTS:
        if found == SIGNATURES[name].format(x=x):
            return x
    types = " or ".join(repr(x) for x in ELEMENTS) if name != "loss" else None
    raise TypeError(
        f"{name} has the signature {function.signature!r}, expected "
        f"{SIGNATURES[name].format(x='x')!r}" + (f" with x one of {types}" if types else "")
    )


class PackedSamples:
    """Samples and labelings in the form that C functions read.

    Parameters
    ----------
    X : list of arrays
        Arrays with the same number of dimensions. They are converted to contiguous arrays of the
        dtype that the functions declare; for ``void *``, they must have the same dtype.
    y : list of sequences of int, or None
    rows : list of int
        Indices of the samples in the user's data, for error messages.
    element : str
        A key of ELEMENTS.
    n_weights : int
    n_labels, code_size, max_features : int or callable of x, or None
        See ``CompiledOracle``.

    Attributes
    ----------
    arrays : list of ndarray
    address : ndarray of intp of shape (n,)
    shape : ndarray of int32 of shape (n, ndim)
    offsets : ndarray of int64 of shape (n + 1,)
        Boundaries of the labelings.
    truths : ndarray of int32, or None
        All labelings.
    n_labels, most : ndarray of int32 of shape (n,)
        For each sample: number of labels; largest number of entries of a joint feature vector.
    """

    # For CallableProblem: planes may be dense, and there is no constrained oracle.
    sparse = constrained = False

    def __init__(self, X, y, rows, element, n_weights, n_labels, code_size, max_features):
        self.rows, self.n_weights = rows, n_weights
        wanted, given = ELEMENTS[element], set()
        self.arrays = []
        for i, x in enumerate(X):
            array = np.asarray(x)
            if array.dtype.kind not in "biuf" or array.ndim == 0 or max(array.shape) >= 2**31:
                raise TypeError(
                    f"X[{rows[i]}] has dtype {array.dtype} and shape {array.shape}, expected an "
                    "array of numbers with at least one dimension, each shorter than 2^31"
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"X[{rows[i]}] contains NaN or infinity")
            if wanted is np.int32:
                self._check_integers(i, array)
            array = array.astype(wanted or array.dtype.newbyteorder("="), copy=False)
            given.add((array.ndim, array.dtype))
            if len(given) > 1:
                raise ValueError(
                    f"X[{rows[i]}] has {array.ndim} dimensions and dtype {array.dtype}, unlike "
                    "other samples; all samples must have the same dtype and number of dimensions"
                )
            self.arrays.append(contiguous(array))
        self.address = np.array([array.ctypes.data for array in self.arrays], dtype=np.intp)
        self.shape = np.array([array.shape for array in self.arrays], dtype=np.int32)
        sizes = self._numbers("code_size", len if code_size is None else code_size)
        self.n_labels = self._numbers("n_labels", n_labels)
        self.most = self._numbers(
            "max_features", n_weights if max_features is None else max_features
        )
        self.offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.truths = None if y is None else self._labelings(y)

    def __len__(self):
        return len(self.arrays)

    def _check_integers(self, i, array):
        """Raise an error if a conversion to int32 would change values."""
        limits = np.iinfo(np.int32)
        if array.dtype.kind == "f":
            raise TypeError(f"X[{self.rows[i]}] has dtype {array.dtype}, expected integers")
        if array.size and not limits.min <= array.min() <= array.max() <= limits.max:
            raise ValueError(f"X[{self.rows[i]}] has values out of the range of int32")

    def _numbers(self, name, rule):
        """Return positive integers, one per sample, from a constant or a function of x."""
        values = [rule(x) for x in self.arrays] if callable(rule) else [rule] * len(self)
        for i, value in enumerate(values):
            if not isinstance(value, int | np.integer) or not 1 <= value < 2**30:
                raise ValueError(
                    f"X[{self.rows[i]}]: {name} is {shortened(value)}, expected a positive integer "
                    "less than 2^30"
                )
        return np.array(values, dtype=np.int32)

    def _labelings(self, y):
        out = np.empty(self.offsets[-1], dtype=np.int32)
        for i, labeling in enumerate(y):
            out[self.offsets[i] : self.offsets[i + 1]] = self.labeling(i, labeling)
        return out

    def labeling(self, i, values):
        """Validate a labeling of sample i; return it as an int32 array."""
        labels = np.asarray(values)
        size = int(self.offsets[i + 1] - self.offsets[i])
        if labels.ndim == 0:
            labels = labels.reshape(1)
        if labels.dtype.kind not in "iu" or labels.shape != (size,):
            raise ValueError(
                f"y[{self.rows[i]}] has dtype {labels.dtype} and shape {labels.shape}, expected "
                f"integers and ({size},)"
            )
        if labels.min() < 0 or labels.max() >= self.n_labels[i]:
            raise ValueError(
                f"y[{self.rows[i]}] has labels from {labels.min()} to {labels.max()}, expected 0 "
                f"to {self.n_labels[i] - 1}"
            )
        return labels.astype(np.int32)

    def error(self, i, name, what):
        """Return the error for an invalid result of a function."""
        return ValueError(f"X[{self.rows[i]}]: {name} {what}")

    def wrong_value(self, i, value):
        """Return the error for an answer that is worse than the true labeling."""
        return self.error(
            i,
            "argmax",
            f"wrote a labeling whose score plus loss is {-value:g} below the true labeling's score",
        )
