#!/usr/bin/env python3
"""CoNLL-2000 chunking: ChainSSVM compared with CRFsuite, on the same attributes, in one run.

    python benchmarks/chunking.py [--min-count 1 3] [--repeats 3] [--skip-search]

The input of both programs is CRFsuite's chunking template as lists of feature dicts. lam and c2 are
selected by chunk F1 on the last tenth of the training sentences; then each program trains on all of
them and is tested on the test set of the shared task. Every job runs in a separate process, so that
its peak memory can be measured; jobs of the two programs alternate. Reports chunk F1, seconds from
vectorized features (ours) and from feature dicts to the model, and peak memory, as a table and
JSON.

Needs sklearn-crfsuite and the data (SSTRUCT_DATA or a download).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import add_output, write

LAMS = {"hamming-count": (0.0006, 0.00125, 0.0025), "hamming": (0.015, 0.03, 0.06)}
C2S = (0.03, 0.1, 0.3, 1.0)
# Results of the search, by minimum count of an attribute, which --skip-search uses.
FOUND = {
    1: {("sstruct", "hamming-count"): 0.00125, ("sstruct", "hamming"): 0.015, ("lbfgs", None): 0.1},
    3: {("sstruct", "hamming-count"): 0.0006, ("sstruct", "hamming"): 0.015, ("lbfgs", None): 0.3},
}


def load(part):
    """Return train and test dicts and labels; `part` is "search" or "final"."""
    from chunking_features import chunking_features

    from sstruct.datasets import fetch_conll2000

    train = fetch_conll2000(subset="train")
    if part == "search":
        cut = len(train.data) * 9 // 10
        segments = (train.data[:cut], train.target[:cut], train.data[cut:], train.target[cut:])
    else:
        test = fetch_conll2000(subset="test")
        segments = (train.data, train.target, test.data, test.target)
    return chunking_features(segments[0]), segments[1], chunking_features(segments[2]), segments[3]


def job(program, part, min_count, loss, value):
    """Train once and return the measurements."""
    from sstruct.metrics import chunk_f1_score

    X, y, X_test, y_test = load(part)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {"features_megabytes": loaded / 1024}
    begin = time.perf_counter()
    if program == "sstruct":
        from sstruct import ChainSSVM
        from sstruct.preprocessing import SequenceVectorizer

        # All values of the template are 1, which is exact in single precision.
        vectorizer = SequenceVectorizer(min_count=min_count, dtype=np.float32)
        rows = vectorizer.fit_transform(X)
        vectorized = time.perf_counter()
        model = ChainSSVM(loss=loss, lam=value, random_state=0).fit(rows, y)
        figures["attributes"] = rows.flat.shape[1]
        figures["fit_seconds"] = time.perf_counter() - vectorized
        figures["relative_gap"] = model.dual_gap_ / model.objective_
    else:
        import sklearn_crfsuite

        if program == "lbfgs":
            model = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.0, c2=value, min_freq=min_count)
        else:
            model = sklearn_crfsuite.CRF(algorithm="ap", min_freq=min_count)
        model.fit(X, y)
    figures["seconds"] = time.perf_counter() - begin
    figures["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    prediction = model.predict(vectorizer.transform(X_test) if program == "sstruct" else X_test)
    figures["f1"] = chunk_f1_score(y_test, prediction)
    return figures


def run(*arguments):
    """Run a job in a separate process."""
    command = [sys.executable, __file__, "--job", json.dumps(arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def search(program, min_count, loss, values):
    """Return the value with the best F1 on the held-out tenth."""
    scores = {value: run(program, "search", min_count, loss, value)["f1"] for value in values}
    best = max(scores, key=scores.get)
    print(f"  {program} {loss or ''}: {scores} -> {best}", flush=True)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job")
    parser.add_argument("--min-count", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-search", action="store_true", help="use the values found earlier")
    add_output(parser)
    arguments = parser.parse_args()
    if arguments.job:
        print(json.dumps(job(*json.loads(arguments.job))))
        return
    report = {}
    for min_count in arguments.min_count:
        print(f"min count {min_count}", flush=True)
        if arguments.skip_search:
            chosen = dict(FOUND[min_count])
        else:
            chosen = {
                ("sstruct", loss): search("sstruct", min_count, loss, values)
                for loss, values in LAMS.items()
            }
            chosen["lbfgs", None] = search("lbfgs", min_count, None, C2S)
        chosen["ap", None] = None
        runs = {key: [] for key in chosen}
        for _ in range(arguments.repeats):
            for (program, loss), value in chosen.items():
                runs[program, loss].append(run(program, "final", min_count, loss, value))
        columns = ("f1", "fit_seconds", "seconds", "peak_megabytes")
        print(f"{'':28s}" + "".join(f"{column:>16s}" for column in columns) + "   (medians)")
        table = {}
        for (program, loss), results in runs.items():
            row = {c: median(r[c] for r in results) for c in columns if c in results[0]}
            name = f"{program} {loss or ''} {chosen[program, loss] or ''}".strip()
            table[name] = {"median": row, "runs": results}
            cells = "".join(f"{row[c]:16.4f}" if c in row else f"{'-':>16s}" for c in columns)
            print(f"{name:28s}{cells}", flush=True)
        report[min_count] = table
    write(report, arguments.output, "chunking")


if __name__ == "__main__":
    main()
