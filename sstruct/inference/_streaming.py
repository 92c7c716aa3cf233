"""Labels of a chain whose positions arrive over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from sstruct._checks.arrays import real_array, whole_number
from sstruct._checks.shown import shortened
from sstruct._oracles.chain._stream import ChainStream
from sstruct.inference._chain_scores import ChainScores, Mask


class StreamingViterbi:
    """Label the positions of a chain as they arrive.

    Parameters
    ----------
    model_or_scores : ChainSSVM, or array-like or sparse matrix of shape (n_labels, n_labels)
        A fitted model without edge features, which scores rows of features. Or the score of the
        transition from the row's to the column's label; ``-inf`` forbids a transition, and so do
        entries that a sparse matrix does not store.
    lag : int or None, default=None
        Maximum number of later positions before a label is returned. If None, a label is returned
        only when it is final.
    classes, mask, start, end : optional
        As in :func:`viterbi`. Must be None if a model is given.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a score is NaN or ``+inf``, `lag` is negative, the model has
        edge features, or `classes`, `mask`, `start` or `end` is given with a model.
    TypeError
        If `lag` is not an integer, or the model is not a ChainSSVM.
    NotFittedError
        If the model is not fitted.

    See Also
    --------
    viterbi : Decode whole chains.

    Notes
    -----
    For each label of the last position there is one best labeling of the positions so far. A label
    is final if all of these labelings have it; no later position can change it. If a label is not
    final after `lag` later positions, the label of the best labeling so far is returned, and all
    labelings with another label at this position are discarded. Returned labels are therefore
    always an allowed path, but a short `lag` may exclude better paths. Without `lag`, the labels
    are those of :func:`viterbi` or, given a model, of its ``predict``, unless two labelings differ
    by rounding errors only.

    A position takes O(n_labels^2) time, or O(nnz + n_labels) with nnz stored transitions, plus
    O(lag n_labels) if a label has to be decided. The memory is O(lag n_labels), or O(n_labels) for
    each position that is not final.

    Examples
    --------
    >>> from sstruct.inference import StreamingViterbi
    >>> stream = StreamingViterbi([[1.0, 0.0], [0.0, 1.0]], classes=["quiet", "loud"])
    >>> stream.push([[2.0, 0.0]]).tolist()
    []
    >>> stream.push([[0.0, 0.5], [0.0, 4.0]]).tolist()
    ['quiet']
    >>> stream.flush().tolist()
    ['loud', 'loud']
    """

    def __init__(
        self,
        model_or_scores: Any,
        *,
        lag: int | None = None,
        classes: Iterable[Any] | None = None,
        mask: Mask = None,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
    ) -> None:
        if lag is not None:
            lag = whole_number(lag, "lag")
            if lag < 0:
                raise ValueError(f"lag must be at least 0 or None, found {lag}")
        self._weights, edge_scores = None, model_or_scores
        if isinstance(model_or_scores, BaseEstimator):
            if any(each is not None for each in (classes, mask, start, end)):
                raise ValueError("classes, mask, start and end must be None if a model is given")
            chain = _linear_chain(model_or_scores)
            self._weights, self._intercept = chain.weights, chain.intercept
            edge_scores, start, end = _scores(chain)
            classes = chain.classes
        elif not sparse.issparse(edge_scores):
            edge_scores = real_array(edge_scores, "model_or_scores")
        shape = edge_scores.shape
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
            raise ValueError(f"model_or_scores must have shape (n_labels, n_labels), found {shape}")
        scores = ChainScores(shape[0], edge_scores, classes, mask, start, end)
        self._classes = scores.classes
        self._stream = ChainStream(scores.terms, -1 if lag is None else min(lag, 2**62))

    def __reduce__(self):
        raise TypeError(
            "a StreamingViterbi cannot be pickled or copied; pickle the model or the scores, and "
            "create another stream from them"
        )

    @property
    def n_pending(self) -> int:
        """Number of positions whose labels have not been returned."""
        return self._stream.n_pending

    def push(self, rows: ArrayLike) -> np.ndarray:
        """Append positions and return the labels that are decided now.

        Parameters
        ----------
        rows : array-like of shape (n_rows, n_labels) or (n_rows, n_features)
            Score of each label at each new position or, given a model, its features, which may be a
            sparse matrix.

        Returns
        -------
        ndarray of shape (n_decided,)
            The labels of the next positions in order, which may be none: int32 column numbers, or
            labels if there are `classes`.

        Raises
        ------
        ValueError
            If `rows` has another shape or contains NaN or ``+inf``, or ``-inf`` if a model is
            given, in which case no row is appended; or if every labeling is forbidden from a row
            on. The rows before it are appended then, and their labels can be obtained by
            :meth:`flush`.
        """
        if self._weights is not None and sparse.issparse(rows):
            rows = rows.toarray()
        rows = real_array(rows, "rows", single=True)
        if rows.ndim != 2:
            raise ValueError(
                f"rows must have two dimensions, found shape {rows.shape}; one row is [row]"
            )
        if self._weights is not None:
            rows = self._node_scores(rows)
        return self._labels(self._stream.push(rows, "rows"))

    def flush(self) -> np.ndarray:
        """End the chain, return the labels of all pending positions, and start a new chain.

        Returns
        -------
        ndarray of shape (n_pending,)
            As in :meth:`push`.

        Raises
        ------
        ValueError
            If every labeling is forbidden, by the end scores or given the labels returned before. A
            new chain is started in this case too.
        """
        return self._labels(self._stream.flush())

    def _node_scores(self, rows):
        if rows.shape[1] != len(self._weights):
            raise ValueError(
                f"rows has {rows.shape[1]} features, but the model is expecting "
                f"{len(self._weights)}"
            )
        if not np.isfinite(rows).all():
            raise ValueError("rows must not contain NaN or infinity")
        return rows @ self._weights + self._intercept

    def _labels(self, codes):
        return codes if self._classes is None else self._classes[codes]


def _linear_chain(model):
    """Return the ExportedModel of a ChainSSVM."""
    exported = model._exported() if hasattr(model, "_exported") else None
    if exported is None or exported.kind != "chain":
        raise TypeError(
            f"model_or_scores must be a fitted ChainSSVM or scores, found {shortened(model)}"
        )
    return exported


def _scores(chain):
    """Return the scores of transitions, starts and ends, -inf where they are forbidden."""
    K = len(chain.classes)
    edge = np.zeros((K, K)) if chain.transitions is None else chain.transitions
    edge = edge if chain.allowed_next is None else np.where(chain.allowed_next, edge, -np.inf)
    if chain.allowed_boundaries is None:
        return edge, chain.start, chain.end
    return edge, *np.where(chain.allowed_boundaries, [chain.start, chain.end], -np.inf)
