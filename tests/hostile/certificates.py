"""Objectives of fitted models, computed in plain NumPy by enumerating all labelings.

Data that a model has accepted are interpreted as documented. If this module does not support the
data (weights of nodes, unusual containers), the objective is not recomputed; `check_certificate`
returns whether it was.
"""

import numbers
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from sstruct import Sequences
from tests.hostile.judge import FindingError
from tests.hostile.values import MischiefError
from tests.reference import (
    alignments,
    brute_force,
    changes,
    dependency_trees,
    graphs,
    label_sets,
    matchings,
    segments,
    trees,
    typed_graphs,
)

# Tolerance for rounding, relative to the sum of the magnitudes of all terms.
RELATIVE = 1e-9
MAX_LABELINGS = 5000
MAX_TOKENS = 4


class UnreadError(Exception):
    """Raised for data whose objective is not recomputed."""


# Exceptions of this module for unsupported data.
UNREAD = (
    UnreadError, MischiefError, ValueError, TypeError, KeyError, IndexError, AttributeError,
    ArithmeticError,
)  # fmt: skip


def check_count(sizes):
    """Raise UnreadError if there are too many labelings of nodes with `sizes` labels."""
    if np.prod(sizes, dtype=float) > MAX_LABELINGS:
        raise UnreadError


# Reading accepted data ----------------------------------------------------------------------------


def dense(x):
    if not sparse.issparse(x):
        return np.asarray(x, np.float64)
    # Duplicate entries are summed in the precision of the input, but True + True is 2.
    x = x.astype(np.float32 if x.dtype in (np.float16, np.float32) else np.float64)
    return x.toarray().astype(np.float64)


def edge_features(given):
    """Return the features of edges as rows, even if there are no edges or only one feature."""
    features = dense(given)
    return features if features.ndim == 2 else features[:, np.newaxis]


def items(value):
    if isinstance(value, Sequences | list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and type(value) is np.ndarray and value.dtype != object:
        return list(value)
    raise UnreadError


def encoded(labels, classes):
    """Return the codes of labels, -1 if a label is not a class."""
    known = {label: code for code, label in enumerate(classes)}
    return np.array([known.get(label, -1) for label in labels], dtype=int)


def codes_of(model, y):
    """Return the codes of the labels of all samples, -1 for `ignore_label`."""
    classes, out = model.classes_.tolist(), []
    ignored = getattr(model, "ignore_label", None)
    for labels in y:
        if isinstance(labels, list) and any(isinstance(label, tuple) for label in labels):
            raise UnreadError  # NumPy would convert it to an array
        # As objects, since NumPy would convert numbers to strings if there are strings, too.
        labels = np.asarray(labels, dtype=object).ravel().tolist()
        if not all(isinstance(label, str | int | np.integer | np.bool_) for label in labels):
            raise UnreadError
        unlabeled = np.array([ignored is not None and label == ignored for label in labels], bool)
        codes = np.where(unlabeled, -1, encoded(labels, classes))
        if (codes[~unlabeled] < 0).any():
            raise UnreadError
        out.append(codes)
    return out


def sample_weights(given, n):
    if given is None:
        return np.ones(n)
    if type(given) is not np.ndarray or given.shape != (n,) or given.dtype.kind not in "fiu":
        raise UnreadError
    # Scaled, so that subnormal weights lose no digits.
    return given.astype(np.float64) / given.max()


def class_weights(model):
    """Return the parameter class_weight with the codes of labels as keys."""
    given = getattr(model, "class_weight", None)
    if isinstance(given, dict):
        given = dict(zip(encoded(given, model.classes_.tolist()), given.values()))
    return given


def node_costs(model, codes, weights, sizes):
    """Return the costs of labels, class factors, and whether losses are means over nodes."""
    K = len(model.classes_)
    lists = [of_sample.tolist() for of_sample in codes]
    weights = [w * (np.asarray(c) >= 0).any() for w, c in zip(weights, codes)]
    cost, divided = brute_force.node_cost(model.loss, lists, weights, K, sizes)
    factor = brute_force.class_factors(class_weights(model), lists, weights, sizes, K)
    return np.asarray(cost), np.asarray(factor), divided


# Blocks: scores and losses of all labelings, index of the truth, weight ---------------------------


def is_coupled(model):
    """Return whether the objective depends on multipliers, which are not public."""
    return getattr(model.solver, "couple_windows", False) and hasattr(model, "whole_objective_")


def window_size(model):
    """Return the size of windows, or None for whole samples.

    The objective with multipliers is compared with that of whole samples, a lower bound.
    """
    size = getattr(model, "window_size", None)
    # With "auto", samples as short as these are not divided into windows.
    return None if size == "auto" or is_coupled(model) else size


def chain_blocks(model, X, y, weights):
    if (isinstance(X, np.ndarray) and X.ndim == 2) or sparse.issparse(X):
        X, y = [row[None] for row in dense(X)], [[label] for label in np.asarray(y).tolist()]
    X, features = zip(*(x if isinstance(x, tuple) else (x, None) for x in items(X)))
    X, (y, splits) = [dense(x) for x in X], without_spans(items(y))
    codes, K = codes_of(model, y), len(model.classes_)
    for labels in codes:
        check_count([K] * len(labels))
    if callable(model.transition_mask):
        raise UnreadError
    mask = None if model.transition_mask is None else np.asarray(model.transition_mask)
    form = brute_force.Model(K, edge_mask=mask)
    options = {"class_weight": class_weights(model), "window_size": window_size(model)}
    if features[0] is not None:
        options["edge_features"] = [dense(of_edges) for of_edges in features]
    edge = model.edge_coef_ if mask is None else np.where(mask, model.edge_coef_, 0)
    own, others = [model.coef_], [model.intercept_, model.start_coef_, model.end_coef_, edge]
    others.append(getattr(model, "edge_feature_coef_", ()))
    if not hasattr(model, "min_duration"):
        blocks = brute_force.blocks(X, codes, form, model.loss, weights, **options)
    else:
        kinds, bins, classes = row_kinds(model), model_bins(model), model.classes_.tolist()
        least = limits_of(model.min_duration, classes, 1)
        most = limits_of(model.max_duration, classes, np.inf)
        own += [getattr(model, f"{kind}_coef_") for kind in kinds]
        function = next((each for each in segment_features(model) if callable(each)), None)
        if model.self_transitions:
            codes = [np.where(k < 0, k, k + K * at) for k, at in zip(codes, splits, strict=True)]
            others.append(model.self_transition_coef_)
        others += [model.duration_coef_] if len(bins) else []
        others += [model.segment_coef_] if function else []
        blocks = segments.blocks(
            X, codes, form, bins, least, most, weights=weights, kinds=kinds, function=function,
            tolerance=model.tolerance, loss=model.loss, splits=model.self_transitions, **options,
        )  # fmt: skip
    w = np.concatenate([np.ravel(table) for table in own + others])
    for block in blocks:
        yield of_reference(w, block, weights[block.sample])


def without_spans(y):
    """Expand spans to labels of nodes.

    Return the labels, and ones at the starts of spans that follow a span with the same label.
    """
    labels, splits = [], []
    for own in y:
        spans = list(own) if len(own) and isinstance(own[0], tuple) else []
        before = [None, *(label for *_, label in spans)]
        expanded = [k for a, b, k in spans for _ in range(a, b)]
        labels.append(expanded if spans else own)
        starts = {a for (a, _, k), other in zip(spans, before, strict=False) if k == other}
        splits.append(np.array([l in starts for l in range(len(labels[-1]))], dtype=int))
    return labels, splits


def model_bins(model):
    return getattr(model, "duration_bins_", ())


def segment_features(model):
    """Return the kinds of features of whole segments as a list."""
    given = getattr(model, "segment_features", None)
    if given is None:
        return []
    return given if isinstance(given, list | tuple) else [given]


def row_kinds(model):
    """Return the kinds of features of whole segments that are computed from rows."""
    return [kind for kind in segments.KINDS if kind in segment_features(model)]


def limits_of(given, classes, default):
    """Return the limit on the durations of each label."""
    if isinstance(given, dict):
        given = [given.get(label) for label in classes]
    given = given if isinstance(given, list) else [given] * len(classes)
    if not all(limit is None or isinstance(limit, int) for limit in given):
        raise UnreadError
    return [default if limit is None else limit for limit in given]


def graph_blocks(model, X, y, weights):
    given = []
    for graph in items(X):
        if not isinstance(graph, tuple):
            raise UnreadError
        x, edges, features, sizes = (*graph, None, None)[:4]
        if sparse.issparse(edges):
            upper = sparse.triu(edges).tocsr().tocoo()
            edges = np.column_stack([upper.row, upper.col])
        x = dense(x)
        edges = np.asarray(edges).reshape(-1, 2)
        features = None if features is None else edge_features(features)
        sizes = np.ones(len(x)) if sizes is None else np.asarray(sizes, dtype=float)
        given.append((x, edges, features, sizes))
    yield from _graph_blocks(model, given, codes_of(model, items(y)), weights)


def _graph_blocks(model, given, codes, weights, shapes=None):
    """Yield the block of each graph or, given the `shapes` of images, of each tile of an image."""
    K = len(model.classes_)
    cost, factor, divided = node_costs(model, codes, weights, [graph[3] for graph in given])
    # A number is the fixed cost of edges between different labels.
    is_fixed = not isinstance(model.pairwise, str)
    prepared, truth = [], []
    for graph, labels in zip(given, codes, strict=True):
        check_count([K] * len(labels))
        if not is_fixed or model.pairwise > 0:  # otherwise, edges have no effect
            # Completed labels do not count in the loss.
            graph = (*graph[:3], graph[3] * (labels >= 0))
            labels = graphs.complete_labels(graph, labels)
        prepared.append(graph)
        truth.append(labels)
    form = "potts" if is_fixed else model.pairwise, K, factor[:, None] * cost, weights
    if shapes is None:
        blocks = graphs.blocks(prepared, truth, *form, divided=divided)
    else:
        size = window_size(model)
        blocks = graphs.tile_blocks(prepared, truth, shapes, size, *form, divided=divided)
    edge = -float(model.pairwise) if is_fixed else model.edge_coef_
    w = np.concatenate([np.ravel(table) for table in (model.coef_, model.intercept_, edge)])
    for block in blocks:
        yield of_reference(w, block, weights[block.sample])


def grid_blocks(model, X, y, weights):
    given = []
    for image in items(X):
        rows, edges, features = graphs.grid_graph(dense(image), model.pairwise, model.connectivity)
        given.append((rows, edges, features, np.ones(len(rows))))
    shapes = None
    if window_size(model) is not None:
        shapes = [dense(image).shape[:2] for image in items(X)]
    yield from _graph_blocks(model, given, codes_of(model, items(y)), weights, shapes)


def typed_blocks(model, X, y, weights):
    """Yield blocks of graphs with nodes of several types; tables and labels are given by type."""
    X, y = items(X), [items(labels) for labels in items(y)]
    codes = []
    for t, own in enumerate(model.classes_):
        of_type = SimpleNamespace(classes_=own, ignore_label=model.ignore_label)
        codes.append(codes_of(of_type, [labels[t] for labels in y]))
    cost, divided = _typed_costs(model, codes, weights)
    sizes = [table.shape for table in model.coef_]
    pairs = {pair: len(table) for pair, table in model.edge_coef_.items()}
    for i, ((rows, joined), weight) in enumerate(zip(X, weights, strict=True)):
        if not isinstance(X[i], tuple) or type(joined) is not dict:
            raise UnreadError
        labels = [own[i].tolist() for own in codes]
        check_count([K for (K, _), own in zip(sizes, labels) for _ in own])
        edges = {}
        for pair, value in joined.items():
            ends, features = value if isinstance(value, tuple) else (value, None)
            ends = np.asarray(ends).reshape(-1, 2)
            edges[pair] = ends, edge_features(np.ones(len(ends)) if features is None else features)
        graph = [dense(own) for own in rows], edges
        for block in typed_graphs.blocks(
            [graph], [labels], sizes, pairs, cost, bias=model.fit_intercept, divided=divided
        ):
            yield of_reference(model.w_, block, weight)


def _typed_costs(model, codes, weights):
    """Return the cost of a wrong node by type and true label, and whether losses are means."""
    counts = []
    for own, of_type in zip(model.classes_, codes):
        of_samples = [np.bincount(c[c >= 0], minlength=len(own)) for c in of_type]
        counts.append(np.asarray(weights) @ np.array(of_samples))
    total, n_labels = sum(c.sum() for c in counts), sum((c > 0).sum() for c in counts)
    out = []
    for t, count in enumerate(counts):
        cost = np.ones(len(count))
        if model.loss == "balanced":
            cost = np.divide(total, n_labels * count, out=np.zeros(len(count)), where=count > 0)
        if isinstance(model.class_weight, str):
            occurs = count > 0
            share = np.divide(
                count.sum(), occurs.sum() * count, out=np.zeros(len(count)), where=occurs
            )
            cost = cost * share
        elif model.class_weight is not None and model.class_weight[t] is not None:
            given = model.class_weight[t]
            cost = cost * [given.get(label, 1.0) for label in model.classes_[t].tolist()]
        out.append(cost)
    return out, model.loss != "hamming-count"


def row_blocks(model, X, y, weights):
    if not sparse.issparse(X):
        items(X)
    codes = codes_of(model, [[label] for label in items(y)])
    cost, factor, _ = node_costs(model, codes, weights, [np.ones(1)] * len(codes))
    for x, (code,), weight in zip(dense(X), codes, weights, strict=True):
        # With one label per sample, class weights are weights of its hinge loss.
        yield model.coef_ @ x + model.intercept_, cost[code], code, weight * factor[code]


def set_blocks(model, X, y, weights):
    if not sparse.issparse(X):
        items(X)
    Y = dense(y)
    if Y.ndim != 2 or model.class_weight is not None:
        raise UnreadError
    K = Y.shape[1]
    absent_cost = present_cost = np.ones(K)
    if isinstance(model.loss, str) and model.loss == "balanced":
        count = weights @ Y
        present_cost, absent_cost = (
            np.divide(weights.sum(), 2 * K * c, out=np.zeros(K), where=c > 0)
            for c in (count, weights.sum() - count)
        )
    elif isinstance(model.loss, str):
        absent_cost = present_cost = np.full(K, 1 / K if model.loss == "hamming" else 1.0)
        if model.loss == "asymmetric":
            present_cost = 2 * present_cost
    else:
        absent_cost = present_cost = np.asarray(model.loss, np.float64) / K
    check_count([2] * K)
    parents = model.edges if np.ndim(model.edges) == 1 else None  # fits reject other label sets
    cost = absent_cost, present_cost
    form = {"bias": model.fit_intercept, "cost": cost, "parents": parents}
    for x, truth, weight in zip(dense(X), Y.astype(int), weights, strict=True):
        (block,) = label_sets.blocks([x], [truth], model.edges_, model.pairwise, **form)
        yield of_reference(model.w_, block, weight)


def tree_blocks(model, X, y, weights):
    for sample, states, weight in zip(items(X), items(y), weights, strict=True):
        truth = [-1 if s == model.ignore_label else s for s in integers(states).tolist()]
        read = {**sample, "scale": float(sample.get("scale", 1.0))}
        if "positions" in sample:
            read["features"] = [dense(x) for x in items(sample["features"])]
            read["positions"] = [dense(places) for places in sample["positions"]]
        else:
            read["features"] = np.array([dense(x) for x in items(sample["features"])])
        pair_scores = sample.get("pair_scores")
        if pair_scores is not None:
            read["pair_scores"] = [None if each is None else dense(each) for each in pair_scores]
        sizes = [len(x) for x in trees.listed(read)[0]]
        check_count([size for size, state in zip(sizes, truth, strict=True) if state >= 0])
        for block in trees.blocks(model, [read], [truth], model.loss, [1.0]):
            yield of_reference(model.w_, block, weight)


def integers(values):
    """Return a vector of integers, such as the columns of a matching."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise UnreadError
    return values


def of_reference(w, block, weight):
    """Return the scores of a reference block, and the magnitudes of their terms for rounding."""
    return block.phi @ w, block.loss, block.truth, weight, np.abs(block.phi) @ np.abs(w)


def matching_blocks(model, X, y, weights):
    for i, (x, columns, weight) in enumerate(zip(items(X), items(y), weights, strict=True)):
        columns = integers(columns).tolist()
        columns = np.array([-2 if j == model.ignore_label else int(j) for j in columns], dtype=int)
        if (columns == -2).all():
            continue
        block = matchings.block(
            i, x, columns, weight, allow_unmatched=model.allow_unmatched,
            bias=model.fit_intercept and model.allow_unmatched, hamming=model.loss == "hamming",
        )  # fmt: skip
        yield of_reference(model.w_, block, weight)


def alignment_blocks(model, X, y, weights):
    symbols = getattr(model, "symbols_", None)
    for i, (x, columns, weight) in enumerate(zip(items(X), items(y), weights, strict=True)):
        columns = integers(columns)
        if len(columns) == 0 or (columns == model.ignore_label).any():
            raise UnreadError
        block = alignments.block(
            i, x, columns.astype(int), weight, hamming=model.loss == "hamming",
            symbols=None if symbols is None else symbols.tolist(), symmetric=model.symmetric,
            bias=model.fit_intercept and symbols is None, local=model.method == "local",
        )  # fmt: skip
        yield of_reference(model.w_, block, weight)


def dependency_blocks(model, X, y, weights):
    sentences = list(zip(items(X), items(y), weights, strict=True))
    for i, (x, tree, weight) in enumerate(sentences):
        heads, labels = tree if model.labeled else (tree, None)
        heads = integers(heads)
        if not 0 < len(heads) <= MAX_TOKENS:
            raise UnreadError
        if model.ignore_label is not None:  # parts of sentences may be removed
            raise UnreadError
        n_labels = len(model.classes_) if model.labeled else 0
        codes = encoded(np.asarray(labels).tolist(), model.classes_) if model.labeled else None
        block = dependency_trees.block(
            i, x, heads, weight, codes, n_labels, projective=model.projective,
            single_root=model.single_root, hamming=model.loss == "hamming",
        )  # fmt: skip
        yield of_reference(model.w_, block, weight)


def choice_blocks(model, X, y, weights):
    for x, label, weight in zip(items(X), items(y), weights, strict=True):
        # Differences of unsigned integers, which the oracle computes, wrap around.
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            raise UnreadError
        if isinstance(label, np.unsignedinteger):
            raise UnreadError
        summands = np.abs(x) @ np.abs(model.w_)  # which may cancel out
        yield x @ model.w_, model.oracle.losses(x, label), label, weight, summands


def change_blocks(model, X, y, weights):
    costs = [model.costs] if isinstance(model.costs, str) else list(model.costs)
    limits = [model.min_duration, model.max_duration, model.tolerance]
    if not all(limit is None or type(limit) is int for limit in limits):
        raise UnreadError
    least, most, tolerance = limits
    bins = getattr(model, "duration_bins_", ())
    for x, places, weight in zip(items(X), items(y), weights, strict=True):
        x = dense(x).astype(float)
        # Weights of empty signals are ignored, and long signals have too many segmentations.
        if len(x) == 0 or 2 ** (len(x) - 1) > MAX_LABELINGS:
            raise UnreadError
        # Differences of unsigned integers overflow.
        places = [int(t) if isinstance(t, np.unsignedinteger) else t for t in places]
        (block,) = changes.blocks(
            [x], [places], costs, bins,
            tolerance=tolerance, least=least, most=most, scale=model.scale,
        )  # fmt: skip
        # Differences of sums cancel out.
        yield of_reference(model.w_, block, weight)


BLOCKS = {
    "chain": chain_blocks,
    "chain with edge features": chain_blocks,
    "segments": chain_blocks,
    "segments with self-transitions": chain_blocks,
    "segments with features": chain_blocks,
    "change points": change_blocks,
    "graph": graph_blocks,
    "adjacency": graph_blocks,
    "featured graph": graph_blocks,
    "typed graph": typed_blocks,
    "grid": grid_blocks,
    "rows": row_blocks,
    "label sets": set_blocks,
    "matchings": matching_blocks,
    "listed pairs": matching_blocks,
    "alignments": alignment_blocks,
    "featured alignments": alignment_blocks,
    "sentences": dependency_blocks,
    "labeled arcs": dependency_blocks,
    "candidates": tree_blocks,
    "pairs": tree_blocks,
    "maps": tree_blocks,
    "choices": choice_blocks,
    "ConstrainedChoice": choice_blocks,
    "ChoiceByScores": choice_blocks,
}


def objective(name, model, X, y, sample_weight):
    """Return P(w_), a bound on P(0), and the sum of the magnitudes of the terms of P(w_)."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weights = sample_weights(sample_weight, n)
    # Samples without a labeled node or with weight 0 are ignored.
    hinges, losses, sizes = [], [], []
    slack = getattr(model, "rescaling", "margin") == "slack"
    with np.errstate(all="ignore"):
        for scores, loss, truth, weight, *summands in BLOCKS[name](model, X, y, weights):
            if weight == 0:
                continue
            allowed = scores > -np.inf
            difference = scores[allowed] - scores[truth]
            loss = loss[allowed]
            terms = loss * (1 + difference) if slack else loss + difference
            hinges.append(weight * terms.max())
            losses.append(weight * loss.max())
            largest = np.abs((summands[0] if summands else scores)[allowed]).max()
            sizes.append(weight * (np.abs(loss).max() + largest))
        total = total_weight(name, model, y, weights)
        w, scale = model.w_, getattr(model, "pairwise_scale_", 1.0)
        if scale != 1:
            n_own = model.coef_.size
            if hasattr(model, "class_scores_weight_"):  # one weight for a column of each class
                n_own += 1 - len(model.classes_) ** 2
            # Segment features that are computed from rows have the scale of rows, too.
            n_own += sum(getattr(model, f"{kind}_coef_").size for kind in row_kinds(model))
            w[n_own:] /= scale
        norm = 0.5 * model.lam_ * float(w @ w)
        # With fixed costs of edges or fixed scores, the objective at w = 0 is not the mean loss.
        fixed = isinstance(getattr(model, "pairwise", ""), numbers.Real)
        scores = getattr(model, "class_scores", None)
        fixed |= isinstance(scores, tuple) and scores[0] == "fixed"
        at_zero = np.inf if fixed else sum(losses) / total
        return norm + sum(hinges) / total, at_zero, norm + sum(sizes) / total


def total_weight(name, model, y, weights):
    """Return the sum of the weights of the samples that have a labeled node."""
    ignored = getattr(model, "ignore_label", None)
    if ignored is None:
        return weights.sum()
    y = items(y)
    if name.startswith("segments"):
        y, _ = without_spans(y)
    if name == "typed graph":
        y = [np.concatenate([np.asarray(own, dtype=object) for own in labels]) for labels in y]
    y = [np.asarray(labels, dtype=object).ravel().tolist() for labels in y]
    return sum(w for w, labels in zip(weights, y) if any(label != ignored for label in labels))


def check_certificate(name, model, X, y, sample_weight=None, X_val=None, **validation):
    """Check the results of a fit; return 1 if its objective was recomputed, else 0."""
    where = f"{type(model).__name__}, {model.inference_}, {model.solver_}"
    primal, dual = model.objective_, model.dual_objective_
    if model.solver_ in ("perceptron", "pa"):  # they have no objective
        if not np.isnan([primal, dual]).all() or not np.isfinite(model.w_).all():
            text = f"objective_ is {primal}, dual_objective_ is {dual}"
            raise FindingError("certificate", text, model.solver_)
        return 0
    if primal == np.inf and model.status_ in ("INTERRUPTED", "TIME_LIMIT"):
        return 0
    if not np.isfinite(primal):
        raise FindingError("certificate", f"objective_ is {primal}, {model.status_}", where)
    if model.converged_ != (model.status_ == "CONVERGED"):
        text = f"converged_ is {model.converged_}, but status_ is {model.status_}"
        raise FindingError("certificate", text, where)
    # An approximate decoder may return labelings that are worse than cached ones.
    approximate = "(approximate)" in model.inference_
    try:
        w = model.w_
    except ValueError as error:  # the fit returned, but its attributes are invalid
        raise FindingError("state", str(error), where) from error
    if not np.isfinite(w).all():
        raise FindingError("certificate", "w_ is not finite", where)
    if "validation_score" in model.history_ and X_val is None:
        return 0  # the samples used for training are unknown
    try:
        expected, at_zero, size = objective(name, model, X, y, sample_weight)
    except UNREAD:
        expected, at_zero, size = np.inf, np.inf, abs(primal) + abs(dual)
    if dual > primal + RELATIVE * size and not approximate:
        raise FindingError("certificate", f"dual_objective_ {dual} > objective_ {primal}", where)
    if expected == np.inf:
        return 0
    # If `size` overflows, it comes from labelings far below the best one, not from rounding.
    rounding = RELATIVE * (size if size < np.inf else abs(expected))
    if model.status_ == "ROUNDING":  # rounding errors may be as large as the gap
        rounding = max(rounding, primal - dual)
    low, high = expected - rounding, expected + rounding
    bounded = "(bounded)" in model.inference_ or "relaxation" in model.inference_
    # An approximate decoder may miss the worst labeling, a relaxed one may find worse ones.
    coupled = is_coupled(model)
    if model.bounds is None and not bounded and not coupled and dual > at_zero + rounding:
        text = f"dual_objective_ is {dual!r}, above {at_zero!r}, the objective of w = 0"
        raise FindingError("certificate", text, where)
    below = primal < low and not approximate
    above = primal > high and not bounded and not coupled and model.solver_ != "gdmm"
    if below or above or np.isnan(expected):
        text = f"objective_ is {primal!r}, expected {expected!r}; status_ is {model.status_}"
        raise FindingError("certificate", text, where)
    return 1


def check_finite_results(name, model, method, result):
    """Check that scores of valid samples are numbers."""
    if method == "predict" or name in ("choices", "ConstrainedChoice", "ChoiceByScores"):
        return
    scores = result[1] if method == "predict_top_k" else result
    for item in scores:
        for part in item if isinstance(item, list) else [item]:
            if np.isnan(dense(part)).any():
                raise FindingError("result", f"NaN in {method}", type(model).__name__)
