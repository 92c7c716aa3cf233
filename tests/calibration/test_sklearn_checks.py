"""scikit-learn's checks, for estimators of rows and of sequences."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sstruct import ChainSSVM, MulticlassSSVM, MultilabelSSVM
from sstruct.calibration import CalibratedSSVM

FAILING = {
    # Repeated samples and one sample with their total weight are split in different ways.
    "check_sample_weight_equivalence_on_dense_data": None,
    "check_sample_weight_equivalence_on_sparse_data": None,
    # Expect that an estimator with predict_proba is a classifier.
    "check_estimator_sparse_array": ChainSSVM,
    "check_estimator_sparse_matrix": ChainSSVM,
    # The samples of each label are in one fold, since sequences are not stratified.
    "check_estimators_nan_inf": ChainSSVM,
}


def checks():
    for kind in (MulticlassSSVM, MultilabelSSVM, ChainSSVM):
        model = CalibratedSSVM(kind(random_state=0), cv=2)
        for estimator, check in estimator_checks_generator(model, legacy=True):
            name = getattr(check, "func", check).__name__
            if FAILING.get(name, ()) not in (None, kind):
                yield pytest.param(estimator, check, id=f"{kind.__name__}-{name}")


# The temperature of random labels, or of perfect predictions, is uncertain.
@pytest.mark.filterwarnings("ignore:temperature_=")
@pytest.mark.filterwarnings("ignore:.*SSVM stopped at:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator, check", list(checks()))
def test_estimator_check(estimator, check):
    check(estimator)
