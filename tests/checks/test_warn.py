"""Warnings show the line of the user that called the package."""

import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sstruct import (
    ChainSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    StructuredSVM,
    ssvm_path,
)
from sstruct.calibration import CalibratedSSVM, ConformalSSVM, TunedThresholdSSVM
from sstruct.preprocessing import SequenceVectorizer
from sstruct.solvers import MPBCFW

X = [np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]]), np.array([[1.0]])] * 3
Y = [["x", "pad"], ["pad", "x"], ["pad"]] * 3
EMPTY = [*X, np.empty((0, 1))]
# Sequences of one node, and rows.
NODES, NAMES = [x[:1] for x in X], [y[:1] for y in Y]
ROWS, SETS = np.arange(24.0).reshape(12, 2) % 5, np.arange(24).reshape(12, 2) % 3 > 0
UNLABELED = [["?"] * len(y) if i < 3 else y for i, y in enumerate(Y)]


class Truth:
    """An oracle that only finds the true labelings."""

    def joint_feature(self, x, y):
        return np.array([x[0] * y])

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, w, x, y_true=None, loss_weight=0.0):
        return y_true if y_true is not None else 1


def chain(**parameters):
    return ChainSSVM(**{"lam": 1.0, "random_state": 0, **parameters})


def named(**parameters):
    return chain(classes=["pad", "x"], **parameters)


def limited(**parameters):
    return named(max_iter=1, tol=1e-9, **parameters)


CALLS = {
    "reserved label": lambda: chain().fit(X, Y),
    "reserved label of a row": lambda: MulticlassSSVM(lam=1.0).fit(np.eye(2), ["pad", "x"]),
    "reserved label, early stopping": lambda: chain(solver=MPBCFW(early_stopping=True)).fit(X, Y),
    "reserved label, PathCV": lambda: PathCV(chain(), cv=2, refit=False).fit(X, Y),
    "empty sample": lambda: named().fit(EMPTY, [*Y, []]),
    "empty sample, partial_fit": lambda: ChainSSVM(solver="pa").partial_fit(
        EMPTY, [*Y, []], classes=["pad", "x"]
    ),
    "empty sample, LatentSSVM": lambda: LatentSSVM(named()).fit(EMPTY, [*Y, []]),
    "empty sample, PathCV": lambda: PathCV(named(), cv=2).fit(EMPTY, [*Y, []]),
    "empty sample, PathCV, no refit": lambda: PathCV(named(), cv=2, refit=False).fit(
        EMPTY, [*Y, []]
    ),
    "empty sample, ssvm_path": lambda: ssvm_path(named(), EMPTY, [*Y, []]),
    "no transitions": lambda: named().fit(NODES, NAMES),
    "no transitions, PathCV": lambda: PathCV(named(), cv=2, refit=False).fit(NODES, NAMES),
    "unscored split": lambda: PathCV(named(ignore_label="?"), cv=3).fit(X, UNLABELED),
    "limit": lambda: limited().fit(X, Y),
    "limit, LatentSSVM": lambda: LatentSSVM(limited(ignore_label="x"), max_rounds=1).fit(X, Y),
    "limit, ssvm_path": lambda: ssvm_path(limited(), X, Y, eps=1e-6),
    "limit, PathCV": lambda: PathCV(limited(), cv=2, refit=False, eps=1e-6).fit(X, Y),
    "limit, CalibratedSSVM": lambda: CalibratedSSVM(limited(), cv=2).fit(X, Y),
    "limit, ConformalSSVM": lambda: ConformalSSVM(limited(), cv=2).fit(X, Y),
    "limit, TunedThresholdSSVM": lambda: TunedThresholdSSVM(
        MultilabelSSVM(max_iter=1, tol=1e-9, lam=0.01, random_state=0), cv=2
    ).fit(ROWS, SETS),
    "limit, pipeline": lambda: make_pipeline(limited()).fit(X, Y),
    "limit, search": lambda: GridSearchCV(limited(), {"lam": [1.0]}, cv=2).fit(X, Y),
    "limit, cross-validation": lambda: cross_val_score(limited(), X, Y, cv=2),
    "scale": lambda: named(lam="auto").fit([x * [1e4, 1.0, 1.0] for x in X], Y),
    "one label for all": lambda: MulticlassSSVM(lam=1e3).fit(
        np.tile(ROWS, (10, 1)), ["a", "a", "b"] * 40
    ),
    "oracle": lambda: StructuredSVM(Truth(), random_state=0).fit([[2.0], [-1.0]], [1, -1]),
    "temperature": lambda: CalibratedSSVM(FrozenEstimator(named().fit(X, Y))).fit(X[:2], Y[:2]),
    "infinite threshold": lambda: ConformalSSVM(named(), cv=2, confidence_level=0.99).fit(X, Y),
    "missing value": lambda: SequenceVectorizer().fit([[{"a": None}]]),
    "missing value, transform": lambda: SequenceVectorizer().fit_transform([[{"a": None}]]),
    "missing value, pipeline": lambda: make_pipeline(SequenceVectorizer(), named()).fit(
        [[{"a": None}, {"a": 1}]], [["x", "pad"]]
    ),
}


def check_lines(call):
    """Check that a call issues warnings, which all refer to this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {each.filename for each in caught} == {__file__}
    return caught


@pytest.mark.parametrize("name", CALLS)
def test_warnings_show_the_line_of_the_caller(name):
    check_lines(CALLS[name])


def test_warnings_of_checkpoints_show_the_line_of_the_caller(monkeypatch, tmp_path):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sstruct._solvers.core.checkpoint.os.replace", fail)
    solver = MPBCFW(checkpoint=str(tmp_path / "fit.npz"))
    caught = check_lines(lambda: limited(solver=solver).fit(X, Y))
    assert RuntimeWarning in {each.category for each in caught}
