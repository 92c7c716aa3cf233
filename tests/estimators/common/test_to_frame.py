"""to_frame returns the weights of ``w_`` with the names of their entries."""

import sys

import numpy as np
import pytest

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    StructuredSVM,
    TreeSSVM,
    ssvm_path,
)
from sstruct._input.labels import ordered
from tests.estimators.custom.choices import Sign
from tests.registry import EXAMPLES

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
FIT = {"lam": 0.1, "random_state": 0, "max_iter": 5}
CHAINS = [RNG.standard_normal((length, 2)) for length in (3, 1, 5, 4)]
ROWS = RNG.standard_normal((30, 2))
SETS = ROWS @ RNG.standard_normal((2, 4)) + RNG.standard_normal((30, 4)) > 0
HIERARCHY = SETS | SETS[:, [3, 3, 3, 3]]
HIERARCHY[:, 3] = HIERARCHY.any(axis=1)

LABELS = {
    "numbers": [7, -2, 30],
    "strings": ["b", "aa", "c"],
    "pairs": [(1, 2), (3, 0), (1, 1)],
    "mixed": ["x", ("y", 1), 3],
    "large": [2**80, 5, -(2**70)],
}


def labels_of(codes, labels):
    """Return the labels of codes, as a list or nested lists."""
    return labels[codes] if np.ndim(codes) == 0 else [labels_of(k, labels) for k in codes]


def chain(labels=LABELS["strings"], **options):
    y = [labels_of(RNG.integers(0, 3, len(x)), labels) for x in CHAINS[:-1]]
    y.append(labels_of([0, 1, 2, 0], labels))
    return ChainSSVM(classes=labels, **FIT, **options).fit(CHAINS, y)


def graph(labels=LABELS["strings"], **options):
    X, y = EXAMPLES["featured graph"].samples()
    y = [labels_of(codes, labels) for codes in y]
    return GraphCRFSSVM(classes=labels, **FIT, **options).fit(X, y)


def rows(labels):
    y = labels_of(RNG.integers(0, 3, 30), labels)
    return MulticlassSSVM(classes=ordered(labels), **FIT).fit(ROWS, y)


def sets(y=SETS, **options):
    return MultilabelSSVM(**FIT, **options).fit(ROWS, y)


def of(name, seed=0, **options):
    """Return a function that fits an example."""
    example = EXAMPLES[name]
    return lambda: example.unfitted(**options).fit(*example.samples(seed=seed))


MODELS = {
    **{f"chain of {name}": lambda labels=labels: chain(labels) for name, labels in LABELS.items()},
    "chain, coef only": lambda: chain(transitions=False, boundaries=False, fit_intercept=False),
    "chain, no intercept": lambda: chain(fit_intercept=False),
    "chain, no boundaries": lambda: chain(boundaries=False),
    "chain, gdmm": lambda: chain(solver="gdmm"),
    **{
        f"graph, {pairwise}": lambda pairwise=pairwise: graph(pairwise=pairwise)
        for pairwise in ("potts", "contrast", "full", "directed", 0.5)
    },
    "graph of pairs": lambda: graph(LABELS["pairs"], pairwise="directed", fit_intercept=False),
    "graph of mixed": lambda: graph(LABELS["mixed"], pairwise="full"),
    **{
        f"grid, {pairwise}, {connectivity}": of(
            "grid", pairwise=pairwise, connectivity=connectivity
        )
        for pairwise in ("potts", "contrast", "full", "directed", 0.0)
        for connectivity in (4, 8)
    },
    **{f"rows of {name}": lambda labels=labels: rows(labels) for name, labels in LABELS.items()},
    "sets": sets,
    "sets, named": lambda: sets(classes=list("pqrs")),
    "sets, tree": lambda: sets(edges="tree"),
    "sets, full": lambda: sets(pairwise="full", classes=list("pqrs"), fit_intercept=False),
    "sets, given edges": lambda: sets(edges=[(3, 0), (1, 2)], pairwise="full"),
    "sets, no edges": lambda: sets(edges=None),
    "sets, hierarchy": lambda: sets(HIERARCHY, edges=[3, 3, 3, -1]),
    "sets of one label": lambda: sets(list("pqrpqr") * 5),
    "sets of one label, full": lambda: sets(list("pqrpqr") * 5, pairwise="full"),
    "tree": of("candidates"),
    "tree, pair scores": of("pairs"),
    "tree, maps": of("maps", seed=0, fit_intercept=False),
    "tree, types": of("maps", seed=2),
    "tree, types, no intercept": of("maps", seed=2, fit_intercept=False),
    "custom": lambda: StructuredSVM(Sign(), **FIT).fit(list(ROWS), [1, -1] * 15),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def is_missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def position(model, label):
    return model.classes_.tolist().index(label)


def entry(model, row):
    """Return the entry of the fitted attribute that a row of the frame describes."""
    if isinstance(model, StructuredSVM):
        assert row.kind == "w"
        return model.w_[row.feature]
    weights = getattr(
        model, f"{row.kind}_" if row.kind in ("coef", "intercept") else f"{row.kind}_coef_"
    )
    if isinstance(model, TreeSSVM):
        place = [row.part]
        if row.kind == "type":
            return weights[row.part, row.parent_type, row.type]
        assert is_missing(row.parent_type)
        assert is_missing(row.type) == (model.n_types_ == 1)
        place += [] if is_missing(row.type) else [row.type]
        names = {"coef": ["x0", "x1"], "edge": ["dx^2", "dx", "dy^2", "dy", "pair_score"]}
        place += [names[row.kind].index(row.feature)] if row.kind in names else []
        return weights[tuple(place)]
    if row.kind == "coef":
        return weights[position(model, row.label), ["x0", "x1"].index(row.feature)]
    if row.kind in ("intercept", "start", "end"):
        assert is_missing(row.feature)
        return weights[position(model, row.label)]
    assert row.kind == "edge"
    if isinstance(model, ChainSSVM):
        return weights[position(model, row.label), position(model, row.next_label)]
    if isinstance(model, MultilabelSSVM):
        pair = [position(model, row.label), position(model, row.other_label)]
        (e,) = np.flatnonzero((model.edges_ == pair).all(axis=1))
        return weights[e, row.value, row.other_value] if weights.ndim == 3 else weights[e]
    place = []
    if model.pairwise in ("contrast", "directed"):
        names = ["edge0", "edge1"]
        if isinstance(model, GridCRFSSVM):
            names = ["right", "down", "down-right", "down-left"]
            names = ["constant", "contrast"] if model.pairwise == "contrast" else names
        place.append(names.index(row.feature))
    if model.pairwise in ("full", "directed"):
        place += [position(model, row.label), position(model, row.other_label)]
    return weights[tuple(place)] if place else weights.item()


def test_rows_have_the_order_of_w_and_name_their_entries(model):
    # All weights differ, so each row must name its own entry.
    model._w[:] = np.random.default_rng(1).permutation(len(model._w)) + 1.0
    frame = model.to_frame()
    np.testing.assert_array_equal(frame.weight.to_numpy(), model.w_)
    assert frame.weight.dtype == np.float64
    assert frame.columns[[0, -2, -1]].tolist() == ["kind", "feature", "weight"]
    assert not frame.duplicated(frame.columns[:-1].tolist()).any()
    for row in frame.itertuples(index=False):
        assert entry(model, row) == row.weight


def test_columns_match_structure():
    columns = {
        "rows of strings": ["label"],
        "chain of strings": ["label", "next_label"],
        "chain, coef only": ["label", "next_label"],
        "graph, potts": ["label", "other_label"],
        "grid, 0.0, 4": ["label", "other_label"],
        "sets": ["label", "other_label"],
        "sets, hierarchy": ["label", "other_label"],
        "sets, full": ["label", "other_label", "value", "other_value"],
        "tree": ["part", "type", "parent_type"],
        "custom": [],
    }
    assert [MODELS[name]().n_types_ for name in ("tree, maps", "tree, types")] == [1, 2]
    for name, own in columns.items():
        assert MODELS[name]().to_frame().columns.tolist() == ["kind", *own, "feature", "weight"]


def test_kinds_have_the_order_of_w():
    kinds = chain().to_frame().kind
    assert kinds.unique().tolist() == ["coef", "intercept", "start", "end", "edge"]
    assert kinds.value_counts().to_dict() == {
        "coef": 6, "intercept": 3, "start": 3, "end": 3, "edge": 9
    }  # fmt: skip
    table = chain().to_frame().query("kind == 'edge'")
    table = table.pivot(index="label", columns="next_label", values="weight")
    assert table.index.tolist() == LABELS["strings"]  # as in classes_, not sorted


def test_names_of_features_may_be_given():
    for model in (chain(), graph(), rows(LABELS["strings"]), MODELS["tree"](), MODELS["custom"]()):
        frame = model.to_frame(feature_names=np.array(["wide", "high"]))
        default = model.to_frame()
        own = frame.kind.isin(["coef", "w"])
        renamed = default.feature[own].map({"x0": "wide", "x1": "high", 0: "wide", 1: "high"})
        assert frame.feature[own].tolist() == renamed.tolist()
        assert frame.feature[~own].astype(object).equals(default.feature[~own].astype(object))
        for wrong in (["a"], ["a", "b", "c"], "ab", [["a", "b"]], []):
            with pytest.raises(ValueError, match=r"feature_names must have shape \(2,\)"):
                model.to_frame(wrong)
        for wrong, named in (
            ([None, [[1], [2, 3]]], "feature_names must be an array of names"),
            ([{"a": 1}, "b"], r"feature_names\[0\] is {'a': 1}, expected a s"),
        ):
            with pytest.raises((ValueError, TypeError), match=named):
                model.to_frame(wrong)
        same = model.to_frame(["same", "same"])
        np.testing.assert_array_equal(same.weight, model.w_)
        assert (same.feature[own] == "same").all()


def test_frames_need_pandas(monkeypatch):
    model = chain()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame requires .*: pip install pandas"):
        model.to_frame()


def test_a_frame_takes_few_bytes_a_weight():
    X = [np.eye(2000)[:50], np.eye(2000)[50:60]]
    y = [list("ab") * 25, list("cdefghijkl")]
    model = ChainSSVM(lam=0.1, max_iter=1, random_state=0).fit(X, y)
    frame = model.to_frame()
    assert len(frame) == len(model.w_) == 12 * 2000 + 12 * 3 + 144
    assert frame.memory_usage(deep=True).sum() < 25 * len(frame)


def test_models_of_a_path_have_frames():
    path = ssvm_path(
        ChainSSVM(random_state=0), CHAINS, [[0] * len(x) for x in CHAINS[:-1]] + [[1, 0, 1, 0]]
    )
    model = path.estimator(path.lams_[-1])
    np.testing.assert_array_equal(model.to_frame().weight, model.w_)
