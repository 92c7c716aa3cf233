"""Test the oracle results of a cluster's worker without a cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._cluster.answers import DENSE, KNOWN, NOTHING, SPARSE, OracleActor, packed, unpacked
from sstruct._cluster.processes import cloudpickle
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom._plane_table import plane_hash
from sstruct._problems.custom.oracle_calls import Constraint, OracleCalls
from tests.estimators.custom.choices import Choice, ConstrainedChoice, make_choices
from tests.problems.test_callable import planes_of

INDEX = st.lists(st.integers(0, 40), unique=True, max_size=5).map(sorted)
PLANE = st.tuples(st.booleans(), INDEX, st.floats(0, 5), st.floats(0, 5))
ANSWER = st.one_of(st.none(), st.integers(0, 2**64 - 1), PLANE)


@given(st.lists(ANSWER, max_size=8))
def test_packing_loses_nothing(drawn):
    answers = []
    for answer in drawn:
        if isinstance(answer, tuple):
            dense, index, *numbers = answer
            index = np.array(index, dtype=np.int32)
            answer = None if dense else index, index + 0.5, *numbers
        answers.append(answer)
    again = unpacked(*packed(answers))
    assert len(again) == len(answers)
    for a, b in zip(again, answers, strict=True):
        assert type(a) is type(b)
        if not isinstance(b, tuple):
            assert a == b
            continue
        assert (a[0] is None) == (b[0] is None)
        np.testing.assert_array_equal(
            a[0] if a[0] is not None else [], [] if b[0] is None else b[0]
        )
        np.testing.assert_array_equal(a[1], b[1])
        assert a[2:] == b[2:]


def answerer(X, y, oracle, n_threads=1):
    """Return the worker side of a cluster with two partitions, without one sample."""
    parts = [(X[:10], y[:10]), (X[10:], y[10:])]
    places = [
        (0, 0, 10, [0, *range(2, 10)], [0, *range(2, 10)]),
        (9, 1, len(X) - 10, list(range(len(X) - 10)), list(range(10, len(X)))),
    ]
    out = OracleActor(cloudpickle.dumps(oracle), parts, places)
    fine, form, _ = out.begin(0, (None, False), n_threads)
    assert fine
    assert out.begin(1, form, n_threads)[:2] == (True, form)
    return out


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_planes_match_local_problem(rng, as_sparse, n_threads):
    X, y = make_choices(rng, n=24, d=5)
    for x in X:
        x[rng.random(x.shape) < 0.5] = 0
    oracle = Choice(as_sparse)
    there = answerer(X, y, oracle, n_threads)
    rows = [i for i in range(24) if i != 1]
    problem = CallableProblem(OracleCalls(oracle, [X[i] for i in rows], [y[i] for i in rows], rows))
    w = rng.standard_normal(5)
    blocks = np.array([22, 3, 8, 9, 0, 15], dtype=np.int32)
    nothing = np.zeros(len(blocks), dtype=np.int32), np.empty(0, dtype=np.uint64)
    # Changes of weights that the worker has not received: it requests all weights.
    at = np.array([0], dtype=np.int32)
    assert there.ask((2, 1, at, w[:1]), 1.0, blocks, nothing, None) == (True, None, None)
    fine, _, found = there.ask((2, 0, None, w), 1.0, blocks, nothing, None)
    assert fine
    answers, hashes = unpacked(*found), []
    for i, (index, value, loss, excess) in zip(blocks.tolist(), answers, strict=True):
        code = problem.best_code(i, w)[0]
        psi, expected = planes_of(problem, i)[int(code[0])]
        dense = np.zeros(5)
        dense[slice(None) if index is None else index] = value
        np.testing.assert_array_equal(dense, psi)
        assert loss == expected
        assert excess == 0
        assert index is None or (value != 0).all()
        hashes.append(plane_hash(loss, index, value))
    # Known planes are not sent again.
    known = np.array([2, 0, 1, 1, 0, 1], dtype=np.int32)
    listed = np.array([7, hashes[0], hashes[2], 8, hashes[5]], dtype=np.uint64)
    _, _, found = there.ask((2, 1, at, w[:1]), 1.0, blocks, (known, listed), None)
    assert [k in (SPARSE, DENSE) for k in found[0]] == [False, True, False, True, True, False]
    again = unpacked(*found)
    assert [again[k] for k in (0, 2, 5)] == [hashes[k] for k in (0, 2, 5)]
    assert found[0][0] == KNOWN


def test_constrained_oracles_may_find_nothing(rng):
    X, y = make_choices(rng, n=24)
    there = answerer(X, y, ConstrainedChoice())
    nothing = np.zeros(1, dtype=np.int32), np.empty(0, dtype=np.uint64)
    blocks = np.array([4], dtype=np.int32)
    weights = (1, 0, None, np.zeros(4))
    # At w = 0, all labelings have h = 1, and none has a loss of 2 or more.
    fine, _, found = there.ask(
        weights, 1.0, blocks, nothing, Constraint(1.0, 2.0, np.inf, True, False)
    )
    assert fine
    assert found[0][0] == NOTHING
    assert unpacked(*found) == [None]
    fine, _, found = there.ask(
        weights, 1.0, blocks, nothing, Constraint(1.0, 0.0, np.inf, True, False)
    )
    assert unpacked(*found)[0][2] > 0


class Failing(Choice):
    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        if len(x) == 6:
            raise KeyError("six")
        return super().argmax(x, w, y_true, loss_weight)


def test_errors_are_returned_with_their_place(rng):
    X, y = make_choices(rng, n=24)
    X = [x[:5] if k not in (12, 20) else rng.standard_normal((6, 4)) for k, x in enumerate(X)]
    y = [min(place, len(x) - 1) for place, x in zip(y, X)]
    there = answerer(X, y, Failing())
    blocks = np.array([4, 9, 19, 11], dtype=np.int32)  # of samples 5, 10, 20 and 12
    nothing = np.zeros(4, dtype=np.int32), np.empty(0, dtype=np.uint64)
    fine, place, error = there.ask((1, 0, None, np.zeros(4)), 1.0, blocks, nothing, None)
    assert (fine, place) == (False, 2)
    assert isinstance(error, KeyError)
    assert "X[20]" in error.__notes__[0]
