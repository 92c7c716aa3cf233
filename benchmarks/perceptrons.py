#!/usr/bin/env python3
"""Averaged perceptron and passive-aggressive compared with CRFsuite: equal features and epochs.

    python benchmarks/perceptrons.py [--data ocr conll] [--epochs 10] [--repeats 3]

OCR letters (folds 1-9 to train, 0 to test; an attribute for each pixel that is on) and CoNLL-2000
(CRFsuite's chunking template). Both programs only have weights of attributes and transitions, and
receive the samples in a new random order in each repeat; jobs alternate, one thread each. Errors
are fractions of wrong labels, means over the repeats; for CoNLL-2000 there is also the chunk F1.
Seconds to train are medians of the CPU time of ``Trainer.train`` of CRFsuite, after the data were
appended, and of ``ChainSSVM.fit`` from rows; "from dicts" adds ``append`` and SequenceVectorizer.
Needs sklearn-crfsuite and the data (SSTRUCT_DATA or a download).
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import mean, median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pycrfsuite
from benchmark_problems import ocr_letters
from chunking_features import chunking_features
from reports import add_output, write

from sstruct import ChainSSVM
from sstruct.datasets import fetch_conll2000
from sstruct.metrics import chunk_f1_score, flat_accuracy_score
from sstruct.preprocessing import SequenceVectorizer

SOLVERS = {"perceptron": "ap", "pa": "pa"}


def letters():
    """Return training and test words as lists of dicts of the pixels that are on."""
    names = [f"p{k}" for k in range(128)]
    out = []
    for small in (False, True):
        X, y = ocr_letters(small=small)
        words = [[{names[k]: 1.0 for k in np.flatnonzero(row)} for row in word] for word in X]
        out += [words, [[str(label) for label in word] for word in y]]
    return out


def chunks():
    """Return training and test sentences."""
    parts = [fetch_conll2000(subset=subset) for subset in ("train", "test")]
    return [each for part in parts for each in (chunking_features(part.data), part.target)]


DATA = {"ocr": letters, "conll": chunks}


def ours(solver, epochs, X, y, X_test):
    """Train once; return seconds to train, seconds from dicts, and predictions."""
    begin = time.process_time()
    vectorizer = SequenceVectorizer(dtype=np.float32)
    rows = vectorizer.fit_transform(X)
    model = ChainSSVM(
        solver=solver, max_iter=epochs, fit_intercept=False, boundaries=False, random_state=0
    )
    vectorized = time.process_time()
    model.fit(rows, y)
    end = time.process_time()
    return end - vectorized, end - begin, model.predict(vectorizer.transform(X_test))


def crfsuite(solver, epochs, X, y, X_test):
    """Train CRFsuite once; return the same as `ours`."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model")
        begin = time.process_time()
        trainer = pycrfsuite.Trainer(algorithm=SOLVERS[solver], verbose=False)
        trainer.set("max_iterations", epochs)
        for x, labels in zip(X, y, strict=True):
            trainer.append(pycrfsuite.ItemSequence(x), labels)
        appended = time.process_time()
        trainer.train(file)
        end = time.process_time()
        tagger = pycrfsuite.Tagger()
        tagger.open(file)
        return end - appended, end - begin, [tagger.tag(x) for x in X_test]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=DATA)
    parser.add_argument("--epochs", type=int, nargs="*", default=[10])
    parser.add_argument("--repeats", type=int, default=3)
    add_output(parser)
    arguments = parser.parse_args()
    report = []
    for name in arguments.data:
        X, y, X_test, y_test = DATA[name]()
        for epochs in arguments.epochs:
            for solver in SOLVERS:
                runs = {ours: [], crfsuite: []}
                for repeat in range(arguments.repeats):
                    order = np.random.default_rng(repeat).permutation(len(X))
                    X_now, y_now = [X[i] for i in order], [y[i] for i in order]
                    for program, found in runs.items():
                        seconds, total, labels = program(solver, epochs, X_now, y_now, X_test)
                        error = 1 - flat_accuracy_score(y_test, labels)
                        f1 = chunk_f1_score(y_test, labels) if name == "conll" else None
                        found.append((error, f1, seconds, total))
                row = {"data": name, "epochs": epochs, "solver": solver}
                for program, found in runs.items():
                    errors, f1, seconds, totals = zip(*found, strict=True)
                    who = "sstruct" if program is ours else "crfsuite"
                    row[f"{who}_error"] = mean(errors)
                    row[f"{who}_f1"] = mean(f1) if f1[0] is not None else None
                    row[f"{who}_seconds"] = median(seconds)
                    row[f"{who}_from_dicts"] = median(totals)
                    row[f"{who}_runs"] = found
                row["error_ratio"] = row["sstruct_error"] / row["crfsuite_error"]
                row["seconds_ratio"] = row["sstruct_seconds"] / row["crfsuite_seconds"]
                report.append(row)
                print({k: v for k, v in row.items() if not k.endswith("runs")}, flush=True)
    write(report, arguments.output, "perceptrons")


if __name__ == "__main__":
    main()
