"""Test classes, masks, boundaries and lists in the decoders of given chain scores."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from sstruct import Sequences
from sstruct.inference import max_marginals, top_k, viterbi
from sstruct.masks import bio_transitions, bioes_transitions
from tests.oracles.test_viterbi import best_scores, enumerate_all, random_scores, ranking

LABELS = ["O", "B-x", "I-x", "E-x", "S-x"]


def allowed_scores(node, edge, labels, start, end):
    """Return the scores of the labelings that BIOES allows, checked one by one."""
    scores = {}
    for y, value in enumerate_all(node, edge).items():
        path = [None, *(labels[k] for k in y), None]
        if all(bioes_transitions(*pair) for pair in pairwise(path)):
            scores[y] = value + start[y[0]] + end[y[-1]]
    return scores


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("per_position", [False, True])
def test_masks_and_boundaries_equal_enumeration(seed, per_position):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(LABELS).tolist()
    node, edge = random_scores(rng, rng.integers(1, 6), 5, per_position, seed % 2, False)
    start, end = rng.integers(-5, 6, (2, 5)).astype(float)
    scores = allowed_scores(node, edge, labels, start, end)
    given = {"classes": labels, "mask": bioes_transitions, "start": start, "end": end}
    found, value = viterbi(node, edge, **given)
    rows, values = top_k(node, edge, 10, **given)
    order = ranking(scores)[:10]
    assert rows.tolist() == [[labels[k] for k in y] for y in order]
    assert values.tolist() == [scores[y] for y in order]
    assert (found.tolist(), value) == (rows[0].tolist(), values[0])
    through = max_marginals(node, edge, **given)
    np.testing.assert_array_equal(through, best_scores(scores, node.shape))


def test_scores_and_transitions_are_optional():
    rng = np.random.default_rng(0)
    node = rng.standard_normal((6, 3))
    labels, value = viterbi(node)
    assert labels.tolist() == node.argmax(axis=1).tolist()
    assert value == pytest.approx(node.max(axis=1).sum())
    mask = ~np.eye(3, dtype=bool)
    labels, value = viterbi(node, mask=mask)
    assert labels.dtype == np.int32
    assert (np.diff(labels) != 0).all()
    blocked = np.where(mask, 0, -np.inf)
    assert value == viterbi(node, blocked)[1]
    start = np.array([0, -np.inf, -np.inf])
    assert viterbi(node, start=start)[0][0] == 0
    assert np.isneginf(max_marginals(node, start=start)[0]).tolist() == [False, True, True]
    assert viterbi(node, end=start[::-1])[0][-1] == 2


def test_chains_of_a_list_are_decoded_separately():
    rng = np.random.default_rng(1)
    chains = [rng.standard_normal((n, 5)).astype(np.float32) for n in (3, 0, 1, 7)]
    given = {"classes": LABELS, "mask": bioes_transitions}
    labels, values = viterbi(chains, **given)
    ranked, ranked_values = top_k(chains, k=3, **given)
    through = max_marginals(chains, n_jobs=2, **given)
    for i, chain in enumerate(chains):
        if len(chain) == 0:
            assert len(labels[i]) == values[i] == 0
            assert ranked[i].shape == (1, 0)
            assert through[i].shape == (0, 5)
            continue
        one, value = viterbi(chain, **given)
        assert labels[i].tolist() == one.tolist()
        assert values[i] == value == ranked_values[i][0]
        assert ranked[i].tolist() == top_k(chain, k=3, **given)[0].tolist()
        np.testing.assert_array_equal(through[i], max_marginals(chain, **given))
    flat = Sequences.from_lengths(np.vstack(chains), [3, 0, 1, 7])
    again, values_again = viterbi(flat, **given)
    assert [row.tolist() for row in again] == [row.tolist() for row in labels]
    assert values_again.tolist() == values.tolist()
    stacked = np.stack([chains[0]] * 2)
    assert [row.tolist() for row in viterbi(stacked, **given)[0]] == [labels[0].tolist()] * 2
    assert viterbi(flat[:0], **given)[0] == max_marginals(flat[:0], **given) == []


@pytest.mark.parametrize(
    "node, given, message",
    [
        (np.zeros((2, 3)), {"classes": ["O", "B"]}, "classes has 2 labels, 2 of them different"),
        (np.zeros((2, 2)), {"classes": ["O", "O"]}, "classes has 2 labels, 1 of them different"),
        (np.zeros((2, 3)), {"mask": bio_transitions}, "a function as mask requires classes"),
        (np.zeros((2, 3)), {"mask": np.ones((2, 2), dtype=bool)}, "^mask must be a bool"),
        (np.zeros((2, 3)), {"start": [0, 1]}, r"start must have shape \(3,\), found \(2,\)"),
        (np.zeros((2, 2)), {"end": [0, np.nan]}, "end must not contain NaN"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], {}, r"node_scores\[1\] has scores of 3 labels"),
        ([np.zeros((2, 2)), np.zeros(2)], {}, r"node_scores\[1\] must be nonempty with shape"),
        (np.zeros((0, 3)), {"start": [0, 0, 0]}, "node_scores must be nonempty"),
        (
            np.zeros((2, 2)),
            {
                "edge_scores": sparse.eye(2, format="csr"),
                "mask": np.ones((2, 2), dtype=bool),
                "missing": "zero",
            },
            "mask is not supported with missing='zero'",
        ),
    ],
)
def test_terms_with_wrong_shape(node, given, message):
    with pytest.raises(ValueError, match=message):
        viterbi(node, **given)
