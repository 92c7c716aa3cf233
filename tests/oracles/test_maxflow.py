"""Test maximum flow against SciPy and a linear program, and the cut that it returns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from sstruct._oracles.cut._maxflow import MaxFlow
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._testing._oracle_access import solve_flow, solve_flow_again
from sstruct.inference import maxflow


def dense(n, edges, capacities):
    """Return the capacities as a matrix, tails by heads."""
    out = np.zeros((n, n), dtype=capacities.dtype)
    np.add.at(out, (edges[:, 0], edges[:, 1]), capacities[:, 0])
    np.add.at(out, (edges[:, 1], edges[:, 0]), capacities[:, 1])
    return out


def cut_value(matrix, side):
    return matrix[np.ix_(side == 0, side == 1)].sum()


def random_graph(rng, n, n_edges, high):
    """Return edges, possibly with duplicates, and integer capacities, many of them 0."""
    edges = rng.integers(0, n, (n_edges, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return edges, rng.integers(0, high + 1, edges.shape)


def with_terminals(n, edges, capacities, terminal):
    """Return the graph with the source n and the sink n + 1 as nodes."""
    node = np.arange(n)
    arcs = np.concatenate(
        [edges, np.stack([np.full(n, n), node], 1), np.stack([node, np.full(n, n + 1)], 1)]
    )
    zero = np.zeros(n, dtype=terminal.dtype)
    ends = [np.maximum(terminal, 0), np.maximum(-terminal, 0)]
    return arcs, np.concatenate([capacities, *(np.stack([end, zero], 1) for end in ends)])


def smallest_sink_side(matrix, source, sink):
    """Return 1 for nodes from which the sink can be reached in SciPy's residual graph, else 0."""
    flow = maximum_flow(csr_matrix(matrix.astype(np.int32)), source, sink).flow.toarray()
    residual = csr_matrix((matrix - flow > 0).T.astype(np.int8))
    side = np.zeros(len(matrix), dtype=np.int32)
    side[breadth_first_order(residual, sink, return_predecessors=False)] = 1
    return side


@given(
    n=st.integers(2, 14),
    n_edges=st.integers(0, 50),
    high=st.sampled_from([1, 3, 1000]),
    seed=st.integers(0, 10**6),
)
def test_integer_flow_equals_scipy(n, n_edges, high, seed, new_rng):
    edges, capacities = random_graph(new_rng(seed), n, n_edges, high)
    flow, side = maxflow(n, edges, capacities, 0, n - 1)
    matrix = dense(n, edges, capacities)
    assert flow == maximum_flow(csr_matrix(matrix.astype(np.int32)), 0, n - 1).flow_value
    assert side.dtype == np.int32
    assert flow == cut_value(matrix, side)
    np.testing.assert_array_equal(side, smallest_sink_side(matrix, 0, n - 1))


@pytest.mark.parametrize("n", [3, 6, 10])
def test_real_flow_equals_a_linear_program(rng, n):
    for _ in range(5):
        edges, capacities = random_graph(rng, n, 4 * n, 1)
        capacities = capacities * rng.random(edges.shape)
        flow, side = maxflow(n, edges, capacities, 0, n - 1)
        tails, heads = edges.ravel(), edges[:, ::-1].ravel()  # arcs u -> v and v -> u by turns
        balance = np.zeros((n, len(tails)))
        np.add.at(balance, (tails, np.arange(len(tails))), 1)
        np.add.at(balance, (heads, np.arange(len(tails))), -1)
        program = linprog(
            -balance[0],
            A_eq=balance[1:-1],
            b_eq=np.zeros(n - 2),
            bounds=np.stack([np.zeros(len(tails)), capacities.ravel()], axis=1),
        )
        assert flow == pytest.approx(-program.fun, rel=1e-9, abs=1e-12)
        assert flow == pytest.approx(cut_value(dense(n, edges, capacities), side), rel=1e-12)


def check_grid(grid, edges, capacities, terminal):
    """Compare the flow on a grid with that on the same graph, and with SciPy."""
    n = len(terminal)
    on_graph = solve_flow(MaxFlow(), n, edges, terminal, capacities)
    on_grid = solve_flow(MaxFlow(), n, None, terminal, capacities, grid)
    matrix = dense(n + 2, *with_terminals(n, edges, capacities, terminal))
    expected = maximum_flow(csr_matrix(matrix.astype(np.int32)), n, n + 1).flow_value
    assert on_graph[0] == on_grid[0] == expected
    side = smallest_sink_side(matrix, n, n + 1)
    np.testing.assert_array_equal(on_graph[1], side[:n])
    np.testing.assert_array_equal(on_grid[1], side[:n])


@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    connectivity=st.sampled_from([4, 8]),
    strength=st.sampled_from([1, 4, 30]),
    seed=st.integers(0, 10**6),
)
def test_grid_equals_general_graph_and_scipy(height, width, connectivity, strength, seed, new_rng):
    rng, grid = new_rng(seed), (height, width, connectivity)
    edges = grid_edges(*grid)
    capacities = rng.integers(0, strength + 1, edges.shape).astype(float)
    check_grid(grid, edges, capacities, rng.integers(-10, 11, height * width).astype(float))


@pytest.mark.parametrize("connectivity", [4, 8])
def test_large_grids(rng, connectivity):
    # With few nodes at the source and the sink, search trees are deep and have many orphans.
    grid = 41, 37, connectivity
    edges, n = grid_edges(*grid), 41 * 37
    for few in (0.01, 0.1, 1.0):
        capacities = rng.integers(0, 100, edges.shape).astype(float)
        terminal = rng.integers(-300, 301, n) * (rng.random(n) < few).astype(float)
        check_grid(grid, edges, capacities, terminal)


def test_real_capacities_of_very_different_size(rng):
    height, width = 30, 30
    n, edges = height * width, grid_edges(height, width, 8)
    for _ in range(5):
        capacities = 10.0 ** rng.uniform(-12, 6, edges.shape)
        terminal = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-12, 6, n)
        flow, side, _ = solve_flow(MaxFlow(), n, edges, terminal, capacities)
        arcs, limits = with_terminals(n, edges, capacities, terminal)
        whole = np.append(side, [0, 1])
        tails, heads = whole[arcs[:, 0]], whole[arcs[:, 1]]
        cut = limits[(tails == 0) & (heads == 1), 0].sum()
        cut += limits[(tails == 1) & (heads == 0), 1].sum()
        assert flow == pytest.approx(cut, rel=1e-11)


def test_one_workspace_for_graphs_of_any_size(rng):
    workspace = MaxFlow()
    for _ in range(60):
        if rng.random() < 0.5:
            grid = (*rng.integers(1, 20, 2).tolist(), int(rng.choice([4, 8])))
            edges, n = grid_edges(*grid), grid[0] * grid[1]
        else:
            grid, n = None, int(rng.integers(2, 300))
            edges = random_graph(rng, n, int(rng.integers(0, 900)), 1)[0].astype(np.int32)
        problem = (n, edges, rng.normal(size=n), rng.random(edges.shape), grid)
        flow, side, work = solve_flow(workspace, *problem)
        fresh = solve_flow(MaxFlow(), *problem)
        assert (flow, work) == (fresh[0], fresh[2])
        np.testing.assert_array_equal(side, fresh[1])


def test_source_and_sink_joined_directly():
    # A flow of 2 through node 1, and of 7 directly. Arcs out of the sink or into the source do not
    # count.
    edges = [[0, 1], [1, 2], [2, 0], [1, 2]]
    flow, side = maxflow(3, edges, [[3, 9], [1, 9], [9, 7], [1, 0]], source=0, sink=2)
    assert flow == 9
    assert side.tolist() == [0, 0, 1]


GRAPH = [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    "n, edges, capacities, source, sink, message",
    [
        (3, [[0, 1], [1, 3]], np.ones((2, 2)), 0, 2, r"edges\[1\] = \(1, 3\) is out of range"),
        (3, [[0, 1], [-1, 2]], np.ones((2, 2)), 0, 2, r"edges\[1\] = \(-1, 2\) is out of range"),
        (3, [[1, 1], [1, 2]], np.ones((2, 2)), 0, 2, r"edges\[0\] = \(1, 1\) is a self-loop"),
        (3, [0, 1], np.ones((1, 2)), 0, 2, r"edges must have shape \(n_edges, 2\)"),
        (3, np.array(GRAPH, float), np.ones((2, 2)), 0, 2, "edges must be integers"),
        (3, GRAPH, [[1, 1], [1, -2]], 0, 2, r"capacities\[1\] = \(1.0, -2.0\)"),
        (3, GRAPH, [[np.nan, 1], [1, 1]], 0, 2, r"capacities\[0\] = \(nan, 1.0\)"),
        (3, GRAPH, [[1, 1], [-np.inf, 1]], 0, 2, r"capacities\[1\] = \(-inf, 1.0\)"),
        (3, GRAPH, np.ones(2), 0, 2, r"capacities must have shape \(2, 2\)"),
        (3, GRAPH, np.ones((2, 2)), 3, 2, "source = 3 is out of range for 3 nodes"),
        (3, GRAPH, np.ones((2, 2)), 0, -1, "sink = -1 is out of range for 3 nodes"),
        (3, GRAPH, np.ones((2, 2)), 1, 1, "source and sink are the same node, 1"),
    ],
)
def test_invalid_input(n, edges, capacities, source, sink, message):
    with pytest.raises(ValueError, match=message):
        maxflow(n, edges, capacities, source, sink)


def test_workspace_validates_edges():
    one = np.ones((1, 2))
    for edge in ([0, 2], [-1, 0], [1, 1]):
        with pytest.raises(ValueError, match=r"edges\[0\]"):
            solve_flow(MaxFlow(), 2, np.array([edge], dtype=np.int32), np.zeros(2), one)
    with pytest.raises(ValueError, match="connectivity 4 or 8"):
        solve_flow(MaxFlow(), 1, None, np.zeros(1), np.ones((0, 2)), (1, 1, 6))
    with pytest.raises(ValueError, match="too large"):
        solve_flow(MaxFlow(), 1, None, np.zeros(1), np.ones((0, 2)), (10**6, 10**6, 8))


@pytest.mark.parametrize("n_sinks", [0, 1, 3])
def test_few_nodes_at_the_sink(rng, n_sinks):
    # In this case, only the tree of the sink grows.
    for _ in range(30):
        n = int(rng.integers(40, 120))
        edges = np.array([(u, v) for u in range(n) for v in range(u) if rng.random() < 4 / n])
        edges = edges.reshape(-1, 2).astype(np.int32)
        capacity = rng.integers(0, 5, edges.shape)
        terminal = rng.integers(0, 3, n)
        terminal[rng.permutation(n)[:n_sinks]] = -rng.integers(5, 40, n_sinks)
        flow, side, _ = solve_flow(
            MaxFlow(), n, edges, terminal.astype(float), capacity.astype(float)
        )
        matrix = dense(n + 2, *with_terminals(n, edges, capacity, terminal))
        assert flow == maximum_flow(csr_matrix(matrix.astype(np.int32)), n, n + 1).flow_value
        assert flow == cut_value(matrix, np.r_[side, 0, 1])


def test_a_resumed_flow_finds_the_same_sides_as_a_new_one(rng):
    # Integer capacities, so that sides do not depend on rounding.
    for _ in range(60):
        n = int(rng.integers(1, 12))
        pairs = np.array([(u, v) for u in range(n) for v in range(u)], dtype=np.int32)
        edges = np.ascontiguousarray(pairs.reshape(-1, 2)[rng.random(len(pairs)) < 0.6])
        capacities = rng.integers(0, 6, (len(edges), 2)).astype(float)
        terminal = rng.integers(-9, 10, n).astype(float)
        workspace = MaxFlow()
        solve_flow(workspace, n, edges, terminal, capacities)
        for _ in range(5):
            change = rng.integers(-9, 10, n).astype(float)
            terminal = terminal + change
            _, fresh, _ = solve_flow(MaxFlow(), n, edges, terminal, capacities)
            np.testing.assert_array_equal(solve_flow_again(workspace, change), fresh)
    with pytest.raises(ValueError, match="not match the graph"):
        solve_flow_again(workspace, np.zeros(n + 1))
