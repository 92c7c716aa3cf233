"""Validation of the arguments of GraphConstraints."""

import numpy as np


def check_sizes(sizes, is_forbidden, edge_table, n_states, ends, link_table, samples):
    """Raise ValueError unless arrays have the lengths that `sizes` imply."""
    expected = [*sizes.sum(axis=0), len(ends), len(sizes)]
    found = [len(each) for each in (is_forbidden, edge_table, n_states, ends, link_table, samples)]
    if (sizes < 0).any() or (sizes[:, 0] < 1).any() or found != expected:
        raise ValueError(
            f"constraints have arrays of {found} entries, expected {expected}, and sizes "
            ">= 0 with at least one node in each graph"
        )


def check_tables(sizes, firsts, K, edge_table, n_states, ends, link_table, shapes):
    """Raise ValueError unless ends and tables are valid, and tables have the right shapes."""
    graph = np.repeat(np.arange(len(sizes)), sizes[:, 3])
    n_nodes, n_extra = sizes[graph, 0], sizes[graph, 2]
    u, v = ends.T
    wrong = (u < 0) | (u >= v) | (v < n_nodes) | (v >= n_nodes + n_extra)
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            "a link of constraints must join an auxiliary node to an earlier node, found "
            f"({u[k]}, {v[k]}) in a graph of {n_nodes[k]} nodes and {n_extra[k]} auxiliary ones"
        )
    wrong = (np.diff(graph) == 0) & (np.diff(v) < 0)
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            f"links of constraints must be sorted by their second ends, found {v[k]} and then "
            f"{v[k + 1]}"
        )
    tables = np.concatenate([edge_table[edge_table != -1], link_table])
    if (n_states < 1).any() or (tables < 0).any() or (tables >= len(shapes)).any():
        raise ValueError(
            "constraints have an invalid table or number of states, expected tables from 0 to "
            f"{len(shapes) - 1} and at least one state"
        )
    first = firsts[2][graph] - n_nodes
    states_u = np.where(u < n_nodes, K, np.append(n_states, 0)[np.maximum(first + u, 0)])
    states_v = n_states[first + v]
    if (shapes[edge_table[edge_table >= 0]] != K).any() or (
        shapes[link_table] != np.stack([states_u, states_v], axis=1)
    ).any():
        raise ValueError("the shape of a table of constraints differs from the labels of its nodes")


def check_counters(sizes, first_link, ends, counters, wanted):
    """Raise ValueError unless counters consist of links as described in _hard_terms.pyx (d)."""
    graph, first, n, least, most = counters.T.astype(np.int64)
    valid = len(wanted) == len(counters) and (np.diff(graph) >= 0).all()
    valid = valid and ((graph >= 0) & (graph < len(sizes)) & (first >= 0) & (n >= 2)).all()
    valid = valid and ((0 <= least) & (least <= most) & (most <= n)).all()
    if not valid or (first + 2 * (n - 1) > sizes[graph, 3]).any():
        raise ValueError(
            "constraints have an invalid counter, expected counters sorted by graph, with links of "
            "their graph, n >= 2 nodes and bounds 0 <= least <= most <= n"
        )
    for i, at, size in zip(graph, first_link[graph] + first, n):
        before, nodes = ends[at : at + 2 * (size - 1) : 2], ends[at + 1 : at + 2 * (size - 1) : 2]
        counted = np.append(before[:1, 0], nodes[:, 0])
        is_chain = (before[:, 1] == nodes[:, 1]).all() and (before[1:, 0] == before[:-1, 1]).all()
        if not is_chain or (counted >= sizes[i, 0]).any():
            raise ValueError("the links of a counter must join a chain of auxiliary nodes to nodes")
