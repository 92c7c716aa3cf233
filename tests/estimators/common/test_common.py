"""Estimator checks of scikit-learn, and the same conventions on samples of every structure."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.estimators.equal import equal
from tests.registry import EXAMPLES, FIRST

# They compare with rtol=1e-7 and require small tolerances. Other checks use the default one.
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Checks without data, or that expect an error, for estimators that do not read 2-D arrays.
CHECKS_WITHOUT_DATA = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
# Parameters whose values fit the labels or features of an example's samples only.
FOR_SAMPLES = {"class_scores", "classes", "constraints", "prior", "transitions"}
# LinearSVC fails in the same case.
REQUIRES_INTERCEPT = ("check_class_weight_classifiers", {"fit_intercept": False})
examples = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)


def name_of(check):
    return getattr(check, "func", check).__name__


def is_checked_for_partial_fit(check, estimator):
    """Whether a check applies to solvers that support partial_fit.

    They make two steps for two copies of a sample, not one step of twice the length. The check of
    n_features_in_ passes `classes` to the first call of partial_fit only for classifiers.
    """
    is_chain = type(estimator).__name__ == "ChainSSVM"
    return name_of(check) not in WEIGHT_CHECKS and not (
        name_of(check) == "check_n_features_in_after_fitting" and is_chain
    )


def checks_of(estimator):
    # parametrize_with_checks of scikit-learn 1.6 passes a generator, of which pytest 9 warns.
    return estimator_checks_generator(estimator, legacy=True)


def sklearn_checks():
    """Yield an estimator, a check and whether the test is slow."""
    for example in EXAMPLES.values():
        kind = example.estimator
        for parameters in example.checked:
            for made, check in checks_of(kind(**parameters)):
                yield made, check, False
        reads_arrays = example.checked and not example.is_meta
        for parameters in example.variants() if reads_arrays else ():
            if parameters in example.checked or FOR_SAMPLES & parameters.keys():
                continue
            for made, check in checks_of(kind(**parameters)):
                if (name_of(check), parameters) != REQUIRES_INTERCEPT:
                    yield made, check, True
        for parameters in example.checked_partial_fit:
            for made, check in checks_of(kind(max_iter=20, **parameters)):
                if is_checked_for_partial_fit(check, made):
                    yield made, check, False
    for kind, example in FIRST.items():
        if not example.checked:
            for made, check in checks_of(kind(**example.required)):
                if name_of(check) in CHECKS_WITHOUT_DATA:
                    yield made, check, False


# Some checks fit random labels to features around 100, where tol is not reached.
@pytest.mark.filterwarnings("ignore:.*SSVM stopped at:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator, check",
    [
        pytest.param(e, check, id=f"{e!r}-{name_of(check)}", marks=[pytest.mark.slow] * slow)
        for e, check, slow in sklearn_checks()
    ],
)
def test_estimator_check(estimator, check):
    tight = {}
    if name_of(check) in WEIGHT_CHECKS:
        tight = {"estimator__tol": 1e-10} if hasattr(estimator, "estimator") else {"tol": 1e-12}
    check(clone(estimator).set_params(**tight))


@pytest.mark.parametrize("kind", [kind for kind, example in FIRST.items() if example.checked])
def test_checks_of_scikit_learn_apply(kind):
    example = FIRST[kind]
    names = {name_of(check) for _, check in checks_of(kind(**example.required))}
    assert len(names) > 35
    assert names >= {
        *WEIGHT_CHECKS,
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_n_features_in",
        "check_methods_subset_invariance",
    }


@examples
def test_fit_is_repeatable_and_changes_nothing_else(example):
    X, y = example.samples()
    model = example.unfitted()
    data, parameters = copy.deepcopy((X, y)), repr(model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X, y) is model
        expected = model.predict(X)
        again = clone(model).fit(X, y)
        model.fit(X, y)
    assert repr(model.get_params()) == parameters
    for other in (again, model):
        assert equal(other.predict(X), expected)
        assert equal(getattr(other, "w_", None), getattr(again, "w_", None))
    assert equal((X, y), data)


@examples
def test_predictions_do_not_depend_on_the_other_samples(example):
    X, y = example.samples()
    model = example.fitted()
    whole = model.predict(X)
    for i in range(len(y)):
        assert equal(list(model.predict(X[i : i + 1])), list(whole[i : i + 1]))
    assert equal(list(model.predict(X[::-1])), list(whole)[::-1])


@examples
def test_unit_sample_weights_equal_no_weights(example):
    X, y = example.samples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = example.unfitted().fit(X, y, sample_weight=np.ones(len(y)))
    assert equal(weighted.predict(X), example.fitted().predict(X))
    assert weighted.score(X, y, sample_weight=np.ones(len(y))) == weighted.score(X, y)


@examples
def test_before_a_fit(example):
    X, y = example.samples()
    model = example.unfitted()
    for method, given in (("predict", (X,)), ("score", (X, y)), ("to_frame", ())):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match=f"{type(model).__name__}.* not fitted"):
                getattr(model, method)(*given)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert not fitted


@examples
def test_numbers_of_samples_must_agree(example):
    X, y = example.samples()
    with pytest.raises(ValueError, match=r"samples|X\b.*y\b"):
        example.unfitted().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        example.unfitted().fit(X, y, sample_weight=np.ones(len(y) + 1))
