"""A user's script, read by a type checker and never run: what an editor would complete.

`make lint` checks it. `assert_type` fails if the checker knows less than the type.
"""

from typing import Any, assert_type

import numpy as np

from sstruct import (
    ChainSSVM,
    GapMonitor,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    StructuredSVM,
    TreeSSVM,
    ssvm_path,
)
from sstruct.datasets import fetch_scene, load_digit_dates, make_sequences
from sstruct.inference import MRF, MapResult, map_mrf, projection_rays, read_uai
from sstruct.masks import bio_transitions, bioes_transitions
from sstruct.metrics import chunk_precision_recall_f1, flat_accuracy_score, flat_f1_score
from sstruct.plotting import ConvergenceDisplay, SegmentationDisplay, TransitionDisplay
from sstruct.preprocessing import (
    PerNode,
    SequenceVectorizer,
    pixel_labels,
    superpixel_graph,
    superpixel_labels,
)

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
frame = model.to_frame(feature_names=["wide", "high"])
predicted = model.predict(X)
assert_type(model.predict(X, y_partial=[None] * len(X)), np.ndarray)
best: dict[str, Any] = model.get_params()
ends = ChainSSVM(transition_mask=bioes_transitions)
ChainSSVM(class_weight={"B": 2.0}).fit(X, y, sample_weight=[np.ones(3), np.ones(2)])
graphs: GraphCRFSSVM = GraphCRFSSVM(pairwise="contrast").fit([], [])
grids: GridCRFSSVM = GridCRFSSVM(connectivity=8).fit([], [])
assert_type(grids.decision_function(np.zeros((2, 3, 4, 1))), np.ndarray)
assert_type(grids.predict(np.zeros((2, 3, 4, 1)), np.full((2, 3, 4), -1)), np.ndarray)
rows: MulticlassSSVM = MulticlassSSVM(n_jobs=2).fit(np.zeros((2, 3)), [0, 1])
sets: MultilabelSSVM = MultilabelSSVM(edges="tree").fit(scene_X, scene_Y)
trees: TreeSSVM = TreeSSVM(parents=[-1, 0]).fit([], [])
own: StructuredSVM = StructuredSVM(object()).fit([], [])
partly: LatentSSVM = LatentSSVM(ChainSSVM(), states_per_label=2).fit([], [])

# Path

path = ssvm_path(MulticlassSSVM(), scene_X, scene_Y, eps=0.1)
at: np.ndarray = path.w(0.1)
search: PathCV = PathCV(MulticlassSSVM()).fit(scene_X, scene_Y)
monitor = GapMonitor()

# Scores and plots

assert_type(flat_accuracy_score(y, predicted), float)
assert_type(chunk_precision_recall_f1(y, predicted), tuple[float, float, float])
f1 = flat_f1_score(y, predicted, average="macro")
display = ConvergenceDisplay.from_estimators({"chains": model}, x="seconds")
assert_type(display, ConvergenceDisplay)
assert_type(TransitionDisplay.from_estimator(model).plot(), TransitionDisplay)

# Inference

energies = MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [[0.0, 3.0], [3.0, 0.0]])
result = map_mrf(energies, max_time=1.0)
assert_type(result, MapResult)
assert_type(result.gap, float)
assert_type(result.labels, np.ndarray)
assert_type(read_uai("model.uai").energy(result.labels), float)
assert_type(projection_rays((4, 5), [0, 90]), list[np.ndarray])

transformed = PerNode(object()).fit_transform(X)

# Superpixels

segments = np.zeros((4, 5), dtype=int)
graph = superpixel_graph(np.zeros((4, 5, 3)), segments)
assert_type(graph, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray])
assert_type(pixel_labels(segments, superpixel_labels(segments, segments)), np.ndarray)
picture = SegmentationDisplay.from_estimator(graphs, graph, segments=segments)
assert_type(picture, SegmentationDisplay)
assert_type(graphs.set_params(lam=1.0), GraphCRFSSVM)
