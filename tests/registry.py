"""Small data and valid parameters for every public estimator.

The general tests run over ``EXAMPLES``: the problem contract, scikit-learn's checks, pickle and
skops, damaged states, data frames, odd objects and hostile values. An entry here adds an
estimator to all of them; ``tests/package/test_registry.py`` fails if an estimator has no entry.
"""

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

import sstruct
from sstruct import Sequences, constraints, masks
from sstruct.calibration import CalibratedSSVM
from sstruct.solvers import BCFW, GDMM, MPBCFW, PassiveAggressive, Perceptron
from tests.estimators.custom.choices import ChoiceByScores, ConstrainedChoice, make_choices
from tests.hostile.values import MischiefError
from tests.reference import graphs

N_FEATURES, MAX_NODES = 2, 4
ANY_SOLVER = ("auto", "auto", "bcfw", "mp-bcfw", "fw", "ssg", "cutting-plane", "perceptron", "pa")


def _is_valid(solver):
    """Whether the options of a solver are compatible."""
    try:
        solver._check()
    except ValueError:
        return False
    return True


_OPTIONS = itertools.product(
    (MPBCFW, BCFW),
    ("auto", "fw", "pairwise", "away", "corrective"),
    ("auto", "uniform", "permutation", "gap"),
    ("auto", True, False),
    ("auto", True, False),
    (
        {},
        {"max_working_set": 2, "cache_lifetime": 0},
        {"sequential_visits": True, "cache_gap_share": 0.0, "gap_refresh_every": 1},
    ),
)
_SOLVERS = (
    kind(step=step, sampling=sampling, cache=cache, average=average, **constants)
    for kind, step, sampling, cache, average, constants in _OPTIONS
)
# Every 83rd of the valid combinations; these contain each value of each option.
WITH_OPTIONS = [
    *itertools.islice(filter(_is_valid, _SOLVERS), 0, None, 83),
    MPBCFW(certificate_every=1),
    BCFW(certificate_every=2),
    Perceptron(sampling="given"),
    PassiveAggressive(sampling="given"),
]
COMMON = {
    "lam": ("auto", "auto", 0.01, 0.1, 1.0, 100.0),
    "solver": (*ANY_SOLVER, *WITH_OPTIONS),
    "bounds": (None,),
    "tol": (1e-2, 0, 1e-6),
    "max_iter": (1, 2, 5, 12),
    "warm_start": (False, True, "dual", "primal"),
    "n_jobs": (None, 1, 2),
    "random_state": (0, 1),
    "verbose": (0, 0, 0, 1),
}
LOSSES = {
    "loss": (
        "hamming-count",
        "hamming",
        "balanced",
        np.array([1.0, 2.0]),
        np.array([[0, 1], [1, 0]]),
    )
}
OF_LABELS = LOSSES | {
    "fit_intercept": (True, False),
    "class_weight": (None, None, "balanced", {0: 2.0}),
    "classes": (None, None, [0, 1], [0, 1, 2]),
    "ignore_label": (None, -1, 0),
}
SCORES = {"class_scores": (None, None, slice(0, 2), ("scale", [1, 0]), ("fixed", [0, 1]))}
SLACK = {"rescaling": ("margin", "margin", "slack"), "search": ("auto", "bisecting", "binary")}
ALSO_GDMM = {
    "solver": (
        *COMMON["solver"],
        *(GDMM(rho=rho, parts=n) for rho in ("auto", 0.1) for n in (1, 2)),
    )
}
SETS = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])


class _Careful:
    """An oracle that raises for sparse matrices, since SciPy reads out of bounds in damaged ones.

    The package does not validate samples of oracles, which may be any objects.
    """

    def __repr__(self):  # without an address, since pytest names tests after it
        return type(self).__name__

    def joint_feature(self, *given):
        return _called(super().joint_feature, *given)

    def loss(self, *given):
        return _called(super().loss, *given)

    def losses(self, *given):
        return _called(super().losses, *given)

    def argmax(self, *given, **keywords):
        return _called(super().argmax, *given, **keywords)

    def constrained_argmax(self, *given, **keywords):
        return _called(super().constrained_argmax, *given, **keywords)


class CarefulChoice(_Careful, ConstrainedChoice):
    pass


class CarefulChoiceByScores(_Careful, ChoiceByScores):
    def potentials(self, x, w):
        return _called(super().potentials, x, w)


def _called(method, *given, **keywords):
    """Call a method of an oracle; add a note to errors that a user's code raised them."""
    try:
        return method(*_not_sparse(*given), **keywords)
    except Exception as error:
        error.add_note("raised by an oracle of the tests")
        raise


def _not_sparse(*values):
    for value in values:
        items = value if isinstance(value, list | tuple | pd.Series) else [value]
        if isinstance(value, np.ndarray) and value.dtype == object:
            items = value.ravel().tolist()
        if any(sparse.issparse(item) for item in items):
            raise MischiefError("an oracle of dense samples was given a sparse matrix")
    return values


@dataclass(frozen=True, eq=False)
class Example:
    """An estimator with one form of its input.

    Parameters
    ----------
    estimator : type
    make : callable
        ``make(rng, n)`` returns X and y of n small samples, in plain lists or arrays.
    parameters : dict
        Valid values of parameters by name, from which hostile tests draw.
    required : dict
        Parameters without which the estimator cannot be fitted.
    make_varied : callable or None
        Like `make`, with a random kind of container or labels.
    checked : tuple of dict
        Parameters with which scikit-learn's checks run; they pass 2-D arrays. Empty if the
        estimator cannot read those.
    checked_partial_fit : tuple of dict
        The same for solvers that support ``partial_fit``.
    refitted : dict
        Parameters that change the tables of weights, for tests of refitting.
    more : tuple of dict
        Parameters of further fits for the general tests.
    """

    estimator: type
    make: Callable
    parameters: dict
    required: dict = field(default_factory=dict)
    make_varied: Callable | None = None
    checked: tuple = ()
    checked_partial_fit: tuple = ()
    refitted: dict = field(default_factory=dict)
    more: tuple = ()

    def samples(self, n=6, seed=0):
        """Return X and y of n samples, the same ones in every call."""
        return self.make(np.random.default_rng(seed), n)

    def varied(self, rng, n):
        """Return X and y of n samples in a random kind of container."""
        return (self.make_varied or self.make)(rng, n)

    def unfitted(self, **parameters):
        """Return an estimator that is fitted in a few passes."""
        return self.estimator(**self.quick() | self.required | parameters)

    def fitted(self, **parameters):
        """Return an estimator fitted to `samples`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.unfitted(**parameters).fit(*self.samples())

    def quick(self):
        """Return parameters that end a fit after a few passes."""
        if self.is_meta:
            return {}
        return {"lam": 0.1, "max_iter": 5, "random_state": 0}

    def variants(self):
        """Return parameters of fits whose models differ in form."""
        others = () if self.is_meta else self.checked  # its other estimators require other data
        return [{}, self.refitted, *filter(None, others), *self.more]

    @property
    def is_meta(self):
        """Whether the estimator fits another one."""
        return "estimator" in self.required

    def valid_parameters(self, random):
        """Return parameters by name, of which few differ from the default."""
        names = random.sample(list(self.parameters), random.randint(0, 4))
        chosen = {name: random.choice(self.parameters[name]) for name in names}
        fixed = {"max_iter": random.choice(COMMON["max_iter"]), "random_state": 0}
        return fixed | self.required | chosen


def chains(rng, n):
    X = [rng.standard_normal((L, N_FEATURES)) for L in rng.integers(1, MAX_NODES, n)]
    return X, [rng.integers(0, 2, len(x)) for x in X]


def with_edge_features(X, rng):
    return [(x, rng.standard_normal((len(x) - 1, 2))) for x in X]


def chains_with_edge_features(rng, n):
    X, y = chains(rng, n)
    return with_edge_features(X, rng), y


def chains_of_any_kind(rng, n, with_edges=True):
    X, y = chains(rng, n)
    kind = rng.integers(9)
    if not with_edges and kind > 5:
        return X, y
    if kind > 5:
        X = with_edge_features(X, rng)
    if kind == 6:
        X = [(x, sparse.csr_array(f)) for x, f in X]
    if kind == 7:
        return Sequences.from_list(X), y
    if kind == 0:
        return [sparse.csr_matrix(x) for x in X], y
    if kind == 1:
        return Sequences.from_list(X), Sequences.from_list(y)
    if kind == 2:
        return np.vstack(X), np.concatenate(y)
    if kind == 3:
        return rng.standard_normal((n, 2, N_FEATURES)), rng.integers(0, 2, (n, 2))
    if kind == 4:
        return X, [["ab"[label] for label in labels] for labels in y]
    return X, y


def segmented(rng, n):
    """Return sequences with spans, some of which follow one with the same label."""
    X, _ = chains(rng, n)
    y = []
    for x in X:
        cuts = 1 + np.flatnonzero(rng.random(len(x) - 1) < 0.6)
        bounds = [0, *cuts.tolist(), len(x)]
        labels = rng.integers(0, 2, len(bounds) - 1).tolist()
        y.append(list(zip(bounds[:-1], bounds[1:], labels, strict=True)))
    return X, y


def segments_of_any_kind(rng, n):
    return chains_of_any_kind(rng, n, with_edges=False)


def graphs_with(features):
    def make(rng, n):
        X, y = chains(rng, n)
        out = []
        for x in X:
            edges = graphs.random_edges(rng, len(x))
            rest = (rng.random((len(edges), 2)),) if features else ()
            if features and rng.random() < 0.5:
                rest += (rng.integers(1, 4, len(x)),)
            out.append((x, edges, *rest))
        return out, y

    return make


def adjacency(rng, n):
    X, y = graphs_with(False)(rng, n)
    out = []
    for x, edges in X:
        matrix = np.zeros((len(x), len(x)))
        matrix[tuple(edges.T)] = matrix[tuple(edges.T[::-1])] = 1
        out.append((x, sparse.csr_matrix(matrix)))
    return out, y


def typed_graphs(rng, n):
    """Return graphs of nodes of two types; the second one has three features and 0 to 2 nodes."""
    X, y = [], []
    for _ in range(n):
        counts = rng.integers(1, 3), rng.integers(0, 3)
        features = [rng.standard_normal((v, N_FEATURES + t)) for t, v in enumerate(counts)]
        pairs = np.argwhere(rng.random(counts) < 0.7)
        edges = {(0, 1): pairs, (1, 0): np.argwhere(np.zeros(counts[::-1]))}
        if counts[0] == 2:
            edges[0, 0] = np.array([[0, 1]]), rng.random((1, 2))
        X.append((features, edges if rng.random() < 0.8 else {(0, 1): pairs}))
        y.append([rng.integers(0, 2 + t, v) for t, v in enumerate(counts)])
    return X, y


def images_or_array(rng, n):
    if rng.random() < 0.3:
        y = rng.integers(0, 2, (n, 2, 2))
        return rng.standard_normal((n, 2, 2, N_FEATURES)), y
    return images(rng, n)


def images(rng, n):
    shapes = rng.integers(1, 3, (n, 2))
    X = [rng.standard_normal((*shape, N_FEATURES)) for shape in shapes]
    return X, [rng.integers(0, 2, shape) for shape in shapes]


def signals(rng, n):
    X, y = chains(rng, n)
    return X, [np.flatnonzero(labels[1:]) + 1 for labels in y]


def signals_of_any_kind(rng, n):
    X, y = signals(rng, n)
    kind = rng.integers(5)
    if kind == 0:
        return [sparse.csr_matrix(x) for x in X], y
    if kind == 1:
        return Sequences.from_list(X), y
    if kind == 2:
        return [x.tolist() for x in X], y
    if kind == 3:
        return rng.standard_normal((n, 3, N_FEATURES)), rng.integers(1, 3, (n, 1))
    return X, [places.tolist() for places in y]


def candidates(rng, n):
    X, y = [], []
    for _ in range(n):
        sizes = rng.integers(1, 4, 3)
        X.append({
            "features": [rng.standard_normal((size, N_FEATURES)) for size in sizes],
            "positions": [rng.standard_normal((size, 2)) for size in sizes],
            "scale": 2.0,
        })  # fmt: skip
        y.append(np.array([rng.integers(size) for size in sizes]))
    return X, y


def pair_candidates(rng, n):
    X, y = candidates(rng, n)
    for x in X:
        sizes = [len(part) for part in x["features"]]
        x["pair_scores"] = [None, *(rng.standard_normal((sizes[0], size)) for size in sizes[1:])]
    return X, y


def score_maps(rng, n):
    types = (2,) if rng.random() < 0.5 else ()
    X = [{"features": rng.standard_normal((3, *types, 2, 2, N_FEATURES))} for _ in range(n)]
    return X, [rng.integers(0, 4, 3) for _ in range(n)]


def matchings(rng, n):
    """Return matchings with as many pairs as possible, so that all parameters are valid."""
    shapes = rng.integers(1, 4, (n, 2))
    X = [rng.standard_normal((*shape, N_FEATURES)) for shape in shapes]
    y = []
    for n_rows, n_columns in shapes:
        columns = np.full(n_rows, -1)
        size = min(n_rows, n_columns)
        columns[rng.permutation(n_rows)[:size]] = rng.permutation(n_columns)[:size]
        y.append(columns)
    return X, y


def matchings_of_listed_pairs(rng, n):
    X, y = matchings(rng, n)
    out = []
    for x, columns in zip(X, y):
        columns[rng.random(len(columns)) < 0.2] = -1
        allowed = rng.random(x.shape[:2]) < 0.7
        allowed[columns >= 0, columns[columns >= 0]] = True
        out.append({
            "features": x[allowed], "pairs": np.argwhere(allowed), "shape": x.shape[:2],
            "unmatched_rows": rng.standard_normal((len(x), 1)),
            "unmatched_columns": rng.standard_normal((x.shape[1], 2)),
        })  # fmt: skip
    return out, y


def sequence_pairs(rng, n):
    """Return pairs of sequences of three symbols, and an alignment of each."""
    X = [tuple(rng.integers(0, 3, size) for size in rng.integers(1, 4, 2)) for _ in range(n)]
    y = []
    for first, second in X:
        size = rng.integers(min(len(first), len(second)) + 1)
        columns = np.full(len(first), -1)
        rows = np.sort(rng.permutation(len(first))[:size])
        columns[rows] = np.sort(rng.permutation(len(second))[:size])
        y.append(columns)
    return X, y


def sequence_pairs_of_any_kind(rng, n):
    X, y = sequence_pairs(rng, n)
    kind = rng.integers(4)
    if kind == 0:
        X = [tuple("".join("abc"[k] for k in own) for own in pair) for pair in X]
    if kind == 1:
        X = [{"sequences": tuple(own.tolist() for own in pair)} for pair in X]
    if kind == 2:
        y = [np.argwhere(np.arange(4) == columns[:, np.newaxis]) for columns in y]
    return X, y


def sequence_pairs_with_features(rng, n):
    X, y = sequence_pairs(rng, n)
    kind, out = rng.integers(2), []
    for pair in X:
        features = rng.standard_normal((*map(len, pair), N_FEATURES))
        out.append({"sequences": pair, "features": features} if kind else features)
    return out, y


def sentences(rng, n):
    """Return projective trees with one child of the root, so that all parameters are valid."""
    X, y = [], []
    for size in rng.integers(1, MAX_NODES + 1, n):
        tokens, root = np.arange(1, size + 1), rng.integers(1, size + 1)
        X.append(rng.standard_normal((size, size + 1, N_FEATURES)))
        near = tokens + np.sign(root - tokens)
        heads = np.where(rng.random(size) < 0.5, near, root)
        heads[root - 1] = 0
        y.append(heads)
    return X, y


def sentences_with_labels(rng, n):
    """Return candidate arcs in sparse rows, with other features for labels."""
    X, y = sentences(rng, n)
    samples, trees = [], []
    for i, (x, heads) in enumerate(zip(X, y)):
        tokens = np.arange(1, len(x) + 1)
        allowed = rng.random(x.shape[:2]) < 0.7
        allowed[tokens - 1, tokens], allowed[tokens - 1, heads] = False, True
        dependent, head = np.nonzero(allowed)
        rows = x[dependent, head]
        samples.append({
            "features": sparse.csr_array(np.where(rng.random(rows.shape) < 0.5, rows, 0)),
            "arcs": np.column_stack([head, dependent + 1]),
            "label_features": sparse.csr_array(np.round(rng.standard_normal((len(rows), 3)))),
        })  # fmt: skip
        labels = np.where(heads == 0, "root", np.array(["obj", "mod"])[(i + tokens) % 2])
        trees.append((heads, labels))
    return samples, trees


def label_sets(rng, n):
    return rng.standard_normal((n, N_FEATURES)), SETS[rng.integers(0, len(SETS), n)]


def label_sets_of_any_kind(rng, n):
    X, Y = label_sets(rng, n)
    kind = rng.integers(5)
    if kind == 0:
        return sparse.csr_matrix(X), sparse.csr_matrix(Y)
    if kind == 1:
        return X, Y[:, 0]
    return X, sparse.csr_matrix(Y) if kind == 2 else Y


def rows(rng, n):
    return rng.standard_normal((n, N_FEATURES)), rng.permutation(n) % 2


def dense_or_sparse_rows(rng, n):
    X, y = rows(rng, n)
    return (sparse.csr_matrix(X) if rng.random() < 0.3 else X), y


def partly_labeled_chains(rng, n):
    """Return chains; the first label of every second chain is hidden."""
    X, y = chains(rng, n)
    return X, [np.r_[-1, labels[1:]] if i % 2 else labels for i, labels in enumerate(y)]


def noisy_chains(rng, n):
    """Return chains whose labels are predicted with some errors, as calibration requires."""
    X = [rng.standard_normal((12, N_FEATURES)) for _ in range(n)]
    return X, [(x[:, 0] + 0.7 * rng.standard_normal(len(x)) > 0).astype(int) for x in X]


def _mask(before, after):
    return not (before == 1 and after == 0)


def _of_durations(x, start, stop):
    return 1.0 / (stop - start)


def _same_label(before, after):
    return before == after


_chain = COMMON | OF_LABELS | SLACK | SCORES | ALSO_GDMM | {
    "transitions": (True, False, _same_label, np.array([[0, 1], [-1, 0]])),
    "boundaries": (True, False),
    "transition_mask": (None, _mask, np.array([[True, True], [False, True]]),
                        masks.bio_transitions),
    "window_size": ("auto", "auto", None, 1, 2),
}  # fmt: skip
_segment = {name: values for name, values in _chain.items() if name != "window_size"} | {
    "solver": COMMON["solver"],
    "duration_bins": ("auto", None, [1, 2], [1]),
    "min_duration": (1, 1, 1, 1, [1, 1], {0: 1}, 2),
    "max_duration": (None, None, 3, [3, None], {1: 4}),
    "segment_features": (
        None, None, "mean", ["contrast"], ("first", "last", _of_durations), _of_durations
    ),
    "self_transitions": (False, False, True),
    "loss": (*LOSSES["loss"], "segments", "boundaries"),
    "tolerance": (0, 1, 5),
}  # fmt: skip
_change = COMMON | {
    "costs": ("mean", "trend", ["normal", "variance"], ("mean", "variance", "normal", "trend")),
    "duration_bins": ("auto", None, [1, 2], [1]),
    "min_duration": (1, 1, 1, 1, 2),
    "max_duration": (None, None, None, 3),
    "scale": ("noise", None),
    "tolerance": (0, 1, 5),
}
_graph = COMMON | OF_LABELS | SLACK | SCORES | {
    "pairwise": ("potts", "full", 0.5),
    "inference": ("auto", "auto", "cut", "expansion", "max-sum", "fwmap", "exact"),
    "max_oracle_time": (None, None, 0, 10.0),
    "bounds": (None, "submodular"),
}  # fmt: skip
_of_edges = _graph | {"pairwise": ("contrast", "directed")}
_tree = COMMON | SLACK | {
    "loss": ("distance", "hamming", "hamming-count"),
    "fit_intercept": (True, False),
    "ignore_label": (-1, None, 0),
}  # fmt: skip
_tree_options = {"required": {"parents": [-1, 0, 0]}, "refitted": {"parents": [2, 0, -1]}}
_matching = COMMON | {
    "loss": ("hamming-count", "hamming"),
    "fit_intercept": (True, False),
    "ignore_label": (None, -2, 0),
    "n_jobs": (None, 1),
}
_alignment = COMMON | {
    "loss": ("hamming-count", "hamming"),
    "method": ("global", "local"),
    "symmetric": (True, False),
    "fit_intercept": (True, False),
    "ignore_label": (None, -2, 0),
    "n_jobs": (None, 1),
}
_dependency = COMMON | {
    "loss": ("hamming-count", "hamming"),
    "projective": (False, True),
    "single_root": (True, False),
    "ignore_label": (None, -1, "?"),
}
_choice = COMMON | {
    "rescaling": ("margin", "slack"),
    "batch_size": ("auto", 1, 3),
    "n_jobs": (None, 1),
    "search": ("auto", "bisecting", "binary"),
}
_small_chain = sstruct.ChainSSVM(lam=0.1, max_iter=50, random_state=0)
# Tests that need a single example of an estimator use the first one.
EXAMPLES = {
    "chain": Example(
        sstruct.ChainSSVM,
        chains,
        _chain,
        make_varied=chains_of_any_kind,
        checked=({},),
        checked_partial_fit=({"solver": "perceptron"},),
        refitted={"boundaries": False},
        more=(
            {"rescaling": "slack"},
            {"window_size": 2},
            {"window_size": 2, "solver": MPBCFW(couple_windows=True)},
            {"pairwise_scale": "auto", "lam": "auto"},
            {"class_scores": slice(0, 2), "pairwise_scale": "auto"},
            {"class_scores": ("fixed", [1, 0]), "window_size": 2},
            {"transitions": [[0, 1], [1, 0]], "pairwise_scale": 3.0},
            {"prior": np.linspace(-1, 1, 14), "lam": 1.0},
        ),
    ),
    "chain with edge features": Example(
        sstruct.ChainSSVM,
        chains_with_edge_features,
        _chain,
        refitted={"transitions": False},
        more=({"rescaling": "slack"},),
    ),
    "segments": Example(
        sstruct.SegmentSSVM,
        chains,
        _segment,
        make_varied=segments_of_any_kind,
        checked=({},),
        refitted={"duration_bins": [1, 2]},
        more=(
            {"rescaling": "slack"},
            {"duration_bins": None},
            {"max_duration": 3, "pairwise_scale": "auto", "lam": "auto"},
            {"class_scores": slice(0, 2)},
            {"loss": "boundaries", "tolerance": 1},
            {"segment_features": ["mean", "last"], "class_scores": slice(0, 2)},
            {"self_transitions": True},
        ),
    ),
    "segments with self-transitions": Example(
        sstruct.SegmentSSVM,
        segmented,
        _segment,
        required={"self_transitions": True},
        refitted={"duration_bins": [1, 2]},
        more=({"loss": "boundaries"},),
    ),
    "segments with features": Example(
        sstruct.SegmentSSVM,
        chains,
        _segment,
        make_varied=segments_of_any_kind,
        required={"segment_features": ["mean", "contrast", "first", "last", _of_durations]},
        refitted={"segment_features": "mean"},
        more=({"loss": "segments"},),
    ),
    "change points": Example(
        sstruct.ChangePointSSVM,
        signals,
        _change,
        make_varied=signals_of_any_kind,
        # The default supports neither checkpoints nor early stopping.
        required={"solver": "mp-bcfw"},
        refitted={"costs": "mean"},
        more=(
            {"duration_bins": None},
            {"scale": None, "costs": ["trend", "mean"]},
        ),
    ),
    "graph": Example(
        sstruct.GraphCRFSSVM,
        graphs_with(False),
        _graph,
        checked=({},),
        refitted={"pairwise": "full"},
        more=({"rescaling": "slack"}, {"class_scores": [1, 0]}),
    ),
    "adjacency": Example(
        sstruct.GraphCRFSSVM, adjacency, _graph, refitted={"fit_intercept": False}
    ),
    "featured graph": Example(
        sstruct.GraphCRFSSVM,
        graphs_with(True),
        _of_edges,
        required={"pairwise": "contrast"},
        refitted={"pairwise": "directed"},
    ),
    "grid": Example(
        sstruct.GridCRFSSVM,
        images,
        _graph | {
            "connectivity": (4, 8),
            "pairwise": ("potts", "contrast", "full", "directed", 0.5),
            "window_size": ("auto", "auto", None, 1, 2),
                },
        make_varied=images_or_array,
        checked=({},),
        refitted={"pairwise": "directed", "connectivity": 8},
        more=(
            {"window_size": 2},
            {"window_size": 2, "solver": MPBCFW(couple_windows=True)},
            {"rescaling": "slack"},
            {"class_scores": ("fixed", [1, 0]), "window_size": 2},
        ),
    ),
    "typed graph": Example(
        sstruct.TypedGraphCRFSSVM,
        typed_graphs,
        COMMON | {
            "loss": ("hamming-count", "hamming", "balanced"),
            "constraints": (None, None, [constraints.at_most(2, [1], nodes=0)]),
            "inference": ("auto", "auto", "expansion", "max-sum", "fwmap", "exact"),
            "max_oracle_time": (None, None, 0, 10.0),
            "fit_intercept": (True, False),
            "class_weight": (None, None, "balanced", [{0: 2.0}, None], [None, {1: 0.5, 2: 3.0}]),
            "classes": (None, [None, [0, 1, 2]], [[0, 1], [0, 1, 2]], [[0, 1, 5], None]),
            "ignore_label": (-1, None, 0),
        },
        refitted={"fit_intercept": False},
        more=({"constraints": [constraints.at_most(2, [1], nodes=0)]},),
    ),
    "candidates": Example(sstruct.TreeSSVM, candidates, _tree, **_tree_options),
    "matchings": Example(
        sstruct.MatchingSSVM,
        matchings,
        _matching | {"allow_unmatched": (True, False)},
        refitted={"fit_intercept": False},
        more=({"allow_unmatched": False}, {"loss": "hamming"}),
    ),
    "listed pairs": Example(
        sstruct.MatchingSSVM,
        matchings_of_listed_pairs,
        _matching,
        refitted={"fit_intercept": False},
    ),
    "alignments": Example(
        sstruct.AlignmentSSVM,
        sequence_pairs,
        _alignment,
        make_varied=sequence_pairs_of_any_kind,
        refitted={"symmetric": False},
        more=({"method": "local"}, {"loss": "hamming"}),
    ),
    "featured alignments": Example(
        sstruct.AlignmentSSVM,
        sequence_pairs_with_features,
        _alignment,
        refitted={"fit_intercept": False, "symmetric": False},
    ),
    "sentences": Example(
        sstruct.DependencySSVM,
        sentences,
        _dependency,
        refitted={"projective": True},
        more=({"loss": "hamming"}, {"single_root": False}),
    ),
    "labeled arcs": Example(
        sstruct.DependencySSVM,
        sentences_with_labels,
        _dependency,
        required={"labeled": True},
        refitted={"projective": True},
    ),
    "label sets": Example(
        sstruct.MultilabelSSVM,
        label_sets,
        COMMON | LOSSES | SLACK | ALSO_GDMM | {
            "loss": (
                *("hamming-count", "hamming", "asymmetric", "balanced"), np.array([1.0, 2.0, 0.5]),
            ),
            "edges": (
                "auto", "full", "tree", None, np.array([[0, 1], [2, 1]]), np.array([-1, 0, 0])
            ),
            "pairwise": ("and", "full"),
            "inference": (
                *("auto", "independent", "enumeration", "tree", "cut", "relaxed"),
                "exact",
            ),
            "constraints": (None, [constraints.at_most(3, range(3))]),
            "search": ("auto", "angular", "bisecting", "binary"),
            "class_weight": (None, "balanced", [{0: 1.0, 1: 2.0}] * 3),
            "fit_intercept": (True, False),
            "bounds": (None, "submodular"),
        },
        make_varied=label_sets_of_any_kind,
        checked=({}, {"rescaling": "slack", "inference": "relaxed"}),
        checked_partial_fit=({"solver": "perceptron"},),
        refitted={"pairwise": "full"},
        more=(
            {"edges": "tree"},
            {"edges": None},
            {"rescaling": "slack"},
            {"rescaling": "slack", "edges": "tree"},
            {"rescaling": "slack", "search": "angular"},
            {"rescaling": "slack", "edges": "tree", "loss": "balanced"},
            {"constraints": [constraints.at_least(1, range(3))]},
        ),
    ),
    "rows": Example(
        sstruct.MulticlassSSVM,
        rows,
        COMMON | LOSSES | {
            "fit_intercept": (True, False),
            "class_weight": (None, "balanced", {0: 2.0}),
            "classes": (None, [0, 1], [0, 1, 2]),
            "rescaling": ("margin", "slack"),
        },
        make_varied=dense_or_sparse_rows,
        checked=({},),
        checked_partial_fit=(
            {"solver": "perceptron"}, {"solver": "pa"}, {"solver": "ssg", "lam": 0.1}
        ),
        refitted={"fit_intercept": False},
        more=({"rescaling": "slack"},),
    ),
    "choices": Example(
        sstruct.StructuredSVM,
        make_choices,
        _choice,
        required={"oracle": CarefulChoice(as_sparse=True)},
        refitted={"lam": 10.0},
        more=({"rescaling": "slack"},),
    ),
    "pairs": Example(
        sstruct.TreeSSVM,
        pair_candidates,
        _tree,
        required={"parents": [-1, 0, 0]},
        refitted={"fit_intercept": False},
    ),
    "maps": Example(sstruct.TreeSSVM, score_maps, _tree, **_tree_options),
    "ConstrainedChoice": Example(
        sstruct.StructuredSVM,
        make_choices,
        _choice,
        required={"oracle": CarefulChoice()},
        refitted={"lam": 10.0},
        more=({"rescaling": "slack"},),
    ),
    "ChoiceByScores": Example(
        sstruct.StructuredSVM,
        make_choices,
        _choice,
        required={"oracle": CarefulChoiceByScores()},
        refitted={"lam": 10.0},
    ),
    "partly labeled chains": Example(
        sstruct.LatentSSVM,
        partly_labeled_chains,
        {
            "states_per_label": (1, 1, 2),
            "tol": (1e-3, 0, 0.1),
            "max_rounds": (1, 2, 5),
            "n_init": (1, 2),
            "random_state": (0, None),
        },
        required={"estimator": _small_chain},
        checked=({"estimator": sstruct.ChainSSVM()}, {"estimator": sstruct.MultilabelSSVM()}),
        refitted={"states_per_label": 2},
    ),
    "search": Example(
        sstruct.PathCV,
        chains,
        {"lams": (None, [1.0, 0.1]), "eps": (0.1, 0.5), "cv": (2, 3), "refit": (True, False)},
        required={"estimator": _small_chain, "cv": 2, "lams": [1.0, 0.1]},
        refitted={"lams": [0.5]},
    ),
    "calibrated": Example(
        CalibratedSSVM,
        noisy_chains,
        {"cv": (2, 3), "n_jobs": (None, 1)},
        required={"estimator": _small_chain, "cv": 2},
        refitted={"cv": 3},
    ),
}  # fmt: skip
# Estimators that hostile tests fit directly; meta-estimators have separate tests.
TRAINED = {name: example for name, example in EXAMPLES.items() if not example.is_meta}
# One example of each public estimator.
FIRST = {example.estimator: example for example in reversed(EXAMPLES.values())}


def public_estimators():
    """Return the estimators among the public names of the package."""
    found = [getattr(sstruct, name) for name in sstruct.__all__]
    return [each for each in found if isinstance(each, type) and issubclass(each, BaseEstimator)]
