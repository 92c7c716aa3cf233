#!/usr/bin/env python3
"""Partly hidden labels: LatentSSVM compared with simpler methods.

    python benchmarks/hidden_labels.py [--tasks letters ...] [--seeds 0 ...]

Writes a row for each task, seed and method into hidden_labels.csv in --output:

    letters     OCR letters, fold 0 (626 words); half of the training letters are hidden, at random.
                Baseline: sequences are split at hidden letters (`ignore_label`). A third method
                starts from a completion by kernel features (`init`), whose gamma and lam are
                selected by cross-validation with three folds of all known letters. Test: folds 1-9
    letters by kernels
                the same, with kernel features (gamma 0.05) for both methods
    letters, large
                as "letters", trained on folds 1-9 and tested on fold 0; two methods
    every second letter
                as "letters", but every second letter of a word is hidden; two methods
    tags        EWT part-of-speech tags, 600 sentences, 70 % of the words are hidden, at random; the
                baseline splits sentences there. Test: 2,000 sentences
    tags by words
                the same from 1,500 sentences, without features of the neighboring words, so that
                only the chain uses them
    fine tags, fine tags by words
                the same two with the 49 Penn tags of EWT instead of its 17 universal tags
    yeast       half of the label matrix is unknown, at random; the baseline sets it to 0. Mean
                fraction of wrong labels on the published test part
    modes       synthetic chains: the features of each of three labels have two opposite modes. One
                or two states for each label
    states      OCR letters, all known, fold 0: one or two states for each label. Test: folds 1-9
    states, large
                the same, trained on folds 1-9 and tested on fold 0

lam is selected for each method by cross-validation with three folds of the training part, by the
error on known labels. Seconds are for the fit with the selected lam. Data are read from
SSTRUCT_DATA.
"""

import argparse
import gzip
import os
import shlex
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from defaults_data import taken, word_features
from reports import Table, origin, parsed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM, LatentSSVM, MultilabelSSVM
from sstruct.datasets import fetch_ocr_letters, fetch_yeast
from sstruct.preprocessing import PerNode, SequenceVectorizer

CHAIN = ChainSSVM(ignore_label=-1, random_state=0)
FOLDS = KFold(3, shuffle=True, random_state=0)
KERNELS = PerNode(Nystroem(gamma=0.05, n_components=1000, random_state=0))


@dataclass
class Task:
    """Training data, test data, and the methods by name: pairs of an estimator and labels."""

    X: list
    ways: dict
    X_test: list
    y_test: list
    lams: tuple


def error(model, X, y):
    """Return the fraction of known labels that are wrong."""
    if isinstance(y, np.ndarray):
        known = y >= 0
        return ((model.predict(X) != y) & known).sum() / known.sum()
    return 1 - model.score(X, y)


def hide(y, share, rng):
    return [np.where(rng.random(len(labels)) < share, -1, labels) for labels in y]


def partly_labeled(X, y, X_test, y_test, lams, init=None):
    """Return a Task of sequences; `init`: initial completion of a third method, if given."""
    latent = LatentSSVM(CHAIN, random_state=0)
    ways = {"cut": (CHAIN, y), "latent": (latent, y)}
    if init is not None:
        ways["latent, kernels first"] = clone(latent).set_params(init=init), y
    return Task(X, ways, X_test, y_test, lams)


def by_kernels(X, y):
    """Return a model of kernel features, with gamma and lam selected by cross-validation."""
    model = make_pipeline(KERNELS, LatentSSVM(CHAIN, random_state=0))
    grid = {
        "pernode__transformer__gamma": [0.02, 0.05, 0.1],
        "latentssvm__estimator__lam": [0.003, 0.001, 0.0003],
    }
    search = GridSearchCV(model, grid, cv=FOLDS, refit=False).fit(X, y)
    return clone(model).set_params(**search.best_params_)


def letters(rng, large=False, every_second=False, kernels=None):
    """Return a Task; `kernels`: "init" for the init of a third method, "both" for both methods."""
    data = fetch_ocr_letters()
    small = (data.fold == 0) != large
    train, test = np.flatnonzero(small), np.flatnonzero(~small)
    X, y = taken(data.data, train), taken(data.target, train)
    if every_second:
        y = [np.where(np.arange(len(labels)) % 2 == rng.integers(2), -1, labels) for labels in y]
    else:
        y = hide(y, 0.5, rng)
    lams = (0.01, 0.003, 0.001, 0.0003) if large else (0.1, 0.03, 0.01, 0.003)
    X_test, init = taken(data.data, test), by_kernels(X, y) if kernels == "init" else None
    if kernels == "both":
        features = clone(KERNELS).fit(X)
        X, X_test, lams = features.transform(X), features.transform(X_test), (0.003, 0.001, 0.0003)
    return partly_labeled(X, y, X_test, taken(data.target, test), lams, init)


def sentences(name, tag=1):
    """Return words and tags; `tag`: 1 for universal tags, 2 for Penn tags."""
    path = Path(os.environ["SSTRUCT_DATA"]) / f"ud_english_ewt_{name}.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        blocks = lines.read().strip().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[(row[0], row[tag]) for row in sentence] for sentence in rows]


def tags(rng, n_sentences=600, neighbors=True, lams=(0.1, 0.03, 0.01, 0.003), tag=1):
    def features(sentence):
        rows = word_features([word for word, _ in sentence])
        return [{k: row[k] for k in row if neighbors or k[:2] not in ("-1", "+1")} for row in rows]

    train, test = sentences("train", tag), sentences("test", tag)[:2000]
    train = train[:: len(train) // n_sentences][:n_sentences]
    names = sorted({tag for sentence in train for _, tag in sentence})
    words = SequenceVectorizer()
    X = words.fit_transform([features(s) for s in train])
    X_test = words.transform([features(s) for s in test])
    number = {tag: k for k, tag in enumerate(names)}
    y, y_test = (
        [np.array([number.get(tag, len(names)) for _, tag in s]) for s in part]
        for part in (train, test)
    )
    return partly_labeled(list(X), hide(y, 0.7, rng), list(X_test), y_test, lams)


def yeast(rng):
    X, Y = fetch_yeast(subset="train", return_X_y=True)
    X_test, Y_test = fetch_yeast(subset="test", return_X_y=True)
    Y, Y_test = (part.toarray().astype(int) for part in (Y, Y_test))
    partly = np.where(rng.random(Y.shape) < 0.5, -1, Y)
    sets = MultilabelSSVM(random_state=0)
    ways = {"off": (sets, np.maximum(partly, 0)), "latent": (LatentSSVM(sets), partly)}
    return Task(X, ways, X_test, Y_test, (0.01, 0.003, 0.001, 0.0003))


def two_modes(n, rng):
    """Make chains of three labels; the features of each label have two opposite modes."""
    centers = np.random.default_rng(7).normal(size=(3, 1, 4)) * [[[1], [-1]]]
    X, y = [], []
    for _ in range(n):
        labels = np.cumsum(rng.choice(3, p=[0.8, 0.1, 0.1], size=rng.integers(4, 9))) % 3
        X.append(2 * centers[labels, rng.integers(2, size=len(labels))])
        X[-1] += rng.normal(size=X[-1].shape)
        y.append(labels)
    return X, y


def by_states(X, y, X_test, y_test, lams, seed=0):
    chain = ChainSSVM(random_state=0)
    ways = {
        f"{k} state{'s' * (k > 1)}": (LatentSSVM(chain, states_per_label=k, random_state=seed), y)
        for k in (1, 2)
    }
    return Task(X, ways, X_test, y_test, lams)


def modes(rng):
    return by_states(*two_modes(80, rng), *two_modes(500, rng), (0.1, 0.03, 0.01, 0.003))


def states(rng, large=False):
    data = fetch_ocr_letters()
    small = (data.fold == 0) != large
    train, test = np.flatnonzero(small), np.flatnonzero(~small)
    parts = (taken(part, chosen) for chosen in (train, test) for part in (data.data, data.target))
    lams = (0.003, 0.001) if large else (0.1, 0.03, 0.01, 0.003)
    return by_states(*parts, lams, seed=int(rng.integers(2**31)))


BY_WORDS = 1500, False, (0.03, 0.01, 0.003, 0.001)
TASKS = {
    "letters": lambda rng: letters(rng, kernels="init"),
    "letters by kernels": lambda rng: letters(rng, kernels="both"),
    "letters, large": lambda rng: letters(rng, large=True),
    "every second letter": lambda rng: letters(rng, every_second=True),
    "tags": tags,
    "tags by words": lambda rng: tags(rng, *BY_WORDS),
    "fine tags": lambda rng: tags(rng, tag=2),
    "fine tags by words": lambda rng: tags(rng, *BY_WORDS, tag=2),
    "yeast": yeast,
    "modes": modes,
    "states": states,
    "states, large": lambda rng: states(rng, large=True),
}


def of_lam(model, lam):
    name = "estimator__lam" if isinstance(model, LatentSSVM) else "lam"
    return clone(model).set_params(**{name: lam})


def cv_error(model, lam, X, labels, scored):
    """Return the mean error over three folds, of the known labels in `scored`."""
    errors = []
    for train, test in FOLDS.split(np.arange(len(labels))):
        fitted = of_lam(model, lam).fit(taken(X, train), taken(labels, train))
        errors.append(error(fitted, taken(X, test), taken(scored, test)))
    return np.mean(errors)


def rows(name, seed):
    task, first = TASKS[name](np.random.default_rng(seed)), None
    for way, (model, labels) in task.ways.items():
        # Only known labels are scored, even if the baseline sets the others to 0.
        scored = task.ways["latent"][1] if "latent" in task.ways else labels
        errors = {lam: cv_error(model, lam, task.X, labels, scored) for lam in task.lams}
        lam = min(errors, key=errors.get)
        begin = time.process_time()
        fitted = of_lam(model, lam).fit(task.X, labels)
        seconds, found = time.process_time() - begin, error(fitted, task.X_test, task.y_test)
        first = found if first is None else first
        yield {
            "task": name, "seed": seed, "way": way, "lam": lam, "cv_error": f"{errors[lam]:.4f}",
            "error": f"{found:.4f}", "ratio": f"{found / first:.3f}",
            "rounds": getattr(fitted, "n_rounds_", 1), "seconds": f"{seconds:.1f}",
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parsed(parser)
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = Table(arguments.output / "hidden_labels.csv", ["task", "seed", "way"])
    for name in arguments.tasks:
        for seed in arguments.seeds:
            how = f"benchmarks/hidden_labels.py --tasks {shlex.quote(name)} --seeds {seed}"
            for row in rows(name, seed):
                print(*row.values(), flush=True)
                table.put(row | origin(f"python {how}", arguments.load))


if __name__ == "__main__":
    main()
