"""Test positions, public order and bounds of weight vectors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._problems.chain.chain_arguments import chain_layout
from sstruct._problems.core.weight_layout import (
    WeightBlock,
    WeightLayout,
    label_layout,
    vector_layout,
)
from sstruct._problems.graph.graph_arguments import PAIRWISE, graph_layout
from sstruct._problems.graph.typed_model import TypedModel
from sstruct._problems.label_set.label_set_arguments import label_set_layout
from sstruct._problems.tree.tree_arguments import TreeModel

FLAG, SIZE, K = st.booleans(), st.integers(1, 4), st.integers(1, 18)


@st.composite
def blocks(draw):
    """Return a table whose rows are padded, some of them transposed."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    steps, step = [], 1
    order = draw(st.permutations(range(len(shape))))
    for axis in order:  # from the smallest stride
        steps.append((axis, step))
        step *= shape[axis] + draw(st.integers(0, 2))
    strides = tuple(step for _, step in sorted(steps))
    # The extent may end with the last entry.
    last = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if math.prod(shape) else 0
    extent = draw(st.integers(last, last + 3))
    return WeightBlock((None,) * len(shape), tuple(shape), strides, extent)


MISSING = st.sampled_from([None, (), (2,), (0, 3)])
MADE = st.builds(
    lambda table, more: WeightLayout(dict(enumerate([*more, table]))),
    blocks(), st.lists(blocks() | MISSING, max_size=4),
)  # fmt: skip
PAIRS = st.sets(st.tuples(st.integers(0, 1), st.integers(0, 1))).map(sorted)
LAYOUTS = st.one_of(
    MADE,
    st.builds(vector_layout, SIZE),
    st.builds(label_layout, K, SIZE, FLAG),
    st.builds(chain_layout, K, SIZE, FLAG, FLAG, FLAG, st.integers(0, 2)),
    st.builds(graph_layout, st.sampled_from(PAIRWISE), K, SIZE, FLAG, SIZE),
    st.builds(label_set_layout, K, SIZE, FLAG, st.integers(0, 3), FLAG),
    st.builds(TreeModel, SIZE, SIZE, SIZE, FLAG, FLAG).map(lambda model: model.layout),
    st.builds(
        lambda F, own, pairs, bias: TypedModel(
            F, own, tuple((t, u, t + 2 * u + 1) for t, u in pairs), bias
        ).layout,
        st.tuples(SIZE, SIZE), st.tuples(K, K), PAIRS, FLAG,
    ),
)  # fmt: skip


@given(LAYOUTS)
def test_places_are_disjoint_and_ranges_complete(layout):
    places = layout.views(np.arange(layout.size, dtype=np.float64))
    assert list(places) == list(layout.blocks)
    end = 0
    for name, start in layout.starts.items():
        assert start == end
        if name not in layout.blocks:
            continue
        block, own = layout.blocks[name], places[name]
        end += block.extent
        assert own.shape == block.shape
        assert len(block.axes) == len(block.shape)
        assert len(block.first) in (0, len(block.shape))
        for index in np.ndindex(own.shape):
            assert own[index] == start + np.dot(index, block.strides)
        assert np.unique(own).size == own.size
        assert ((own >= start) & (own < end)).all()
    assert layout.size == end
    assert layout.public_size == sum(own.size for own in places.values())


@given(LAYOUTS)
def test_public_and_padded_vectors(layout):
    public = 1.0 + np.arange(layout.public_size)
    padded = layout.padded(public)
    assert padded.shape == (layout.size,)
    assert np.count_nonzero(padded) == layout.public_size  # the padding is zero
    np.testing.assert_array_equal(layout.public(padded), public)
    # Filling does not change the padding.
    w = np.full(layout.size, -1.0)
    layout.fill(w, public)
    np.testing.assert_array_equal(w, np.where(padded == 0, -1.0, padded))
    for wrong in (np.zeros(len(public) + 1), np.zeros((1, len(public)))):
        with pytest.raises(ValueError, match="w has shape"):
            layout.padded(wrong)


@given(LAYOUTS)
def test_tables_that_do_not_exist_are_zero(layout):
    w = np.ones(layout.size)
    for name in layout.starts:
        table = layout.table(w, name)
        if name in layout.blocks:
            table[...] = 2.0
            assert table.shape == layout.blocks[name].shape
        elif table is not None:
            assert not table.any()
    assert np.count_nonzero(w == 2) == layout.public_size


@given(LAYOUTS)
def test_bounds(layout):
    lower = np.arange(layout.public_size, dtype=np.float64)
    bounds = layout.padded_bounds(np.array([lower, lower + 1]))
    np.testing.assert_array_equal(layout.public(bounds[0]), lower)
    np.testing.assert_array_equal(layout.public(bounds[1]), lower + 1)
    padding = np.ones(layout.size)
    layout.fill(padding, np.zeros(layout.public_size))
    assert (bounds[0, padding == 1] == -np.inf).all()
    assert (bounds[1, padding == 1] == np.inf).all()
    assert (layout.unbounded()[0] == -np.inf).all()
    with pytest.raises(ValueError, match="bounds has shape"):
        layout.padded_bounds(np.zeros((2, layout.public_size + 1)))


@pytest.mark.parametrize(
    "lower, upper, message",
    [
        (1.0, 0.0, "bounds of weight 1 are 1 and 0, expected lower <= upper"),
        (np.nan, 0.0, "bounds of weight 1 are nan and 0"),
        (np.inf, np.inf, "bounds of weight 1 are inf and inf"),
        (1e300, np.inf, r"bounds of weight 1 are 1e\+300 and inf, expected a value of"),
    ],
)
def test_bounds_that_exclude_every_weight(lower, upper, message):
    with pytest.raises(ValueError, match=message):
        vector_layout(2).padded_bounds([[0.0, lower], [0.0, upper]])


def test_vector_with_wrong_size_or_dtype():
    layout = label_layout(3, 2, True)
    w = np.zeros(layout.size)
    message = rf"weights of .*, expected \({layout.size},\) and float64"
    for wrong in (w[:-1], np.r_[w, 0.0], w[np.newaxis], w.astype(np.int64), w.astype(">f8")):
        for use in (layout.views, layout.public, lambda w: layout.table(w, "coef")):
            with pytest.raises(ValueError, match=message):
                use(wrong)
    with pytest.raises(ValueError, match="contiguous"):
        layout.views(np.repeat(w, 2)[::2])
    # Read-only vectors have read-only views.
    w.flags.writeable = False
    assert not layout.table(w, "coef").flags.writeable


def test_table_beyond_end_of_vector():
    layout = WeightLayout({"w": WeightBlock(("feature",), (3,), (2,), extent=4)})
    with pytest.raises(ValueError, match="incompatible"):
        layout.views(np.zeros(4))


def test_the_order_of_a_chain():
    layout = chain_layout(2, 3, bias=True, boundaries=True, transitions=True, n_edge_features=0)
    w = layout.padded(np.arange(16.0))
    assert layout.table(w, "coef").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layout.table(w, "intercept").tolist() == [6, 7]
    assert layout.table(w, "start").tolist() == [8, 9]
    assert layout.table(w, "end").tolist() == [10, 11]
    assert layout.table(w, "edge").tolist() == [[12, 13], [14, 15]]
    assert layout.table(w, "edge_feature").shape == (0, 2, 2)
    assert layout.blocks["edge"].axes == ("label", "next_label")
