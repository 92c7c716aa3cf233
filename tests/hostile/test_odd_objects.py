"""Test every parameter and argument of the estimators with many kinds of invalid objects."""

import datetime
import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    datasets,
    inference,
    preprocessing,
    ssvm_path,
)
from sstruct._input import labels
from sstruct.calibration import CalibratedSSVM, ConformalSSVM, TunedThresholdSSVM
from sstruct.solvers import SOLVER_OF_NAME, PassiveAggressive, Perceptron
from tests.estimators.custom.choices import Choice, make_choices
from tests.hostile.judge import FindingError, judge, same_attributes
from tests.hostile.values import _NoRepr, _WrongLength
from tests.registry import FIRST

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
ROWS = [RNG.standard_normal((3, 2)) for _ in range(3)]
LABELS = [np.array(labels) for labels in ([0, 1, 0], [1, 1, 0], [0, 0, 1])]
GRAPHS = [(x, [[0, 1], [1, 2]]) for x in ROWS]
TREE = {"features": [ROWS[0]] * 3, "positions": [ROWS[0]] * 3, "scale": 2.0}
LONG = {"max_iter", "checkpoint", "n_jobs"}
ODD = [
    lambda: _WrongLength(), lambda: _WrongLength([1]), lambda: [_WrongLength([1])] * 3,
    lambda: _WrongLength(ROWS[:1]), lambda: memoryview(np.zeros((3, 2))),
    lambda: [memoryview(np.zeros((1, 3), dtype=int))] * 3, lambda: memoryview(b"abcd"),
    lambda: np.ma.masked, lambda: [np.ma.masked] * 3, lambda: [[np.ma.masked]] * 3,
    lambda: np.ma.masked_array([1.0, 2.0], [1, 0]), lambda: np.array(1.0), lambda: [np.array(1.0)],
    lambda: pd.NA, lambda: [pd.NA] * 3, lambda: pd.Series(["a", None]),
    lambda: pd.DataFrame({"a": ["x", 1.0]}), lambda: Decimal("sNaN"), lambda: Fraction(1, 3),
    lambda: np.longdouble("1e4000"), lambda: np.ones(3, dtype=np.longdouble), lambda: 10**400,
    lambda: 5e-324, lambda: 1j, lambda: [[1, 2], [3]], lambda: [], lambda: {}, lambda: {1, 2},
    lambda: {0: _WrongLength([1])}, lambda: iter([1]), lambda: iter([[1.0]]),
    lambda: range(3), lambda: slice(None),
    lambda: (lambda *_: True), lambda: sparse.eye_array(3).tocoo(), lambda: "abc", lambda: None,
    lambda: np.datetime64("NaT", "s"), lambda: np.timedelta64(3, "s"),
    lambda: np.matrix([[0, 1, 1]]),
    lambda: [np.matrix([[0, 1, 1]])] * 3, lambda: memoryview(np.array(["a", "b"])), lambda: int,
    lambda: len, lambda: [memoryview(np.array(["a", "b"]))], lambda: (), lambda: "\0",
    lambda: [["\0"]], lambda: object(), lambda: -(10**400), lambda: [10**400] * 3,
    lambda: Fraction(10**400, 3), lambda: Fraction(1, 10**400),
    lambda: {0: "a", 1: 1}, lambda: {0: 10**400, 1: 1}, lambda: [0, np.nan],
    lambda: [[0, 10**400], [1, 0]], lambda: np.array([[10**400] * 3] * 3, dtype=object),
    lambda: np.zeros((3, 2), dtype="V8"), lambda: np.array([[0, 1], [pd.NA, 1]]), lambda: _NoRepr(),
]  # fmt: skip


def findings(function, **given):
    """Call a function; return a list of its findings."""
    estimator = getattr(function, "__self__", None)
    before = dict(getattr(estimator, "__dict__", {}))
    try:
        function(**given)
    except Exception as error:
        try:
            judge(error)
            if estimator is not None:
                same_attributes(before, estimator, f"{function.__qualname__} after {error!r:.200}")
        except FindingError as found:
            return [str(found)]
    return []


def attack(function, valid, names=None):
    """Replace each argument, and the first item of each list, by each odd object."""
    found = []
    for name in valid if names is None else names:
        value = valid.get(name)
        for make in ODD:
            found += findings(function, **{**valid, name: make()})
            if isinstance(value, list) and value:
                found += findings(function, **{**valid, name: [make(), *value[1:]]})
    assert not found, "\n".join(dict.fromkeys(found))


def unfitted(kind, **parameters):
    """Return an estimator that makes one pass."""
    passes = {} if FIRST[kind].is_meta else {"max_iter": 1}
    return FIRST[kind].unfitted(**passes | parameters)


def fitted(kind):
    return unfitted(kind).fit(*FIRST[kind].samples(3))


def fit_unchanged(model, X, y):
    """Fit a model, and check that a fit that raises does not change its attributes."""
    before = dict(vars(model))
    try:
        model.fit(X, y)
    except Exception:
        same_attributes(before, model, "fit")
        raise


@pytest.mark.parametrize("kind", FIRST)
def test_parameters(kind):
    X, y = FIRST[kind].samples(3)
    names = sorted(set(inspect.signature(kind).parameters) - LONG)
    attack(
        lambda **given: fit_unchanged(unfitted(kind, **given), X, y), FIRST[kind].required, names
    )


@pytest.mark.parametrize("kind", SOLVER_OF_NAME.values())
def test_options_of_solvers(kind):
    X, y = FIRST[ChainSSVM].samples(3)
    names = sorted(set(inspect.signature(kind).parameters) - LONG)
    lam = "auto" if issubclass(kind, Perceptron | PassiveAggressive) else 0.1

    def fit(**given):
        fit_unchanged(unfitted(ChainSSVM, lam=lam, solver=kind(**given)), X, y)

    attack(fit, {}, names)


@pytest.mark.parametrize("kind", FIRST)
def test_arguments(kind):
    X, y = FIRST[kind].samples(3)
    model, ones = unfitted(kind), [1.0] * 3
    attack(model.fit, {"X": X, "y": y, "sample_weight": ones})
    model.fit(X, y)
    known = {"y_partial": y} if "y_partial" in inspect.signature(model.predict).parameters else {}
    attack(model.predict, {"X": X} | known)
    attack(model.score, {"X": X, "y": y, "sample_weight": ones})
    for method, given in (
        ("to_frame", {"feature_names": ["a", "b"]}),
        ("decision_function", {"X": X}),
    ):
        if hasattr(model, method):
            attack(getattr(model, method), given)


def test_parts_of_samples():
    graph, tree = GraphCRFSSVM(max_iter=1, random_state=0), TreeSSVM(parents=[-1, 0, 0], max_iter=1)
    graph_parts = {"x": ROWS[0], "edges": [[0, 1], [1, 2]], "features": None, "sizes": [1, 1, 1]}

    def fit_graph(x, edges, features, sizes):
        graph.fit([(x, edges, features, sizes)] * 3, LABELS)

    def fit_tree(**sample):
        tree.fit([sample] * 3, LABELS)

    attack(fit_graph, graph_parts)
    attack(fit_tree, TREE | {"pair_scores": [None, *[np.zeros((3, 3))] * 2]})


def test_functions():
    scores = RNG.standard_normal((3, 4))
    edges = sparse.random(4, 4, 0.5, format="csr", random_state=RNG)
    attack(
        inference.viterbi,
        {"node_scores": scores, "edge_scores": edges, "missing": "zero", "beam": 2},
    )
    durations = {"duration_scores": np.zeros((4, 2)), "duration_bins": [1, 2], "split": 0.0}
    limits = {"min_duration": [1, 2, 1, 1], "max_duration": [3, None, 2, 2]}
    attack(inference.segment_viterbi, {"node_scores": scores} | durations | limits)
    gaps = {"gap_open": -1.0, "gap_extend": (-0.5, -1.0), "method": "local"}
    attack(inference.align, {"scores": scores} | gaps)
    arcs = {"scores": scores, "projective": True, "single_root": False}
    attack(inference.dependency_tree, arcs)
    model = inference.MRF(scores[:, :2], [[0, 1], [1, 2], [2, 0]], RNG.standard_normal((3, 2, 2)))
    options = {"tol": 1e-6, "proximal_weight": 1.0, "start": "trws", "random_state": 0}
    attack(inference.map_mrf, {"mrf": model, "method": "fwmap", "max_iter": 5} | options)
    attack(Sequences.from_list, {"items": [[[1.0, 2.0]], [[0.5, 1.0]]]})
    attack(lambda X: preprocessing.PerNode(_Same()).fit_transform(X), {"X": GRAPHS})


def test_paths():
    estimator = ChainSSVM(max_iter=2, random_state=0)
    valid = {"X": ROWS, "y": LABELS, "eps": 0.5, "kappa": 0.5, "lam_min": 0.5}
    attack(lambda **given: ssvm_path(estimator, **given), valid)

    def search(X, y, groups, **given):
        PathCV(estimator, **given).fit(X, y, groups=groups)

    attack(search, {"X": ROWS, "y": LABELS, "groups": [0, 1, 2], "cv": 2, "lams": [1.0]})


def test_calibration():
    estimator = ChainSSVM(max_iter=2, random_state=0)

    def fit(X, y, groups, sample_weight, **given):
        CalibratedSSVM(**given).fit(X, y, sample_weight, groups)

    data = {"X": ROWS, "y": LABELS, "groups": [0, 1, 2], "sample_weight": np.ones(3)}
    attack(fit, data | {"estimator": estimator, "cv": 2})
    model = CalibratedSSVM(estimator, cv=2).fit(ROWS, LABELS)
    attack(model.predict_proba, {"X": ROWS})
    attack(model.log_proba, {"X": ROWS, "y": LABELS})
    attack(model.sample, {"X": ROWS, "n_samples": 2, "random_state": 0})
    tags = [np.array(["O", "B-a"])[labels] for labels in LABELS]
    tagger = CalibratedSSVM(estimator, cv=2).fit(ROWS, tags)
    attack(tagger.predict_spans, {"X": ROWS, "scheme": "bio", "suffix": False})


def test_prediction_sets():
    estimator = ChainSSVM(max_iter=2, random_state=0)

    def fit(X, y, groups, sample_weight, **given):
        ConformalSSVM(**given).fit(X, y, sample_weight, groups)

    data = {"X": ROWS, "y": LABELS, "groups": [0, 1, 2], "sample_weight": np.ones(3)}
    options = {"confidence_level": 0.5, "k": 2, "scheme": "bio", "suffix": False, "cv": 2}
    attack(fit, data | options | {"estimator": estimator, "target": "nodes"})
    tags = [np.array(["O", "B-a"])[labels] for labels in LABELS]
    for target in ("labelings", "nodes", "spans"):
        model = ConformalSSVM(estimator, target=target, cv=2).fit(ROWS, tags)
        attack(model.predict_set, {"X": ROWS, "confidence_level": 0.5})


def test_tuned_thresholds():
    estimator = MultilabelSSVM(max_iter=2, random_state=0)
    X, y = RNG.standard_normal((4, 2)), np.array([[0, 1], [1, 0], [1, 1], [0, 0]])

    def fit(X, y, groups, sample_weight, **given):
        TunedThresholdSSVM(**given).fit(X, y, sample_weight, groups)

    data = {"X": X, "y": y, "groups": [0, 1, 2, 3], "sample_weight": np.ones(4)}
    attack(fit, data | {"estimator": estimator, "scoring": "f1_macro", "cv": 2})
    model = TunedThresholdSSVM(estimator, cv=2).fit(X, y)
    attack(model.predict, {"X": X})
    attack(model.decision_function, {"X": X})
    attack(model.score, {"X": X, "y": y, "sample_weight": np.ones(4)})


def test_fractions_and_long_doubles_as_weights():
    model = inference.MRF(np.eye(2), [[0, 1]], [np.eye(2)])
    for weight in (Fraction(1, 2), np.longdouble(0.5)):
        result = inference.map_mrf(model, method="fwmap", proximal_weight=weight)
        assert result.energy == inference.map_mrf(model, method="exact").energy


@pytest.mark.parametrize(
    "label",
    [np.array([1.0]), [1], sparse.eye_array(1), pd.Series([1]), (1, [2]), np.nan, pd.NA],
)
@pytest.mark.parametrize("kind", [ChainSSVM, GraphCRFSSVM, TreeSSVM])
def test_invalid_ignore_label(kind, label):
    with pytest.raises((TypeError, ValueError), match="ignore_label is "):
        unfitted(kind, ignore_label=label).fit(*FIRST[kind].samples(3))


@pytest.mark.parametrize("kind", [ChainSSVM, TreeSSVM])
@pytest.mark.parametrize("label", [True, np.True_, np.int8(1), 1.0, Fraction(1)])
def test_ignore_label_that_is_equal_to_an_integer(kind, label):
    X, y = FIRST[kind].samples()
    expected = unfitted(kind, ignore_label=1).fit(X, y)
    assert unfitted(kind, ignore_label=label).fit(X, y).objective_ == expected.objective_


class _Array(np.ndarray):
    """An array of a subclass."""


def test_labels_in_other_kinds_of_arrays():
    y = [labels.view(_Array) for labels in LABELS]
    model = ChainSSVM(max_iter=1, random_state=0).fit(ROWS, y)
    assert type(model.classes_) is np.ndarray
    assert len(model.predict(ROWS)) == 3
    classes = np.array([0, 1], dtype=np.longdouble)
    assert len(ChainSSVM(classes=classes, max_iter=1).fit(ROWS, LABELS).to_frame())
    y = np.array(LABELS).view(_Array)
    model.fit(np.array(ROWS), y)
    assert model.score(np.array(ROWS), y) <= 1


def test_tuples_as_labels():
    y = [[("a", 1)], [("b", 2)]]
    model = ChainSSVM(max_iter=1, random_state=0).fit([np.eye(2)[:1], np.eye(2)[1:]], y)
    assert model.classes_.tolist() == [("a", 1), ("b", 2)]
    model.set_params(ignore_label=("a", 1)).fit([np.eye(2)[:1], np.eye(2)[1:]], y)
    assert model.classes_.tolist() == [("b", 2)]


def test_sparse_matrices_are_not_compared_as_labels():
    damaged = sparse.csr_matrix(np.eye(2))
    damaged.indptr = damaged.indptr[:0]
    for odd in (damaged, sparse.eye_array(3).tocoo()):
        with pytest.raises(TypeError, match="is not hashable and cannot be a label"):
            ChainSSVM(max_iter=1).fit([np.eye(2)], [[odd, "a"]])
        model = ChainSSVM(max_iter=1, random_state=0).fit(ROWS, LABELS)
        with pytest.raises(TypeError, match=r"y_partial\[0\] at node 0 is (csr_matrix|coo_array)"):
            model.predict(ROWS[:1], [[odd, 0, 1]])


def test_sparse_matrix_without_a_shape():
    odd = sparse.eye_array(2, format="coo")
    odd._shape = None
    for kind in (ChainSSVM, GraphCRFSSVM):
        model = fitted(kind)
        for X in (odd, [odd], [odd, odd], [(odd, [[0, 1]])]):
            found = findings(model.predict, X=X) + findings(kind().fit, X=X, y=LABELS[:1])
            assert not found
    with pytest.raises(TypeError, match=r"X\[0\]\.shape is a NoneType"):
        ChainSSVM().fit([odd], LABELS[:1])


def test_names_that_numpy_cannot_compare():
    model = fitted(MulticlassSSVM)
    names = [np.True_, 10**400]
    assert set(model.to_frame(feature_names=names)["feature"].dropna()) == set(names)


class _Same:
    """A transformer that leaves everything as it is."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X

    def get_params(self, deep=True):
        return {}


def _damaged():
    """Return a sparse array with data of the wrong length and a row index out of range."""
    matrix = sparse.eye_array(3).tocoo()
    matrix.data = matrix.data[:-1]
    matrix.row[0] = 1000
    return matrix


class _ComparedByCode:
    """An object like a damaged sparse matrix, which is not a label and must not be compared."""

    shape = (3, 3)
    __hash__ = None

    def __eq__(self, other):
        pytest.fail("it was compared")


OBJECTS = np.array([None, 1.0], dtype=object)
SEGMENTS = np.array([[0, 0, -1], [1, 1, 1]])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: labels.as_labels([_ComparedByCode()]), TypeError, "cannot be a label"),
        (lambda: labels.as_labels([_damaged(), "a"]), TypeError, "cannot be a label"),
        (lambda: Sequences.from_lengths([[1.0]] * 4, MASKED), ValueError, "has 1 masked"),
        (lambda: inference.MRF([[0.0, 1.0]], [], memoryview(OBJECTS)), ValueError, "there are no"),
        (lambda: inference.MRF(memoryview(OBJECTS), [], []), ValueError, r"node_costs\[0\] must"),
        (lambda: inference.MRF([[0.0]], [], [], factors=_damaged()), TypeError, "list of pairs"),
        (lambda: inference.MRF([[0.0]], [], [], factors=[_damaged()]), ValueError, "be a pair"),
        (lambda: inference.map_mrf(MODEL, terms=_damaged()), TypeError, "terms must be a list"),
        (lambda: inference.map_mrf(MODEL, max_time=BYTES), TypeError, "max_time must be a number"),
        (lambda: inference.tree_max_sum(memoryview(OBJECTS), [-1, 0], []), ValueError, "node_scor"),
        (lambda: _closed(separator=_damaged()), ValueError, "separator must be a nonempty string"),
        (lambda: _painted([0, 1], OBJECTS), ValueError, r"fill has shape \(2,\), expected a"),
        (lambda: _painted([[0, 1], [2, 3]], [0] * 3), ValueError, r"expected a value of shape"),
        (lambda: _painted(DATES, -1), TypeError, "incompatible dtypes in node_labels and fill"),
        (lambda: preprocessing.PerNode(_Same()).fit(np.array(10**400, dtype=object)), ValueError,
         "X has 0 dimensions"),
        (lambda: PathCV(CHAIN, lams=[1.0], cv=[([0, 7], [1])]).fit(ROWS, LABELS), ValueError,
         "split 0 of cv has row 7, but X has 3 samples"),
        (lambda: PathCV(CHAIN, lams=[1.0], cv=[([0], [1], [2])]).fit(ROWS, LABELS), ValueError,
         "cannot split X and y"),
        (lambda: PathCV(CHAIN, lams=[1.0], cv=[([0.5], [1])]).fit(ROWS, LABELS), TypeError,
         "the rows of split 0 of cv have 1 dimensions and dtype float"),
        (lambda: ssvm_path(CHAIN, ROWS, LABELS, eps=0.5, kappa=5e-324), ValueError, "kappa times"),
        (lambda: ssvm_path(CHAIN, ROWS, LABELS, eps=1e-320), ValueError, "kappa times eps"),
        (lambda: fitted(ChainSSVM).predict(ROWS[:1], [pd.DataFrame([[0, 1]])]), ValueError,
         r"y_partial\[0\] has shape .*, expected .* to match X\[0\]"),
        (lambda: fitted(GraphCRFSSVM).predict(ONE_GRAPH), ValueError, "X is 2-D"),
        (lambda: datasets.make_grids(shape=[10**22, 5]), ValueError, r"shape\[0\] must be at most"),
        (lambda: Sequences(np.zeros((2, 2)), [0, 2], feature_names=STRUCTURED), TypeError,
         r"feature_names\[0\]"),
        (lambda: MultilabelSSVM().fit(ROWS[0], sparse.csr_matrix((3, 0))), ValueError,
         "y has no columns"),
        (lambda: StructuredSVM(_NoLoss()).fit(*CHOICES), TypeError, "loss returned csr_matrix"),
        (lambda: _placed(np.timedelta64(0, "s")), ValueError, r"y_partial\[0\]"),
        (lambda: _placed(datetime.timedelta(0)), ValueError, r"y_partial\[0\]"),
        (lambda: unfitted(LatentSSVM, states_per_label=2**80).fit(*FIRST[LatentSSVM].samples(3)),
         ValueError, "states_per_label"),
        (lambda: _continued(lam=pd.DataFrame([[0.1], [0.2]])), TypeError,
         "lam must be a number or 'auto', found DataFrame"),
    ],
)  # fmt: skip
def test_errors_for_odd_objects(call, error, message):
    with pytest.raises(error, match=message):
        call()


MASKED = [np.ma.masked_array(0, True, dtype="i1"), 3]
BYTES = pd.DataFrame(np.zeros((2, 2), dtype="S8"))
DATES = np.array(["2000-01-01", "2000-01-02"], dtype="M8[D]")
MODEL = inference.MRF([[0.0, 1.0]], [], [])
CHAIN = ChainSSVM(max_iter=2, random_state=0)
STRUCTURED = memoryview(np.zeros(2, dtype=[("a", "f8")]))
CHOICES = make_choices(np.random.default_rng(0), 3)
ONE_GRAPH = np.empty((1, 1), dtype=object)
ONE_GRAPH[0, 0] = (ROWS[0], [[0, 1], [1, 2], [2, 0], [0, 2]])


class _NoLoss(Choice):
    def loss(self, y_true, y):
        return sparse.csr_matrix((1, 1))


def _placed(place):
    return fitted(TreeSSVM).predict(FIRST[TreeSSVM].samples(3)[0], [[place] * 3, None, None])


def _continued(**changed):
    model = ChainSSVM(solver="ssg", lam=0.1).partial_fit(ROWS, LABELS, classes=[0, 1])
    model.set_params(**changed).partial_fit(ROWS, LABELS)


def _closed(**given):
    return preprocessing.hierarchical_labels([[1]], ["a"], **given)


def _painted(node_labels, fill):
    return preprocessing.pixel_labels(SEGMENTS, node_labels, fill=fill)


def test_fill_with_a_value_of_several_channels():
    painted = _painted([[0, 1], [2, 3]], [8, 9])
    assert painted.tolist() == [[[0, 1], [0, 1], [8, 9]], [[2, 3]] * 3]
    assert _painted(["a", "b"], -1).tolist() == [["a", "a", -1], ["b"] * 3]


def test_labels_of_other_byte_orders_are_joined():
    Y = sparse.csr_array(np.eye(3))
    Y.data = Y.data.astype(">f8")
    found = preprocessing.hierarchical_labels(Y, ["A.x", "A.y", "B.x"])[0]
    assert found.shape == (3, 5)
