"""Labelled images that are kept as flat arrays of pixels."""

from itertools import pairwise

import numpy as np
from sklearn.utils import Bunch

from ._cache import cached_file

_SNAKES = """\
Snakes
------

Tiny pictures (4 x 4 to 10 x 11 pixels) of one snake each: its ten parts are to be labelled 1 to
10 in order along the body, 0 is background. Pixels have one of five pure colours: four directions
in which the body goes on, and the background's. A pixel alone tells next to nothing about its
part, so pairwise terms decide. 200 pictures for training, 100 for testing.

S. Nowozin, C. Rother, S. Bagon, T. Sharp, B. Yao, P. Kohli, Decision tree fields, ICCV 2011. The
source states no licence.
"""

_HORSES = """\
Weizmann horses
---------------

Photographs of horses with masks (1: horse), here with a longest side of 128 pixels: 278 for
training and 49 for testing, a split that is not official. A quarter of the pixels are horse.

E. Borenstein, S. Ullman, Class-specific, top-down segmentation, ECCV 2002. The source states no
licence; for research use.
"""


def fetch_snakes(*, subset="train", data_home=None, return_X_y=False):
    """Load the pictures of the snakes data set from the folder of the data.

    No page serves this set as a plain file, so nothing is downloaded: ``snakes.npz`` must be there.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        Which part to load.
    data_home : path-like, default=None
        Folder of ``snakes.npz``: arrays ``rgb_train`` (pixels of all pictures, row by row, one
        picture after the other), ``labels_train``, ``shape_train`` (height and width of each), and
        the same for ``test``. By default the environment variable SSTRUCT_DATA names it, else it
        is ``~/sstruct_data``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of uint8 arrays of shape (height_i, width_i, 3)
            Red, green and blue.
        target : list of int arrays of shape (height_i, width_i)
            Part of the snake, 1 to 10; 0 is background.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_grids : Synthetic pictures of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_snakes
    >>> snakes = fetch_snakes()  # doctest: +SKIP
    >>> snakes.data[0].shape  # doctest: +SKIP
    (5, 6, 3)
    """
    return _pictures("snakes.npz", "labels", subset, data_home, return_X_y, _SNAKES)


def fetch_weizmann_horses(*, subset="train", data_home=None, return_X_y=False):
    """Load the photographs of the Weizmann horses from the folder of the data.

    No page serves this set at this size, so nothing is downloaded: ``weizmann_horses.npz`` must be
    there.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        Which part to load.
    data_home : path-like, default=None
        Folder of ``weizmann_horses.npz``: arrays ``rgb_train`` (pixels of all photographs, row by
        row, one photograph after the other), ``mask_train``, ``shape_train`` (height and width of
        each), and the same for ``test``. By default the environment variable SSTRUCT_DATA names
        it, else it is ``~/sstruct_data``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of uint8 arrays of shape (height_i, width_i, 3)
            Red, green and blue.
        target : list of int arrays of shape (height_i, width_i)
            1 on the horse, 0 elsewhere.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_grids : Synthetic pictures of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_weizmann_horses
    >>> horses = fetch_weizmann_horses(subset="test")  # doctest: +SKIP
    >>> len(horses.data)  # doctest: +SKIP
    49
    """
    return _pictures("weizmann_horses.npz", "mask", subset, data_home, return_X_y, _HORSES)


def _pictures(file_name, labels, subset, data_home, return_X_y, description):
    """Cut flat arrays of pixels and labels into pictures."""
    if subset not in ("train", "test"):
        raise ValueError(f'subset must be "train" or "test", got {subset!r}')
    path = cached_file(data_home, file_name, make=None, download_if_missing=False)
    with np.load(path, allow_pickle=False) as arrays:
        pixels = arrays[f"rgb_{subset}"]
        codes = arrays[f"{labels}_{subset}"].astype(np.intp)
        shapes = arrays[f"shape_{subset}"].tolist()
    ends = np.cumsum([0] + [height * width for height, width in shapes]).tolist()
    cuts = list(zip(pairwise(ends), shapes, strict=True))
    data = [pixels[a:b].reshape(*shape, -1) for (a, b), shape in cuts]
    target = [codes[a:b].reshape(shape) for (a, b), shape in cuts]
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, DESCR=description)
