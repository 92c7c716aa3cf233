"""Partitions of training data on a Dask cluster, sent from lists or already on the workers."""

from concurrent.futures import CancelledError
from itertools import pairwise

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import is_sized
from sstruct._compat import num_samples
from sstruct._problems.custom.oracle_calls import samples_of

# Number of partitions per worker if data are sent. With several, the partitions of a lost worker
# can be divided among the others.
PARTS = 4


class Partition:
    """Some of the samples, on a worker or in the caller's memory.

    Parameters
    ----------
    number : int
    source : Future or None
        Lists of samples and labelings on the cluster, or None if they are in `samples`.
    samples : tuple of (list, list), optional

    Attributes
    ----------
    start : int
        Index of its first block.
    n_samples : int
        Number of its samples, known after `choose`.
    chosen, rows : list of int
        Indices of its samples of positive weight, in the partition and in the user's data; known
        after `choose`.
    digests : tuple of (bytes, bytes) or None
        Digests of samples with their labelings, and of features of the labelings, once known.
    """

    def __init__(self, number, source, samples=None):
        self.number, self.source, self.samples = number, source, samples
        self.start, self.n_samples, self.chosen, self.rows = 0, 0, [], []
        self.digests = None

    def sent(self, client, address):
        """Return a future of the samples and labelings, sent to a worker if they are in memory."""
        if self.source is not None:
            return self.source
        return client.scatter([self.samples], workers=[address], hash=False)[0]


def cuts(n_samples, n_parts):
    """Return at most `n_parts` ranges of samples, of about equal size and not empty."""
    ends = np.linspace(0, n_samples, min(n_parts, n_samples) + 1).round().astype(int)
    return list(pairwise(ends.tolist()))


def sent_parts(samples, truths, n_parts):
    """Cut lists into partitions; return them and their lengths."""
    ends = cuts(len(samples), n_parts)
    parts = [Partition(k, None, (samples[a:b], truths[a:b])) for k, (a, b) in enumerate(ends)]
    return parts, [b - a for a, b in ends]


def lists_of(X, y, number):
    """Task: return a partition as two lists."""
    if y is not None:
        X, y = samples_of(X, f"partition {number} of X"), samples_of(y, f"partition {number} of y")
        if len(X) != len(y):
            raise ValueError(
                f"partition {number} has {len(X)} samples in X and {len(y)} in y, expected equal "
                "numbers"
            )
        return X, y
    pairs = samples_of(X, f"partition {number}")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"partition {number}: item {i} must be a pair (sample, labeling), because y is "
                f"None; found {type(pair).__name__}"
            )
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def existing_partitions(client, X, y, take=lists_of, rows=False):
    """Return existing partitions and their lengths.

    Parameters
    ----------
    client : distributed.Client
    X, y : as given to ``fit``
    take : callable
        Task: ``take(X, y, number)`` returns a partition's samples and labelings.
    rows : bool
        Whether samples are rows of arrays, sparse matrices and frames.

    Raises
    ------
    TypeError, ValueError
        If X and y are not partitions of the same samples.
    RuntimeError
        If a partition was lost with its worker and Dask cannot compute it again.
    """
    if rows and y is None:
        raise TypeError("y is None, expected partitions of labels, since X has partitions of rows")
    X = futures(client, X, "X", rows)
    y = None if y is None else futures(client, y, "y", rows)
    if y is not None and len(X) != len(y):
        raise ValueError(f"X has {len(X)} partitions and y has {len(y)}, expected equal numbers")
    sources = [
        client.submit(take, X[k], None if y is None else y[k], k, pure=False) for k in range(len(X))
    ]
    lengths = gathered(client, client.map(_length, sources, pure=False), sources)
    return [Partition(k, source) for k, source in enumerate(sources)], lengths


def gathered(client, tasks, sources):
    """Return the results of tasks that depend on partitions.

    Raises
    ------
    RuntimeError
        If a partition was lost with its worker and Dask cannot compute it again.
    """
    try:
        return client.gather(tasks)
    except CancelledError:
        lost = [k for k, source in enumerate(sources) if source.cancelled()]
        if not lost:
            raise
        raise lost_for_good(lost[0]) from None


def lost_for_good(number):
    """Return the error for a partition that is lost and cannot be computed again."""
    return RuntimeError(
        f"partition {number} was lost with its worker, and Dask cannot compute it again; pass "
        "futures of tasks, delayed objects or a Dask collection"
    )


def changed(number, difference):
    """Return the error for a partition that has other data after it was computed again."""
    return ValueError(
        f"partition {number} was computed again after its worker was lost, and its data have "
        f"changed: {difference}. A partition must be the same each time it is computed: use fixed "
        "seeds, and read files that do not change during the fit."
    )


def check_length(samples, n_samples, number):
    """Raise an error if the number of samples of a partition has changed."""
    if num_samples(samples) != n_samples:
        raise changed(number, f"found {num_samples(samples)} samples, expected {n_samples}")


def choose(parts, lengths, weights):
    """Number the blocks in order; return the partitions that have blocks.

    The blocks are the samples of positive weight. Sets the attributes of the partitions.
    """
    first, start = 0, 0
    for part, length in zip(parts, lengths, strict=True):
        part.chosen = np.flatnonzero(weights[first : first + length] > 0).tolist()
        part.rows = [first + i for i in part.chosen]
        part.start, part.n_samples = start, length
        start += len(part.chosen)
        first += length
    return [part for part in parts if part.chosen]


def futures(client, values, name, rows):
    """Convert the partitions passed by the user to a list of futures."""
    from distributed import Future

    if hasattr(values, "rechunk") and values.ndim == 2:  # chunks must have whole rows
        values = values.rechunk({1: -1})
    if hasattr(values, "to_delayed"):
        values = values.to_delayed()
        if rows and isinstance(values, np.ndarray):  # Dask arrays return an array of chunks
            values = values.ravel().tolist()
    if not isinstance(values, list | tuple):
        kind = "a Dask array, a Dask DataFrame" if rows else "a dask.bag"
        raise TypeError(
            f"{name} must be {kind} or a list of delayed objects or futures, found "
            f"{type(values).__name__}"
        )
    for k, value in enumerate(values):
        if not isinstance(value, Future) and not hasattr(value, "dask"):
            raise TypeError(
                f"{name}[{k}] must be a partition (a delayed object or a future), because X "
                f"consists of partitions; found {type(value).__name__}"
            )
    # In one call, so that common inputs of several partitions are computed once.
    computed = iter(client.compute([v for v in values if not isinstance(v, Future)]))
    return [v if isinstance(v, Future) else next(computed) for v in values]


def rows_of(X, y, number):
    """Task: return a partition whose samples are rows, after validation."""
    for name, values in (("X", X), ("y", y)):
        if not (sparse.issparse(values) or is_sized(values)):
            raise TypeError(
                f"partition {number} of {name} must be an array, a sparse matrix or a frame, found "
                f"{type(values).__name__}"
            )
    if num_samples(X) != num_samples(y):
        raise ValueError(
            f"partition {number} has {num_samples(X)} samples in X and {num_samples(y)} in y, "
            "expected equal numbers"
        )
    return X, y


def _length(pair):
    """Task: return the number of samples."""
    return num_samples(pair[0])
