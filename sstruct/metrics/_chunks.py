"""Extraction of chunks from BIO tags, with the rules of the conlleval script."""

from sstruct._checks.shown import shortened


def chunks_of(tags, name="tags"):
    """Return the chunks (first position, last position, type) of a tag sequence.

    A chunk starts at B, or at an I that does not continue a chunk of the same type. It ends before
    the next B or O, at a change of type, or at the end. `name` is the name of the tags in errors.

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
