"""Test transitions that share weights, and invalid groups."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, LatentSSVM, StructuredSVM
from sstruct.masks import bio_kinds, bio_transitions, bioes_transitions
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.same_bits import assert_same_bits
from tests.estimators.state.test_states import from_pickle, from_skops
from tests.problems.test_contract import some_groups
from tests.reference import brute_force
from tests.reference.dual_qp import check_optimum

MASK = np.array([[True, True, False], [True, False, True], [True, True, True]])
GROUPS = np.array([[0, 1, 1], [2, 0, -1], [1, 2, 0]])
TIGHT = {"lam": 0.1, "tol": 1e-8, "max_iter": 20_000, "random_state": 0, "classes": [0, 1, 2]}


def fit(X, y, sample_weight=None, **parameters):
    return ChainSSVM(**{"pairwise_scale": 1, **TIGHT, **parameters}).fit(X, y, sample_weight)


def by_label(a, b):
    """Return the group of a transition in GROUPS, by another name."""
    return {0: "stay", 1: ("up", 1), 2: "down", -1: None}[int(GROUPS[a, b])]


@settings(max_examples=100)
@given(key=st.integers(0, 2**32 - 1), data=st.data())
def test_optimum_matches_qp(new_rng, key, data):
    rng = new_rng(key)
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    masked, edges, bounded, windows, ignored = (data.draw(st.booleans()) for _ in range(5))
    bias, boundaries = data.draw(st.booleans()), data.draw(st.booleans())
    # Other steps take too many passes to a gap of 1e-8.
    solver = data.draw(st.sampled_from(["mp-bcfw", BCFW(step="corrective"), MPBCFW(cache=True)]))
    groups = some_groups(rng, 3, data.draw(st.integers(1, 6)))
    mask = MASK if masked else None
    reference = brute_force.Model(3, bias, boundaries, edge_mask=mask, groups=groups)
    X = [rng.standard_normal((n, 2)) for n in lengths]
    y = [rng.integers(0, 3, n) for n in lengths]
    if masked:
        y = [rng.choice(brute_force.labelings(n, reference)) for n in lengths]
    if ignored:
        y[0][-1] = -1
    features = [rng.standard_normal((n - 1, 1)) for n in lengths] if edges else None
    terms = brute_force.blocks(
        X, y, reference, edge_features=features, window_size=2 if windows else None
    )
    box = None
    if bounded:
        box = rng.choice([0.0, 0.2, np.inf], (2, terms[0].phi.shape[1])) * [[-1], [1]]
        box[:, : 6 + 3 * bias] = [[-np.inf], [np.inf]]
    model = fit(
        list(zip(X, features, strict=True)) if edges else X, y, transitions=groups,
        transition_mask=mask, fit_intercept=bias, boundaries=boundaries, bounds=box,
        window_size=2 if windows else None, ignore_label=-1, solver=solver,
    )  # fmt: skip
    check_optimum(model, terms, box)
    assert model.edge_coef_.shape == (3, 3)
    n = groups.max() + 1
    at = 6 + 3 * bias + 6 * boundaries
    np.testing.assert_array_equal(model.edge_coef_, np.append(model.w_[at : at + n], 0)[groups])
    np.testing.assert_array_equal(model.transition_groups_, groups)
    scores = model.predict_top_k(list(zip(X, features, strict=True)) if edges else X, 1)[1]
    for i, score in enumerate(scores):
        values = [
            model.w_ @ brute_force.joint_feature(
                X[i], z, reference, edge_features=features and features[i]
            )
            for z in brute_force.labelings(lengths[i], reference)
        ]  # fmt: skip
        assert score[0] == pytest.approx(max(values), rel=1e-9, abs=1e-9)


SAME = {
    "array": (np.arange(9).reshape(3, 3), {}),
    "list": (np.arange(9).reshape(3, 3).tolist(), {}),
    "function": (lambda a, b: (a, b), {}),
    "function, mask": (lambda a, b: (a, b), {"transition_mask": MASK}),
    "slack": (lambda a, b: 3 * a + b, {"rescaling": "slack"}),
    "edge features": (np.arange(9).reshape(3, 3), {"edges": True}),
    "ssg": (np.arange(9).reshape(3, 3), {"solver": "ssg", "max_iter": 5, "tol": 0.5}),
    "gdmm": (np.arange(9).reshape(3, 3), {"solver": "gdmm", "tol": 0.05}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", SAME)
def test_one_group_for_each_transition_is_the_untied_fit(tiny_chains, rng, case):
    X, y = tiny_chains
    given, options = SAME[case]
    options = {"tol": 1e-3, **options}
    if options.pop("edges", False):
        X = [(x, rng.standard_normal((len(x) - 1, 2))) for x in X]
    if "transition_mask" in options:
        y = [np.resize([0, 1, 0], len(labels)) for labels in y]
    tied, plain = (fit(X, y, transitions=t, **options) for t in (given, True))
    assert_same_bits(tied, plain)
    assert not hasattr(tied, "transition_groups_")


@pytest.mark.parametrize("n_groups", [1, 3])
def test_decoding_that_skips_labels(rng, n_groups):
    # With 70 labels, decoding of untied transitions uses stored bounds.
    X = [rng.standard_normal((9, 4)) for _ in range(20)]
    y = [rng.integers(0, 70, 9) for _ in X]
    groups = some_groups(rng, 70, n_groups)
    tied = fit(
        X, y, transitions=groups, classes=np.arange(70), tol=0.05, boundaries=False, lam=0.01
    )
    assert tied.edge_coef_.any()
    problem = tied._structure().train(X, y, None).problem
    padded = problem.layout.padded(tied.w_)
    answers = [problem.best_code(i, padded)[1] for i in range(20)]
    table = tied.edge_coef_
    for x, labels, value in zip(X, y, answers, strict=True):
        theta = x @ tied.coef_.T + tied.intercept_ + 1.0
        theta[np.arange(9), labels] -= 1
        best = theta[0]
        for l in range(1, 9):
            best = (best[:, None] + table).max(axis=0) + theta[l]
        assert value == pytest.approx(best.max(), rel=1e-9)


class SummedByHand:
    """The joint feature map of chains with GROUPS, with enumerated labelings."""

    model = brute_force.Model(3, groups=GROUPS)

    def joint_feature(self, x, y):
        return brute_force.joint_feature(x, y, self.model)

    def loss(self, y_true, y):
        return float(np.sum(np.asarray(y_true) != np.asarray(y)))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        def score(y):
            loss = loss_weight * self.loss(y_true, y) if y_true is not None else 0.0
            return self.joint_feature(x, y) @ w + loss

        return max(brute_force.labelings(len(x), self.model), key=score)


def test_fit_with_groups_matches_manually_summed_features(tiny_chains):
    X, y = tiny_chains
    tied = fit(X, y, transitions=GROUPS, tol=1e-9)
    by_hand = StructuredSVM(SummedByHand(), lam=0.1, tol=1e-5, random_state=0)
    by_hand.fit(X, [tuple(labels.tolist()) for labels in y])
    assert by_hand.dual_objective_ <= tied.objective_ <= by_hand.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(tied.w_, by_hand.w_, rtol=0, atol=0.02)
    for x, scores in zip(X, tied.decision_function(X), strict=True):
        best = SummedByHand().argmax(x, tied.w_)
        value = SummedByHand().joint_feature(x, best) @ tied.w_
        assert scores.max() == pytest.approx(value, rel=1e-10, abs=1e-12)


def test_a_function_is_evaluated_for_the_classes_of_the_data(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y, transitions=by_label, classes=None)
    expected = fit(X, y, transitions=GROUPS)
    np.testing.assert_array_equal(model.transition_groups_, GROUPS)
    np.testing.assert_array_equal(model.w_, expected.w_)
    asked = []
    names = [np.array(["c", "a", "b"])[labels] for labels in y]
    fit(X, names, transitions=lambda *pair: asked.append(pair), classes=None)
    assert asked == list(product("abc", repeat=2))
    del asked[:]
    masked = [np.resize([0, 1, 0], len(labels)) for labels in y]
    model = fit(X, masked, transitions=lambda *pair: asked.append(pair), transition_mask=MASK)
    assert asked == [tuple(pair) for pair in np.argwhere(MASK).tolist()]
    # Without groups, this is the model without transitions.
    assert (model.transition_groups_ == -1).all()
    plain = fit(X, masked, transitions=False, transition_mask=MASK)
    np.testing.assert_allclose(model.w_, plain.w_, rtol=0, atol=1e-5)


def test_scaled_pairwise_features_match_scaled_node_features(tiny_chains):
    X, y = tiny_chains
    one = fit(X, y, transitions=GROUPS, pairwise_scale=2.0, lam=0.4)
    other = fit([x / 2 for x in X], y, transitions=GROUPS, lam=0.1)
    np.testing.assert_allclose(one.edge_coef_, other.edge_coef_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(one.coef_, other.coef_ / 2, rtol=0, atol=1e-4)
    auto = fit(X, y, transitions=GROUPS, pairwise_scale="auto", lam="auto", tol=1e-3)
    plain = fit(X, y, pairwise_scale="auto", lam="auto", tol=1e-3)
    assert (auto.lam_, auto.pairwise_scale_) == (plain.lam_, plain.pairwise_scale_)


@pytest.mark.filterwarnings("ignore:.*no labeling was found")
@pytest.mark.parametrize("search", ["auto", "bisecting"])
def test_slack_rescaling(tiny_chains, search):
    X, y = tiny_chains
    model = fit(X, y, transitions=GROUPS, rescaling="slack", search=search, tol=1e-6)
    expected = 0.5 * model.lam_ * model.w_ @ model.w_ + sum(
        block.weight * max(0.0, (block.loss * (1 - block.psi @ model.w_)).max())
        for block in brute_force.blocks(X, y, brute_force.Model(3, groups=GROUPS))
    )
    assert model.dual_objective_ <= expected <= model.objective_ * (1 + 1e-9)
    if search == "auto":
        assert model.objective_ == pytest.approx(expected, rel=1e-9)


def test_partial_fit_requires_the_same_groups(tiny_chains):
    X, y = tiny_chains
    model = ChainSSVM(solver="perceptron", transitions=by_label)
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"(?s)transition_groups is .* was "):
        model.set_params(transitions=GROUPS[::-1]).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)transition_groups is None, was "):
        model.set_params(transitions=True).partial_fit(X, y)


@pytest.mark.parametrize("start", ["dual", "primal"])
def test_a_warm_start_may_change_the_groups(tiny_chains, start):
    X, y = tiny_chains
    model = fit(X, y, transitions=GROUPS, warm_start=start)
    for transitions in (True, GROUPS.T, GROUPS):
        model.set_params(transitions=transitions).fit(X, y)
        expected = fit(X, y, transitions=transitions)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-7)
    with pytest.raises(ValueError, match=r"\['d'\] is new"):
        model.set_params(classes=None, transitions=lambda a, b: a == b).fit(
            X, [["d"] * len(x) for x in X]
        )


def test_sparse_rows_and_known_labels(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y, transitions=GROUPS)
    other = fit([sparse.csr_matrix(x) for x in X], y, transitions=GROUPS)
    np.testing.assert_allclose(model.w_, other.w_, rtol=0, atol=1e-5)
    known = [[None] * (len(x) - 1) + [2] for x in X]
    assert all(labels[-1] == 2 for labels in model.predict(X, known))


def test_a_frame_has_a_row_for_each_group(tiny_chains):
    pytest.importorskip("pandas")
    X, y = tiny_chains
    model = fit(X, y, transitions=GROUPS)
    frame = model.to_frame()
    np.testing.assert_array_equal(frame.weight, model.w_)
    edges = frame[frame.kind == "edge"]
    assert edges.group.tolist() == [0, 1, 2]
    assert edges.label.isna().all()
    assert frame[frame.kind != "edge"].group.isna().all()
    assert "group" not in fit(X, y).to_frame()


def test_files_have_the_groups_instead_of_a_function(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y, transitions=lambda a, b: by_label(a, b))
    for load in (from_pickle, from_skops):
        again = load(model)
        np.testing.assert_array_equal(again.transitions, GROUPS)
        for use in (again, clone(again).fit(X, y)):
            np.testing.assert_array_equal(use.w_, model.w_)
            np.testing.assert_array_equal(use.edge_coef_, model.edge_coef_)
            np.testing.assert_array_equal(use.predict(X)[3], model.predict(X)[3])
    assert callable(copy.deepcopy(model).transitions)
    assert (
        pickle.loads(pickle.dumps(fit(X, y, transitions=lambda a, b: (a, b)))).transitions is True
    )
    y = [np.array(["B", "I", "O"])[labels] for labels in y]
    kept = ChainSSVM(transitions=bio_kinds, lam=0.1).fit(X, y)
    assert pickle.loads(pickle.dumps(kept)).transitions is bio_kinds


def test_hidden_states_have_the_groups_of_their_labels(tiny_chains):
    X, y = tiny_chains
    y = [labels.copy() for labels in y]
    y[3][1] = -1
    model = ChainSSVM(lam=0.1, transitions=lambda a, b: by_label(a, b), ignore_label=-1)
    latent = LatentSSVM(model, states_per_label=2, random_state=0).fit(X, y)
    groups = np.kron(GROUPS, np.ones((2, 2), dtype=int))
    np.testing.assert_array_equal(latent.estimator_.transition_groups_, groups)
    again = pickle.loads(pickle.dumps(latent))
    np.testing.assert_array_equal(again.estimator.transitions, GROUPS)
    np.testing.assert_array_equal(again.predict(X)[2], latent.predict(X)[2])


K3 = np.zeros((3, 3), dtype=int)
WRONG = {
    "shape": (
        np.zeros((2, 2), dtype=int),
        ValueError,
        r"has shape \(2, 2\), expected \(3, 3\) for",
    ),
    "vector": (np.arange(9), ValueError, r"has shape \(9,\), expected \(K, K\)"),
    "empty": ([], ValueError, r"has shape \(0,\), expected \(K, K\)"),
    "floats": (K3 + 0.5, ValueError, "has dtype float64, expected integers"),
    "bools": (K3 == 0, ValueError, "has dtype bool, .* is transition_mask"),
    "strings": ([["a"] * 3] * 3, ValueError, "has dtype <U1, expected integers"),
    "negative": (K3 - 2 * np.eye(3, dtype=int)[::-1], ValueError, r"transitions\[0, 2\] is -2"),
    "gap": (K3 + 2 * np.eye(3, dtype=int), ValueError, "has group 2, but not group 1"),
    "large": (K3 + 2**62, ValueError, f"has group {2**62}, but not group 0"),
    "unhashable": (
        lambda a, b: [a],
        TypeError,
        r"transitions\(0, 0\) is \[0\], expected a hashable",
    ),
    "number": (3, ValueError, "transitions must be True, False, an array .*, found 3"),
    "text": ("bio", ValueError, "found 'bio'"),
    "none": (None, ValueError, "found None"),
    "type": (dict, ValueError, "found <class 'dict'>"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_groups(tiny_chains, case):
    value, kind, message = WRONG[case]
    model = ChainSSVM(transitions=value)
    with pytest.raises(kind, match=message):
        model.fit(*tiny_chains)
    assert not hasattr(model, "w_")


def test_errors_of_a_function_have_a_note(tiny_chains):
    with pytest.raises(KeyError) as caught:
        ChainSSVM(transitions=lambda a, b: {}[a]).fit(*tiny_chains)
    assert caught.value.__notes__ == ["raised by transitions(0, 0)"]


def test_gdmm_requires_untied_transitions(tiny_chains):
    with pytest.raises(ValueError, match=r"share weights are not supported by solver='gdmm'; use"):
        ChainSSVM(transitions=GROUPS, solver="gdmm").fit(*tiny_chains)


SCHEMES = {
    "BIO": (bio_transitions, 5), "BIOES": (bioes_transitions, 6), "BILOU": (None, 6),
}  # fmt: skip


@pytest.mark.parametrize("types", [("",), ("X", "Y-Z")], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_kinds_of_chunk_labels(scheme, types):
    allows, n_kinds = SCHEMES[scheme]
    letters = [letter for letter in scheme if letter != "O"]
    labels = ["O", *(letter + f"-{t}" * bool(t) for letter in letters for t in types)]
    kinds = {pair: bio_kinds(*pair) for pair in product(labels, repeat=2)}
    if allows is not None:
        allowed = {pair: kind for pair, kind in kinds.items() if allows(*pair)}
        assert None not in allowed.values()
        assert len(set(allowed.values())) == n_kinds
        # No kind of allowed pairs is one of forbidden pairs.
        others = {kind for pair, kind in kinds.items() if pair not in allowed}
        assert not others & set(allowed.values())
        assert others <= {None, "inside-outside", "inside-begin"}
    else:
        swap = str.maketrans("LU", "ES")
        for (a, b), kind in kinds.items():
            other = (v[:1].translate(swap) + v[1:] for v in (a, b))
            assert kind == bio_kinds(*other)


@pytest.mark.parametrize("wrong", ["X", "", "O-X", "B-", 3, None, "E_X"])
def test_labels_outside_of_a_scheme_raise(wrong):
    for pair in ((wrong, "O"), ("O", wrong)):
        with pytest.raises(ValueError, match=f"{wrong!r} does not follow|found None"):
            bio_kinds(*pair)
