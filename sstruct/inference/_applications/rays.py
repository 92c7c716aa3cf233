"""Pixels of rays through images, given by angles or as lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import array_of, is_sized, real_array
from sstruct._checks.compressed import check_compressed
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._oracles.core.incidence import checked_nodes


def projection_rays(shape: tuple[int, int], angles: ArrayLike) -> list[np.ndarray]:
    """Return the pixels of parallel rays through an image.

    Parameters
    ----------
    shape : tuple (H, W)
        Rows and columns of the image.
    angles : array-like of float of shape (n_angles,)
        Directions of the rays in degrees: 0 along rows, 90 along columns, 45 along diagonals on
        which row and column increase together.

    Returns
    -------
    rays : list of ndarray, dtype int64
        The pixels ``row * W + column`` of each ray, in the order of `angles`. The rays of an angle
        contain each pixel once. A ray has one pixel in each column that it crosses, or in each row
        if it is steeper than 45 degrees.

    Raises
    ------
    ValueError
        If `shape` is not a pair of positive integers, or an angle is not finite.

    See Also
    --------
    discrete_tomography : Find an image from its sums along rays.

    Notes
    -----
    For a direction with slope m, abs(m) <= 1, the ray of a pixel is ``row - m column``, rounded to
    the nearest integer. For steeper directions rows and columns are exchanged. The complexity is
    O(H W) for each angle.

    Examples
    --------
    >>> from sstruct.inference import projection_rays
    >>> [ray.tolist() for ray in projection_rays((2, 2), [0, 45])]
    [[0, 1], [2, 3], [1], [0, 3], [2]]
    """
    n_rows, n_columns = checked_shape(shape)
    angles = real_array(angles, "angles")
    if angles.ndim != 1 or not np.isfinite(angles).all():
        raise ValueError(
            f"angles must be a list of finite numbers; found {shortened(angles.tolist())}"
        )
    row, column = np.divmod(np.arange(n_rows * n_columns), n_columns)
    rays = []
    for angle in np.deg2rad(angles):
        along, across = np.cos(angle), np.sin(angle)
        # Rounded, because the computed slope of 45 degrees differs slightly from 1.
        if abs(along) >= abs(across):
            at = row - np.round(across / along, 12) * column
        else:
            at = column - np.round(along / across, 12) * row
        at = np.floor(np.round(at + 0.5, 9)).astype(np.int64)
        order = np.argsort(at, kind="stable")
        rays += np.split(order, np.flatnonzero(np.diff(at[order])) + 1)
    return rays


def checked_shape(shape):
    """Return (H, W), validated."""
    is_list = isinstance(shape, list | tuple | np.ndarray) and is_sized(shape)
    shape = tuple(shape) if is_list else (shape,)
    if len(shape) != 2 or not all(is_integer(n) and n >= 1 for n in shape):
        raise ValueError(f"shape must be a pair of positive integers; found {shortened(shape)}")
    if int(shape[0]) * int(shape[1]) >= 2**31:
        raise ValueError(f"shape is {shape}, expected fewer than {2**31} pixels")
    return int(shape[0]), int(shape[1])


def checked_rays(rays, n_pixels):
    """Return the starts (n_rays + 1,) int64 and pixels int32 of all rays, validated."""
    if sparse.issparse(rays):
        return _rows_of_matrix(rays, n_pixels)
    if not is_sized(rays):
        raise TypeError(f"rays must be a list of arrays or a sparse array, found {shortened(rays)}")
    lists = [checked_nodes(ray, n_pixels, f"rays[{r}]", "pixel") for r, ray in enumerate(rays)]
    start = np.r_[0, np.cumsum([len(ray) for ray in lists], dtype=np.int64)]
    return start, np.concatenate(lists) if lists else np.empty(0, dtype=np.int32)


def _rows_of_matrix(matrix, n_pixels):
    check_compressed(matrix, "rays")
    if matrix.ndim != 2 or matrix.shape[1] != n_pixels:
        raise ValueError(
            f"rays must have one column for each of {n_pixels} pixels; found shape {matrix.shape}"
        )
    matrix = sparse.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    wrong = matrix.data != 1
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            f"rays[{row[k]}, {matrix.indices[k]}] is {matrix.data[k]}, expected 0 or 1"
        )
    empty = np.diff(matrix.indptr) == 0
    if empty.any():
        raise ValueError(f"rays[{empty.argmax()}] has no pixels")
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def checked_sums(sums, start, n_levels):
    """Return the sums (n_rays,) as int64, validated for the length of each ray."""
    sums, n_rays = array_of(sums, "sums"), len(start) - 1
    if sums.shape != (n_rays,) or sums.dtype.kind not in "iuf":
        raise ValueError(
            f"sums must be integers of shape {(n_rays,)}, one for each ray; found dtype "
            f"{sums.dtype} and shape {sums.shape}"
        )
    most = np.diff(start) * (n_levels - 1)
    # Comparisons with NaN are False.
    right = (sums >= 0) & (sums <= most) & (sums == np.floor(sums))
    if not right.all():
        r = int(right.argmin())
        raise ValueError(
            f"sums[{r}] is {sums[r]}, expected an integer from 0 to {most[r]}: ray {r} has "
            f"{start[r + 1] - start[r]} pixels with levels up to {n_levels - 1}"
        )
    return sums.astype(np.int64)
