"""Test the converters of pgmpy and networkx models against enumeration."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from sstruct.inference import MRF
from tests.reference import mrf as reference


def factor(variables, values, **state_names):
    values = np.array(values, dtype=float)
    return SimpleNamespace(
        variables=variables, cardinality=values.shape, values=values, state_names=state_names
    )


class MarkovNetwork:
    """The part of pgmpy's interface that is used."""

    def __init__(self, nodes, factors):
        self.nodes, self.get_factors = lambda: nodes, lambda: factors


def test_potentials_of_states_in_any_order():
    one = factor(["a", "b"], [[1, 2], [3, 0]], a=["no", "yes"], b=["no", "yes"])
    two = factor(["b", "a"], [[5, 6], [7, 8]], a=["yes", "no"], b=["no", "yes"])
    three = factor(["a"], [0.5, 0.25], a=["yes", "no"])
    model = MRF.from_pgmpy(MarkovNetwork(["b", "a"], [one, two, three]))
    assert model.n_edges == 1
    potentials = [[1 * 6 * 0.25, 3 * 5 * 0.5], [2 * 8 * 0.25, 0]]
    for b, a in product(range(2), repeat=2):
        expected = -np.log(potentials[b][a]) if potentials[b][a] else np.inf
        assert model.energy([b, a]) == pytest.approx(expected)


def test_states_are_permuted():
    one = factor(["a"], [1, 2, 4], a=["x", "y", "z"])
    two = factor(["a"], [3, 5, 7], a=["z", "x", "y"])
    model = MRF.from_pgmpy(MarkovNetwork(["a"], [one, two]))
    np.testing.assert_allclose(np.exp(-model.node_costs), [1 * 5, 2 * 7, 4 * 3])


@pytest.mark.parametrize(
    "factors, message",
    [
        ([factor(["a"], [1, 2])], "the variable 'b' has no factor or CPD"),
        ([factor(["a", "b"], [[1, -1]])], r"factor of \['a', 'b'\] has the entry -1.0"),
        ([factor(["a", "b"], [[1, np.nan]])], r"factor of \['a', 'b'\] has the entry nan"),
        (
            [factor(["a"], [1, 2], a=["x", "y"]), factor(["a", "b"], [[1], [1]], a=["x", "z"])],
            r"the factor of \['a', 'b'\] has the states \['x', 'z'\] of 'a'",
        ),
    ],
)
def test_invalid_factors(factors, message):
    with pytest.raises(ValueError, match=message):
        MRF.from_pgmpy(MarkovNetwork(["a", "b"], factors))


def test_invalid_types():
    with pytest.raises(TypeError, match=r"model must be a discrete .*pgmpy; found dict"):
        MRF.from_pgmpy({})
    with pytest.raises(TypeError, match="graph must be a networkx graph; found list"):
        MRF.from_networkx([])
    continuous = SimpleNamespace(nodes=list, get_cpds=lambda: [0.5])
    with pytest.raises(TypeError, match=r"its CPDs must be tables; found float"):
        MRF.from_pgmpy(continuous)


@pytest.mark.filterwarnings("ignore")
def test_models_of_pgmpy(rng):
    models = pytest.importorskip("pgmpy.models")
    from pgmpy.factors.discrete import TabularCPD

    def cpd(node, size, parents, sizes):
        values = rng.random((size, int(np.prod(sizes))))
        return TabularCPD(node, size, values / values.sum(axis=0), parents or None, sizes or None)

    network = models.DiscreteBayesianNetwork([("a", "c"), ("b", "c"), ("c", "d")])
    network.add_cpds(
        cpd("a", 2, [], []), cpd("b", 3, [], []), cpd("c", 2, ["b", "a"], [3, 2]),
        cpd("d", 2, ["c"], [2]),
    )  # fmt: skip
    nodes = list(network.nodes())
    markov = network.to_markov_model()
    graph = models.FactorGraph()
    graph.add_nodes_from(nodes)
    graph.add_factors(*markov.get_factors())
    for f in markov.get_factors():
        graph.add_node(f)
        graph.add_edges_from([(v, f) for v in f.variables])
    for model in (network, markov, graph):
        found = MRF.from_pgmpy(model)
        order = [node for node in model.nodes() if isinstance(node, str)]
        assert found.n_factors == 1
        for y in product(*map(range, found.n_labels)):
            states = dict(zip(order, map(int, y), strict=True))
            expected = -np.log(network.get_state_probability(states))
            assert found.energy(y) == pytest.approx(expected)


def directed(networkx, plain):
    graph = networkx.MultiDiGraph()
    for v, costs in enumerate(plain.node):
        graph.add_node(f"n{v}", unary=costs)
    for (u, v), table in zip(plain.edges.tolist(), plain.tables, strict=True):
        # Parallel and opposite edges are added up.
        graph.add_edge(f"n{u}", f"n{v}", table=0.25 * table)
        graph.add_edge(f"n{u}", f"n{v}", table=0.25 * table)
        graph.add_edge(f"n{v}", f"n{u}", table=0.5 * table.T)
    return graph


def undirected(networkx, plain):
    graph = networkx.Graph()
    for v, costs in enumerate(plain.node):
        graph.add_node(f"n{v}", unary=costs)
    for (u, v), table in zip(plain.edges.tolist(), plain.tables, strict=True):
        # The rows belong to the first node of the graph.
        graph.add_edge(f"n{u}", f"n{v}", table=table if u < v else table.T)
    return graph


@pytest.mark.parametrize("graph_of", [directed, undirected])
def test_graphs_of_networkx(graph_of, new_rng):
    networkx = pytest.importorskip("networkx")
    for seed in range(10):
        plain = reference.random_model(new_rng(seed), 4, 0.7, "forbidding", 3)
        found = MRF.from_networkx(graph_of(networkx, plain), "unary", "table")
        for y in product(*map(range, found.n_labels)):
            assert found.energy(y) == pytest.approx(reference.energy(plain, y))


def test_rows_are_labels_of_the_first_node_for_edges_in_any_direction():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from("ab", costs=[0, 0])
    graph.__dict__["edges"] = lambda data: [("b", "a", {"costs": [[0, 1], [2, 3]]})]
    assert MRF.from_networkx(graph).energy([0, 1]) == 1


def test_weights_of_a_table_for_all_edges():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from("abc", costs=[0.0, 1.0])
    graph.add_edge("c", "a", strength=2.0)
    graph.add_edge("b", "c", strength=-1.0)
    model = MRF.from_networkx(graph, edge_costs=[[0, 1], [5, 0]], weight="strength")
    assert model.energy([1, 0, 0]) == 1 + 2 * 5
    assert model.energy([0, 1, 0]) == 1 - 5


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda graph: graph.add_node("c"), "the node 'c' has no attribute 'costs'"),
        (lambda graph: graph.nodes["a"].update(costs=[]), "the costs of node 'a' must have shape"),
        (
            lambda graph: graph.nodes["a"].update(costs=[1, np.nan]),
            r"costs of node 'a' at \[1\] is",
        ),
        (lambda graph: graph.add_edge("b", "b"), r"the edge \('b', 'b'\) is a self-loop"),
        (
            lambda graph: graph.edges["a", "b"].update(costs=[[1, 2], [3, 4]]),
            r"the costs of edge \('a', 'b'\) must have shape \(2, 3\), found \(2, 2\)",
        ),
        (
            lambda graph: graph.edges["a", "b"].update(costs=[[1, 2, 3], [3, 4, -np.inf]]),
            r"the costs of edge \('a', 'b'\) at \[1, 2\] is -inf",
        ),
        (lambda graph: graph.edges["a", "b"].clear(), r"the edge \('a', 'b'\) has no .* 'costs'"),
    ],
)
def test_invalid_attributes(change, message):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("a", costs=[0, 1])
    graph.add_node("b", costs=[0, 1, 2])
    graph.add_edge("a", "b", costs=np.zeros((2, 3)))
    assert MRF.from_networkx(graph).n_edges == 1
    change(graph)
    with pytest.raises(ValueError, match=message):
        MRF.from_networkx(graph)
