"""Warnings show the line of the user that called the package."""

import warnings

import numpy as np
import pytest

from sstruct import ChainSSVM, LatentSSVM, MulticlassSSVM, PathCV, ssvm_path
from sstruct.preprocessing import SequenceVectorizer
from sstruct.solvers import MPBCFW

X = [np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]]), np.array([[1.0]])] * 3
Y = [["x", "pad"], ["pad", "x"], ["pad"]] * 3
EMPTY = [*X, np.empty((0, 1))]


def chain(**parameters):
    return ChainSSVM(lam=1.0, random_state=0, **parameters)


CALLS = {
    "reserved label": lambda: chain().fit(X, Y),
    "reserved label of a row": lambda: MulticlassSSVM(lam=1.0).fit(np.eye(2), ["pad", "x"]),
    "reserved label, early stopping": lambda: chain(solver=MPBCFW(early_stopping=True)).fit(X, Y),
    "empty sample": lambda: chain(classes=["pad", "x"]).fit(EMPTY, [*Y, []]),
    "empty sample, partial_fit": lambda: ChainSSVM(solver="pa").partial_fit(
        EMPTY, [*Y, []], classes=["pad", "x"]
    ),
    "empty sample, LatentSSVM": lambda: LatentSSVM(chain(classes=["pad", "x"])).fit(
        EMPTY, [*Y, []]
    ),
    "empty sample, PathCV": lambda: PathCV(chain(classes=["pad", "x"]), cv=2).fit(EMPTY, [*Y, []]),
    "empty sample, ssvm_path": lambda: ssvm_path(chain(classes=["pad", "x"]), EMPTY, [*Y, []]),
    "limit": lambda: chain(max_iter=1, tol=1e-9, classes=["pad", "x"]).fit(X, Y),
    "limit, LatentSSVM": lambda: LatentSSVM(
        chain(max_iter=1, tol=1e-9, classes=["pad", "x"], ignore_label="x"), max_rounds=1
    ).fit(X, Y),
    "missing value": lambda: SequenceVectorizer().fit([[{"a": None}]]),
    "missing value, transform": lambda: SequenceVectorizer().fit_transform([[{"a": None}]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_show_the_line_of_the_caller(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    assert {each.filename for each in caught} == {__file__}
