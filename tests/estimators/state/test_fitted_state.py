"""Test that invalid fitted states of loaded models raise an error that names the attribute."""

import copy
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    RegularizationPath,
    SegmentSSVM,
    StructuredSVM,
    TreeSSVM,
    ssvm_path,
)
from sstruct.preprocessing import PerNode, SequenceVectorizer
from tests.estimators.custom.choices import Sign
from tests.registry import EXAMPLES

DAMAGED = r"invalid fitted state of \w+: "


def changed(model, **attributes):
    """Return the model with changed attributes, as in a file; Ellipsis removes an attribute."""
    state = {**model.__getstate__(), **attributes}
    other = type(model).__new__(type(model))
    other.__setstate__({name: value for name, value in state.items() if value is not ...})
    return other


def put(value, key, new):
    """Return a dict or a tuple with another entry."""
    if isinstance(value, dict):
        return {**value, key: new}
    return tuple(new if k == key else item for k, item in enumerate(value))


def chains():
    """Return three sequences of three labels."""
    X = [np.eye(3)[[0, 1]], np.eye(3)[[2]], np.eye(3)[[1, 2, 0]]]
    return X, [np.argmax(x, axis=1) for x in X]


def fitted(kind):
    """Return a small fitted model and its samples."""
    common = {"lam": 0.1, "random_state": 0, "max_iter": 20, "tol": 0.5}
    X, y = chains()
    rows, codes = np.concatenate(X), np.concatenate(y)
    if kind == "chain":
        return ChainSSVM(warm_start=True, **common).fit(X, y), X
    if kind == "chain with edge features":
        X = [(x, np.eye(2)[: len(x) - 1]) for x in X]
        return ChainSSVM(**common).fit(X, y), X
    if kind == "tied chain":
        return ChainSSVM(transitions=np.eye(3, dtype=int), **common).fit(X, y), X
    if kind == "chain with class scores":
        return ChainSSVM(class_scores=("fixed", slice(0, 3)), **common).fit(X, y), X
    if kind == "segments":
        model = SegmentSSVM(segment_features=["mean", "contrast"], **common)
        return model.fit(X, y), X
    if kind == "typed graph":
        example = EXAMPLES[kind]
        return example.fitted(), example.samples()[0]
    if kind == "graph":
        X = [(x, np.array([[0, 1]])[: len(x) - 1], np.ones((min(len(x) - 1, 1), 2))) for x in X]
        return GraphCRFSSVM(pairwise="directed", **common).fit(X, y), X
    if kind == "grid":
        X = np.arange(8.0).reshape(1, 2, 2, 2)
        return GridCRFSSVM(**common).fit(X, [[[0, 1], [1, 0]]]), X
    if kind == "tree":
        part = [np.eye(2), np.eye(2)]
        X = [{"features": part, "positions": part}] * 3
        return TreeSSVM(parents=[-1, 0], **common).fit(X, [np.array([0, 1])] * 3), X
    if kind == "sets":
        return MultilabelSSVM(**common).fit(rows, np.eye(3, dtype=int)[codes]), rows
    if kind == "hierarchy":
        Y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0]])
        return MultilabelSSVM(edges=[-1, 0, 0], **common).fit(rows, Y), rows
    if kind == "multiclass":
        return MulticlassSSVM(**common).fit(rows, codes), rows
    X = list(rows)
    return StructuredSVM(Sign(), warm_start=True, **common).fit(
        X, np.sign(rows[:, 0] - 0.5).tolist()
    ), X


# Attributes of models with invalid values, and the error messages.
WRONG = [
    ("chain", "_bias", lambda v: 1, "_bias is 1, of type int, expected True or"),
    ("chain", "_bias", lambda v: 10**5000, "_bias is .*of type int, expected True or"),
    ("chain", "_boundaries", lambda v: -1, "_boundaries is -1"),
    ("chain", "_transitions", lambda v: (True,), "_transitions is "),
    ("chain", "_bias", lambda v: False, "_w is an array of .* weights, expected 32"),
    ("chain", "_boundaries", lambda v: False, "_w is an array of .* weights, expected 28"),
    ("chain", "_transitions", lambda v: False, "_w is an array of .* weights, expected 24"),
    ("chain", "n_edge_features_in_", lambda v: 1, "_w is an array of .* weights, expected 52"),
    ("chain", "_w", lambda v: v[:-1], "_w is an array of 35 weights, expected 36"),
    ("chain", "_w", lambda v: v.astype(np.float32), "_w is a ndarray .*float32"),
    (
        "chain",
        "_w",
        lambda v: np.where(np.arange(len(v)) == 2, np.nan, v),
        "_w is an array of numbers",
    ),
    ("chain", "_w", lambda v: ..., "_w is missing"),
    ("chain", "_w", lambda v: np.repeat(v, 2)[::2], "contiguous"),
    ("chain", "n_features_in_", lambda v: 2**60, "_w is an array of 36 weights"),
    ("chain", "n_features_in_", lambda v: -1, "n_features_in_ is -1.* an integer from 1"),
    ("chain", "classes_", lambda v: v[:2], r"_w is an array of 36 weights, expected 32"),
    ("chain", "classes_", lambda v: np.array([1, 1, 2]), "without duplicates"),
    ("chain", "classes_", lambda v: np.array([[], 1, 2], dtype=object), "hashable"),
    ("chain", "feature_names_in_", lambda v: np.array(["a"]), r"shape \(F = 3\)"),
    ("chain", "feature_names_in_", lambda v: np.arange(3), "1-D array of strings"),
    ("chain", "_masks", lambda v: (np.ones((2, 2), bool), None), r"_masks\[0\].*\(K = 3, K = 3\)"),
    ("chain", "_form", lambda v: "columns", "_form is 'columns'"),
    ("chain", "history_", lambda v: put(v, "gap", np.zeros(99)), r"history_\['gap'\]|history_\["),
    ("chain", "status_", lambda v: "FINE", "status_ is 'FINE'"),
    ("chain", "_warm_state", lambda v: put(v, "size", v["size"] + 2**62), r"\['size'\] is sizes"),
    ("chain", "_warm_state", lambda v: put(v, "size", v["size"] - 1), r"_warm_state\['size'\]"),
    ("chain", "_warm_state", lambda v: put(v, "alpha", -v["alpha"]), r"_warm_state\['alpha'\]"),
    ("chain", "_warm_state", lambda v: put(v, "lam", "1"), r"_warm_state\['lam'\]"),
    (
        "chain",
        "_warm_state",
        lambda v: {k: x[:0] if isinstance(x, np.ndarray) else x for k, x in v.items()},
        r"_warm_state\['size'\] is empty",
    ),
    ("chain", "_skl_callbacks", lambda v: [3], r"_skl_callbacks\[0\] is 3"),
    *(
        ("chain with edge features", name, lambda v, wrong=wrong: wrong, message)
        for name, wrong, message in [
            ("n_edge_features_in_", 3, "_w is an array of .* weights, expected"),
            ("n_edge_features_in_", None, "_w is an array of .* weights, expected"),
            ("n_edge_features_in_", 0, "n_edge_features_in_ is 0"),
            ("n_edge_features_in_", 2.5, "n_edge_features_in_ is 2.5"),
            ("edge_feature_names_in_", np.array(["a"], dtype=object), "edge_feature_names_in_"),
            ("edge_feature_names_in_", "ab", "edge_feature_names_in_"),
        ]
    ),
    ("tied chain", "transition_groups_", lambda v: v[:2], "transition_groups_ is of shape"),
    ("tied chain", "transition_groups_", lambda v: v * 0 + 100, "_w is an array of"),
    ("tied chain", "transition_groups_", lambda v: v * 0 - 2, "numbers from -2 to -2"),
    ("tied chain", "transition_groups_", lambda v: None, "_w is an array of"),
    *(
        ("chain with class scores", "_class_scores", lambda v, wrong=wrong: wrong, DAMAGED)
        for wrong in (np.array([0, 1, 5]), np.array([0, 1]), np.array([0, 1, -1]), [0, 1, 2])
    ),
    ("graph", "_model", lambda v: put(v, "n_edge_features", 0), r"\['n_edge_features'\] is 0"),
    ("graph", "_model", lambda v: put(v, "n_edge_features", 2**40), "_w is an array of"),
    ("graph", "_model", lambda v: put(v, "n_edge_features", -1), r"\['n_edge_features'\] is -1"),
    ("graph", "_model", lambda v: put(v, "pairwise", "contrast"), "_w is an array of"),
    ("graph", "_model", lambda v: put(v, "pairwise", "glue"), r"_model\['pairwise'\] is 'glue'"),
    ("graph", "_model", lambda v: put(v, "pairwise", "potts"), r"\['n_edge_features'\] is 2"),
    ("graph", "_model", lambda v: put(v, "seed", -3), r"_model\['seed'\]"),
    ("graph", "_model", lambda v: put(v, "inference", "cut"), r"_model\['inference'\]"),
    ("graph", "_model", lambda v: put(v, "edge_names", ["a"]), r"_model\['edge_names'\]"),
    ("graph", "_is_approximate", lambda v: 10**12, "_is_approximate is 10"),
    ("typed graph", "_w", lambda v: v[:-1], "_w is an array of"),
    ("typed graph", "classes_", lambda v: v[:1], "the labels of 2 types"),
    ("typed graph", "classes_", lambda v: (v[0], np.arange(9)), "_w is an array of"),
    ("typed graph", "classes_", lambda v: (v[0], np.array([1, 1])), "without duplicates"),
    ("typed graph", "n_features_in_", lambda v: (2, 0), r"n_features_in_\[1\] is 0"),
    ("typed graph", "n_features_in_", lambda v: (2, 2), "_w is an array of"),
    ("typed graph", "_pairs", lambda v: ((0, 7, 1), *v[1:]), "_pairs is"),
    ("typed graph", "_pairs", lambda v: v[::-1], "without duplicates"),
    ("typed graph", "_pairs", lambda v: ((0, 0, -1), *v[1:]), r"_pairs\[0\]\[2\]"),
    ("typed graph", "_pairs", lambda v: v[1:], "_w is an array of"),
    ("typed graph", "_bias", lambda v: 1, "_bias is 1"),
    ("typed graph", "_model", lambda v: put(v, "inference", "cut"), "'inference'. is 'cut'"),
    *(
        ("typed graph", "_model", lambda v, rows=rows: put(v, "constraints", rows), message)
        for rows, message in [
            (np.zeros((1, 2), dtype=np.int32), r"'constraints'\] is shape \(1, 2\)"),
            (np.full((1, 8), 99, dtype=np.int32), r"'constraints'\] is a number out of its range"),
        ]
    ),
    ("segments", "_segment_kinds", lambda v: v[::-1].copy(), "_segment_kinds is another order"),
    ("segments", "_durations", lambda v: v[::-1].copy(), "_durations is a minimum above a maximum"),
    (
        "grid",
        "_model",
        lambda v: put(put(v, "pairwise", "contrast"), "n_edge_features", 9),
        r"\['n_edge_features'\] is 9, .*expected \d for grids",
    ),
    ("grid", "_model", lambda v: put(v, "connectivity", 5), r"_model\['connectivity'\] is 5"),
    ("tree", "parents_", lambda v: np.array([1, 0], dtype=np.int32), "parents_ is not a forest"),
    ("tree", "parents_", lambda v: np.array([-1, 7], dtype=np.int32), "parents_ is not a forest"),
    ("tree", "parents_", lambda v: v.astype(np.int64), "parents_ is a ndarray"),
    ("tree", "n_types_", lambda v: 2**40, "_w is an array of"),
    ("tree", "_bias", lambda v: 3, "_bias is 3"),
    ("tree", "_pair_scores", lambda v: True, "_w is an array of"),
    ("sets", "edges_", lambda v: v + 1, "edges_ is up to label 3, expected labels below 3"),
    ("sets", "edges_", lambda v: v[::-1].copy(), "edges_ is not sorted"),
    ("sets", "_model", lambda v: put(v, "full", True), "_w is an array of 19 weights, expected 28"),
    ("sets", "_model", lambda v: put(v, "method", "tree"), r"_model\['method'\] is 'tree', which"),
    ("sets", "_model", lambda v: put(v, "K", 25), r"_model\['K'\] is 25"),
    ("sets", "_model", lambda v: {"method": "tree"}, r"_model\['full'\] is missing"),
    ("sets", "_model", lambda v: {k: v[k] for k in v if k != "parents"}, "'parents'. is missing"),
    ("sets", "_model", lambda v: put(v, "output", None), r"_model\['output'\] is missing"),
    ("sets", "_model", lambda v: put(v, "method", "one label"), "edges_ is 3 edges"),
    (
        "sets",
        "_model",
        lambda v: put(v, "constraints", np.zeros((1, 4), dtype=np.int32)),
        r"\['constraints'\] is shape \(1, 4\), expected shape \(n, 5\)",
    ),
    (
        "sets",
        "_model",
        lambda v: {**v, "method": "tree", "constraints": np.zeros((1, 5), dtype=np.int32)},
        "the decoder 'tree' does not support constraints",
    ),
    ("hierarchy", "_model", lambda v: put(v, "method", "exact"), "expected 'tree' for a hierarchy"),
    ("hierarchy", "_model", lambda v: put(v, "parents", np.array([1, 2, 0])), "a cycle"),
    (
        "hierarchy",
        "_model",
        lambda v: put(v, "parents", np.array([-1, 0, 2**32])),
        "expected -1 or",
    ),
    ("multiclass", "_bias", lambda v: False, "_w is an array of"),
    ("custom", "_w", lambda v: v[np.newaxis], r"_w is of shape \(1, 3\)"),
    ("custom", "n_iter_", lambda v: "many", "n_iter_ is 'many'"),
    ("custom", "_warm_state", lambda v: put(v, "plane_loss", None), r"'plane_loss'\] is missing"),
]


@pytest.fixture(scope="module")
def models():
    return {kind: fitted(kind) for kind in {row[0] for row in WRONG}}


@pytest.mark.parametrize("kind, name, change, message", WRONG)
def test_errors_name_invalid_attributes(models, kind, name, change, message):
    model, X = models[kind]
    wrong = change(model.__dict__.get(name))
    with pytest.raises(ValueError, match=f"{DAMAGED}.*{name}|{message}") as caught:
        changed(model, **{name: wrong})
    assert caught.match(message)
    # The same error is raised if the attribute is changed after a fit.
    other = copy.deepcopy(model)
    if wrong is ...:
        del other.__dict__[name]
    else:
        other.__dict__[name] = wrong
    if name == "_skl_callbacks":
        return
    for use in (lambda: other.predict(X), other.to_frame, lambda: other.w_):
        with pytest.raises(ValueError, match=message):
            use()


def test_invalid_states_and_attributes_raise():
    model, X = fitted("chain")
    bare = ChainSSVM.__new__(ChainSSVM)
    with pytest.raises(ValueError, match="in format None; this version"):
        bare.__setstate__([1])
    for name in ("predict", "_structure", "_structure_class", "w_"):
        with pytest.raises(ValueError, match=f"attribute {name} overrides the attribute"):
            changed(model, **{name: 3})
    assert changed(model, my_note=3).my_note == 3
    tree, X = fitted("tree")
    with pytest.raises(ValueError, match="parameter parents is missing"):
        changed(tree, parents=...)
    with pytest.raises(ValueError, match="parameter parents is missing"):
        TreeSSVM.__new__(TreeSSVM).fit(X, [[0, 1]] * 3)
    # The result of a validation is not stored in the model, so that files cannot forge it.
    state = {**model.__getstate__(), "_validated": True, "_bias": 0}
    with pytest.raises(ValueError, match="_bias"):
        ChainSSVM.__new__(ChainSSVM).__setstate__(state)


def test_a_warm_start_validates_working_sets():
    model, X = fitted("chain")
    model._warm_state = {**model._warm_state, "size": model._warm_state["size"] + 2**62}
    with pytest.raises(ValueError, match=r"_warm_state\['size'\]"):
        model.fit(X, chains()[1])


@pytest.fixture(scope="module")
def path():
    return ssvm_path(ChainSSVM(random_state=0), *chains(), eps=0.2)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("_n_weights", lambda v: 2**41, "_n_weights is 2199023255552"),
        ("_n_weights", lambda v: v - 1, "_w is an array of 35 weights, expected 36"),
        ("_attributes", lambda v: put(v, "_bias", 0), "_bias is 0"),
        ("_attributes", lambda v: {}, "inference_ is missing"),
        ("lams_", lambda v: -v, "lams_ is an array of numbers"),
        ("lams_", lambda v: v[::-1].copy(), "lams_ is not decreasing"),
        ("_prior", lambda v: np.zeros(35), "_prior is of 35 weights, expected "),
        ("history_", lambda v: put(v, "lam", 0 * v["lam"]), r"history_\['lam'\]"),
        ("history_", lambda v: put(v, "passes", v["passes"] * np.nan), r"history_\['passes'\]"),
        ("_template", lambda v: 3, "_template is 3, of type int, expected a BaseSSVM"),
        ("ws_", lambda v: [], "ws_ is .*expected a CompactRows"),
        ("eps", lambda v: None, "eps is missing"),
        ("lam_end_", lambda v: Fraction(1, 3), r"lam_end_ is Fraction\(1, 3\)"),
    ],
)
def test_paths(path, name, change, message):
    with pytest.raises(ValueError, match=message):
        changed(path, **{name: change(path.__dict__.get(name))})
    assert changed(path).w(0.3).tobytes() == path.w(0.3).tobytes()


def test_rows_of_paths(path):
    rows = path.ws_
    whole, last = np.arange(3.0), np.zeros(3)
    for stored, message in [
        ([(np.array([0]), np.zeros(1))], "_rows is"),
        ([whole, (np.array([3]), np.zeros(1))], r"_rows\[1\]"),
        ([whole, (np.array([-1]), np.zeros(1))], r"_rows\[1\]"),
        ([whole, (np.array([0, 1]), np.zeros(1))], r"_rows\[1\]"),
        ([whole, (np.array([0.0]), np.zeros(1))], r"_rows\[1\]"),
        ([whole, np.zeros(2)], r"_rows\[1\]"),
        ([np.zeros((2, 2))], r"_rows\[0\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            changed(rows, _rows=stored, _last=last)
    assert len(changed(rows)) == len(rows)


def test_searches():
    X, y = chains()
    search = PathCV(ChainSSVM(random_state=0), eps=0.5, cv=2).fit(X * 2, y * 2)
    assert changed(search).predict(X)[0].tolist() == search.predict(X)[0].tolist()
    fold = search._folds[0]
    rising = {**fold, "lams": np.array([1.0, 2.0]), "scores": np.zeros(2), "seconds": np.zeros(2)}
    for folds, message in [
        ([], "_folds is"),
        ([put(fold, "scores", np.zeros(0)), fold], r"_folds\[0\]\['scores'\]"),
        ([put(fold, "lams", fold["lams"].astype(int)), fold], r"_folds\[0\]\['lams'\]"),
        ([rising, fold], r"_folds\[0\]\['lams'\] is not decreasing"),
        ([fold], "n_splits_ is 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            changed(search, _folds=folds)
        other = copy.deepcopy(search)
        other._folds = folds
        with pytest.raises(ValueError, match=message):
            other.split_scores(1.0)
    with pytest.raises(ValueError, match="best_estimator_ is 3"):
        changed(search, best_estimator_=3)
    with pytest.raises(ValueError, match="best_estimator_ is None"):
        changed(search, best_estimator_=None)


def test_transformers():
    X, _ = chains()
    scaler = PerNode(StandardScaler()).fit(X)
    assert changed(scaler).transform(X)[0].tolist() == scaler.transform(X)[0].tolist()
    for name, wrong in (("transformer_", 3), ("n_features_in_", -1), ("edge_transformer_", "x")):
        with pytest.raises(ValueError, match=f"{name} is"):
            changed(scaler, **{name: wrong})
    with pytest.raises(ValueError, match="parameter transformer is missing"):
        changed(scaler, transformer=...)
    words = SequenceVectorizer().fit([[["a", "b"]]])
    assert changed(words).transform([[["b"]]])[0].toarray().tolist() == [[0, 1]]
    for vocabulary in ({"a": 0, "b": 7}, {"a": 0, "b": -1}, {"a": 0, 3: 1}, {"a": 0, "b": True}, 3):
        with pytest.raises(ValueError, match="vocabulary_ is"):
            changed(words, vocabulary_=vocabulary)
        other = copy.deepcopy(words)
        other.vocabulary_ = vocabulary
        with pytest.raises(ValueError, match="vocabulary_ is"):
            other.transform([[["b"]]])
    with pytest.raises(ValueError, match="_column_names "):
        changed(words, _column_names=np.array(["b", "a"], dtype=object))
    for names in (np.array(["b", "a"], dtype=object), ["a", "b"]):
        other = copy.deepcopy(words)
        other._column_names = names
        with pytest.raises(ValueError, match="_column_names is "):
            other.transform([[["b"]]])


def test_models_are_released():
    import gc
    import weakref

    from sstruct._estimators.core.fitted_state import _validated

    model, X = fitted("chain")
    model.predict(X)
    key, gone = id(model), weakref.ref(model)
    assert key in _validated
    del model
    gc.collect()
    assert gone() is None
    assert key not in _validated


def test_error_for_bounds_without_rows():
    _, rows = fitted("sets")
    with pytest.raises(ValueError, match=r"bounds has shape \(0, 2\)"):
        MultilabelSSVM(bounds=np.empty((0, 2))).fit(rows, np.eye(3, dtype=int)[[0, 1, 2, 1, 2, 0]])


def test_a_hierarchy_may_be_a_column_of_a_table():
    parents = np.array([[-1, 9], [0, 9], [0, 9]])[:, 0]
    X, Y = np.eye(4), np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    model = MultilabelSSVM(edges=parents, lam=0.1, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape


def bare(kind):
    """Return an object as created by a file without a state."""
    return kind.__new__(kind)


@pytest.mark.parametrize(
    "use, name",
    [
        (lambda X, y: bare(PerNode).fit(X), "PerNode: parameter transformer is missing"),
        (lambda X, y: bare(PerNode).transform(X), "PerNode: parameter transformer is missing"),
        (
            lambda X, y: bare(SequenceVectorizer).fit(X),
            "Vectorizer: parameter min_count is missing",
        ),
        (lambda X, y: bare(SequenceVectorizer).transform(X), "Vectorizer: parameter"),
        (lambda X, y: bare(PathCV).fit(X, y), "PathCV: parameter estimator is missing"),
        (lambda X, y: bare(PathCV).score(X, y), "PathCV: parameter estimator is missing"),
        (lambda X, y: bare(PathCV).split_scores(0.1), "PathCV: parameter estimator is missing"),
        (lambda X, y: bare(TreeSSVM).predict(X), "TreeSSVM: parameter parents is missing"),
        (lambda X, y: bare(RegularizationPath).w(0.1), "missing"),
    ],
)
def test_files_without_a_state(use, name):
    with pytest.raises(ValueError, match=name):
        use(*chains())


def test_rows_without_a_state(path):
    rows = bare(type(path.ws_))
    assert len(rows) == rows.width == 0
    with pytest.raises(ValueError, match="ws_ is of 0 rows"):
        changed(path, ws_=rows)
    with pytest.raises(ValueError, match="_last"):
        changed(path.ws_, _rows=...)


def test_values_that_cannot_be_compared():
    X, y = chains()
    words = SequenceVectorizer().fit([[["a", "b"]]])
    with pytest.raises(ValueError, match="vocabulary_ is"):
        changed(words, vocabulary_={"a": 0, "b": np.empty((2, 0))})
    with pytest.raises(ValueError, match="_column_names "):
        changed(words, _column_names=np.array(["a", pd.NA], dtype=object))
    search = PathCV(ChainSSVM(random_state=0), eps=0.5, cv=2).fit(X * 2, y * 2)
    with pytest.raises(ValueError, match="lam_end_ is"):
        changed(search, lam_end_=10**400)
    # Invalid parameters raise when they are used.
    odd = changed(search, refit=pd.Series([0, 1]), estimator=3.0)
    with pytest.raises(ValueError, match="refit"):
        odd.fit(X, y)


def test_attributes_along_a_path_do_not_hide_methods(path):
    for name in (None, "predict"):
        with pytest.raises(ValueError, match=r"dict of attributes|attribute predict overrides"):
            changed(path, _attributes=put(path._attributes, name, 3))
