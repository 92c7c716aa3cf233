"""scikit-learn's own estimator checks, run and not skipped."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM

ESTIMATORS = [
    ChainSSVM(),
    GraphCRFSSVM(),
    GraphCRFSSVM(rescaling="slack"),
    GridCRFSSVM(),
    MulticlassSSVM(),
    ChainSSVM(rescaling="slack"),
    MulticlassSSVM(rescaling="slack"),
    MultilabelSSVM(),
    MultilabelSSVM(edges="tree"),
    MultilabelSSVM(edges=None),
    MultilabelSSVM(pairwise="full"),
    MultilabelSSVM(rescaling="slack"),
    MultilabelSSVM(rescaling="slack", edges="tree"),
    MultilabelSSVM(rescaling="slack", inference="relaxed"),
]
# Those that take samples as they come have `partial_fit`, which there are checks for. Two copies of
# a sample are two steps, and no step of twice the length.
ONLINE = [
    MulticlassSSVM(solver="perceptron", max_iter=20),
    MulticlassSSVM(solver="pa", max_iter=20),
    MulticlassSSVM(solver="ssg", lam=0.1, max_iter=20),
    MultilabelSSVM(solver="perceptron", max_iter=20),
    ChainSSVM(solver="perceptron", max_iter=20),
]
# Asked at rtol 1e-7, so that fits must be tight. All else passes as users make estimators.
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Not parametrize_with_checks: that of scikit-learn 1.6 gives pytest a generator, which pytest 9
# warns of.


def name_of(check):
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(estimator, check, id=f"{estimator!r}-{name_of(check)}")
    for made in ESTIMATORS
    for estimator, check in estimator_checks_generator(made, legacy=True)
]
CHECKS += [
    pytest.param(estimator, check, id=f"{estimator!r}-{name_of(check)}")
    for made in ONLINE
    for estimator, check in estimator_checks_generator(made, legacy=True)
    if name_of(check) not in WEIGHT_CHECKS
    # Classes are asked for in the first call, which the check knows of classifiers alone.
    and (name_of(check), type(made)) != ("check_n_features_in_after_fitting", ChainSSVM)
]


# Some checks fit random labels to features around 100, out of reach of tol; it is not asked.
@pytest.mark.filterwarnings(
    "ignore:.*SSVM stopped at relative duality gap:sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("estimator, check", CHECKS)
def test_estimator_check(estimator, check):
    tight = {"tol": 1e-12} if name_of(check) in WEIGHT_CHECKS else {}
    check(clone(estimator).set_params(**tight))


def test_the_checks_are_there():
    for estimator in ESTIMATORS:
        checks = list(estimator_checks_generator(estimator, legacy=True))
        assert len(checks) > 35
        names = {name_of(check) for _, check in checks}
        for name in (
            *WEIGHT_CHECKS,
            "check_estimators_pickle",
            "check_fit_idempotent",
            "check_n_features_in",
            "check_methods_subset_invariance",
        ):
            assert name in names
