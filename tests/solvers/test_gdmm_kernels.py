"""What GDMM's factors are made of: ordered structures, and the quadratic program of a factor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._solvers._gdmm_ordered import OrderedKeys
from sstruct._solvers._gdmm_simplex import minimum

KEYS = st.integers(-4, 4).map(float) | st.floats(-5, 5)


@st.composite
def heaps(draw):
    """A heap over some entries, and a sequence of changes of their keys."""
    stride = draw(st.integers(1, 3))
    items = draw(st.lists(st.integers(0, 30), min_size=1, max_size=20, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    key = rng.uniform(-4, 4, 31 * stride)
    if draw(st.booleans()):  # ties
        key = key.round()
    changes = draw(st.lists(st.tuples(st.sampled_from(items), KEYS), max_size=15))
    return key, items, stride, changes


@given(heaps())
def test_changes_keep_the_order(case):
    key, items, stride, changes = case
    heap = OrderedKeys(key, items, stride)
    for change in [None, *changes]:
        if change is not None:
            heap.change(*change)
            assert key[change[0] * stride] == change[1]
        order, place = heap.order()
        assert sorted(order) == sorted(items)
        assert (place[order] == np.arange(len(items))).all()
        values = key[order * stride]
        at = np.arange(1, len(items))
        assert (values[(at - 1) // 2] >= values[at]).all()


@given(heaps(), st.data())
def test_a_walk_finds_the_best_item_that_is_not_skipped(case, data):
    key, items, stride, changes = case
    heap = OrderedKeys(key, items, stride)
    for change in changes:
        heap.change(*change)
    addend = np.zeros(31)
    addend[items] = data.draw(st.lists(KEYS, min_size=len(items), max_size=len(items)))
    addend = -np.abs(addend)
    skip = np.zeros(31, dtype=np.uint8)
    skip[data.draw(st.lists(st.sampled_from(items)))] = 1
    allowed = [item for item in items if not skip[item]]
    found, n_visited = heap.best(addend, skip)
    assert n_visited <= len(items)
    if not allowed:
        assert found == -1
        return
    assert found in allowed
    values = key[np.array(allowed) * stride] + addend[allowed]
    assert key[found * stride] + addend[found] == values.max()


def test_a_walk_visits_few_items_where_the_bound_prunes():
    key = np.arange(4000.0)
    heap = OrderedKeys(key, np.arange(4000))
    skip = np.zeros(4000, dtype=np.uint8)
    skip[-3:] = 1
    found, n_visited = heap.best(np.zeros(4000), skip)
    assert found == 3996
    assert n_visited < 20


def test_items_of_another_heap_are_refused():
    heap = OrderedKeys(np.zeros(4), [1, 2])
    with pytest.raises(IndexError, match="3 is not an item"):
        heap.change(3, 1.0)
    with pytest.raises(ValueError, match="entries of key"):
        OrderedKeys(np.zeros(4), [4])


def projected(c, Q, C):
    """The same program by bisection for its multiplier."""
    u = np.zeros(len(c))
    u[0] = C
    low, high = (c - Q * C).min() - Q * C, (c + Q * u).max()
    for _ in range(200):
        b = (low + high) / 2
        if np.minimum(u, (b - c) / Q).sum() < 0:
            low = b
        else:
            high = b
    return np.minimum(u, (high - c) / Q), high


@given(
    st.lists(st.integers(-3, 3).map(float) | st.floats(-5, 5), min_size=1, max_size=12),
    st.floats(0.01, 50),
    st.floats(0.01, 20),
)
def test_the_program_of_a_factor(c, Q, C):
    c = np.array(c)
    a, b = minimum(c, Q, C)
    expected, multiplier = projected(c, Q, C)
    scale = np.abs(c).max() / Q + C
    np.testing.assert_allclose(a, expected, atol=1e-10 * scale)
    assert abs(a.sum()) <= 1e-12 * C
    assert (a[1:] <= 0).all()
    assert 0 <= a[0] <= C * (1 + 1e-12)
    # Between the entries at their bounds and the others, any multiplier is one; ours is at a kink
    # of none of them, or the only one.
    gradient = c + Q * a
    tolerance = 1e-10 * Q * scale
    assert abs(b - multiplier) <= tolerance
    below = a < np.r_[C, np.zeros(len(c) - 1)] - 1e-9 * C
    assert (np.abs(gradient[below] - b) <= tolerance).all()
    assert (gradient <= b + tolerance).all()


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=6))
def test_without_curvature_everything_goes_to_the_largest(c):
    a, b = minimum(np.array(c), 0.0, 2.0)
    assert b == max(c)
    expected = np.zeros(len(c))
    if np.argmax(c) > 0:
        expected[[0, np.argmax(c)]] = 2, -2
    np.testing.assert_array_equal(a, expected)


def test_the_program_next_to_its_rounding():
    # Q C is lost beside c: still on the simplex.
    a, _ = minimum(np.array([1e8, 1e8 + 1e-7, -1e8]), 1e-12, 1e-3)
    assert a[0] == -a[1:].sum()
    assert 0 <= a[0] <= 1e-3 * (1 + 1e-12)
