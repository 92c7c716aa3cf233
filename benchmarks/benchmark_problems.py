"""The training problems that benchmarks of the solvers share, packed once for many runs.

Scripts that measure solvers pass packed problems to them, as ``fit`` does, so that neither
validation nor packing is timed.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct.datasets import fetch_conll2000, fetch_ocr_letters, make_sequences
from sstruct.preprocessing import SequenceVectorizer

# Values of lam of each problem; 0 stands for 1/n.
LAMS = {
    "ocr-small": (0.01, 0.001, 0.0),
    "ocr-large": (0.01, 0.001, 0.0),
    "conll": (0.001, 0.0),
    "digits": (0.001, 0.0),
    "usps": (0.001, 0.0),
    "sequences": (0.01, 0.001),
    "yeast": (0.001, 0.0),
}
# Problems on which no constant of this package was chosen, except those of the averages of passes,
# which were chosen on all problems.
UNTUNED = ("sequences", "yeast")


@dataclass
class Packed:
    """A packed problem and other inputs that ``fit`` passes to the solver."""

    name: str
    estimator: object
    problem: object
    block_weight: np.ndarray
    lam: float
    bounds: np.ndarray | None = None

    @property
    def n(self):
        """Number of blocks."""
        return self.problem.n_blocks


def ocr_letters(small):
    """Return fold 0 of the OCR letters, or folds 1-9."""
    letters = fetch_ocr_letters()
    chosen = np.flatnonzero((letters.fold == 0) == small)
    return [letters.data[i] for i in chosen], [letters.target[i] for i in chosen]


def chunking(n_sentences=None):
    """Return CoNLL-2000 with CRFsuite's template; attributes occur at least three times."""
    from chunking_features import chunking_features

    train = fetch_conll2000(subset="train")
    features = chunking_features(train.data[:n_sentences])
    rows = SequenceVectorizer(min_count=3, dtype=np.float32).fit_transform(features)
    return rows, train.target[:n_sentences]


def shared_file(name):
    """Return the path of a file in the folder SSTRUCT_DATA."""
    folder = os.environ.get("SSTRUCT_DATA")
    if not folder:
        raise SystemExit(f"set SSTRUCT_DATA to the folder that contains {name}")
    return Path(folder) / name


def usps():
    """Return the training part of USPS, gray values in [-1, 1]."""
    with np.load(shared_file("usps.npz")) as data:
        return data["X_train"] / 1000.0 - 1, data["y_train"].astype(int)


def yeast():
    """Return the training part of Yeast; the classes are its frequent label sets."""
    from sklearn.datasets import load_svmlight_file

    X, sets = load_svmlight_file(str(shared_file("yeast_train.svm.gz")), multilabel=True)
    names, codes, counts = np.unique(
        [" ".join(f"{label:g}" for label in labels) for labels in sets],
        return_inverse=True,
        return_counts=True,
    )
    frequent = counts[codes] >= 10
    return X.toarray()[frequent], names[codes][frequent]


def digits():
    """Return the digits of scikit-learn, gray values in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    return X / 16, y


LOADERS = {
    "ocr-small": lambda: ocr_letters(small=True),
    "ocr-large": lambda: ocr_letters(small=False),
    "conll": chunking,
    "conll-500": lambda: chunking(500),
    "digits": digits,
    "usps": usps,
    "sequences": lambda: make_sequences(
        1500, n_labels=12, n_features=40, min_length=2, max_length=40, noise=1.5, random_state=7
    ),
    "yeast": yeast,
}


def packed(name, lams):
    """Load and pack a problem, once for all `lams` (0: 1/n); return a list of Packed."""
    kind = MulticlassSSVM if name in ("digits", "usps", "yeast") else ChainSSVM
    return pack(name, kind(loss="hamming", random_state=0), *LOADERS[name](), lams)


def pack(name, estimator, X, y, lams):
    """Pack data as the estimator's ``fit`` does, once for all `lams` (0: 1/n)."""
    kept = prepare_training(estimator._structure(), Samples(X, y))
    problem, weight = kept.problem, kept.block_weight
    lams = [lam or 1 / problem.n_blocks for lam in lams]
    return [Packed(name, estimator, problem, weight, lam, kept.bounds) for lam in lams]


def machine():
    """Return a description of the machine, for reports."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, load {load}"
