"""Joint features and hinge terms of graphs, computed by definition and enumeration.

Labels are integers 0 ... K - 1; weights are in the order coef (K, F), intercept, edge.
"""

from itertools import product

import numpy as np

from tests.reference.brute_force import Block, flat


def random_edges(rng, n_nodes, density=0.6):
    """Return a random subset of the pairs of nodes, in random order and direction, (E, 2)."""
    pairs = [(u, v) for u in range(n_nodes) for v in range(u)]
    edges = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs if rng.random() < density]
    return rng.permutation(np.array(edges, dtype=np.int32).reshape(-1, 2))


def joint_feature(x, y, edges, features, pairwise, n_labels, bias=True):
    """Return phi(x, y); "fixed" has no pairwise part; y may be a list of labelings."""
    on = np.eye(n_labels)[np.asarray(y)]
    edges = np.asarray(edges, dtype=int).reshape(-1, 2)
    one, other = on[..., edges[:, 0], :], on[..., edges[:, 1], :]
    differ = 1 - (one * other).sum(axis=-1)
    parts = [on.swapaxes(-1, -2) @ np.asarray(x, dtype=np.float64)]
    parts += [on.sum(axis=-2)] if bias else []
    if pairwise == "potts":
        parts.append(differ.sum(axis=-1))
    elif pairwise == "contrast":
        parts.append(differ @ features)
    elif pairwise == "full":
        both = one.swapaxes(-1, -2) @ other
        parts.append((both + both.swapaxes(-1, -2)) / 2)
    elif pairwise == "directed":
        parts.append(np.einsum("eg,...ea,...eb->...gab", features, one, other))
    return flat(parts, np.shape(y)[:-1])


def disagreements(y, edges):
    """Count the edges whose ends have different labels; y may be a list of labelings."""
    y, edges = np.asarray(y), np.asarray(edges, dtype=int).reshape(-1, 2)
    return (y[..., edges[:, 0]] != y[..., edges[:, 1]]).sum(axis=-1)


def complete_labels(graph, labels, most=5):
    """Complete unknown labels from the nearest known labels, in up to `most` rounds of votes."""
    edges = np.asarray(graph[1]).reshape(-1, 2).astype(int)
    known = [(labels[u], labels[v]) for u, v in edges if labels[u] >= 0 <= labels[v]]
    if sum(a != b for a, b in known) >= len(known) / 2:
        return labels
    given = labels
    for _ in range(most):
        before, labels = labels, labels.copy()
        for node in np.flatnonzero(before < 0):
            pairs = [(u, v) for u, v in edges if node in (u, v)]
            votes = [before[u + v - node] for u, v in pairs if before[u + v - node] >= 0]
            if votes:
                labels = np.where(
                    np.arange(len(labels)) == node, np.bincount(votes).argmax(), labels
                )
    return labels if sum(labels < 0) <= 0.1 * sum(given < 0) else given


def neighbors(height, width, connectivity):
    """Return the edges of an image and their directions: for each direction, edges in row order."""
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)][: connectivity // 2]
    edges, directions = [], []
    for direction, (down, right) in enumerate(steps):
        for r in range(height):
            for c in range(width):
                if r + down < height and 0 <= c + right < width:
                    edges.append((r * width + c, (r + down) * width + c + right))
                    directions.append(direction)
    return np.array(edges, dtype=int).reshape(-1, 2), directions


def grid_graph(x, pairwise, connectivity):
    """Return the rows, edges and edge features of an image as a graph."""
    edges, directions = neighbors(*x.shape[:2], connectivity)
    rows = x.reshape(-1, x.shape[2])
    square = ((rows[edges[:, 0]] - rows[edges[:, 1]]) ** 2).sum(axis=1)
    features = np.eye(connectivity // 2)[directions]
    if pairwise == "contrast":
        mean = (square.mean() if len(square) else 1) or 1
        features = np.stack([np.ones(len(square)), np.exp(-square / (2 * mean))], axis=1)
    return rows, edges, features


def drop_unlabeled(graph, y):
    """Return the graph of the nodes with a label other than -1, and their labels; None if empty."""
    x, edges, features, sizes = graph
    keep = np.flatnonzero(np.asarray(y) >= 0)
    if len(keep) == 0:
        return None
    place = {int(v): k for k, v in enumerate(keep)}
    used = [e for e, (u, v) in enumerate(edges) if u in place and v in place]
    edges = np.array([[place[edges[e][0]], place[edges[e][1]]] for e in used]).reshape(-1, 2)
    features = None if features is None else np.asarray(features)[used]
    sizes = None if sizes is None else np.asarray(sizes)[keep]
    return (np.asarray(x)[keep], edges.astype(int), features, sizes), np.asarray(y)[keep]


def tile_sides(height, width, size):
    """Return heights and widths of tiles of at most `size` pixels that cross the fewest borders."""
    cuts = [
        ((n_rows - 1) * width + (n_columns - 1) * height, n_rows, n_columns)
        for n_rows in range(1, height + 1)
        for n_columns in range(1, width + 1)
        if -(-height // n_rows) * -(-width // n_columns) <= size
    ]
    _, *counts = min(cuts)
    return [
        [(k + 1) * side // count - k * side // count for k in range(count)]
        for side, count in zip((height, width), counts, strict=True)
    ]


def tiles(graph, y, shape, size):
    """Return the graphs of an image's tiles, each with copies of pixels beyond its borders.

    Returns a list of (graph, labels, n_own). The first n_own nodes are the pixels of the tile. For
    each edge whose first end is one of these and whose second end is in another tile, there is a
    node that is a copy of the second end.
    """
    x, edges, features, sizes = graph
    rows, columns = tile_sides(*shape, size)
    of_row, of_column = (np.repeat(np.arange(len(own)), own) for own in (rows, columns))
    tile = [(r, c) for r in of_row for c in of_column]
    out = []
    for name in sorted(set(tile)):
        own = [v for v in range(len(x)) if tile[v] == name]
        mine = [e for e, (u, _) in enumerate(edges) if tile[u] == name]
        mine = [e for e in mine if min(y[v] for v in edges[e]) >= 0]
        own = [v for v in own if y[v] >= 0]
        if not own:
            continue
        nodes, pairs = list(own), []
        for e in mine:
            u, v = edges[e]
            if tile[v] != name:
                nodes.append(v)
            pairs.append((own.index(u), own.index(v) if tile[v] == name else len(nodes) - 1))
        part = (
            np.asarray(x)[nodes],
            np.array(pairs, dtype=int).reshape(-1, 2),
            None if features is None else np.asarray(features)[mine],
            None if sizes is None else np.asarray(sizes)[nodes],
        )
        out.append((part, np.asarray(y)[nodes], len(own)))
    return out


def tile_blocks(X, y, shapes, size, pairwise, n_labels, cost=None, weights=None, bias=True,
                divided=False, strength=0.0):  # fmt: skip
    """Return `blocks` of the tiles of images; copies have neither features nor losses."""
    weights = [1.0] * len(X) if weights is None else list(weights)
    out, total = [], 0.0
    for i, (graph, labels) in enumerate(zip(X, y, strict=True)):
        sizes = np.ones(len(labels)) if graph[3] is None else np.asarray(graph[3])
        known = np.asarray(labels) >= 0
        total += weights[i] * known.any()
        scale = sizes / sizes[known].sum() if divided and known.any() else sizes
        graph = (*graph[:3], scale)
        for part, truth, n_own in tiles(graph, labels, shapes[i], size):
            x, edges, features, own = part
            x[n_own:] = 0
            own = np.where(np.arange(len(own)) < n_own, own, 0)
            (block,) = blocks([(x, edges, features, own)], [truth], pairwise, n_labels, cost, None,
                              bias, False, strength)  # fmt: skip
            if bias:  # copies have no bias
                at = n_labels * x.shape[1]
                for row, z in zip(block.phi, block.labelings, strict=True):
                    for label in z[n_own:]:
                        row[at + label] -= 1
            block.sample, block.weight = i, weights[i]
            out.append(block)
    for block in out:
        block.weight /= total
    return [block for block in out if block.weight]


def blocks(X, y, pairwise, n_labels, cost=None, weights=None, bias=True, divided=False,
           strength=0.0):  # fmt: skip
    """Return the hinge terms, one per sample; a graph is (x, edges, features, sizes)."""
    K = n_labels
    cost = 1.0 - np.eye(K) if cost is None else np.asarray(cost)
    weights = [1.0] * len(X) if weights is None else list(weights)
    parts = [drop_unlabeled(graph, labels) for graph, labels in zip(X, y, strict=True)]
    total = sum(weight for weight, part in zip(weights, parts) if part is not None)
    out = []
    for i, (part, weight) in enumerate(zip(parts, weights, strict=True)):
        if part is None or weight == 0:
            continue
        (x, edges, features, sizes), truth = part
        sizes = np.ones(len(x)) if sizes is None else sizes
        scale = sizes / sizes.sum() if divided else sizes
        labelings = list(product(range(K), repeat=len(x)))
        fixed = strength * disagreements(truth, edges)
        out.append(
            Block(
                sample=i,
                labelings=labelings,
                phi=joint_feature(x, labelings, edges, features, pairwise, K, bias),
                loss=cost[truth, labelings] @ scale
                - strength * disagreements(labelings, edges)
                + fixed,
                truth=labelings.index(tuple(int(label) for label in truth)),
                weight=weight / total,
            )
        )
    return out
