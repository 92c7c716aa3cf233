"""Test the distribution of labels, successors and features of large label domains."""

import numpy as np
import pytest

from sstruct.datasets import make_large_domain_sequences


def test_layout():
    X, y = make_large_domain_sequences(
        50, 30, n_features=7, min_length=2, max_length=6, random_state=3
    )
    assert len(X) == len(y) == 50
    lengths = [len(labels) for labels in y]
    assert (min(lengths), max(lengths)) == (2, 6)
    for x, labels in zip(X, y, strict=True):
        assert x.shape == (len(labels), 7)
        assert ((x >= -1) & (x <= 1)).all()
        assert ((labels >= 0) & (labels < 30)).all()


def test_labels_follow_zipf():
    # With structure=0, labels are drawn independently from Zipf's law.
    _, y = make_large_domain_sequences(4000, 50, n_features=1, structure=0, random_state=0)
    flat = np.concatenate(y)
    law = 1 / (1 + np.arange(50))
    expected = law / law.sum()
    error = np.sqrt(expected * (1 - expected) / len(flat))
    assert (abs(np.bincount(flat, minlength=50) / len(flat) - expected) < 4.5 * error).all()


@pytest.mark.parametrize("structure", [0.0, 0.5, 1.0])
def test_successors_are_few(structure):
    _, y = make_large_domain_sequences(
        1000, 400, n_features=1, n_successors=3, structure=structure, exponent=0, random_state=1
    )
    pairs = np.concatenate([labels[:-1] * 400 + labels[1:] for labels in y])
    _, counts = np.unique(pairs, return_counts=True)
    # The 1,200 likely transitions have the share `structure`; others of the 160,000 rarely repeat.
    frequent = counts[counts >= 4].sum() / len(pairs)
    assert frequent == pytest.approx(structure, abs=0.1)
    if structure == 1:
        assert len(counts) <= 1200


def test_features_discriminate_labels():
    X, y = make_large_domain_sequences(100, 20, noise=0.0, random_state=0)
    flat_X, flat_y = np.concatenate(X), np.concatenate(y)
    centers = np.array([flat_X[flat_y == k][0] for k in range(20)])
    np.testing.assert_array_equal(flat_X, centers[flat_y])
