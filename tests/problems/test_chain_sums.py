"""Test span probabilities of chains; test_sums.py tests other sums and samples."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from sstruct import ChainSSVM
from sstruct._problems.chain._chain_sums import ChainLabelings, span_probabilities
from sstruct.spans import spans_of


def fitted(labels):
    """Return a fitted model, its problem and weights, and samples of one to four nodes."""
    rng = np.random.default_rng(3)
    y = [np.array([labels[0], *rng.choice([*labels], length)]) for length in rng.integers(0, 4, 8)]
    X = [rng.standard_normal((len(each), 3)) for each in y]
    model = ChainSSVM(lam=0.1, random_state=0).fit(X, y)
    structure, found = model._fitted()
    problem = ChainLabelings(structure.decoder_of(found, structure.pack(X, found)))
    return model, problem, found._w, X


@pytest.mark.parametrize("scale", [0.7, 2000.0])
def test_probabilities_of_spans_equal_enumeration(scale):
    labels = ("B-x", "I-x", "B-y", "I-y", "O")
    model, problem, w, X = fitted(labels)
    classes = model.classes_.tolist()
    parts = [("O", "") if c == "O" else tuple(c.split("-")) for c in classes]
    kinds = ["x", "y"]
    inside = [[part[1] == kind for part in parts] for kind in kinds]
    continues = [[b[0] == "I" and a[0] in "BI" and a[1] == b[1] for b in parts] for a in parts]
    rows, expected = [], []
    for i, x in enumerate(X):
        every, scores = model.predict_top_k([x], 10**6)
        p = np.exp(scale * scores[0] - logsumexp(scale * scores[0]))
        spans = [spans_of(each.tolist()) for each in every[0]]
        L = every[0].shape[1]
        for start, stop in itertools.combinations(range(L + 1), 2):
            for t, kind in enumerate(kinds):
                rows.append((i, start, stop, t))
                expected.append(sum(q for q, s in zip(p, spans) if (start, stop, kind) in s))
    _, got = span_probabilities(problem, w, scale, 1, rows, inside, continues)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


def test_invalid_spans_raise():
    (_, problem, w, _), K = fitted("ABC"), 3
    flags = np.ones((1, K)), np.zeros((K, K))
    for row in ((0, 0, 0, 0), (0, 0, 99, 0), (0, -1, 1, 0), (0, 0, 1, 1), (99, 0, 1, 0)):
        with pytest.raises(ValueError, match="spans must be rows"):
            span_probabilities(problem, w, 1.0, 1, [row], *flags)
    with pytest.raises(ValueError, match="kinds and within have shapes"):
        span_probabilities(problem, w, 1.0, 1, [(0, 0, 1, 0)], np.ones((1, 2)), flags[1])
