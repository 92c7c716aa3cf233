"""Features of CRFsuite's chunking template on CoNLL-2000, shared by benchmarks of taggers.

A token gets the words and parts of speech in a window of two to both sides, two word bigrams,
four bigrams and three trigrams of parts of speech. Attributes that extend beyond the sentence are
omitted; instead, the first and the last token have the attributes ``__BOS__`` and ``__EOS__``. The
training part has 335,674 attributes, as many as CRFsuite counts (75,289 of them occur at least
three times): 335,672 by the template, and these two.
"""

import gzip
from pathlib import Path

BEGINNING, END = "__BOS__", "__EOS__"

# Offsets of the tokens whose values an attribute joins, in the order of CRFsuite's own template.
WORD_WINDOWS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
POS_WINDOWS = (
    *((-2,), (-1,), (0,), (1,), (2,)),
    *((-2, -1), (-1, 0), (0, 1), (1, 2)),
    *((-2, -1, 0), (-1, 0, 1), (0, 1, 2)),
)


def read_conll2000(path):
    """Read a file of the shared task.

    Parameters
    ----------
    path : str or path-like
        Text, gzip-compressed if the name ends with ``.gz``: a line "word POS chunk" for each
        token, and an empty line after each sentence.

    Returns
    -------
    data : list of lists of (word, POS) tuples
    target : list of lists of str
    """
    path = Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    data, target, tokens, tags = [], [], [], []
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            if fields:
                word, pos, tag = fields
                tokens.append((word, pos))
                tags.append(tag)
            elif tokens:
                data.append(tokens)
                target.append(tags)
                tokens, tags = [], []
    if tokens:
        data.append(tokens)
        target.append(tags)
    return data, target


def sentence_features(sentence):
    """Apply the template to one sentence.

    Parameters
    ----------
    sentence : list of (word, POS) tuples

    Returns
    -------
    features : list of dicts
        A dict for each token, from names of attributes to values.
    """
    features = [{} for _ in sentence]
    if not features:
        return features
    for name, field, windows in (("w", 0, WORD_WINDOWS), ("pos", 1, POS_WINDOWS)):
        values = [token[field] for token in sentence]
        for window in windows:
            key = "|".join(f"{name}[{offset}]" for offset in window)
            first, width = window[0], len(window)
            # The attribute of token t joins the values from t + first on, if all of them exist.
            joined = ["|".join(values[i : i + width]) for i in range(len(values) - width + 1)]
            for start, value in enumerate(joined):
                if 0 <= start - first < len(features):
                    features[start - first][key] = value
    features[0][BEGINNING] = True
    features[-1][END] = True
    return features


def chunking_features(data):
    """Apply the template to many sentences; see `sentence_features`."""
    return [sentence_features(sentence) for sentence in data]
