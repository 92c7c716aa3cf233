#!/usr/bin/env python3
"""Compare default fits with simple baselines, in the metrics that users of each task report.

    python benchmarks/workloads.py [--workloads yeast ...] [--methods default ...] [--seeds 0 1 2]
        [--path-cv] [--limit 60] [--summary]

Each workload (`workload_data.py`) is a data set, an sstruct estimator with default parameters and
the metrics of its task. A seed determines the split or the generated data. Methods:

    default             the sstruct estimator, with max_time=--limit
    PathCV              the same in PathCV with three folds, with --path-cv
    LogisticRegression, LinearSVC
                        one classifier for all nodes, or for each label of a label set; for trees
                        one for each joint, which chooses the cell of the highest score
    logistic + Viterbi  class probabilities of LogisticRegression over class frequencies, and
                        transitions counted in the training labels, plus 0.1 for each pair
    Gaussian HMM        the same with GaussianNB: hmmlearn's GaussianHMM (diagonal covariances)
                        with means, variances and transitions from the labels; dense features
    logistic + cut      Potts model on LogisticRegression's log probabilities, by a minimum cut or
                        alpha-expansion; the weight, and whether probabilities are divided by class
                        frequencies, are tuned on a fifth of the training images
    ClassifierChain     of LogisticRegression
    CRFsuite            if sklearn-crfsuite is installed

Baselines have their default parameters. Each fit runs in a separate process with one thread; a
baseline is stopped after --limit CPU seconds, and its rows then have no value. Seconds are CPU
seconds of fit, including tuning; peak_mb is the memory of fit and predict beyond the data. A new
run replaces the rows of the same workload, method, seed and metric in workloads.csv of --output.
--summary only prints the summary of that file (`workload_summary.py`). Real data is read from
SSTRUCT_DATA.
"""

import argparse
import multiprocessing
import os
import resource
import time
import warnings
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, origin, parsed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss, jaccard_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from void_labels import VOID
from workload_data import WORKLOADS
from workload_summary import OURS, print_summary, read

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    TreeSSVM,
)
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.inference import alpha_expansion, graph_cut, viterbi
from sstruct.metrics import chunk_f1_score

SMOOTHING = 0.1  # added to the count of each transition
POTTS_WEIGHTS = (0.0, 0.3, 1.0, 2.0, 4.0)
MAX_DENSE_ENTRIES = 10**7  # entries of dense features that CRFsuite is given as dicts


# Metrics ------------------------------------------------------------------------------------------


def flat(labels):
    """Return the labels of all nodes as one array."""
    return np.concatenate([np.ravel(v) for v in labels])


def missed_joints(task, found):
    """Return the fraction of joints that are wrong by over a tenth of the longest side."""
    missed = []
    for x, states, truth in zip(task.X_test, found, task.y_test):
        known, width = np.asarray(truth) >= 0, np.shape(x["features"])[2]
        off = np.stack([states % width - truth % width, states // width - truth // width])
        # The scale of the loss is 0.6 of the longest side.
        missed.append(np.linalg.norm(off[:, known], axis=0) > x["scale"] / 6)
    return np.concatenate(missed).mean()


METRICS = {
    "error": lambda task, found: np.mean(flat(found) != flat(task.y_test)),
    "span F1": lambda task, found: chunk_f1_score(task.y_test, [list(v) for v in found]),
    "IoU": lambda task, found: jaccard_score(flat(task.y_test), flat(found), average="macro"),
    "micro F1": lambda task, found: f1_score(task.y_test, found, average="micro"),
    "macro F1": lambda task, found: f1_score(task.y_test, found, average="macro", zero_division=0),
    "Hamming loss": lambda task, found: hamming_loss(task.y_test, found),
    "missed joints": missed_joints,
}


# Baselines ----------------------------------------------------------------------------------------


def node_features(X):
    """Return the features of all nodes, (n_nodes, n_features), and the shapes of the samples."""
    if isinstance(X, Sequences):
        return X.flat, [(n,) for n in X.lengths]
    if sparse.issparse(X) or (hasattr(X, "ndim") and X.ndim == 2):
        return X, None
    rows = [x[0] if isinstance(x, tuple) else x for x in X]
    shapes = [x.shape[:-1] for x in rows]
    return np.concatenate([x.reshape(-1, x.shape[-1]) for x in rows]), shapes


class PerNode:
    """A classifier of single nodes, or of the rows of labels and label sets."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y):
        rows, shapes = node_features(X)
        if shapes is None:
            labels = y
        else:
            labels = flat(y)
            known = labels != VOID if labels.dtype.kind in "iu" else slice(None)
            rows, labels = rows[known], labels[known]
            self.log_prior = np.log(np.unique(labels, return_counts=True)[1] / len(labels))
        self.classifier = clone(self.classifier).fit(rows, labels)
        return self

    def predict(self, X):
        rows, shapes = node_features(X)
        found = self.classifier.predict(rows)
        return found if shapes is None else split(found, shapes)

    def log_probabilities(self, X):
        """Return an array (n_nodes, K) for each sample."""
        rows, shapes = node_features(X)
        return split(self.classifier.predict_log_proba(rows), [(np.prod(s),) for s in shapes])


def split(values, shapes):
    """Return the values of each sample in its shape."""
    parts = np.split(values, np.cumsum([np.prod(s) for s in shapes])[:-1])
    return [part.reshape(*s, *values.shape[1:]) for part, s in zip(parts, shapes)]


class ViterbiChain(PerNode):
    """Class probabilities over class frequencies, decoded with counted transitions."""

    def fit(self, X, y):
        super().fit(X, y)
        codes = [np.searchsorted(self.classifier.classes_, v) for v in y]
        K = len(self.classifier.classes_)
        counts = np.full((K, K), SMOOTHING)
        for v in codes:
            np.add.at(counts, (v[:-1], v[1:]), 1)
        self.transitions = np.log(counts / counts.sum(axis=1, keepdims=True))
        return self

    def predict(self, X):
        classes = self.classifier.classes_
        scores = (p - self.log_prior for p in self.log_probabilities(X))
        return [classes[viterbi(each, self.transitions)[0]] for each in scores]


class PottsImages(PerNode):
    """A Potts model on log probabilities; weights of edges and of the prior are tuned."""

    def fit(self, X, y):
        n = len(X) - max(1, len(X) // 5)
        super().fit(X[:n], y[:n])
        held, truth = X[n : n + 4], flat(y[n : n + 4])
        errors = {}
        for chosen in product(POTTS_WEIGHTS, (0.0, 1.0)):
            self.weight, self.prior_weight = chosen
            wrong = flat(self.predict(held)) != truth
            errors[chosen] = wrong[truth != VOID].mean()
        self.weight, self.prior_weight = min(errors, key=errors.get)
        return super().fit(X, y)

    def predict(self, X):
        found, classes = [], self.classifier.classes_
        for x, log_p in zip(X, self.log_probabilities(X)):
            edges = x[1] if isinstance(x, tuple) else grid_edges(*x.shape[:2])
            costs = np.full(len(edges), self.weight)
            scores = log_p - self.prior_weight * self.log_prior
            if len(classes) == 2:
                labels, _ = graph_cut(-scores, edges, costs)
            else:
                labels, _ = alpha_expansion(-scores, edges, costs, random_state=0, n_starts=1)
            shape = labels.shape if isinstance(x, tuple) else x.shape[:2]
            found.append(classes[labels].reshape(shape))
        return found


class PerJoint:
    """A classifier of cells for each joint; predicts the cell with the highest score."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y):
        self.fitted = []
        for joint in range(len(y[0])):
            chosen = [(self.cells(x, joint), v[joint]) for x, v in zip(X, y) if v[joint] >= 0]
            there = [np.arange(len(cells)) == state for cells, state in chosen]
            rows = np.concatenate([cells for cells, _ in chosen])
            self.fitted.append(clone(self.classifier).fit(rows, np.concatenate(there)))
        return self

    def predict(self, X):
        return [
            np.array([np.argmax(model.decision_function(self.cells(x, joint)))
                      for joint, model in enumerate(self.fitted)])
            for x in X
        ]  # fmt: skip

    @staticmethod
    def cells(x, joint):
        features = np.asarray(x["features"][joint])
        return features.reshape(-1, features.shape[-1])


class CRFsuite:
    """CRFsuite on dicts of features; dense features are given as dicts too."""

    def fit(self, X, y):
        from sklearn_crfsuite import CRF

        self.names = {str(label): label for label in np.unique(flat(y))}
        self.model = CRF().fit(X, [[str(label) for label in v] for v in y])
        return self

    def predict(self, X):
        return [np.array([self.names[label] for label in v]) for v in self.model.predict(X)]


def as_dicts(task):
    """Return the features of training and test part as dicts."""
    if task.dicts is not None:
        return task.dicts
    return [[[{str(f): v for f, v in enumerate(row)} for row in np.asarray(x).tolist()] for x in X]
            for X in (task.X, task.X_test)]  # fmt: skip


CLASSIFIERS = {
    "LogisticRegression": lambda: PerNode(LogisticRegression()),
    "LinearSVC": lambda: PerNode(LinearSVC()),
}
IMAGES = CLASSIFIERS | {"logistic + cut": lambda: PottsImages(LogisticRegression())}
BASELINES = {
    MulticlassSSVM: CLASSIFIERS,
    ChainSSVM: CLASSIFIERS
    | {
        "logistic + Viterbi": lambda: ViterbiChain(LogisticRegression()),
        "Gaussian HMM": lambda: ViterbiChain(GaussianNB()),
        "CRFsuite": CRFsuite,
    },
    GridCRFSSVM: IMAGES,
    GraphCRFSSVM: IMAGES,
    TreeSSVM: {
        "LogisticRegression": lambda: PerJoint(LogisticRegression()),
        "LinearSVC": lambda: PerJoint(LinearSVC()),
    },
    MultilabelSSVM: {
        "LogisticRegression": lambda: OneVsRestClassifier(LogisticRegression()),
        "LinearSVC": lambda: OneVsRestClassifier(LinearSVC()),
        "ClassifierChain": lambda: ClassifierChain(LogisticRegression()),
    },
}


# Fits ---------------------------------------------------------------------------------------------


def methods_of(task, path_cv=False):
    """Return name and estimator of each method that applies to a task."""
    methods = {"default": lambda: clone(task.model)}
    if path_cv:
        # Some sets are sorted.
        folds = KFold(3, shuffle=True, random_state=0)
        methods["PathCV"] = lambda: PathCV(clone(task.model), cv=folds)
    methods |= BASELINES[type(task.model)]
    if type(task.model) is ChainSSVM:
        if sparse.issparse(task.X[0]):
            del methods["Gaussian HMM"]
        if task.dicts is None and (
            sparse.issparse(task.X[0]) or sum(x.size for x in task.X) > MAX_DENSE_ENTRIES
        ):
            del methods["CRFsuite"]
    return methods


def fitted(method, make, task, limit):
    """Fit and predict; return the values of the metrics and what the fit took."""
    X, X_test = task.X, task.X_test
    if method == "CRFsuite":
        X, X_test = as_dicts(task)
    model = make()
    if method == "default":
        model.set_params(max_time=limit)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, task.y)
    seconds = time.process_time() - begin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.predict(X_test)
        values = {name: METRICS[name](task, found) for name in task.metrics}
    best = getattr(model, "best_estimator_", model)
    slow = any(issubclass(each.category, ConvergenceWarning) for each in caught)
    gap = best.dual_gap_ / best.objective_ if hasattr(best, "dual_gap_") else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return values, {
        "cpu_seconds": f"{seconds:.3g}",
        "converged": str(getattr(best, "converged_", not slow)),
        "gap": "" if gap is None else f"{gap:.2g}",
        "peak_mb": f"{peak / 2**20:.0f}",
    }


def in_child(method, make, task, limit):
    """Return what `fitted` returns in a forked process, or None if that was stopped."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run():
        # A fit of sstruct ends by itself, with a certificate.
        most = int(limit * (3 if method in OURS else 1)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        sender.send(fitted(method, make, task, limit))

    child = context.Process(target=run)
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None
    finally:
        child.join()


def rows(name, seed, methods=None, path_cv=False, limit=60.0):
    """Yield the rows of one workload and seed."""
    task = WORKLOADS[name](seed)
    for method, make in methods_of(task, path_cv).items():
        if methods and method not in methods:
            continue
        values, costs = in_child(method, make, task, limit) or (
            dict.fromkeys(task.metrics),
            {"cpu_seconds": "", "converged": "False", "gap": "", "peak_mb": ""},
        )
        for metric, value in values.items():
            about = {"workload": name, "method": method, "seed": seed, "metric": metric}
            yield about | {"value": "" if value is None else f"{value:.5f}"} | costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", nargs="+", choices=[*WORKLOADS], default=[*WORKLOADS])
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--path-cv", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a fit")
    parser.add_argument("--summary", action="store_true", help="only print the summary")
    arguments = parsed(parser)
    path = arguments.output / "workloads.csv"
    if not arguments.summary:
        table = Table(path, ["workload", "method", "seed", "metric"])
        for name in arguments.workloads:
            for seed in arguments.seeds:
                how = f"--workloads {name!r} --seeds {seed} --limit {arguments.limit:g}"
                for row in rows(name, seed, arguments.methods, arguments.path_cv, arguments.limit):
                    print(*row.values(), sep="  ", flush=True)
                    command = f"python benchmarks/workloads.py {how}"
                    table.put(row | origin(command, arguments.load))
    print_summary(read(path))


if __name__ == "__main__":
    main()
