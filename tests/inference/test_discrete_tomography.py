"""Test discrete tomography against enumeration and the linear program over its decomposition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct.inference import discrete_tomography, projection_rays
from tests.reference import ray_sums as reference


def sums_of(image, rays):
    return [int(image.ravel()[ray].sum()) for ray in rays]


def check(result, sums, rays, shape, weight=1.0, truncation=np.inf):
    """Check the properties of every result."""
    assert result.labels.shape == shape
    assert result.labels.dtype == np.int32
    labels = result.labels.ravel()
    if reference.has_sums(labels, rays, sums):
        assert result.energy == pytest.approx(
            reference.energy(labels, shape, weight, truncation), abs=1e-9
        )
    else:
        assert result.energy == np.inf
    assert result.lower_bound <= result.energy


def block_image(rng, n, n_levels=3):
    """Return an image of two rectangles on an empty background."""
    image = np.zeros((n, n), dtype=np.int64)
    for level in range(1, n_levels):
        row, column = rng.integers(0, n // 2, 2)
        image[row : row + n // 2, column : column + n // 2] = level
    return image


@settings(max_examples=150)
@given(
    shape=st.sampled_from([(1, 1), (1, 4), (3, 1), (2, 3), (3, 3), (2, 4)]),
    n_levels=st.integers(2, 3),
    angles=st.lists(st.sampled_from([0, 45, 90, 135, 30, 110]), max_size=3, unique=True),
    truncation=st.sampled_from([None, 1.0, 0.5]),
    wrong=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_enumeration(shape, n_levels, angles, truncation, wrong, seed, new_rng):
    rng = new_rng(seed)
    image = rng.integers(0, n_levels, shape)
    rays = projection_rays(shape, angles)
    sums = np.array(sums_of(image, rays), dtype=np.int64)
    if wrong and len(sums):
        r = rng.integers(len(sums))
        sums[r] = rng.integers(0, len(rays[r]) * (n_levels - 1) + 1)
    most = np.inf if truncation is None else truncation
    least = reference.minimum(sums, rays, shape, n_levels, 2.0, most)
    result = discrete_tomography(
        sums, rays, shape, n_levels, weight=2.0, truncation=truncation, max_iter=60, random_state=0
    )
    check(result, sums, rays, shape, 2.0, most)
    assert result.lower_bound <= least + 1e-9
    assert result.energy >= least - 1e-9
    if result.status == "INFEASIBLE":
        assert least == np.inf
    if not (wrong and len(sums)):
        # There is an image, and such small ones are found.
        assert result.energy < np.inf


def test_bounds_converge_to_the_relaxation(new_rng):
    n_open = 0
    for seed in range(12):
        rng = new_rng(seed)
        shape, n_levels = [((3, 3), 3), ((3, 4), 2), ((4, 4), 2)][seed % 3]
        image = rng.integers(0, n_levels, shape)
        angles = [[0, 90], [0, 45, 90], [0, 45, 90, 135]][seed // 3 % 3]
        rays = projection_rays(shape, angles)
        sums, truncation = sums_of(image, rays), [np.inf, 1.0][seed % 2]
        value = reference.relaxation(sums, rays, shape, n_levels, 1.0, truncation)
        result = discrete_tomography(
            sums, rays, shape, n_levels,
            truncation=None if truncation == np.inf else truncation, tol=1e-8, max_iter=2000,
            random_state=0,
        )  # fmt: skip
        check(result, sums, rays, shape, 1.0, truncation)
        assert result.lower_bound <= value + 1e-8
        assert min(value, result.energy) - result.lower_bound <= 1e-4 * (1 + value)
        n_open += result.energy - value > 1e-3
    assert n_open >= 1


def test_infeasible_sums():
    # More in rows than in columns.
    rays = projection_rays((3, 3), [0, 90])
    result = discrete_tomography([2, 2, 2, 1, 1, 1], rays, (3, 3), 3)
    assert result.status == "INFEASIBLE"
    assert result.energy == result.lower_bound == np.inf
    # As much in all directions, but more than the corner and the row can have.
    rays = [*projection_rays((2, 2), [0, 90]), [0, 3]]
    result = discrete_tomography([2, 2, 2, 2, 3], rays, (2, 2), 3)
    assert reference.minimum([2, 2, 2, 2, 3], rays, (2, 2), 3, 1.0, np.inf) == np.inf
    assert result.energy == np.inf
    # Sums of a level that is not there.
    rays = projection_rays((2, 2), [0, 90, 45])
    result = discrete_tomography([4, 0, 2, 2, 0, 4, 0], rays, (2, 2), 3)
    assert result.status == "INFEASIBLE"
    # Half of each pixel would do: no image, yet not impossible for the relaxation of the sums.
    rays = [[0, 1], [1, 2], [0, 2]]
    result = discrete_tomography([1, 1, 1], rays, (1, 3), 2, max_iter=20)
    assert result.energy == np.inf
    assert result.lower_bound == pytest.approx(0, abs=1e-6)
    check(result, [1, 1, 1], rays, (1, 3))


def test_no_image_for_many_iterations():
    # Half-integral labels are feasible for the relaxation, so it runs until max_iter.
    rays = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]
    result = discrete_tomography([1] * 6, rays, (2, 3), 2, tol=0, max_iter=20)
    assert (result.status, result.energy) == ("MAX_ITER", np.inf)
    check(result, [1] * 6, rays, (2, 3))


def test_rays_of_angles():
    pixel = np.arange(12).reshape(3, 4)
    rays = projection_rays((3, 4), [0, 90, 45, 135])
    assert [ray.tolist() for ray in rays[:7]] == [*pixel.tolist(), *pixel.T.tolist()]
    diagonals = [np.diagonal(pixel, 3 - i).tolist() for i in range(6)]
    assert [ray.tolist() for ray in rays[7:13]] == diagonals
    turned = [sorted(np.diagonal(pixel[::-1], i - 2).tolist()) for i in range(6)]
    assert [ray.tolist() for ray in rays[13:]] == turned


@settings(max_examples=100)
@given(n_rows=st.integers(1, 8), n_columns=st.integers(1, 8), angle=st.floats(-400, 400, width=32))
def test_rays_of_any_angle(n_rows, n_columns, angle):
    rays = projection_rays((n_rows, n_columns), [angle])
    np.testing.assert_array_equal(np.sort(np.concatenate(rays)), np.arange(n_rows * n_columns))
    along = abs(np.cos(np.deg2rad(angle))) - abs(np.sin(np.deg2rad(angle)))
    for ray in rays:
        row, column = np.divmod(ray, n_columns)
        # One pixel in each column that it crosses, without gaps; or row, if it is steep.
        at = np.sort(column if along > 0 else row)
        if abs(along) > 1e-6:
            np.testing.assert_array_equal(at, np.arange(at[0], at[0] + len(at)))
    opposite = projection_rays((n_rows, n_columns), [angle + 180])
    assert sorted(map(tuple, map(np.sort, rays))) == sorted(map(tuple, map(np.sort, opposite)))


def test_a_matrix_is_as_good_as_lists(rng):
    image = block_image(rng, 6)
    rays = projection_rays(image.shape, [0, 90])
    matrix = np.zeros((len(rays), image.size))
    for row, ray in zip(matrix, rays, strict=True):
        row[ray] = 1
    sums = sums_of(image, rays)
    lists, rows = (
        discrete_tomography(sums, r, image.shape, 3, max_iter=20, random_state=0)
        for r in (rays, sparse.csr_array(matrix))
    )
    np.testing.assert_array_equal(lists.history["lower_bound"], rows.history["lower_bound"])
    np.testing.assert_array_equal(lists.labels, rows.labels)


ROWS = [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(sums=[1]), r"sums must be integers of shape \(2,\), one for each ray"),
        (dict(sums=[1, 5]), r"sums\[1\] is 5, expected an integer from 0 to 4: ray 1 has 2 pixels"),
        (dict(sums=[-1, 1]), r"sums\[0\] is -1, expected"),
        (dict(sums=[1.0, 1.5]), r"sums\[1\] is 1.5, expected an integer"),
        (dict(sums=[np.nan, 1]), r"sums\[0\] is nan, expected an integer"),
        (dict(rays=[[0, 1], [2, 4]]), r"rays\[1\] has pixel 4, expected 0 to 3"),
        (dict(rays=[[0, 1], [-1, 2]]), r"rays\[1\] has pixel -1"),
        (dict(rays=[[0, 0], [2, 3]]), r"rays\[0\] has pixel 0 twice"),
        (dict(rays=[[0, 1], []]), r"rays\[1\] must be a nonempty list of pixels"),
        (dict(rays=5), "rays must be a list of arrays or a sparse array, found 5"),
        (dict(rays=[[0, 1], [1.0]]), r"rays\[1\] must be a nonempty list of pixels"),
        (dict(rays=sparse.csr_array(np.ones((2, 3)))), r"one column for each of 4 pixels"),
        (dict(rays=sparse.csr_array([[1, 1, 0, 0], [0, 0, 2, 0]])), r"rays\[1, 2\] is 2, expected"),
        (dict(rays=sparse.csr_array([[1, 1, 0, 0], [0, 0, 0, 0]])), r"rays\[1\] has no pixels"),
        (dict(shape=4), "shape must be a pair of positive integers"),
        (dict(shape=(4, 0)), "shape must be a pair of positive integers"),
        (dict(n_levels=1), "n_levels must be at least 2, found 1"),
        (dict(weight=0.0), "weight must be finite and above 0, found 0.0"),
        (dict(truncation=-1.0), "truncation must be finite and above 0"),
        (dict(tol=-1), "tol must be at least 0"),
    ],
)
def test_invalid_input(changes, message):
    arguments = dict(sums=[1, 2], rays=ROWS, shape=(2, 2), n_levels=3) | changes
    with pytest.raises((ValueError, TypeError), match=message):
        discrete_tomography(**arguments)


def test_without_rays_all_pixels_are_equal():
    result = discrete_tomography([], [], (2, 2), 3)
    assert (result.status, result.energy) == ("PROVEN", 0)
    assert len(np.unique(result.labels)) == 1


def test_invalid_angles():
    with pytest.raises(ValueError, match="angles must be a list of finite numbers; found"):
        projection_rays((2, 2), [np.inf])


def test_the_clock_leaves_a_valid_result(rng):
    image = block_image(rng, 16)
    rays = projection_rays(image.shape, [0, 90])
    sums = sums_of(image, rays)
    result = discrete_tomography(sums, rays, image.shape, 3, max_time=1e-9)
    assert result.status == "TIME_LIMIT"
    check(result, sums, rays, image.shape)


@pytest.mark.parametrize("new", [int, np.random.default_rng, np.random.RandomState])
def test_random_states(new, rng):
    image = block_image(rng, 6)
    rays = projection_rays(image.shape, [0, 90])
    first, second = (
        discrete_tomography(
            sums_of(image, rays), rays, image.shape, 3, max_iter=5, random_state=new(2)
        )
        for _ in range(2)
    )  # fmt: skip
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.history["lower_bound"], second.history["lower_bound"])
