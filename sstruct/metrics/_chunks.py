"""Chunks in a sequence of BIO tags, by the rules of the conlleval script."""

from sstruct._checks.shown import shortened


def chunks_of(tags, name="tags"):
    """List the chunks (first position, last position, type) of a tag sequence.

    A chunk begins with B, or with an I that continues no chunk of its type; it ends before the
    next B, the next O, a change of type, or the end. `name` is what an error calls the tags.

    Examples
    --------
    >>> from sstruct.metrics._chunks import chunks_of
    >>> chunks_of(["B-NP", "I-NP", "I-VP", "O"])
    [(0, 1, 'NP'), (2, 2, 'VP')]
    """
    chunks, start, current = [], None, None
    for t, tag in enumerate(tags):
        position, kind = _split(tag, t, name)
        if start is not None and (position != "I" or kind != current):
            chunks.append((start, t - 1, current))
            start = None
        if position != "O" and start is None:
            start, current = t, kind
    if start is not None:
        chunks.append((start, len(tags) - 1, current))
    return chunks


def _split(tag, t, name):
    if isinstance(tag, str):
        if tag == "O":
            return "O", ""
        position, _, kind = tag.partition("-")
        if position in ("B", "I"):
            return position, kind
    raise ValueError(f"{name}[{t}] is {shortened(tag)}, expected 'O' or a tag 'B-type' or 'I-type'")
