"""Label schemes of spans, and the spans of many label sequences at once."""

import numpy as np

from sstruct._checks.arrays import check_listed, first_true
from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct._input.labels import is_hashable, is_missing, ordered
from sstruct._input.transition_masks import split_label

# Letters of each scheme; values are the letters of "bioes" with the same meaning.
LETTERS = {
    "bio": {"B": "B", "I": "I"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "bilou": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "iob1": {"B": "B", "I": "I"},
    "io": {"I": "I"},
}
OUTSIDE = ("O", "")
PLACES = "OBIES"  # letters of "bioes", whose indices encode them


class LabelCodes(dict):
    """Codes of labels, in the order in which the labels are first looked up; 0 is outside of spans.

    scheme : a key of LETTERS, or None if the labels are those of frames: then each label is the
        type of a span, adjacent equal labels are one span, and labels in `background` are outside
    """

    def __init__(self, scheme, suffix=False, background=()):
        self.scheme, self.suffix = scheme, suffix
        self.parts = [OUTSIDE]  # letter of "bioes" and type of each code; None: not a valid label
        if scheme is not None:
            check_choice("scheme", scheme, tuple(LETTERS))
            self["O"] = 0
        else:
            check_listed(background, "background", "labels", rejected=(str, bytes))
        self.update(dict.fromkeys(ordered(background), 0))

    def __missing__(self, label):
        self.parts.append(self._split(label))  # may raise, before the label has a code
        code = self[label] = len(self.parts) - 1
        return code

    def _split(self, label):
        if self.scheme is None:
            return None if is_missing(label) or not is_hashable(label) else ("I", label)
        parts = split_label(label, LETTERS[self.scheme], self.suffix)
        if parts is not None and parts != OUTSIDE:
            parts = LETTERS[self.scheme][parts[0]], str(parts[1])
        return parts

    def encoded(self, labels, length):
        """Return the codes of labels as an array; -1 for labels that are not hashable."""
        labels = list(labels)
        try:
            return np.fromiter(map(self.__getitem__, labels), np.intp, length)
        except (TypeError, ValueError):  # memoryviews raise the latter
            codes = (self[label] if is_hashable(label) else -1 for label in labels)
            return np.fromiter(codes, np.intp, length)

    def expected(self):
        """Return a description of the valid labels, for errors."""
        if self.scheme is None:
            return "a hashable label that is not missing"
        ends = [f"{'type-' if self.suffix else ''}{x}{'' if self.suffix else '-type'}"
                for x in LETTERS[self.scheme]]  # fmt: skip
        return (
            f"'O' or a label {', '.join(map(repr, ends))} of the scheme {self.scheme!r}; the other "
            f"schemes are {', '.join(repr(s) for s in LETTERS if s != self.scheme)}"
        )


class Spans:
    """The spans of label sequences, in their order, as arrays.

    Parameters
    ----------
    codes : ndarray of intp of shape (n_labels,)
        Codes of the labels of all sequences.
    offsets : ndarray of shape (n_sequences + 1,)
        Start of each sequence, and n_labels.
    table : LabelCodes
    invalid : {"repair", "drop", "raise"}
        Whether spans that do not follow the scheme are kept, removed or raise an error.
    labels_at : callable
        Maps sequence i to its name and its labels, for errors.

    Attributes
    ----------
    start, stop : ndarray of intp of shape (n_spans,)
        Positions in all labels.
    kind : ndarray of intp of shape (n_spans,)
        Index of the type in `kinds`.
    kinds : list
        All types of the table, which need not occur.
    """

    def __init__(self, codes, offsets, table, invalid, labels_at):
        check_choice("invalid", invalid, ("repair", "drop", "raise"))
        self.codes, self.offsets, self.table, self._labels_at = codes, offsets, table, labels_at
        self._check_labels()
        parts = [part or OUTSIDE for part in table.parts]
        code_of = {}
        kind = np.array([-1 if part is OUTSIDE else code_of.setdefault(part[1], len(code_of))
                         for part in parts])  # fmt: skip
        self.kinds = list(code_of)
        self.place = np.array([PLACES.index(letter) for letter, _ in parts])
        opens = np.where((self.place == 1) | (self.place == 2), kind, -2)  # B, I
        continues = np.where((self.place == 2) | (self.place == 3), kind, -3)  # I, E
        # Whether a label continues the span of the label before it.
        joined = np.zeros(len(codes) + 1, dtype=bool)
        joined[1:-1] = opens[codes[:-1]] == continues[codes[1:]]
        joined[offsets] = False
        inside = (self.place > 0)[codes]
        self.start = np.flatnonzero(inside & ~joined[:-1])
        self.stop = np.flatnonzero(inside & ~joined[1:]) + 1
        self.kind = kind[codes[self.start]]
        if invalid != "repair":
            self._drop(self._follows(kind), invalid)

    def sequence(self):
        """Return the index of the sequence of each span."""
        return np.searchsorted(self.offsets, self.start, side="right") - 1

    def _check_labels(self):
        wrong = [code for code, part in enumerate(self.table.parts) if part is None]
        if wrong or self.codes.min(initial=0) < 0:
            at = first_true(np.isin(self.codes, [-1, *wrong]))
            if at is not None:
                i = int(np.searchsorted(self.offsets, at, side="right")) - 1
                t = int(at - self.offsets[i])
                name, labels = self._labels_at(i)
                raise ValueError(
                    f"{name}[{t}] is {shortened(labels[t])}, expected {self.table.expected()}"
                )

    def _follows(self, kind):
        """Return a mask of the spans that follow the scheme."""
        first, last = (self.place[self.codes[at]] for at in (self.start, self.stop - 1))
        B, I, E, S = range(1, 5)
        if self.table.scheme == "bio":
            return first == B
        if self.table.scheme == "iob1":
            before = np.where(
                np.isin(self.start, self.offsets), -1, kind[self.codes[self.start - 1]]
            )
            return (first == I) | (before == self.kind)
        if self.table.scheme in ("io", None):
            return np.ones(len(first), dtype=bool)
        return (first == S) | ((first == B) & (last == E))

    def _drop(self, valid, invalid):
        if invalid == "raise" and not valid.all():
            at = valid.argmin()
            i = self.sequence()[at]
            start, stop = (int(bound[at] - self.offsets[i]) for bound in (self.start, self.stop))
            name, labels = self._labels_at(i)
            raise ValueError(
                f"{name}[{start}:{stop}] is {shortened(labels[start:stop])}, which is not a "
                f"span in the scheme {self.table.scheme!r}; correct the labels, or use "
                "invalid='repair' or 'drop'"
            )
        self.start, self.stop, self.kind = self.start[valid], self.stop[valid], self.kind[valid]


def spans_in(labels, table, invalid, name):
    """Return the spans (start, stop, type) of a list of labels; `name` is its name in errors."""
    codes = table.encoded(labels, len(labels))
    spans = Spans(codes, np.array([0, len(codes)]), table, invalid, lambda _: (name, labels))
    kinds = (spans.kinds[k] for k in spans.kind.tolist())
    return list(zip(spans.start.tolist(), spans.stop.tolist(), kinds))
