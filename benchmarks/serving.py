#!/usr/bin/env python3
"""How long does it take to predict the labels of one sentence of 20 words?

    python benchmarks/serving.py [--seconds 2] [--threads 8]

Tags of EWT, 2,000 sentences to train. For each method, microseconds per call: the least, the median
and the 99th percentile of calls from one thread, and from several threads that share the model.
"rows" are float32 vectors of 256 features; "dicts" are feature dicts of 11 attributes per word,
predicted by a pipeline of a SequenceVectorizer and a ChainSSVM. For comparison: a pipeline of two
steps that do nothing; potentials and Viterbi decoding of the same rows by NumPy; and the tagger of
CRFsuite on the same dicts, if python-crfsuite is installed, in one thread. Each method is a row of
serving.csv in --output. Needs SSTRUCT_DATA.
"""

import argparse
import os
import tempfile
import threading
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from defaults_data import word_features
from reports import Table, command, origin, parsed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from workload_data import embedded, tagged_sentences

from sstruct import ChainSSVM
from sstruct.preprocessing import SequenceVectorizer

N_TRAIN, LENGTH = 2000, 20


class Nothing(TransformerMixin, BaseEstimator):
    """A step of a pipeline that does nothing."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X

    def predict(self, X):
        return X


def numpy_viterbi(model):
    """Return a function that decodes a sequence of rows."""
    coef, intercept, edge = model.coef_.T, model.intercept_, model.edge_coef_
    start, end, classes = model.start_coef_, model.end_coef_, model.classes_

    def predict(X):
        theta = X @ coef + intercept
        theta[0] += start
        theta[-1] += end
        best, origin = theta[0], []
        for row in theta[1:]:
            scores = best[:, np.newaxis] + edge
            origin.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + row
        path = [int(best.argmax())]
        for back in reversed(origin):
            path.append(int(back[path[-1]]))
        return classes[path[::-1]]

    return predict


def crfsuite(dicts, tags):
    """Return the tagger of a trained model, or None if the package is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        return None
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(dicts, tags):
        trainer.append(x, y)
    trainer.set_params({"max_iterations": 50})
    tagger = pycrfsuite.Tagger()
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger.open(f"{folder}/model")
    return tagger.tag


def methods():
    """Return functions without arguments by name; each predicts the same sentence."""
    sentences = tagged_sentences(0)
    chosen = next(s for s in sentences[N_TRAIN:] if len(s) == LENGTH)
    words = [[row[0] for row in s] for s in [*sentences[:N_TRAIN], chosen]]
    tags = [[row[1] for row in s] for s in sentences[:N_TRAIN]]
    rows = [np.ascontiguousarray(x[:, 256:512], dtype=np.float32) for x in embedded(words)]
    dicts = list(map(word_features, words))
    model = ChainSSVM(random_state=0).fit(rows[:-1], tags)
    pipeline = make_pipeline(SequenceVectorizer(), ChainSSVM(random_state=0)).fit(dicts[:-1], tags)
    nothing = make_pipeline(Nothing(), Nothing()).fit(dicts)
    decode, tag = numpy_viterbi(model), crfsuite(dicts[:-1], tags)
    assert decode(rows[-1]).tolist() == model.predict(rows[-1:])[0].tolist()
    found = {
        "rows": lambda: model.predict([rows[-1]]),
        "dicts": lambda: pipeline.predict([dicts[-1]]),
        "vectorizer": lambda: pipeline[0].transform([dicts[-1]]),
        "empty pipeline": lambda: nothing.predict([dicts[-1]]),
        "NumPy Viterbi, rows": lambda: decode(rows[-1]),
    }
    return found if tag is None else found | {"CRFsuite, dicts": lambda: tag(dicts[-1])}


def latencies(call, seconds, n_threads):
    """Return the seconds of each call, from threads that call at the same time."""
    found, end = [], time.perf_counter() + seconds

    def run():
        own, now = [], time.perf_counter()
        while now < end:
            call()
            before, now = now, time.perf_counter()
            own.append(now - before)
        found.extend(own)

    threads = [threading.Thread(target=run) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--threads", type=int, default=8)
    arguments = parsed(parser)
    table = Table(arguments.output / "serving.csv", ("method", "threads"))
    for name, call in methods().items():
        for n_threads in (1,) if name.startswith("CRFsuite") else (1, arguments.threads):
            latencies(call, 0.1, 1)  # fills caches
            times = np.array(latencies(call, arguments.seconds, n_threads)) * 1e6
            p50, p99 = np.percentile(times, [50, 99])
            row = {
                "method": name,
                "threads": n_threads,
                "least": f"{times.min():.1f}",
                "p50": f"{p50:.1f}",
                "p99": f"{p99:.1f}",
                "calls per second": f"{len(times) / arguments.seconds:.0f}",
            }
            print(*row.values(), sep="\t")
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
