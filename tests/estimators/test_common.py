"""scikit-learn's own estimator checks, run and not skipped."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM

ESTIMATORS = [
    ChainSSVM(),
    GraphCRFSSVM(),
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


# Some checks fit random labels to features around 100, out of reach of tol; it is not asked.
@pytest.mark.filterwarnings(
    "ignore:.*SSVM stopped at relative duality gap:sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("estimator, check", CHECKS)
def test_estimator_check(estimator, check):
    tight = {"tol": 1e-10} if name_of(check) in WEIGHT_CHECKS else {}
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
