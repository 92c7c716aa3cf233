"""Extreme values raise informative errors and leave the estimator unchanged."""

import itertools
from collections import UserList
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    masks,
    metrics,
    preprocessing,
)
from sstruct._input.partial import is_unknown
from sstruct._problems.custom.oracle_calls import digest
from sstruct.preprocessing import SequenceVectorizer
from tests.estimators.custom.choices import Choice

HUGE = 10**400
ROWS, CODES = np.arange(24.0).reshape(8, 3) / 10, [0, 1] * 4
IMAGES = ROWS.reshape(2, 2, 2, 3)
LABELS = [[[0, 1], [1, 0]]] * 2
SEQUENCES, CUT = [ROWS[:4], ROWS[4:]], [CODES[:4], CODES[4:]]
GRAPHS = [(x, [[0, 1], [1, 2]]) for x in SEQUENCES]
TREES = [{"features": [ROWS, ROWS], "positions": [np.ones((8, 2))] * 2}] * 2
ONCE = {"tol": 1e9, "random_state": 0}

DATA = {
    MulticlassSSVM: (ROWS, CODES),
    MultilabelSSVM: (ROWS, CODES),
    ChainSSVM: (SEQUENCES, CUT),
    GraphCRFSSVM: (GRAPHS, CUT),
    GridCRFSSVM: (IMAGES, LABELS),
}

TWICE = [0]  # a list whose repr is longer than memory
for _ in range(100):
    TWICE = [TWICE, TWICE]
ITSELF = []
ITSELF += [ITSELF, ITSELF]


def check_raises(model, *data):
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(*data)
    assert str(caught.value)
    assert vars(model) == before


@pytest.mark.parametrize("kind", DATA)
def test_tables_beyond_doubles(kind):
    for parameters in (
        {"loss": [1, HUGE]},
        {"loss": [[0, HUGE], [1, 0]]},
        {"bounds": [[-HUGE], [HUGE]]},
        {"class_weight": {0: HUGE, 1: 1}},
        {"class_weight": {0: "a", 1: 1}},
    ):
        check_raises(kind(**ONCE, **parameters), *DATA[kind])
    check_raises(kind(**ONCE), *DATA[kind], [HUGE] * len(DATA[kind][0]))


@pytest.mark.parametrize(
    "kind, X, y",
    [
        (MulticlassSSVM, [[HUGE] * 3] * 8, CODES),
        (MulticlassSSVM, np.array([[HUGE] * 3] * 8, dtype=object), CODES),
        (ChainSSVM, [[[HUGE] * 3] * 4] * 2, CUT),
        (ChainSSVM, np.array([[[HUGE] * 3] * 4] * 2, dtype=object), CUT),
        (GraphCRFSSVM, [(x, [[0, HUGE]]) for x in SEQUENCES], CUT),
        (GraphCRFSSVM, [(x, [[0, 1]], [[HUGE]]) for x in SEQUENCES], CUT),
        (GridCRFSSVM, [[[[HUGE]]]] * 2, [[[0]], [[1]]]),
    ],
)
def test_features_beyond_doubles(kind, X, y):
    check_raises(kind(**ONCE), X, y)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("label", [[1], {1: 2}, TWICE, ITSELF, Decimal("sNaN"), float("nan")])
def test_invalid_labels(kind, label):
    X = DATA[kind][0]
    y = [label, 1] * 4
    if kind is GridCRFSSVM:
        y = [[[label, 1], [1, 1]]] * 2
    elif kind in (ChainSSVM, GraphCRFSSVM):
        y = [[label, 1, 1, 1]] * 2
    if isinstance(label, float) and kind in (GraphCRFSSVM, GridCRFSSVM):
        assert kind(**ONCE).fit(X, y).classes_.tolist() == [1]  # NaN is unknown
        return
    check_raises(kind(**ONCE), X, y)


@pytest.mark.parametrize("kind", DATA)
def test_endless_classes(kind):
    for classes in (itertools.count(), range(10**12), TWICE, ITSELF, [0, float("nan")], [[0], [1]]):
        check_raises(kind(classes=classes, **ONCE), *DATA[kind])


def test_endless_labels():
    for y in (range(10**12), [range(10**12)] * 2, [ITSELF] * 2, ITSELF):
        for kind, (X, _) in DATA.items():
            check_raises(kind(**ONCE), X, y)


def test_pixels_may_have_tuples_and_ranges_as_labels():
    far = range(10**12)
    y = [[[(0, 1), far], [far, (0, 1)]]] * 2
    found = GridCRFSSVM(**ONCE).fit(IMAGES, y).predict(IMAGES)
    assert set(found.ravel().tolist()) <= {(0, 1), far}


def test_fractions_are_numbers():
    small = {"tol": Fraction(1, 10**4), "lam": Fraction(1, 3), "max_time": Fraction(1, 10**4)}
    model = MulticlassSSVM(max_iter=1, random_state=0, **small)
    with pytest.warns(UserWarning, match="tol=0.0001"):
        model.fit(ROWS, CODES)
    for name in ("lam", "max_time"):
        check_raises(MulticlassSSVM(**{name: Fraction(1, HUGE)}), ROWS, CODES)


def test_ignore_label_must_be_a_valid_label():
    model = ChainSSVM(**ONCE).fit(SEQUENCES, CUT)
    for label in (Decimal("sNaN"), [1]):
        model.ignore_label = label
        with pytest.raises(TypeError, match="cannot be a label"):
            model.predict(SEQUENCES, CUT)


def test_ignore_label_of_trees_must_be_a_valid_label():
    model = TreeSSVM(parents=[-1, 0], ignore_label=Decimal("sNaN"), **ONCE)
    with pytest.raises(TypeError, match=r"ignore_label is .* cannot be a label"):
        model.fit(TREES, [[0, 1]] * 2)
    model.set_params(ignore_label="no number").fit(TREES, [[0, 1]] * 2)


@pytest.mark.parametrize(
    "X", [np.array(3.0), {0: 1}, frozenset([1]), iter([1]), None, 5, "ab", np.float64(2)]
)
def test_samples_of_oracles_must_be_a_list(X):
    check_raises(StructuredSVM(Choice(), **ONCE), X, [0])


def test_sparse_features_may_be_integers():
    tables = [sparse.csr_array(np.round(10 * x).astype(int)) for x in SEQUENCES]
    models = [ChainSSVM(**ONCE).fit(X, CUT) for X in (tables, [x.astype(float) for x in tables])]
    np.testing.assert_array_equal(models[0].w_, models[1].w_)


def test_a_tuple_may_mark_unknown_labels():
    model = ChainSSVM(ignore_label=(1, 2), **ONCE).fit(SEQUENCES, CUT)
    known = [np.longdouble(1), None, (1, 2), 0]
    assert model.predict(SEQUENCES[:1], y_partial=[known])[0][[0, 3]].tolist() == [1, 0]


def test_features_in_a_memoryview():
    model = MulticlassSSVM(**ONCE).fit(memoryview(ROWS), CODES)
    np.testing.assert_array_equal(model.predict(memoryview(ROWS)), model.predict(ROWS))


@pytest.mark.parametrize("label", [pd.NA, np.datetime64("NaT", "s"), float("nan")], ids=str)
def test_labels_that_do_not_equal_themselves_are_unknown(label):
    with pytest.raises(ValueError, match=r"y\[0\] at node 1 is .*N.*unknown.*ignore_label"):
        ChainSSVM().fit(SEQUENCES, [["a", label, "b", "a"], ["a", "b", "a", "b"]])


@pytest.mark.parametrize("weights", [[1e-320, 2e-320], [1e-150, 1e155]])
def test_weights_too_small_for_products(weights):
    model = MulticlassSSVM(class_weight="balanced", **ONCE)
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is \S+ of .* at least 1e-300"):
        model.fit(np.eye(2), [0, 1], weights)


@pytest.mark.parametrize(
    "n_jobs, error", [(0, ValueError), (10**6, ValueError), ("all", TypeError)]
)
def test_numbers_of_jobs_are_checked_wherever_they_are_used(n_jobs, error):
    model = ChainSSVM(**ONCE).fit(SEQUENCES, CUT).set_params(n_jobs=n_jobs)
    for call in (lambda: model.predict(SEQUENCES), lambda: model.fit(SEQUENCES, CUT)):
        with pytest.raises(error, match="n_jobs must be"):
            call()


class Longer(list):
    """A list whose length is not the number of its items."""

    def __len__(self):
        return 9


class Shorter(UserList):
    """A list with fewer items than its length."""

    def __iter__(self):
        return iter(self.data[1:])


ITSELF_LAST = [1.0]
ITSELF_LAST += [ITSELF_LAST]
TABLES = [pd.DataFrame({0: labels}) for labels in CUT]
UNCLEAR = [
    (ChainSSVM, Longer(SEQUENCES), CUT, "X has a Longer of length 9 that contains 2 items"),
    (ChainSSVM, SEQUENCES, Longer(CUT), "y has a Longer"),
    (ChainSSVM, Longer(), CUT, "that contains 0 items"),
    (ChainSSVM, [ROWS[:1]], [TABLES[0][:1]], r"y\[0\] must be a sequence of labels, found DataF"),
    (
        ChainSSVM,
        [ROWS[:2], np.ones((9, 3))],
        [[0, 1], Longer([0])],
        r"y\[1\] must be a sequence of labels, found Longer",
    ),
    (
        ChainSSVM,
        [ROWS[:0], ROWS[:2]],
        [[], Shorter([0, 1])],
        r"y\[1\] has length 2 but contains 1 labels; pass a list",
    ),
    (ChainSSVM, [ROWS[:2], range(3)], CUT, r"X\[1\] has 1 dimensions, expected 2"),
    (ChainSSVM, Sequences(np.ones(4), [0, 2, 4]), CUT, r"X\.flat must be 2-D .*, found 1-D"),
    (ChainSSVM, SEQUENCES, Sequences(np.ones((4, 2)), [0, 2, 4]), r"y\.flat .* shape \(4, 2\)"),
    (ChainSSVM, [ROWS[:2]], [np.ones((2, 1, 1))], r"\(2, 1, 1\), .*: one label for each node$"),
    (ChainSSVM, np.ones((2, 3, 0)), [[0] * 3] * 2, "X has 0 features"),
    (GraphCRFSSVM, pd.Series(["a", None]), CUT, "Expected 2D array for X, found a Series"),
    (GraphCRFSSVM, GRAPHS, TABLES, r"y\[0\] must be a sequence of labels"),
    (GridCRFSSVM, [1.0, ITSELF_LAST], LABELS, r"X\[1\] must be an array"),
    (GridCRFSSVM, [np.ones((2, 1, 0))], [[[0], [1]]], "X has 0 features"),
    (GridCRFSSVM, np.ones((2, 2, 2, 0)), LABELS, "X has 0 features"),
    (GridCRFSSVM, np.ma.masked, LABELS, "X has 1 masked entries"),
    (MulticlassSSVM, ROWS[:2], [1.0, ITSELF_LAST], r"y\[1\] is .* expected one label"),
    (MulticlassSSVM, [pd.Series([[1, 2]])], [1], "setting an array element"),
    (MultilabelSSVM, ROWS[:2], np.zeros((2, 2), dtype="V8"), "y has dtype .V8, expected 0 and 1"),
    (MultilabelSSVM, ROWS[:2], np.array([[0, 1], [pd.NA, 1]]), r"y\[1, 0\] is <NA>, expected 0"),
]


@pytest.mark.parametrize("kind, X, y, message", UNCLEAR)
def test_errors_are_clearer_than_those_of_numpy(kind, X, y, message):
    model = kind(**ONCE)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_the_length_of_a_graph_is_not_trusted():
    graphs = [Longer(graph) for graph in GRAPHS]
    model = GraphCRFSSVM(**ONCE).fit(GRAPHS, CUT)
    for found, expected in zip(model.predict([GRAPHS[0], graphs[1]]), model.predict(GRAPHS)):
        np.testing.assert_array_equal(found, expected)


def test_fitted_models_are_unchanged_by_an_invalid_parameter():
    model = ChainSSVM(**ONCE).fit(SEQUENCES, CUT)
    model.set_params(n_jobs="a")
    check_raises(model, SEQUENCES, CUT)


def test_labels_of_images_in_a_memoryview():
    labels = np.array(LABELS)
    model = GridCRFSSVM(**ONCE).fit(IMAGES, memoryview(labels))
    np.testing.assert_array_equal(model.w_, GridCRFSSVM(**ONCE).fit(IMAGES, labels).w_)


def test_batches_of_any_size():
    data = [np.ones((3, 2)), np.eye(3, 2)], [0, 1]
    first, second = (StructuredSVM(Choice(), batch_size=n, **ONCE).fit(*data) for n in (2, 2**64))
    np.testing.assert_array_equal(first.w_, second.w_)


def test_samples_of_an_oracle_may_contain_themselves():
    x = [ROWS]
    x.append(x)
    assert digest(x) == digest(x) != digest([ROWS])
    deep = None
    for _ in range(5000):
        deep = (deep,)
    assert digest(deep) == digest(deep)


class NoRepr:
    def __repr__(self):
        raise RuntimeError("no repr")

    def __len__(self):
        raise TypeError("no length")


def test_error_for_objects_whose_repr_raises():
    with pytest.raises(TypeError, match=r"y_pred\[0\] must be a sequence of labels, found NoRepr"):
        metrics.chunk_f1_score([["O"]], [NoRepr()])
    with pytest.raises(ValueError, match=r"label <NoRepr instance .* does not follow"):
        masks.bio_transitions(NoRepr(), "O")
    vectorizer = preprocessing.SequenceVectorizer(min_count=NoRepr())
    with pytest.raises(TypeError, match="min_count must be an integer"):
        vectorizer.fit([[{"a": 1}]])


def test_na_as_marker_of_unknown_labels():
    assert not is_unknown(np.array([1.0, 0.0]), [pd.NA]).any()


def test_numbers_beyond_doubles_in_a_transformer():
    with pytest.raises(ValueError, match="too large for dtype"):
        preprocessing.PerNode(StandardScaler()).fit_transform(10**400)


def test_labels_that_differ_by_a_nul_character_are_distinct():
    model = ChainSSVM(**ONCE).fit(SEQUENCES, [["a", "a\0", "a", "a\0"], ["a", "a\0"] * 2])
    assert model.classes_.tolist() == ["a", "a\0"]


def test_error_for_sparse_classes():
    classes = sparse.coo_array(np.eye(3))
    classes.row[0] = 1000
    model = MulticlassSSVM(solver="ssg", lam=0.1, random_state=0)
    model.partial_fit(np.eye(3), [0, 1, 2], classes=[0, 1, 2])
    with pytest.raises(TypeError, match="classes must be a list of labels or None, found coo_arr"):
        model.partial_fit(np.eye(3), [0, 1, 2], classes=classes)


def test_error_for_matrix_whose_repr_raises():
    matrix = sparse.csr_matrix(np.eye(2))
    matrix.indptr = None
    with pytest.raises(TypeError, match="found csr_matrix"):
        SequenceVectorizer().fit(matrix)
