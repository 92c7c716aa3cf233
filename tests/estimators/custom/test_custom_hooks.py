"""Test the optional methods of oracles."""

import joblib
import numpy as np
import pytest

from sstruct import StructuredSVM
from sstruct.solvers import MPBCFW
from tests.estimators.custom.choices import (
    Choice,
    ChoiceByScores,
    ConstrainedChoice,
    NamedChoice,
    make_choices,
)

OPTIONS = {"lam": 0.05, "tol": 1e-6, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class ByScores(ChoiceByScores):
    """An oracle with `potentials` that counts its calls."""

    _calls = _searched = 0

    def potentials(self, x, w):
        self._calls += 1
        return super().potentials(x, w)

    def argmax(self, *args, **keywords):
        self._searched += 1
        return super().argmax(*args, **keywords)


class Named(NamedChoice):
    """An oracle with names as labelings that counts encoded labelings."""

    _encodings = 0

    def encode(self, x, y):
        self._encodings += 1
        return super().encode(x, y)


def names(y):
    return [f"candidate {k}" for k in y]


@pytest.fixture
def choices(rng):
    return make_choices(rng)


@pytest.mark.parametrize(
    "options", [{}, {"rescaling": "slack"}, {"rescaling": "slack", "search": "bisecting"}]
)
def test_potentials_do_not_change_the_fit(choices, options):
    X, y = choices
    # Gap sampling draws by the last bits of gaps, in which searches by scores may differ.
    options = OPTIONS | options | {"solver": MPBCFW(sampling="permutation")}
    plain = StructuredSVM(ConstrainedChoice(), **options).fit(X, y)
    by_scores = StructuredSVM(ByScores(), **options).fit(X, y)
    np.testing.assert_array_equal(by_scores.w_, plain.w_)
    np.testing.assert_array_equal(by_scores.predict(X), plain.predict(X))
    assert by_scores.score(X, y) == plain.score(X, y)


def test_search_computes_potentials_once(choices):
    X, y = choices
    oracle = ByScores()
    StructuredSVM(oracle, rescaling="slack", search="bisecting", **OPTIONS).fit(X, y)
    assert 0 < oracle._calls < oracle._searched / 2


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("oracle", [ByScores, Named])
def test_workers_do_not_change_the_fit(choices, oracle, backend, rescaling):
    X, y = choices
    y = names(y) if oracle is Named else y
    options = {**OPTIONS, "max_iter": 2, "rescaling": rescaling}
    sequential = StructuredSVM(oracle(), **options).fit(X, y)
    with joblib.parallel_config(backend=backend):
        parallel = StructuredSVM(oracle(), n_jobs=2, **options).fit(X, y)
        np.testing.assert_array_equal(parallel.predict(X), sequential.predict(X))
    np.testing.assert_array_equal(parallel.w_, sequential.w_)


def test_labelings_are_encoded_and_decoded(choices):
    X, y = choices
    plain = StructuredSVM(Choice(), **OPTIONS).fit(X, y)
    oracle = Named()
    model = StructuredSVM(oracle, **OPTIONS).fit(X, names(y))
    # Each true labeling is encoded twice: once from y, and once after decoding it.
    assert oracle._encodings == 2 * len(X)
    np.testing.assert_array_equal(model.w_, plain.w_)
    assert model.predict(X).tolist() == names(plain.predict(X))
    assert model.score(X, names(y)) == plain.score(X, y)


def test_warm_starts_compare_encoded_labelings(choices):
    X, y = choices
    model = StructuredSVM(Named(), warm_start=True, **OPTIONS).fit(X, names(y))
    model.set_params(lam=0.04).fit(X, names(y))
    other = [(k + 1) % len(x) for x, k in zip(X, y)]
    with pytest.raises(ValueError, match="differ"):
        model.fit(X, names(other))


class WithoutDecode(Choice):
    def encode(self, x, y):
        return y


class NotInverse(Named):
    def decode(self, x, labeling):
        return f"candidate {(labeling + 1) % len(x)}"


class EncodesNothing(Named):
    def encode(self, x, y):
        return None


class ChangesSamples(Named):
    def encode(self, x, y):
        x[0, 0] += 1
        return super().encode(x, y)


class NoPotentials(ByScores):
    def potentials(self, x, w):
        return None


class WritesPotentials(ByScores):
    def argmax(self, x, scores, y_true=None, loss_weight=1.0):
        if y_true is not None:
            scores += loss_weight * self.losses(x, y_true)
        return int(np.argmax(scores))


@pytest.mark.parametrize(
    ("oracle", "error", "message"),
    [
        (WithoutDecode, TypeError, "both encode and decode"),
        (NotInverse, ValueError, r"X\[0\]: encode of the decoded true labeling has loss"),
        (EncodesNothing, TypeError, r"X\[0\]: encode returned None"),
        (ChangesSamples, ValueError, r"X\[0\]: the oracle has changed"),
        (NoPotentials, TypeError, r"X\[\d+\]: potentials returned None"),
        (WritesPotentials, ValueError, "read-only"),
    ],
)
def test_errors_for_invalid_hooks(choices, oracle, error, message):
    X, y = choices
    with pytest.raises(error, match=message):
        StructuredSVM(oracle(), **OPTIONS).fit(X, y if issubclass(oracle, ByScores) else names(y))


def test_exceptions_of_hooks_have_a_note(choices):
    X, y = choices
    with pytest.raises(AttributeError) as caught:
        StructuredSVM(Named(), **OPTIONS).fit(X, y)
    assert caught.value.__notes__ == ["raised by encode of the oracle at X[0]"]
