"""Conformity scores, the decrease of the best score if labels are given."""

import numpy as np

from sstruct._compat import safe_indexing
from sstruct._input.label_schemes import LabelCodes, Spans
from sstruct._input.labels import is_label
from sstruct._input.per_sample import PerSample

# Design: every conformity score is a gap: the score of the best labeling with other labels minus
# the score of the best labeling that agrees with the labels in question. For predicted labels it is
# minus their margin; for others, the distance from the best score. Spans and segments are compared
# with the best labeling, so gaps of predicted ones are 0. Gaps of the true labels are compared with
# a threshold, and the same gaps of all candidates define the prediction set. With a negative
# threshold, it is empty if the margin is too small.


def labeling_gaps(structure, model, X, y):
    """Return the gap of the true labeling of each sample, and whether any of its labels is known.

    The gap is that of the best labeling that agrees with the known labels, ``inf`` if it does not
    exist: a label was not seen in the fit, or a mask forbids it; ``-inf`` if there is no other
    labeling. Samples without a possible labeling count as unknown.
    """
    samples = structure.pack(X, model)
    observed = structure.observed(model, samples, y)
    n, sample_index, codes = len(samples), observed.sample, observed.of_labelings
    is_known = np.bincount(sample_index[(codes >= 0) | observed.unseen], minlength=n) > 0
    impossible = np.bincount(sample_index[observed.unseen], minlength=n) > 0
    distribution = structure.distribution(model, samples)
    impossible |= distribution.given(codes).log_partition(1.0) == -np.inf
    is_known &= distribution.log_partition(1.0) > -np.inf
    gaps = np.where(impossible, np.inf, 0.0)
    used = is_known & ~impossible
    if used.any():
        some = structure.pack(safe_indexing(X, np.flatnonzero(used)), model)
        codes = codes[used[sample_index]]
        true_scores = [scores[0] for _, scores in structure.top_k(model, some, 1, codes)]
        ranked = structure.top_k(model, some, 2)
        best = np.array([scores[0] for _, scores in ranked])
        best_codes = np.concatenate([labelings[0] for labelings, _ in ranked])
        agrees = structure.agree(model, codes, best_codes)
        is_predicted = np.logical_and.reduceat(agrees, some.offsets[:-1])
        predicted_gaps = [gaps_of_ranked(scores)[0] for _, scores in ranked]
        gaps[used] = np.where(is_predicted, predicted_gaps, np.maximum(best - true_scores, 0))
    return gaps, is_known


def gaps_of_ranked(scores):
    """Return the gap of each of the best labelings, given their scores in decreasing order.

    That of the best one is valid if there are two scores, or no other labeling.
    """
    gaps = scores[0] - scores
    gaps[0] = -gaps[1] if len(gaps) > 1 else -np.inf
    return gaps


def true_label_gaps(structure, model, X, y):
    """Return the gap of each known label, and its sample.

    ``inf`` for labels not seen in the fit, ``-inf`` for the only possible label. For label sets,
    the gap of each label being on or off. Labels of samples without a possible labeling count as
    unknown.
    """
    samples = structure.pack(X, model)
    observed = structure.observed(model, samples, y)
    nodes = structure.distribution(model, samples, exact=False)
    others, true_scores = (
        nodes.given(observed.codes, excluded).best_scores() for excluded in (True, False)
    )
    with np.errstate(invalid="ignore"):  # both are -inf if no labeling is possible
        gaps = np.where(observed.unseen, np.inf, others - true_scores)
    known = (observed.unseen | (observed.codes >= 0)) & (nodes.best_scores() > -np.inf)
    return gaps[known], observed.sample[known]


def labels_within(scores, threshold):
    """Return masks of the labels whose gap is at most a threshold, in the form of max-marginals."""
    if isinstance(scores, np.ndarray) and scores.dtype != object:
        with np.errstate(invalid="ignore"):  # all are -inf if no labeling is possible
            best = scores.max(axis=-1, keepdims=True, initial=-np.inf)
            if threshold >= 0:
                return best - scores <= threshold
            # Only the best label has a negative gap: minus its distance from the second one.
            several = scores.shape[-1] > 1
            second = np.partition(scores, -2, axis=-1)[..., -2:-1] if several else -np.inf
            return (scores == best) & (second - best <= threshold)
    masks = [labels_within(each, threshold) for each in scores]
    return masks if isinstance(scores, list) else PerSample.from_items(masks)


class SpanGaps:
    """Gaps of spans: the gap of the best labeling with a span, among the k best labelings.

    Parameters
    ----------
    structure, model : of a ChainSSVM
    scheme, suffix : as in :func:`sstruct.spans.spans_of`
    """

    def __init__(self, structure, model, scheme, suffix):
        self.structure, self.model = structure, model
        self.table, classes = LabelCodes(scheme, suffix), model.classes_.tolist()
        self.codes = self.table.encoded(classes, len(classes))
        # Validates the labels.
        Spans(self.codes, np.array([0, len(classes)]), self.table, "repair",
              lambda _: ("classes_", classes))  # fmt: skip

    def ranked(self, samples, k):
        """Return the spans in the k best labelings of each sample, with their gaps.

        Returns
        -------
        rows : ndarray of int of shape (m, 4)
            Sample, start, stop and index of the type, sorted.
        gaps : ndarray of shape (m,)
        kinds : list
            All types.
        """
        ranked = self.structure.top_k(self.model, samples, k)
        counts = np.array([len(scores) for _, scores in ranked], dtype=np.intp)
        lengths = np.repeat(samples.lengths, counts)
        offsets = np.append(0, np.cumsum(lengths))
        labels = np.concatenate([codes.ravel() for codes, _ in ranked] or [[]]).astype(np.intp)
        spans = Spans(self.codes[labels], offsets, self.table, "repair", None)
        labeling, sample = spans.sequence(), np.repeat(np.arange(len(ranked)), counts)
        gaps = np.concatenate([scores[0] - scores for _, scores in ranked] or [[]])[labeling]
        rows = _rows_of(spans, labeling, sample)
        order = np.lexsort((gaps, *rows.T[::-1]))
        rows, first = np.unique(rows[order], axis=0, return_index=True)
        return rows, gaps[order][first], spans.kinds

    def within(self, samples, threshold, k):
        """Return the rows of the spans whose gap is at most a threshold, and all types."""
        rows, gaps, kinds = self.ranked(samples, k)
        return rows[gaps <= threshold], kinds

    def of_truth(self, X, y, k):
        """Return the gap of each true span, its sample, and whether samples have a known label.

        ``inf`` for spans in none of the k best labelings. Unknown labels are outside of spans.
        """
        samples = self.structure.pack(X, self.model)
        labels = self.structure.labels(y, samples)
        unknown = is_label(labels, self.structure.ignore_label)
        sample_index = np.repeat(np.arange(len(samples)), samples.lengths)
        is_known = np.bincount(sample_index[~unknown], minlength=len(samples)) > 0
        rows, gaps, _ = self.ranked(samples, k)  # first, so that its types have the same indices
        codes = np.zeros(len(labels), dtype=np.intp)
        known = labels[~unknown].tolist()
        codes[~unknown] = self.table.encoded(known, len(known))
        spans = Spans(codes, samples.offsets, self.table, "repair", lambda i: (f"y[{i}]", y[i]))
        sequence = spans.sequence()
        true = _rows_of(spans, sequence, np.arange(len(samples)))
        gap_of = dict(zip(map(tuple, rows.tolist()), gaps.tolist(), strict=True))
        true_gaps = [gap_of.get(tuple(row), np.inf) for row in true.tolist()]
        return np.array(true_gaps, dtype=float), sequence, is_known


def _rows_of(spans, labeling, sample):
    """Return sample, start, stop and index of the type of Spans of several labelings."""
    first = spans.offsets[labeling]
    return np.stack([sample[labeling], spans.start - first, spans.stop - first, spans.kind], axis=1)
