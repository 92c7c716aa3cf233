"""Synthetic data with known structure."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state


def make_sequences(
    n_samples=100,
    *,
    n_labels=4,
    n_features=10,
    min_length=5,
    max_length=15,
    noise=1.0,
    random_state=None,
):
    """Make sequences of Markov labels seen through Gaussian features.

    Labels follow a first-order Markov chain with a random transition matrix; the features of a
    position are the centre of its label, drawn once from a standard normal, plus noise. So the
    neighbours tell something about a label that its own features do not.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sequences.
    n_labels : int, default=4
        Number of labels K.
    n_features : int, default=10
        Number of features F.
    min_length, max_length : int, default=5 and 15
        Lengths are uniform between the two, both included.
    noise : float, default=1.0
        Standard deviation of the noise in each feature.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the sample. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (length_i, n_features)
        Features. The arrays are views of one array.
    y : list of n_samples int arrays of shape (length_i,)
        Labels, 0 to K - 1.

    See Also
    --------
    load_digit_dates : Real images with calendar structure.

    Examples
    --------
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(3, min_length=2, max_length=4, random_state=0)
    >>> [len(x) for x in X]
    [2, 3, 4]
    >>> X[0].shape, y[0].shape
    ((2, 10), (2,))
    """
    counts = {
        "n_samples": n_samples,
        "n_labels": n_labels,
        "n_features": n_features,
        "min_length": min_length,
        "max_length": max_length,
    }
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a positive integer, got {count!r}")
    if max_length < min_length:
        raise ValueError(f"max_length={max_length} is below min_length={min_length}")
    if not noise >= 0:
        raise ValueError(f"noise must be >= 0, got {noise!r}")

    rng = check_random_state(random_state)
    # A concentration below one makes rows uneven: transitions that carry information.
    transitions = rng.dirichlet(np.full(n_labels, 0.3), size=n_labels)
    centers = rng.standard_normal((n_labels, n_features))
    lengths = rng.randint(min_length, max_length + 1, size=n_samples)
    labels = _markov_labels(transitions, n_samples, max_length, rng)
    # Positions beyond a sequence's end were drawn for nothing; the loop over time stays simple.
    flat_y = labels[np.arange(max_length) < lengths[:, None]]
    flat_X = rng.standard_normal((flat_y.size, n_features))
    flat_X *= noise
    flat_X += centers[flat_y]
    ends = np.cumsum(lengths)
    # Slices, not np.split, which is ten times slower on many sequences.
    spans = list(zip((ends - lengths).tolist(), ends.tolist()))
    return [flat_X[a:b] for a, b in spans], [flat_y[a:b] for a, b in spans]


def _markov_labels(transitions, n_samples, length, rng):
    """Sample all chains at once, position by position: (n_samples, length)."""
    n_labels = len(transitions)
    # Row k of the table lies in [k, k + 1], so one sorted search serves every row.
    table = np.cumsum(transitions, axis=1)
    table[:, -1] = 1.0
    table = (table + np.arange(n_labels)[:, None]).ravel()
    labels = np.empty((n_samples, length), dtype=np.intp)
    labels[:, 0] = rng.randint(n_labels, size=n_samples)
    for t in range(1, length):
        previous = labels[:, t - 1]
        drawn = np.searchsorted(table, previous + rng.uniform(size=n_samples), side="right")
        # Rounding of previous + u may reach the next row.
        labels[:, t] = np.minimum(drawn - previous * n_labels, n_labels - 1)
    return labels
