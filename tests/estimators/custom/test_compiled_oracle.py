"""Test fits and validation of oracles of C functions."""

import copy
import ctypes
import pickle
import shutil
import subprocess
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import LowLevelCallable
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from sstruct import PathCV, StructuredSVM
from sstruct._estimators.custom.oracle_adapters import (
    CompiledOracleAdapter,
    OracleAdapter,
    PythonOracleAdapter,
)
from sstruct.extending import CompiledOracle
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.custom.choices import Choice, make_choices, terms
from tests.estimators.custom.compiled_choices import ARGMAX, JOINT_FEATURE, LOSS, compiled_choice
from tests.estimators.same_bits import assert_same_bits
from tests.reference import dual_qp

HERE = Path(__file__).parent
WORK = 1e6


def compiled(source, folder):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    path = folder / "library.so"
    # No fused multiply-adds: Python has none.
    command = [compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", HERE / source]
    subprocess.run([*command, "-o", path], check=True)
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return compiled("choice.c", tmp_path_factory.mktemp("choice"))


class InOrder(Choice):
    """An oracle with the order of summation of the C function, for bitwise equal results."""

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = []
        for k in range(len(x)):
            score = 0.0 if y_true is None else loss_weight * self.loss(y_true, k)
            for f in range(len(w)):
                score += w[f] * x[k, f]
            scores.append(score)
        return scores.index(max(scores))


def fit(X, y, oracle, **parameters):
    defaults = {"lam": 0.05, "tol": 1e-7, "random_state": 0}
    return StructuredSVM(oracle, **{**defaults, **parameters}).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": BCFW(step="pairwise", sampling="uniform")},
        {"solver": MPBCFW(step="corrective", sampling="gap", cache=True), "n_jobs": 3},
        {"solver": BCFW(step="away", average=True), "n_jobs": 2},
        {"rescaling": "slack", "tol": 0.5},
        {"bounds": np.array([[-0.2, -np.inf, 0.1, -np.inf], [0.2, 0.0, np.inf, np.inf]])},
        {"solver": "fw", "tol": 2e-2, "n_jobs": 2},
        {"solver": "ssg", "max_iter": 3, "tol": 0.5},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_compiled_and_python_oracles_agree(rng, library, parameters):
    X, y = make_choices(rng)
    model = fit(X, y, compiled_choice(library, 4, work=WORK), **parameters)
    python = fit(X, y, InOrder(), **{**parameters, "n_jobs": None})
    assert_same_bits(model, python)
    assert [labels.tolist() for labels in model.predict(X)] == [[k] for k in python.predict(X)]
    assert model.score(X, y) == pytest.approx(python.score(X, y), abs=1e-15)
    assert model.inference_ == python.inference_


def test_estimator_conventions(rng, library):
    X, y = make_choices(rng)
    oracle = compiled_choice(library, 4)
    model = fit(X, y, oracle, tol=1e-3)
    assert clone(model).oracle is oracle
    assert copy.deepcopy(model).predict(X[:1])[0].tolist() == model.predict(X[:1])[0].tolist()
    assert len(cross_val_score(clone(model), X, y, cv=3)) == 3
    assert copy.copy(oracle) is oracle
    with pytest.raises(TypeError, match="CompiledOracle cannot be pickled, since its functions"):
        pickle.dumps(model)
    warm = fit(X[:15], y[:15], oracle, tol=1e-2, warm_start=True)
    dual_qp.check_optimum(warm.set_params(tol=1e-8).fit(X, y), terms(X, y))
    with pytest.raises(ValueError, match="warm_start"):
        warm.fit(X[:-1], y[:-1])


@pytest.mark.usefixtures("sigint")
def test_control_c_in_a_prediction_leaves_the_estimator_as_it_was(rng, tmp_path):
    X, y = make_choices(rng)
    path = compiled("interrupted_choice.c", tmp_path)
    left = ctypes.c_int32.in_dll(ctypes.CDLL(path), "calls_left")  # negative: no interruption
    model = fit(X, y, compiled_choice(path, 4), tol=1e-3)
    before, w, found = model.__dict__.copy(), model.w_.copy(), model.predict(X)
    left.value = 5
    with pytest.raises(KeyboardInterrupt):
        model.predict(X)
    # The prediction stopped at once, without a sixth call.
    assert left.value == 0
    assert model.__dict__ == before
    np.testing.assert_array_equal(model.w_, w)
    assert [k.tolist() for k in model.predict(X)] == [k.tolist() for k in found]
    left.value = 0
    np.testing.assert_array_equal(model.fit(X, y).w_, w)


class Reloading(CompiledOracle):
    """A CompiledOracle that loads its library again when it is unpickled."""

    def __reduce__(self):
        return reloaded, (self.path,)


def reloaded(path):
    oracle = compiled_choice(path, 4)
    oracle.__class__, oracle.path = Reloading, path
    return oracle


def test_searches(rng, library):
    X, y = make_choices(rng)
    lams, found = [1.0, 0.1, 0.001], []
    for oracle in (InOrder(), compiled_choice(library, 4, work=WORK)):
        model = StructuredSVM(oracle, random_state=0, tol=1e-4)
        # In the main thread or in several threads, since its functions cannot be pickled.
        for n_jobs in (None, 2):
            with joblib.parallel_config(backend="threading"):
                for search in (
                    GridSearchCV(model, {"lam": lams}, cv=3, n_jobs=n_jobs),
                    PathCV(model, lams=lams, cv=3, n_jobs=n_jobs),
                ):
                    search.fit(X, y)
                    scores = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
                    found.append((scores, search.best_estimator_.w_, search.predict(X).tolist()))
    for k in range(2, len(found)):
        for a, b in zip(found[k], found[k % 2], strict=True):
            np.testing.assert_array_equal(np.squeeze(a), np.squeeze(b))


def test_a_subclass_that_loads_its_library_can_be_pickled(rng, library):
    X, y = make_choices(rng)
    model = fit(X, y, reloaded(str(library)), tol=1e-3)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X)[3].tolist() == model.predict(X)[3].tolist()


@pytest.mark.slow
def test_error_for_searches_in_processes(rng, library):
    X, y = make_choices(rng)
    model = StructuredSVM(compiled_choice(library, 4), random_state=0)
    with joblib.parallel_config(backend="loky"), pytest.raises(pickle.PicklingError) as caught:
        GridSearchCV(model, {"lam": [0.1, 1.0]}, cv=2, n_jobs=2).fit(X, y)
    assert "CompiledOracle cannot be pickled" in str(caught.value.__cause__)


def test_functions_of_cffi(rng, library):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("""
        int choice_argmax(const double *, const double *, const int32_t *, const int32_t *, double,
            int32_t *, void *);
        int choice_joint_feature(const double *, const int32_t *, const int32_t *, int32_t *,
            double *, void *);
        double choice_loss(const int32_t *, const int32_t *, int32_t, void *);
    """)
    found = ffi.dlopen(str(library))
    functions = [
        LowLevelCallable(ffi.addressof(found, f"choice_{name}"))
        for name in ("argmax", "joint_feature", "loss")
    ]
    oracle = CompiledOracle(*functions, n_weights=4, n_labels=len, code_size=1)
    X, y = make_choices(rng)
    np.testing.assert_array_equal(fit(X, y, oracle).w_, fit(X, y, compiled_choice(library, 4)).w_)


def test_functions_of_numba(rng, library):
    numba = pytest.importorskip("numba")
    types = numba.types
    integers, numbers = types.CPointer(types.int32), types.CPointer(types.float64)

    @numba.cfunc(
        types.intc(numbers, numbers, integers, integers, types.float64, integers, types.voidptr)
    )
    def argmax(w, x, shape, y_true, loss_weight, y, data):
        rows = numba.carray(x, (shape[0], shape[1]))
        weights = numba.carray(w, (shape[1],))
        best = -np.inf
        # NULL in prediction.
        known = numba.carray(y_true, (1,)).ctypes.data != 0
        for k in range(shape[0]):
            score = 0.0
            if known:
                score += loss_weight * min(abs(k - y_true[0]), 2) / 2
            for f in range(shape[1]):
                score += rows[k, f] * weights[f]
            if score > best:
                best, y[0] = score, k
        return 0

    @numba.cfunc(types.intc(numbers, integers, integers, integers, numbers, types.voidptr))
    def joint_feature(x, shape, y, index, value, data):
        for f in range(shape[1]):
            index[f], value[f] = f, x[y[0] * shape[1] + f]
        return shape[1]

    @numba.cfunc(types.float64(integers, integers, types.intc, types.voidptr))
    def loss(y_true, y, size, data):
        return min(abs(y[0] - y_true[0]), 2) / 2

    functions = [LowLevelCallable(f.ctypes) for f in (argmax, joint_feature, loss)]
    oracle = CompiledOracle(*functions, n_weights=4, n_labels=len, code_size=1)
    X, y = make_choices(rng)
    model = fit(X, y, oracle)
    np.testing.assert_array_equal(model.w_, fit(X, y, compiled_choice(library, 4)).w_)
    # An oracle in Python is visited in batches, so both are optimal only to their tolerance.
    other = fit(X, y, Choice())
    distance = sum(np.sqrt(2 * each.dual_gap_ / each.lam_) for each in (model, other))
    assert np.linalg.norm(model.w_ - other.w_) <= distance


def right_argmax(w, x, shape, y_true, loss_weight, y, data):
    """Replace a C function by a Python function: two features with indices 0 and 1."""
    scores = [w[0] * x[2 * k] + w[1] * x[2 * k + 1] for k in (0, 1)]
    if y_true:
        scores[1 - y_true[0]] += loss_weight
    y[0] = int(scores[1] > scores[0])
    return 0


def right_feature(x, shape, y, index, value, data):
    # The second feature is given in two parts.
    parts = [(1, 0.25), (0, 1.0), (1, 0.75)]
    for k, (f, share) in enumerate(parts):
        index[k], value[k] = f, share * x[2 * y[0] + f]
    return 3


def right_loss(y_true, y, size, data):
    return float(y_true[0] != y[0])


def oracle_of(argmax=right_argmax, joint_feature=right_feature, loss=right_loss, **parameters):
    functions = [
        LowLevelCallable(ctypes.CFUNCTYPE(*types)(function))
        for types, function in ((ARGMAX, argmax), (JOINT_FEATURE, joint_feature), (LOSS, loss))
    ]
    sizes = {"n_weights": 2, "n_labels": 2, "code_size": 1, "max_features": 3}
    return CompiledOracle(*functions, **{**sizes, **parameters})


X = [np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[0.0, 1.0], [2.0, 2.0]])] * 3
Y = [0, 1] * 3


def test_entries_of_one_index_are_added():
    def whole(x, shape, y, index, value, data):
        for f in (0, 1):
            index[f], value[f] = f, x[2 * y[0] + f]
        return 2

    model = fit(X, Y, oracle_of())
    np.testing.assert_array_equal(model.w_, fit(X, Y, oracle_of(joint_feature=whole)).w_)


def wrong(k):
    """Return C functions that return invalid results in training, for the second candidate."""

    def argmax(w, x, shape, y_true, loss_weight, y, data):
        right_argmax(w, x, shape, y_true, loss_weight, y, data)
        if k == "status":
            return 3
        if k == "label":
            y[0] = 2
        if k == "truth":
            y[0] = 0
        return 0

    def feature(x, shape, y, index, value, data):
        n = right_feature(x, shape, y, index, value, data)
        if y[0] == 1:
            if k == "index":
                index[1] = 2
            if k == "value":
                value[2] = np.nan
            if k == "many":
                return 4
            if k == "few":
                return -1
        return n

    def loss(y_true, y, size, data):
        found = right_loss(y_true, y, size, data)
        return {"loss": -1.0, "nan": np.nan}.get(k, found) if found else found

    return oracle_of(argmax, feature, loss)


@pytest.mark.parametrize(
    "k, message",
    [
        ("status", r"X\[\d\]: argmax returned 3, expected 0"),
        ("label", r"X\[\d\]: argmax wrote label 2 at position 0, expected 0 to 1"),
        ("index", r"X\[\d\]: joint_feature wrote index 2 and value .* at position 1"),
        ("value", r"X\[\d\]: joint_feature wrote index 1 and value nan at position 2"),
        ("many", r"X\[\d\]: joint_feature returned 4, expected 0 to 3"),
        ("few", r"X\[\d\]: joint_feature returned -1, expected 0 to 3"),
        ("loss", r"X\[\d\]: loss returned -1.0, expected a finite number of at least 0"),
        ("nan", r"X\[\d\]: loss returned nan"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_of_functions_are_validated(k, message, n_jobs):
    # The first candidate is always the true one, so only training reaches the second one.
    samples = [x if label == 0 else x[::-1] for x, label in zip(X, Y)]
    model = StructuredSVM(wrong(k), lam=0.1, random_state=0, n_jobs=n_jobs)
    with pytest.raises(ValueError, match=message):
        model.fit(samples, [0] * len(samples))
    assert model.status_ == "INTERRUPTED"
    assert np.isfinite(model.w_).all()


def test_true_labelings_are_validated_before_the_fit():
    for parameters, y, message in [
        ({}, [0, 1, 0, 1, 0, 2], r"y\[5\] has labels from 2 to 2, expected 0 to 1"),
        ({}, [0, 1, 0, 1, 0, [0, 1]], r"y\[5\] has dtype int64 and shape \(2,\), expected"),
        ({}, [0, 1, 0, 1, 0, 0.5], r"y\[5\] has dtype float64"),
        ({"loss": lambda *_: 1.0}, Y, r"X\[0\]: loss returned 1 for the true labeling"),
        ({"code_size": lambda x: 0}, Y, r"X\[0\]: code_size is 0, expected a positive integer"),
        ({"n_labels": lambda x: 1.5}, Y, r"X\[0\]: n_labels is 1.5"),
    ]:
        model = StructuredSVM(oracle_of(**parameters), lam=0.1)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        assert not hasattr(model, "status_")
    with pytest.raises(ValueError, match=r"X\[2\] contains NaN"):
        fit([*X[:2], X[0] * np.nan], Y[:3], oracle_of())
    with pytest.raises(ValueError, match=r"X\[1\] has 1 dimensions"):
        fit([X[0], X[1][0]], Y[:2], oracle_of())


def test_signatures_are_checked():
    loss = ctypes.CFUNCTYPE(*LOSS)(right_loss)
    single = ctypes.POINTER(ctypes.c_float)
    types = [single if k == 1 else kind for k, kind in enumerate(JOINT_FEATURE)]
    mixed = ctypes.CFUNCTYPE(*types)(right_feature)
    argmax = LowLevelCallable(ctypes.CFUNCTYPE(*ARGMAX)(right_argmax))
    feature = LowLevelCallable(ctypes.CFUNCTYPE(*JOINT_FEATURE)(right_feature))
    keywords = {"n_weights": 2, "n_labels": 2}
    with pytest.raises(
        TypeError, match=r"argmax has the signature 'double \(int \*.*expected 'int"
    ):
        CompiledOracle(LowLevelCallable(loss), feature, LowLevelCallable(loss), **keywords)
    with pytest.raises(TypeError, match=r"loss must be a scipy\.LowLevelCallable, found func"):
        CompiledOracle(argmax, feature, right_loss, **keywords)
    with pytest.raises(TypeError, match=r"have x of types .*double.*float"):
        CompiledOracle(argmax, LowLevelCallable(mixed), LowLevelCallable(loss), **keywords)
    with pytest.raises(ValueError, match="n_weights must be at least 1"):
        CompiledOracle(argmax, feature, LowLevelCallable(loss), n_weights=0, n_labels=2)


def test_numbers_are_not_changed_by_their_conversion():
    integer = ctypes.POINTER(ctypes.c_int32)
    types = [
        [integer if k == place else given for k, given in enumerate(found)]
        for found, place in ((ARGMAX, 2), (JOINT_FEATURE, 1))
    ]
    functions = [
        LowLevelCallable(ctypes.CFUNCTYPE(*given)(function))
        for given, function in zip([*types, LOSS], (right_argmax, right_feature, right_loss))
    ]
    oracle = CompiledOracle(*functions, n_weights=2, n_labels=2, code_size=1, max_features=3)
    numbers = [(10 * x).astype(int) for x in X]
    assert fit(numbers, Y, oracle).converged_
    for wrong, kind, message in (
        (X[0], TypeError, r"X\[0\] has dtype float64, expected integers"),
        (numbers[0] + 2**40, ValueError, r"X\[0\] has values out of the range of int32"),
    ):
        with pytest.raises(kind, match=message):
            fit([wrong, *numbers[1:]], Y, oracle)
    with pytest.raises(TypeError, match=r"X\[1\] has dtype complex128"):
        fit([X[0], X[1] + 1j, *X[2:]], Y, oracle_of())
    # Arrays of another byte order have the same numbers.
    np.testing.assert_array_equal(
        fit([x.astype(">f8") for x in X], Y, oracle_of()).w_, fit(X, Y, oracle_of()).w_
    )


def test_warm_starts_require_the_same_oracle():
    model = fit(X, Y, oracle_of(), warm_start=True)
    model.fit(X, Y)
    model.set_params(oracle=oracle_of(loss=lambda *a: 3 * right_loss(*a)))
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, Y)


def test_adapters_have_the_same_calls():
    names = [
        {name for name in dir(adapter) if not name.startswith("_")}
        for adapter in (CompiledOracleAdapter, PythonOracleAdapter)
    ]
    assert names[0] == names[1]
    for name in names[0] - {"check"}:
        assert f"``{name}" in OracleAdapter.__doc__
