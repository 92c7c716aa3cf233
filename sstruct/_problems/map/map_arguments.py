"""Layout of the multipliers of trees and terms of a model."""

from dataclasses import replace

import numpy as np


class NothingAllowed(ValueError):
    """Raised if some part of a model has no allowed labeling."""


def append_terms(trees, terms):
    """Return a TreeCover in which each of MapTerms is a block without edges after the trees."""
    none = np.full(len(terms.node), -1, dtype=np.int32)
    return replace(
        trees,
        start=np.append(trees.start, trees.start[-1] + terms.start[1:]),
        node=np.append(trees.node, terms.node),
        parent=np.append(trees.parent, none),
        edge=np.append(trees.edge, none),
    )


def place_multipliers(model, cover):
    """Lay out the multipliers of nodes in several blocks: by node, label and copy.

    Parameters
    ----------
    model : MRF
    cover : TreeCover
        The cover including the terms.

    Returns
    -------
    dict
        share (n_positions,): share of a node's cost, one over its number of copies. label_at
        (n_positions,): start of the labels of a position among those of its block; max_labels:
        largest number of labels of a block.
        shared (n_shared,): positions with multipliers, for block t
        ``shared[shared_start[t]:shared_start[t + 1]]``; that of label k is at
        ``weight_at + k stride``, where stride is the number of copies of the node and number the
        index of this copy. copy_start: start of the copies of each label, and the end.
        n_multipliers: their number. constant: the sum of the minimum costs of nodes in no block.

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
    # The copies of a node are numbered in the order of trees.
    order = np.argsort(node, kind="stable")
    number = np.empty(len(node), dtype=np.int64)
    number[order] = np.arange(len(node)) - (np.cumsum(copies) - copies)[node[order]]
    shared = np.flatnonzero(is_shared[node])
    alone = np.flatnonzero(copies == 0)
    least = [model.node_cost(v).min() for v in alone]
    constant = float(sum(least))
    if constant == np.inf:
        v = alone[np.argmax(least)]
        raise NothingAllowed(f"all labels of node {v}, which has no edges, have infinite costs")
    return {
        "share": 1.0 / copies[node],
        "label_at": begins - begins[start[:-1]][tree],
        "max_labels": int((ends[start[1:] - 1] - begins[start[:-1]]).max()),
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
    """Return the multiply-adds of minimizing each tree, approximately; for terms, of nodes only."""
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
    """Subtract from each multiplier the mean over the copies of its label, in place; return x."""
    if len(copy_start) > 1:
        sizes = np.diff(copy_start)
        x -= np.repeat(np.add.reduceat(x, copy_start[:-1]) / sizes, sizes)
    return x


def disagreement(copy_start, y):
    """Return the sum over labels of the range of its copies' marginals, B of [SK19]."""
    if len(copy_start) <= 1:
        return 0.0
    first = copy_start[:-1]
    return float((np.maximum.reduceat(y, first) - np.minimum.reduceat(y, first)).sum())
