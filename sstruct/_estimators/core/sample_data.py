"""Identify the data of a fit, for warm starts, which may add samples, and for checkpoints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from scipy import sparse

# Maximum number of classes listed in an error.
MAX_LISTED = 5


@dataclass(frozen=True)
class SampleData:
    """The data of a fit, for comparing the first samples with those of another fit.

    Attributes
    ----------
    n_samples : int
        As the structure counts them: all samples, or only training samples.
    common : list of arrays
        Data shared by all samples, with None for missing arrays. Classes are an object array, whose
        fingerprint does not depend on the longest string.
    arrays_of_first : callable
        ``arrays_of_first(n)`` returns arrays that identify the first n samples. They do not depend
        on later samples.
    n_blocks : callable or None
        ``n_blocks(n)`` returns the number of blocks of the problem that belong to the first n
        samples. None if there is one block per sample.
    costs : list of arrays
        The parts of the loss and of the model that depend on data and parameters. They may change
        for a warm start, but not for a checkpoint.
    hint : str
        Additional advice for the error about different data.
    """

    n_samples: int
    common: list
    arrays_of_first: Callable[[int], Iterable[np.ndarray]]
    n_blocks: Callable[[int], int] | None = None
    costs: list = field(default_factory=list)
    hint: str = ""
    _digests: dict = field(default_factory=dict, init=False, repr=False)

    def arrays(self, n=None):
        """Return the arrays that identify the first n samples, or all if n is None."""
        return [*self.arrays_of_first(self.n_samples if n is None else n), *self.common]

    def fingerprint(self, n=None):
        """Return a digest of the shared data and the first n samples, or all if n is None."""
        n = self.n_samples if n is None else n
        if n not in self._digests:
            self._digests[n] = fingerprint(self.arrays(n))
        return self._digests[n]

    def blocks_of_first(self, n):
        """Return the number of blocks of the first n samples."""
        return n if self.n_blocks is None else int(self.n_blocks(n))

    def with_arrays(self, *common):
        """Return a copy with additional shared arrays."""
        return replace(self, common=[*self.common, *common])


def fingerprint(arrays):
    """Return a digest of the bytes, shapes and dtypes of arrays."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        array = np.ascontiguousarray(array)
        digest.update(repr((array.shape, array.dtype.str)).encode())
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(memoryview(array.reshape(-1)).cast("B") if array.size else b"")
    return digest.hexdigest()


def first_rows(flat, n):
    """Return the arrays of the first n rows, dense or CSR, as views."""
    if not sparse.issparse(flat):
        return [flat[:n]]
    return [flat.data[: flat.indptr[n]], flat.indices[: flat.indptr[n]], flat.indptr[: n + 1]]


def check_continues(warm, data, classes, known, has_parameter):
    """Raise ValueError unless the first samples are the samples of the last fit.

    Parameters
    ----------
    warm : dict
        State of the last fit: its ``fingerprint`` and ``n_samples``, and working sets.
    data : SampleData
    classes, known : ndarray, tuple of ndarrays (one per type of nodes) or None
        All labels of these data and of the last fit.
    has_parameter : bool
        Whether the estimator has the parameter `classes`.

    Raises
    ------
    ValueError
        If they differ; the message describes the difference.
    """
    prefix = "warm_start continues from the last fit"
    if classes is not None:
        found = _differing(classes, known)
        if found:
            advice = "Pass all labels that can occur as classes= before the first fit"
            if not has_parameter:
                advice = "Use data with all labels that can occur in the first fit"
            raise ValueError(
                f"{prefix} and requires its classes, but {found}. {advice}, or set "
                "warm_start=False."
            )
    n = int(warm["n_samples"])
    if n > data.n_samples:
        raise ValueError(
            f"{prefix} and requires its samples first: that fit had {n} samples, but this one has "
            f"only {data.n_samples}. Append new samples to the previous ones, in one list, or set "
            "warm_start=False."
        )
    same = data.blocks_of_first(n) == len(warm["size"])
    if not same or warm["fingerprint"] != data.fingerprint(n):
        raise ValueError(
            f"{prefix} and requires its samples first; X (or its dtype or sparse format), y, the "
            "classes, zero sample weights, or parameters that define the model or its loss, differ "
            f"within the first {n} samples. Set warm_start=False, or clone the estimator."
            f"{data.hint}"
        )


def _differing(classes, known):
    """Describe the classes that only one of two fits has, or return ""."""
    classes, known = _listed(classes), _listed(known)
    parts = []
    for one, other, what in ((classes, known, "new"), (known, classes, "missing")):
        others = set(other)
        names = [label for label in one if label not in others]
        if names:
            more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
            parts.append(f"{names[:MAX_LISTED]}{more} {'is' if len(names) == 1 else 'are'} {what}")
    return " and ".join(parts)


def _listed(classes):
    """Return classes as a list, of pairs (type, label) if there are several types of nodes."""
    if isinstance(classes, list | tuple):
        return [(t, label) for t, own in enumerate(classes) for label in own.tolist()]
    return classes.tolist()
