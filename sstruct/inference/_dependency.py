"""Decoder of dependency trees of given scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import flag, real_array
from sstruct._oracles.dependency._projective_tree import ProjectiveTreeDecoder
from sstruct._oracles.dependency._spanning_tree import SpanningTreeDecoder
from sstruct.inference._chain_scores import limited_scores


def dependency_tree(
    scores: ArrayLike, *, projective: bool = False, single_root: bool = True
) -> tuple[Any, float]:
    """Find the highest-scoring dependency tree of a sentence.

    Every token has one head, another token or the root, and the arcs form a tree [3]_. Tokens are
    numbered from 1 to n, and the root is 0, as in CoNLL-U.

    Parameters
    ----------
    scores : array-like of shape (n_tokens, n_tokens + 1) or (n_tokens, n_tokens + 1, n_labels)
        ``scores[t - 1, h]`` is the score of the arc from head h to token t; ``-inf`` forbids an
        arc. Entries with h = t are ignored. With three dimensions, ``scores[t - 1, h, k]`` is the
        score of the arc with label k.
    projective : bool, default=False
        Whether arcs must not cross: all tokens between a head and its dependent then descend from
        the head.
    single_root : bool, default=True
        Whether the root has exactly one dependent, as in Universal Dependencies.

    Returns
    -------
    tree : ndarray of int32 of shape (n_tokens,), or tuple of two such
        The head of each token, 0 for the root; with labels, the heads and the index of the label of
        each token's arc.
    value : float
        The score of the tree, the sum over its arcs.

    Raises
    ------
    ValueError
        If `scores` has another shape, contains NaN, ``+inf`` or a finite score beyond 1e100, or
        forbids all trees.

    See Also
    --------
    sstruct.DependencySSVM : Learn the scores from features of arcs.

    Notes
    -----
    The result is exact. Non-projective trees take O(n_tokens^2) time, by the algorithm of Chu and
    Liu and of Edmonds, in the form of [1]_. A single root does not change this: scores are compared
    together with the number of arcs from the root, in lexicographic order. Projective trees take
    O(n_tokens^3) time [2]_. The memory is O(n_tokens^2). With labels, the best label of each arc is
    chosen first, and time and memory of O(n_tokens^2 n_labels) are added.

    References
    ----------
    .. [1] H. N. Gabow, Z. Galil, T. Spencer, R. E. Tarjan. Efficient algorithms for finding minimum
       spanning trees in undirected and directed graphs. Combinatorica 6, 1986, section 3.
    .. [2] J. Eisner. Three new probabilistic models for dependency parsing: an exploration. COLING
       1996, section 3.
    .. [3] R. McDonald, F. Pereira, K. Ribarov, J. Hajic. Non-projective dependency parsing using
       spanning tree algorithms. HLT-EMNLP 2005.

    Examples
    --------
    In "John saw Mary", token 2 is the child of the root:

    >>> from sstruct.inference import dependency_tree
    >>> scores = [[9, 0, 30, 11], [10, 20, 0, 0], [9, 3, 30, 0]]
    >>> heads, value = dependency_tree(scores)
    >>> heads, value
    (array([2, 0, 2], dtype=int32), 70.0)

    The projective tree with the most arcs of a given tree:

    >>> import numpy as np
    >>> crossing = np.array([3, 4, 4, 0])
    >>> dependency_tree(np.eye(5)[crossing], projective=True)
    (array([4, 4, 4, 0], dtype=int32), 3.0)
    """
    table = real_array(scores, "scores")
    labeled = table.ndim == 3
    n = len(table) if table.ndim else 0
    if table.ndim not in (2, 3) or table.shape[1] != n + 1 or 0 in table.shape[2:]:
        raise ValueError(
            "scores must have shape (n_tokens, n_tokens + 1) or (n_tokens, n_tokens + 1, n_labels),"
            f" found {table.shape}"
        )
    projective, single_root = flag(projective, "projective"), flag(single_root, "single_root")
    table = table.copy()
    table[np.arange(n), np.arange(1, n + 1)] = -np.inf
    limited_scores(table, "scores")
    if n == 0:
        empty = np.empty(0, dtype=np.int32)
        return ((empty, empty.copy()) if labeled else empty), 0.0
    best = table.max(axis=2) if labeled else table
    decoder = ProjectiveTreeDecoder() if projective else SpanningTreeDecoder()
    heads, value = decoder.tree(np.ascontiguousarray(best), single_root)
    if value == -np.inf:
        kind = "projective tree" if projective else "tree"
        root = " with a single child of the root" if single_root else ""
        raise ValueError(f"scores forbid every {kind}{root}")
    if not labeled:
        return heads, value
    labels = table[np.arange(n), heads].argmax(axis=1).astype(np.int32)
    return (heads, labels), value
