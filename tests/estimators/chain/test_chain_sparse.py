"""Test predictions of chains with many labels by sparse transitions."""

import numpy as np
import pytest

from sstruct import ChainSSVM
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._problems.chain._sparse import decode_sparse, sparse_hinges, sparse_transitions
from sstruct._problems.core._decode import decode
from sstruct._testing import _problem_access as access
from sstruct.datasets import make_large_domain_sequences
from sstruct.inference import viterbi
from tests.estimators.equal import equal


@pytest.fixture(scope="module")
def chains():
    return make_large_domain_sequences(60, 220, n_features=5, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(chains):
    # After one pass, few transitions have weights.
    return ChainSSVM(classes=range(220), max_iter=1, tol=1, random_state=0).fit(*chains)


def test_predictions_match_dense_tables(chains, model):
    X, _ = chains
    assert model.inference_ == "viterbi (exact); predictions: sparse viterbi (exact)"
    assert 0 < np.count_nonzero(model.edge_coef_) <= 0.1 * model.edge_coef_.size
    structure, fitted = model._fitted()
    problem = structure.decoder_of(fitted, structure.pack(X, fitted))
    expected = decode(problem, fitted._w)
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(np.concatenate(list(model.predict(X))), expected)
    node = X[0] @ model.coef_.T + model.intercept_
    node[0] += model.start_coef_
    node[-1] += model.end_coef_
    np.testing.assert_array_equal(viterbi(node, model.edge_coef_)[0], model.predict(X[:1])[0])


def test_hinge_losses_match_oracle(chains):
    X, y = chains
    kept = prepare_training(
        ChainSSVM(classes=range(220), loss="hamming-count")._structure(), Samples(X, y)
    )
    problem, rng = kept.problem, np.random.default_rng(0)
    w = np.zeros(problem.n_weights)
    views = problem.layout.views(w)
    edges = views.pop("edge")
    sparse = rng.random(edges.shape) < 0.05
    edges[...] = np.where(sparse, rng.standard_normal(edges.shape), 0)
    for view in views.values():
        view[...] = rng.standard_normal(view.shape) / 3
    expected = []
    for i in range(problem.n_blocks):
        _, value, _, _ = problem.best_code(i, w)
        expected.append(value - access.scores(problem, i, None, [problem.true_code(i)])[0])
    assert min(expected) > 0
    for n_threads in (1, 2):
        found = sparse_hinges(problem, w, n_threads)
        np.testing.assert_array_equal(found, expected)
    edges[:30] = 1.0
    assert sparse_hinges(problem, w) is None


def test_predictions_use_changed_weights(chains, model):
    X, _ = chains
    kept = model.edge_coef_.copy()
    try:
        model.edge_coef_[3, 7] += 1e3
        path = model.predict(X[:1])[0]
        assert (path[1::2] == 7).mean() >= 0.5 or (path[::2] == 7).mean() >= 0.5
        # A constant changes no prediction, but the table is too dense for the sparse decoder.
        model.edge_coef_[...] = kept + 1.0
        dense = model.predict(X)
        model.edge_coef_[...] = kept
        assert equal(dense, model.predict(X))
    finally:
        model.edge_coef_[...] = kept


def test_masks_and_models_without_transitions_use_the_dense_decoder(chains):
    X, y = chains
    mask = np.ones((220, 220), dtype=bool)
    options = dict(classes=range(220), max_iter=1, tol=1, random_state=0)
    masked = ChainSSVM(transition_mask=mask, **options).fit(X, y)
    assert masked.inference_ == "viterbi (exact)"
    plain = ChainSSVM(transitions=False, **options).fit(X, y)
    assert plain.inference_ == "viterbi (exact)"
    structure, fitted = masked._fitted()
    problem = structure.decoder_of(fitted, structure.pack(X, fitted))
    with pytest.raises(ValueError, match="does not support masks or features"):
        decode_sparse(problem, fitted._w, sparse_transitions(masked.edge_coef_))


def test_sparse_transitions_require_many_labels_and_zeros():
    assert sparse_transitions(np.zeros((199, 199))) is None
    table = np.zeros((200, 210))[:, :200]
    indptr, indices, values = sparse_transitions(table)
    assert (indptr == 0).all()
    table[3, 5], table[3, 199], table[7, 0] = 1.0, -2.0, 3.0
    indptr, indices, values = sparse_transitions(table)
    assert indptr.tolist() == [0] * 4 + [2] * 4 + [3] * 193
    assert indices[:3].tolist() == [5, 199, 0]
    assert values[:3].tolist() == [1.0, -2.0, 3.0]
    table[:21] = 1.0
    assert sparse_transitions(table) is None
