#!/usr/bin/env python3
"""Does DependencySSVM parse as well as an averaged perceptron with the same features?

    python benchmarks/dependency.py [--sentences 12544] [--epochs 5] [--labeled]

Universal Dependencies English EWT: words and gold tags (XPOS), heads and, with --labeled,
relations. All methods use the features and the candidate arcs of ArcVectorizer, and the same
decoder:

* "mst": DependencySSVM with tol=0.1 and otherwise default parameters, and "mst, perceptron": with
  solver="perceptron" and --epochs passes;
* "projective": the same with projective=True; training trees are replaced by the closest
  projective ones;
* "averaged perceptron": the first-order parser of McDonald et al. (2005), with perceptron updates
  in a random order in each of --epochs epochs, and "averaged perceptron, projective".

UAS and LAS on the test part, including punctuation, and the CPU seconds of training in one thread,
without features. Each method is a row of dependency.csv in --output. Reads
SSTRUCT_DATA/ud_english_ewt_{train,test}.txt.gz: lines FORM UPOS XPOS HEAD DEPREL.
"""

import argparse
import gzip
import os
from pathlib import Path
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed

from sstruct import DependencySSVM
from sstruct.inference import dependency_tree
from sstruct.metrics import labeled_attachment_score, unlabeled_attachment_score
from sstruct.preprocessing import ArcVectorizer


def read(part):
    """Return sentences of words and tags, heads, and pairs of heads and labels."""
    path = Path(os.environ["SSTRUCT_DATA"]) / f"ud_english_ewt_{part}.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    X = [[(row[0], row[2]) for row in sentence] for sentence in rows]
    y = [np.array([int(row[3]) for row in sentence]) for sentence in rows]
    return X, y, [[row[4] for row in sentence] for sentence in rows]


def closest_projective(x, heads):
    """Return the projective tree of candidate arcs with the most arcs of a tree."""
    scores = np.full((len(heads), len(heads) + 1), -np.inf)
    scores[x["arcs"][:, 1] - 1, x["arcs"][:, 0]] = 0
    scores[np.arange(len(heads)), heads] = 1
    return dependency_tree(scores, projective=True)[0].astype(int)


class AveragedPerceptron:
    """First-order parser without labels; w - u / (n_steps + 1) is the average of the weights."""

    def __init__(self, epochs, projective=False):
        self.epochs, self.projective = epochs, projective

    def heads_of(self, x, w):
        arcs = x["arcs"]
        n = arcs[:, 1].max(initial=0)
        scores = np.full((n, n + 1), -np.inf)
        scores[arcs[:, 1] - 1, arcs[:, 0]] = x["features"] @ w
        return dependency_tree(scores, projective=self.projective)[0]

    def fit(self, X, y):
        w, u, step = *np.zeros((2, X[0]["features"].shape[1])), 0
        random = np.random.default_rng(0)
        for _ in range(self.epochs):
            for i in random.permutation(len(X)):
                step += 1
                found, features, arcs = self.heads_of(X[i], w), X[i]["features"], X[i]["arcs"]
                wrong = found != y[i]
                for heads, sign in ((y[i], 1), (found, -1)):
                    chosen = wrong[arcs[:, 1] - 1] & (heads[arcs[:, 1] - 1] == arcs[:, 0])
                    columns = features[np.flatnonzero(chosen)].indices
                    np.add.at(w, columns, sign)
                    np.add.at(u, columns, sign * step)
        self.w = w - u / (step + 1)
        return self

    def predict(self, X):
        return [self.heads_of(x, self.w) for x in X]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=12544)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--labeled", action="store_true")
    parser.add_argument("--methods", nargs="+")
    options = parsed(parser)
    keys = ("sentences", "labeled", "method")
    table = Table(options.output / "dependency.csv", keys)
    X, y, labels = (part[: options.sentences] for part in read("train"))
    X_test, y_test, labels_test = read("test")
    start = process_time()
    vectorizer = ArcVectorizer(labeled=options.labeled)
    arcs, arcs_test = vectorizer.fit_transform(X, y), vectorizer.transform(X_test)
    print(f"features: {process_time() - start:.0f} s, {sum(len(x['arcs']) for x in arcs)} arcs")

    svm = {"tol": 0.1, "labeled": options.labeled, "random_state": 0}
    online = {"solver": "perceptron", "max_iter": options.epochs}
    methods = {
        "mst": DependencySSVM(**svm),
        "mst, perceptron": DependencySSVM(**svm | online),
        "projective": DependencySSVM(projective=True, **svm),
    }
    if not options.labeled:
        methods["averaged perceptron"] = AveragedPerceptron(options.epochs)
        methods["averaged perceptron, projective"] = AveragedPerceptron(options.epochs, True)
    for method in options.methods or methods:
        model = methods[method]
        trees = y
        if model.projective:
            trees = [closest_projective(*pair) for pair in zip(arcs, y, strict=True)]
        if options.labeled:
            trees = list(zip(trees, labels, strict=True))
        start = process_time()
        model.fit(arcs, trees)
        seconds = process_time() - start
        found = list(model.predict(arcs_test))
        row = {"sentences": len(X), "labeled": options.labeled, "method": method}
        row["uas"] = f"{unlabeled_attachment_score(y_test, found):.4f}"
        row["las"] = ""
        if options.labeled:
            pairs = list(zip(y_test, labels_test, strict=True))
            row["las"] = f"{labeled_attachment_score(pairs, found):.4f}"
        row |= {"seconds": f"{seconds:.0f}", "passes": getattr(model, "n_iter_", options.epochs)}
        table.put(row | origin(command(), options.load))
        print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
