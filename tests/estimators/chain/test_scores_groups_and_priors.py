"""Test combinations of class scores, tied transitions and priors."""

import numpy as np
import pytest

from sstruct import ChainSSVM
from sstruct.masks import bio_kinds, bioes_transitions
from sstruct.metrics import span_f1_score
from sstruct.spans import labels_of
from tests.estimators.common.test_class_scores import box, chains, columns_of, with_scores
from tests.problems.test_contract import some_groups
from tests.reference import brute_force
from tests.reference.dual_qp import check_optimum

K = 3


def check(rng):
    F = int(rng.integers(3, 7))
    X, y = chains(rng, F=F, missing=0.2 * rng.integers(2))
    columns, weight = columns_of(rng, F), str(rng.choice(["scale", "fixed"]))
    groups = some_groups(rng, K, rng.integers(1, 7))
    bias, boundaries = rng.random(2) < 0.5
    reference = brute_force.Model(K, bias, boundaries, groups=groups)
    terms = with_scores(brute_force.blocks(X, y, reference), F, columns)
    limits = box(weight, terms, (F - K) * K)
    prior = rng.standard_normal(terms[0].phi.shape[1]) * rng.integers(2)
    model = ChainSSVM(
        lam=float(rng.choice([0.01, 0.1, 1.0])),
        pairwise_scale=1,
        window_size=None,
        class_scores=(weight, columns),
        transitions=groups,
        prior=prior,
        fit_intercept=bias,
        boundaries=boundaries,
        ignore_label=-1,
        classes=np.arange(K),
        tol=1e-7,
        max_iter=50_000,
        random_state=0,
    ).fit(X, y)
    check_optimum(model, terms, limits, prior)
    scale = model.class_scores_weight_
    assert scale == 1 if weight == "fixed" else scale >= 0
    at = np.arange(K), columns
    np.testing.assert_array_equal(model.coef_[at], np.full(K, scale))
    full = brute_force.Model(K, bias, boundaries)
    parts = [model.coef_, model.intercept_] if bias else [model.coef_]
    parts += [model.start_coef_, model.end_coef_] if boundaries else []
    w = np.concatenate([part.ravel() for part in (*parts, model.edge_coef_)])
    for x, found in zip(X, model.predict(X)):
        scores = {z: w @ brute_force.joint_feature(x, z, full) for z in map(
            tuple, brute_force.labelings(len(x), full))}  # fmt: skip
        assert scores[tuple(found.tolist())] == pytest.approx(max(scores.values()), abs=1e-9)


@pytest.mark.parametrize("seed, n", [(0, 100), pytest.param(1, 200, marks=pytest.mark.slow)])
def test_random_problems_reach_the_optimum(seed, n):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        check(rng)


TAGS = ["O", *(f"{letter}-{kind}" for kind in "abcdefgh" for letter in "BIES")]


def tagged_documents(rng, n):
    """Return noisy log-probabilities of 33 BIOES labels, and the labels."""
    X, y = [], []
    for _ in range(n):
        spans, end, length = [], 0, int(rng.integers(15, 40))
        while end < length:
            start = end + int(rng.integers(4))
            end = start + int(rng.integers(1, 5))
            spans.append((start, end, str(rng.choice([*"abcdefgh"]))))
        y.append(labels_of(spans, end, "bioes"))
        scores = 1.3 * rng.standard_normal((end, 33))
        scores[np.arange(end), [TAGS.index(label) for label in y[-1]]] += 3
        X.append(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
    return X, y


@pytest.mark.slow
def test_six_weights_need_few_documents():
    f1 = np.zeros(3)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = tagged_documents(rng, 1000)
        X_test, y_test = tagged_documents(rng, 300)
        for k, (n, transitions) in enumerate([(50, bio_kinds), (1000, True), (50, True)]):
            model = ChainSSVM(
                class_scores=slice(33),
                classes=TAGS,
                transitions=transitions,
                transition_mask=bioes_transitions,
                fit_intercept=False,
                boundaries=False,
                random_state=0,
            ).fit(X[:n], y[:n])
            f1[k] += span_f1_score(y_test, model.predict(X_test), scheme="bioes")
    assert f1[0] > f1[1] > f1[2]
