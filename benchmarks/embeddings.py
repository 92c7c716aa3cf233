#!/usr/bin/env python3
"""How many matrix products over the data does a default fit of dense embeddings cost?

    python benchmarks/embeddings.py [--data 2000x256x17 ...] [--repeats 3] [--logistic]
        [--pytorch-crf EPOCHS]

Sequences x features x labels: the first sentences of EWT in random order, with float32 vectors of
the current word (256 features) or of the previous, the current and the next word (768), and their
17 or 49 tags; 1,000 other sentences are the test part. For each set: CPU seconds of a default
ChainSSVM, with its passes and its share of wrong tags; of LogisticRegression on the same rows with
--logistic; of a linear layer and pytorch-crf (Adam, batches of 32 sequences, learning rate 0.01)
with --pytorch-crf, where both are installed; and of a product of all features with a float32 matrix
of a column per label, in which the others are also expressed. Methods alternate, one thread,
medians of --repeats. Each set and method is a row of embeddings.csv in --output. Needs
SSTRUCT_DATA.
"""

import argparse
import os
import time
from functools import partial
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed
from sklearn.linear_model import LogisticRegression
from workload_data import embedded, tagged_sentences

from sstruct import ChainSSVM, Sequences

N_TEST = 1000
SETS = [f"{n}x{F}x{K}" for n in (2000, 10_000) for F in (256, 768) for K in (17, 49)]


def load(name):
    """Return Sequences and labels of each, of the training and of the test part."""
    n, n_features, n_labels = map(int, name.split("x"))
    sentences = tagged_sentences(0)[: n + N_TEST]
    column = 1 if n_labels == 17 else 2
    lengths = [len(sentence) for sentence in sentences]
    rows = np.vstack(embedded([[row[0] for row in sentence] for sentence in sentences]))
    rows = rows[:, 256:512] if n_features == 256 else rows
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    X = Sequences.from_lengths(rows, lengths)
    y = [[row[column] for row in sentence] for sentence in sentences]
    return X[:n], y[:n], X[n:], y[n:]


def product(X, y, X_test, y_test):
    """Multiply all features with a matrix."""
    W = np.ones((X.flat.shape[1], len({label for labels in y for label in labels})), np.float32)
    begin = time.process_time()
    X.flat @ W
    return {"seconds": time.process_time() - begin}


def chain(X, y, X_test, y_test):
    """Fit a ChainSSVM."""
    begin = time.process_time()
    model = ChainSSVM(random_state=0).fit(X, y)
    seconds = time.process_time() - begin
    return {
        "seconds": seconds,
        "passes": int(model.n_iter_),
        "objective": model.objective_,
        "gap": model.dual_gap_,
        "error": 1 - model.score(X_test, y_test),
    }


def logistic(X, y, X_test, y_test):
    """Fit a LogisticRegression of single rows."""
    begin = time.process_time()
    model = LogisticRegression().fit(X.flat, np.concatenate(y))
    seconds = time.process_time() - begin
    return {"seconds": seconds, "error": 1 - model.score(X_test.flat, np.concatenate(y_test))}


def pytorch_crf(X, y, X_test, y_test, epochs):
    """Fit a linear layer and a CRF by stochastic gradients."""
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from torchcrf import CRF

    torch.set_num_threads(1)
    torch.manual_seed(0)
    classes, codes = np.unique(np.concatenate(y), return_inverse=True)
    labels = torch.from_numpy(codes).split([len(labels) for labels in y])
    inputs = [torch.from_numpy(x) for x in X]
    begin = time.process_time()
    layer, crf = torch.nn.Linear(X.flat.shape[1], len(classes)), CRF(len(classes), batch_first=True)
    optimizer = torch.optim.Adam([*layer.parameters(), *crf.parameters()], lr=0.01)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(32):
            rows = pad_sequence([inputs[i] for i in batch], batch_first=True)
            target = pad_sequence([labels[i] for i in batch], batch_first=True, padding_value=-1)
            mask = target >= 0
            optimizer.zero_grad()
            loss = -crf(layer(rows), target.clamp(min=0), mask=mask, reduction="mean")
            loss.backward()
            optimizer.step()
    seconds = time.process_time() - begin
    with torch.no_grad():
        paths = [crf.decode(layer(torch.from_numpy(x))[None])[0] for x in X_test]
    wrong = classes[np.concatenate(paths)] != np.concatenate(y_test)
    return {"seconds": seconds, "passes": epochs, "error": wrong.mean()}


def measure(name, methods, repeats):
    """Yield the medians of each method on a data set, as rows."""
    data = load(name)
    found = {method: [] for method in methods}
    for _ in range(repeats):
        for method, run in methods.items():
            found[method].append(run(*data))
    unit = median(result["seconds"] for result in found["product"])
    for method, results in found.items():
        seconds = median(result["seconds"] for result in results)
        last = results[-1]
        yield {
            "data": name,
            "method": method,
            "seconds": f"{seconds:.4g}",
            "products": f"{seconds / unit:.1f}",
            "passes": last.get("passes", ""),
            "objective": f"{last['objective']:.6g}" if "objective" in last else "",
            "gap": f"{last['gap']:.2g}" if "gap" in last else "",
            "error": f"{last['error']:.4f}" if "error" in last else "",
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--logistic", action="store_true")
    parser.add_argument("--pytorch-crf", type=int, nargs="+", default=[], metavar="EPOCHS")
    arguments = parsed(parser)
    methods = {"product": product, "ChainSSVM": chain}
    if arguments.logistic:
        methods["LogisticRegression"] = logistic
    for epochs in arguments.pytorch_crf:
        methods[f"pytorch-crf, {epochs} epochs"] = partial(pytorch_crf, epochs=epochs)
    table = Table(arguments.output / "embeddings.csv", ("data", "method"))
    for name in arguments.data:
        for row in measure(name, methods, arguments.repeats):
            print(*row.values(), flush=True)
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
