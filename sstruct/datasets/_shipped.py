"""Data that are part of the package."""

from __future__ import annotations

from importlib import resources

from sstruct.datasets._fetched import Data, answer


def load_ewt_sample(*, return_X_y: bool = False) -> Data:
    """Load 300 English sentences from the web with part-of-speech tags.

    The sentences are part of the package, so nothing is downloaded. Their license is CC BY-SA 4.0.

    Parameters
    ----------
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of lists of str
            The words of each sentence.
        target : list of lists of str
            The tag of each word, such as ``"NOUN"``, or ``"PROPN"`` for parts of names.
        DESCR : str
            Description of the data, with their source and license.

    See Also
    --------
    fetch_conll2000 : Download news text with tags and chunks.

    Examples
    --------
    >>> from sstruct.datasets import load_ewt_sample
    >>> words, tags = load_ewt_sample(return_X_y=True)
    >>> len(words), words[0][:4], tags[0][:4]
    (300, ['South', 'France', 'is', 'wonderful'], ['PROPN', 'PROPN', 'AUX', 'ADJ'])
    """
    text = (resources.files("sstruct.datasets") / "ewt_sample.tsv").read_text("utf-8")
    sentences = [
        [line.split("\t") for line in part.split("\n")] for part in text.strip().split("\n\n")
    ]
    words, tags = ([[row[k] for row in rows] for rows in sentences] for k in (0, 1))
    return answer("ewt_sample", return_X_y, words, tags)
