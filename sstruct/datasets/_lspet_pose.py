"""Photographs of people doing sports, with the places of their joints."""

import numpy as np
from sklearn.utils import Bunch

from ._cache import cached_file

_FILE_NAME = "lspet400_pose.npz"
# Joint and its parent; right and left are the person's.
_JOINTS = (
    ("right ankle", 1),
    ("right knee", 2),
    ("right hip", 8),
    ("left hip", 9),
    ("left knee", 3),
    ("left ankle", 4),
    ("right wrist", 7),
    ("right elbow", 8),
    ("right shoulder", 12),
    ("left shoulder", 12),
    ("left elbow", 9),
    ("left wrist", 10),
    ("neck", -1),
    ("head top", 12),
)

_DESCR = """\
Extended Leeds sports pose, 400 photographs
-------------------------------------------

Grey photographs of people doing sports, here with a longest side of 96 pixels, and the places of 14
joints, of which 87 % are annotated; 141 photographs have all. Annotations are those of a crowd and
noisy. There is no standard split of this subset.

S. Johnson, M. Everingham, Learning effective human pose estimation from inaccurate annotation, CVPR
2011. The source states no licence; for research use.
"""


def fetch_lspet_pose(*, data_home=None, return_X_y=False):
    """Load photographs of the extended Leeds sports pose set from the folder of the data.

    No page serves this set at this size, so nothing is downloaded: ``lspet400_pose.npz`` must be
    there.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of ``lspet400_pose.npz``: arrays ``gray`` (pixels of all photographs, row by row, one
        photograph after the other), ``shape`` and ``orig_shape`` (height and width of each, here
        and before), ``joints_xy`` (n, 14, 2), in pixels of the original, and ``flag`` (n, 14),
        whether a joint is annotated. By default the environment variable SSTRUCT_DATA names it,
        else it is ``~/sstruct_data``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of 400 uint8 arrays of shape (height_i, width_i)
            Grey values.
        target : ndarray of shape (400, 14, 2)
            (x, y) of each joint in pixels of the image; NaN where it is not annotated.
        parents : ndarray of shape (14,)
            Tree of the joints, with the neck for its root.
        joint_names : list of str
            Names of the 14 joints.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_stick_figures : Synthetic poses with known truth.

    Examples
    --------
    >>> from sstruct.datasets import fetch_lspet_pose
    >>> people = fetch_lspet_pose()  # doctest: +SKIP
    >>> people.data[0].shape, people.joint_names[13]  # doctest: +SKIP
    ((64, 96), 'head top')
    """
    path = cached_file(data_home, _FILE_NAME, make=None, download_if_missing=False)
    with np.load(path, allow_pickle=False) as arrays:
        pixels, shape = arrays["gray"], arrays["shape"]
        # Height and width over those of the original, as factors of x and y.
        factor = (shape / arrays["orig_shape"])[:, np.newaxis, ::-1]
        target = arrays["joints_xy"] * factor
        target[arrays["flag"] == 0] = np.nan
    cuts = np.split(pixels, np.cumsum(shape.prod(axis=1))[:-1])
    data = [cut.reshape(size) for cut, size in zip(cuts, shape.tolist(), strict=True)]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        parents=np.array([parent for _, parent in _JOINTS]),
        joint_names=[name for name, _ in _JOINTS],
        DESCR=_DESCR,
    )
