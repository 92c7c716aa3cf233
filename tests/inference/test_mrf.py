"""Test energies, packing and invalid input of MRF."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct.inference import MRF, map_mrf
from sstruct.inference._model.table_forms import LINEAR, POTTS, QUADRATIC, TABLE
from tests.reference import mrf as reference


@given(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.5, 1.0]),
    kind=st.sampled_from(["real", "integer", "forbidding"]),
    n_factors=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)
def test_energies_equal_the_definition(n_nodes, density, kind, n_factors, seed, new_rng):
    rng = new_rng(seed)
    given_model = reference.random_model(rng, n_nodes, density, kind, n_factors=n_factors)
    model = MRF(*given_model.arguments())
    for _ in range(5):
        y = [int(rng.integers(len(costs))) for costs in given_model.node]
        assert model.energy(y) == pytest.approx(reference.energy(given_model, y), abs=1e-12)
    for e, table in enumerate(given_model.tables):
        np.testing.assert_array_equal(model.edge_cost(e), table)
    for v, costs in enumerate(given_model.node):
        np.testing.assert_array_equal(model.node_cost(v), costs)
    for f, (scope, table) in enumerate(given_model.factors):
        assert model.factor(f)[0].tolist() == scope
        np.testing.assert_array_equal(model.factor(f)[1], table)


@pytest.mark.parametrize("form", ["potts", "linear", "quadratic"])
def test_equivalent_tables_give_the_same_model(form, rng):
    node, table, steepness = None, np.zeros((5, 5)), ["potts", "linear", "quadratic"].index(form)
    while table[0, 2] <= steepness * table[0, 1]:  # truncated to another form
        plain = reference.random_model(rng, 7, 0.6, max_labels=5, form=form)
        node, table = np.array(plain.node), plain.tables[0]
    n_edges = len(plain.edges)
    ways = [
        MRF(node, plain.edges, table, plain.weights),
        MRF(list(node), plain.edges, table.tolist(), plain.weights),
        MRF(node, plain.edges, [table] * n_edges, plain.weights),
        MRF(node, plain.edges, plain.weights[:, None, None] * np.stack([table] * n_edges)),
    ]
    assert [len(model.table_start) - 1 for model in ways] == [1, 1, 1, n_edges]
    for _ in range(5):
        y = rng.integers(0, 5, 7)
        assert [model.energy(y) for model in ways] == pytest.approx(
            [reference.energy(plain, y)] * 4, abs=1e-12
        )
    code = {"potts": POTTS, "linear": LINEAR, "quadratic": QUADRATIC}[form]
    assert ways[0].table_form.tolist() == [code]


def test_forms_of_tables_are_detected():
    line = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float)
    forbidding = np.where(line == 0, 0.0, np.inf)
    nearly = np.minimum(line, 2)
    nearly[3, 0] += 1e-9
    tables = {
        "potts": (0.5 + 2.0 * (line > 0), POTTS, (0.5, 2.5)),
        "equal": (np.full((4, 4), 2.0), POTTS, (2.0, 2.0)),
        "must agree": (forbidding, POTTS, (0.0, np.inf)),
        "repelling": (-1.0 * (line > 0), TABLE, (0.0, 0.0)),
        "linear": (0.5 * line, LINEAR, (0.5, 1.5)),
        "truncated": (np.minimum(0.3 * line, 0.6), LINEAR, (0.3, 0.6)),
        "quadratic": (2.0 * line**2, QUADRATIC, (2.0, 18.0)),
        "nearly": (nearly, TABLE, (0.0, 0.0)),
        "negative": (-line, TABLE, (0.0, 0.0)),
        "few allowed": (np.where(line > 1, np.inf, line), TABLE, (0.0, 0.0)),
    }
    for name, (table, form, parameters) in tables.items():
        model = MRF(np.zeros((2, 4)), [[0, 1]], table)
        assert model.table_form.tolist() == [form], name
        assert tuple(model.table_parameters[0]) == parameters, name


def test_shared_factor_tables_are_stored_once():
    table = np.arange(8.0).reshape(2, 2, 2)
    model = MRF(np.zeros((5, 2)), [], [], factors=[([0, 1, 2], table), ([4, 2, 3], table)])
    assert len(model.factor_tables) == 8
    assert model.energy([1, 0, 1, 0, 1]) == table[1, 0, 1] + table[1, 1, 0]


def test_arrays_are_read_only_and_apart_from_the_input():
    node = np.zeros((2, 2))
    edges, table, weights = np.array([[0, 1]], dtype=np.int32), np.eye(2), np.array([2.0])
    model = MRF(node, edges, table, weights)
    node[:], edges[:], table[:], weights[:] = 7, 7, 7, 7
    assert model.energy([0, 0]) == 2
    with pytest.raises(ValueError, match="read-only"):
        model.node_costs[0] = 1
    for other in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert other.energy([1, 1]) == 2
        assert not any(array.flags.writeable for array in vars(other).values())
    assert repr(model) == "MRF(n_nodes=2, n_edges=1)"


INF, NAN = np.inf, np.nan
NODES = [[0.0, 1.0], [0.0, 1.0, 2.0], [0.0]]
T23, T21 = np.zeros((2, 3)), np.zeros((2, 1))
CUBE = np.zeros((2, 3, 1))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], [], []), "node_costs is empty"),
        ((3.0, [], []), "node_costs must be an array or a list"),
        ((np.zeros(3), [], []), r"node_costs must .* found \(3,\)"),
        (([[0.0], []], [], []), r"node_costs\[1\] must be 1-D with at least one label"),
        (([[0.0], [1.0, NAN]], [], []), r"node_costs\[1\]\[1\] is nan"),
        ((np.array([[0.0, -INF]]), [], []), r"node_costs\[0\]\[1\] is -inf"),
        (([["a"]], [], []), r"node_costs\[0\] must be an array of numbers"),
        ((NODES, [[0, 3]], [T23]), r"edges\[0\] = \(0, 3\) is out of range"),
        ((NODES, [[0, 1], [1, 0]], [T23, T23.T]), r"edges\[1\] = \(1, 0\) joins the same nodes"),
        ((NODES, [[0, 1]], [T21]), r"edge_costs\[0\] must have shape \(2, 3\).*\(2, 1\)"),
        ((NODES, [[0, 1], [0, 2]], T23), r"edge_costs has shape \(2, 3\), but edges\[1\]"),
        ((NODES, [[0, 1], [0, 2]], np.zeros((2, 2, 3))), r"edge_costs\[1\] has shape \(2, 3\)"),
        ((NODES, [[0, 1]], [T23, T23]), "edge_costs has 2 tables, expected 1, one for each"),
        ((NODES, [], [T23]), "edge_costs has 1 tables"),
        ((NODES, [[0, 1]], None), "edge_costs must be an array or a list; found None"),
        (
            (np.zeros((31, 2)), [], [], None, [(range(31), CUBE)]),
            r"factors\[0\] has 2147483648 entries, expected fewer than 2147483648",
        ),
        ((NODES, [[0, 1]], [[[0.0], [1.0, 2.0]]]), r"edge_costs\[0\] must be an array of numbers"),
        ((NODES, [[0, 1]], np.zeros((1, 2, 3, 1))), r"edge_costs must .* found \(1, 2, 3, 1\)"),
        ((NODES, [[0, 1]], [T23 + [0, 0, NAN]]), r"edge_costs\[0\]\[0, 2\] is nan"),
        ((NODES, [[0, 1]], T23 - [0, INF, 0]), r"edge_costs\[0, 1\] is -inf"),
        ((NODES, [[0, 1]], T23[None] - [0, INF, 0]), r"edge_costs\[0, 0, 1\] is -inf"),
        ((NODES, [[0, 1]], [T23], [1.0, 2.0]), r"weights must have shape \(1,\)"),
        ((NODES, [[0, 1]], [T23], [INF]), r"weights\[0\] is inf, expected finite"),
        ((NODES, [[0, 1]], [T23 + INF], [0.0]), r"weights\[0\] is 0.0, expected a positive weight"),
        ((NODES, [], [], None, [3]), r"factors\[0\] must be a pair"),
        ((NODES, [], [], None, [([0, 1], T23)]), r"factors\[0\] must have a scope of 3 to 31"),
        ((NODES, [], [], None, [([0, 1, 3], CUBE)]), r"factors\[0\] .* but there are 3 nodes"),
        ((NODES, [], [], None, [([0, 1, 0], CUBE)]), r"factors\[0\] .* which repeats a node"),
        ((NODES, [], [], None, [([0, 2, 1], CUBE)]), r"factors\[0\]\[1\] must have .*\(2, 1, 3\)"),
        ((NODES, [], [], None, [([0, 1, 2], CUBE + NAN)]), r"factors\[0\]\[1\]\[0, 0, 0\] is nan"),
    ],
)  # fmt: skip
def test_invalid_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        MRF(*arguments)


@pytest.mark.parametrize(
    "labels, message",
    [
        ([0, 0], r"labels must be integers of shape \(3,\)"),
        ([0.0, 0.0, 0.0], "labels must be integers"),
        ([0, 3, 0], r"labels\[1\] = 3 is out of range for the 3 labels of node 1"),
        ([-1, 0, 0], r"labels\[0\] = -1 is out of range"),
    ],
)
def test_invalid_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        MRF(NODES, [], []).energy(labels)


def test_too_large_costs():
    with pytest.raises(ValueError, match=r"1e\+200, expected at most 1e\+100 in absolute"):
        MRF([[0.0, 1e200]], np.empty((0, 2), dtype=int), [])
    with pytest.raises(ValueError, match=r"weights\[0\] is 1e\+200, expected finite and at most"):
        MRF([[0.0, 1.0]] * 2, [[0, 1]], [[[0.0, 1.0], [1.0, 0.0]]], weights=[1e200])


def _stored():
    table = np.arange(8.0).reshape(2, 2, 2)
    potts = 1 - np.eye(3)
    nodes = [[0.0, 1.0], [0.0, 1.0], [2.0, 1.0], [0.0] * 3, [1.0] * 3]
    edges = [[0, 1], [3, 4], [0, 3]]
    tables = [np.eye(2), potts, np.ones((2, 3))]
    return MRF(nodes, edges, tables, factors=[([0, 1, 2], table)])


def _with(at, value):
    def change(array):
        out = array.copy()
        out.flat[at] = value
        return out

    return change


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("node_start", _with(1, 9), "node_start must increase strictly from 0 to 12"),
        ("node_start", _with(0, 1), "node_start must increase strictly"),
        ("node_start", lambda a: a[:1], "node_start has 1 entries"),
        ("node_costs", _with(0, NAN), r"node_costs\[0\] is nan"),
        ("node_costs", lambda a: a.astype(np.float32), "node_costs is of dtype float32"),
        ("node_costs", lambda a: np.repeat(a, 2)[::2], "node_costs is .* a contiguous float64"),
        ("edges", _with(1, 2**30), r"edges\[0\] = \(0, 1073741824\) is out of range"),
        ("edges", _with(0, -1), r"edges\[0\] .* out of range"),
        ("edges", lambda a: a[:, :1].copy(), r"edges has shape \(3, 1\)"),
        ("weights", _with(0, INF), r"weights\[0\] is inf"),
        ("edge_table", _with(0, 2**30), "edge_table is out of range: there are 3"),
        ("edge_table", _with(0, -1), "edge_table is out of range"),
        ("edge_table", _with(0, 1), r"edge_table\[0\] is a table of a different shape"),
        ("edge_table", lambda a: a[:1], "edge_table has 1 entries, expected 3"),
        ("table_start", _with(1, 2), "table_start does not match"),
        ("table_start", _with(1, 2**62), "table_start must increase strictly"),
        ("tables", _with(0, -INF), r"tables\[0\] is -inf"),
        ("tables", lambda a: a[:-1], "table_start must increase strictly from 0 to 18"),
        ("factor_start", _with(1, 2), "factor_start must increase strictly"),
        (
            "factor_start",
            lambda a: np.array([0, 1, 3]),
            "factor_start has a factor that does not have 3 to 31 nodes",
        ),
        ("factor_nodes", _with(0, 99), "factor_nodes is out of range"),
        ("factor_nodes", _with(0, 1), "factor_nodes has a factor that contains a node twice"),
        ("factor_nodes", _with(0, 3), "factor_table has a table of the wrong size"),
        ("factor_table", _with(0, 5), "factor_table is out of range"),
        ("factor_table_start", _with(1, 7), "factor_table_start must increase strictly"),
        ("factor_tables", _with(0, 1e300), r"factor_tables\[0\] is 1e\+300"),
        ("edges", lambda a: None, "edges is a NoneType"),
        ("edges", lambda a: np.ma.array(a), "edges is a MaskedArray"),
    ],
)
def test_arrays_of_files_are_validated(name, change, message):
    state = _stored().__getstate__()
    with pytest.raises(ValueError, match=f"invalid state of MRF, .*: {message}"):
        MRF.__new__(MRF).__setstate__(state | {name: change(state[name])})


def test_invalid_model_states():
    state = _stored().__getstate__()
    for wrong, message in (
        (3, "state is a int"),
        (state | {"energy": 3}, "unknown entry 'energy'"),
    ):
        with pytest.raises(ValueError, match=message):
            MRF.__new__(MRF).__setstate__(wrong)
    bare = MRF.__new__(MRF)
    for use in (repr, map_mrf, lambda model: model.energy([0])):
        with pytest.raises(ValueError, match="this MRF has no node_start: its file is damaged"):
            use(bare)
    assert not hasattr(_stored(), "anything")
    again = MRF.__new__(MRF)
    again.__setstate__(state)
    assert map_mrf(again).energy == map_mrf(_stored()).energy
