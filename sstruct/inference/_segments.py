"""Decoder of sequences of segments of given scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import check_not_sparse, real_array
from sstruct._checks.shown import plain
from sstruct._input.durations import ANY_DURATION, duration_limits
from sstruct._input.durations import duration_bins as as_bins
from sstruct._oracles.segment._segment_decoder import SegmentDecoder
from sstruct.inference._chain_scores import ChainScores, Mask, limited_scores
from sstruct.inference._chains import ScoredChains


def segment_viterbi(
    node_scores: ArrayLike | Iterable[ArrayLike],
    edge_scores: ArrayLike | None = None,
    *,
    duration_scores: ArrayLike | None = None,
    duration_bins: ArrayLike | Literal["auto"] | None = None,
    min_duration: int | Iterable[int] | Mapping[Any, int] = 1,
    max_duration: int | Iterable[int | None] | Mapping[Any, int | None] | None = None,
    split: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    mask: Mask = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Any]:
    """Find the highest-scoring segmentation of a chain, with scores and limits of durations.

    Divides a chain into segments, each with one label [2]_. The score of a segmentation is the
    score of its labels in :func:`viterbi`, plus a score of the duration of each segment, the number
    of its positions, by its label. With the default arguments, segments are the runs of equal
    labels of the best labeling of :func:`viterbi`.

    Parameters
    ----------
    node_scores : array-like of shape (n_positions, n_labels), or list of such
        Score of each label at each position; ``-inf`` forbids a label. The chains of a list, of an
        array with three dimensions or of Sequences are decoded separately. Forbid a label with
        ``-inf``, not with a large negative number, which would increase rounding errors.
    edge_scores : array-like of shape (n_labels, n_labels), default=None
        Score of the transition from the row's to the column's label, between neighboring positions;
        ``-inf`` forbids a transition. The diagonal contains the scores of steps inside a segment.
        Default: 0.
    duration_scores : array-like of shape (n_labels, n_bins), default=None
        Score of a segment with each label and bin of durations; ``-inf`` forbids it. Default: 0.
    duration_bins : array-like of int of shape (n_bins,) or "auto", default=None
        Smallest duration of each bin, increasing, the first one 1. The last bin also contains all
        longer durations. ``"auto"``: 1, 2, 4, ..., 1024. None: a bin for each duration from 1 to
        n_bins - 1, and the last one for those from n_bins on.
    min_duration : int, array-like of int of shape (n_labels,) or dict, default=1
        Minimum duration of a segment, for all labels, for each, or by label.
    max_duration : int, None, list of n_labels such or dict, default=None
        Maximum duration of a segment, for all labels, for each, or by label. None, and labels that
        a dict does not contain: no maximum.
    split : float or array-like of shape (n_labels,), default=None
        Score of a boundary between two adjacent segments with the same label, for all labels or for
        each, in place of a transition. None: adjacent segments have different labels, so a run
        of equal labels is one segment.
    classes, mask, start, end, n_jobs : optional
        As in :func:`viterbi`.

    Returns
    -------
    segments : list of tuple (start, stop, label), or list of such
        The best segmentation. The positions of a segment are ``start`` to ``stop - 1``; the label
        is a column number, or a label if there are `classes`.
    value : float, or ndarray of shape (n_chains,)
        The score of the segmentation. A chain without positions, which only lists may contain, has
        no segments and the score 0.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a score is NaN, ``+inf`` or finite and beyond 1e100, a duration
        is invalid, or a chain has no segmentation that the durations and forbidden labels and
        transitions allow; the message names the chain.
    TypeError
        If a duration is not an integer.

    See Also
    --------
    viterbi : The same without durations.
    sstruct.spans.spans_of : Spans of a label sequence.

    Notes
    -----
    The result is exact. The time is O(n_positions n_labels (n_labels + n_bins)), also without a
    maximum duration: all durations of a bin have the same score, so the best one is the
    maximum in a moving window [1]_, in constant time per position, and a minimum or maximum
    duration only moves the ends of windows. The memory in addition to the input is
    O(n_positions n_labels).

    Scores of a segment's nodes are differences of cumulative sums over positions. Segmentations
    whose scores differ by less than the rounding errors of these sums count as equal; the score of
    the result is computed without them.

    References
    ----------
    .. [1] D. Lemire. Streaming maximum-minimum filter using no more than three comparisons per
       element. Nordic Journal of Computing 13(4), 2006.
    .. [2] S. Sarawagi, W. W. Cohen. Semi-Markov conditional random fields for information
       extraction. NIPS 2004, section 3.1.

    Examples
    --------
    The best labels of single positions, and segments of at least 2 positions:

    >>> from sstruct.inference import segment_viterbi
    >>> scores = [[1.0, 0.0], [0.0, 0.5], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]]
    >>> segment_viterbi(scores)
    ([(0, 1, 0), (1, 2, 1), (2, 3, 0), (3, 5, 1)], 5.5)
    >>> segment_viterbi(scores, min_duration=2)
    ([(0, 3, 0), (3, 5, 1)], 5.0)

    Segments of 1, of 2 and of more positions score 0, 0.5 and -2:

    >>> segment_viterbi(scores, duration_scores=[[0, 0.5, -2]] * 2, classes=["rest", "walk"])
    ([(0, 1, 'rest'), (1, 2, 'walk'), (2, 3, 'rest'), (3, 5, 'walk')], 6.0)
    """
    chains = ScoredChains(node_scores)
    scores = _DurationScores(chains.n_labels, edge_scores, classes, mask, start, end)
    if chains.n_labels is not None:
        scores.set_durations(duration_scores, duration_bins, min_duration, max_duration, split)

    def new_decoder():
        decoder = SegmentDecoder(scores.bins, scores.least, scores.most)

        def decode(node, name):
            table = decoder.segments(node, scores.terms, scores.duration, scores.split, name)
            if table[1] == -np.inf:
                raise ValueError(_no_segmentation(name, len(node), scores))
            return table

        return decode

    return chains.decoded(scores, new_decoder, n_jobs)


class _DurationScores(ChainScores):
    """Scores of transitions, boundaries and durations."""

    def set_durations(self, duration_scores, duration_bins, min_duration, max_duration, split):
        """Validate the arguments of :func:`segment_viterbi` that chains do not have."""
        K = self.n_labels
        self.bins, self.duration = as_bins(duration_bins), None
        if duration_scores is not None:
            table = real_array(duration_scores, "duration_scores")
            width = len(self.bins) if self.bins is not None else max(table.shape[-1:] or (1,))
            if table.shape != (K, width) or width == 0:
                expected = (K, "n_bins" if self.bins is None else width)
                raise ValueError(f"duration_scores must have shape {expected}, found {table.shape}")
            self.duration = limited_scores(table, "duration_scores")
        if self.bins is None:
            self.bins = np.arange(1, 2 if self.duration is None else self.duration.shape[1] + 1)
        labels = list(range(K)) if self.classes is None else self.classes.tolist()
        self.least, self.most = duration_limits(min_duration, max_duration, labels)
        self.split = None
        if split is not None:
            row = real_array(split, "split")
            if row.shape not in ((), (K,)):
                raise ValueError(f"split must be a number or have shape {(K,)}, found {row.shape}")
            self.split = np.full(K, limited_scores(row, "split"))

    def named(self, segments):
        """Return the segments as a list of tuples with labels."""
        segments = segments.reshape(-1, 3)  # that of a chain without positions is 1-D
        labels = [plain(label) for label in super().named(segments[:, 2])]
        return list(zip(segments[:, 0].tolist(), segments[:, 1].tolist(), labels))

    def _table(self, edge_scores, allowed):
        edge = super()._table(edge_scores, allowed)
        if edge.ndim != 2:
            raise ValueError(
                f"edge_scores must have shape {(self.n_labels, self.n_labels)}, found {edge.shape}"
            )
        return limited_scores(edge, "edge_scores")

    def _stored(self, edge_scores, allowed):
        check_not_sparse(edge_scores, "edge_scores", "an array; use viterbi for sparse transitions")


def _no_segmentation(name, length, scores):
    least, most = scores.least.min(), scores.most.max()
    limits = f"at least {least}" + (f" and at most {most}" if most < ANY_DURATION else "")
    differ = "neighboring segments have different labels, " if scores.split is None else ""
    return (
        f"{name} of {length} positions has no segmentation: segments have {limits} positions, "
        f"{differ}and forbidden labels or transitions, or scores of -inf, exclude the others; "
        "allow shorter or longer segments, or set `split`"
    )
