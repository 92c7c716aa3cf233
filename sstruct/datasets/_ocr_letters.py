"""Handwritten words of the OCR letters data set."""

import gzip
from itertools import pairwise

import numpy as np
from sklearn.utils import Bunch

from ._cache import cached_file, check_sha256, download

_URL = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
_FILE_NAME = "ocr_letters.npz"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_N_PIXELS = 128
# Of the arrays' bytes (C order, little endian), not of the file: compression may differ.
_SHA256 = {
    "pixels": "795062a866002baa921b684ccb369c54234f02c7155e378a84a1614ea2e3884a",
    "labels": "e7d9519f5dddb797dbd3544e14b23fd5231272a081565d2656fe0a59832ffc2a",
    "lengths": "ebdc9884dbc828c8d685838c84951297a9a4c3c8abaf0968b82e8922e07c01a7",
    "offsets": "873137aba4b79d68bcc12cb079c23f59f01828ca00de7eb05d3f509a9623f9bd",
    "fold": "f6c3a6dbffcc12017ac0b18d46aa13ef89245d00df429fdcee606e2c0921ebb9",
}
_DTYPES = {"pixels": "u1", "labels": "u1", "lengths": "<i4", "offsets": "<i8", "fold": "u1"}

_DESCR = """\
OCR letters
-----------

6877 handwritten words, 52152 letters of 16 x 8 binary pixels; the first (capital) letter of
each word was removed by the authors. 26 labels, words of 3 to 14 letters, 10 folds.

Only 55 distinct words occur, so any split shares all words between its parts: a chain can learn
the vocabulary. Usual splits: train on fold 1 and test on the others (704 and 6173 words), or
train on nine folds and test on the tenth.

Collected by R. Kassel (A comparison of approaches to on-line handwritten character recognition,
MIT, 1995), prepared by B. Taskar, C. Guestrin, D. Koller (Max-margin Markov networks, NIPS
2003). The source states no licence; the data is downloaded, not shipped.
"""


def fetch_ocr_letters(*, data_home=None, download_if_missing=True, return_X_y=False):
    """Load the handwritten words of the OCR letters data set, downloading them if necessary.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder in which ``ocr_letters.npz`` is kept. By default the environment variable
        SSTRUCT_DATA names it, else it is ``~/sstruct_data``. A file already there is used.
    download_if_missing : bool, default=True
        If False, raise OSError where the file is missing instead of downloading it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of 6877 float32 arrays of shape (length_i, 128)
            Pixels of a word's letters, 0 or 1; ``row.reshape(16, 8)`` is the image.
        target : list of 6877 int arrays of shape (length_i,)
            Letters, as index into `target_names`.
        fold : array of shape (6877,)
            Fold of each word, 0 to 9.
        target_names : list of str
            "a" to "z".
        DESCR : str
            Description of the data.

    See Also
    --------
    load_digit_dates : A handwriting task without a download.

    Examples
    --------
    >>> from sstruct.datasets import fetch_ocr_letters
    >>> words = fetch_ocr_letters()  # doctest: +SKIP
    >>> "".join(words.target_names[k] for k in words.target[0])  # doctest: +SKIP
    'ommanding'
    """
    path = cached_file(data_home, _FILE_NAME, _make_file, download_if_missing)
    with np.load(path, allow_pickle=False) as arrays:
        # One conversion of everything; the words are views.
        pixels = arrays["pixels"].astype(np.float32)
        labels = arrays["labels"].astype(np.intp)
        offsets = arrays["offsets"].tolist()
        fold = arrays["fold"].astype(np.intp)
    spans = list(pairwise(offsets))
    data = [pixels[a:b] for a, b in spans]
    target = [labels[a:b] for a, b in spans]
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, fold=fold, target_names=list(_LETTERS), DESCR=_DESCR)


def _make_file(path):
    """Download the source's text file and write it to `path` as arrays."""
    text = gzip.decompress(download(_URL)).decode("ascii")
    arrays = _parse_letters(text)
    for name, array in arrays.items():
        check_sha256(array.tobytes(), _SHA256[name], f"Array {name!r} made from {_URL}")
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def _parse_letters(text):
    """Arrays from the tab-separated text of letter.data.

    A line is a letter: id, letter, next_id (-1 at the end of a word), word_id, position, fold,
    then 128 pixels, row by row. Words are the chains of next_id, in the order of their first
    letters; the source says not to use word_id and position.
    """
    rows = [line.split("\t") for line in text.splitlines() if line.strip()]
    for number, row in enumerate(rows):
        # The lines of the source end in a tab, so there may be an empty field at the end.
        if len(row) < 6 + _N_PIXELS:
            raise OSError(f"Letter {number} of {_URL} has {len(row)} fields, expected 134")
    row_of_id = {row[0]: number for number, row in enumerate(rows)}
    followers = {row[2] for row in rows}
    order, lengths, fold = [], [], []
    for row in rows:
        if row[0] in followers:
            continue
        start = len(order)
        order.append(row_of_id[row[0]])
        while (next_id := rows[order[-1]][2]) != "-1":
            order.append(row_of_id[next_id])
        lengths.append(len(order) - start)
        fold.append(int(row[5]))
    pixels = "".join("".join(rows[i][6 : 6 + _N_PIXELS]) for i in order).encode()
    arrays = {
        "pixels": (np.frombuffer(pixels, np.uint8) - ord("0")).reshape(-1, _N_PIXELS),
        "labels": [_LETTERS.index(rows[i][1]) for i in order],
        "lengths": lengths,
        "offsets": np.concatenate([[0], np.cumsum(lengths)]),
        "fold": fold,
    }
    return {name: np.ascontiguousarray(arrays[name], dtype=_DTYPES[name]) for name in _DTYPES}
