"""Decoders of chains with given scores, such as the logits of another model."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import is_sized, real_array, whole_number
from sstruct._checks.parameters import check_choice
from sstruct._input.threads import n_threads
from sstruct._oracles.chain._chain_decoder import ChainDecoder
from sstruct._oracles.chain._max_marginals import max_marginals as marginals_of
from sstruct._oracles.chain._sparse_viterbi import sparse_viterbi
from sstruct._oracles.chain._top_k import top_k as ranked
from sstruct.inference._chain_scores import ChainScores, Mask
from sstruct.sequences import Sequences


def viterbi(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    *,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    missing: Literal["forbidden", "zero"] = "forbidden",
    beam: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Any]:
    """Find the highest-scoring labeling of a chain.

    Maximizes ``start[y_0] + sum_l node_scores[l, y_l] + sum_{l>0} edge_scores[y_{l-1}, y_l] +
    end[y_{L-1}]`` over the labelings that `mask` allows.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        Score of each label at each position, such as the logits of a classifier; ``-inf`` forbids
        a label. The chains of a list, of an array with three dimensions or of Sequences are
        decoded separately. Arrays of float32 and float64 are not copied, except with
        ``missing="zero"``; sums are computed in float64.
    edge_scores : array-like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, \
n_labels), default=None
        Score of the transition from the label of the row to the label of the column, as one table
        for all transitions or one table for each; ``-inf`` forbids a transition. A single table may
        be a sparse matrix, such as a band around the diagonal, whose entries that are not stored
        are defined by `missing`. Entries that are stored as 0 score 0, but some functions of SciPy,
        such as ``scipy.sparse.diags``, do not store zeros. Default: 0.
    classes : list of n_labels labels, default=None
        Labels of the columns of `node_scores`. By default labels are column numbers.
    mask : callable or array-like of bool of shape (n_labels, n_labels), default=None
        Allowed transitions, as the parameter `transition_mask` of :class:`sstruct.ChainSSVM`: an
        array with rows *from* and columns *to*, or a function of two labels, where None is the
        boundary of the chain, such as :func:`sstruct.masks.bioes_transitions`.
    start, end : array-like of shape (n_labels,), default=None
        Score of each label at the first and at the last position.
    missing : {"forbidden", "zero"}, default="forbidden"
        Meaning of transitions that a sparse matrix does not store: they are forbidden, or score 0,
        as in a sparse copy of ``edge_coef_``.
    beam : int or None, default=None
        For sparse matrices with ``missing="zero"``, the number of best labels of each position to
        extend, which is approximate. By default all labels are extended.
    n_jobs : int or None, default=None
        Number of threads for the chains of a list, as in scikit-learn: None is 1 unless a joblib
        backend sets another number, -1 uses all cores. Results do not depend on it.

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
        If shapes are inconsistent, a score is NaN or ``+inf``, `missing` or `n_jobs` is invalid,
        `mask` is a function without `classes` or is given with ``missing="zero"``, or `beam` is not
        a positive integer or is given without ``missing="zero"``.

    See Also
    --------
    top_k : Find the k best labelings.
    max_marginals : Find the best score of a labeling with each label at each position.

    Notes
    -----
    This is the Viterbi algorithm [1]_, which :class:`sstruct.ChainSSVM` uses for training and
    prediction. Its time is O(n_positions n_labels^2). With 64 labels or more and one table of
    transitions, labels that cannot be on the best path are skipped, and the time is
    O(n_labels^2 + n_positions (n_labels + P^2)) if P labels of a position are left. With a sparse
    matrix of nnz stored transitions, the time is O(n_positions (nnz + n_labels)). With
    ``missing="zero"``, it is O(n_positions (nnz + n_labels log n_labels)), where most rows are
    skipped if node scores are informative, or
    O(n_positions (n_labels + B (log n_labels + nnz / n_labels))) with a beam of B labels. A
    callable `mask` is called for each pair of labels, so decode many chains in one call.

    The memory in addition to the input is O(n_positions n_labels) for short chains. Chains of more
    than 4 million scores are decoded in parts of about sqrt(n_positions) positions, each of them
    twice, in O(sqrt(n_positions) n_labels + n_positions) memory, unless there is a table for each
    position or ``missing="zero"``.

    References
    ----------
    .. [1] L. R. Rabiner. A tutorial on hidden Markov models. Proc. IEEE 77(2), 1989, section III.B.

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

    A label may only stay or increase by one:

    >>> from scipy.sparse import diags
    >>> steps = diags([[0.5] * 3, [0.25] * 2], offsets=[0, 1], format="csr")
    >>> viterbi([[4.0, 0.0, 0.0], [0.0, 1.0, 3.0], [0.0, 0.0, 2.0]], steps)
    (array([0, 1, 2], dtype=int32), 7.5)
    """
    check_choice("missing", missing, ("forbidden", "zero"))
    zero = missing == "zero" and sparse.issparse(edge_scores)
    if beam is not None and not zero:
        raise ValueError("beam requires a sparse matrix as edge_scores and missing='zero'")
    chains = ScoredChains(node_scores)
    scores = ChainScores(chains.n_labels, edge_scores, classes, mask, start, end, zero=zero)
    if not zero:
        return chains.decoded(scores, lambda: ChainDecoder(scores.terms).decode, n_jobs)

    def decode(node, name):
        return sparse_viterbi(scores.with_ends(node), scores.edge, beam)

    return chains.decoded(scores, lambda: decode, n_jobs)


def top_k(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    k: int = 5,
    *,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Any]:
    """Find the k highest-scoring labelings of a chain.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        As in :func:`viterbi`.
    edge_scores : array-like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, \
n_labels), default=None
        As in :func:`viterbi`; transitions that a sparse matrix does not store are forbidden.
    k : int, default=5
        The number of labelings, at least 1.
    classes, mask, start, end, n_jobs : optional
        As in :func:`viterbi`.

    Returns
    -------
    labels : ndarray of shape (m, n_positions), or list of such
        Distinct labelings, best first: int32 column numbers, or labels if there are `classes`. Ties
        are resolved as in :func:`viterbi`: the lowest last column, then the lowest column before
        it, and so on. m is k, or the number of allowed labelings if there are fewer.
    values : ndarray of shape (m,), or list of such
        The scores of the labelings.

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
    The algorithm [1]_ is exact and takes time O(n_positions n_labels (n_labels + k)), or
    O(n_positions (nnz + n_labels k)) with nnz stored transitions. The memory is
    O(n_positions n_labels k). Scores are ties if they are equal when summed from the first position
    to the last.

    References
    ----------
    .. [1] L. Huang, D. Chiang. Better k-best parsing. IWPT 2005, algorithm 3.

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
    k = whole_number(k, "k")
    if k < 1:
        raise ValueError(f"k must be at least 1, found {k}")
    chains = ScoredChains(node_scores)
    scores = ChainScores(chains.n_labels, edge_scores, classes, mask, start, end)

    def decode(node, name):
        return ranked(node, scores.terms, k, name)

    return chains.decoded(scores, lambda: decode, n_jobs, values_are_lists=True)


def max_marginals(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    *,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Compute the best score of a labeling for each label of each position.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        As in :func:`viterbi`.
    edge_scores : array-like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, \
n_labels), default=None
        As in :func:`viterbi`; transitions that a sparse matrix does not store are forbidden.
    classes, mask, start, end, n_jobs : optional
        As in :func:`viterbi`.

    Returns
    -------
    scores : ndarray of shape (n_positions, n_labels), or list of such
        Entry (l, k) is the maximum over all labelings with the label of column k at position l,
        -inf if all of them are forbidden. The maximum of every row is the value of
        :func:`viterbi`, up to rounding.

    Raises
    ------
    ValueError
        If shapes are inconsistent, or a score is NaN or ``+inf``.

    See Also
    --------
    viterbi : Find the best labeling.

    Notes
    -----
    A forward and a backward sweep take O(n_positions n_labels^2) time, or
    O(n_positions (nnz + n_labels)) with nnz stored transitions.

    Examples
    --------
    >>> from sstruct.inference import max_marginals
    >>> max_marginals([[1.0, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    array([[2. , 1.5],
           [2. , 1.5]])

    No sequence of BIO labels starts with "I":

    >>> from sstruct.masks import bio_transitions
    >>> logits = [[1.0, 0.5, 0.7], [0.2, 0.1, 0.9]]
    >>> max_marginals(logits, classes=["O", "B", "I"], mask=bio_transitions)
    array([[ 1.2,  1.4, -inf],
           [ 1.2,  1.1,  1.4]])
    """
    chains = ScoredChains(node_scores)
    scores = ChainScores(chains.n_labels, edge_scores, classes, mask, start, end)

    def decode(node, name):
        return marginals_of(node, scores.terms, name)

    results = chains.results(scores, lambda: decode, n_jobs, np.empty((0, chains.n_labels or 0)))
    return results if chains.many else results[0]


class ScoredChains:
    """Node scores of one chain or of several, with their names in errors."""

    def __init__(self, node_scores):
        filled = is_sized(node_scores) and len(node_scores) > 0
        listed = filled and isinstance(node_scores, list | tuple | np.ndarray)
        self.many = isinstance(node_scores, Sequences) or (listed and _is_table(node_scores[0]))
        self.nodes, self.names, self.n_labels = [], [], None
        for i, chain in enumerate(node_scores if self.many else [node_scores]):
            name = f"node_scores[{i}]" if self.many else "node_scores"
            node = real_array(chain, name, single=True)
            if node.ndim != 2 or node.shape[1] == 0 or (len(node) == 0 and not self.many):
                raise ValueError(
                    f"{name} must be nonempty with shape (n_positions, n_labels); found "
                    f"{node.shape}"
                )
            if self.n_labels not in (None, node.shape[1]):
                raise ValueError(
                    f"{name} has scores of {node.shape[1]} labels, expected {self.n_labels}"
                )
            self.n_labels = node.shape[1]
            self.nodes.append(node)
            self.names.append(name)

    def results(self, scores, new_decoder, n_jobs, empty):
        """Return the list of the results of all chains; `empty` is that of one without positions.

        new_decoder : function that returns a decoder for one thread: a function of the node scores
            of a chain and their name
        """
        count = n_threads(n_jobs) if self.many or n_jobs is not None else 1
        if not self.nodes:
            return []
        for node, name in zip(self.nodes, self.names):
            scores.check_length(node, name)

        def decode(first, last):
            decode_one = new_decoder()
            return [
                decode_one(node, name) if len(node) else empty
                for node, name in zip(self.nodes[first:last], self.names[first:last])
            ]

        return _in_threads(decode, np.cumsum([len(node) for node in self.nodes]), count)

    def decoded(self, scores, new_decoder, n_jobs, values_are_lists=False):
        """Return the labels and values of all chains; see `results`."""
        empty = np.empty(0, dtype=np.int32), 0.0
        if values_are_lists:
            empty = np.empty((1, 0), dtype=np.int32), np.zeros(1)
        pairs = self.results(scores, new_decoder, n_jobs, empty)
        pairs = [(scores.named(labels), value) for labels, value in pairs]
        if not self.many:
            return pairs[0]
        labels, values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return labels, values if values_are_lists else np.array(values)


def _in_threads(decode, ends, count):
    """Return the concatenated results of ``decode(first, last)`` for parts of similar size."""
    count = min(count, len(ends))
    if count <= 1:
        return decode(0, len(ends))
    # Several parts per thread, since the time of a chain is not proportional to its length.
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], 4 * count + 1)[1:-1], side="right")
    cuts = [0, *cuts.tolist(), len(ends)]
    with ThreadPoolExecutor(count) as pool:
        parts = [pool.submit(decode, first, last) for first, last in pairwise(cuts)]
        try:
            return [pair for part in parts for pair in part.result()]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_table(scores):
    """Return whether scores have two dimensions, without a conversion."""
    if isinstance(scores, list | tuple):
        return len(scores) > 0 and isinstance(scores[0], list | tuple | np.ndarray)
    return getattr(scores, "ndim", 0) == 2
