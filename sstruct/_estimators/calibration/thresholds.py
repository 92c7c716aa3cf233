"""Decision thresholds of label sets that maximize an F1 score on held-out rows."""

from itertools import pairwise

import numpy as np

# Design: a rule maps held-out scores to one threshold per label. Rules differ in their flexibility:
# no tuning, one shared threshold, and thresholds per label that are shrunk more or less towards the
# shared one. The held-out rows are in parts, and a rule is scored on each part with thresholds from
# the other parts, so that flexible rules are chosen only if they generalize.

SCORING = ("f1_micro", "f1_macro", "f1_samples")
# Number of average positive rows that are added to the rows of a label. Below 1, thresholds of
# labels with a few positive rows are too low; above 100, they are all close to the shared one.
STRENGTHS = (100, 10, 1)
MAX_PARTS = 10
MAX_SWEEPS = 20
# Thresholds are tuned if the gain is more than this number of standard errors. On random parts of
# seven data sets, 8 of 250 tunings decreased the score on other rows with 1, and 1 of 221 with 2.
MIN_STANDARD_ERRORS = 2
# Groups of rows for the standard error.
ROW_GROUPS = 20


def set_f1_score(scoring, sets, predicted, weights):
    """Return an F1 score of (n, K) sets, as in scikit-learn with ``zero_division=0``."""
    both, size = sets & predicted, sets.astype(np.int64) + predicted
    if scoring == "f1_samples":
        scores = _ratio(2.0 * both.sum(axis=1), size.sum(axis=1))
        return float(weights @ scores / weights.sum())
    both, size = 2 * (weights @ both), weights @ size
    if scoring == "f1_micro":
        both, size = both.sum(), size.sum()
    return float(_ratio(both, size).mean())


def _ratio(numerator, denominator):
    """Divide; 0 / 0 is 0."""
    positive = np.asarray(denominator) > 0
    return np.divide(numerator, denominator, out=np.zeros(positive.shape), where=positive)


class Curve:
    """The weight of rows with a score above each threshold.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    on : ndarray of bool of shape (n,)
        Whether a row has the label.
    weights : ndarray of shape (n,)
        Positive.

    Attributes
    ----------
    positive : float
        Weight of all rows with the label.
    """

    def __init__(self, scores, on, weights):
        order = np.argsort(-scores, kind="stable")
        self.scores, self._on = scores[order], on[order]
        self._of_on = np.cumsum(np.r_[0, (weights * on)[order]])
        self._of_all = np.cumsum(np.r_[0, weights[order]])
        self.positive = self._of_on[-1]

    def above(self, thresholds):
        """Return the weight of rows with a score above, with the label and in total."""
        count = np.searchsorted(-self.scores, -thresholds, side="left")
        return self._of_on[count], self._of_all[count]

    def cuts(self):
        """Return the thresholds at which an F1 score may be largest, in decreasing order.

        Each is just below the score of a row with the label. Between two of them, a lower threshold
        only adds rows without the label.
        """
        return cuts_below(self.scores, np.flatnonzero(self._on))


def cuts_below(scores, at):
    """Return thresholds between the scores at some indices and the next lower scores.

    scores : ndarray of shape (n,), in decreasing order
    """
    distinct = np.unique(scores)
    rank = np.unique(np.searchsorted(distinct, scores[at]))[::-1]
    gaps = np.diff(distinct)
    beneath = gaps[0] if len(gaps) else 2 * abs(distinct[0]) or 2.0
    lower = np.r_[distinct[0] - beneath, distinct]
    middle = (lower[rank] + distinct[rank]) / 2
    # Without a number between them, the lower score separates the two.
    return np.where(middle < distinct[rank], middle, lower[rank])


def shared_threshold(scoring, scores, sets, weights):
    """Return the threshold for all labels with the largest F1 score.

    This is the mean over samples for "f1_samples", otherwise the micro average.
    """
    if scoring == "f1_samples":
        order = np.argsort(-scores, axis=1, kind="stable")
        on = np.take_along_axis(sets, order, axis=1)
        size = sets.sum(axis=1, keepdims=True) + np.arange(1, sets.shape[1] + 1)
        gains = np.diff(2 * np.cumsum(on, axis=1) / size, axis=1, prepend=0)
        gains *= weights[:, np.newaxis]
        return best_cut(np.take_along_axis(scores, order, axis=1).ravel(), gains.ravel())
    pooled = pooled_curve(scores, sets, weights)
    cuts = pooled.cuts()
    on, above = pooled.above(cuts)
    return cuts[np.argmax(2 * on / (above + pooled.positive))]


def pooled_curve(scores, sets, weights):
    """Return the Curve of all labels together."""
    return Curve(scores.ravel(), sets.ravel(), np.repeat(weights, scores.shape[1]))


def best_cut(scores, gains):
    """Return the threshold with the largest sum of gains of the scores above it.

    Among equally good thresholds, the highest one is returned; if no sum is positive, the largest
    score.
    """
    order = np.argsort(-scores, kind="stable")
    scores, sums = scores[order], np.cumsum(gains[order])
    last = np.r_[scores[1:] < scores[:-1], True]  # equal scores have one sum
    best = np.argmax(np.where(last, sums, -np.inf))
    return scores[0] if sums[best] <= 0 else cuts_below(scores, [best])[0]


class LabelThresholds:
    """Thresholds per label, with the largest micro or macro F1 score.

    Source of the search for micro F1: W. Dinkelbach, On Nonlinear Fractional Programming,
    Management Science 13(7), 1967. It is exact.

    Parameters
    ----------
    shared : float
        The shared threshold.
    scores, sets, weights : arrays of shape (n, K), (n, K) and (n,)
    """

    def __init__(self, shared, scores, sets, weights):
        curves = [Curve(scores[:, k], sets[:, k], weights) for k in range(scores.shape[1])]
        # The first one of equally good thresholds is chosen. No row is above the largest score.
        cuts = [np.r_[shared, 0, curve.cuts(), curve.scores[0]] for curve in curves]
        self.thresholds = np.concatenate(cuts)
        self._first = np.cumsum([0, *map(len, cuts)])
        counts = [curve.above(each) for curve, each in zip(curves, cuts, strict=True)]
        self._on, self._above = np.concatenate(counts, axis=1)
        self._positive = np.array([curve.positive for curve in curves])
        pooled = pooled_curve(scores, sets, weights)
        self._average = np.array(pooled.above(self.thresholds)) / pooled.positive

    def best(self, scoring, strength):
        """Return one threshold per label.

        strength : weight of the average positive rows that are added to the rows of each label
        """
        on = self._on + strength * self._average[0]
        above = self._above + strength * self._average[1]
        positive = self._positive + strength
        if scoring == "f1_macro":
            label = np.repeat(np.arange(len(positive)), np.diff(self._first))
            return self.thresholds[self._argmax(_ratio(2 * on, above + positive[label]))]
        score, best = -1.0, None
        while True:
            chosen = self._argmax(2 * on - max(score, 0) * above)
            reached = 2 * on[chosen].sum() / (above[chosen].sum() + positive.sum())
            if reached <= score:
                return self.thresholds[best]
            score, best = reached, chosen

    def _argmax(self, values):
        """Return the index of the first largest value of each label."""
        return np.array([a + np.argmax(values[a:b]) for a, b in pairwise(self._first)])


def sample_thresholds(shared, scores, sets, weights):
    """Increase the sample F1 score by changing the threshold of one label at a time.

    In the end, each threshold is the best one given the others, unless this requires more than
    ``MAX_SWEEPS`` sweeps.
    """
    thresholds = np.full(scores.shape[1], shared)
    predicted = scores > shared
    both, size = (predicted & sets).sum(axis=1), predicted.sum(axis=1) + sets.sum(axis=1)
    for _ in range(MAX_SWEEPS):
        changed = False
        for k in range(scores.shape[1]):
            on, now = sets[:, k], predicted[:, k]
            rest, others = both - (on & now), size - now
            gains = weights * (2 * (rest + on) / (others + 1) - _ratio(2 * rest, others))
            cut = best_cut(scores[:, k], gains)
            then = scores[:, k] > cut
            if gains[then].sum() > gains[now].sum() * (1 + 1e-12) + 1e-12:
                thresholds[k], predicted[:, k], changed = cut, then, True
                both, size = rest + (on & then), others + then
        if not changed:
            break
    return thresholds


def tuned_thresholds(scoring, scores, sets, weights):
    """Return the thresholds of each rule, (n_rules, K), the least flexible one first.

    The first rule is that of no tuning: all thresholds are 0.
    """
    K = scores.shape[1]
    if not sets.any():
        return np.zeros((2 + (len(STRENGTHS) if scoring != "f1_samples" else 1), K))
    shared = shared_threshold(scoring, scores, sets, weights)
    rules = [np.zeros(K), np.full(K, shared)]
    if scoring == "f1_samples":
        return np.array([*rules, sample_thresholds(shared, scores, sets, weights)])
    labels = LabelThresholds(shared, scores, sets, weights)
    return np.array([*rules, *(labels.best(scoring, strength) for strength in STRENGTHS)])


def choose_thresholds(scoring, scores, sets, weights, parts, consistent):
    """Choose a rule by cross-validation over the parts, and return its thresholds.

    Parameters
    ----------
    scoring : {"f1_micro", "f1_macro", "f1_samples"}
    scores, sets, weights : arrays of shape (n, K), (n, K) and (n,)
        Held-out rows.
    parts : ndarray of int of shape (n,)
        At least two different values.
    consistent : callable
        ``consistent(sets)`` returns valid sets.

    Returns
    -------
    thresholds : ndarray of shape (K,)
    score, untuned : float
        F1 scores of the chosen rule, with thresholds from the other parts, and of thresholds of 0.
    """
    names, part_of_row = np.unique(parts, return_inverse=True)
    rules = tuned_thresholds(scoring, scores, sets, weights)
    predicted = np.empty((len(rules), *sets.shape), dtype=bool)
    for part in names:
        here = parts == part
        fitted = tuned_thresholds(scoring, scores[~here], sets[~here], weights[~here])
        for rule, thresholds in enumerate(fitted):
            predicted[rule, here] = consistent(scores[here] > thresholds)

    def measured(rule, rows=slice(None)):
        return set_f1_score(scoring, sets[rows], predicted[rule, rows], weights[rows])

    def standard_error(groups):
        """Return the standard error of the gain of the best rule, by the jackknife."""
        n_groups = groups.max() + 1
        without = [groups != group for group in range(n_groups)]
        gains = np.array([measured(best, rows) - measured(0, rows) for rows in without])
        return np.sqrt((n_groups - 1) * gains.var())

    scores = [measured(rule) for rule in range(len(rules))]
    best = int(np.argmax(scores))
    # The estimate from a few parts is inaccurate, but includes the error of the thresholds.
    rows = np.arange(len(sets)) % min(ROW_GROUPS, len(sets))
    error = max(standard_error(rows), standard_error(part_of_row))
    if scores[best] - scores[0] <= MIN_STANDARD_ERRORS * error:
        best = 0
    return rules[best], scores[best], scores[0]


def label_folds(sets, n_folds):
    """Divide rows into folds such that each has its share of the rows with each label.

    Rows are sorted by their rarest label, and assigned to folds in turn, so that the order of the
    rows has no influence on the shares.

    Returns
    -------
    ndarray of int of shape (n,)
        The fold of each row.
    """
    n, K = sets.shape
    rank = np.empty(K, dtype=np.int64)
    rank[np.argsort(sets.sum(axis=0), kind="stable")] = np.arange(K)
    rarest = np.where(sets, rank, K).min(axis=1)
    fold = np.empty(n, dtype=np.int64)
    fold[np.argsort(rarest, kind="stable")] = np.arange(n) % n_folds
    return fold
