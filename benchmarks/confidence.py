#!/usr/bin/env python3
"""Are probabilities calibrated, and do prediction sets contain the truth?

    python benchmarks/confidence.py [--data dates ocr conll ewt yeast poses] [--splits 50]
        [--splits-probabilities 10] [--targets labelings nodes]

For each random split of a set into training, held-out and test samples, one fit to the training
samples. Then, on the test samples:

* for the first --splits-probabilities splits, the expected calibration error (10 bins), Brier score
  and log loss of the event that the most probable label of a node is the true one: of
  CalibratedSSVM ("temperature"), of an isotonic regression of the margins between the two best
  max-marginals ("isotonic"), both fitted to the held-out samples, and, for text and where
  python-crfsuite is installed, of the marginals of CRFsuite fitted to the training samples
  ("crfsuite", L2 coefficient 1);
* for all splits, the coverage and the mean size of the sets of ConformalSSVM at 90 and 95 %:
  "labelings" and "nodes", whose coverage is the mean over samples of the fraction of covered nodes,
  and the fraction of complete sets; the same with allow_empty=True. At most 100 labelings are
  listed; a labeling also counts as covered if its score belongs to an incomplete set, and `listed`
  is the fraction of listed ones.

Methods that an estimator does not support are skipped. Each set and method is a row of
confidence.csv in --output, with means over splits. Needs SSTRUCT_DATA.
"""

import argparse
import os
from functools import cache, partial
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from chunking_features import chunking_features
from defaults_data import poses, taken, word_features
from reports import Table, command, origin, parsed
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from workload_data import tagged_sentences

from sstruct import ChainSSVM, MultilabelSSVM, TreeSSVM, datasets
from sstruct._estimators.calibration.risk_control import HeldOutScores
from sstruct.calibration import CalibratedSSVM, ConformalSSVM
from sstruct.metrics import (
    flat_coverage_score,
    sequence_coverage_score,
    sequence_mean_width_score,
)
from sstruct.preprocessing import SequenceVectorizer

LEVELS = (0.9, 0.95)
TARGETS = ("labelings", "nodes")
STATISTICS = ("coverage", "listed", "size", "complete")
COLUMNS = (
    *("splits", "train", "held_out", "test", "error", "calibration_error", "brier", "log_loss"),
    *(f"{name}_{100 * level:.0f}" for level in LEVELS for name in STATISTICS),
)


@cache
def dates():
    parts = [datasets.load_digit_dates(subset=s, return_X_y=True) for s in ("train", "test")]
    X, y = ([*parts[0][k], *parts[1][k]] for k in (0, 1))
    return X, y, None


@cache
def ocr():
    letters = datasets.fetch_ocr_letters()
    return list(letters.data), list(letters.target), None


@cache
def conll():
    train = datasets.fetch_conll2000(subset="train")
    return None, train.target[:4000], chunking_features(train.data[:4000])


@cache
def ewt():
    rows = tagged_sentences(0)[:4000]
    words, tags = ([[row[k] for row in sentence] for sentence in rows] for k in (0, 1))
    return None, tags, [*map(word_features, words)]


def yeast():
    X, y = datasets.fetch_yeast(subset="all", return_indicator="dense", return_X_y=True)
    return X, y, None


@cache
def pose_parts():
    trial = poses()
    return trial.X, trial.y, None


# Loader, estimator, and the numbers of training, held-out and test samples.
SETS = {
    "dates": (dates, ChainSSVM, 200, 300, 500),
    "ocr": (ocr, ChainSSVM, 300, 300, 500),
    "conll": (conll, partial(ChainSSVM, max_iter=100), 300, 300, 500),
    "ewt": (ewt, partial(ChainSSVM, max_iter=100), 300, 300, 500),
    "yeast": (yeast, partial(MultilabelSSVM, edges="tree"), 500, 500, 500),
    "poses": (pose_parts, lambda **more: poses().kind(**more), 60, 70, 70),
}


def event_scores(probability, right):
    """Return calibration error, Brier score and log loss of the probabilities of an event."""
    p = np.clip(probability, 1e-15, 1 - 1e-15)
    index = np.searchsorted(np.linspace(0, 1, 11)[1:-1], p)
    bias = np.bincount(index, weights=p - right)
    return {
        "calibration_error": np.abs(bias).sum() / len(p),
        "brier": np.mean((p - right) ** 2),
        "log_loss": -np.mean(np.where(right, np.log(p), np.log(1 - p))),
        "error": 1 - right.mean(),
    }


def of_temperature(model, held_out, test):
    calibrated = CalibratedSSVM(FrozenEstimator(model)).fit(*held_out)
    p = calibrated.predict_proba(test[0])
    if isinstance(model, MultilabelSSVM):
        return event_scores(np.maximum(p, 1 - p).ravel(), (np.ravel(p) > 0.5) == np.ravel(test[1]))
    if isinstance(model, TreeSSVM):
        tables = [table for tables in p for table in tables]
        states = np.concatenate([np.ravel(labels) for labels in test[1]])
        best = np.array([(table.max(), table.argmax()) for table in tables])[states >= 0]
        return event_scores(best[:, 0], best[:, 1] == states[states >= 0])
    p = np.concatenate(p)
    right = model.classes_[p.argmax(axis=1)] == np.concatenate(test[1])
    return event_scores(p.max(axis=1), right)


def margins(model, X, y):
    """Return the margin of each node, and whether its best label is the true one."""
    scores = model.decision_function(X)
    if isinstance(model, MultilabelSSVM):
        return np.abs(scores).ravel(), ((scores > 0) == y).ravel()
    if isinstance(model, TreeSSVM):
        tables = [table for tables in scores for table in tables]
        best = [np.sort(table)[::-1][:2] for table in tables]
        gaps = np.array([row[0] - row[-1] for row in best])
        states = np.concatenate([np.ravel(labels) for labels in y])
        right = np.array([table.argmax() for table in tables]) == states
        return gaps[states >= 0], right[states >= 0]
    scores = np.concatenate(scores)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2], model.classes_[scores.argmax(axis=1)] == np.concatenate(y)


def of_isotonic(model, held_out, test):
    gaps, right = margins(model, *held_out)
    fitted = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(gaps, right)
    gaps, right = margins(model, *test)
    return event_scores(fitted.predict(gaps), right)


def of_crfsuite(train, test):
    """Fit CRFsuite to dicts of features; return the scores of its marginals."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 1.0})
    for X, y in zip(*train, strict=True):
        trainer.append(pycrfsuite.ItemSequence(X), [str(label) for label in y])
    tagger = pycrfsuite.Tagger()
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.crfsuite")
        trainer.train(path)
        tagger.open(path)
    labels, best, right = tagger.labels(), [], []
    for X, y in zip(*test, strict=True):
        tagger.set(pycrfsuite.ItemSequence(X))
        for t, label in enumerate(y):
            p = [tagger.marginal(other, t) for other in labels]
            best.append(max(p))
            right.append(labels[int(np.argmax(p))] == label)
    return event_scores(np.array(best), np.array(right))


def of_sets(model, held_out, test, target, allow_empty):
    """Return coverage and mean size of prediction sets."""
    fitted = ConformalSSVM(FrozenEstimator(model), target=target).fit(*held_out)
    X, y = test
    out = {}
    for level in LEVELS:
        how = {"confidence_level": level, "allow_empty": allow_empty}
        sets, is_complete = fitted.predict_set(X, **how)
        text, listed = f"{100 * level:.0f}", None
        if target == "labelings":
            listed = sequence_coverage_score(y, sets)
            own = fitted.conformity_scores_, fitted._shares, fitted._n_conformity_samples
            gaps = ConformalSSVM(FrozenEstimator(model)).fit(X, y).conformity_scores_
            least = -np.inf if allow_empty else 0.0
            covered = np.mean(gaps <= HeldOutScores(*own).threshold(level, least))
            size = sequence_mean_width_score(sets)
        elif isinstance(model, TreeSSVM):
            known = [
                [(table, state) for table, state in zip(own, labels, strict=True) if state >= 0]
                for own, labels in zip(sets, np.asarray(y), strict=True)
            ]
            covered = np.mean([np.mean([t[s] for t, s in own]) for own in known if own])
            size = np.mean([table.sum() for own in sets for table in own])
        else:
            labels = [0, 1] if isinstance(model, MultilabelSSVM) else model.classes_
            covered = flat_coverage_score(y, sets, labels=labels)
            size = np.concatenate([*sets]).sum(axis=-1).mean()
        values = covered, covered if listed is None else listed, size, is_complete.mean()
        out |= {f"{key}_{text}": value for key, value in zip(STATISTICS, values, strict=True)}
    return out


def of_split(name, seed, with_probabilities, targets):
    """Return the scores of each method for one split."""
    load, kind, *sizes = SETS[name]
    X, y, dicts = load()
    n = len(y)
    order = np.random.default_rng(seed).permutation(n)
    parts = np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])
    if dicts is None:
        rows = [taken(X, part) for part in parts]
    else:
        words = [taken(dicts, part) for part in parts]
        vectorizer = SequenceVectorizer().fit(words[0])
        rows = [*map(vectorizer.transform, words)]
    labels = [taken(y, part) for part in parts]
    data = list(zip(rows, labels, strict=True))
    model = kind(random_state=0).fit(*data[0])
    methods = {}
    for target in targets:
        methods[target] = partial(of_sets, model, *data[1:], target, False)
        methods[f"{target}, allow_empty"] = partial(of_sets, model, *data[1:], target, True)
    if with_probabilities:
        methods["temperature"] = partial(of_temperature, model, *data[1:])
        methods["isotonic"] = partial(of_isotonic, model, *data[1:])
        if dicts is not None:
            texts = list(zip(words, labels, strict=True))
            methods["crfsuite"] = partial(of_crfsuite, texts[0], texts[2])
    found = {}
    for method, run in methods.items():
        try:
            found[method] = run() | dict(zip(("train", "held_out", "test"), map(len, labels)))
        except ImportError:
            pass
        except ValueError as error:
            if "estimator must be" not in str(error):
                raise
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", choices=[*SETS], default=[*SETS])
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--splits-probabilities", type=int, default=10)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    options = parsed(parser)
    table = Table(options.output / "confidence.csv", ("data", "method"))
    for name in options.data:
        found = {}
        for seed in range(options.splits):
            with_probabilities = seed < options.splits_probabilities
            split = of_split(name, seed, with_probabilities, options.targets)
            for method, scores in split.items():
                rows = found.setdefault(method, [])
                rows.append(scores)
                means = {key: f"{np.mean([row[key] for row in rows]):.4g}" for key in scores}
                row = {"data": name, "method": method, **dict.fromkeys(COLUMNS, ""), **means}
                row["splits"] = len(rows)
                table.put(row | origin(command(), options.load))
        for method in found:
            row = table.rows[name, method]
            print(*(f"{k}={row[k]}" for k in ("data", "method", *COLUMNS) if row[k]), flush=True)


if __name__ == "__main__":
    main()
