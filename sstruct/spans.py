"""Spans of a label sequence, such as named entities, and the label schemes that encode them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from sstruct._checks.arrays import is_sized
from sstruct._checks.parameters import check_choice, is_integer
from sstruct._checks.shown import shortened
from sstruct._input.label_schemes import LETTERS, LabelCodes, spans_in
from sstruct._input.labels import label_list

__all__ = ["convert_labels", "labels_of", "spans_of"]

Scheme = Literal["bio", "bioes", "bilou", "iob1", "io"]
Invalid = Literal["repair", "drop", "raise"]

LONGEST = 10**8  # labels; a wrong length must not exhaust the memory


def spans_of(
    labels: Iterable[Any],
    scheme: Scheme = "bio",
    *,
    invalid: Invalid = "repair",
    suffix: bool = False,
) -> list[tuple[int, int, str]]:
    """Return the spans of a label sequence.

    Parameters
    ----------
    labels : sequence of str of length L
        Labels ``"O"`` (outside of spans) and ``"X-type"``, or ``"X"`` if spans have no types, with
        a letter X of the scheme.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        Meaning of the letters. In each scheme, I is the inside of a span.

        - ``"bio"`` (IOB2): the first label of a span is B;
        - ``"bioes"``: also, the last label is E, and a span of one label is S;
        - ``"bilou"``: as ``"bioes"`` with the letters L and U for E and S;
        - ``"iob1"``: B only if the span follows another one of the same type;
        - ``"io"``: no other letter, so adjacent spans of the same type are one span.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat labels that do not follow the scheme, such as I after O in ``"bio"``.

        - ``"repair"``: a span starts at each label that cannot continue a span, as in the script
          conlleval and the default mode of seqeval;
        - ``"drop"``: such spans are omitted, as in the strict mode of seqeval for the first three
          schemes;
        - ``"raise"``: raise a ValueError.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.

    Returns
    -------
    spans : list of tuple (start, stop, type)
        Spans in their order. The labels of a span are ``labels[start:stop]``; the type is a str,
        ``""`` for labels without types.

    Raises
    ------
    ValueError
        If a label is not part of the scheme, or with ``invalid="raise"`` a span does not follow it.

    See Also
    --------
    labels_of : The inverse.
    sstruct.metrics.span_f1_score : F1 score of spans.

    Examples
    --------
    >>> from sstruct.spans import spans_of
    >>> spans_of(["B-PER", "I-PER", "O", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    >>> spans_of(["S-LOC", "B-PER", "O"], scheme="bioes")
    [(0, 1, 'LOC'), (1, 2, 'PER')]
    >>> spans_of(["S-LOC", "B-PER", "O"], scheme="bioes", invalid="drop")
    [(0, 1, 'LOC')]
    """
    return spans_in(label_list(labels, "labels"), LabelCodes(scheme, suffix), invalid, "labels")


def labels_of(
    spans: Iterable[tuple[int, int, str]],
    length: int,
    scheme: Scheme = "bio",
    *,
    suffix: bool = False,
) -> list[str]:
    """Return the label sequence of spans.

    Parameters
    ----------
    spans : iterable of tuple (start, stop, type)
        Spans that do not overlap, in any order, with ``0 <= start < stop <= length``. The type is
        ``""`` for labels without types.
    length : int
        Length L of the label sequence, from 0 to 10^8.
    scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
        The label scheme, as for :func:`spans_of`.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.

    Returns
    -------
    labels : list of str of length L
        Labels for which :func:`spans_of` returns the spans.

    Raises
    ------
    ValueError
        If spans overlap, do not fit into the sequence or, with ``scheme="io"``, are adjacent and
        have the same type.

    See Also
    --------
    spans_of : The inverse.

    Examples
    --------
    >>> from sstruct.spans import labels_of
    >>> labels_of([(0, 2, "PER"), (3, 4, "LOC")], length=4)
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    >>> labels_of([(0, 2, "PER"), (3, 4, "LOC")], length=4, scheme="bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    check_choice("scheme", scheme, tuple(LETTERS))
    if not is_integer(length) or not 0 <= length <= LONGEST:
        raise ValueError(
            f"length must be an integer from 0 to {LONGEST}, found {shortened(length)}"
        )
    shown = {meaning: letter for letter, meaning in LETTERS[scheme].items()}
    labels = ["O"] * length
    end, last = 0, None
    for start, stop, kind in sorted(map(_checked_span, spans)):
        if not end <= start < stop <= length:
            span = (start, stop, kind)
            raise ValueError(
                f"span {span} overlaps {last}" if 0 <= start < end
                else f"span {span} must have 0 <= start < stop <= {length}"
            )  # fmt: skip
        touches = last is not None and start == end and kind == last[2]
        if touches and scheme == "io":
            raise ValueError(
                f"spans {last} and {(start, stop, kind)} are adjacent and have the same type, "
                "which the scheme 'io' cannot encode; use another scheme"
            )
        letters = ["I"] * (stop - start)
        if "B" in shown and (scheme != "iob1" or touches):
            letters[0] = "B"
        if "E" in shown:
            letters[-1] = "E" if stop - start > 1 else "S"
        for t, letter in enumerate(letters, start):
            pieces = [shown[letter], kind] if kind else [shown[letter]]
            labels[t] = "-".join(pieces[::-1] if suffix else pieces)
        end, last = stop, (start, stop, kind)
    return labels


def _checked_span(span):
    if not is_sized(span) or isinstance(span, str) or len(span) != 3:
        raise ValueError(f"a span must be a tuple (start, stop, type), found {shortened(span)}")
    start, stop, kind = span
    if not (is_integer(start) and is_integer(stop) and isinstance(kind, str)):
        raise ValueError(
            f"a span must have an integer start, an integer stop and a str as type, found "
            f"{shortened(span)}"
        )
    return int(start), int(stop), kind


def convert_labels(
    labels: Iterable[Any],
    scheme: Scheme,
    to: Scheme,
    *,
    invalid: Invalid = "raise",
    suffix: bool = False,
) -> list[str]:
    """Convert a label sequence to another scheme.

    Parameters
    ----------
    labels : sequence of str of length L
        Labels in `scheme`.
    scheme, to : {"bio", "bioes", "bilou", "iob1", "io"}
        Schemes of the given and of the returned labels, as for :func:`spans_of`.
    invalid : {"repair", "drop", "raise"}, default="raise"
        How to treat labels that do not follow `scheme`, as for :func:`spans_of`.
    suffix : bool, default=False
        Whether the letter follows the type, as in ``"PER-B"``.

    Returns
    -------
    labels : list of str of length L
        The same spans in the scheme `to`.

    Raises
    ------
    ValueError
        See :func:`spans_of` and :func:`labels_of`.

    Examples
    --------
    >>> from sstruct.spans import convert_labels
    >>> convert_labels(["B-PER", "I-PER", "O", "B-LOC"], "bio", to="bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    >>> convert_labels(["I-PER", "I-PER", "O"], "bio", to="bio", invalid="repair")
    ['B-PER', 'I-PER', 'O']
    """
    labels = label_list(labels, "labels")
    spans = spans_in(labels, LabelCodes(scheme, suffix), invalid, "labels")
    return labels_of(spans, len(labels), to, suffix=suffix)
