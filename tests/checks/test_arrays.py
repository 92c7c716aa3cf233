"""Invalid arrays and numbers raise errors that name the argument."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from sstruct import MulticlassSSVM, PathCV, Sequences
from sstruct._checks import arrays
from sstruct._input.losses import class_weights
from sstruct.inference import (
    MRF,
    alpha_expansion,
    distance_transform,
    graph_cut,
    graph_matching,
    map_mrf,
    maxflow,
    multilabel_map,
    projection_rays,
    top_k,
    tree_max_sum,
    viterbi,
)
from sstruct.metrics import chunk_f1_score, flat_accuracy_score, mean_joint_distance
from sstruct.preprocessing import (
    PerNode,
    SequenceVectorizer,
    hierarchical_labels,
    superpixel_graph,
    superpixel_labels,
)

RAGGED, HUGE = [[0.0, 1.0], [2.0]], 10**400
NODE, EDGE = np.zeros((2, 2)), np.zeros((2, 2))
PAIR = [[0, 1]]
MODEL = MRF(NODE, PAIR, EDGE)
DATES = np.zeros((2, 2), dtype="M8[s]")
SETS = np.array([[0, 1], [0, np.ones(2)]], dtype=object)
JOINTS, MAPS = {"features": [NODE]}, {"features": np.zeros((2, 1, 1, 1))}
JOINTS_OF_ONE = {"features": np.zeros((1, 2, 2, 1))}
ROWS = PerNode(StandardScaler())
BENT = sparse.csr_matrix(EDGE)
BENT._shape = np.array([2, 2])  # not a tuple
DEEP = np.ones((512, 512)).view(np.matrix)  # whose rows are matrices


class WrongLength(list):
    """An empty list whose length is not 0."""

    def __len__(self):
        return 3


class Triples:
    """A splitter that yields three arrays per split."""

    def split(self, X, y=None, groups=None):
        yield [0], [1], [0]

    def get_n_splits(self):
        return 1


CASES = [
    (lambda: viterbi(RAGGED, EDGE), ValueError, "node_scores must be an array of numbers"),
    (lambda: viterbi([[HUGE, 0.0]], EDGE), ValueError, "node_scores contains a value too large"),
    (lambda: viterbi(NODE * 1j, EDGE), TypeError, "node_scores .* found dtype complex128"),
    (lambda: viterbi(sparse.eye(2), EDGE), TypeError, "node_scores .* found a sparse matrix"),
    (lambda: viterbi(NODE, [[None, {}]]), TypeError, "edge_scores must be an array of numbers"),
    (
        lambda: viterbi(NODE, sparse.csr_array(EDGE), missing="zero", beam=(1,)),
        ValueError,
        "beam must be a posit",
    ),
    (lambda: top_k(NODE, EDGE, 1.5), TypeError, "k must be an integer, found 1.5"),
    (lambda: tree_max_sum(3.0, [-1], EDGE), ValueError, "node_scores must be an array or a list"),
    (lambda: tree_max_sum([["a"]], [-1], EDGE), ValueError, r"node_scores\[0\] must be an array"),
    (lambda: tree_max_sum(NODE, RAGGED, EDGE), ValueError, "parents must be an array"),
    (lambda: tree_max_sum(NODE, [-1, 0], np.array(1.0)), ValueError, "edge_scores must be an arr"),
    (lambda: distance_transform("abc", 1.0), ValueError, "costs must be an array of numbers"),
    (lambda: distance_transform([1.0], HUGE), ValueError, "quadratic contains a value too large"),
    (lambda: maxflow(2.5, PAIR, [[1, 1]], 0, 1), TypeError, "n must be an integer, found 2.5"),
    (lambda: maxflow(2, RAGGED, [[1, 1]], 0, 1), ValueError, "edges must be an array"),
    (lambda: maxflow(2, PAIR, [["a", 1]], 0, 1), ValueError, "capacities must be an array of num"),
    (lambda: graph_cut(NODE, PAIR, [1.0], roof_duality=NODE), TypeError, "roof_duality must be T"),
    (lambda: graph_cut(NODE, PAIR, RAGGED), ValueError, "edge_costs must be an array of numbers"),
    (lambda: alpha_expansion(NODE, PAIR, [1.0], RAGGED), ValueError, "label_distance must be an"),
    (lambda: alpha_expansion(NODE, PAIR, [1.0], random_state="a"), TypeError, "random_state must"),
    (lambda: alpha_expansion(NODE, PAIR, [1.0], random_state=DEEP), TypeError, "random_state must"),
    (lambda: ROWS.fit([[BENT, NODE]]), ValueError, "setting an array element"),
    (lambda: class_weights({0: bytearray(3)}, *[np.zeros(1, int)] * 3), ValueError, "real numbers"),
    (lambda: alpha_expansion(NODE, PAIR, [1.0], random_state=-1), ValueError, "random_state must"),
    (lambda: alpha_expansion(NODE, PAIR, [1.0], n_starts=True), ValueError, "n_starts must be"),
    (lambda: multilabel_map([0, 1], PAIR, [1.0], return_bound=NODE), TypeError, "return_bound"),
    (lambda: projection_rays((2, 2), ["x"]), ValueError, "angles must be an array of numbers"),
    (lambda: projection_rays((2**20, 2**20), [0]), ValueError, "expected fewer than .* pixels"),
    (lambda: projection_rays(np.array(1.0), [0]), ValueError, "shape must be a pair of positive"),
    (lambda: graph_matching(NODE, 1.0), ValueError, "pairwise must have shape"),
    (lambda: graph_matching(NODE, "a"), ValueError, "pairwise must be an array of numbers"),
    (lambda: MRF(NODE, [], [], factors=3), TypeError, "factors must be a list of pairs"),
    (lambda: MODEL.energy(RAGGED), ValueError, "labels must be an array"),
    (lambda: map_mrf(MODEL, tol=HUGE), ValueError, "tol must be finite"),
    (lambda: map_mrf(MODEL, step=NODE), ValueError, "step must be one of"),
    (lambda: map_mrf(MODEL, proximal_weight=NODE), TypeError, "proximal_weight must be a number"),
    (lambda: map_mrf(MODEL, terms=3), TypeError, "terms must be a list"),
    (lambda: map_mrf(MODEL, terms=np.array(1.0)), TypeError, "terms must be a list"),
    (lambda: map_mrf(MODEL, method=NODE), ValueError, "method must be one of"),
    (lambda: flat_accuracy_score([[[1]]], [[[1]]]), TypeError, r"\[1\] is not hashable"),
    (lambda: flat_accuracy_score(np.array(1), [[1]]), TypeError, "y_true must be a list of label"),
    (lambda: hierarchical_labels(RAGGED, ["a"]), ValueError, "Y must be an array"),
    (lambda: hierarchical_labels(NODE, 3), TypeError, "names must be a list of strings"),
    (lambda: superpixel_labels(RAGGED, NODE), ValueError, "segments must be an array"),
    (lambda: SequenceVectorizer(dtype="x").fit([[{}]]), ValueError, "dtype must be float64"),
    (lambda: Sequences(NODE, RAGGED), ValueError, "offsets must be an array"),
    (lambda: Sequences(NODE, [0, 2])["a"], TypeError, "an index must be an integer"),
    (lambda: Sequences(NODE, [0, 2], feature_names=RAGGED), ValueError, "feature_names must be an"),
    (lambda: Sequences(NODE, [0, 2])[RAGGED], ValueError, "an index must be an array"),
    (lambda: Sequences.from_list(WrongLength()), TypeError, "items must be a list of sequences"),
    (lambda: Sequences.from_list([NODE, DATES]), TypeError, "incompatible dtypes in items"),
    (lambda: ROWS.fit([NODE, DATES]), TypeError, "incompatible dtypes in X"),
    (lambda: ROWS.fit([np.ones((1, 1, 1)), RAGGED]), ValueError, r"X\[1\] must be an"),
    (lambda: viterbi(NODE, BENT), TypeError, r"sparse edge_scores\.shape is a ndarray"),
    (lambda: distance_transform(WrongLength(), 1.0), ValueError, "costs"),
    (lambda: MRF(WrongLength(), [], []), ValueError, "node_costs must be an array or a list"),
    (lambda: MRF(NODE, [], [], factors=np.array(1.0)), TypeError, "factors must be a list of pa"),
    (lambda: SequenceVectorizer().fit(WrongLength()), TypeError, "X must be a list of sequences"),
    (lambda: hierarchical_labels(NODE, np.array(1.0)), TypeError, "names must be a list of str"),
    (lambda: hierarchical_labels(SETS, ["a", "b"]), ValueError, "Y must be an array of numbers"),
    (lambda: superpixel_graph(NODE, [[0, 1]] * 2, features=RAGGED), ValueError, "features must be"),
    (lambda: chunk_f1_score([["O"]], [[np.empty((2, 0))]]), ValueError, "expected 'O' or a label"),
    (lambda: chunk_f1_score([["O"]], memoryview(SETS)), ValueError, "y_pred has 2 sequences"),
    (lambda: mean_joint_distance(np.array(1.0), [], []), TypeError, "X must be a list of dicts"),
    (lambda: mean_joint_distance([{**JOINTS, "positions": 1.0}], [], []), TypeError, "positions"),
    (lambda: mean_joint_distance([MAPS], [RAGGED], []), ValueError, r"y\[0\] must be an array"),
    (
        lambda: PathCV(MulticlassSSVM(), cv=Triples()).fit(NODE, [0, 1]),
        TypeError,
        "split 0 of cv must be a pair of arrays, .* found",
    ),
    (
        lambda: mean_joint_distance([JOINTS_OF_ONE], [[-1]], [[0]]),
        ValueError,
        "y_true has no annotated part in any sample with positive weight",
    ),
    (lambda: PathCV(MulticlassSSVM(), cv=[]).fit(NODE, [0, 1]), ValueError, "cv yields no splits"),
    (lambda: MulticlassSSVM().fit(NODE, [0, [[1, 2], [3]]]), ValueError, r"y\[1\] is .*, expected"),
    (lambda: PathCV(MulticlassSSVM(), cv=b"2").fit(NODE, [0, 1]), TypeError, "cv must be a number"),
    (lambda: PathCV(MulticlassSSVM(), lams=RAGGED).fit(NODE, [0, 1]), ValueError, "lams must be"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", CASES)
def test_errors_name_the_argument(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_tables_may_be_lists():
    labels, value = tree_max_sum([[0.0, 1.0], [2.0]], [-1, 0], [None, [[0.0], [3.0]]])
    assert (labels.tolist(), value) == ([1, 0], 6.0)


@pytest.mark.parametrize("at_once", [1, 20, 10**6])
def test_arrays_are_concatenated_in_batches(rng, monkeypatch, at_once):
    # Single arrays are slow; one batch would delay signals.
    items = [rng.standard_normal((n, 3)) for n in (4, 1, 7, 2, 2)]
    mixed = [items[0].astype(np.float32), items[1], items[2].round().astype(int)]
    copies = []

    def counted(parts, **keywords):
        copies.append(len(parts))
        return joined(parts, **keywords)

    joined = np.concatenate
    monkeypatch.setattr(arrays, "AT_ONCE", at_once)
    words = [np.array(["a", "bcd"])] * 12
    for given in (items, mixed, [item[:, 0] for item in items], words):
        expected = joined(given)
        monkeypatch.setattr(np, "concatenate", counted)
        found = arrays.concatenated(given, "X")
        monkeypatch.setattr(np, "concatenate", joined)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert (max(copies) < len(words)) == (at_once < 24)
