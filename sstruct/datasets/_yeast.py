"""Functions of yeast genes, as label sets."""

import bz2
import gzip
import io

import numpy as np
from sklearn.datasets import load_svmlight_file

from ._cache import cached_file, check_sha256, download
from ._multilabel import check_indicator, label_sets_bunch, parts_of_subset

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel/yeast_{part}.svm.bz2"
_FILE_NAME = "yeast_{part}.svm.gz"
_N_FEATURES, _N_LABELS = 103, 14
# Of the features (float64) and the label sets (uint8) as dense arrays, C order, little endian.
_SHA256 = {
    "train": (
        "6ca7965d6bcc37b2b6f0d6060fbf1974c7e61c3fe2ded6b7598b8ded3a0d73bb",
        "f12da446ed0c1c0ad66b5e28cd5d31e6f30f856a2d79a4ade9fd509b40692a41",
    ),
    "test": (
        "5041a8ad4861fbbc91355e81747ca5b826037fba462e0b6ee788536bb663e8a4",
        "7f38d1400f8d2808b0028f65ab56c9ffc2409ab7fe4a5e819d90e97907d74aca",
    ),
}

_DESCR = """\
Yeast
-----

Genes of yeast by 103 features (micro-array expressions and phylogenetic profiles), and which of 14
groups of functions each belongs to: 1500 for training, 917 for testing, 4.2 labels each. Labels
that go together are the rule, so interactions matter. The source does not name the groups.

A. Elisseeff and J. Weston, A kernel method for multi-labelled classification, NIPS 2001. The source
states no licence; the data is downloaded, not shipped.
"""


def fetch_yeast(
    *,
    subset="train",
    return_indicator="sparse",
    data_home=None,
    download_if_missing=True,
    return_X_y=False,
):
    """Load the genes of the yeast data set, downloading them if necessary.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which part to load; "all" is the training part, then the test part.
    return_indicator : {"sparse", "dense"}, default="sparse"
        Label sets as a CSR matrix or as an array.
    data_home : path-like, default=None
        Folder in which ``yeast_train.svm.gz`` and ``yeast_test.svm.gz`` are kept. By default the
        environment variable SSTRUCT_DATA names it, else it is ``~/sstruct_data``. A file already
        there is used.
    download_if_missing : bool, default=True
        If False, raise OSError where a file is missing instead of downloading it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : float64 array of shape (n_samples, 103)
            Features.
        target : int CSR matrix or array of shape (n_samples, 14)
            1 for the labels of a gene.
        target_names : list of 14 str
            "0" to "13": the source has no names.
        DESCR : str
            Description of the data.

    See Also
    --------
    make_multilabel_pairwise : Synthetic label sets with known interactions.

    Examples
    --------
    >>> from sstruct.datasets import fetch_yeast
    >>> yeast = fetch_yeast()  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((1500, 103), (1500, 14))
    """
    check_indicator(return_indicator)
    X, Y = [], []
    for part in parts_of_subset(subset, ("train", "test"), "yeast"):
        path = cached_file(
            data_home,
            _FILE_NAME.format(part=part),
            lambda draft, part=part: _make_file(draft, part),
            download_if_missing,
        )
        features, label_sets = _parse(gzip.decompress(path.read_bytes()))
        X.append(features)
        Y.append(label_sets.astype(np.int64))
    names = [str(k) for k in range(_N_LABELS)]
    return label_sets_bunch(X, Y, return_indicator, return_X_y, names, _DESCR)


def _make_file(path, part):
    """Download one part and write it to `path`."""
    url = _URL.format(part=part)
    text = bz2.decompress(download(url))
    for array, dtype, expected, what in zip(
        _parse(text), ("<f8", "u1"), _SHA256[part], ("features", "label sets"), strict=True
    ):
        content = array.astype(dtype).tobytes()
        check_sha256(content, expected, f"What {url} has as {what}")
    # No time stamp: the same data gives the same file.
    path.write_bytes(gzip.compress(text, mtime=0))


def _parse(text):
    """Features (n, 103) float64 and label sets (n, 14) uint8 of LIBSVM's text."""
    features, label_lists = load_svmlight_file(
        io.BytesIO(text), n_features=_N_FEATURES, multilabel=True, zero_based=False
    )
    label_sets = np.zeros((len(label_lists), _N_LABELS), dtype=np.uint8)
    for row, labels in zip(label_sets, label_lists, strict=True):
        row[np.asarray(labels, dtype=np.intp)] = 1
    return features.toarray(), label_sets
