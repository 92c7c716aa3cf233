"""Where the multipliers of trees and terms of a model lie."""

from dataclasses import replace

import numpy as np


class NothingAllowed(ValueError):
    """Some part of a model has no labeling that is allowed."""


def append_terms(trees, terms):
    """Return a TreeCover with a block without edges for each of MapTerms after the trees."""
    none = np.full(len(terms.node), -1, dtype=np.int32)
    return replace(
        trees,
        start=np.append(trees.start, trees.start[-1] + terms.start[1:]),
        node=np.append(trees.node, terms.node),
        parent=np.append(trees.parent, none),
        edge=np.append(trees.edge, none),
    )


def place_multipliers(model, cover):
    """Lay out the multipliers of the nodes that several blocks have: by node, label and copy.

    Parameters
    ----------
    model : MRF
    cover : TreeCover
        With the terms.

    Returns
    -------
    dict
        share (places,): of a node's cost, one over its copies. label_at (places,): begin of a
        place's labels among those of its block, of which the largest has most_labels. shared
        (n_shared,): places of the block that have multipliers, for block t
        ``shared[shared_start[t]:shared_start[t + 1]]``; label k's is at ``weight_at + k stride``;
        stride: copies of the node, number: which of them. copy_start: begin of the copies of each
        label, and the end. n_multipliers. constant: the least costs of nodes in no block.

    Raises
    ------
    NothingAllowed
        If all labels of a node in no block are forbidden.
    """
    node, start = cover.node, cover.start
    tree = np.repeat(np.arange(cover.n_trees), np.diff(start))
    copies = np.bincount(node, minlength=model.n_nodes)
    n_labels = model.n_labels.astype(np.int64)
    ends = np.cumsum(n_labels[node])
    begins = ends - n_labels[node]
    is_shared = copies > 1
    sizes = np.where(is_shared, n_labels * copies, 0)
    begin = np.cumsum(sizes) - sizes
    # A node's copies are numbered in the order of trees.
    order = np.argsort(node, kind="stable")
    number = np.empty(len(node), dtype=np.int64)
    number[order] = np.arange(len(node)) - (np.cumsum(copies) - copies)[node[order]]
    shared = np.flatnonzero(is_shared[node])
    alone = np.flatnonzero(copies == 0)
    constant = float(sum(model.node_cost(v).min() for v in alone))
    if constant == np.inf:
        raise NothingAllowed("a node without edges has no label that is allowed")
    return {
        "share": 1.0 / copies[node],
        "label_at": begins - begins[start[:-1]][tree],
        "most_labels": int((ends[start[1:] - 1] - begins[start[:-1]]).max()),
        "shared": (shared - start[:-1][tree[shared]]).astype(np.int32),
        "shared_start": np.r_[0, np.cumsum(is_shared[node])][start],
        "weight_at": (begin[node] + number)[shared],
        "stride": copies[node[shared]].astype(np.int32),
        "number": number[shared].astype(np.int32),
        "copy_start": np.r_[0, np.cumsum(np.repeat(copies[is_shared], n_labels[is_shared]))],
        "n_multipliers": int(sizes.sum()),
        "constant": constant,
    }


def oracle_work(model, cover):
    """About what a minimisation of each tree costs, in multiply-adds; of terms, their nodes."""
    n_labels = model.n_labels.astype(np.int64)
    edge = cover.edge
    has_edge = edge >= 0
    is_table = np.zeros(len(edge), dtype=bool)
    is_table[has_edge] = model.table_form[model.edge_table[edge[has_edge]]] == 0
    ends = np.ones((len(edge), 2), dtype=np.int64)
    ends[has_edge] = n_labels[model.edges[edge[has_edge]]]
    longer = ends.max(axis=1)
    message = 20 + np.where(is_table, ends.prod(axis=1) / 4 + longer, 8.0 * longer)
    work = 20 + 3 * n_labels[cover.node] + np.where(has_edge, message, 0)
    return np.add.reduceat(work, cover.start[:-1])


def project(copy_start, x):
    """Subtract from each multiplier the mean over its label's copies, in place; return it."""
    if len(copy_start) > 1:
        sizes = np.diff(copy_start)
        x -= np.repeat(np.add.reduceat(x, copy_start[:-1]) / sizes, sizes)
    return x


def disagreement(copy_start, y):
    """Sum over labels of the largest less the smallest marginal of its copies: B of paper 003."""
    if len(copy_start) <= 1:
        return 0.0
    first = copy_start[:-1]
    return float((np.maximum.reduceat(y, first) - np.minimum.reduceat(y, first)).sum())
