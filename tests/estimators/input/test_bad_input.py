"""Test that errors for invalid input name the sample and do not change the estimator."""

import pickle
from collections import UserList
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct.solvers import MPBCFW

X = [np.arange(8.0).reshape(4, 2), np.ones((3, 2)), -np.ones((1, 2)), np.eye(2)]
Y = [["a", "b", "a", "c"], ["b", "b", "a"], ["c"], ["a", "b"]]


def put(items, i, item):
    return [*items[:i], item, *items[i + 1 :]]


def with_value(i, row, value, storage=np.asarray):
    x = X[i].copy()
    x[row, 1] = value
    return put([storage(x) for x in X], i, storage(x))


MASK = np.ones((3, 3), dtype=bool)
MASK[1, 0] = False
CSR = [sparse.csr_matrix(x) for x in X]
NAN, INF = float("nan"), float("inf")

# Values of one argument of fit: name: (value, exception, message).
ARGUMENTS = {
    "X": {
        "nan": (with_value(1, 2, NAN), ValueError, r"X\[1\] .*NaN or infinity at node 2"),
        "inf": (with_value(0, 3, -INF), ValueError, r"X\[0\] .*NaN or infinity at node 3"),
        "nan csr": (with_value(1, 2, NAN, sparse.csr_matrix), ValueError, r"X\[1\] .* at node 2"),
        "inf csr": (with_value(3, 0, INF, sparse.csr_matrix), ValueError, r"X\[3\] .* at node 0"),
        "nan 3-D": (np.full((4, 2, 2), NAN), ValueError, r"X\[0\] contains NaN"),
        "length 0 in 3-D": (np.ones((4, 0, 2)), ValueError, r"shape \(4, 0, 2\)"),
        "width": (put(X, 3, np.ones((2, 5))), ValueError, r"X\[3\] has 5 features, expected 2"),
        "no features": ([x[:, :0] for x in X], ValueError, "X has 0 features"),
        "item 1-D": (put(X, 1, np.ones(3)), ValueError, r"X\[1\] has 1 dimensions, expected 2"),
        "item 3-D": (put(X, 1, np.ones((3, 2, 1))), ValueError, r"X\[1\] has 3 dimensions"),
        "item a number": (put(X, 1, 5.0), ValueError, r"X\[1\] has 0 dimensions"),
        "item None": (put(X, 2, None), (TypeError, ValueError), r"X\[2\] "),
        "item a word": (put(X, 2, "abc"), TypeError, r"X\[2\] is not a numeric 2-D array"),
        "item of words": (put(X, 2, np.array([["a", "b"]])), TypeError, r"X\[2\] is not a numeric"),
        "item of objects": (
            put(X, 2, np.array([[{}, []]], dtype=object)),
            TypeError,
            r"X\[2\] is not a num",
        ),
        "ragged item": (put(X, 1, [[1, 2], [3], [4, 5]]), ValueError, r"X\[1\] is not a num"),
        "complex": (put(X, 1, X[1] * 1j), TypeError, r"X\[1\] .*complex128"),
        "dates": (put(X, 1, X[1].astype("M8[s]")), TypeError, r"X\[1\] .*datetime64"),
        "complex csr": ([x * 1j for x in CSR], TypeError, r"X\[0\] has dtype complex128"),
        "complex 3-D": (np.ones((4, 2, 2)) * 1j, TypeError, "X has dtype complex128"),
        "mixed storage": (put(X, 1, CSR[1]), TypeError, "X has sparse and dense arrays"),
        "4-D array": (np.ones((4, 2, 2, 2)), ValueError, "X has 4 dimensions"),
        "a word": ("abc", ValueError, "could not convert string to float"),
    },
    "y": {
        "missing": (None, ValueError, "requires y to be passed"),
        "a word": ("abac", TypeError, "y must be a sequence of label sequences, found str"),
        "a number": (3, TypeError, "y must be a sequence of label sequences, found int"),
        "too short": (Y[:3], ValueError, "X has 4 samples but y has 3"),
        "item too long": (
            put(Y, 2, ["c", "a"]),
            ValueError,
            r"X\[2\] has 1 nodes but y\[2\] has 2 labels",
        ),
        "item a word": (put(Y, 3, "ab"), TypeError, r"y\[3\] must be a sequence of labels"),
        "item a number": (put(Y, 2, 1), TypeError, r"y\[2\] must be .* found int 1"),
        "flat": ([0, 1, 2, 0], TypeError, r"y\[0\] must be a sequence of labels"),
        "unhashable label": (put(Y, 2, [["c"]]), TypeError, r"\['c'\] is not hashable"),
        "unhashable in a tuple": (
            put(Y, 2, [([1], 2)]),
            TypeError,
            r"\(\[1\], 2\) is not hashable",
        ),
        "nan label": ([np.full(len(x), NAN) for x in X], ValueError, "is NaN"),
    },
    "sample_weight": {
        "negative": ([1, 1, -2, 1], ValueError, r"sample_weight\[2\] is -2"),
        "zero": ([0] * 4, ValueError, "sample_weight is zero for every"),
        "nan": ([1, NAN, 1, 1], ValueError, r"sample_weight\[1\] is nan"),
        "inf": ([1, 1, 1, INF], ValueError, r"sample_weight\[3\] is inf"),
        "too few": ([1, 1], ValueError, r"shape \(2,\), expected \(4,\)"),
        "2-D": ([[1]] * 4, ValueError, r"shape \(4, 1\), expected \(4,\)"),
        "words": (["1"] * 4, TypeError, "sample_weight has dtype <U1"),
    },
}
# Parameters of one fit: name: (parameters, exception, message).
PARAMETERS = {
    "mask broken": (
        {"transition_mask": MASK},
        ValueError,
        r"y\[0\] goes from .*'b'.* to .*'a'.* at node 2, which transition_mask forbids",
    ),
    "mask start": (
        {"transition_mask": lambda a, b: a is not None or b != "c"},
        ValueError,
        r"y\[2\] starts with .*'c'.*, which transition_mask forbids",
    ),
    "mask end": (
        {"transition_mask": lambda a, b: b is not None or a != "a"},
        ValueError,
        r"y\[1\] ends with .*'a'.*, which transition_mask forbids",
    ),
    "mask shape": ({"transition_mask": MASK[:2]}, ValueError, r"shape \(3, 3\) .* \(2, 3\)"),
    "mask dtype": ({"transition_mask": MASK * 1}, ValueError, "must be a bool array .* int64"),
    "mask a word": ({"transition_mask": "bio"}, ValueError, "must be .* found 'bio'.*masks"),
    "unknown label": (
        {"classes": ["a", "b"]},
        ValueError,
        r"y\[0\] contains .*'c'.*, which is not in classes",
    ),
    "classes twice": ({"classes": ["a", "b", "c", "a"]}, ValueError, "no duplicates"),
    "classes empty": ({"classes": []}, ValueError, "at least one label"),
    "classes unhashable": ({"classes": [["a"], "b"]}, TypeError, "is not hashable"),
    "classes a number": ({"classes": 3}, TypeError, "not iterable|classes must be"),
    "loss unknown": ({"loss": "hinge"}, ValueError, "loss must be one of .*'hinge'"),
    "loss None": ({"loss": None}, ValueError, r"loss (must be one of|has shape \(\))"),
    "loss shape": ({"loss": [1, 2]}, ValueError, r"shape \(2,\), expected \(3,\) or \(3, 3\)"),
    "loss negative": ({"loss": [1, 2, -1]}, ValueError, "finite costs of at least 0, found"),
    "loss nan": ({"loss": [1, 2, NAN]}, ValueError, "finite costs of at least 0, found"),
    "loss diagonal": ({"loss": np.ones((3, 3))}, ValueError, "zero diagonal"),
    "loss words": ({"loss": [["a"]]}, ValueError, "loss must be one of"),
}
# name: (parameters, arguments of fit that differ, exception, message)
CASES = {
    "nan 2-D": ({}, {"X": [[1, NAN]] * 4, "y": list("abab")}, ValueError, r"contains NaN"),
    "empty list": ({}, {"X": [], "y": []}, ValueError, "X is empty, expected at least one"),
    "empty 3-D": ({}, {"X": np.ones((0, 2, 2)), "y": []}, ValueError, r"shape \(0, 2, 2\)"),
    "length 0": ({}, {"X": [np.ones((0, 2))] * 4, "y": [[]] * 4}, ValueError, "X has no nodes"),
    "width of length 0": (
        {},
        {"X": put(X, 2, np.ones((0, 5))), "y": put(Y, 2, [])},
        ValueError,
        r"X\[2\] has 5 features, expected 2",
    ),
    "1-D array": ({}, {"X": np.ones(4), "y": list("abab")}, ValueError, "Expected 2D array"),
    "1-D items": ({}, {"X": [np.ones(2), np.ones(3)], "y": Y[:2]}, ValueError, "is 1-D with 2"),
    "y 2-D of rows": (
        {},
        {"X": np.eye(4), "y": np.ones((4, 2))},
        ValueError,
        "1d array|1-dimensional",
    ),
    "y of rows too short": (
        {},
        {"X": np.eye(4), "y": [0, 1, 0]},
        ValueError,
        r"inconsistent .* \[4, 3\]",
    ),
    "unhashable and classes": (
        {"classes": ["a", "b", "c"]},
        {"y": put(Y, 2, [["c"]])},
        TypeError,
        "is not hashable",
    ),
    "all ignored": (
        {"ignore_label": "z"},
        {"y": [["z"] * len(x) for x in X]},
        ValueError,
        "y has no labeled node in any sample with positive weight",
    ),
    "labeled but of weight 0": (
        {"ignore_label": "z"},
        {"y": [*[["z"] * len(x) for x in X[:3]], Y[3]], "sample_weight": [1, 1, 1, 0]},
        ValueError,
        "y has no labeled node in any sample with positive weight",
    ),
}
for argument, values in ARGUMENTS.items():
    for name, (value, error, message) in values.items():
        CASES[f"{argument}, {name}"] = ({}, {argument: value}, error, message)
for name, (parameters, error, message) in PARAMETERS.items():
    CASES[name] = (parameters, {}, error, message)
for parameter, values in {
    "lam": [(0, ValueError), (-1.0, ValueError), (NAN, ValueError), (INF, ValueError),
            (10**400, ValueError),
            ("big", ValueError), (None, TypeError), (True, TypeError)],
    "solver": [("ssg2", ValueError), (None, ValueError), (1, ValueError),
               (MPBCFW, ValueError)],
    "fit_intercept": [(1, ValueError), ("yes", ValueError), (None, ValueError)],
    "transitions": [(0, ValueError), ("yes", ValueError)],
    "boundaries": [(1.0, ValueError), (None, ValueError)],
    "tol": [(-1e-3, ValueError), (NAN, ValueError), ("small", TypeError)],
    "max_iter": [(0, ValueError), (10.0, TypeError), (None, TypeError)],
    "max_time": [(0, ValueError), (-1, ValueError), ("1s", TypeError)],
    "warm_start": [("primal ", ValueError), (1, ValueError), (None, ValueError)],
    "verbose": [(-1, ValueError), ("yes", TypeError)],
}.items():  # fmt: skip
    for bad, error in values:
        CASES[f"{parameter}={bad!r}"] = ({parameter: bad}, {}, error, f"^{parameter} must be ")
CASES["random_state"] = ({"random_state": "seed"}, {}, ValueError, "cannot be used to seed")
CASES["random generator"] = (
    {"random_state": np.random.default_rng(0)}, {}, ValueError,
    "random_state must be an int, a RandomState or None: Generator.* cannot be used to seed",
)  # fmt: skip


def snapshot(estimator):
    return {name: (id(value), pickle.dumps(value) if not callable(value) else None)
            for name, value in vars(estimator).items()}  # fmt: skip


@pytest.mark.parametrize("fitted", [False, True], ids=["fresh", "fitted"])
@pytest.mark.parametrize("name", CASES)
def test_errors_of_fit(name, fitted):
    parameters, change, error, message = CASES[name]
    estimator = ChainSSVM(lam=0.1)
    if fitted:
        estimator.fit(X, Y)
    estimator.set_params(**parameters)
    before = snapshot(estimator)
    arguments = {"X": X, "y": Y, "sample_weight": None, **change}
    with pytest.raises(error, match=message):
        estimator.fit(**arguments)
    assert snapshot(estimator) == before


PREDICTIONS = {
    "nan": (with_value(1, 2, NAN), ValueError, r"X\[1\] contains NaN or infinity at node 2"),
    "nan csr": (with_value(1, 2, NAN, sparse.csr_matrix), ValueError, r"X\[1\] contains NaN"),
    "width of length 0": (put(X, 1, np.ones((0, 3))), ValueError, r"X\[1\] has 3 features"),
    "first too wide": ([np.ones((2, 3))], ValueError, r"X\[0\] has 3 features, expected 2"),
    "later too wide": (
        put(X, 2, np.ones((2, 3))),
        ValueError,
        r"X\[2\] has 3 features, expected 2",
    ),
    "3-D too wide": (np.ones((4, 2, 3)), ValueError, r"X\[0\] has 3 features, expected 2"),
    "2-D": (np.ones((4, 2)), ValueError, "one sequence is a list of one array"),
    "csr too wide": ([sparse.csr_matrix((2, 9))], ValueError, r"X\[0\] has 9 features"),
    "mixed storage": (put(X, 1, CSR[1]), TypeError, "X has sparse and dense arrays"),
    "complex": (put(X, 1, X[1] * 1j), TypeError, r"X\[1\] .*complex128"),
    "item 1-D": (put(X, 1, np.ones(3)), ValueError, r"X\[1\] has 1 dimensions"),
    "a word": (put(X, 1, "abc"), TypeError, r"X\[1\] is not a numeric"),
}


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
@pytest.mark.parametrize("name", PREDICTIONS)
def test_errors_of_prediction(name, method):
    items, error, message = PREDICTIONS[name]
    estimator = ChainSSVM(lam=0.1).fit(X, Y)
    before = snapshot(estimator)
    arguments = (items, Y) if method == "score" else (items,)
    with pytest.raises(error, match=message):
        getattr(estimator, method)(*arguments)
    assert snapshot(estimator) == before


@pytest.mark.parametrize(
    "y, weights, error, message",
    [
        (Y[:2], None, ValueError, "X has 4 samples but y has 2"),
        (put(Y, 1, ["a"]), None, ValueError, r"X\[1\] has 3 nodes but y\[1\] has 1 labels"),
        ("abcd", None, TypeError, "y must be a sequence of label sequences"),
        (None, None, ValueError, "requires y to be passed"),
        (put(Y, 2, [["c"]]), None, TypeError, r"\['c'\] is not hashable"),
        ([range(len(x)) for x in X], None, ValueError, "^y has labels like 0, and .* like 'a'"),
        (Y, [1, 1, -1, 1], ValueError, r"sample_weight\[2\] is -1"),
        (Y, [1, 1], ValueError, r"shape \(2,\), expected \(4,\)"),
        (Y, np.zeros(4), ValueError, "sample_weight is zero"),
    ],
)
def test_errors_of_score(y, weights, error, message):
    estimator = ChainSSVM(lam=0.1).fit(X, Y)
    with pytest.raises(error, match=message):
        estimator.score(X, y, weights)


def test_error_if_mask_allows_no_labeling():
    mask = np.array([[False, True], [False, False]])
    estimator = ChainSSVM(lam=0.1, transition_mask=mask).fit([np.eye(2)], [["a", "b"]])
    assert estimator.predict([np.eye(2)])[0].tolist() == ["a", "b"]
    for predict in (estimator.predict, lambda X: estimator.predict_top_k(X, 2)):
        with pytest.raises(ValueError, match=r"every labeling of X\[2\], which has 3 nodes"):
            predict([np.eye(2), np.empty((0, 2)), np.ones((3, 2))])


def test_fractions_are_accepted_and_errors_name_the_bounds():
    fraction, float_ = (
        ChainSSVM(lam=lam, tol=tol, random_state=0).fit(X, Y)
        for lam, tol in ((Fraction(1, 10), Fraction(1, 100)), (0.1, 0.01))
    )
    np.testing.assert_array_equal(fraction.w_, float_.w_)
    with pytest.raises(ValueError, match=r"^tol must be finite, found nan$"):
        ChainSSVM(tol=NAN).fit(X, Y)
    with pytest.raises(ValueError, match=r"^lam must be finite and above 0, found nan$"):
        ChainSSVM(lam=NAN).fit(X, Y)


@pytest.mark.parametrize(
    "X, y, kind, message",
    [
        ([["a", "b"], ["c"]], [[0, 1], [0]], TypeError, r"X\[0\] contains strings.*swapped"),
        (
            [[{"w": "a"}], [{"w": "b"}]],
            [[0], [1]],
            TypeError,
            r"X\[0\] contains feature dicts.*Vecto",
        ),
        ([[0.0, 1.0], [2.0]], [[0, 1], [0]], ValueError, r"X\[0\] is 1-D with 2 entries.*L_i, 1"),
        (np.zeros((1, 1, 1, 1)), [[0]], ValueError, "X has 4 dimensions, expected 2 or 3"),
        (np.zeros((3, 2)), [[0, 1], [0]], ValueError, "y contains sequences of labels"),
        ([[]], [[]], ValueError, "X has no nodes: all samples are empty"),
        ([np.zeros((2, 1))], [[float("nan"), "a"]], ValueError, r"y\[0\] at node 0 is NaN"),
    ],
)
def test_common_mistakes_are_explained(X, y, kind, message):
    with pytest.raises(kind, match=message):
        ChainSSVM().fit(X, y)


@pytest.mark.parametrize("estimator", [ChainSSVM, MulticlassSSVM])
@pytest.mark.parametrize(
    "container, advice",
    [
        (dict, r"dict; use list\(X.values\(\)\)"),
        (lambda pairs: dict(pairs).values(), r"dict_values; use list\(X\)"),
        (lambda pairs: iter([x for _, x in pairs]), r"list_iterator; use list\(X\)"),
        (lambda pairs: UserList(x for _, x in pairs), r"UserList; use list\(X\)"),
    ],
)
def test_containers_other_than_lists_raise(estimator, container, advice):
    with pytest.raises(TypeError, match=f"^X must be a list or an array, found {advice}"):
        estimator().fit(container(list(enumerate(X))), Y)


def test_object_array_of_equal_lengths():
    X = [[[0.0], [1.0]], [[1.0], [0.0]]]
    y = [[0, 1], [1, 0]]
    expected = ChainSSVM(lam=0.1, random_state=0).fit([np.array(x) for x in X], y).w_
    stacked = ChainSSVM(lam=0.1, random_state=0).fit(np.array(X, dtype=object), y)
    np.testing.assert_array_equal(stacked.w_, expected)


def test_coefficients_before_the_fit():
    with pytest.raises(NotFittedError):
        ChainSSVM().coef_  # noqa: B018
