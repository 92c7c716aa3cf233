"""Sentences of the CoNLL-2000 chunking task."""

import gzip

from sklearn.utils import Bunch

from ._cache import cached_file, check_sha256, download

_URL = "https://www.cnts.ua.ac.be/conll2000/chunking/{subset}.txt.gz"
_FILE_NAME = "conll2000_{subset}.txt.gz"
# Of the decompressed text.
_SHA256 = {
    "train": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "test": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
}

_DESCR = """\
CoNLL-2000 chunking
-------------------

Base phrase chunks of Wall Street Journal text: sections 15-18 for training (8936 sentences,
211727 tokens), section 20 for testing (2012 sentences, 47377 tokens). A token is a word and its
part-of-speech tag (Brill's tagger); its label is a chunk tag in BIO form, 22 different ones in
the training part, 19 in the test part, one of which, I-LST, occurs only there.

E. F. Tjong Kim Sang and S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking,
CoNLL 2000. The source states no licence; the text derives from the Penn Treebank of the
Linguistic Data Consortium and is distributed for research use. It is downloaded, not shipped.
"""


def fetch_conll2000(*, subset="train", data_home=None, download_if_missing=True, return_X_y=False):
    """Load the sentences of the CoNLL-2000 chunking task, downloading them if necessary.

    The data is for research use.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        Which part to load.
    data_home : path-like, default=None
        Folder in which ``conll2000_train.txt.gz`` and ``conll2000_test.txt.gz`` are kept. By
        default the environment variable SSTRUCT_DATA names it, else it is ``~/sstruct_data``.
        A file already there is used.
    download_if_missing : bool, default=True
        If False, raise OSError where the file is missing instead of downloading it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of lists of (str, str)
            Word and part-of-speech tag of each token of each sentence.
        target : list of lists of str
            Chunk tag of each token.
        target_names : list of str
            The chunk tags that occur, sorted.
        DESCR : str
            Description of the data.

    See Also
    --------
    make_sequences : Synthetic chains of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_conll2000
    >>> train = fetch_conll2000()  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('Confidence', 'NN'), ('in', 'IN')], ['B-NP', 'B-PP'])
    """
    if subset not in _SHA256:
        raise ValueError(f'subset must be "train" or "test", got {subset!r}')
    path = cached_file(
        data_home,
        _FILE_NAME.format(subset=subset),
        lambda draft: _make_file(draft, subset),
        download_if_missing,
    )
    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentences = _parse(file.read())
    data = [[(word, pos) for word, pos, _ in sentence] for sentence in sentences]
    target = [[chunk for _, _, chunk in sentence] for sentence in sentences]
    if return_X_y:
        return data, target
    tags = sorted({chunk for chunks in target for chunk in chunks})
    return Bunch(data=data, target=target, target_names=tags, DESCR=_DESCR)


def _make_file(path, subset):
    """Download one part and write it to `path`, one blank line after each sentence."""
    url = _URL.format(subset=subset)
    sentences = _parse(gzip.decompress(download(url)).decode("utf-8"))
    text = "".join("\n".join(map(" ".join, sentence)) + "\n\n" for sentence in sentences)
    content = text.encode("utf-8")
    check_sha256(content, _SHA256[subset], f"The text of {url}")
    # No time stamp: the same data gives the same file.
    path.write_bytes(gzip.compress(content, mtime=0))


def _parse(text):
    """Sentences as lists of (word, part of speech, chunk)."""
    sentences, sentence = [], []
    for line in text.split("\n"):
        token = tuple(line.split())
        if token:
            sentence.append(token)
        elif sentence:
            sentences.append(sentence)
            sentence = []
    if sentence:
        sentences.append(sentence)
    return sentences
