"""Test user-defined terms against enumeration, and the errors for invalid terms."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct.inference import MRF, map_mrf
from tests.reference import mrf as reference


class Table:
    """A term given by a table of costs, which is minimized by enumeration."""

    def __init__(self, nodes, table):
        self.nodes, self.table = nodes, table

    def cost(self, labels):
        return self.table[tuple(labels)]

    def minimize(self, costs):
        total = self.table.copy()
        for axis, row in enumerate(costs):
            row = row[: self.table.shape[axis]]
            total += row.reshape([-1 if k == axis else 1 for k in range(total.ndim)])
        return np.unravel_index(total.argmin(), total.shape)


@settings(max_examples=100)
@given(
    n_nodes=st.integers(1, 5),
    density=st.sampled_from([0.0, 0.5, 1.0]),
    n_terms=st.integers(1, 3),
    n_factors=st.integers(0, 1),
    forbidding=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_enumeration(n_nodes, density, n_terms, n_factors, forbidding, seed, new_rng):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, max_labels=3, n_factors=n_factors)
    terms = []
    for _ in range(n_terms):
        nodes = rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)]
        table = rng.normal(size=[len(plain.node[v]) for v in nodes])
        if forbidding:
            table[rng.random(table.shape) < 0.3] = np.inf
            table.flat[0] = 0
        terms.append(Table(nodes, table))

    def energy(y):
        own = sum(float(term.table[tuple(y[v] for v in term.nodes)]) for term in terms)
        return reference.energy(plain, y) + own

    least = min(energy(y) for y in product(*(range(len(costs)) for costs in plain.node)))
    result = map_mrf(MRF(*plain.arguments()), terms=terms, max_iter=200)
    assert result.method == "fwmap"
    assert result.lower_bound <= least + 1e-9
    assert result.energy >= least - 1e-9
    assert result.energy == pytest.approx(energy(result.labels), abs=1e-9)
    if n_terms == 1 and density == 0 and n_factors == 0:
        # The bound is tight for a single block.
        assert result.energy == pytest.approx(least, abs=1e-9)
        assert result.status == "PROVEN"


def test_terms_that_contradict_each_other():
    costs = np.array([0.0, np.inf])
    terms = [Table([0], costs), Table([0], costs[::-1].copy())]
    result = map_mrf(chain(), terms=terms, max_iter=30)
    # The bounds grow without limit, but the costs of user-defined terms are not known to be
    # bounded, so this proves nothing.
    assert result.status in ("MAX_ITER", "STALLED")
    assert result.energy == result.gap == np.inf
    assert 3 < result.lower_bound < np.inf


def chain():
    return MRF([[0.0, 1.0], [0.5, 0.0], [1.0, 0.0, 2.0]], [[0, 1], [1, 2]],
               [np.ones((2, 2)), np.ones((2, 3))])  # fmt: skip


class Any:
    """A term without costs, whose methods and nodes can be replaced."""

    def __init__(self, **methods):
        self.nodes = methods.pop("nodes", [0, 2])
        self.__dict__.update(methods)

    def cost(self, labels):
        return 0.0

    def minimize(self, costs):
        return costs.argmin(axis=1)


class Falling:
    """A term whose cost decreases with every call."""

    nodes = (0,)

    def __init__(self):
        self.n = 0

    def cost(self, labels):
        self.n += 1
        return -float(self.n)

    def minimize(self, costs):
        return [0]


class Maximum(Any):
    """A term that does not return its best labels."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def minimize(self, costs):
        self.n += 1
        finite = np.where(np.isfinite(costs), costs, -np.inf)
        return costs.argmin(axis=1) if self.n == 1 else finite.argmax(axis=1)


def raises(_):
    raise RuntimeError("from inside")


def overwrites(costs):
    labels = costs.argmin(axis=1)
    costs[:] = -1e9
    return labels


@pytest.mark.parametrize(
    "term, error, message",
    [
        (object(), TypeError, r"terms\[0\] has no nodes: expected an object with nodes, minim"),
        (Any(minimize=3), TypeError, r"terms\[0\] has no method minimize"),
        (Any(nodes=[]), ValueError, r"terms\[0\].nodes must be a nonempty list of nodes"),
        (Any(nodes=[0.0]), ValueError, r"terms\[0\].nodes must be a nonempty list"),
        (Any(nodes=[1, 3]), ValueError, r"terms\[0\].nodes has node 3, expected 0 to 2"),
        (Any(nodes=[-1]), ValueError, r"terms\[0\].nodes has node -1"),
        (Any(nodes=[1, 1]), ValueError, r"terms\[0\].nodes has node 1 twice"),
        (Any(minimize=lambda c: None), ValueError, r"terms\[0\]: minimize returned dtype object"),
        (Any(minimize=lambda c: [0]), ValueError, r"shape \(1,\), expected integer labels of"),
        (Any(minimize=lambda c: [[0], [0, 1]]), TypeError, "expected a vector of labels"),
        (Any(minimize=lambda c: [0.0, 1.0]), ValueError, "returned dtype float64 and shape"),
        (Any(minimize=lambda c: [2, 0]), ValueError, "label 2 at position 0, expected 0 to 1"),
        (Any(minimize=lambda c: [0, -1]), ValueError, "label -1 at position 1, expected 0 to 2"),
        (Any(cost=lambda y: "free"), TypeError, "cost returned str, expected a real number"),
        (Any(cost=lambda y: None), TypeError, "cost returned NoneType"),
        (Any(cost=lambda y: np.nan), ValueError, "cost returned nan, expected a finite number"),
        (Any(cost=lambda y: -np.inf), ValueError, "cost returned -inf, expected a finite number"),
        (Any(cost=lambda y: np.inf), ValueError, r"labels that its cost forbids, \[0, 1\]"),
        (Falling(), ValueError, "cost returned -.* for labels that cost -.* before"),
        (Maximum(), ValueError, "an earlier result, has .*: it must find a minimum"),
        (Any(minimize=raises), RuntimeError, "from inside"),
        (Any(cost=raises), RuntimeError, "from inside"),
    ],
)
def test_invalid_terms(term, error, message):
    with pytest.raises(error, match=message) as caught:
        map_mrf(chain(), terms=[term])
    if error is RuntimeError:
        assert any("of terms[0]" in note for note in caught.value.__notes__)


def test_minimize_may_overwrite_the_costs():
    expected, result = (
        map_mrf(chain(), terms=[Any(**methods)]) for methods in ({}, {"minimize": overwrites})
    )
    assert result.lower_bound == expected.lower_bound


def test_forbidden_labels():
    model = MRF([[0.0, np.inf], [0.0, 1.0]], [], [])
    seen = []
    term = Any(nodes=[1, 0], minimize=lambda c: (seen.append(c), c.argmin(axis=1))[1])
    result = map_mrf(model, terms=[term])
    assert result.energy == result.lower_bound == 0
    assert seen[0][1, 1] == np.inf
    with pytest.raises(ValueError, match="label 1 at position 1, which is forbidden there"):
        map_mrf(model, terms=[Any(nodes=[1, 0], minimize=lambda c: [0, 1])])


def test_terms_may_be_a_generator():
    terms = [Any(nodes=[0, 1]), Any(nodes=[2])]
    given, listed = map_mrf(chain(), terms=iter(terms)), map_mrf(chain(), terms=terms)
    assert given.lower_bound == listed.lower_bound
    assert given.method == "fwmap"


def test_other_methods_do_not_accept_terms():
    with pytest.raises(ValueError, match="method='trws' does not support terms"):
        map_mrf(chain(), "trws", terms=[Any()])
    assert map_mrf(chain(), "trws", terms=[]).method == "trws"
