"""A script for type checkers, which is never run.

`make lint` checks it with mypy. `assert_type` fails unless the inferred type is the given one.
"""

from typing import Any, assert_type

import numpy as np
from sklearn.preprocessing import StandardScaler

from sstruct import (
    AlignmentSSVM,
    ChainSSVM,
    ChangePointSSVM,
    DependencySSVM,
    GapMonitor,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MatchingSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    SegmentSSVM,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    ssvm_path,
)
from sstruct.datasets import fetch_scene, load_digit_dates, make_sequences
from sstruct.inference import MRF, MapResult, map_mrf, projection_rays, read_uai
from sstruct.masks import bio_transitions, bioes_transitions
from sstruct.metrics import (
    chunk_precision_recall_f1,
    flat_accuracy_score,
    flat_classification_report,
    flat_f1_score,
    span_classification_report,
)
from sstruct.plotting import ConvergenceDisplay, SegmentationDisplay, TransitionDisplay
from sstruct.preprocessing import (
    PerNode,
    SequenceVectorizer,
    pixel_labels,
    superpixel_graph,
    superpixel_labels,
)
from sstruct.solvers import MPBCFW, Perceptron

# Data

X, y = make_sequences(30, n_labels=3, random_state=0)
assert_type(X, list[np.ndarray])
dates = load_digit_dates(subset="test")
scene_X, scene_Y = fetch_scene(subset="all", return_indicator="dense", return_X_y=True)
words = Sequences.from_list(X)
assert_type(words, Sequences)
assert_type(len(words), int)
named = Sequences.from_lengths(words.flat, words.lengths, feature_names=["wide", "high"])
vectorizer = SequenceVectorizer(min_count=2).fit([["a", "b"], ["c"]])
assert_type(vectorizer.vocabulary_, dict[str, int])
assert_type(vectorizer.transform([["a"]]), Sequences)

# Training

model: ChainSSVM = ChainSSVM(lam=0.01, max_iter=20, transition_mask=bio_transitions).fit(X, y)
assert_type(model, ChainSSVM)
gap: float = model.dual_gap_
assert_type(model.dual_gap_, float)
assert_type(model.objective_, float)
assert_type(model.n_iter_, int)
assert_type(model.converged_, bool)
assert_type(model.status_, str)
assert_type(model.inference_, str)
assert_type(model.score(X, y), float)
weights: np.ndarray = model.w_
assert_type(model.coef_, np.ndarray)
assert_type(model.class_scores_weight_, float)
frame = model.to_frame(feature_names=["wide", "high"])
predicted = model.predict(X)
assert_type(model.predict(X, y_partial=[None] * len(X)), np.ndarray)
best: dict[str, Any] = model.get_params()
ends = ChainSSVM(transition_mask=bioes_transitions)
ChainSSVM(class_weight={"B": 2.0}).fit(X, y, sample_weight=[np.ones(3), np.ones(2)])
walks: SegmentSSVM = SegmentSSVM(min_duration={"B": 2}, max_duration=[5, None]).fit(X, y)
assert_type(walks.predict_spans(X), list[list[tuple[int, int, Any]]])
changes: ChangePointSSVM = ChangePointSSVM(costs=["mean"], duration_bins=[1, 2]).fit(X, [[1], []])
assert_type(changes.penalty_, float)
graphs: GraphCRFSSVM = GraphCRFSSVM(pairwise="contrast").fit([], [])
grids: GridCRFSSVM = GridCRFSSVM(connectivity=8).fit([], [])
assert_type(grids.decision_function(np.zeros((2, 3, 4, 1))), np.ndarray)
assert_type(grids.predict(np.zeros((2, 3, 4, 1)), np.full((2, 3, 4), -1)), np.ndarray)
rows: MulticlassSSVM = MulticlassSSVM(n_jobs=2).fit(np.zeros((2, 3)), [0, 1])
sets: MultilabelSSVM = MultilabelSSVM(edges="tree").fit(scene_X, scene_Y)
pairs: MatchingSSVM = MatchingSSVM(allow_unmatched=False, loss="hamming").fit([], [])
assert_type(pairs.predict([np.zeros((2, 3, 1))], [[None, 2]]), np.ndarray)
aligned: AlignmentSSVM = AlignmentSSVM(method="local", symmetric=False).fit(
    [("ab", "b")], [[0, -1]]
)
assert_type(aligned.gap_open_coef_, np.ndarray)
parser: DependencySSVM = DependencySSVM(projective=True, labeled=True).fit([], [])
assert_type(parser.predict([np.zeros((1, 2, 1))], [([0], ["root"])]), np.ndarray)
assert_type(parser.decision_function([np.zeros((1, 2, 1))]), np.ndarray)
trees: TreeSSVM = TreeSSVM(parents=[-1, 0]).fit([], [])
own: StructuredSVM = StructuredSVM(object()).fit([], [])
partly: LatentSSVM = LatentSSVM(ChainSSVM(), states_per_label=2).fit([], [])

# Path

path = ssvm_path(MulticlassSSVM(), scene_X, scene_Y, eps=0.1)
at: np.ndarray = path.w(0.1)
search = PathCV(MulticlassSSVM()).fit(scene_X, scene_Y)
assert_type(search, PathCV[MulticlassSSVM])
assert_type(search.best_estimator_, MulticlassSSVM)
assert_type(PathCV(ChainSSVM(), lams=[0.1, 1.0]).fit(X, y).best_estimator_.coef_, np.ndarray)
monitor = GapMonitor()

# Options: mypy must report the error that each comment ignores, otherwise the comment is an error

ChainSSVM(lam="auto", loss="balanced", solver="bcfw", window_size=None, warm_start="dual")
ChainSSVM(loss=[1.0, 2.0], bounds=np.zeros((2, 4)), transition_mask=[[True, False]] * 2)
ChainSSVM(lam="none")  # type: ignore[arg-type]
ChainSSVM(loss="haming")  # type: ignore[arg-type]
ChainSSVM(solver="sgd")  # type: ignore[arg-type]
ChainSSVM(rescaling="slacks")  # type: ignore[arg-type]
ChainSSVM(search="angular")  # type: ignore[arg-type]
ChainSSVM(window_size="all")  # type: ignore[arg-type]
ChainSSVM(class_weight="uniform")  # type: ignore[arg-type]
GraphCRFSSVM(pairwise=0.5, bounds="submodular", loss=np.ones(3), inference="cut")
GraphCRFSSVM(pairwise="and")  # type: ignore[arg-type]
GraphCRFSSVM(inference="tree")  # type: ignore[arg-type]
GraphCRFSSVM(bounds="positive")  # type: ignore[arg-type]
MultilabelSSVM(edges=[[0, 1]], loss="asymmetric", search="angular", class_weight=[{0: 1.0}] * 2)
MultilabelSSVM(edges="chain")  # type: ignore[arg-type]
TreeSSVM(parents=[-1, 0], loss="balanced")  # type: ignore[arg-type]
PathCV(ChainSSVM(), rule="worst")  # type: ignore[arg-type]
MPBCFW(step="pairwise", cache="auto", schedule="clock")
MPBCFW(step="away steps")  # type: ignore[arg-type]
Perceptron(sampling="gap")  # type: ignore[arg-type]

# Scores and plots

assert_type(flat_accuracy_score(y, predicted), float)
assert_type(chunk_precision_recall_f1(y, predicted), tuple[float, float, float])
assert_type(flat_classification_report(y, predicted), str)
assert_type(flat_classification_report(y, predicted, output_dict=True), dict[str, Any])
assert_type(span_classification_report(y, predicted, digits=3), str)
assert_type(span_classification_report(y, predicted, output_dict=True), dict[str, Any])
f1 = flat_f1_score(y, predicted, average="macro")
display = ConvergenceDisplay.from_estimators({"chains": model}, x="seconds")
assert_type(display, ConvergenceDisplay)
display.plot(y="gap")  # type: ignore[arg-type]
assert_type(TransitionDisplay.from_estimator(model).plot(), TransitionDisplay)

# Inference

energies = MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [[0.0, 3.0], [3.0, 0.0]])
result = map_mrf(energies, max_time=1.0)
assert_type(result, MapResult)
assert_type(result.gap, float)
assert_type(result.labels, np.ndarray)
assert_type(read_uai("model.uai").energy(result.labels), float)
assert_type(projection_rays((4, 5), [0, 90]), list[np.ndarray])

transformed = PerNode(StandardScaler()).fit_transform(X)

# Superpixels

segments = np.zeros((4, 5), dtype=int)
graph = superpixel_graph(np.zeros((4, 5, 3)), segments)
assert_type(graph, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray])
assert_type(pixel_labels(segments, superpixel_labels(segments, segments)), np.ndarray)
picture = SegmentationDisplay.from_estimator(graphs, graph, segments=segments)
assert_type(picture, SegmentationDisplay)
assert_type(graphs.set_params(lam=1.0), GraphCRFSSVM)
