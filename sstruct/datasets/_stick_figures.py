"""Synthetic poses with known truth."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_random_state

# Joint, its parent, the limb between them: length as a share of the image, mean angle in degrees
# (0: right, 90: down) and its spread.
_JOINTS = (
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
# Detectors do not tell right from left: the joint of the other side, or the joint itself.
_OTHER_SIDE = (0, 1, 2, 5, 6, 3, 4, 9, 10, 7, 8)


def make_stick_figures(
    n_samples=100, *, size=32, n_distractors=2, noise=0.1, random_state=None, return_X_y=False
):
    """Make stick figures seen through detectors of their joints.

    A figure of 11 joints stands somewhere in a square image, its limbs at random angles. For each
    joint there are maps of two detectors, which respond at the joint, as strongly at the same joint
    of the other side (they cannot tell right from left) and at `n_distractors` random places; noise
    is added. So no map alone says where a joint is, but the others' places do.

    Parameters
    ----------
    n_samples : int, default=100
        Number of figures.
    size : int, default=32
        Height and width of the images, at least 16.
    n_distractors : int, default=2
        Places without a joint that a detector responds to.
    noise : float, default=0.1
        Standard deviation of the noise of a map, whose responses are about 1.
    random_state : int, RandomState instance or None, default=None
        Determines the sample. Pass an int for reproducible output.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of n_samples dicts
            As :class:`sstruct.TreeSSVM` takes them: ``features`` of shape (11, size, size, 2), and
            ``scale``, a tenth of `size`.
        target : list of n_samples int arrays of shape (11,)
            State of each joint: ``row * size + column``.
        images : ndarray of shape (n_samples, size, size)
            The figures as they are drawn, 0 to 1.
        positions : ndarray of shape (n_samples, 11, 2)
            The joints' (x, y), column and row.
        parents : ndarray of shape (11,)
            Parent of each joint, -1 for the first.
        joint_names : list of str
            Names of the 11 joints.

    See Also
    --------
    fetch_lspet_pose : Photographs of people doing sports.

    Examples
    --------
    >>> from sstruct.datasets import make_stick_figures
    >>> figures = make_stick_figures(3, random_state=0)
    >>> figures.data[0]["features"].shape, figures.target[0].shape
    ((11, 32, 32, 2), (11,))
    >>> figures.joint_names[figures.parents[4]]
    'right elbow'
    """
    for name, value, least in (
        ("n_samples", n_samples, 1),
        ("size", size, 16),
        ("n_distractors", n_distractors, 0),
    ):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")
    if not noise >= 0:
        raise ValueError(f"noise must be >= 0, got {noise!r}")
    rng = check_random_state(random_state)
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
        parents=np.array([parent for _, parent, *_ in _JOINTS]),
        joint_names=[name for name, *_ in _JOINTS],
    )


def _pose(size, rng):
    """Places (x, y) of the joints, whole numbers inside of the image."""
    joints = np.zeros((len(_JOINTS), 2))
    for k, (_, parent, length, mean, spread) in enumerate(_JOINTS[1:], start=1):
        angle = np.deg2rad(mean + spread * np.clip(rng.standard_normal(), -2, 2))
        joints[k] = joints[parent] + size * length * np.array([np.cos(angle), np.sin(angle)])
    joints = np.rint(joints).astype(np.intp)
    joints -= joints.min(axis=0)
    return joints + rng.randint(0, size - joints.max(axis=0))


def _responses(joints, size, n_distractors, noise, rng):
    """Maps (P, size, size, 2): noise, and a bump at each place that looks like the joint."""
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
    """The image: limbs as lines of about one pixel, and the head."""
    pixels = np.indices((size, size))[::-1].reshape(2, -1).T
    distance = np.linalg.norm(pixels - joints[1], axis=1) - 0.05 * size
    for k, (_, parent, *_) in enumerate(_JOINTS):
        if parent >= 0:
            limb = joints[k] - joints[parent]
            share = (pixels - joints[parent]) @ limb / max(limb @ limb, 1)
            nearest = joints[parent] + np.clip(share, 0, 1)[:, np.newaxis] * limb
            distance = np.minimum(distance, np.linalg.norm(pixels - nearest, axis=1))
    return np.clip(1.5 - distance, 0, 1).reshape(size, size)
