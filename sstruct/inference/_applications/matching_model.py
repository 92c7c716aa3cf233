"""Graph matching as a model whose nodes are labeled with right nodes, or as unassigned."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import real_array
from sstruct._checks.compressed import check_compressed
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.packing import check_costs


class MatchingModel(NamedTuple):
    """Model of a matching problem.

    Parameters
    ----------
    mrf : MRF
        A node for each left node; its last label means unassigned.
    candidates : list of ndarray, dtype int64
        For each left node, the right node of each label; the last is -1.
    has_costs : ndarray of shape (n_edges,), dtype bool
        Whether an edge has pairwise costs; the other edges only forbid equal right nodes.
    """

    mrf: MRF
    candidates: list
    has_costs: np.ndarray

    def matching(self, labels):
        """Return the right node of each left node, -1 if it is unassigned."""
        return np.array(
            [
                node_candidates[label]
                for node_candidates, label in zip(self.candidates, labels, strict=True)
            ],
            dtype=np.int32,
        )


def checked_matching(unary, pairwise):
    """Return unary costs as float64 and pairwise costs as a coo_array, or raise ValueError."""
    unary = real_array(unary, "unary").copy()
    if unary.ndim != 2 or unary.size == 0:
        raise ValueError(f"unary must have shape (n_left, n_right); found {unary.shape}")
    check_costs(unary.ravel(), lambda at: "unary[{}, {}]".format(*divmod(at, unary.shape[1])))
    if sparse.issparse(pairwise):
        check_compressed(pairwise, "pairwise")
        pairwise = pairwise.astype(np.float64)  # SciPy does not convert half and long floats
    else:
        pairwise = np.atleast_2d(real_array(pairwise, "pairwise"))
    pairwise = sparse.coo_array(pairwise)
    if pairwise.shape != (unary.size, unary.size):
        raise ValueError(
            f"pairwise must have shape {(unary.size,) * 2}, one row and one column for each "
            f"assignment [i * n_right + a]; found {pairwise.shape}"
        )
    wrong = ~np.isfinite(pairwise.data)
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            f"pairwise[{pairwise.row[k]}, {pairwise.col[k]}] is {pairwise.data[k]}, expected finite"
        )
    return unary, pairwise


def matching_model(unary, pairwise, *, exclusive=True):
    """Return the model of a graph matching problem.

    Parameters
    ----------
    unary : array-like of shape (n_left, n_right)
        Cost of each assignment, finite, or ``+inf`` if it is forbidden.
    pairwise : sparse or dense array of shape (n_left * n_right, n_left * n_right)
        Entry ``[i * n_right + a, j * n_right + b]``: cost of assigning both i to a and j to b,
        finite. The transposed entry is added to it. Entries of forbidden or mutually exclusive
        assignments are ignored.
    exclusive : bool, default=True
        Whether the tables forbid equal right nodes for each pair of left nodes.

    Returns
    -------
    model : MatchingModel
        Model whose energies are the costs of the matchings; an unassigned node costs 0.

    Raises
    ------
    ValueError
        If shapes are inconsistent or a cost is NaN or invalid.
    """
    unary, pairwise = checked_matching(unary, pairwise)
    n_left, n_right = unary.shape
    allowed = np.isfinite(unary)
    candidates = [np.append(np.flatnonzero(row), -1) for row in allowed]
    label = np.cumsum(allowed, axis=1) - 1
    i, a = np.divmod(pairwise.row, n_right)
    j, b = np.divmod(pairwise.col, n_right)
    turned = i > j
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    kept = (i != j) & (a != b) & allowed[i, a] & allowed[j, b] & (pairwise.data != 0)
    i, a, j, b, costs = i[kept], a[kept], j[kept], b[kept], pairwise.data[kept]
    order = np.argsort(i * n_left + j, kind="stable")
    i, a, j, b, costs = i[order], a[order], j[order], b[order], costs[order]
    edges, begin = np.unique(i * n_left + j, return_index=True)
    begin = np.append(begin, len(costs))
    entries = {
        divmod(key, n_left): slice(begin[k], begin[k + 1]) for k, key in enumerate(edges.tolist())
    }
    if exclusive:
        in_common = allowed.astype(np.int64) @ allowed.T.astype(np.int64)
        rivals = np.argwhere(np.triu(in_common, 1))
        pairs = sorted({*entries, *map(tuple, rivals.tolist())})
    else:
        pairs = sorted(entries)
    # Pairs without costs and with the same candidates share a table.
    tables, shared = [], {}
    for u, v in pairs:
        key = None if (u, v) in entries else (candidates[u].tobytes(), candidates[v].tobytes())
        if key in shared:
            tables.append(shared[key])
            continue
        table = np.zeros((len(candidates[u]), len(candidates[v])))
        some = entries.get((u, v), slice(0, 0))
        np.add.at(table, (label[u, a[some]], label[v, b[some]]), costs[some])
        if exclusive:
            same = (candidates[u][:, None] == candidates[v]) & (candidates[v] >= 0)
            table[same] = np.inf
        if key is not None:
            shared[key] = table
        tables.append(table)
    node = [np.append(row[np.isfinite(row)], 0.0) for row in unary]
    has_costs = np.array([pair in entries for pair in pairs], dtype=bool)
    return MatchingModel(MRF(node, pairs, tables), candidates, has_costs)
