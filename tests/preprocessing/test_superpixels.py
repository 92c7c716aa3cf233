"""Test superpixel graphs and labels against a loop over pixels, and invalid input."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sstruct._estimators.graph.graph_samples import pack_grids
from sstruct._input.ragged import ExpectedInput
from sstruct.preprocessing import _superpixels, pixel_labels, superpixel_graph, superpixel_labels
from tests.conftest import SEED

KINDS = [np.uint8, np.uint16, np.int16, np.int64, np.float32, np.float64, np.bool_]


@st.composite
def pictures(draw):
    """Draw an image of any dtype, labels of segments with gaps, and a mask or None."""
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=7))
    rng = np.random.default_rng([SEED, draw(st.integers(0, 2**32 - 1))])
    gap, first = draw(st.sampled_from([(1, 0), (1, 1), (7, 3), (10**9, 0), (1, -1)]))
    segments = first + gap * rng.integers(0, draw(st.integers(1, 6)), shape)
    if first == 0:
        segments = segments.astype(draw(st.sampled_from([np.int64, np.uint64])))
    segments[tuple(rng.integers(0, shape))] = 5  # at least one
    channels = draw(st.sampled_from([(), (1,), (3,)]))
    image = rng.integers(0, 256, (*shape, *channels)) * draw(st.sampled_from([1, 1, 0]))
    mask = draw(st.sampled_from([None, rng.random(shape) < 0.8]))
    if mask is not None:
        mask[segments == 5] = True
    return image.astype(draw(st.sampled_from(KINDS))), segments, mask


def members(segments, mask):
    """Return the pixels of each segment, and the number of the segment of each pixel."""
    pixels = defaultdict(list)
    for at in np.ndindex(segments.shape):
        if segments[at] >= 0 and (mask is None or mask[at]):
            pixels[int(segments[at])].append(at)
    ordered = [pixels[label] for label in sorted(pixels)]
    return ordered, {at: k for k, own in enumerate(ordered) for at in own}


def looped(image, segments, features, mask):
    """Compute the graph in a loop over pixels."""
    pixels, node_of = members(segments, mask)
    if image.dtype in (np.uint8, np.uint16):
        image = image / np.iinfo(image.dtype).max

    def means(values):
        pixel = np.atleast_3d(values).astype(float)
        return np.array([np.mean([pixel[at] for at in own], axis=0) for own in pixels])

    borders = Counter()
    for (row, column), u in node_of.items():
        for other in ((row + 1, column), (row, column + 1)):
            v = node_of.get(other, u)
            if u != v:
                borders[min(u, v), max(u, v)] += 1
    edges, colors = sorted(borders), means(image)
    square = [((colors[u] - colors[v]) ** 2).sum() for u, v in edges]
    mean, mean_border = np.mean(square or [0]), np.mean(list(borders.values()) or [1])
    assume(mean == 0 or mean > 1e-20)  # otherwise, contrasts are rounding errors
    edge_features = []
    for edge, distance in zip(edges, square):
        length = borders[edge] / mean_border
        likeness = np.exp(-distance / (2 * mean)) if mean > 0 else 1.0
        edge_features.append((length, length * likeness))
    nodes = colors if features is None else means(features)
    return nodes, edges, edge_features, [len(own) for own in pixels]


@given(pictures(), st.booleans())
def test_graphs_equal_a_loop_over_pixels(picture, described):
    image, segments, mask = picture
    features = np.arange(segments.size * 2.0).reshape(*segments.shape, 2) if described else None
    nodes, edges, edge_features, sizes = superpixel_graph(
        image, segments, features=features, mask=mask
    )
    expected = looped(image, segments, features, mask)
    np.testing.assert_allclose(nodes, expected[0], rtol=1e-12)
    assert [tuple(edge) for edge in edges.tolist()] == expected[1]
    assert edges.shape == (len(expected[1]), 2)
    assert edge_features.shape == (len(edges), 2)
    np.testing.assert_allclose(
        edge_features, np.reshape(expected[2], (-1, 2)), rtol=1e-9, atol=1e-12
    )
    assert sizes.tolist() == expected[3]


@given(pictures(), st.integers(0, 2**32 - 1), st.sampled_from([-1, 2, None, "words"]))
def test_labels_equal_a_loop_over_pixels(picture, seed, ignored):
    _, segments, mask = picture
    labels = np.random.default_rng([SEED, seed]).integers(-1, 3, segments.shape)
    if ignored == "words":
        labels = np.array(["?", "a", "b", "c"])[labels]
        ignored = "?"
    found = superpixel_labels(segments, labels, mask=mask, ignore_label=ignored)
    pixels, node_of = members(segments, mask)
    for k, own in enumerate(pixels):
        votes = Counter(label for at in own if (label := labels[at].item()) != ignored)
        best = min((-count, label) for label, count in votes.items())[1] if votes else ignored
        assert found[k].item() == best
    painted = pixel_labels(segments, found, mask=mask, fill=found[0])
    for at in np.ndindex(segments.shape):
        assert painted[at] == found[node_of.get(at, 0)]


@given(pictures())
def test_labels_of_pixels_and_segments_round_trip(picture):
    _, segments, mask = picture
    node_labels = np.arange(len(members(segments, mask)[0]))
    painted = pixel_labels(segments, node_labels, mask=mask)
    found = superpixel_labels(segments, painted, mask=mask)
    np.testing.assert_array_equal(found, node_labels)
    values = np.column_stack([node_labels, -node_labels])
    np.testing.assert_array_equal(
        pixel_labels(segments, values, mask=mask, fill=7)[..., 0],
        np.where(painted == -1, 7, painted),
    )


def test_segments_of_one_pixel_are_a_grid(rng):
    x = rng.standard_normal((4, 5, 3))
    nodes, edges, features, sizes = superpixel_graph(x, np.arange(20).reshape(4, 5))
    grid = pack_grids(ExpectedInput("GridCRFSSVM"), [x], "contrast", 4)
    order = np.lexsort(grid.edges.T[::-1])
    np.testing.assert_array_equal(edges, grid.edges[order])
    np.testing.assert_allclose(features, grid.edge_features[order], rtol=1e-12)
    np.testing.assert_array_equal(nodes, grid.nodes.flat)
    assert (sizes == 1).all()


def test_bands_of_rows_are_one_picture(rng, monkeypatch):
    image, segments = rng.random((20, 7)), rng.integers(-1, 9, (20, 7))
    whole = superpixel_graph(image, segments)
    for band in (1, 15):
        monkeypatch.setattr(_superpixels, "BAND", band)
        for part, expected in zip(superpixel_graph(image, segments), whole, strict=True):
            np.testing.assert_array_equal(part, expected, strict=True)


def test_arguments_are_not_changed(rng):
    image, segments = rng.random((3, 4)), rng.integers(0, 3, (3, 4))
    before = image.copy(), segments.copy()
    superpixel_graph(image, segments, features=image, mask=segments > 0)
    for array, copy in zip((image, segments), before):
        np.testing.assert_array_equal(array, copy)


SEGMENTS = np.array([[0, 0, 1], [2, 2, 1]])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"image": np.ones((3, 2))}, r"image has shape \(3, 2\), but segments has shape \(2, 3\)"),
        ({"image": np.ones((2, 3, 1, 1))}, r"image has shape \(2, 3, 1, 1\)"),
        ({"image": np.ones((2, 3, 0))}, r"image has shape \(2, 3, 0\)"),
        ({"image": np.full((2, 3), 1j)}, "image has dtype complex128, expected real numbers"),
        ({"image": [[0, 0, np.nan], [0, 0, 0]]}, "image contains NaN or infinity in a segment"),
        ({"features": np.ones(6)}, r"\(6,\), but .* expected \(2, 3\) or \(2, 3, n\)"),
        ({"features": np.full((2, 3, 2), np.inf)}, "features contains NaN or infinity"),
        ({"segments": SEGMENTS.ravel()}, r"segments has shape \(6,\), expected \(height, width\)"),
        ({"segments": SEGMENTS / 2}, "segments has dtype float64, expected integers"),
        ({"segments": SEGMENTS - 9}, "segments has no pixel in a segment"),
        ({"mask": SEGMENTS}, r"mask has shape \(2, 3\) and dtype int64, expected a bool array"),
        ({"mask": np.ones((3, 2), dtype=bool)}, r"mask has shape \(3, 2\) and dtype bool"),
        ({"mask": SEGMENTS < 0}, "segments has no pixel in a segment"),
    ],
)
def test_invalid_images(change, message):
    arguments = {"image": np.ones((2, 3)), "segments": SEGMENTS, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        superpixel_graph(**arguments)


def test_invalid_pixels_may_be_masked():
    image = [[0.0, 1.0, np.nan], [2.0, 3.0, np.inf]]
    nodes, edges, _, sizes = superpixel_graph(image, SEGMENTS, mask=SEGMENTS != 1)
    assert nodes.ravel().tolist() == [0.5, 2.5]
    assert edges.tolist() == [[0, 1]]
    assert sizes.tolist() == [2, 2]


def test_labels_of_any_type():
    labels = np.empty((1, 4), dtype=object)
    labels[0, :] = ["b", "c", None, -1]
    labels[0, 0] = labels[0, 2] = ("a", 1)
    found = superpixel_labels([[0, 1, 0, 2]], labels)
    assert found.tolist() == [("a", 1), "c", -1]


def test_fill_keeps_its_type_with_string_labels():
    painted = pixel_labels([[0, -1]], ["sky"])
    assert painted.tolist() == [["sky", -1]]
    assert pixel_labels([[0, -1]], ["sky"], fill="none").tolist() == [["sky", "none"]]


def test_invalid_labels():
    with pytest.raises(
        ValueError, match=r"labels has shape \(2, 2\), but segments has shape \(2, 3\)"
    ):
        superpixel_labels(SEGMENTS, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"labels has shape \(2,\), .* shape \(2, 3\)"):
        superpixel_labels(SEGMENTS, [np.zeros(3), np.zeros(2)])
    with pytest.raises(TypeError, match=r"the label of pixel \(1, 0\): .* is not hashable"):
        superpixel_labels(SEGMENTS, [np.zeros(3), np.zeros((3, 1))])
    with pytest.raises(
        ValueError, match=r"shape \(4,\), expected one value for each of 3 segments"
    ):
        pixel_labels(SEGMENTS, np.zeros(4))
    with pytest.raises(ValueError, match="with a mask, pass the same"):
        pixel_labels(SEGMENTS, np.zeros(3), mask=SEGMENTS > 0)
    with pytest.raises(ValueError, match=r"node_labels has shape \(\)"):
        pixel_labels(SEGMENTS, 1)
