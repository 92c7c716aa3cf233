"""Synthetic sequences of very many labels."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state


def make_large_domain_sequences(
    n_samples=100,
    n_labels=1000,
    *,
    n_features=86,
    n_successors=20,
    structure=0.7,
    exponent=1.0,
    noise=1.5,
    min_length=5,
    max_length=24,
    random_state=None,
):
    """Make sequences of very many labels, as handwritten Chinese characters are.

    The k-th label is as frequent as 1 / (k + 1) ** `exponent` says (Zipf's law). Every label has a
    few likely successors, drawn once from that law: a label is one of its predecessor's with
    probability `structure`, or else drawn from the law. Features are dense: the centre of a label,
    uniform in [-1, 1], plus Gaussian noise, all clipped to [-1, 1]. So most transitions never
    occur, and neighbours tell what features leave open.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sequences.
    n_labels : int, default=1000
        Number of labels K.
    n_features : int, default=86
        Number of features F; 86 as in the handwriting data of [1]_.
    n_successors : int, default=20
        Likely successors of a label; equal draws count as often as they come.
    structure : float, default=0.7
        Share of steps to a likely successor, 0 to 1.
    exponent : float, default=1.0
        Exponent of Zipf's law, at least 0 (uniform).
    noise : float, default=1.5
        Standard deviation of the noise in each feature.
    min_length, max_length : int, default=5 and 24
        Lengths are uniform between the two, both included.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the sample. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (length_i, n_features)
        Features. The arrays are views of one array.
    y : list of n_samples int arrays of shape (length_i,)
        Labels, 0 to K - 1, the lower the more frequent. Rare ones may be missing.

    See Also
    --------
    make_sequences : Few labels, every transition possible.

    References
    ----------
    .. [1] I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual
       Decomposed Learning with Factorwise Oracles for Structural SVMs of Large Output Domain.
       NIPS 2016, section 4.

    Examples
    --------
    >>> from sstruct.datasets import make_large_domain_sequences
    >>> X, y = make_large_domain_sequences(300, 500, random_state=0)
    >>> X[0].shape[1], sum(len(labels) for labels in y)
    (86, 4268)
    """
    counts = {
        "n_samples": n_samples,
        "n_labels": n_labels,
        "n_features": n_features,
        "n_successors": n_successors,
        "min_length": min_length,
        "max_length": max_length,
    }
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a positive integer, got {count!r}")
    if max_length < min_length:
        raise ValueError(f"max_length={max_length} is below min_length={min_length}")
    for name, size, most in (
        ("structure", structure, 1),
        ("exponent", exponent, np.inf),
        ("noise", noise, np.inf),
    ):
        if not 0 <= size <= most or size == np.inf:
            raise ValueError(f"{name} must be a number of 0 to {most}, got {size!r}")

    rng = check_random_state(random_state)
    law = np.cumsum((1.0 + np.arange(n_labels)) ** -exponent)
    successors = _drawn(law, rng.uniform(size=(n_labels, n_successors)))
    centers = rng.uniform(-1, 1, size=(n_labels, n_features))
    lengths = rng.randint(min_length, max_length + 1, size=n_samples)
    labels = np.empty((n_samples, max_length), dtype=np.intp)
    labels[:, 0] = _drawn(law, rng.uniform(size=n_samples))
    for t in range(1, max_length):
        likely = successors[labels[:, t - 1], rng.randint(n_successors, size=n_samples)]
        other = _drawn(law, rng.uniform(size=n_samples))
        labels[:, t] = np.where(rng.uniform(size=n_samples) < structure, likely, other)
    flat_y = labels[np.arange(max_length) < lengths[:, None]]
    flat_X = rng.standard_normal((flat_y.size, n_features))
    flat_X *= noise
    flat_X += centers[flat_y]
    np.clip(flat_X, -1, 1, out=flat_X)
    ends = np.cumsum(lengths)
    spans = list(zip((ends - lengths).tolist(), ends.tolist()))
    return [flat_X[a:b] for a, b in spans], [flat_y[a:b] for a, b in spans]


def _drawn(law, uniform):
    """Labels of a cumulative law, not normalised, at numbers of [0, 1)."""
    labels = np.searchsorted(law, uniform * law[-1], side="right")
    # Rounding of the product may reach the end.
    return np.minimum(labels, len(law) - 1)
