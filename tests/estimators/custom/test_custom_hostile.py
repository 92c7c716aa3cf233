"""Test that invalid oracles raise informative errors, or results are valid and flagged."""

import pickle
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct import StructuredSVM
from sstruct._kernels import _interruption
from sstruct.solvers import MPBCFW
from tests.estimators.custom.choices import (
    Choice,
    ConstrainedChoice,
    OracleError,
    make_choices,
    terms,
)
from tests.reference import brute_force

LAM = 0.05
WRONG_SAMPLE = 5
WORSE = (
    r"returned a labeling worse than one seen before, (once|\d+ times); objective_ and dual_gap_"
)


@pytest.fixture
def choices(new_rng):
    return make_choices(new_rng(3))


def fit(oracle, choices, **parameters):
    defaults = {"lam": LAM, "tol": 1e-6, "random_state": 0}
    return StructuredSVM(oracle, **{**defaults, **parameters}).fit(*choices)


class WrongOracle(Choice):
    """An oracle with a wrong return value of one method for one sample.

    With `but_truths`, the method returns the correct value for the true labeling.
    """

    def __init__(self, method, value, X, y, but_truths=True, as_sparse=False):
        super().__init__(as_sparse)
        self.method, self.value, self.but_truths = method, value, but_truths
        self._wrong_sample, self._truth = X[WRONG_SAMPLE], y[WRONG_SAMPLE]

    def _wrong(self, x, y):
        return x is self._wrong_sample and not (self.but_truths and y == self._truth)

    def joint_feature(self, x, y):
        if self.method == "joint_feature" and self._wrong(x, y):
            return self.value
        return super().joint_feature(x, y)

    def loss(self, y_true, y):
        if self.method == "loss" and not (self.but_truths and y == y_true):
            return self.value
        return super().loss(y_true, y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        if self.method == "argmax" and x is self._wrong_sample:
            return self.value
        return super().argmax(x, w, y_true, loss_weight)


# SciPy does not validate these indices.
TOO_LARGE, NEGATIVE = (sparse.csr_array(([1.0], [k], [0, 1]), shape=(1, 4)) for k in (7, -1))
WRONG = [
    ("joint_feature", np.ones(3), ValueError, r"returned shape \(3,\), expected \(4,\)"),
    ("joint_feature", np.ones((4, 1)), ValueError, r"returned shape \(4, 1\), expected \(4,\)"),
    ("joint_feature", 1.0, ValueError, r"returned shape \(\), expected \(4,\)"),
    ("joint_feature", sparse.csr_array(np.ones((2, 4))), ValueError, r"returned shape \(2, 4\)"),
    ("joint_feature", np.array([1, np.nan, 0, 0]), ValueError, "returned nan at entry 1"),
    ("joint_feature", TOO_LARGE, ValueError, r"result\.indices\[0\] is 7, expected 0 to 3"),
    ("joint_feature", NEGATIVE, ValueError, r"result\.indices\[0\] is -1, expected 0 to 3"),
    ("joint_feature", sparse.csr_array([[0, 0, np.inf, 0]]), ValueError, "returned inf at entry 2"),
    ("joint_feature", ["a", "b", "c", "d"], TypeError, "returned dtype <U1, expected real"),
    ("joint_feature", np.ones(4, dtype=complex), TypeError, "returned dtype complex128"),
    ("joint_feature", [1, [2, 3], 4, 5], TypeError, r"returned \[1, .*, expected a vector"),
    ("joint_feature", None, (TypeError, ValueError), "returned"),
    ("argmax", None, TypeError, "returned None, expected a labeling"),
]


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("but_truths", [True, False], ids=["during the fit", "before the fit"])
@pytest.mark.parametrize("method, value, kind, message", WRONG)
def test_wrong_return_values(choices, method, value, kind, message, but_truths, as_sparse):
    oracle = WrongOracle(method, value, *choices, but_truths, as_sparse)
    # The first pass of this solver is at w = 0, where argmax never returns the true labeling.
    model = StructuredSVM(oracle, lam=LAM, random_state=0, solver="fw")
    with pytest.raises(kind, match=rf"X\[{WRONG_SAMPLE}\]: {method} {message}"):
        model.fit(*choices)
    # Wrong values for true labelings are found before the fit, and leave the estimator unchanged.
    # After others, the weights of the interrupted fit are kept.
    fitted = but_truths or method == "argmax"
    assert hasattr(model, "w_") == fitted
    if fitted:
        assert model.status_ == "INTERRUPTED"


@pytest.mark.parametrize(
    "value, kind, message",
    [
        (np.nan, ValueError, "loss returned nan, expected a finite number of at least 0"),
        (-0.5, ValueError, "loss returned -0.5, expected"),
        (np.inf, ValueError, "loss returned inf, expected"),
        ("1", TypeError, "loss returned str, expected a real number"),
        (None, TypeError, "loss returned NoneType"),
        (np.ones(2), TypeError, "loss returned ndarray"),
        (1j, TypeError, "loss returned complex"),
    ],
)
def test_wrong_losses(choices, value, kind, message):
    with pytest.raises(kind, match=rf"X\[\d+\]: {message}"):
        fit(WrongOracle("loss", value, *choices), choices)
    with pytest.raises((ValueError, TypeError), match=r"X\[0\]: loss returned"):
        fit(WrongOracle("loss", value, *choices, but_truths=False), choices)
    with pytest.raises(ValueError, match=r"X\[0\]: loss returned 1 for the true labeling"):
        fit(WrongOracle("loss", 1.0, *choices, but_truths=False), choices)


def test_types_of_losses(choices):
    class Constant(WrongOracle):
        def losses(self, x, y_true):  # which argmax adds
            return np.where(np.arange(len(x)) == y_true, 0.0, self.value)

    for value in (np.float32(0.5), np.array(0.5), 1, True, np.bool_(True), np.int8(1)):
        model = fit(Constant("loss", value, *choices), choices, solver="ssg", max_iter=1)
        assert np.isfinite(model.objective_)


class Raises(Choice):
    """An oracle that raises in the k-th call of a method, and in all later calls if `lasting`."""

    def __init__(self, method, k, lasting=False):
        super().__init__()
        self.method, self.k, self.lasting, self._calls = method, k, lasting, 0

    def _count(self, method):
        if method == self.method:
            self._calls += 1
            if self._calls == self.k or (self.lasting and self._calls > self.k):
                raise OracleError(f"call {self._calls}", 17)

    def joint_feature(self, x, y):
        self._count("joint_feature")
        return super().joint_feature(x, y)

    def loss(self, y_true, y):
        self._count("loss")
        return super().loss(y_true, y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        self._count("argmax")
        return super().argmax(x, w, y_true, loss_weight)


@pytest.mark.parametrize("method", ["joint_feature", "loss", "argmax"])
@pytest.mark.parametrize("solver", ["mp-bcfw", "fw", "ssg"])
def test_exceptions_are_unchanged_and_weights_are_kept(choices, solver, method):
    k = 100 + 48 * (method == "joint_feature")
    model = StructuredSVM(
        Raises(method, k), lam=LAM, tol=1e-9, random_state=0, solver=solver, max_iter=50
    )
    with pytest.raises(OracleError) as caught:
        model.fit(*choices)
    assert type(caught.value) is OracleError
    assert caught.value.args == (f"call {k}", 17)
    assert "of the oracle at X[" in caught.value.__notes__[0]
    assert model.status_ == "INTERRUPTED"
    assert model.n_oracle_calls_ > 40
    blocks = terms(*choices)
    # The oracle raised only once, so the final certificate was computed.
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, LAM, blocks))
    assert model.predict(choices[0]).shape == (24,)


def test_no_certificate_if_the_oracle_raises_again(choices):
    model = StructuredSVM(Raises("argmax", 60, lasting=True), lam=LAM, random_state=0)
    with pytest.raises(OracleError, match="60"):
        model.fit(*choices)
    assert model.status_ == "INTERRUPTED"
    assert model.objective_ == np.inf
    assert np.isfinite(model.w_).all()
    assert model.w_.any()
    pickle.dumps(model.w_)


def test_estimator_is_unchanged_by_exceptions_before_the_fit(choices):
    model = StructuredSVM(Raises("joint_feature", 7), lam=LAM)
    with pytest.raises(OracleError):
        model.fit(*choices)
    assert not hasattr(model, "status_")


def test_keyboard_interrupt_in_the_oracle(choices):
    class Interrupts(Choice):
        calls = 0

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            self.calls += 1
            if self.calls == 80:
                raise KeyboardInterrupt
            return super().argmax(x, w, y_true, loss_weight)

    model = StructuredSVM(Interrupts(), lam=LAM, tol=1e-9, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*choices)
    assert model.status_ == "INTERRUPTED"
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, LAM, terms(*choices)))


def test_waiting_oracles_do_not_delay_the_end_of_an_interrupted_fit(choices, monkeypatch):
    class Waits(Choice):
        calls = 0

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            self.calls += 1
            if self.calls == 80:
                raise KeyboardInterrupt
            if self.calls > 80:
                time.sleep(0.02)
            return super().argmax(x, w, y_true, loss_weight)

    monkeypatch.setattr(_interruption, "GRACE_CPU_SECONDS", 1000.0)
    monkeypatch.setattr(_interruption, "GRACE_SECONDS", 0.05)
    model = StructuredSVM(Waits(), lam=LAM, tol=1e-9, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*choices)
    assert model.status_ == "INTERRUPTED"
    assert model.objective_ == np.inf
    assert model.oracle.calls < 80 + len(choices[0])


def test_warning_if_argmax_returns_only_true_labelings(choices):
    class Truth(Choice):
        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            return super().argmax(x, w) if y_true is None else y_true

    class Negated(Choice):
        def loss(self, y_true, y):
            return -float(y != y_true)  # -0.0 for the true labeling

        def losses(self, x, y_true):
            return -1.0 * (np.arange(len(x)) != y_true)

    for oracle in (Truth(), Negated()):
        with pytest.warns(ConvergenceWarning, match="found only the true labelings"):
            model = fit(oracle, choices)
        assert not model.w_.any()
        assert model.objective_ == 0
    with pytest.raises(ValueError, match=r"X\[\d+\]: loss returned -1.0, expected"):
        model.score(*choices)


@pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")
def test_suboptimal_labelings_are_counted_and_replaced(choices):
    class Lazy(Choice):
        """An oracle that is exact in the first hundred calls, and mostly suboptimal afterwards."""

        calls = 0

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            self.calls += 1
            best = super().argmax(x, w, y_true, loss_weight)
            if y_true is None or self.calls < 100 or self.calls % 3 == 0:
                return best
            # The worst labeling that is not worse than the true one.
            scores = x @ w + loss_weight * self.losses(x, y_true)
            better = np.flatnonzero(scores >= scores[y_true])
            return int(better[np.argmin(scores[better])])

    with pytest.warns(ConvergenceWarning, match=WORSE):
        model = fit(Lazy(), choices, max_iter=20, solver=MPBCFW(cache=False))
    suboptimal = model.history_["suboptimal"]
    assert suboptimal[0] == 0
    assert suboptimal[-1] > 0
    assert (np.diff(suboptimal) >= 0).all()
    assert model.inference_ == "oracle (approximate)"
    blocks = terms(*choices)
    # The dual is a lower bound for any results of the oracle.
    assert model.dual_objective_ <= brute_force.primal(model.w_, LAM, blocks)


def test_error_if_argmax_is_worse_than_the_true_labeling(choices):
    class Worst(Choice):
        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            scores = x @ w
            if y_true is not None and w.any():
                return int(np.argmin(scores + loss_weight * self.losses(x, y_true)))
            return super().argmax(x, w, y_true, loss_weight)

    with pytest.raises(ValueError, match=r"X\[\d+\]: argmax returned a labeling whose score plus "):
        fit(Worst(), choices)


def test_error_if_features_differ_between_calls(choices):
    class Drifts(Choice):
        calls = 0

        def joint_feature(self, x, y):
            self.calls += 1
            return x[y] + 1e-9 * self.calls

    with pytest.raises(ValueError, match=r"X\[0\]: joint_feature returned different vectors"):
        fit(Drifts(), choices)


def test_returned_arrays_may_be_reused(choices):
    class Reuses(Choice):
        def __init__(self):
            super().__init__()
            self._out = np.zeros(4)

        def joint_feature(self, x, y):
            self._out[:] = x[y]
            return self._out

    np.testing.assert_array_equal(fit(Reuses(), choices).w_, fit(Choice(), choices).w_)


class Changes(Choice):
    """An oracle that writes to an argument of a method, from the k-th call on."""

    def __init__(self, method, what, k=0):
        super().__init__()
        self.method, self.what, self.k, self._calls = method, what, k, 0

    def _write(self, method, array):
        self._calls += method == self.method
        if method == self.method and self._calls > self.k:
            array += 1.0

    def joint_feature(self, x, y):
        self._write("joint_feature", x)
        return super().joint_feature(x, y).copy()

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        self._write("argmax", {"x": x, "w": w}[self.what])
        return super().argmax(x, w, y_true, loss_weight)


def test_error_if_the_oracle_changes_arguments(choices):
    X, y = choices

    def copy():
        return [x.copy() for x in X], y

    for k in (0, 60):
        with pytest.raises(ValueError, match="read-only"):
            fit(Changes("argmax", "w", k), copy(), tol=1e-9)
    with pytest.raises(ValueError, match=r"X\[\d+\]: the oracle has changed the sample"):
        fit(Changes("argmax", "x"), copy())
    changed = r"X\[\d+\]: (the oracle has|joint_feature returned different)"
    with pytest.raises(ValueError, match=changed):
        fit(Changes("joint_feature", "x"), copy())
    # Changes in late calls are found at the end of the fit at the latest.
    counting = Changes("argmax", "x", np.inf)
    fit(counting, copy(), tol=1e-9)
    late = counting._calls - 35
    model = StructuredSVM(Changes("argmax", "x", late), lam=LAM, tol=1e-9, random_state=0)
    with pytest.raises(ValueError, match=r"X\[\d+\]: "):
        model.fit(*copy())
    assert hasattr(model, "w_")


def test_w_cannot_be_made_writeable(choices):
    class SetsWriteable(Choice):
        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            w.flags.writeable = True
            return super().argmax(x, w, y_true, loss_weight)

    with pytest.raises(ValueError, match="WRITEABLE"):
        fit(SetsWriteable(), choices)


def test_oracle_may_keep_references_to_w(choices):
    seen = []

    class Keeps(Choice):
        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            seen.append((w, w.copy()))
            return super().argmax(x, w, y_true, loss_weight)

    fit(Keeps(), choices)
    assert len({kept.tobytes() for kept, _ in seen}) > 5
    for kept, then in seen:
        np.testing.assert_array_equal(kept, then)


@pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")
@pytest.mark.parametrize("way", ["outside", "missed", "none"])
def test_results_of_constrained_argmax_are_checked(choices, way):
    class Wrong(ConstrainedChoice):
        n_calls = 0

        def constrained_argmax(self, x, w, y_true, **interval):
            found = super().constrained_argmax(x, w, y_true, **interval)
            self.n_calls += 1
            if way == "outside" and interval["upper"] < np.inf:
                return y_true
            if way == "none" and self.n_calls > 2 * len(choices[0]):
                return None
            if way == "missed" and found is not None and w.any():
                h = interval["margin"] + (x - x[y_true]) @ w
                g = self.losses(x, y_true)
                inside = (h > 0.01) & (g > interval["lower"] * h + 0.01)
                inside &= g < interval["upper"] * h - 0.01
                if inside.any():
                    score = h + interval["loss_weight"] * g
                    return int(np.argmin(np.where(inside, score, np.inf)))
            return found

    if way == "outside":
        with pytest.raises(ValueError, match=r"X\[\d+\]: constrained_argmax returned"):
            fit(Wrong(), choices, rescaling="slack")
        return
    with pytest.warns(ConvergenceWarning, match=WORSE):
        model = fit(Wrong(), choices, rescaling="slack", max_iter=15)
    assert model.inference_ == "oracle, angular search (approximate)"


def test_missed_labelings_are_not_taken_for_rounding_errors():
    class Ends(ConstrainedChoice):
        n_calls = 0

        def constrained_argmax(self, *arguments, **interval):
            self.n_calls += 1
            return None if self.n_calls > 48 else super().constrained_argmax(*arguments, **interval)

    # In these data, the objective is too small by 7e-11 and the dual objective is above it.
    choices = make_choices(np.random.default_rng([5, 3]))
    with pytest.warns(ConvergenceWarning, match=WORSE):
        model = fit(Ends(), choices, rescaling="slack", max_iter=15)
    assert model.objective_ < model.dual_objective_ < model.objective_ + 1e-9
    assert model.status_ == "CONVERGED"
