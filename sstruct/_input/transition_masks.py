"""Masks of allowed and forbidden transitions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sstruct._checks.arrays import array_of, first_true
from sstruct._input.labels import shortened
from sstruct._input.partial import one_of


def bio_transitions(before: Any, after: Any) -> bool:
    """Return whether a label may follow another in the BIO (IOB2) encoding of chunks.

    Labels are ``"O"`` (outside of chunks), ``"B-X"`` (beginning of a chunk of type X) and ``"I-X"``
    (inside of a chunk), or ``"B"`` and ``"I"`` if chunks have no types.

    Parameters
    ----------
    before, after : str or None
        Adjacent labels, or None for the boundary of the sequence.

    Returns
    -------
    bool
        False if `after` continues (``I-X``) a chunk that `before` (``B-X`` or ``I-X``) is not in.

    Raises
    ------
    ValueError
        If a label is not part of the encoding.

    See Also
    --------
    bioes_transitions : The encoding that also marks ends of chunks.

    Examples
    --------
    >>> from sstruct.masks import bio_transitions
    >>> bio_transitions("B-NP", "I-NP"), bio_transitions("O", "I-NP"), bio_transitions(None, "O")
    (True, False, True)
    """
    place, kind = _tag(before, "BIO")
    next_place, next_kind = _tag(after, "BIO")
    return next_place != "I" or (place in ("B", "I") and kind == next_kind)


def bioes_transitions(before: Any, after: Any) -> bool:
    """Return whether a label may follow another in the BIOES encoding of chunks.

    As in BIO, but the last label of a chunk is ``"E-X"``, and a chunk of one node is ``"S-X"``.
    More transitions are forbidden than in BIO, such as those that leave a chunk without an end.

    Parameters
    ----------
    before, after : str or None
        Adjacent labels, or None for the boundary of the sequence.

    Returns
    -------
    bool
        True if either `after` continues (``I-X``, ``E-X``) the chunk that `before` (``B-X``,
        ``I-X``) leaves open, or no chunk is open and `after` does not continue one.

    Raises
    ------
    ValueError
        If a label is not part of the encoding.

    See Also
    --------
    bio_transitions : The encoding without ends of chunks.

    Examples
    --------
    >>> from sstruct.masks import bioes_transitions
    >>> bioes_transitions("B-NP", "E-NP"), bioes_transitions("S-NP", "S-NP")
    (True, True)
    >>> bioes_transitions("B-NP", "O"), bioes_transitions("B-NP", None)
    (False, False)
    """
    place, kind = _tag(before, "BIOES")
    next_place, next_kind = _tag(after, "BIOES")
    is_open, continues = place in ("B", "I"), next_place in ("I", "E")
    return is_open == continues and (not is_open or kind == next_kind)


def bio_kinds(before: Any, after: Any) -> str | None:
    """Return the kind of a transition between labels of chunks, for groups of ``transitions``.

    Transitions of a kind share a weight for all types of chunks. Labels are ``"O"`` outside of
    chunks. The nodes of a chunk have the labels B, I, I, ... (BIO); or B, I, I, ..., E, or S if it
    has one node (BIOES); or B, I, I, ..., L, or U (BILOU), with the type, as in ``"B-NP"``.

    Parameters
    ----------
    before, after : str
        Adjacent labels.

    Returns
    -------
    str or None
        The kind, by the letters of the labels:

        ===================  ============  ==========  =========================================
        kind                 before        after       meaning
        ===================  ============  ==========  =========================================
        ``outside-outside``  O             O           no chunk
        ``outside-begin``    O             B, S, U     a chunk begins
        ``inside-inside``    B, I          I           the chunk continues, same type
        ``inside-end``       B, I          E, L        the chunk ends, same type
        ``end-outside``      E, L, S, U    O           a chunk has ended
        ``end-begin``        E, L, S, U    B, S, U     a chunk follows another one
        ``inside-outside``   B, I          O           a chunk has ended, in BIO only
        ``inside-begin``     B, I          B, S, U     a chunk follows another one, in BIO only
        ===================  ============  ==========  =========================================

        None for transitions that no encoding allows, such as from O to I, or to I of another type.
        BIO has five kinds, BIOES and BILOU have six.

    Raises
    ------
    ValueError
        If a label is not part of these encodings.

    See Also
    --------
    bio_transitions, bioes_transitions : Masks of allowed transitions.

    Notes
    -----
    BIOES and BILOU do not allow the last two kinds. Without a mask, a model of such labels has
    weights for them, too.

    Examples
    --------
    >>> from sstruct.masks import bio_kinds
    >>> bio_kinds("B-NP", "I-NP"), bio_kinds("I-NP", "E-NP"), bio_kinds("O", "I-NP")
    ('inside-inside', 'inside-end', None)

    Six weights instead of 1,089:

    >>> import numpy as np
    >>> from sstruct import ChainSSVM
    >>> from sstruct.masks import bioes_transitions
    >>> types = ["type%d" % k for k in range(8)]
    >>> labels = ["O", *(f"{letter}-{t}" for letter in "BIES" for t in types)]
    >>> model = ChainSSVM(
    ...     transitions=bio_kinds, transition_mask=bioes_transitions, classes=labels, lam=0.1
    ... )
    >>> model = model.fit([np.eye(3)], [["B-type0", "E-type0", "O"]])
    >>> int(model.transition_groups_.max()) + 1, model.edge_coef_.shape
    (6, (33, 33))
    """
    place, kind = _tag(before, "BIOESLU")
    next_place, next_kind = _tag(after, "BIOESLU")
    if not place or not next_place:
        raise ValueError("bio_kinds requires two labels, found None; boundaries have other weights")
    is_open = place in ("B", "I")
    if next_place in ("I", "E", "L"):
        if not is_open or kind != next_kind:
            return None
        return "inside-inside" if next_place == "I" else "inside-end"
    source = "outside" if place == "O" else "inside" if is_open else "end"
    return f"{source}-{'outside' if next_place == 'O' else 'begin'}"


# Import path for pickle and skops.
for _function in (bio_transitions, bioes_transitions, bio_kinds):
    _function.__module__ = "sstruct.masks"


def split_label(label, letters, suffix=False):
    """Return the letter and the type of a label of a span, or ("O", "") outside of spans.

    The result is None if the label does not follow the scheme.

    letters : letters of the scheme, without O
    suffix : whether the letter follows the type
    """
    if not isinstance(label, str):
        return None
    if label == "O":
        return "O", ""
    letter, dash, kind = label.rpartition("-")[::-1] if suffix else label.partition("-")
    return (letter, kind) if letter in letters and bool(dash) == bool(kind) else None


def _tag(label, scheme):
    """Return the letter and the chunk type of a label; ("", "") for a boundary."""
    if label is None:
        return "", ""
    letters = [letter for letter in scheme if letter != "O"]
    parts = split_label(label, letters)
    if parts is not None:
        return parts
    typed = ", ".join(f"'{letter}-type'" for letter in letters)
    bare = ", ".join(map(repr, letters))
    other = {"BIO": "BIOES", "BIOES": "BIO"}.get(scheme)
    advice = other and f"; for {other} labels, use sstruct.masks.{other.lower()}_transitions"
    raise ValueError(
        f"label {shortened(label)} does not follow the {scheme} scheme: expected 'O', {typed} (or "
        f"{bare} if chunks have no types){advice or ''}"
    )


def allowed_transitions(mask, classes, name="transition_mask"):
    """Convert the parameter `transition_mask` to arrays; `name` is its name in errors.

    Returns
    -------
    edge_mask : ndarray of bool of shape (K, K), or None
    boundary_mask : ndarray of bool of shape (2, K), or None
        Labels that may start and end a sequence; None, for all labels, unless the mask is callable.

    Raises
    ------
    ValueError
        If an array has the wrong shape or is not a bool array.
    """
    K = len(classes)
    if mask is None:
        return None, None
    if callable(mask) and not isinstance(mask, type):
        labels = classes.tolist()
        edge = np.array([[_allows(mask, a, b, name) for b in labels] for a in labels])
        starts = [_allows(mask, None, a, name) for a in labels]
        return edge, np.array([starts, [_allows(mask, a, None, name) for a in labels]])
    if isinstance(mask, str):
        raise ValueError(
            f"{name} must be a bool array or a callable, found {shortened(mask)}; for label "
            "schemes, pass sstruct.masks.bio_transitions or sstruct.masks.bioes_transitions"
        )
    edge = array_of(mask, name, "a bool array or a callable")
    if edge.shape != (K, K) or edge.dtype != bool:
        raise ValueError(
            f"{name} must be a bool array of shape {(K, K)} for {K} classes or a "
            f"callable, found dtype {edge.dtype} and shape {edge.shape}"
        )
    return np.array(edge, order="C"), None  # a copy, since the user's array may change


def _allows(mask, a, b, name):
    """Call the callable; add a note to its exceptions."""
    try:
        return bool(mask(a, b))
    except Exception as error:
        error.add_note(f"raised by {name}({shortened(a)}, {shortened(b)})")
        raise


def check_labelings(codes, offsets, edge_mask, boundary_mask, classes, rule=None):
    """Raise an error if a training labeling violates the mask; codes of -1 are unlabeled.

    rule : the parameter `transition_mask`, for the advice in the error
    """
    names = classes.tolist()
    some = np.flatnonzero(np.diff(offsets))  # nonempty sequences
    step = (codes[:-1] >= 0) & (codes[1:] >= 0)
    step[offsets[some[1:]] - 1] = False
    before = first_true(step & ~edge_mask[codes[:-1], codes[1:]])
    if before is not None:
        row = before + 1
        i = int(np.searchsorted(offsets, row, side="right")) - 1
        advice = _scheme_advice(rule, codes, offsets, names, row)
        raise ValueError(
            f"y[{i}] goes from {shortened(names[codes[row - 1]])} to "
            f"{shortened(names[codes[row]])} at node {row - offsets[i]}, which "
            f"transition_mask forbids{advice}"
        )
    if boundary_mask is None:
        return
    for mask, rows, what in (
        (boundary_mask[0], offsets[some], "starts"),
        (boundary_mask[1], offsets[some + 1] - 1, "ends"),
    ):
        if (at := first_true((codes[rows] >= 0) & ~mask[codes[rows]])) is not None:
            advice = _scheme_advice(rule, codes, offsets, names, rows[at])
            raise ValueError(
                f"y[{some[at]}] {what} with {shortened(names[codes[rows[at]]])}, which "
                f"transition_mask forbids{advice}"
            )


def _scheme_advice(rule, codes, offsets, names, row):
    """Return advice on the tagging scheme that the labels seem to follow; "" for other rules."""
    if rule is bioes_transitions:
        if any(name[0] in "ES" for name in names):
            return ": the tags before it leave a chunk open, or do not begin one. Correct them"
        return ": no tag is E or S. For BIO tags, use sstruct.masks.bio_transitions"
    if rule is not bio_transitions:
        return ""
    first = {"B": 0, "I": 0}  # first tags of chunks that do not follow a chunk of the same type
    for start, stop in pairwise(offsets.tolist()):
        kind_before = None
        for code in codes[start:stop].tolist():
            letter, kind = _tag(names[code], "BIO") if code >= 0 else ("", None)
            if letter in first and kind != kind_before:
                first[letter] += 1
            kind_before = kind if letter in first else None
    fixed = shortened(f"B{names[codes[row]][1:]}")
    if first["B"]:
        n = first["I"]
        return f": {n} of the chunks start with I instead of B. Change these tags, here to {fixed}"
    return (
        ": chunks start with I, as in IOB1 tags, instead of B, as in BIO (IOB2). Change the first "
        f"tag of each chunk, here to {fixed}"
    )


def check_known(codes, offsets, edge_mask, boundary_mask, classes):
    """Raise an error if no allowed labeling has the known labels; codes of -1 are unknown."""
    if edge_mask is None:
        return
    known = np.flatnonzero(codes >= 0)
    samples = np.unique(np.searchsorted(offsets, known, side="right") - 1)
    for i in samples[~_have_labelings(codes, offsets, samples, edge_mask, boundary_mask)].tolist():
        _check_known(i, codes[offsets[i] : offsets[i + 1]], edge_mask, boundary_mask, classes)


def _have_labelings(codes, offsets, samples, edge_mask, boundary_mask):
    """Return a mask of the samples that have an allowed labeling with their known labels.

    Propagates the reachable labels of all samples together, node by node, longest sample first.
    """
    lengths = np.diff(offsets)[samples]
    order = np.argsort(-lengths, kind="stable")
    first, K = offsets[samples[order]], len(edge_mask)
    reached = np.ones((len(samples), K), dtype=bool)
    # Matrix products count the paths. float32 products of OpenBLAS cause warnings on Arm.
    steps = edge_mask.astype(np.float64)
    if boundary_mask is not None:
        reached &= boundary_mask[0]
    for node in range(lengths.max(initial=0)):
        now = reached[: np.searchsorted(-lengths[order], -node)]
        if node:
            now[...] = now @ steps > 0
        code = codes[first[: len(now)] + node]
        now &= (code < 0)[:, np.newaxis] | (code[:, np.newaxis] == np.arange(K))
    if boundary_mask is not None:
        reached &= boundary_mask[1]
    out = np.empty(len(samples), dtype=bool)
    out[order] = reached.any(axis=1)
    return out


def _check_known(i, codes, edge_mask, boundary_mask, classes):
    """Raise an error that names the node at which the known labels of a sequence are impossible.

    No error is raised here if no labels are allowed before the first known label: the decoder then
    raises one.
    """
    names, last = classes.tolist(), -1
    reached = np.ones(len(names), dtype=bool) if boundary_mask is None else boundary_mask[0]
    for node, code in enumerate(codes.tolist()):
        reached = edge_mask[reached].any(axis=0) if node else reached
        before = (
            f"after {shortened(names[codes[last]])} at node {last}" if last >= 0 else "at the start"
        )
        if not reached.any():
            if last < 0:
                return
            raise ValueError(
                f"y_partial[{i}] is {shortened(names[codes[last]])} at node {last}, expected a "
                f"label for which transition_mask allows successors up to node {node}"
            )
        if code < 0:
            continue
        if not reached[code]:
            raise ValueError(
                f"y_partial[{i}] is {shortened(names[code])} at node {node}, expected "
                f"{one_of(classes[reached])}: transition_mask allows no other label {before}"
            )
        last, reached = node, np.arange(len(names)) == code
    if boundary_mask is not None and last >= 0 and not (reached & boundary_mask[1]).any():
        raise ValueError(
            f"y_partial[{i}] is {shortened(names[codes[last]])} at node {last}, expected a label "
            f"for which transition_mask allows the sequence to end at node {len(codes) - 1}"
        )
