"""Test the contract and invalid arguments of MulticlassProblem.

As in test_contract, features, weights and costs are small integers, so results are exact.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sstruct._problems.core._decode import decode
from sstruct._problems.label_set._multiclass import MulticlassProblem
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import STORAGES, check_access, check_against_definition, code


def make(rng, K, *, n=4, F=5, storage="dense", dtype=np.float64, bias=True, scaled=True):
    """Return a problem and its parts in the format of `check_against_definition`."""
    X = rng.integers(-3, 4, (n, F)) * (rng.random((n, F)) < 0.7)
    labels = rng.integers(0, K, n).astype(np.int32)
    cost = rng.integers(0, 4, (K, K)) * (1.0 - np.eye(K))
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], n) if scaled else None
    problem = MulticlassProblem(
        sparse.csr_matrix(X.astype(dtype)) if storage == "csr" else X.astype(dtype),
        labels,
        K,
        cost=cost,
        loss_scale=scale,
        bias=bias,
    )

    def phi(i, y):
        coef, intercept = np.zeros((K, F)), np.zeros(K)
        coef[y[0]], intercept[y[0]] = X[i], 1
        return np.concatenate([coef.ravel(), intercept]) if bias else coef.ravel()

    w = rng.integers(-4, 5, K * F + bias * K).astype(float)
    return SimpleNamespace(
        problem=problem,
        phi=phi,
        loss=lambda i, y: (scale[i] if scaled else 1) * cost[labels[i], y[0]],
        w=w,
        padded=problem.layout.padded(w),
        public=lambda w: problem.layout.public(w),
        allowed=[[(k,) for k in range(K)]] * n,
    )


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "plain"])
@pytest.mark.parametrize("storage, dtype", STORAGES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 9, 17, 33, 41, 150])
def test_every_size_and_storage(rng, K, storage, dtype, bias):
    check_against_definition(
        make(rng, K, storage=storage, dtype=dtype, bias=bias, scaled=K % 2 == 0), rng
    )


def test_rows_without_features():
    for X in (sparse.csr_matrix((2, 3)), np.zeros((2, 3))):
        problem = MulticlassProblem(X, [0, 1], 2)
        w = problem.layout.padded(np.r_[np.full(6, 9.0), 0.0, 5.0])
        assert decode(problem, w).tolist() == [1, 1]
        assert access.squared_distance(problem, 0, code([0]), code([1])) == 2


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": [0, 1, 2, 0]}, "labels must lie between 0 and 1"),
        ({"labels": [0, -1, 1, 0]}, "labels must lie between 0 and 1"),
        ({"labels": [0, 1, 0]}, r"labels has shape \(3,\), expected \(4,\)"),
        ({"labels": [[0, 1, 0, 1]]}, r"labels has shape \(1, 4\), expected \(4,\)"),
        ({"X": np.ones((0, 3)), "labels": []}, "0 rows and 2 labels"),
        ({"n_labels": 0}, "4 rows and 0 labels"),
        ({"cost": np.zeros((3, 3))}, r"cost must have shape \(2, 2\)"),
        ({"loss_scale": [1.0]}, r"expected \(4,\)"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_invalid_arguments(change, message):
    arguments = dict(X=np.ones((4, 3)), labels=[0, 1, 0, 1], n_labels=2)
    MulticlassProblem(**arguments)
    with pytest.raises(ValueError, match=message):
        MulticlassProblem(**{**arguments, **change})


def test_access_functions_validate_arguments():
    problem = MulticlassProblem(np.ones((2, 3)), [0, 1], 3)
    wrong = [([3], "label 3 at position 0"), ([-1], "label -1 at position 0")]
    check_access(problem, [2], wrong, np.zeros(problem.n_weights))
