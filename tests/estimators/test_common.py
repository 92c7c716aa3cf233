"""scikit-learn's own estimator checks, run and not skipped."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from sstruct.chain import ChainSSVM

# Weight equivalence is asked at rtol 1e-7, so fits must be tight.
ESTIMATORS = [ChainSSVM(tol=1e-10)]


# Some checks fit random labels to features around 100: tol 1e-10 is out of reach, and not asked.
@pytest.mark.filterwarnings(
    "ignore:ChainSSVM stopped at relative duality gap:sklearn.exceptions.ConvergenceWarning"
)
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)


def test_the_checks_are_there():
    for estimator in ESTIMATORS:
        checks = list(estimator_checks_generator(estimator, legacy=True))
        assert len(checks) > 35
        names = {getattr(check, "func", check).__name__ for _, check in checks}
        for name in (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
            "check_estimators_pickle",
            "check_fit_idempotent",
            "check_n_features_in",
            "check_methods_subset_invariance",
        ):
            assert name in names
