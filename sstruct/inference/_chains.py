"""Decoders of chains of given scores, such as the logits of another model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import is_sized, real_array
from sstruct._checks.shown import shortened
from sstruct._input.labels import label_array
from sstruct._input.transition_masks import allowed_transitions
from sstruct._oracles.chain import _top_k, _viterbi
from sstruct.sequences import Sequences

Mask = Callable[[Any, Any], bool] | ArrayLike | None


def viterbi(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    *,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    beam: int | None = None,
) -> tuple[Any, Any]:
    """Find the highest-scoring labeling of a chain.

    Maximizes ``start[y_0] + sum_l node_scores[l, y_l] + sum_{l>0} edge_scores[y_{l-1}, y_l] +
    end[y_{L-1}]`` over the labelings that `mask` allows.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        Score of each label at each position, such as the logits of a classifier; ``-inf`` forbids
        a label. The chains of a list, of an array with three dimensions or of Sequences are
        decoded separately.
    edge_scores : array-like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, \
n_labels), default=None
        Score of the transition from the row's to the column's label, as one table for all
        transitions or one for each; ``-inf`` forbids a transition. For very many labels, a single
        table may be a sparse matrix: transitions that are not stored score 0. Default: 0.
    classes : list of n_labels labels, default=None
        Labels of the columns of `node_scores`. By default labels are column numbers.
    mask : callable or array-like of bool of shape (n_labels, n_labels), default=None
        Allowed transitions, as the parameter `transition_mask` of :class:`sstruct.ChainSSVM`: an
        array with rows *from* and columns *to*, or a function of two labels, where None is the
        boundary of the chain, such as :func:`sstruct.masks.bioes_transitions`.
    start, end : array-like of shape (n_labels,), default=None
        Score of each label at the first and at the last position.
    beam : int or None, default=None
        For sparse matrices, the number of best labels of each position to extend, which is
        approximate. By default all labels are extended.

    Returns
    -------
    labels : ndarray of shape (n_positions,), or list of such
        The best labeling: int32 column numbers, or labels if there are `classes`. Ties are resolved
        by the lowest last column, then the lowest column before it, and so on.
    value : float, or ndarray of shape (n_chains,)
        The score of the labeling; ``-inf`` if every labeling is forbidden, in which case `labels`
        has no meaning. A chain without positions, which only lists may contain, has the score 0.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a score is NaN or ``+inf``, or `beam` is not a positive integer
        or is given with a dense table.

    See Also
    --------
    top_k : Find the k best labelings.
    max_marginals : Find the best score with each label of each position.

    Notes
    -----
    This is the decoder that :class:`sstruct.ChainSSVM` uses for training and prediction. Its time
    is O(n_positions n_labels^2). With 64 labels or more, one table of transitions and 8 positions
    or more, labels that cannot be on the best path are skipped, and the time is O(n_labels^2 +
    n_positions (n_labels + P^2)) if P labels of a position are left. With sparse transitions the
    time is O(n_positions (nnz + n_labels log n_labels)), with the same exact result; most rows are
    skipped if node scores are informative. With a beam of B labels, it is
    O(n_positions (n_labels + B (log n_labels + nnz / n_labels))). A callable `mask` is called for
    each pair of labels, so decode many chains in one call.

    References
    ----------
    L. R. Rabiner. A tutorial on hidden Markov models. Proc. IEEE 77(2), 1989, section III.B.

    Examples
    --------
    >>> from sstruct.inference import viterbi
    >>> labels, value = viterbi([[1.0, 0.0], [0.0, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> labels, value
    (array([0, 0, 0], dtype=int32), 4.0)

    Logits of a tagger, where the best label of each word is not a valid sequence:

    >>> from sstruct.masks import bio_transitions
    >>> logits = [[1.0, 0.5, 0.7], [0.2, 0.1, 0.9], [2.0, 0.0, 0.3]]
    >>> labels, value = viterbi(logits, classes=["O", "B", "I"], mask=bio_transitions)
    >>> labels.tolist(), round(value, 2)
    (['B', 'I', 'O'], 3.4)
    """
    return _decoded(_best, node_scores, edge_scores, classes, mask, start, end, beam)


def top_k(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    k: int = 5,
    *,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
) -> tuple[Any, Any]:
    """Find the k highest-scoring labelings of a chain.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        As in :func:`viterbi`.
    edge_scores : array-like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, \
n_labels), default=None
        As in :func:`viterbi`, but not sparse.
    k : int, default=5
        The number of labelings, at least 1.
    classes, mask, start, end : optional
        As in :func:`viterbi`.

    Returns
    -------
    labels : ndarray of shape (m, n_positions), or list of such
        Distinct labelings, best first: int32 column numbers, or labels if there are `classes`. Ties
        are resolved as in :func:`viterbi`: the lowest last column, then the lowest column before
        it, and so on. m is k, or the number of allowed labelings if there are fewer.
    values : ndarray of shape (m,), or list of such
        Their scores.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a score is NaN or ``+inf``, or k is less than 1.
    TypeError
        If k is not an integer.

    See Also
    --------
    viterbi : Find the best labeling.

    Notes
    -----
    The algorithm is exact and takes time O(n_positions n_labels (n_labels + k)). Scores are ties if
    they are equal when summed from the first position to the last.

    References
    ----------
    L. Huang, D. Chiang. Better k-best parsing. IWPT 2005, algorithm 3.

    Examples
    --------
    >>> from sstruct.inference import top_k
    >>> labels, values = top_k([[1.0, 0.0], [0.0, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], 3)
    >>> labels
    array([[0, 0, 0],
           [0, 1, 0],
           [1, 1, 0]], dtype=int32)
    >>> values
    array([4. , 2.5, 2.5])
    """
    return _decoded(_ranked, node_scores, edge_scores, classes, mask, start, end, k)


def _best(node, edge, beam):
    if len(node) == 0:
        return np.empty(0, dtype=np.int32), 0.0
    return _viterbi.viterbi(node, edge, beam=beam)


def _ranked(node, edge, k):
    if len(node) == 0:
        return np.empty((1, 0), dtype=np.int32), np.zeros(1)
    return _top_k.top_k(node, edge, k)


def _decoded(decode, node_scores, edge_scores, classes, mask, start, end, option):
    """Return the results of a decoder for one chain or for several."""
    filled = is_sized(node_scores) and len(node_scores) > 0
    listed = filled and isinstance(node_scores, list | tuple | np.ndarray)
    many = isinstance(node_scores, Sequences) or (listed and _is_table(node_scores[0]))
    plain = edge_scores is not None and classes is mask is start is end is None
    if plain and filled and not many:
        return decode(node_scores, edge_scores, option)
    chains = node_scores if many else [node_scores]
    if len(chains) == 0:
        return [], np.empty(0)
    terms = None
    results = []
    for i, chain in enumerate(chains):
        name = f"node_scores[{i}]" if many else "node_scores"
        node = real_array(chain, name)
        if node.ndim != 2 or node.shape[1] == 0 or (len(node) == 0 and not many):
            raise ValueError(
                f"{name} must be nonempty with shape (n_positions, n_labels); found {node.shape}"
            )
        if terms is None:
            terms = _Terms(node.shape[1], edge_scores, classes, mask, start, end)
        if node.shape[1] != terms.n_labels:
            raise ValueError(
                f"{name} has scores of {node.shape[1]} labels, expected {terms.n_labels}"
            )
        labels, value = decode(terms.added(node), terms.edge, option)
        results.append((labels if terms.classes is None else terms.classes[labels], value))
    if not many:
        return results[0]
    labels, values = map(list, zip(*results))
    return labels, np.array(values) if decode is _best else values


def _is_table(scores):
    """Return whether scores have two dimensions, without a conversion."""
    if isinstance(scores, list | tuple):
        return len(scores) > 0 and isinstance(scores[0], list | tuple | np.ndarray)
    return getattr(scores, "ndim", 0) == 2


class _Terms:
    """Scores of transitions and boundaries, with -inf where they are forbidden."""

    def __init__(self, n_labels, edge_scores, classes, mask, start, end):
        self.n_labels, self.classes = n_labels, None
        if classes is not None:
            self.classes = label_array(list(classes))
            found = len(set(self.classes.tolist()))
            if len(self.classes) != n_labels or found != n_labels:
                raise ValueError(
                    f"classes has {len(self.classes)} labels, {found} of them different, but "
                    f"node_scores has {n_labels} columns"
                )
        elif callable(mask):
            raise ValueError("a function as mask requires classes, the labels of the columns")
        self.edge = np.zeros((n_labels, n_labels)) if edge_scores is None else edge_scores
        names = np.arange(n_labels) if self.classes is None else self.classes
        allowed, boundaries = allowed_transitions(mask, names, "mask")
        if allowed is not None:
            if sparse.issparse(self.edge):
                raise ValueError("mask requires dense edge_scores; found a sparse matrix")
            self.edge = np.where(allowed, real_array(self.edge, "edge_scores"), -np.inf)
        self.boundaries = [
            self._boundary(name, scores, None if boundaries is None else boundaries[k])
            for k, (name, scores) in enumerate((("start", start), ("end", end)))
        ]

    def _boundary(self, name, scores, allowed):
        if scores is None and allowed is None:
            return None
        row = np.zeros(self.n_labels) if scores is None else real_array(scores, name)
        if row.shape != (self.n_labels,):
            raise ValueError(f"{name} must have shape {(self.n_labels,)}, found {row.shape}")
        if np.isnan(row).any() or np.isposinf(row).any():
            raise ValueError(f"{name} must not contain NaN or +inf, found {shortened(row)}")
        return row if allowed is None else np.where(allowed, row, -np.inf)

    def added(self, node):
        """Return node scores with those of the boundaries."""
        if len(node) and any(row is not None for row in self.boundaries):
            node = np.array(node, dtype=np.float64)
            for t, row in zip((0, -1), self.boundaries):
                node[t] += 0 if row is None else row
        return node
