"""Functions that return the Task of each workload of `workloads.py`, given a seed."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmark_problems import shared_file
from chunking_features import chunking_features
from defaults_data import (
    SETS,
    digit_chains,
    horse_pixels,
    horse_superpixels,
    poses,
    snakes,
    stick_figures,
    taken,
    word_features,
)
from scipy import sparse
from sklearn.preprocessing import normalize
from void_labels import VOID, made, unknown

from sstruct import ChainSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM, Sequences, datasets
from sstruct.preprocessing import SequenceVectorizer

SET_METRICS = ("micro F1", "macro F1", "Hamming loss")


@dataclass
class Task:
    """Training and test data, the evaluated estimator, and the metrics of its users.

    Attributes
    ----------
    model : estimator
        With its default parameters.
    X, y, X_test, y_test : as in ``fit``
    metrics : sequence of str
    dicts : pair of lists of lists of dicts, or None
        The features of the training and test part in the format of CRFsuite.
    """

    model: Any
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    metrics: Sequence[str] = ("error",)
    dicts: Any = field(default=None, repr=False)


def drawn(model, X, y, seed, n_train, n_test, **more):
    """Draw training and test samples without replacement."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    order = np.random.default_rng(seed).permutation(n)
    parts = np.sort(order[:n_train]), np.sort(order[n_train : n_train + n_test])
    data = [taken(each, part) for part in parts for each in (X, y)]
    return Task(model, *data, **more)


def of_trial(make, seed, **more):
    """Split the set of a Trial of `defaults_data.py`, with four fifths for training."""
    trial = make()
    n = len(trial.y)
    cut = n - n // 5
    if trial.held_out is not None:  # parts with nothing in common
        fit, test = trial.held_out[seed % len(trial.held_out)]
        parts = [taken(each, part) for part in (fit, test) for each in (trial.X, trial.y)]
        return Task(trial.kind(random_state=0), *parts, **more)
    return drawn(trial.kind(random_state=0), trial.X, trial.y, seed, cut, n - cut, **more)


# Text ---------------------------------------------------------------------------------------------


def vectorized(train, test, y, y_test, min_count=1, **more):
    """Return a Task of sentences of feature dicts."""
    steps = SequenceVectorizer(min_count=min_count)
    X = steps.fit_transform(train)
    model = ChainSSVM(random_state=0)
    return Task(model, X, y, steps.transform(test), y_test, dicts=(train, test), **more)


def conll_sentences(seed, n):
    """Draw n training sentences; the test part is that of CoNLL-2000."""
    parts = [datasets.fetch_conll2000(subset=subset) for subset in ("train", "test")]
    chosen = np.random.default_rng(seed).permutation(len(parts[0].data))[:n]
    chosen = np.sort(chosen)
    train = taken(parts[0].data, chosen), taken(parts[0].target, chosen)
    return *train, parts[1].data, parts[1].target


def conll(seed, n, rare=False):
    """Return chunks of CoNLL-2000; `rare`: without the frequent types NP, VP and PP."""
    words, y, words_test, y_test = conll_sentences(seed, n)
    if rare:
        y, y_test = (
            [["O" if tag[2:] in ("NP", "VP", "PP") else tag for tag in tags] for tags in part]
            for part in (y, y_test)
        )
    features = chunking_features(words), chunking_features(words_test)
    return vectorized(*features, y, y_test, min_count=3, metrics=("span F1", "error"))


def embedded(sentences):
    """Return rows of the vectors of the previous, the current and the next word, of norm 4."""
    with np.load(shared_file("word_vectors_256.npz")) as data:
        names, vectors = data["words"], data["vectors"].astype(np.float64)
    vectors *= 4 / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    words = np.concatenate([np.asarray(sentence) for sentence in sentences])
    at = np.minimum(np.searchsorted(names, words), len(names) - 1)
    rows = vectors[at] * (names[at] == words)[:, np.newaxis]
    ends = np.cumsum([len(sentence) for sentence in sentences])[:-1]
    around = [np.pad(x, ((1, 1), (0, 0))) for x in np.split(rows, ends)]
    return [np.hstack([x[:-2], x[1:-1], x[2:]]) for x in around]


def conll_vectors(seed, n):
    words, y, words_test, y_test = conll_sentences(seed, n)
    X, X_test = (
        embedded([[word for word, _ in sentence] for sentence in part])
        for part in (words, words_test)
    )
    model = ChainSSVM(random_state=0)
    return Task(model, X, y, X_test, y_test, metrics=("span F1", "error"))


def tagged_sentences(seed):
    """Return the sentences of the training part of EWT in random order: columns of each word."""
    with gzip.open(shared_file("ud_english_ewt_train.txt.gz"), "rt", encoding="utf-8") as lines:
        blocks = lines.read().strip().split("\n\n")
    order = np.random.default_rng(seed).permutation(len(blocks))
    return [[line.split("\t") for line in blocks[i].split("\n")] for i in order]


def ewt_sentences(seed, n, n_test=400):
    """Draw sentences of the training part of EWT: words and tags of each."""
    rows = tagged_sentences(seed)[: n + n_test]
    words, tags = ([[row[k] for row in sentence] for sentence in rows] for k in (0, 1))
    return words[:n], tags[:n], words[n:], tags[n:]


def ewt(seed, n):
    words, y, words_test, y_test = ewt_sentences(seed, n)
    return vectorized(*(list(map(word_features, part)) for part in (words, words_test)), y, y_test)


def ewt_vectors(seed, n):
    words, y, words_test, y_test = ewt_sentences(seed, n)
    return Task(ChainSSVM(random_state=0), embedded(words), y, embedded(words_test), y_test)


def made_text(seed, n_labels, lengths, n_test, n_words, clarity=0.5):
    """Make words of Markov labels; one-hot features of the previous, current and next word.

    With probability `clarity` a word is one of ten of its label, otherwise any word.
    """
    rng = np.random.default_rng(seed)
    own = rng.integers(0, n_words, (n_labels, 10))
    successors = rng.integers(0, n_labels, (n_labels, 4))
    total = int(np.sum(lengths))
    steps, anywhere = rng.integers(0, 4, total), rng.random(total) < 0.1
    labels = rng.integers(0, n_labels, total)
    for t in np.flatnonzero(~anywhere[1:]) + 1:
        labels[t] = successors[labels[t - 1], steps[t]]
    # Frequencies fall with the rank, as in text.
    words = np.floor(n_words ** rng.random(total)).astype(np.int64) - 1
    clear = rng.random(total) < clarity
    words[clear] = own[labels[clear], rng.integers(0, 10, clear.sum())]
    columns = np.stack([np.roll(words, 1), words + n_words, np.roll(words, -1) + 2 * n_words], 1)
    indptr = np.arange(0, 3 * total + 1, 3)
    rows = sparse.csr_matrix((np.ones(3 * total), columns.ravel(), indptr), (total, 3 * n_words))
    X = Sequences.from_lengths(rows, lengths)
    y = np.split(labels, np.cumsum(lengths)[:-1])
    return Task(ChainSSVM(random_state=0), X[:-n_test], y[:-n_test], X[-n_test:], y[-n_test:])


def sparse_classes(seed, n, n_features, n_classes):
    """Make rows of 60 words each, 6 % of them from 200 words of the class."""
    rng = np.random.default_rng(seed)
    n_test = n // 4
    y = rng.integers(0, n_classes, n + n_test)
    words = np.floor(n_features ** rng.random((n + n_test, 60))).astype(np.int64) - 1
    topics = rng.integers(0, n_features, (n_classes, 200))
    own = rng.random(words.shape) < 0.06
    words[own] = topics[y[np.nonzero(own)[0]], rng.integers(0, 200, own.sum())]
    data = np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 60)
    X = normalize(sparse.csr_matrix(data, (len(y), n_features)))
    return Task(MulticlassSSVM(random_state=0), X[:n], y[:n], X[n:], y[n:])


# Dense features -----------------------------------------------------------------------------------


def sequences(seed, n, n_test, length, n_labels, n_features, noise):
    """Make Markov sequences; one that is n_test of a sample long if n_test is below 1."""
    whole = max(1, int(np.ceil(n_test)))
    more = int(length * n_test) if n_test < 1 else 0
    X, y = datasets.make_sequences(
        n + (whole if n_test >= 1 else 0), n_labels=n_labels, n_features=n_features, noise=noise,
        min_length=length + more, max_length=length + more, random_state=seed,
    )  # fmt: skip
    if more:
        parts = X[0][:length], y[0][:length], X[0][length:], y[0][length:]
        return Task(ChainSSVM(random_state=0), *([part] for part in parts))
    return Task(ChainSSVM(random_state=0), X[:n], y[:n], X[n:], y[n:])


def ocr(seed, small):
    """Return letters with one fold for training and the others for testing, or vice versa."""
    letters = datasets.fetch_ocr_letters()
    one = letters.fold == seed % 10
    fit, test = (np.flatnonzero(one == kept) for kept in (small, not small))
    parts = [taken(each, part) for part in (fit, test) for each in (letters.data, letters.target)]
    return Task(ChainSSVM(random_state=0), *parts)


def classes(seed, n, n_features, n_classes, noise):
    """Make Gaussian classes."""
    rng = np.random.default_rng(seed)
    n_test = n // 4
    y = rng.integers(0, n_classes, n + n_test)
    X = rng.standard_normal((n_classes, n_features))[y]
    X += noise * rng.standard_normal(X.shape)
    return Task(MulticlassSSVM(random_state=0), X[:n], y[:n], X[n:], y[n:])


def usps(seed):
    with np.load(shared_file("usps.npz")) as data:
        X, y = (np.concatenate([data[f"{k}_train"], data[f"{k}_test"]]) for k in "Xy")
    return drawn(MulticlassSSVM(random_state=0), X / 1000.0 - 1, y.astype(int), seed, 7291, 2007)


# Images -------------------------------------------------------------------------------------------


def images(seed, n, side, n_labels, noise=1.5):
    X, y = datasets.make_grids(
        n + n // 2, shape=(side, side), n_labels=n_labels, noise=noise, random_state=seed
    )
    model = GridCRFSSVM(random_state=0)
    return Task(model, X[:n], y[:n], X[n:], y[n:], metrics=("error", "IoU"))


def void_borders(seed):
    """Return images whose pixels at borders have no label in training."""
    rng = np.random.default_rng(seed)
    X, masks, n = made(rng)
    partly = [np.where(unknown("border", *pair, rng), VOID, pair[1]) for pair in zip(X, masks)]
    model = GridCRFSSVM(ignore_label=VOID, random_state=0)
    return Task(model, X[:n], partly[:n], X[n:], masks[n:], metrics=("IoU", "error"))


# Label sets ---------------------------------------------------------------------------------------


def label_sets(seed, fetch, n=None, unit=True):
    """Draw two thirds, or n, to train on, without labels that no or all training rows have."""
    X, Y = fetch(subset="all", return_X_y=True)
    X = normalize(X) if unit else X
    Y = np.asarray(Y.todense()) if sparse.issparse(Y) else Y
    n = n or 2 * X.shape[0] // 3
    model = MultilabelSSVM(random_state=0)
    task = drawn(model, X, Y, seed, n, X.shape[0] - n, metrics=SET_METRICS)
    on = task.y.any(axis=0) & ~task.y.all(axis=0)
    task.y, task.y_test = task.y[:, on], task.y_test[:, on]
    return task


IOU = {"metrics": ("IoU", "error")}
WORKLOADS = {
    "iris": lambda seed: of_trial(SETS["iris"], seed),
    "USPS": usps,
    "1,000 classes": lambda seed: classes(seed, 20_000, 256, 1000, noise=5.0),
    "sparse classes": lambda seed: sparse_classes(seed, 10_000, 50_000, 20),
    "OCR letters, small": lambda seed: ocr(seed, small=True),
    "OCR letters, large": lambda seed: ocr(seed, small=False),
    "digit chains": lambda seed: of_trial(digit_chains, seed),
    "dates": lambda seed: of_trial(SETS["dates"], seed),
    "CoNLL-2000": lambda seed: conll(seed, 8000),
    "CoNLL-2000, 1,000": lambda seed: conll(seed, 1000),
    "CoNLL-2000, rare": lambda seed: conll(seed, 3000, rare=True),
    "CoNLL-2000, vectors": lambda seed: conll_vectors(seed, 3000),
    "EWT tags": lambda seed: ewt(seed, 1200),
    "EWT tags, vectors": lambda seed: ewt_vectors(seed, 1500),
    "11 documents": lambda seed: made_text(seed, 5, [75_000] * 12, 1, 20_000, 0.9),
    "10^6 steps": lambda seed: sequences(seed, 1, 0.1, 10**6, 12, 32, noise=1.4),
    "50 x 20,000 steps": lambda seed: sequences(seed, 50, 10, 20_000, 12, 32, noise=1.4),
    "200 labels": lambda seed: sequences(seed, 600, 300, 20, 200, 40, noise=1.0),
    "300 labels": lambda seed: sequences(seed, 1000, 500, 20, 300, 40, noise=1.0),
    "1,000 labels": lambda seed: sequences(seed, 1000, 250, 20, 1000, 64, noise=1.0),
    "3,000 labels, words": lambda seed: made_text(seed, 3000, [20] * 1250, 250, 15_000, 0.9),
    "grids, 4 labels": lambda seed: images(seed, 20, 32, 4),
    "20 x 256 x 256, 2 labels": lambda seed: images(seed, 20, 256, 2),
    "20 x 512 x 512, 2 labels": lambda seed: images(seed, 20, 512, 2),
    "20 x 256 x 256, 8 labels": lambda seed: images(seed, 20, 256, 8),
    "horses, superpixels": lambda seed: of_trial(horse_superpixels, seed, **IOU),
    "horses, pixels": lambda seed: of_trial(horse_pixels, seed, **IOU),
    "snakes": lambda seed: of_trial(snakes, seed),
    "void borders": void_borders,
    "stick figures": lambda seed: of_trial(stick_figures, seed),
    "poses": lambda seed: of_trial(poses, seed, metrics=("missed joints",)),
    "yeast": lambda seed: label_sets(seed, datasets.fetch_yeast),
    "scene": lambda seed: label_sets(seed, datasets.fetch_scene),
    "enron": lambda seed: label_sets(seed, datasets.fetch_enron),
    "reuters": lambda seed: label_sets(seed, datasets.fetch_reuters_k500),
    "bibtex": lambda seed: label_sets(seed, datasets.fetch_bibtex),
    "corel5k": lambda seed: label_sets(seed, datasets.fetch_corel5k),
    "delicious": lambda seed: label_sets(seed, datasets.fetch_delicious, n=3000),
}
