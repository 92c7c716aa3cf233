"""What the chain is for: fewer errors on real data than reading every image by itself."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates


@pytest.mark.parametrize("split", range(5))
def test_at_most_0_7_of_the_independent_errors(split):
    train = load_digit_dates(subset="train", random_state=split)
    test = load_digit_dates(subset="test", random_state=split)
    truth = np.concatenate(test.target)

    chain = ChainSSVM(lam=0.3, random_state=0).fit(train.data, train.target)
    chain_errors = np.count_nonzero(np.concatenate(chain.predict(test.data)) != truth)
    images, labels = np.vstack(train.data), np.concatenate(train.target)
    single_errors = min(
        np.count_nonzero(LinearSVC(C=C).fit(images, labels).predict(np.vstack(test.data)) != truth)
        for C in (0.03, 0.1)
    )
    assert chain.converged_
    assert chain_errors <= 0.7 * single_errors
