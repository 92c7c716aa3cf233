"""Call functions, transformers and metrics with invalid arguments."""

import copy
import functools
import inspect

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import sstruct
from sstruct import (
    Sequences,
    constraints,
    datasets,
    inference,
    masks,
    metrics,
    plotting,
    preprocessing,
    spans,
)
from tests.hostile.case import REJECTED
from tests.hostile.judge import FindingError
from tests.reference import graphs
from tests.reference.mrf import random_model
from tests.registry import adjacency, candidates, chains
from tests.registry import dense_or_sparse_rows as rows

TAGS = np.array(["B-a", "I-a", "O", "B-b"])


def _chain(rng):
    K = 3
    shared = rng.random() < 0.5
    edge = rng.standard_normal((K, K) if shared else (3, K, K))
    return {"node_scores": rng.standard_normal((4, K)), "edge_scores": edge}


def _sparse_chain(rng):
    edge = sparse.random(4, 4, 0.4, format="csr", random_state=rng)
    return {
        "node_scores": rng.standard_normal((3, 4)),
        "edge_scores": edge,
        "missing": "zero",
        "beam": None,
    }


def _banded_chain(rng):
    edge = sparse.random(4, 4, 0.6, format="csc", random_state=rng)
    return {"node_scores": [rng.standard_normal((3, 4))] * 2, "edge_scores": edge, "n_jobs": 2}


def _segments(rng):
    return {
        "node_scores": [rng.standard_normal((4, 3))] * 2,
        "edge_scores": rng.standard_normal((3, 3)),
        "duration_scores": rng.standard_normal((3, 2)),
        "duration_bins": [1, 3],
        "min_duration": [1, 2, 1],
        "max_duration": [3, None, 4] if rng.random() < 0.5 else None,
        "split": rng.standard_normal(3),
        "n_jobs": 2,
    }


def _arcs(rng):
    n = int(rng.integers(1, 5))
    labels = () if rng.random() < 0.5 else (2,)
    return {
        "scores": rng.standard_normal((n, n + 1, *labels)),
        "projective": rng.random() < 0.5,
        "single_root": rng.random() < 0.5,
    }


def _tree(rng):
    sizes = rng.integers(1, 4, 4)
    parents = np.array([-1, 0, 0, 1])
    return {
        "node_scores": [rng.standard_normal(size) for size in sizes],
        "parents": parents,
        "edge_scores": [rng.standard_normal((sizes[p], s)) for s, p in zip(sizes, parents)],
    }


def _transform(rng):
    if rng.random() < 0.5:
        return {"costs": rng.standard_normal(5), "quadratic": 0.5, "linear": 0.1}
    return {"costs": rng.standard_normal((3, 4)), "quadratic": (0.5, 1.0), "linear": (0.0, -1.0)}


def _flow(rng):
    edges = graphs.random_edges(rng, 5)
    capacities = rng.integers(0, 5, (len(edges), 2)).astype(float)
    return {"n": 5, "edges": edges, "capacities": capacities, "source": 0, "sink": 4}


def _cut(rng):
    edges = graphs.random_edges(rng, 4)
    shape = (len(edges),) if rng.random() < 0.5 else (len(edges), 2, 2)
    costs = rng.standard_normal(shape)
    return {
        "node_costs": rng.standard_normal((4, 2)),
        "edges": edges,
        "edge_costs": np.abs(costs) if costs.ndim == 1 else costs,
        "roof_duality": costs.ndim == 3,
    }


def _expansion(rng):
    edges = graphs.random_edges(rng, 4)
    distance = None if rng.random() < 0.5 else rng.random((3, 3))
    return {
        "node_costs": rng.standard_normal((4, 3)),
        "edges": edges,
        "edge_costs": rng.standard_normal(len(edges)),
        "label_distance": distance,
        "labels": rng.integers(0, 3, 4),
        "random_state": 0,
        "n_starts": 2,
    }


def _label_set(rng):
    edges = graphs.random_edges(rng, 4)
    scores = rng.standard_normal((len(edges),) if rng.random() < 0.5 else (len(edges), 2, 2))
    return {
        "node_scores": rng.standard_normal(4),
        "edges": edges,
        "edge_scores": scores,
        "return_bound": True,
    }


def _mrf(rng):
    kind = ("real", "integer", "forbidding")[rng.integers(3)]
    plain = random_model(rng, 4, 0.7, kind, n_factors=int(rng.integers(2)))
    names = ("node_costs", "edges", "edge_costs", "weights", "factors")
    return dict(zip(names, plain.arguments()))


METHODS = (
    "auto", "fwmap", "trws", "bp", "icm", "alpha-expansion", "graph-cut", "exact",
)  # fmt: skip
SEARCH = {
    "tol": 1e-6, "max_time": None, "max_iter": 5, "random_state": 0, "proximal_weight": None,
    "step": "exact",
}  # fmt: skip
OF_MAPS = SEARCH | {"schedule": "work", "start": "trws"}


class Term:
    """A term of the energy as users write it: a cost for equal labels of two nodes."""

    def __init__(self, nodes):
        self.nodes = nodes

    def cost(self, labels):
        return float(labels[0] == labels[1])

    def minimize(self, costs):
        total = costs[0][:, None] + costs[1][None] + np.eye(costs.shape[1])
        return np.array(np.unravel_index(total.argmin(), total.shape))


def _map(rng):
    model = inference.MRF(**_mrf(rng))
    terms = [Term([0, 1])] if rng.random() < 0.2 else None
    method = "fwmap" if terms else METHODS[rng.integers(len(METHODS))]
    evidence = {int(rng.integers(model.n_nodes)): 0} if rng.random() < 0.3 else None
    return {"mrf": model, "method": method, "terms": terms, "evidence": evidence} | OF_MAPS


def _matching(rng):
    return {
        "unary": rng.standard_normal((2, 3)),
        "pairwise": sparse.random(6, 6, 0.3, format="csr", random_state=rng),
    } | OF_MAPS


def _alignment(rng):
    return {
        "scores": rng.standard_normal((3, 2)),
        "gap_open": -1.0,
        "gap_extend": (-1.0, -0.5),
        "method": ("global", "local")[rng.integers(2)],
    }


def _tomography(rng):
    image = rng.integers(0, 2, (2, 3))
    rays = inference.projection_rays(image.shape, [0, 90])
    sums = np.array([image.ravel()[ray].sum() for ray in rays])
    return {
        "sums": sums, "rays": rays, "shape": image.shape, "n_levels": 2, "weight": 1.0,
        "truncation": None,
    } | SEARCH | {"max_iter": 2}  # fmt: skip


def _energy(labels, **model):
    return inference.MRF(**model).energy(labels)


def _model_and_labels(rng):
    model = _mrf(rng)
    return model | {"labels": [int(rng.integers(len(costs))) for costs in model["node_costs"]]}


# Preprocessing, metrics, sequences ----------------------------------------------------------------


def _per_node(X, y):
    return preprocessing.PerNode(StandardScaler()).fit_transform(X, y)


def _structures(rng):
    X, y = (chains, adjacency)[rng.integers(2)](rng, 3)
    return {"X": X, "y": y}


def _vectorized(X, others, min_count, dtype):
    vectorizer = preprocessing.SequenceVectorizer(min_count=min_count, dtype=dtype)
    vectorizer.fit_transform(X)
    return vectorizer.transform(others)


def _dicts(rng):
    def item():
        return {"w": f"w{rng.integers(3)}", "n": 2.5, "l": ["a", "b"], "d": {"x": True}}

    X, others = ([[item() for _ in range(n)] for n in (2, 1)] for _ in range(2))
    return {"X": X, "others": others, "min_count": 1, "dtype": np.float64}


def _arcs_vectorized(X, y, others, **parameters):
    vectorizer = preprocessing.ArcVectorizer(**parameters)
    vectorizer.fit(X, y)
    return [sample["arcs"] for sample in vectorizer.transform(others)]


def _words_and_tags(rng):
    X, others = ([[("a", "N"), ("b", "V")], [("c", "V")]] for _ in range(2))
    return {
        "X": X, "y": [[2, 0], [0]], "others": others, "n_buckets": 8, "labeled": True,
        "n_label_buckets": 4, "min_count": 1, "prune": rng.random() < 0.5,
    }  # fmt: skip


def _hierarchy(rng):
    return {"Y": rng.integers(0, 2, (3, 3)), "names": ["a", "a.b", "c.d"], "separator": "."}


def _segmented(rng):
    segments = rng.integers(-1, 3, (3, 4))
    segments[0, 0] = 0
    return {"image": rng.random((3, 4, 2)), "segments": segments, "features": None, "mask": None}


def _segment_labels(rng):
    return {
        "segments": rng.integers(0, 3, (3, 4)), "labels": rng.integers(0, 2, (3, 4)), "mask": None,
        "ignore_label": -1,
    }  # fmt: skip


def _node_labels(rng):
    return {"segments": np.arange(12).reshape(3, 4) // 4, "node_labels": [0, 1, 2], "mask": None,
            "fill": -1}  # fmt: skip


def _tagged(rng):
    lengths = rng.integers(1, 4, 3)
    return [[TAGS[rng.integers(4, size=n)].tolist() for n in lengths] for _ in range(2)]


def _two_labelings(rng):
    return dict(zip(("y_true", "y_pred"), _tagged(rng)))


def _weighted_labelings(rng):
    return _two_labelings(rng) | {"sample_weight": rng.random(3)}


def _segments_scored(rng):
    return _weighted_labelings(rng) | {"background": ["O"], "ignore_label": "I-x"}


def _spans_scored(rng):
    return _weighted_labelings(rng) | {
        "scheme": "bio",
        "invalid": str(rng.choice(["repair", "drop"])),
        "suffix": False,
        "zero_division": 0.0,
    }


def _probable(rng):
    y_true, _ = _tagged(rng)
    y_proba = [rng.dirichlet(np.ones(len(TAGS)), len(labels)) for labels in y_true]
    return {"y_true": y_true, "y_proba": y_proba, "labels": TAGS, "sample_weight": rng.random(3)}


def _binned(rng):
    return _probable(rng) | {"n_bins": 3, "strategy": str(rng.choice(["uniform", "quantile"]))}


def _node_sets(rng):
    given = _probable(rng)
    sets = [table > 0.2 for table in given.pop("y_proba")]
    return given | {"y_pred_set": sets, "average": str(rng.choice(["samples", "micro"]))}


def _labeling_sets(rng):
    y_true, y_pred = _tagged(rng)
    sets = [[labels] * 2 for labels in y_pred]
    return {"y_true": y_true, "y_pred_set": sets, "sample_weight": rng.random(3)}


def _probable_spans(rng):
    y_true, y_pred = _tagged(rng)
    found = [[(*span, rng.random()) for span in spans.spans_of(labels)] for labels in y_pred]
    return {"y_true": y_true, "y_spans": found, "scheme": "bio", "suffix": False}


def _confused(rng):
    y_true, y_pred = _tagged(rng)
    return {"y_true": y_true, "y_pred": y_pred, "tokens": y_true, "n": 3, "background": ["O"]}


def _trees_scored(rng):
    y = [(tree, ["a"] * len(tree)) for tree in ([2, 0, 2], [0], [2, 0])]
    found = [(tree, ["a"] * len(tree)) for tree in ([0, 1, 2], [0], [2, 0])]
    return {"y_true": y, "y_pred": found, "sample_weight": rng.random(3)}


def _changes_scored(rng):
    y = [np.cumsum(rng.integers(1, 9, size)) for size in rng.integers(0, 4, 6)]
    return {"y_true": y[:3], "y_pred": y[3:], "tolerance": 2, "sample_weight": rng.random(3)}


def _one_labeling(rng):
    return {"labels": _tagged(rng)[0][0], "scheme": "bio", "invalid": "drop", "suffix": False}


def _spans_given(rng):
    scheme = str(rng.choice(["bio", "bioes", "iob1", "io"]))
    return {"spans": [(0, 2, "x"), (3, 4, "y")], "length": 5, "scheme": scheme, "suffix": False}


def _converted(rng):
    return {"labels": _tagged(rng)[0][0], "scheme": "bio", "to": "bioes", "invalid": "repair"}


def _joints(rng):
    X, y = candidates(rng, 2)
    return {"X": X, "y_true": y, "y_pred": y, "sample_weight": None, "ignore_label": -1}


def _sequences(flat, offsets, feature_names, edge_features, index):
    made = Sequences(flat, offsets, feature_names=feature_names, edge_features=edge_features)
    try:
        made[index]
    except IndexError:  # as lists do
        pass
    return list(made), np.asarray(made), repr(made)


def _flat(rng):
    flat = rng.standard_normal((5, 2))
    flat = sparse.csr_matrix(flat) if rng.random() < 0.4 else flat
    index = (0, slice(1), np.array([1, 0]), np.array([True, False, True]))[rng.integers(4)]
    made = {"flat": flat, "offsets": [0, 2, 4, 5], "feature_names": None, "index": index}
    edges = rng.standard_normal((2, 3)), Sequences(rng.standard_normal((2, 1)), [0, 1, 2, 2]), None
    return made | {"edge_features": edges[rng.integers(3)]}


# Made data and figures ----------------------------------------------------------------------------


def _labelings_drawn(rng):
    labels = rng.integers(0, 2, (2, 3, 4))
    return {"y_true": labels[0], "y_pred": labels[1], "image": None, "classes": None}


def _drawn(draw):
    """Return a function that draws in new axes."""

    @functools.wraps(draw)
    def draw_alone(**arguments):
        from matplotlib.figure import Figure

        draw(**arguments, ax=Figure().subplots())

    return draw_alone


def _transitions(ax, **arguments):
    plotting.TransitionDisplay(**arguments).plot(ax, colorbar=False)


def _transition(rng):
    return {"edge_coef": rng.standard_normal((3, 3)), "classes": ["a", "b", "c"],
            "start_coef": rng.standard_normal(3), "end_coef": rng.standard_normal(3)}  # fmt: skip


# Paths --------------------------------------------------------------------------------------------


def _swept(estimator, X, y, **keywords):
    path = sstruct.ssvm_path(estimator, X, y, **keywords)
    if len(path.lams_) == 0:  # after a warning; see status_
        return ()
    return path.w(path.lams_[0]), path.gap(path.lams_[-1]), path.estimator(path.lams_[-1])


def _sweep(rng):
    X, y = chains(rng, 4)
    estimator = sstruct.ChainSSVM(max_iter=5, random_state=0)
    if rng.random() < 0.4:
        X, y = rows(rng, 4)
        estimator = sstruct.MulticlassSSVM(max_iter=5, random_state=0)
    return {
        "estimator": estimator, "X": X, "y": y, "eps": 0.5, "kappa": None, "lam_min": 0.5,
        "sample_weight": None,
    }  # fmt: skip


def _chosen(X, y, sample_weight, **parameters):
    if callable(parameters["scoring"]):
        return ()  # what it raises is its own
    fitted = sstruct.PathCV(**parameters).fit(X, y, sample_weight)
    return fitted.predict(X) if fitted.refit else ()


def _search(rng):
    lams = None if rng.random() < 0.5 else [1.0, 0.5]
    valid = _sweep(rng) | {"lams": lams, "cv": 2, "warm_start": "primal", "scoring": None,
                           "rule": "best", "refit": True}  # fmt: skip
    return valid


TWO_LABELS, LABELS = {"label": "a", "other": "b"}, {"labels": ["a", "b", "c"]}
TWO_TAGS = {"before": "B-a", "after": "I-a"}
TWO_ALIGNMENTS = {"y_true": [[0, -1, 1], [[0, 0]]], "y_pred": [[0, 1, -1], [0]]}
TWO_MATCHINGS = {
    "y_true": [0, -1, 2], "y_pred": [1, 0, 2], "n_columns": 3, "row_names": ["a", "b", "c"],
    "column_names": "xyz",
}  # fmt: skip
TWO_TREES = {"y_true": ([2, 0], ["a", "root"]), "y_pred": [0, 1], "tokens": ["x", "y"]}
# Generators of data, and the arguments that differ from the defaults.
SHORT = {"min_length": 1, "max_length": 4}
MADE = [
    (datasets.make_sequences, SHORT),
    (datasets.make_large_domain_sequences, SHORT | {"n_labels": 30, "n_successors": 3}),
    (datasets.make_grids, {"shape": (4, 5), "n_shapes": 2}),
    (datasets.make_multilabel_pairwise, {"n_pairs": 2, "return_interactions": True}),
    (datasets.make_matchings, {"n_objects": 3, "max_distance": 0.5}),
    (datasets.make_alignments, {"length": 4, "n_symbols": 3, "n_flanking": 2}),
    *(
        (datasets.make_dependency_trees, SHORT | {"n_labels": 2, "projective": projective})
        for projective in (False, True)
    ),
    (datasets.make_stick_figures, {"n_distractors": 1}),
    *(
        (datasets.make_change_points, SHORT | {"kind": kind, "max_segments": 3})
        for kind in ("mean", "variance", "trend")
    ),
]


def _arguments_of(function):
    return {name: p.default for name, p in inspect.signature(function).parameters.items()}


# Functions, and valid arguments or a function that draws them.
FUNCTIONS = [
    (inference.viterbi, _chain),
    (inference.viterbi, _sparse_chain),
    (inference.viterbi, _banded_chain),
    (inference.segment_viterbi, _segments),
    (inference.align, _alignment),
    (inference.top_k, lambda rng: _banded_chain(rng) | {"k": 3}),
    (inference.max_marginals, _chain),
    (inference.max_marginals, _banded_chain),
    (inference.top_k, lambda rng: _chain(rng) | {"k": 3}),
    (inference.dependency_tree, _arcs),
    (inference.tree_max_sum, _tree),
    (inference.distance_transform, _transform),
    (inference.maxflow, _flow),
    (inference.graph_cut, _cut),
    (inference.alpha_expansion, _expansion),
    (inference.multilabel_map, _label_set),
    (inference.MRF, _mrf),
    (inference.map_mrf, _map),
    (inference.graph_matching, _matching),
    (inference.discrete_tomography, _tomography),
    (inference.projection_rays, {"shape": (3, 4), "angles": [0.0, 30.0, 90.0]}),
    (_energy, _model_and_labels),
    (_per_node, _structures),
    (_vectorized, _dicts),
    (_arcs_vectorized, _words_and_tags),
    (preprocessing.hierarchical_labels, _hierarchy),
    (preprocessing.superpixel_graph, _segmented),
    (preprocessing.superpixel_labels, _segment_labels),
    (preprocessing.pixel_labels, _node_labels),
    (metrics.flat_accuracy_score, _weighted_labelings),
    (metrics.flat_f1_score, _two_labelings),
    (metrics.flat_precision_score, _two_labelings),
    (metrics.flat_recall_score, _two_labelings),
    (metrics.flat_classification_report, _two_labelings),
    (metrics.sequence_accuracy_score, _weighted_labelings),
    (metrics.chunk_f1_score, _two_labelings),
    (metrics.chunk_precision_recall_f1, _two_labelings),
    (metrics.segment_f1_score, _segments_scored),
    (metrics.segment_edit_score, _segments_scored),
    (metrics.boundary_f1_score, _changes_scored),
    (metrics.alignment_accuracy, TWO_ALIGNMENTS),
    (metrics.alignment_f1_score, TWO_ALIGNMENTS),
    (metrics.unlabeled_attachment_score, _trees_scored),
    (metrics.labeled_attachment_score, _trees_scored),
    (metrics.span_f1_score, _spans_scored),
    (metrics.span_classification_report, _spans_scored),
    (metrics.span_confusion_matrix, _two_labelings),
    (metrics.span_confusions, _confused),
    (metrics.span_match_counts, _weighted_labelings),
    (metrics.flat_log_loss, _probable),
    (metrics.flat_brier_score_loss, _probable),
    (metrics.flat_calibration_error, _binned),
    (metrics.flat_coverage_score, _node_sets),
    (metrics.flat_mean_width_score, lambda rng: {"y_pred_set": _node_sets(rng)["y_pred_set"]}),
    (metrics.sequence_coverage_score, _labeling_sets),
    (
        metrics.sequence_mean_width_score,
        lambda rng: {"y_pred_set": _labeling_sets(rng)["y_pred_set"]},
    ),
    (metrics.span_precision_recall_curve, _probable_spans),
    (metrics.span_threshold, lambda rng: _probable_spans(rng) | {"recall": 0.1}),
    (spans.spans_of, _one_labeling),
    (spans.labels_of, _spans_given),
    (spans.convert_labels, _converted),
    (metrics.mean_joint_distance, _joints),
    (_sequences, _flat),
    (Sequences.from_lengths, {"flat": np.arange(10.0).reshape(5, 2), "lengths": [2, 3]}),
    (Sequences.from_list, lambda rng: {"items": chains(rng, 3)[0]}),
    (constraints.implies, TWO_LABELS),
    (constraints.excludes, TWO_LABELS),
    (constraints.exactly_one, LABELS),
    (constraints.at_most, LABELS | {"n": 2}),
    (constraints.at_least, LABELS | {"n": 2}),
    (constraints.ordinal, LABELS),
    (constraints.implies, TWO_LABELS | {"nodes": (0, 1)}),
    (constraints.excludes, TWO_LABELS | {"edges": (0, 1)}),
    (constraints.exactly_one, LABELS | {"nodes": 0}),
    (constraints.ordinal, LABELS | {"edges": (0, 0)}),
    (masks.bio_transitions, TWO_TAGS),
    (masks.bioes_transitions, TWO_TAGS),
    *(
        (make, _arguments_of(make) | {"n_samples": 2, "random_state": 0} | changed)
        for make, changed in MADE
    ),
    (plotting.SegmentationDisplay.from_predictions, _labelings_drawn),
    (_drawn(plotting.SpanDisplay.from_predictions), _two_labelings),
    (_drawn(plotting.MatchingDisplay.from_predictions), TWO_MATCHINGS),
    (_drawn(plotting.DependencyDisplay.from_predictions), TWO_TREES),
    (
        _drawn(plotting.SignalDisplay.from_labels),
        lambda rng: {"signal": rng.random((6, 2)), "labels": {"true": rng.integers(0, 2, 6)}},
    ),
    (_drawn(_transitions), _transition),
    (_swept, _sweep),
    (_chosen, _search),
]
# Arguments that are not set to large numbers, which would only make cases slow.
LONG = (
    "max_iter", "n_starts", "shape", "n_levels", "k", "n", "n_samples", "n_labels", "n_features",
    "n_shapes", "n_successors", "size", "n_distractors", "max_length", "n_bins",
    "max_segments", "length", "n_flanking", "n_columns",
    "n_tags", "min_length", "n_objects", "n_attributes",
)  # fmt: skip


def arguments(make, rng):
    """Return valid arguments of a function."""
    return copy.deepcopy(make) if isinstance(make, dict) else make(rng)


def attack(case):
    """Call a function, with some of its arguments damaged."""
    function, make = case.random.choice(FUNCTIONS)
    valid = arguments(make, case.generator())
    given = case.arguments(valid, least=0 if case.random.random() < 0.1 else 1, most=3)
    for name in LONG:
        if isinstance(given.get(name), int | float | np.number) and given[name] > 100:
            given[name] = valid[name]
    if isinstance(given.get("shape"), list | tuple | np.ndarray) and _many(given["shape"]):
        given["shape"] = valid["shape"]
    result = case.attempt(function.__qualname__, function, **given)
    if result is REJECTED or any(given[name] is not valid[name] for name in given):
        return
    if has_nan(result):
        raise FindingError("result", "NaN from valid arguments", function.__qualname__)


def _many(shape):
    numbers = np.ravel(shape).tolist() if isinstance(shape, np.ndarray) else shape
    return any(isinstance(n, int | float | np.number) and n > 100 for n in numbers)


def has_nan(result):
    """Return whether a result contains NaN."""
    if isinstance(result, tuple | list):
        return any(has_nan(item) for item in result)
    if isinstance(result, inference.MapResult):
        return np.isnan(result.energy) or np.isnan(result.lower_bound)
    return isinstance(result, float | np.ndarray) and (
        np.asarray(result).dtype.kind == "f" and bool(np.isnan(result).any())
    )
