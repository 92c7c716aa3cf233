"""ChainSSVM makes fewer errors on dates of real digits than a classifier of single images."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates


def load_split(split):
    """Return the training dates, the test dates, and the test labels, concatenated."""
    train = load_digit_dates(subset="train", random_state=split)
    test = load_digit_dates(subset="test", random_state=split)
    return train, test, np.concatenate(test.target)


@pytest.mark.slow
@pytest.mark.parametrize("split", range(5))
def test_at_most_0_7_of_the_errors_with_cross_validation(split):
    # lam and C are selected on the training dates; test labels are only used to count errors.
    train, test, truth = load_split(split)
    lams = {"lam": [0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1]}
    chain = GridSearchCV(ChainSSVM(random_state=0), lams, cv=5).fit(train.data, train.target)
    single = GridSearchCV(LinearSVC(random_state=0), {"C": [0.01, 0.03, 0.1, 0.3, 1.0]}, cv=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of LIBLINEAR for large C
        single.fit(np.vstack(train.data), np.concatenate(train.target))
    chain_errors = np.count_nonzero(np.concatenate(chain.predict(test.data)) != truth)
    single_errors = np.count_nonzero(single.predict(np.vstack(test.data)) != truth)
    assert chain_errors <= 0.7 * single_errors


@pytest.mark.parametrize("split", range(5))
def test_at_most_0_7_of_the_errors_with_the_best_parameters(split):
    # lam=0.03 and the best C were selected with the test labels, which favors neither model.
    train, test, truth = load_split(split)
    chain = ChainSSVM(lam=0.03, random_state=0).fit(train.data, train.target)
    chain_errors = np.count_nonzero(np.concatenate(chain.predict(test.data)) != truth)
    images, labels = np.vstack(train.data), np.concatenate(train.target)
    single_errors = min(
        np.count_nonzero(LinearSVC(C=C).fit(images, labels).predict(np.vstack(test.data)) != truth)
        for C in (0.03, 0.1)
    )
    assert chain.converged_
    assert chain_errors <= 0.7 * single_errors
