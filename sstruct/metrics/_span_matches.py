"""Counts and most frequent confusions of partially matching spans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import check_listed
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._input.label_schemes import LabelCodes
from sstruct.metrics._flat_spans import read_spans
from sstruct.spans import Invalid, Scheme

MATCHINGS = ("strict", "exact", "partial", "type")
OUTCOMES = ("correct", "incorrect", "partial", "missed", "spurious")
N_EXAMPLES = 3


def span_match_counts(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    scheme: Scheme = "bio",
    invalid: Invalid = "repair",
    suffix: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_label: Any = None,
) -> list[dict[str, Any]]:
    """Count correct, partly correct and wrong spans as in SemEval-2013.

    Parameters
    ----------
    y_true, y_pred : list of n label sequences
        True and predicted labels, as a list, an object array or Sequences.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the sequences.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    rows : list of dict
        Four rows for all spans, whose type is None, and four for each type, sorted.
        ``pandas.DataFrame(rows)`` is a table. The keys are

        - ``"type"``: the type of spans, or None;
        - ``"matching"``: ``"strict"``, ``"exact"``, ``"partial"`` or ``"type"``;
        - ``"correct"``, ``"incorrect"``, ``"partial"``, ``"missed"``, ``"spurious"``: counts, int
          or, with `sample_weight`, float;
        - ``"precision"``, ``"recall"``, ``"f1-score"``: float; 0 / 0 is 0.

    See Also
    --------
    span_f1_score : Only spans with correct bounds and types count.
    span_confusions : Table of the most frequent errors.

    Notes
    -----
    Each predicted span is compared with the true spans that it overlaps:

    ============  ======================  =============  ==============  =================
    matching      same bounds and type    same bounds    same type       other overlap
    ============  ======================  =============  ==============  =================
    ``strict``    correct                 incorrect      incorrect       incorrect
    ``exact``     correct                 correct        incorrect       incorrect
    ``partial``   correct                 correct        partial         partial
    ``type``      correct                 incorrect      correct         incorrect
    ============  ======================  =============  ==============  =================

    True spans without a predicted span are missed, and predicted spans without a true span are
    spurious. Precision is the number of correct spans plus half of the partial ones, divided by the
    number of predicted spans; recall is divided by the number of true spans.

    The task [1]_ does not define the result if a span overlaps several spans. Here, predicted spans
    are compared in their order, each with the true spans that are not yet matched, and each span is
    matched at most once: with the first true span for which the table says "correct", otherwise
    with the first one that overlaps. In the matching ``type``, a predicted span that overlaps
    several true spans of its type is matched with the one whose bounds differ least. The counts of
    a type compare only the true and the predicted spans of this type, so that those of all types do
    not add up to the total. These are the rules of nervaluate 1.2.1, except that it does not count
    overlaps of less than 1 % of a true span.

    References
    ----------
    .. [1] I. Segura-Bedmar, P. Martinez, M. Herrero-Zazo. SemEval-2013 Task 9: Extraction of
       drug-drug interactions from biomedical texts. SemEval 2013.

    Examples
    --------
    >>> from sstruct.metrics import span_match_counts
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "O", "O", "B-PER"]]
    >>> for row in span_match_counts(y_true, y_pred)[:4]:
    ...     print(row["matching"], row["correct"], row["incorrect"], row["partial"])
    strict 0 2 0
    exact 1 1 0
    partial 1 0 1
    type 1 1 0
    """
    *both, weights = read_spans(
        y_true, y_pred, LabelCodes(scheme, suffix), invalid, sample_weight, ignore_label
    )
    spans = span_lists(both, weights)
    rows = []
    for kind in (None, *sorted({span[2] for part in spans for span in part})):
        kind_spans = [[span for span in part if kind is None or span[2] == kind] for part in spans]
        first, closest = (_pairs(*kind_spans, choose) for choose in (_first, _closest))
        for matching in MATCHINGS:
            counts = dict.fromkeys(OUTCOMES, 0)
            for true, predicted in closest if matching == "type" else first:
                counts[_outcome(matching, true, predicted)] += (true or predicted)[3]
            rows.append({"type": kind, "matching": matching, **counts, **_scores(counts)})
    return rows


def span_lists(both, weights=None):
    """Return the true and the predicted spans as lists of (start, stop, type, weight, sequence).

    Positions count the labels of all sequences.
    """
    out = []
    for spans in both:
        sequence = spans.sequence()
        span_weights = np.ones(len(sequence), dtype=int) if weights is None else weights[sequence]
        kinds = [spans.kinds[k] for k in spans.kind.tolist()]
        bounds = spans.start.tolist(), spans.stop.tolist()
        out.append(list(zip(*bounds, kinds, span_weights.tolist(), sequence.tolist())))
    return out


def _first(predicted, overlapping):
    """Return the first overlapping true span; one with equal bounds is the only one."""
    return overlapping[0]


def _closest(predicted, overlapping):
    """Return the true span of the same type with the closest bounds, or the first that overlaps."""
    same = [true for true in overlapping if true[2] == predicted[2]]

    def distance(true):
        return abs(true[0] - predicted[0]) + abs(true[1] - predicted[1])

    return min(same, key=distance) if same else overlapping[0]


def _pairs(true, predicted, choose):
    """Return pairs of a true and a predicted span; None for spans without a counterpart."""
    first = np.searchsorted([each[1] for each in true], [span[0] for span in predicted], "right")
    last = np.searchsorted([each[0] for each in true], [span[1] for span in predicted])
    pairs, matched = [], set()
    for span, i, k in zip(predicted, first.tolist(), last.tolist()):
        overlapping = [each for each in true[i:k] if each[0] not in matched]
        match = choose(span, overlapping) if overlapping else None
        pairs.append((match, span))
        if match is not None:
            matched.add(match[0])
    return pairs + [(span, None) for span in true if span[0] not in matched]


def _outcome(matching, true, predicted):
    if predicted is None:
        return "missed"
    if true is None:
        return "spurious"
    bounds, kinds = true[:2] == predicted[:2], true[2] == predicted[2]
    correct = {
        "strict": bounds and kinds, "exact": bounds, "partial": bounds, "type": kinds
    }  # fmt: skip
    if correct[matching]:
        return "correct"
    return "partial" if matching == "partial" else "incorrect"


def _scores(counts):
    right = counts["correct"] + counts["partial"] / 2
    both = sum(counts[name] for name in OUTCOMES[:3])
    n_found, n_true = both + counts["spurious"], both + counts["missed"]
    total = n_found + n_true
    return {
        "precision": float(right / n_found) if n_found else 0.0,
        "recall": float(right / n_true) if n_true else 0.0,
        "f1-score": float(2 * right / total) if total else 0.0,
    }


def span_confusions(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    *,
    tokens: Iterable[Any] | None = None,
    n: int | None = 20,
    scheme: Scheme | None = "bio",
    background: Iterable[Hashable] = (),
    invalid: Invalid = "repair",
    suffix: bool = False,
    ignore_label: Any = None,
) -> list[dict[str, Any]]:
    """Return the most frequent errors of predicted spans, with examples.

    Parameters
    ----------
    y_true, y_pred : list of n_sequences label sequences
        True and predicted labels, as a list, an object array or Sequences.
    tokens : list of n_sequences sequences, default=None
        Token of each label, such as words, for the examples.
    n : int or None, default=20
        Largest number of rows, at least 1; None for all.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"} or None, default="bio"
        The scheme of the labels, see :func:`sstruct.spans.spans_of`. With None, the labels are
        those of frames, of any hashable type: a span is a maximal run of frames with the same
        label, which is its type.
    background : iterable of labels, default=()
        Labels that are outside of spans, in addition to ``"O"`` unless `scheme` is None.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme: as the script conlleval and the default
        mode of seqeval, as its strict mode, or by an error.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.
    ignore_label : label, default=None
        True label of nodes to ignore. If it is given, nodes whose true label is None or NaN are
        ignored, too; otherwise, they raise an error. An ignored node ends a span, like O.

    Returns
    -------
    rows : list of dict
        Errors by decreasing count. ``pandas.DataFrame(rows)`` is a table. The keys are

        - ``"true"``, ``"predicted"``: types of the spans; None without such a span;
        - ``"error"``: ``"boundary"`` (same type, other bounds), ``"type"`` (same bounds),
          ``"boundary and type"``, ``"missed"`` or ``"spurious"``;
        - ``"count"``: int, number of such errors;
        - ``"examples"``: list of up to three tuples (sequence, true, predicted), of the index of
          the sequence and, for each span, its tokens as a str, or its bounds (start, stop) without
          `tokens`; None without such a span.

    See Also
    --------
    span_confusion_matrix : Counts of the types of spans with equal bounds.

    Notes
    -----
    Spans are matched as by ``"type"`` in :func:`span_match_counts`.

    Examples
    --------
    >>> from sstruct.metrics import span_confusions
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "O", "O", "B-PER"]]
    >>> for row in span_confusions(y_true, y_pred, tokens=["Ada Byron in Rome".split()]):
    ...     print(row["error"], row["true"], row["predicted"], row["examples"])
    boundary PER PER [(0, 'Ada Byron', 'Ada')]
    type LOC PER [(0, 'Rome', 'Rome')]

    Labels of frames:

    >>> frames = {"scheme": None, "background": ["rest"]}
    >>> rows = span_confusions([["rest", "walk", "walk"]], [["rest"] * 3], **frames)
    >>> rows[0]["error"], rows[0]["true"], rows[0]["examples"]
    ('missed', 'walk', [(0, (1, 3), None)])
    """
    if n is not None and (not is_integer(n) or n < 1):
        raise ValueError(f"n must be an integer of at least 1 or None, found {shortened(n)}")
    table = LabelCodes(scheme, suffix, background)
    *both, _ = read_spans(y_true, y_pred, table, invalid, None, ignore_label)
    offsets = both[0].offsets.tolist()
    words = None if tokens is None else checked_tokens(tokens, offsets)
    counts, examples = Counter(), defaultdict(list)
    for true, predicted in _pairs(*span_lists(both), _closest):
        error = error_of(true, predicted)
        if error is None:
            continue
        key = (true and true[2], predicted and predicted[2], error)
        counts[key] += 1
        if len(examples[key]) < N_EXAMPLES:
            i = (true or predicted)[4]
            examples[key].append(
                (i, *(span and _shown(span, offsets[i], words) for span in (true, predicted)))
            )
    return [
        dict(zip(("true", "predicted", "error"), key), count=count, examples=examples[key])
        for key, count in counts.most_common(n)
    ]


def error_of(true, predicted):
    """Return the kind of error of a pair of spans; None if it is correct."""
    if true is None or predicted is None:
        return "missed" if predicted is None else "spurious"
    wrong = ["boundary"] if true[:2] != predicted[:2] else []
    wrong += ["type"] if true[2] != predicted[2] else []
    return " and ".join(wrong) or None


def checked_tokens(tokens, offsets):
    """Return the tokens of all sequences as one list, after checking their numbers."""
    check_listed(tokens, "tokens", "sequences", rejected=(str, bytes))
    if len(tokens) != len(offsets) - 1:
        raise ValueError(f"tokens has {len(tokens)} sequences, expected {len(offsets) - 1}")
    for i, words in enumerate(tokens):
        check_listed(words, f"tokens[{i}]", "tokens", rejected=(str, bytes))
        if len(words) != offsets[i + 1] - offsets[i]:
            raise ValueError(
                f"tokens[{i}] has {len(words)} tokens, expected {offsets[i + 1] - offsets[i]}"
            )
    return list(chain.from_iterable(tokens))


def _shown(span, offset, words):
    start, stop = span[:2]
    if words is None:
        return start - offset, stop - offset
    return " ".join(map(str, words[start:stop]))
