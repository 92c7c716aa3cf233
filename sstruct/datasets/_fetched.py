"""Data sets that are read from files, either downloaded and verified, or copied by the user.

The table `SOURCES` lists the files of each data set, their URLs and contents. The public functions
load them in the format of scikit-learn's fetchers.
"""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct.datasets._cache import cache_path, cached_file, check_sha256, download

# A Bunch or, with return_X_y, a pair; scikit-learn provides no type hints.
Data = Any
DataHome = str | os.PathLike[str] | None


def description(name: str) -> str:
    """Return the description of a data set, for `DESCR`."""
    text = (resources.files("sstruct.datasets") / "descriptions.rst").read_text("utf-8")
    # Each section starts with a label.
    return text.split(f".. _{name}:\n\n")[1].split("\n.. _")[0]


def answer(name: str, return_X_y: bool, data: Any, target: Any, **more: Any) -> Data:
    """Return the data in the format of scikit-learn's fetchers."""
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, **more, DESCR=description(name))


# A converted download: [(name, bytes) to verify, ...] and the content of the cached file.
Converted = tuple[list[tuple[str, bytes]], bytes]


def _convert_conll2000(raw: bytes, url: str) -> Converted:
    """Normalize the text: one space between fields, one blank line after each sentence."""
    sentences = _parse_sentences(gzip.decompress(raw).decode("utf-8"))
    text = "".join("\n".join(map(" ".join, sentence)) + "\n\n" for sentence in sentences)
    content = text.encode("utf-8")
    # Without a time stamp, the same data results in the same file.
    return [(f"the text of {url}", content)], gzip.compress(content, mtime=0)


def _parse_sentences(text: str) -> list[list[tuple[str, ...]]]:
    """Return sentences as lists of (word, part of speech, chunk)."""
    sentences: list[list[tuple[str, ...]]] = [[]]
    for line in text.split("\n"):
        if token := tuple(line.split()):
            sentences[-1].append(token)
        elif sentences[-1]:
            sentences.append([])
    return sentences if sentences[-1] else sentences[:-1]


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_N_PIXELS = 128
_OCR_DTYPES = {"pixels": "u1", "labels": "u1", "lengths": "<i4", "offsets": "<i8", "fold": "u1"}


def _convert_ocr_letters(raw: bytes, url: str) -> Converted:
    """Convert the text file to arrays. Their bytes are verified, since compression may differ."""
    arrays = _parse_letters(gzip.decompress(raw).decode("ascii"), url)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    checked = [(f"array {k!r} made from {url}", array.tobytes()) for k, array in arrays.items()]
    return checked, file.getvalue()


def _parse_letters(text: str, url: str) -> dict[str, np.ndarray]:
    """Convert the tab-separated text of letter.data to arrays.

    Each line is a letter: id, letter, next_id (-1 at the end of a word), word_id, position, fold,
    and 128 pixels in row-major order. Words are the chains of next_id, ordered by their first
    letters; the source advises against using word_id and position.
    """
    rows = [line.split("\t") for line in text.splitlines() if line.strip()]
    for number, row in enumerate(rows):
        # Lines end with a tab, so there may be an empty field at the end.
        if len(row) < 6 + _N_PIXELS:
            raise OSError(f"Letter {number} of {url} has {len(row)} fields, expected 134")
    row_of_id = {row[0]: number for number, row in enumerate(rows)}
    followers = {row[2] for row in rows}
    order: list[int] = []
    lengths, fold = [], []
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
    return {k: np.ascontiguousarray(arrays[k], dtype=dtype) for k, dtype in _OCR_DTYPES.items()}


def _convert_yeast(raw: bytes, url: str) -> Converted:
    """Keep the text in LIBSVM format. Dense arrays are verified (C order, little endian)."""
    text = bz2.decompress(raw)
    features, label_sets = _parse_yeast(text)
    checked = [
        (f"the features in {url}", features.astype("<f8").tobytes()),
        (f"the label sets in {url}", label_sets.astype("u1").tobytes()),
    ]
    return checked, gzip.compress(text, mtime=0)


def _parse_yeast(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n, 103) and label sets (n, 14) of text in LIBSVM format."""
    _, n_features, n_labels = SOURCES["yeast"].shape
    features, label_lists = load_svmlight_file(
        io.BytesIO(text), n_features=n_features, multilabel=True, zero_based=False
    )
    label_sets = np.zeros((len(label_lists), n_labels), dtype=np.int64)
    for row, labels in zip(label_sets, label_lists, strict=True):
        row[np.asarray(labels, dtype=np.intp)] = 1
    return features.toarray(), label_sets


@dataclass(frozen=True)
class Source:
    """A data set: its files, their URL and the shape of the data."""

    file: str  # file name, with "{part}" as a placeholder
    parts: tuple[str, ...] = ("train", "test")
    shape: tuple[int, int, int] = (0, 0, 0)  # samples (of the first part), features, labels
    label_names: tuple[str, ...] = ()  # if the file has none
    url: str = ""  # if empty, the file is not downloaded
    convert: Callable[[bytes, str], Converted] | None = None  # from the download to the file
    sha256: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by part, as in Converted


SOURCES = {
    "ocr_letters": Source(
        "ocr_letters.npz",
        ("all",),
        url="https://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
        convert=_convert_ocr_letters,
        sha256={
            "all": (
                "795062a866002baa921b684ccb369c54234f02c7155e378a84a1614ea2e3884a",
                "e7d9519f5dddb797dbd3544e14b23fd5231272a081565d2656fe0a59832ffc2a",
                "ebdc9884dbc828c8d685838c84951297a9a4c3c8abaf0968b82e8922e07c01a7",
                "873137aba4b79d68bcc12cb079c23f59f01828ca00de7eb05d3f509a9623f9bd",
                "f6c3a6dbffcc12017ac0b18d46aa13ef89245d00df429fdcee606e2c0921ebb9",
            )
        },
    ),
    "conll2000": Source(
        "conll2000_{part}.txt.gz",
        url="https://www.cnts.ua.ac.be/conll2000/chunking/{part}.txt.gz",
        convert=_convert_conll2000,
        sha256={
            "train": ("82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",),
            "test": ("73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",),
        },
    ),
    "yeast": Source(
        "yeast_{part}.svm.gz",
        shape=(1500, 103, 14),
        label_names=tuple(map(str, range(14))),
        url="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel/yeast_{part}.svm.bz2",
        convert=_convert_yeast,
        sha256={
            "train": (
                "6ca7965d6bcc37b2b6f0d6060fbf1974c7e61c3fe2ded6b7598b8ded3a0d73bb",
                "f12da446ed0c1c0ad66b5e28cd5d31e6f30f856a2d79a4ade9fd509b40692a41",
            ),
            "test": (
                "5041a8ad4861fbbc91355e81747ca5b826037fba462e0b6ee788536bb663e8a4",
                "7f38d1400f8d2808b0028f65ab56c9ffc2409ab7fe4a5e819d90e97907d74aca",
            ),
        },
    ),
    "snakes": Source("snakes.npz"),
    "weizmann_horses": Source("weizmann_horses.npz"),
    "lspet_pose": Source("lspet400_pose.npz", ("all",)),
    "bibtex": Source("multilabel_bibtex.npz", shape=(4880, 1836, 159)),
    "corel16k": Source("multilabel_corel16k001.npz", ("all",), (13766, 500, 153)),
    "corel5k": Source("multilabel_corel5k.npz", shape=(4500, 499, 374)),
    "delicious": Source("multilabel_delicious.npz", shape=(12920, 500, 983)),
    "enron": Source("multilabel_enron.npz", shape=(1123, 1001, 53)),
    "rcv1_subset": Source("multilabel_rcv1sub1.npz", ("all",), (6000, 47236, 101)),
    "reuters_k500": Source("multilabel_reutersk500.npz", ("all",), (6000, 500, 103)),
    "scene": Source(
        "scene.npz",
        shape=(1211, 294, 6),
        label_names=("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban"),
    ),
    "tmc2007": Source("multilabel_tmc2007_500.npz", shape=(21519, 500, 22)),
}


def _path(name: str, part: str, data_home: DataHome, download_if_missing: bool = False) -> Path:
    """Return the path of a data file, which is downloaded if possible and requested."""
    source = SOURCES[name]

    def make(draft: Path) -> None:
        url = source.url.format(part=part)
        assert source.convert is not None
        checked, content = source.convert(download(url), url)
        for (what, found), expected in zip(checked, source.sha256[part], strict=True):
            check_sha256(found, expected, what)
        draft.write_bytes(content)

    file = source.file.format(part=part)
    if not source.url and not cache_path(data_home, file).exists():
        raise OSError(
            f"{cache_path(data_home, file)} not found, and it cannot be downloaded: set data_home "
            "or the environment variable SSTRUCT_DATA to the directory of the file"
        )
    return cached_file(data_home, file, make, download_if_missing)


def _arrays(name: str, data_home: DataHome, download_if_missing: bool = False) -> Any:
    """Open an archive of arrays."""
    return np.load(_path(name, "all", data_home, download_if_missing), allow_pickle=False)


# Sequences


def fetch_ocr_letters(
    *, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Data:
    """Load the handwritten words of the OCR letters data set, downloading them if necessary.

    Parameters
    ----------
    data_home : path-like, default=None
        Directory of ``ocr_letters.npz``. By default the environment variable SSTRUCT_DATA, or
        ``~/sstruct_data`` if it is not set. An existing file is not downloaded again.
    download_if_missing : bool, default=True
        If False, raise an OSError if the file is missing instead of downloading it.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of 6877 float32 arrays of shape (length_i, 128)
            Pixels of the letters of a word, 0 or 1; ``row.reshape(16, 8)`` is an image.
        target : list of 6877 int arrays of shape (length_i,)
            Letters, as indices into `target_names`.
        fold : array of shape (6877,)
            Fold of each word, 0 to 9.
        target_names : list of str
            "a" to "z".
        DESCR : str
            Description of the data.

    See Also
    --------
    load_digit_dates : A handwriting data set without a download.

    Examples
    --------
    >>> from sstruct.datasets import fetch_ocr_letters
    >>> words = fetch_ocr_letters()  # doctest: +SKIP
    >>> "".join(words.target_names[k] for k in words.target[0])  # doctest: +SKIP
    'ommanding'
    """
    with _arrays("ocr_letters", data_home, download_if_missing) as arrays:
        # Converted once; the words are views.
        pixels = arrays["pixels"].astype(np.float32)
        labels = arrays["labels"].astype(np.intp)
        spans = list(pairwise(arrays["offsets"].tolist()))
        fold = arrays["fold"].astype(np.intp)
    data, target = [pixels[a:b] for a, b in spans], [labels[a:b] for a, b in spans]
    return answer("ocr_letters", return_X_y, data, target, fold=fold, target_names=list(_LETTERS))


def fetch_conll2000(
    *,
    subset: Literal["train", "test"] = "train",
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Data:
    """Load the sentences of the CoNLL-2000 chunking task, downloading them if necessary.

    The data is for research use only.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        The part to load.
    data_home : path-like, default=None
        Directory of ``conll2000_train.txt.gz`` and ``conll2000_test.txt.gz``. By default the
        environment variable SSTRUCT_DATA, or ``~/sstruct_data`` if it is not set. An existing file
        is not downloaded again.
    download_if_missing : bool, default=True
        If False, raise an OSError if the file is missing instead of downloading it.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

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
    make_sequences : Generate synthetic chains of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_conll2000
    >>> train = fetch_conll2000()  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('Confidence', 'NN'), ('in', 'IN')], ['B-NP', 'B-PP'])
    """
    check_choice("subset", subset, ("train", "test"))
    path = _path("conll2000", subset, data_home, download_if_missing)
    sentences = _parse_sentences(gzip.decompress(path.read_bytes()).decode("utf-8"))
    data = [[(word, pos) for word, pos, _ in sentence] for sentence in sentences]
    target = [[chunk for _, _, chunk in sentence] for sentence in sentences]
    tags = sorted({chunk for chunks in target for chunk in chunks})
    return answer("conll2000", return_X_y, data, target, target_names=tags)


# Images


def fetch_snakes(
    *,
    subset: Literal["train", "test"] = "train",
    data_home: DataHome = None,
    return_X_y: bool = False,
) -> Data:
    """Load the images of the snakes data set from a local file.

    The data set is not available as a plain file on the web, so ``snakes.npz`` must exist locally.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        The part to load.
    data_home : path-like, default=None
        Directory of ``snakes.npz``, which contains the arrays ``rgb_train`` (concatenated pixels of
        all images in row-major order), ``labels_train``, ``shape_train`` (height and width of each
        image), and the same for ``test``. By default the environment variable SSTRUCT_DATA, or
        ``~/sstruct_data`` if it is not set.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of uint8 arrays of shape (height_i, width_i, 3)
            RGB values of the pixels.
        target : list of int arrays of shape (height_i, width_i)
            Part of the snake, 1 to 10; 0 is background.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_grids : Generate synthetic images of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_snakes
    >>> snakes = fetch_snakes()  # doctest: +SKIP
    >>> snakes.data[0].shape  # doctest: +SKIP
    (5, 6, 3)
    """
    return _pictures("snakes", "labels", subset, data_home, return_X_y)


def fetch_weizmann_horses(
    *,
    subset: Literal["train", "test"] = "train",
    data_home: DataHome = None,
    return_X_y: bool = False,
) -> Data:
    """Load the photographs of the Weizmann horses from a local file.

    The data set is not available at this size on the web, so ``weizmann_horses.npz`` must exist
    locally.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        The part to load.
    data_home : path-like, default=None
        Directory of ``weizmann_horses.npz``, which contains the arrays ``rgb_train`` (concatenated
        pixels of all photographs in row-major order), ``mask_train``, ``shape_train`` (height and
        width of each photograph), and the same for ``test``. By default the environment variable
        SSTRUCT_DATA, or ``~/sstruct_data`` if it is not set.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of uint8 arrays of shape (height_i, width_i, 3)
            RGB values of the pixels.
        target : list of int arrays of shape (height_i, width_i)
            1 on the horse, 0 elsewhere.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_grids : Generate synthetic images of any size.

    Examples
    --------
    >>> from sstruct.datasets import fetch_weizmann_horses
    >>> horses = fetch_weizmann_horses(subset="test")  # doctest: +SKIP
    >>> len(horses.data)  # doctest: +SKIP
    49
    """
    return _pictures("weizmann_horses", "mask", subset, data_home, return_X_y)


def _pictures(name: str, labels: str, subset: str, data_home: DataHome, return_X_y: bool) -> Data:
    check_choice("subset", subset, ("train", "test"))
    with _arrays(name, data_home) as arrays:
        shapes = arrays[f"shape_{subset}"].tolist()
        data = _cut(arrays[f"rgb_{subset}"], [(*shape, -1) for shape in shapes])
        target = _cut(arrays[f"{labels}_{subset}"].astype(np.intp), shapes)
    return answer(name, return_X_y, data, target)


def _cut(pixels: np.ndarray, shapes: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Split a flat array of pixels into images, which are views."""
    ends = np.cumsum([0] + [shape[0] * shape[1] for shape in shapes]).tolist()
    return [pixels[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes)]


# Right and left refer to the person's sides.
_JOINT_NAMES = (
    *("right ankle", "right knee", "right hip", "left hip", "left knee", "left ankle"),
    *("right wrist", "right elbow", "right shoulder"),
    *("left shoulder", "left elbow", "left wrist", "neck", "head top"),
)
_JOINT_PARENTS = (1, 2, 8, 9, 3, 4, 7, 8, 12, 12, 9, 10, -1, 12)


def fetch_lspet_pose(*, data_home: DataHome = None, return_X_y: bool = False) -> Data:
    """Load photographs of the extended Leeds sports pose data set from a local file.

    The data set is not available at this size on the web, so ``lspet400_pose.npz`` must exist
    locally.

    Parameters
    ----------
    data_home : path-like, default=None
        Directory of ``lspet400_pose.npz``, which contains the arrays ``gray`` (concatenated pixels
        of all photographs in row-major order), ``shape`` and ``orig_shape`` (height and width of
        each photograph here and originally), ``joints_xy`` (n, 14, 2), in pixels of the original,
        and ``flag`` (n, 14), whether a joint is annotated. By default the environment variable
        SSTRUCT_DATA, or ``~/sstruct_data`` if it is not set.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : list of 400 uint8 arrays of shape (height_i, width_i)
            Gray values.
        target : ndarray of shape (400, 14, 2)
            (x, y) of each joint in pixels of the image; NaN if it is not annotated.
        parents : ndarray of shape (14,)
            Parent of each joint in a tree whose root is the neck.
        joint_names : list of str
            Names of the 14 joints.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_stick_figures : Generate synthetic poses with known ground truth.

    Examples
    --------
    >>> from sstruct.datasets import fetch_lspet_pose
    >>> people = fetch_lspet_pose()  # doctest: +SKIP
    >>> people.data[0].shape, people.joint_names[13]  # doctest: +SKIP
    ((64, 96), 'head top')
    """
    with _arrays("lspet_pose", data_home) as arrays:
        shape = arrays["shape"]
        # Ratio of height and width to the original, applied to y and x.
        target = arrays["joints_xy"] * (shape / arrays["orig_shape"])[:, np.newaxis, ::-1]
        target[arrays["flag"] == 0] = np.nan
        data = _cut(arrays["gray"], shape.tolist())
    parents, names = np.array(_JOINT_PARENTS), list(_JOINT_NAMES)
    return answer("lspet_pose", return_X_y, data, target, parents=parents, joint_names=names)


# Label sets


def fetch_yeast(
    *,
    subset: Literal["train", "test", "all"] = "train",
    return_indicator: Literal["sparse", "dense"] = "sparse",
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Data:
    """Load the genes of the yeast data set, downloading them if necessary.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The part to load; "all" is the training part followed by the test part.
    return_indicator : {"sparse", "dense"}, default="sparse"
        Whether label sets are returned as a CSR matrix or as an array.
    data_home : path-like, default=None
        Directory of ``yeast_train.svm.gz`` and ``yeast_test.svm.gz``. By default the environment
        variable SSTRUCT_DATA, or ``~/sstruct_data`` if it is not set. An existing file is not
        downloaded again.
    download_if_missing : bool, default=True
        If False, raise an OSError if a file is missing instead of downloading it.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : float64 array of shape (n_samples, 103)
            Features.
        target : int CSR matrix or array of shape (n_samples, 14)
            Indicator matrix of the labels of each gene.
        target_names : list of 14 str
            "0" to "13", since the source provides no names.
        DESCR : str
            Description of the data.

    See Also
    --------
    make_multilabel_pairwise : Generate label sets with known interactions.

    Examples
    --------
    >>> from sstruct.datasets import fetch_yeast
    >>> yeast = fetch_yeast()  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((1500, 103), (1500, 14))
    """
    parts = [
        _parse_yeast(
            gzip.decompress(_path("yeast", part, data_home, download_if_missing).read_bytes())
        )
        for part in _parts("yeast", subset, return_indicator)
    ]
    return _join("yeast", parts, SOURCES["yeast"].label_names, return_indicator, return_X_y)


def _parts(name: str, subset: str, return_indicator: str) -> tuple[str, ...]:
    """Validate the arguments and return the parts of the subset."""
    check_choice("return_indicator", return_indicator, ("sparse", "dense"))
    source = SOURCES[name]
    if subset == "all":
        return source.parts
    if subset not in source.parts:
        split = len(source.parts) > 1
        known = '"train", "test" or "all"' if split else f'"all", since {source.file} has no split'
        raise ValueError(f"subset must be {known}; got {shortened(subset)}")
    return (subset,)


def _join(
    name: str,
    parts: Sequence[tuple[Any, Any]],
    target_names: Sequence[str],
    return_indicator: str,
    return_X_y: bool,
) -> Data:
    """Concatenate the features and label sets of several parts."""
    X, Y = zip(*parts, strict=True)
    data = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    target = sparse.vstack([sparse.csr_matrix(part) for part in Y], format="csr")
    if return_indicator == "dense":
        target = target.toarray()
    return answer(name, return_X_y, data, target, target_names=list(target_names))


_SUBSET = {
    True: """subset : {"train", "test", "all"}, default="train"
    The part to load; "all" is the training part followed by the test part.""",
    False: """subset : {"all"}, default="all"
    The source defines no split.""",
}


class LabelSetsFetcher(Protocol):
    """A function that loads label sets from a local file."""

    def __call__(
        self,
        *,
        subset: Literal["train", "test", "all"] = ...,
        return_indicator: Literal["sparse", "dense"] = ...,
        data_home: DataHome = ...,
        return_X_y: bool = ...,
    ) -> Data: ...


def _label_sets_fetcher(name: str) -> LabelSetsFetcher:
    """Return the public function of an archive, documented from its entry in SOURCES."""
    source = SOURCES[name]

    def fetch(
        *,
        subset: Literal["train", "test", "all"] = source.parts[0],
        return_indicator: Literal["sparse", "dense"] = "sparse",
        data_home: DataHome = None,
        return_X_y: bool = False,
    ) -> Data:
        """Load the multilabel data set "{title}" from a local file.

        The data set is not available in this form on the web, so ``{file}`` must exist locally.

        {contents}

        Parameters
        ----------
        {subset}
        return_indicator : {{"sparse", "dense"}}, default="sparse"
            Whether label sets are returned as a CSR matrix or as an array.
        data_home : path-like, default=None
            Directory of the file, an archive of arrays: ``X_{part}_data``, ``X_{part}_indices`` and
            ``X_{part}_indptr`` (features as CSR; ``X_{part}`` if they are dense),
            ``Y_{part}_indices`` and ``Y_{part}_indptr`` (label sets as CSR without data;
            ``Y_{part}`` if they are dense){other_part}, ``n_features``, ``n_labels``,
            ``label_names``. By default the environment variable SSTRUCT_DATA, or
            ``~/sstruct_data`` if it is not set.
        return_X_y : bool, default=False
            If True, return ``(data, target)`` instead of a Bunch.

        Returns
        -------
        data : :class:`~sklearn.utils.Bunch`
            Dictionary-like object, with the following attributes.

            data : float64 CSR matrix (scene: array) of shape (n_samples, {shape[1]})
                Features.
            target : int CSR matrix or array of shape (n_samples, {shape[2]})
                Indicator matrix of the labels of each sample.
            target_names : list of {shape[2]} str
                Names of the labels.
            DESCR : str
                Description of the data.

        Raises
        ------
        OSError
            If the file is missing.

        See Also
        --------
        make_multilabel_pairwise : Generate label sets with known interactions.
        sstruct.preprocessing.hierarchical_labels : Add the ancestors of labels to label sets.

        Examples
        --------
        >>> from sstruct.datasets import fetch_{name}
        >>> {name} = fetch_{name}()  # doctest: +SKIP
        >>> {name}.data.shape, {name}.target.shape  # doctest: +SKIP
        (({shape[0]}, {shape[1]}), ({shape[0]}, {shape[2]}))
        """
        names = _parts(name, subset, return_indicator)
        with _arrays(name, data_home) as arrays:
            parts = [
                (
                    _matrix(arrays, f"X_{part}", "n_features", np.float64),
                    _matrix(arrays, f"Y_{part}", "n_labels", np.int64),
                )
                for part in names
            ]
            target_names = source.label_names or arrays["label_names"].tolist()
        return _join(name, parts, target_names, return_indicator, return_X_y)

    fetch.__name__ = fetch.__qualname__ = f"fetch_{name}"
    if fetch.__doc__:  # None with -OO
        title, contents, _ = description(name).split("\n\n", 2)
        fetch.__doc__ = inspect.cleandoc(fetch.__doc__).format(
            name=name,
            file=source.file,
            title=title.split("\n")[0],
            contents=contents,
            subset=_SUBSET[len(source.parts) > 1],
            part=source.parts[0],
            other_part=", the same for ``test``" if len(source.parts) > 1 else "",
            shape=source.shape,
        )
    return fetch


def _matrix(arrays: Any, name: str, width: str, dtype: type) -> Any:
    """Return an array of the archive, or the CSR matrix of its arrays `name`_*."""
    if name in arrays:
        return arrays[name].astype(dtype)
    indices = arrays[f"{name}_indices"]
    indptr = arrays[f"{name}_indptr"].astype(np.int32)
    values = np.ones(len(indices)) if name.startswith("Y") else arrays[f"{name}_data"]
    shape = (len(indptr) - 1, int(arrays[width]))
    matrix = sparse.csr_matrix((values.astype(dtype), indices, indptr), shape=shape)
    matrix.sort_indices()
    return matrix


fetch_bibtex = _label_sets_fetcher("bibtex")
fetch_corel16k = _label_sets_fetcher("corel16k")
fetch_corel5k = _label_sets_fetcher("corel5k")
fetch_delicious = _label_sets_fetcher("delicious")
fetch_enron = _label_sets_fetcher("enron")
fetch_rcv1_subset = _label_sets_fetcher("rcv1_subset")
fetch_reuters_k500 = _label_sets_fetcher("reuters_k500")
fetch_scene = _label_sets_fetcher("scene")
fetch_tmc2007 = _label_sets_fetcher("tmc2007")
