"""Data sets, with estimators and held-out parts, for the evaluation of defaults.

Only training parts are used, so that test parts remain unseen. Slow data sets are reduced or have
one held-out part; for the others, cross-validation is used, repeatedly for small sets.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmark_problems import chunking, ocr_letters, shared_file, usps
from chunking_features import chunking_features
from pose import samples
from segmentation_features import (
    describe,
    expanded,
    expansion,
    snake_graph,
    superpixel_graph,
    superpixels,
)
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_multilabel_classification,
)
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler, normalize, scale

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    TreeSSVM,
)
from sstruct.datasets import (
    fetch_bibtex,
    fetch_conll2000,
    fetch_enron,
    fetch_lspet_pose,
    fetch_scene,
    fetch_snakes,
    fetch_weizmann_horses,
    fetch_yeast,
    load_digit_dates,
    make_grids,
    make_sequences,
    make_stick_figures,
)
from sstruct.preprocessing import SequenceVectorizer


@dataclass
class Trial:
    """A data set and the estimator that is evaluated on it.

    Attributes
    ----------
    kind : callable
        Returns the estimator, given parameters that differ from the defaults.
    X, y : as in its ``fit``
    repeats : int
        Number of cross-validations of shuffled samples; 0 to hold out only the last part.
    n_folds : int
    held_out : list of pairs of index arrays or None
        Training and held-out samples; instead of `repeats` and `n_folds`.
    dicts : list of lists of dicts or None
        The same features in the format of CRFsuite.
    """

    kind: Callable
    X: Any
    y: Any
    repeats: int = 1
    n_folds: int = 5
    held_out: list | None = None
    dicts: list | None = field(default=None, repr=False)

    def folds(self):
        """Return pairs of indices: training and held-out samples."""
        if self.held_out is not None:
            return self.held_out
        n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        if not self.repeats:
            order = np.random.default_rng(0).permutation(n)
            cut = n - n // self.n_folds
            return [(np.sort(order[:cut]), np.sort(order[cut:]))]
        return [
            pair
            for seed in range(self.repeats)
            for pair in KFold(self.n_folds, shuffle=True, random_state=seed).split(np.arange(n))
        ]


def taken(data, chosen):
    """Return some samples of arrays, sparse matrices or lists."""
    return data[chosen] if hasattr(data, "shape") else [data[i] for i in chosen]


def ocr(small, n=None, **more):
    X, y = ocr_letters(small=small)
    return Trial(ChainSSVM, X[:n], y[:n], **more)


def conll(n_sentences, **more):
    X, y = chunking(n_sentences)
    dicts = chunking_features(fetch_conll2000(subset="train").data[:n_sentences])
    return Trial(ChainSSVM, X, y, dicts=dicts, **more)


def word_features(words):
    """Return dicts with the form of each word and of its neighbors."""
    out = []
    for i, word in enumerate(words):
        low = word.lower()
        features = {"w=" + low: 1, "-1=" + (words[i - 1].lower() if i else "<"): 1}
        features["+1=" + (words[i + 1].lower() if i + 1 < len(words) else ">")] = 1
        for size in (1, 2, 3):
            features[f"suffix={low[-size:]}"] = features[f"prefix={low[:size]}"] = 1
        features["capital"] = int(word[0].isupper())
        features["digit"] = int(any(c.isdigit() for c in word))
        out.append(features)
    return out


def ewt(n_sentences, **more):
    with gzip.open(shared_file("ud_english_ewt_train.txt.gz"), "rt", encoding="utf-8") as lines:
        blocks = lines.read().strip().split("\n\n")
    # Evenly spaced, because the corpus is ordered by document.
    blocks = blocks[:: len(blocks) // n_sentences][:n_sentences]
    rows = [[line.split("\t")[:2] for line in block.split("\n")] for block in blocks]
    dicts = [word_features([word for word, _ in sentence]) for sentence in rows]
    X = SequenceVectorizer().fit_transform(dicts)
    return Trial(ChainSSVM, X, [[tag for _, tag in s] for s in rows], dicts=dicts, **more)


def dates(standardized):
    """Return dates in parts without common images, other than the parts loaded by default.

    Pixels are from 0 to 1. There are many parts, with the digits of a few hundred images each.
    """
    X, y, held_out = [], [], []
    for seed in range(1, 13):
        for subset in ("train", "test"):
            more = load_digit_dates(subset=subset, random_state=seed, return_X_y=True)
            X += list(more[0])
            y += list(more[1])
        held_out.append((np.arange(len(X) - 1000, len(X) - 500), np.arange(len(X) - 500, len(X))))
    if standardized:
        scaler = StandardScaler().fit(np.concatenate(X))
        X = [scaler.transform(x) for x in X]
    return Trial(ChainSSVM, X, y, held_out=held_out)


def digit_chains():
    """Return counting digits with noise, in two halves without common images."""
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    X, y = [], []
    for i in range(300):
        steps = rng.choice([0, 1, 2], size=rng.integers(4, 13), p=[0.2, 0.6, 0.2])
        labels = (rng.integers(10) + np.cumsum(steps)) % 10
        mine = np.arange(len(digits)) % 2 == i // 150
        rows = [rng.choice(np.flatnonzero((digits == label) & mine)) for label in labels]
        X.append(images[rows] / 16 + rng.normal(scale=0.5, size=(len(rows), 64)))
        y.append(labels)
    halves = np.arange(150), np.arange(150, 300)
    return Trial(ChainSSVM, X, y, held_out=[halves, halves[::-1]])


def sequences(n):
    X, y = make_sequences(n, random_state=1)
    return Trial(ChainSSVM, X, y, repeats=4 if n < 200 else 1)


def grids(n, shape, n_labels=2):
    X, y = make_grids(n, shape=shape, n_labels=n_labels, random_state=1)
    return Trial(GridCRFSSVM, X, y, n_folds=2)


def horse_superpixels():
    bunch = fetch_weizmann_horses(subset="train")
    images, masks = bunch.data[:60], bunch.target[:60]
    steps = expansion(images, n_components=50)
    regions = [superpixels(image) for image in images]
    X = [superpixel_graph(i, r, expanded(i, steps)) for i, r in zip(images, regions)]
    y = [
        (np.bincount(r.ravel(), mask.ravel()) / x[3] > 0.5).astype(int)
        for r, mask, x in zip(regions, masks, X)
    ]
    # Without sizes, so that every superpixel has the same weight.
    return Trial(
        lambda **more: GraphCRFSSVM(pairwise="contrast", **more), [x[:3] for x in X], y, n_folds=3
    )


def horse_pixels():
    bunch = fetch_weizmann_horses(subset="train")
    X = [describe(image)[1::3, 1::3] for image in bunch.data[:40]]
    y = [mask[1::3, 1::3] for mask in bunch.target[:40]]
    return Trial(GridCRFSSVM, X, y, n_folds=2)


def snakes():
    bunch = fetch_snakes(subset="train")
    X = [snake_graph(image) for image in bunch.data[:100]]
    y = [labels.ravel() for labels in bunch.target[:100]]
    return Trial(lambda **more: GraphCRFSSVM(pairwise="directed", **more), X, y, n_folds=3)


def stick_figures():
    figures = make_stick_figures(80, noise=0.3, random_state=1)
    return Trial(
        lambda **more: TreeSSVM(parents=figures.parents, **more),
        figures.data,
        figures.target,
        n_folds=2,
    )


def poses():
    bunch = fetch_lspet_pose()
    X, y = samples(bunch.data[:200], bunch.target[:200], np.arange(200))
    return Trial(lambda **more: TreeSSVM(parents=bunch.parents, **more), X, y, n_folds=2)


def label_sets(fetch, n=None, **more):
    X, Y = fetch(subset="train", return_X_y=True)
    if hasattr(X, "tocsr"):
        X = normalize(X)
    return Trial(MultilabelSSVM, X[:n], Y[:n], **more)


def made_label_sets(**more):
    X, Y = make_multilabel_classification(300, random_state=0, **more)
    return Trial(MultilabelSSVM, X, Y, repeats=3)


def classes(load, scaled=False, divide=1, **more):
    X, y = load(return_X_y=True)
    return Trial(MulticlassSSVM, scale(X) if scaled else X / divide, y, **more)


def rows_as_chains():
    """Return chains of one node, with pixels from 0 to 16."""
    X, y = load_digits(return_X_y=True)
    return Trial(ChainSSVM, X[:900], y[:900], n_folds=3)


SETS = {
    "iris": lambda: classes(load_iris, repeats=10),
    "wine": lambda: classes(load_wine, repeats=10),
    "wine, scaled": lambda: classes(load_wine, scaled=True, repeats=10),
    "breast cancer": lambda: classes(load_breast_cancer, repeats=4),
    "breast cancer, scaled": lambda: classes(load_breast_cancer, scaled=True, repeats=4),
    "sequences 100": lambda: sequences(100),
    "digit chains": digit_chains,
    "made label sets": made_label_sets,
    "grids 24 x 32": lambda: grids(20, (24, 32)),
    "dates": lambda: dates(standardized=False),
    "dates, scaled": lambda: dates(standardized=True),
    "sequences 800": lambda: sequences(800),
    "OCR letters, small": lambda: ocr(True, n_folds=3),
    "stick figures": stick_figures,
    "horses, superpixels": horse_superpixels,
    "scene": lambda: label_sets(fetch_scene, n_folds=3),
    "yeast": lambda: label_sets(fetch_yeast, n_folds=3),
    "digits": lambda: classes(load_digits, divide=16, n_folds=3),
    "digits as chains": rows_as_chains,
    "CoNLL-2000, 900": lambda: conll(900, n_folds=3),
    "grids 48 x 48": lambda: grids(16, (48, 48)),
    "enron": lambda: label_sets(fetch_enron, n_folds=3),
    "EWT tags": lambda: ewt(1200, repeats=0, n_folds=3),
    "horses, pixels": horse_pixels,
    "USPS": lambda: Trial(MulticlassSSVM, *usps(), repeats=0),
    "poses": poses,
    "OCR letters, large": lambda: ocr(False, repeats=0, n_folds=9),
    "bibtex": lambda: label_sets(fetch_bibtex, n=600, repeats=0, n_folds=3),
    "snakes": snakes,
    "CoNLL-2000": lambda: conll(None, repeats=0),
}
