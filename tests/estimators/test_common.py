"""scikit-learn's own estimator checks, run and not skipped."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM

# Weight equivalence is asked at rtol 1e-7, so fits must be tight.
ESTIMATORS = [
    ChainSSVM(tol=1e-10),
    GraphCRFSSVM(tol=1e-10),
    GridCRFSSVM(tol=1e-10),
    MulticlassSSVM(tol=1e-10),
    ChainSSVM(tol=1e-10, rescaling="slack"),
    MulticlassSSVM(tol=1e-10, rescaling="slack"),
    MultilabelSSVM(tol=1e-10),
    MultilabelSSVM(tol=1e-10, edges="tree"),
    MultilabelSSVM(tol=1e-10, edges=None),
    MultilabelSSVM(tol=1e-10, pairwise="full"),
    MultilabelSSVM(tol=1e-10, rescaling="slack"),
    MultilabelSSVM(tol=1e-10, rescaling="slack", edges="tree"),
    MultilabelSSVM(tol=1e-10, rescaling="slack", inference="relaxed"),
]
# All but the weight checks pass as users make them, too.
AT_DEFAULTS = [ChainSSVM(), GraphCRFSSVM(), GridCRFSSVM(), MulticlassSSVM(), MultilabelSSVM()]
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Not parametrize_with_checks: that of scikit-learn 1.6 gives pytest a generator, which pytest 9
# warns of.


def name_of(check):
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(*pair, id=f"{estimator!r}-{name_of(pair[1])}")
    for estimator in ESTIMATORS + AT_DEFAULTS
    for pair in estimator_checks_generator(estimator, legacy=True)
    if estimator in ESTIMATORS or name_of(pair[1]) not in WEIGHT_CHECKS
]


# Some checks fit random labels to features around 100: tol 1e-10 is out of reach, and not asked.
@pytest.mark.filterwarnings(
    "ignore:.*SSVM stopped at relative duality gap:sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("estimator, check", CHECKS)
def test_estimator_check(estimator, check):
    check(estimator)


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
