"""What tells the data of a fit from others: for warm starts, which may add samples, and files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from scipy import sparse

from sstruct._input.labels import object_array

# An error names so many classes.
MOST_NAMED = 5


@dataclass(frozen=True)
class SampleData:
    """The data of a fit, so that the first samples can be compared with those of another fit.

    Attributes
    ----------
    n_samples : int
        As the structure counts them: all that were given, or those that train.
    common : list of arrays
        What all samples share, such as the classes.
    of_first : callable
        ``of_first(n)`` returns arrays that tell the first n samples from others. They do not
        depend on the samples that follow.
    n_blocks : callable or None
        ``n_blocks(n)``: how many blocks of the problem the first n samples are; they are the
        first. None: one a sample.
    costs : list of arrays
        What the loss takes from data and parameters: a warm start may find it changed, a checkpoint
        not.
    hint : str
        What an error adds where other data are refused.
    """

    n_samples: int
    common: list
    of_first: Callable[[int], Iterable[np.ndarray]]
    n_blocks: Callable[[int], int] | None = None
    costs: list = field(default_factory=list)
    hint: str = ""
    _digests: dict = field(default_factory=dict, init=False, repr=False)

    def arrays(self, n=None):
        """Return the arrays that tell the first n samples from others; None: all."""
        return [*self.of_first(self.n_samples if n is None else n), *self.common]

    def fingerprint(self, n=None):
        """Return a digest of the first n samples and of what all share; None: of all samples."""
        n = self.n_samples if n is None else n
        if n not in self._digests:
            self._digests[n] = fingerprint(self.arrays(n))
        return self._digests[n]

    def blocks_of_first(self, n):
        """Return how many blocks the first n samples are."""
        return n if self.n_blocks is None else int(self.n_blocks(n))

    def also(self, *common):
        """Return the same with more that all samples share."""
        return replace(self, common=[*self.common, *common])


def fingerprint(arrays):
    """A digest of arrays: their bytes, shapes and dtypes."""
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
    """Return the arrays of the first n rows, dense or CSR: views."""
    if not sparse.issparse(flat):
        return [flat[:n]]
    return [flat.data[: flat.indptr[n]], flat.indices[: flat.indptr[n]], flat.indptr[: n + 1]]


def label_array(labels):
    """Return labels as objects: strings then do not depend on the longest one beside them."""
    return object_array(labels.tolist())


def check_goes_on(warm, data, classes, known):
    """Check that data begin with the samples that a warm state is of.

    Parameters
    ----------
    warm : dict
        What the last fit left: its ``fingerprint`` and ``n_samples``, and working sets.
    data : SampleData
    classes, known : ndarray, tuple of ndarrays (one a type of nodes) or None
        All labels of these data and of the last fit.

    Raises
    ------
    ValueError
        If they do not; says what is different.
    """
    goes_on = "warm_start goes on from the last fit"
    if "n_samples" not in warm:  # pickled by a version that did not take more samples
        raise ValueError(
            f"{goes_on}, but what that left is of an earlier version of sstruct and cannot be "
            "gone on from. Clone the estimator, or set warm_start=False."
        )
    if classes is not None:
        found = _differing(classes, known)
        if found:
            raise ValueError(
                f"{goes_on} and needs its classes, but {found}. Give all labels that will ever "
                "occur as classes= before the first fit, or set warm_start=False."
            )
    n = int(warm["n_samples"])
    if n > data.n_samples:
        raise ValueError(
            f"{goes_on} and needs its data, to which samples may be added: that had {n} samples, "
            f"this has {data.n_samples}. Put the new samples behind the old ones, in one list; or "
            "set warm_start=False."
        )
    same = data.blocks_of_first(n) == len(warm["size"])
    if not same or warm["fingerprint"] != data.fingerprint(n):
        raise ValueError(
            f"{goes_on} and needs its data, to which samples may be added at the end; this X, y, "
            "set of classes, samples of weight 0, transition_mask or window_size (for graphs also "
            "the loss; with slack rescaling that, or the rescaling) is another one in the first "
            f"{n} samples. Set warm_start=False, or clone.{data.hint}"
        )


def _differing(classes, known):
    """Say which classes only one of two fits has; "" where there are none."""
    classes, known = _listed(classes), _listed(known)
    parts = []
    for one, other, what in ((classes, known, "new"), (known, classes, "missing")):
        others = set(other)
        names = [label for label in one if label not in others]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            parts.append(f"{names[:MOST_NAMED]}{more} {'is' if len(names) == 1 else 'are'} {what}")
    return " and ".join(parts)


def _listed(classes):
    """Return classes as a list; of several types of nodes, arrays of each, with the types."""
    if isinstance(classes, list | tuple):
        return [(t, label) for t, own in enumerate(classes) for label in own.tolist()]
    return classes.tolist()
