"""Generated data sets, and a data set composed of scikit-learn's digits."""

from __future__ import annotations

import datetime
from typing import Any, Literal

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from sstruct._checks.arrays import flag, is_sized
from sstruct._checks.parameters import check_choice, check_number, random_of
from sstruct._checks.shown import shortened
from sstruct.datasets._fetched import Data, answer

Arrays = list[np.ndarray]
RandomState = int | np.random.RandomState | None


# Upper limit on counts, beyond which arrays do not fit into memory.
MOST = 2**31 - 1


def _check_counts(least: int = 1, /, **counts: Any) -> None:
    for name, count in counts.items():
        check_number(name, count, least=least, below=MOST + 1, whole=True)


def _check_lengths(min_length: int, max_length: int) -> None:
    _check_counts(min_length=min_length, max_length=max_length)
    if max_length < min_length:
        raise ValueError(f"max_length={max_length} is below min_length={min_length}")


def _as_size(name: str, value: float, largest: float = np.inf) -> float:
    """Return a finite number from 0 to `largest` as a float."""
    check_number(name, value, least=0)
    if value > largest:
        raise ValueError(f"{name} must be at most {largest}, found {shortened(value)}")
    return float(value)


def _noisy_sequences(
    labels: np.ndarray, lengths: np.ndarray, centers: np.ndarray, noise: float, rng: Any, clip: bool
) -> tuple[Arrays, Arrays]:
    """Add noise to the centers of labels, and cut features and labels to the lengths.

    Positions beyond the end of a sequence are discarded, which keeps the loop over time simple.
    """
    flat_y = labels[np.arange(labels.shape[1]) < lengths[:, None]]
    flat_X = rng.standard_normal((flat_y.size, centers.shape[1]))
    flat_X *= noise
    flat_X += centers[flat_y]
    if clip:
        np.clip(flat_X, -1, 1, out=flat_X)
    ends = np.cumsum(lengths)
    # np.split is ten times slower than slices for many sequences.
    spans = list(zip((ends - lengths).tolist(), ends.tolist()))
    return [flat_X[a:b] for a, b in spans], [flat_y[a:b] for a, b in spans]


def make_sequences(
    n_samples: int = 100,
    *,
    n_labels: int = 4,
    n_features: int = 10,
    min_length: int = 5,
    max_length: int = 15,
    noise: float = 1.0,
    random_state: RandomState = None,
) -> tuple[Arrays, Arrays]:
    """Generate sequences of labels from a Markov chain with Gaussian features.

    Labels follow a first-order Markov chain with a random transition matrix. The features at a
    position are the center of its label, drawn once from a standard normal distribution, plus
    noise. Neighbors therefore contain information about a label that its own features lack.

    Parameters
    ----------
    n_samples : int, default=100
        The number of sequences.
    n_labels : int, default=4
        The number of labels K.
    n_features : int, default=10
        The number of features F.
    min_length, max_length : int, default=5 and 15
        Lengths are drawn uniformly from this range, including both ends.
    noise : float, default=1.0
        The standard deviation of the noise in each feature.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the samples. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (length_i, n_features)
        Features. The arrays are views of one array.
    y : list of n_samples int arrays of shape (length_i,)
        Labels, 0 to K - 1.

    See Also
    --------
    load_digit_dates : Load real images of calendar dates.

    Examples
    --------
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(3, min_length=2, max_length=4, random_state=0)
    >>> [len(x) for x in X]
    [2, 3, 4]
    >>> X[0].shape, y[0].shape
    ((2, 10), (2,))
    """
    _check_counts(n_samples=n_samples, n_labels=n_labels, n_features=n_features)
    _check_lengths(min_length, max_length)
    noise = _as_size("noise", noise)

    rng = random_of(random_state)
    # A concentration below 1 results in uneven, informative transitions.
    transitions = rng.dirichlet(np.full(n_labels, 0.3), size=n_labels)
    centers = rng.standard_normal((n_labels, n_features))
    lengths = rng.randint(min_length, max_length + 1, size=n_samples)
    labels = _markov_labels(transitions, n_samples, max_length, rng)
    return _noisy_sequences(labels, lengths, centers, noise, rng, clip=False)


def _markov_labels(
    transitions: np.ndarray, n_samples: int, length: int, rng: np.random.RandomState
) -> np.ndarray:
    """Sample all chains in parallel, position by position: (n_samples, length)."""
    n_labels = len(transitions)
    # Row k of the table lies in [k, k + 1], so one sorted search handles all rows.
    table = np.cumsum(transitions, axis=1)
    table[:, -1] = 1.0
    table = (table + np.arange(n_labels)[:, None]).ravel()
    labels = np.empty((n_samples, length), dtype=np.intp)
    labels[:, 0] = rng.randint(n_labels, size=n_samples)
    for t in range(1, length):
        previous = labels[:, t - 1]
        drawn = np.searchsorted(table, previous + rng.uniform(size=n_samples), side="right")
        # Rounding of previous + u may result in the next row.
        labels[:, t] = np.minimum(drawn - previous * n_labels, n_labels - 1)
    return labels


def make_large_domain_sequences(
    n_samples: int = 100,
    n_labels: int = 1000,
    *,
    n_features: int = 86,
    n_successors: int = 20,
    structure: float = 0.7,
    exponent: float = 1.0,
    noise: float = 1.5,
    min_length: int = 5,
    max_length: int = 24,
    random_state: RandomState = None,
) -> tuple[Arrays, Arrays]:
    """Generate sequences with many labels, similar to handwritten Chinese characters.

    In the distribution of labels, the probability of label k is proportional to
    1 / (k + 1) ** `exponent` (Zipf's law). Every label has a few likely successors, drawn once from
    this distribution. The first label is drawn from it. The next label is one of the likely
    successors with probability `structure`, and otherwise drawn from the distribution. Features are
    dense: the center of a label, uniform in [-1, 1], plus Gaussian noise, clipped to [-1, 1]. As a
    consequence, most transitions never occur, and neighbors resolve ambiguous features.

    Parameters
    ----------
    n_samples : int, default=100
        The number of sequences.
    n_labels : int, default=1000
        The number of labels K.
    n_features : int, default=86
        The number of features F; 86 as in the handwriting data of [1]_.
    n_successors : int, default=20
        The number of likely successors of a label, drawn with replacement.
    structure : float, default=0.7
        The probability of a transition to a likely successor, from 0 to 1.
    exponent : float, default=1.0
        The exponent of Zipf's law, at least 0 (uniform).
    noise : float, default=1.5
        The standard deviation of the noise in each feature.
    min_length, max_length : int, default=5 and 24
        Lengths are drawn uniformly from this range, including both ends.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the samples. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (length_i, n_features)
        Features. The arrays are views of one array.
    y : list of n_samples int arrays of shape (length_i,)
        Labels, 0 to K - 1, approximately in the order of decreasing frequency. Rare labels may not
        occur.

    See Also
    --------
    make_sequences : Generate sequences with few labels and all transitions.

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
    _check_counts(
        n_samples=n_samples,
        n_labels=n_labels,
        n_features=n_features,
        n_successors=n_successors,
    )
    _check_lengths(min_length, max_length)
    structure = _as_size("structure", structure, 1)
    exponent, noise = _as_size("exponent", exponent), _as_size("noise", noise)

    rng = random_of(random_state)
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
    return _noisy_sequences(labels, lengths, centers, noise, rng, clip=True)


def _drawn(law, uniform):
    """Sample from an unnormalized cumulative distribution at uniform numbers in [0, 1)."""
    labels = np.searchsorted(law, uniform * law[-1], side="right")
    # Rounding of the product may result in the last value.
    return np.minimum(labels, len(law) - 1)


def make_grids(
    n_samples: int = 20,
    *,
    shape: tuple[int, int] = (24, 32),
    n_labels: int = 2,
    n_features: int = 3,
    n_shapes: int = 4,
    noise: float = 1.5,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate images of overlapping shapes with noisy colors.

    Ellipses and rectangles of random location, size and label overlap on a background of label 0.
    The features of a pixel are the color of its label, drawn once from a standard normal
    distribution, plus noise. Neighbors therefore contain information about a pixel's label that its
    own features lack.

    Parameters
    ----------
    n_samples : int, default=20
        The number of images.
    shape : tuple of two int, default=(24, 32)
        Height and width of the images.
    n_labels : int, default=2
        The number of labels K, including the background.
    n_features : int, default=3
        The number of features F.
    n_shapes : int, default=4
        The number of shapes in each image.
    noise : float, default=1.5
        The standard deviation of the noise in each feature.
    random_state : int, RandomState instance or None, default=None
        Determines the colors and images. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, height, width, n_features)
        Features.
    y : int ndarray of shape (n_samples, height, width)
        Labels, 0 to K - 1.

    See Also
    --------
    make_sequences : Generate synthetic chains.

    Examples
    --------
    >>> from sstruct.datasets import make_grids
    >>> X, y = make_grids(3, shape=(10, 12), random_state=0)
    >>> X.shape, y.shape
    ((3, 10, 12, 3), (3, 10, 12))
    """
    _check_counts(n_samples=n_samples, n_labels=n_labels, n_features=n_features, n_shapes=n_shapes)
    if not is_sized(shape) or len(shape) != 2:
        raise ValueError(f"shape must be a pair (height, width), got {shortened(shape)}")
    shape = tuple(shape)
    _check_counts(**{f"shape[{axis}]": side for axis, side in enumerate(shape)})
    noise = _as_size("noise", noise)

    rng = random_of(random_state)
    colors = rng.standard_normal((n_labels, n_features))
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    y = np.zeros((n_samples, *shape), dtype=np.intp)
    for labels in y:
        for _ in range(n_shapes):
            center = rng.uniform(size=2) * shape
            radius = rng.uniform(0.1, 0.35, size=2) * min(shape)
            down, across = (rows - center[0]) / radius[0], (columns - center[1]) / radius[1]
            if rng.randint(2):
                inside = down**2 + across**2 <= 1
            else:
                inside = np.maximum(np.abs(down), np.abs(across)) <= 1
            labels[inside] = rng.randint(n_labels)
    return colors[y] + noise * rng.standard_normal((*y.shape, n_features)), y


def make_multilabel_pairwise(
    n_samples: int = 200,
    *,
    n_features: int = 10,
    n_labels: int = 6,
    n_pairs: int | None = None,
    strength: float = 2.0,
    informativeness: float = 1.0,
    return_interactions: bool = False,
    random_state: RandomState = None,
) -> tuple[np.ndarray, ...]:
    """Generate label sets with attractive and repulsive pairs of labels.

    A label set y has probability proportional to
    ``exp(sum_k y_k (a_k + <b_k, x>) + sum_e t_e y_u y_v)``, the distribution that corresponds to
    the model of :class:`sstruct.MultilabelSSVM`. Features x are standard normal, and the weights
    b_k are drawn once. The interactions t_e of random pairs alternate between `strength` and minus
    `strength`. The biases a_k give a label the probability 0.3 for x = 0 if the values of all other
    labels are replaced by 0.3. Labels therefore contain information about others that the features
    lack.

    Parameters
    ----------
    n_samples : int, default=200
        The number of samples.
    n_features : int, default=10
        The number of features F.
    n_labels : int, default=6
        The number of labels K.
    n_pairs : int or None, default=None
        The number of interacting pairs. Half of them are attractive, and one more than half if the
        number is odd. Default: the number of labels, or all pairs if there are fewer.
    strength : float, default=2.0
        Absolute value of the interactions, in units of the log odds of a label.
    informativeness : float, default=1.0
        The standard deviation of <b_k, x>, the information about a label in the features.
    return_interactions : bool, default=False
        If True, also return the pairs and their interactions.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the samples. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    Y : int ndarray of shape (n_samples, n_labels)
        Indicator matrix of the labels of each sample.
    edges : int ndarray of shape (n_pairs, 2)
        Pairs of interacting labels, the smaller label first. Only returned if
        `return_interactions` is True.
    interactions : ndarray of shape (n_pairs,)
        Interaction t_e of each pair: positive for attraction, negative for repulsion. Only
        returned if `return_interactions` is True.

    See Also
    --------
    fetch_yeast : Load genes with interacting functions.

    Notes
    -----
    Label sets are sampled by 100 sweeps of Gibbs sampling that start from independent labels.

    Examples
    --------
    >>> from sstruct.datasets import make_multilabel_pairwise
    >>> X, Y, edges, interactions = make_multilabel_pairwise(
    ...     3, n_labels=4, n_pairs=2, return_interactions=True, random_state=0)
    >>> X.shape, Y.shape
    ((3, 10), (3, 4))
    >>> edges.tolist(), interactions.tolist()
    ([[0, 1], [2, 3]], [2.0, -2.0])
    """
    _check_counts(n_samples=n_samples, n_features=n_features, n_labels=n_labels)
    max_pairs = n_labels * (n_labels - 1) // 2
    n_pairs = min(n_labels, max_pairs) if n_pairs is None else n_pairs
    check_number("n_pairs", n_pairs, least=0, whole=True)
    if n_pairs > max_pairs:
        raise ValueError(
            f"n_pairs must be at most {max_pairs}, the pairs of {n_labels} labels, found {n_pairs}"
        )
    strength = _as_size("strength", strength)
    informativeness = _as_size("informativeness", informativeness)
    return_interactions = flag(return_interactions, "return_interactions")

    rng = random_of(random_state)
    X = rng.standard_normal((n_samples, n_features))
    weights = rng.standard_normal((n_labels, n_features)) * informativeness / np.sqrt(n_features)
    pairs = np.column_stack(np.triu_indices(n_labels, 1))
    edges = pairs[rng.permutation(max_pairs)[:n_pairs]]
    interactions = np.where(np.arange(n_pairs) % 2 == 0, 1.0, -1.0) * strength
    table = np.zeros((n_labels, n_labels))
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = interactions
    share = 0.3
    scores = np.log(share / (1 - share)) - share * table.sum(axis=1) + X @ weights.T
    Y = (rng.uniform(size=scores.shape) < share).astype(np.intp)
    for _ in range(100):
        for k in range(n_labels):
            Y[:, k] = rng.uniform(size=n_samples) < expit(scores[:, k] + Y @ table[:, k])
    return (X, Y, edges, interactions) if return_interactions else (X, Y)


# Joint, parent, and for the limb between them: length relative to the image size, mean angle in
# degrees (0: right, 90: down) and standard deviation of the angle.
_FIGURE_JOINTS = (
    ("neck", -1, 0.0, 0, 0),
    ("head", 0, 0.12, -90, 10),
    ("hip", 0, 0.25, 90, 8),
    ("right elbow", 0, 0.15, 135, 25),
    ("right hand", 3, 0.15, 115, 30),
    ("left elbow", 0, 0.15, 45, 25),
    ("left hand", 5, 0.15, 65, 30),
    ("right knee", 2, 0.17, 115, 12),
    ("right foot", 7, 0.17, 100, 15),
    ("left knee", 2, 0.17, 65, 12),
    ("left foot", 9, 0.17, 80, 15),
)
# Detectors confuse right and left: the same joint of the other side, or the joint itself.
_OTHER_SIDE = (0, 1, 2, 5, 6, 3, 4, 9, 10, 7, 8)


def make_stick_figures(
    n_samples: int = 100,
    *,
    size: int = 32,
    n_distractors: int = 2,
    noise: float = 0.1,
    random_state: RandomState = None,
    return_X_y: bool = False,
) -> Data:
    """Generate stick figures and the responses of joint detectors.

    A figure of 11 joints is placed in a square image, with limbs at random angles. Each joint has
    the response maps of two detectors, which respond equally at the joint, at the same joint of the
    other side (they confuse right and left) and at `n_distractors` random locations, plus noise.
    The location of a joint is therefore ambiguous without those of other joints.

    Parameters
    ----------
    n_samples : int, default=100
        The number of figures.
    size : int, default=32
        Height and width of the images, at least 16.
    n_distractors : int, default=2
        The number of false responses of each detector.
    noise : float, default=0.1
        The standard deviation of the noise of the maps, whose responses are about 1.
    random_state : int, RandomState instance or None, default=None
        Determines the samples. Pass an int for reproducible output.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of n_samples dicts
            Input of :class:`sstruct.TreeSSVM`: ``features`` of shape (11, size, size, 2), and
            ``scale``, a tenth of `size`.
        target : list of n_samples int arrays of shape (11,)
            State of each joint: ``row * size + column``.
        images : ndarray of shape (n_samples, size, size)
            Drawings of the figures, with values from 0 to 1.
        positions : ndarray of shape (n_samples, 11, 2)
            Coordinates (x, y) of the joints: column and row.
        parents : ndarray of shape (11,)
            Parent of each joint, -1 for the first.
        joint_names : list of str
            Names of the 11 joints.

    See Also
    --------
    fetch_lspet_pose : Load photographs of people doing sports.

    Examples
    --------
    >>> from sstruct.datasets import make_stick_figures
    >>> figures = make_stick_figures(3, random_state=0)
    >>> figures.data[0]["features"].shape, figures.target[0].shape
    ((11, 32, 32, 2), (11,))
    >>> figures.joint_names[figures.parents[4]]
    'right elbow'
    """
    _check_counts(n_samples=n_samples)
    _check_counts(16, size=size)
    _check_counts(0, n_distractors=n_distractors)
    noise = _as_size("noise", noise)
    rng = random_of(random_state)
    positions = np.array([_pose(size, rng) for _ in range(n_samples)])
    data, target = [], []
    for joints in positions:
        data.append({"features": _responses(joints, size, n_distractors, noise, rng),
                     "scale": 0.1 * size})  # fmt: skip
        target.append(joints[:, 1] * size + joints[:, 0])
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=np.array([_drawing(joints, size) for joints in positions]),
        positions=positions.astype(np.float64),
        parents=np.array([parent for _, parent, *_ in _FIGURE_JOINTS]),
        joint_names=[name for name, *_ in _FIGURE_JOINTS],
    )


def _pose(size, rng):
    """Return integer locations (x, y) of the joints within the image."""
    joints = np.zeros((len(_FIGURE_JOINTS), 2))
    for k, (_, parent, length, mean, spread) in enumerate(_FIGURE_JOINTS[1:], start=1):
        angle = np.deg2rad(mean + spread * np.clip(rng.standard_normal(), -2, 2))
        joints[k] = joints[parent] + size * length * np.array([np.cos(angle), np.sin(angle)])
    joints = np.rint(joints).astype(np.intp)
    joints -= joints.min(axis=0)
    return joints + rng.randint(0, size - joints.max(axis=0))


def _responses(joints, size, n_distractors, noise, rng):
    """Return maps (P, size, size, 2) of noise plus a bump at each detected location."""
    y, x = np.indices((size, size))
    maps = noise * rng.standard_normal((len(joints), size, size, 2))
    for k, other in enumerate(_OTHER_SIDE):
        seen = [joints[k], *rng.randint(0, size, (n_distractors, 2))]
        if other != k:
            seen.append(joints[other])
        for at in seen:
            strength = rng.uniform(0.8, 1.2)
            bump = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / 2)
            maps[k] += strength * bump[:, :, np.newaxis]
    return maps


def _drawing(joints, size):
    """Draw the limbs as lines of about one pixel, and the head."""
    pixels = np.indices((size, size))[::-1].reshape(2, -1).T
    distance = np.linalg.norm(pixels - joints[1], axis=1) - 0.05 * size
    for k, (_, parent, *_) in enumerate(_FIGURE_JOINTS):
        if parent >= 0:
            limb = joints[k] - joints[parent]
            share = (pixels - joints[parent]) @ limb / max(limb @ limb, 1)
            nearest = joints[parent] + np.clip(share, 0, 1)[:, np.newaxis] * limb
            distance = np.minimum(distance, np.linalg.norm(pixels - nearest, axis=1))
    return np.clip(1.5 - distance, 0, 1).reshape(size, size)


_DASH = 10
_TRAIN_SHARE = 0.4


def load_digit_dates(
    *,
    subset: Literal["train", "test", "all"] = "train",
    n_train: int = 500,
    n_test: int = 500,
    years: tuple[int, int] = (1998, 1999),
    random_state: int = 0,
    return_X_y: bool = False,
) -> Data:
    """Load calendar dates composed of real handwritten digits.

    Each sample is a date, YYYY-MM-DD, as a sequence of ten images of 8 x 8 pixels; the labels are
    the characters. The digits are those of scikit-learn, so nothing is downloaded. Training and
    test dates use disjoint sets of images.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The dates to load; "all" contains the training dates first.
    n_train, n_test : int, default=500
        The number of dates in each part.
    years : tuple of two int, default=(1998, 1999)
        First and last year of the dates. Neighbors are more informative for a smaller range.
    random_state : int, default=0
        Determines the split of the images, the dates and the images used for each date. Must be an
        integer, not a generator, so that parts loaded in separate calls use disjoint images.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of arrays of shape (10, 64)
            Pixel values in [0, 1], with a row for each image.
        target : list of int arrays of shape (10,)
            Indices into `target_names`: the digit itself, or 10 for the dash.
        images : list of arrays of shape (10, 8, 8)
            The same pixels as images.
        image_index : list of int arrays of shape (10,)
            Row of each image in `sklearn.datasets.load_digits`; -1 for a dash.
        dates : list of str
            The dates as text.
        feature_names : list of str
            Names of the pixels.
        target_names : list of str
            "0" to "9" and "-".
        DESCR : str
            Description of the data.

    See Also
    --------
    make_sequences : Generate synthetic chains of any size.
    fetch_ocr_letters : Load real handwritten words.

    Examples
    --------
    >>> from sstruct.datasets import load_digit_dates
    >>> train = load_digit_dates()
    >>> train.data[0].shape
    (10, 64)
    >>> "".join(train.target_names[k] for k in train.target[0]) == train.dates[0]
    True
    """
    check_choice("subset", subset, ("train", "test", "all"))
    _check_counts(n_train=n_train, n_test=n_test)
    check_number("random_state", random_state, least=0, whole=True)
    first_day, last_day = _day_range(years)

    digits = load_digits()
    pools = _split_images(digits.target, np.random.default_rng([random_state, 0]))
    dates, data, index = [], [], []
    for stream, (part, n_dates) in enumerate((("train", n_train), ("test", n_test)), start=1):
        if subset not in (part, "all"):
            continue
        # Separate streams, so that the test dates do not depend on n_train.
        rng = np.random.default_rng([random_state, stream])
        days = rng.integers(first_day, last_day, size=n_dates, endpoint=True)
        part_dates = [datetime.date.fromordinal(int(day)).isoformat() for day in days]
        part_index = _choose_images(part_dates, pools[part], rng)
        pixels = np.empty((*part_index.shape, 64))
        written = part_index >= 0
        pixels[written] = digits.data[part_index[written]] / 16.0
        pixels[~written] = _draw_dashes(np.count_nonzero(~written), rng)
        dates += part_dates
        data += list(pixels)
        index += list(part_index)
    target = [_labels(date) for date in dates]
    return answer(
        "digit_dates",
        return_X_y,
        data,
        target,
        images=[x.reshape(-1, 8, 8) for x in data],
        image_index=index,
        dates=dates,
        feature_names=list(digits.feature_names),
        target_names=[*"0123456789", "-"],
    )


def _day_range(years):
    """Return the ordinals of the first and the last day of a range of years."""
    try:
        first, last = years
        days = datetime.date(first, 1, 1).toordinal(), datetime.date(last, 12, 31).toordinal()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"years must be two years between 1 and 9999, got {shortened(years)}"
        ) from error
    if first > last:
        raise ValueError(f"years must be (first, last) with first <= last, got {shortened(years)}")
    return days


def _labels(date):
    return np.array([_DASH if mark == "-" else int(mark) for mark in date])


def _split_images(labels, rng):
    """Split the images into training and test, stratified by digit."""
    pools = {"train": [], "test": []}
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(labels == digit))
        cut = round(_TRAIN_SHARE * images.size)
        pools["train"].append(images[:cut])
        pools["test"].append(images[cut:])
    return pools


def _choose_images(dates, pool, rng):
    """Return the image of each character, -1 for dashes.

    The images of a digit are used in rounds, each of which is a new permutation of all of them.
    This avoids frequent images and reduces the variance of error rates over random states.
    """
    marks = np.array([_labels(date) for date in dates])
    index = np.full(marks.shape, -1)
    for digit in range(10):
        places = marks == digit
        n_rounds = -(-np.count_nonzero(places) // pool[digit].size)
        dealt = [rng.permutation(pool[digit]) for _ in range(n_rounds)]
        if dealt:
            index[places] = np.concatenate(dealt)[: np.count_nonzero(places)]
    return index


def _draw_dashes(n, rng):
    """Draw `n` dashes: strokes of six pixels in one of the two middle rows, with uneven ink."""
    dashes = np.zeros((n, 8, 8))
    dashes[np.arange(n), rng.integers(3, 5, size=n), 1:7] = rng.uniform(0.7, 1.0, size=(n, 6))
    return dashes.reshape(n, 64)
