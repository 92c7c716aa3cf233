"""Unknown, padded, continuous and wrongly stored labels never become classes silently."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    TreeSSVM,
    TypedGraphCRFSSVM,
    metrics,
)
from sstruct.masks import bio_transitions, bioes_transitions
from sstruct.preprocessing import PerNode, superpixel_labels
from sstruct.solvers import MPBCFW

RNG = np.random.default_rng(0)
N, L = 8, 6
X = [RNG.normal(size=(L, 3)) for _ in range(N)]
CODES = [RNG.integers(0, 3, L) for _ in range(N)]  # tests replace 2 by marks of unknown labels
GRAPHS = [(x, np.array([[0, 1], [1, 2], [3, 4]])) for x in X]
IMAGES = [RNG.normal(size=(3, 4, 2)) for _ in range(N)]
MASKS = [RNG.integers(0, 3, (3, 4)) for _ in range(N)]
TYPED = [([x, x[:2]], {(0, 1): np.array([[0, 0], [1, 1]])}) for x in X]
TREES = [
    {"features": list(RNG.normal(size=(3, 4, 2))), "positions": list(RNG.normal(size=(3, 4, 2)))}
    for _ in range(N)
]
ONCE = {"tol": 1e9, "random_state": 0}


def with_objects(codes, missing=None):
    out = np.where(codes == 2, None, codes.astype(object))
    out[codes == 2] = missing
    return out


# Formats of unknown labels.
UNKNOWN = {
    "None": with_objects,
    "lists of None": lambda codes: with_objects(codes).tolist(),
    "NaN": lambda codes: np.where(codes == 2, np.nan, codes),
    "NA": lambda codes: with_objects(codes, pd.NA),
    "masked": lambda codes: np.ma.masked_equal(codes, 2),
    "masked floats": lambda codes: np.ma.masked_equal(codes.astype(float), 2),
}
unknown = pytest.mark.parametrize("mark", UNKNOWN.values(), ids=UNKNOWN)


def by_type(mark):
    return [[mark(codes), ["a", "b"]] for codes in CODES]


STRUCTURES = {
    "chain": (ChainSSVM, X, lambda mark: [mark(codes) for codes in CODES]),
    "stacked": (ChainSSVM, np.array(X), lambda mark: mark(np.array(CODES))),
    "graph": (GraphCRFSSVM, GRAPHS, lambda mark: [mark(codes) for codes in CODES]),
    "grid": (GridCRFSSVM, IMAGES, lambda mark: [mark(codes) for codes in MASKS]),
    "typed": (TypedGraphCRFSSVM, TYPED, by_type),
}
structures = pytest.mark.parametrize("kind, data, labels", STRUCTURES.values(), ids=STRUCTURES)


def check_raises(message, model, *data, method="fit"):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, method)(*data)


@structures
@unknown
def test_missing_labels_are_ignored(kind, data, labels, mark):
    y, expected = labels(mark), labels(lambda codes: np.where(codes == 2, -1, codes))
    given = kind(ignore_label=-1, **ONCE).fit(data, y)
    filled = kind(ignore_label=-1, **ONCE).fit(data, expected)
    np.testing.assert_array_equal(given.w_, filled.w_)
    first = given.classes_[0] if kind is TypedGraphCRFSSVM else given.classes_
    assert first.tolist() == [0, 1]
    assert given.score(data, y) == filled.score(data, expected)


@pytest.mark.parametrize("ignore_label", [-1, "unknown"])
def test_known_bools_remain_bools(ignore_label):
    y = [[bool(code) for code in codes] for codes in CODES]
    y[0][0] = None
    model = ChainSSVM(ignore_label=ignore_label, **ONCE).fit(X, y)
    assert model.classes_.dtype == bool
    assert model.predict(X)[0].dtype == bool
    y[0][0] = pd.NA
    frames = [pd.Series(codes, dtype="boolean") for codes in y]
    assert ChainSSVM(ignore_label=ignore_label, **ONCE).fit(X, frames).classes_.dtype == bool


@structures
@unknown
def test_error_without_ignore_label(kind, data, labels, mark):
    y, known = labels(mark), labels(lambda codes: codes % 2)
    place = r"y\[0\](\[0\])? at (node|pixel) .*marks an unknown label.*set ignore_label"
    model = kind(ignore_label=None, **ONCE)
    check_raises(place, model, data, y)
    assert "classes_" not in vars(model)
    check_raises(place, model.fit(data, known), data, y, method="score")


@unknown
def test_states_of_trees(mark):
    y = [mark(codes[:3]) for codes in CODES]
    filled = [np.where(codes[:3] == 2, -1, codes[:3]) for codes in CODES]
    given = TreeSSVM(parents=[-1, 0, 0], **ONCE).fit(TREES, y)
    np.testing.assert_array_equal(
        given.w_, TreeSSVM(parents=[-1, 0, 0], **ONCE).fit(TREES, filled).w_
    )
    check_raises(
        r"y\[\d\] at part \d is .*unknown",
        TreeSSVM(parents=[-1, 0, 0], ignore_label=None),
        TREES,
        y,
    )


@pytest.mark.parametrize("kind", [MulticlassSSVM, MultilabelSSVM])
@unknown
def test_rows_require_known_labels(kind, mark):
    rows, codes = np.concatenate(X), np.concatenate(CODES)
    message = rf"y\[\d\] is .*unknown.*{kind.__name__} has no ignore_label: remove"
    check_raises(message, kind(**ONCE), rows, mark(codes))
    model = kind(**ONCE).fit(rows, codes)
    check_raises(message, model, rows, mark(codes), method="score")


def test_masked_scalars_in_lists():
    y = [[np.ma.masked if code == 2 else int(code) for code in codes] for codes in CODES]
    assert ChainSSVM(ignore_label=-1, **ONCE).fit(X, y).classes_.tolist() == [0, 1]
    check_raises(r"y\[0\] at node \d is masked", ChainSSVM(), X, y)
    rows = np.concatenate(X)
    check_raises(
        r"y\[\d+\] is masked", MulticlassSSVM(), rows, [one for codes in y for one in codes]
    )
    known = ChainSSVM(**ONCE).fit(X, CODES)
    assert known.predict(X, y)[0].shape == (L,)


def test_rows_of_images_may_be_masked():
    y = [[np.ma.masked_equal(row, 2) for row in codes] for codes in MASKS]
    assert GridCRFSSVM(**ONCE).fit(IMAGES, y).classes_.tolist() == [0, 1]


def test_sequences_keep_unknown_labels():
    for y in (
        Sequences.from_list([np.ma.masked_equal(codes, 2) for codes in CODES]),
        Sequences.from_lengths(np.ma.masked_equal(np.concatenate(CODES), 2), [L] * N),
    ):
        assert ChainSSVM(ignore_label=-1, **ONCE).fit(X, y).classes_.tolist() == [0, 1]
        check_raises("unknown", ChainSSVM(), X, y)


def test_unknown_labels_in_other_methods():
    y, known = [with_objects(codes) for codes in CODES], [codes % 2 for codes in CODES]
    check_raises("unknown", PathCV(ChainSSVM(**ONCE), cv=2), X, y)
    message = r"validation samples \(X_val, y_val\): y\[0\] at node \d is None"
    with pytest.raises(ValueError, match=message):
        ChainSSVM(solver=MPBCFW(early_stopping=True)).fit(X, known, X_val=X, y_val=y)
    model = ChainSSVM(solver="perceptron")
    with pytest.raises(ValueError, match="unknown"):
        model.partial_fit(X, y, classes=[0, 1])
    model.set_params(ignore_label=-1).partial_fit(X, y, classes=[0, 1])
    latent = LatentSSVM(ChainSSVM(ignore_label=-1, **ONCE)).fit(X, y)
    assert latent.classes_.tolist() == [0, 1]
    assert latent.n_hidden_ > 0
    check_raises(r"classes\[1\] is None", ChainSSVM(classes=[0, None]), X, known)


def test_transformers_of_nodes_accept_unknown_labels():
    y = [with_objects(codes) for codes in CODES]
    pipeline = make_pipeline(PerNode(StandardScaler()), ChainSSVM(ignore_label=-1, **ONCE))
    assert pipeline.fit(X, y)[-1].classes_.tolist() == [0, 1]
    targets = [codes / 3 for codes in CODES]  # not labels of this package
    assert PerNode(SelectKBest(k=1)).fit(X, targets).transform(X)[0].shape == (L, 1)
    masks = [np.ma.masked_equal(codes, 2) for codes in MASKS]
    pipeline = make_pipeline(PerNode(StandardScaler()), GridCRFSSVM(**ONCE))
    assert pipeline.fit(IMAGES, masks)[-1].classes_.tolist() == [0, 1]


def test_error_for_unknown_label_sets_recommends_latent_ssvm():
    sets = np.column_stack([np.concatenate(CODES) % 2, np.concatenate(CODES) > 1])
    hidden = np.ma.masked_equal(sets, 1)
    rows = np.concatenate(X)
    check_raises(r"LatentSSVM\(MultilabelSSVM\(\)\)", MultilabelSSVM(), rows, hidden)
    for mark in (None, np.nan, -1):
        y = np.where(sets == 1, mark, sets.astype(object))
        check_raises(r"y\[\d, \d\] is .*LatentSSVM", MultilabelSSVM(), rows, y)
    check_raises("Unknown label type", MultilabelSSVM(), rows, sets / 2)


def test_pixels_without_a_label_have_no_vote():
    segments, labels = np.array([[0, 0, 1], [0, 1, 1]]), [[0, 1, 2], [0, 2, 2]]
    masked = np.ma.masked_equal(labels, 2)
    assert superpixel_labels(segments, masked).tolist() == [0, -1]
    assert superpixel_labels(segments, [[0, None, 2], [None, 2, 2]]).tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"the label of pixel \(0, 2\) is None or a masked entry"):
        superpixel_labels(segments, masked, ignore_label=None)


def test_metrics_ignore_or_reject_unknown_labels():
    true = [np.ma.masked_equal(codes, 2) for codes in CODES]
    known = np.mean(np.concatenate(CODES)[np.concatenate(CODES) < 2] == 0)
    zeros = [np.zeros(L, int) for _ in X]
    assert metrics.flat_accuracy_score(true, zeros, ignore_label=-1) == pytest.approx(known)
    for score in (metrics.flat_accuracy_score, metrics.flat_f1_score):
        with pytest.raises(ValueError, match=r"y_true\[0\] at node \d is None.*ignore_label"):
            score(true, zeros)
    with pytest.raises(ValueError, match=r"y_pred\[1\] at node 0 is None"):
        metrics.flat_accuracy_score([[0], [1]], [[0], [None]])
    assert metrics.flat_accuracy_score([[None, 1]], [[None, 1]], ignore_label=-1) == 1.0
    with pytest.raises(ValueError, match=r"y_pred\[1\] at node 0 is None.*y_pred needs a label"):
        metrics.flat_accuracy_score([[None], [1]], [[None], [None]], ignore_label=-1)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        metrics.flat_accuracy_score([[0.5]], [[0.5]])
    with pytest.raises(TypeError, match=r"y_true\[0\] must be a sequence of labels, found dict"):
        metrics.flat_accuracy_score([{0: 1}], [[1]])
    tags = [["B-x", None, "I-x"]]
    assert metrics.chunk_f1_score(tags, tags, ignore_label=-1) == 1.0


RESERVED = {
    "-100 after indices": ([0, 1, 2, -100], "error"),
    "-100.0": ([0.0, 1.0, -100.0], "error"),
    "-100 beside negative": ([-100, -50, 0, 50], "warning"),
    "-100 beside 100": ([-100, 0, 100], "warning"),
    "-100 after strings": (np.array(["a", "b", -100], dtype=object), "error"),
    "-100 as a string": (["a", "b", "-100"], "error"),
    "-100 beside a minus": (["-100", "-", "a"], "warning"),
    "-100 beside 100 as strings": (["-100", "0", "100"], "warning"),
    "<PAD>": (["a", "b", "<PAD>"], "error"),
    "[pad]": (["a", "b", "[pad]"], "error"),
    "<|padding|>": (["a", "b", "<|padding|>"], "error"),
    "pad": (["a", "b", "pad"], "warning"),
    "nan": (np.array(["a", "b", np.nan]), "warning"),
    "void": (np.array([0, 1, 2, 255], np.uint8), "error"),
    "void from 1": (np.array([1, 2, 255], np.uint8), "error"),
    "void of few": (np.array([0, 15, 255], np.uint8), "warning"),
    "void beside 1": (np.array([1, 255], np.uint8), "warning"),
    "int64 void": ([0, 1, 255], "warning"),
    "binary": (np.array([0, 255], np.uint8), None),
    "gray": (np.array([0, 128, 255], np.uint8), None),
    "many": (list(range(256)), None),
    "paddle": (["a", "paddle"], None),
    "-1 and 1": ([-1, 1], None),
    "-99": ([0, 1, -99], None),
}


@pytest.mark.parametrize("names, expected", RESERVED.values(), ids=RESERVED)
@pytest.mark.parametrize("kind", ["chain", "graph", "grid", "typed"])
def test_reserved_labels(kind, names, expected):
    K = len(names)
    codes = np.arange(max(K, L)) % K
    x = RNG.normal(size=(len(codes), 3))
    y = np.asarray(names)[codes]
    kind, data, labels = {
        "chain": (ChainSSVM, [x], [y]),
        "graph": (GraphCRFSSVM, [(x, [[0, 1]])], [y]),
        "grid": (GridCRFSSVM, [x[None]], [y[None]]),
        "typed": (TypedGraphCRFSSVM, [([x, x], {})], [[y, y]]),
    }[kind]
    options = {**ONCE, "ignore_label": None}
    reserved = names[-1] if not str(names[0]).startswith("-100") else names[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if expected == "error":
            message = r"y\[0\](\[0\])? at .*use for padding or void.*Set ignore_label=.*classes="
            check_raises(message, kind(**options), data, labels)
        else:
            kind(**options).fit(data, labels)
    found = [w for w in caught if "ignore_label" in str(w.message)]
    n_types = 2 if kind is TypedGraphCRFSSVM else 1
    assert len(found) == n_types * (expected == "warning")
    if kind is TypedGraphCRFSSVM:
        given = [list(names)] * 2
    else:
        given = list(names)
    ignored = reserved.item() if isinstance(reserved, np.generic) else reserved
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        kind(**{**options, "classes": given}).fit(data, labels)  # what the message recommends
        if K > 2:
            kind(**{**options, "ignore_label": ignored}).fit(data, labels)


def test_reserved_labels_warn_once():
    y = [np.where(codes == 2, -100, codes - 1) for codes in CODES]
    early = MPBCFW(early_stopping=True)
    for solver, given in (("auto", {}), (early, {}), (early, {"X_val": X, "y_val": y})):
        with pytest.warns(UserWarning, match="y.0. at node . is -100") as caught:
            ChainSSVM(solver=solver, **ONCE).fit(X, y, **given)
        assert len([w for w in caught if "-100" in str(w.message)]) == 1
    rows, codes = np.concatenate(X), np.concatenate(y)
    with pytest.warns(UserWarning, match="MulticlassSSVM learns it as a class; remove such rows"):
        MulticlassSSVM(**ONCE).fit(rows, codes)


CONTINUOUS = {
    "chain": (ChainSSVM, X, [RNG.random(L) for _ in X]),
    "lists": (ChainSSVM, X, [RNG.random(L).tolist() for _ in X]),
    "objects": (ChainSSVM, X, [RNG.random(L).astype(object) for _ in X]),
    "stacked": (ChainSSVM, np.array(X), RNG.random((N, L))),
    "with unknown": (GraphCRFSSVM, GRAPHS, [[None, *RNG.random(L - 1)] for _ in X]),
    "Sequences": (ChainSSVM, X, Sequences.from_list([RNG.random(L) for _ in X])),
    "float32": (ChainSSVM, X, [RNG.random(L).astype(np.float32) for _ in X]),
    "graph": (GraphCRFSSVM, GRAPHS, [RNG.random(L) for _ in X]),
    "grid": (GridCRFSSVM, IMAGES, [RNG.random((3, 4)) for _ in X]),
    "typed": (TypedGraphCRFSSVM, TYPED, [[RNG.random(L), [0, 1]] for _ in X]),
    "multiclass": (MulticlassSSVM, np.concatenate(X), RNG.random(N * L)),
    "one label": (MultilabelSSVM, np.concatenate(X), RNG.random(N * L)),
    "chain of one node": (ChainSSVM, np.concatenate(X), RNG.random(N * L)),
    "latent": (lambda: LatentSSVM(ChainSSVM()), X, [RNG.random(L) for _ in X]),
    "tree": (lambda: TreeSSVM(parents=[-1, 0, 0]), TREES, [RNG.random(3) for _ in X]),
}


@pytest.mark.parametrize("kind, data, y", CONTINUOUS.values(), ids=CONTINUOUS)
def test_continuous_labels(kind, data, y):
    check_raises("Unknown label type: continuous. Maybe you are trying", kind(), data, y)


def test_times_among_numbers_are_not_labels():
    y = [[np.array([1], dtype="timedelta64[s]")[0], np.int64(2)]]
    with pytest.raises(TypeError, match=r"y has dtype timedelta64\[s\], expected numbers"):
        ChainSSVM().fit([np.eye(2)], y)


def test_integral_floats_are_labels():
    y = [codes.astype(float) for codes in CODES]
    model = ChainSSVM(**ONCE).fit(X, y)
    assert model.classes_.tolist() == [0.0, 1.0, 2.0]
    check_raises("continuous", model, X, [codes + 0.5 for codes in y], method="score")
    huge = ChainSSVM(**ONCE).fit(X, [codes * 1e300 for codes in CODES])
    assert huge.classes_.tolist() == [0.0, 1e300, 2e300]


def masked(array):
    return np.ma.masked_greater(array, 0.5)


FEATURES = {
    "chain": (ChainSSVM, [masked(x) for x in X], CODES, r"X\[0\]"),
    "objects": (ChainSSVM, np.array([*map(masked, X), None], object)[:-1], CODES, r"X\[0\]"),
    "rows in lists": (ChainSSVM, [[masked(row) for row in x] for x in X], CODES, r"X\[0\]\["),
    "stacked": (ChainSSVM, masked(np.array(X)), np.array(CODES), "X"),
    "rows": (ChainSSVM, masked(np.concatenate(X)), np.concatenate(CODES), "X"),
    "edges": (ChainSSVM, [(x, masked(x[1:])) for x in X], CODES, r"edge features of X\[0\]"),
    "graph": (GraphCRFSSVM, [(masked(x), e) for x, e in GRAPHS], CODES, r"X\[0\]"),
    "edges of graphs": (
        lambda: GraphCRFSSVM(pairwise="directed"),
        [(x, e, masked(x[:3])) for x, e in GRAPHS],
        CODES,
        r"edge features of X\[0\]",
    ),
    "grid": (GridCRFSSVM, [masked(x) for x in IMAGES], MASKS, r"X\[0\]"),
    "stacked grid": (GridCRFSSVM, masked(np.array(IMAGES)), MASKS, "X"),
    "typed": (TypedGraphCRFSSVM, [([masked(x), y], e) for (x, y), e in TYPED], by_type(abs), "X"),
    "multiclass": (MulticlassSSVM, masked(np.concatenate(X)), np.concatenate(CODES), "X"),
    "sets": (MultilabelSSVM, masked(np.concatenate(X)), np.ones((N * L, 2), int), "X"),
    "tree": (
        lambda: TreeSSVM(parents=[-1, 0, 0]),
        [{**tree, "features": [masked(x) for x in tree["features"]]} for tree in TREES],
        [[0, 0, 0]] * N,
        r"part 0 of X\[0\]",
    ),
    "transformer": (lambda: PerNode(StandardScaler()), [masked(x) for x in X], CODES, r"X\[0\]"),
}


@pytest.mark.parametrize("kind, data, y, place", FEATURES.values(), ids=FEATURES)
def test_masked_features(kind, data, y, place):
    check_raises(rf"{place}.* has \d+ masked entries\. Fill them first", kind(), data, y)


def test_masked_arrays_without_a_masked_entry_are_arrays():
    model = ChainSSVM(**ONCE).fit([np.ma.array(x) for x in X], [np.ma.array(y) for y in CODES])
    np.testing.assert_array_equal(model.w_, ChainSSVM(**ONCE).fit(X, CODES).w_)
    assert type(model.classes_) is np.ndarray
    check_raises("X has 49 masked entries", model, masked(np.array(X)), method="predict")
    with pytest.raises(ValueError, match=r"sample_weight has \d+ masked entries"):
        model.fit(X, CODES, masked(np.ones(N)))
    with pytest.raises(ValueError, match=r"items\[0\] has \d+ masked entries"):
        Sequences.from_list([masked(x) for x in X])


WITHOUT_ORDER = {
    "dict": lambda codes: dict(enumerate(codes.tolist())),
    "set": lambda codes: set(codes.tolist()),
    "frozenset": lambda codes: frozenset(codes.tolist()),
    "keys": lambda codes: dict.fromkeys(codes.tolist()).keys(),
    "generator": lambda codes: (code for code in codes.tolist()),
}


@pytest.mark.parametrize("make", WITHOUT_ORDER.values(), ids=WITHOUT_ORDER)
def test_containers_without_order(make):
    y = [make(codes) for codes in CODES]
    check_raises(r"y\[0\] must be a sequence of labels", ChainSSVM(), X, y)
    check_raises(r"y\[0\] must be a sequence of labels", GraphCRFSSVM(), GRAPHS, y)
    typed = [[make(codes), [0, 1]] for codes in CODES]
    check_raises(r"y\[0\]\[0\] must be a sequence", TypedGraphCRFSSVM(), TYPED, typed)
    check_raises(r"y\[0\]", GridCRFSSVM(), IMAGES, [make(codes.ravel()) for codes in MASKS])
    model = ChainSSVM(**ONCE).fit(X, CODES)
    check_raises(r"y_partial\[0\] must be an array of labels", model, X, y, method="predict")
    with pytest.raises(TypeError):
        Sequences.from_list(y)


@pytest.mark.parametrize("y", [{(0, 1), (1, 2)}, {0: (0, 1)}, frozenset()], ids=repr)
def test_samples_without_order(y):
    check_raises("y must be a sequence of label sequences, found", ChainSSVM(), X, y)
    check_raises("y must be a sequence of label sequences, found", GridCRFSSVM(), IMAGES, y)
    check_raises(
        "y is a (set|dict|frozenset), expected a list", MulticlassSSVM(), np.concatenate(X), y
    )


def test_errors_for_wrong_shapes():
    check_raises(r"X\[0\] has shape \(6, 3, 1\)", ChainSSVM(), [x[..., None] for x in X], CODES)
    column = [codes[:, None] for codes in CODES]
    for y in (column, np.array(column)):
        check_raises(r"y\[0\] has shape \(6, 1\).*y\[0\].ravel", ChainSSVM(), X, y)
    check_raises(
        r"y\[0\] has shape \(6, 3\).*argmax", ChainSSVM(), X, [np.eye(3)[y] for y in CODES]
    )
    check_raises(r"y\[0\] has shape \(6, 1\)", GraphCRFSSVM(), GRAPHS, column)
    nested = [y.tolist() for y in column]
    check_raises(r"y\[0\] at node 0: \[\d\] is not hashable", ChainSSVM(), X, nested)
    one_hot = [np.eye(3)[y] for y in MASKS]
    check_raises(r"y\[0\] has shape \(3, 4, 3\).*argmax\(axis=2\)", GridCRFSSVM(), IMAGES, one_hot)
    check_raises(
        r"y\[0\] has shape \(3, 4, 1\)", GridCRFSSVM(), IMAGES, [y[..., None] for y in MASKS]
    )


class Picture:
    """An object like an image of Pillow: neither sized nor iterable."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


def test_masks_as_pillow_has_them():
    masks = [codes.astype(np.uint8) for codes in MASKS]
    pictures = [Picture(codes) for codes in masks]
    expected = GridCRFSSVM(**ONCE).fit(IMAGES, masks)
    model = GridCRFSSVM(**ONCE).fit(IMAGES, pictures)
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.score(IMAGES, pictures) == expected.score(IMAGES, masks)
    found = model.predict(IMAGES, pictures)
    np.testing.assert_array_equal(found[0], masks[0])
    assert metrics.flat_accuracy_score(pictures, list(found)) == 1.0
    void = [Picture(np.where(codes == 2, 255, codes).astype(np.uint8)) for codes in MASKS]
    check_raises("Set ignore_label=255", GridCRFSSVM(), IMAGES, void)
    colors = [Picture(np.stack([codes] * 3, axis=2)) for codes in masks]
    check_raises(
        r"y\[0\] has shape \(3, 4, 3\).*Convert colors.*y\[0\].argmax",
        GridCRFSSVM(),
        IMAGES,
        colors,
    )


BROKEN = {
    "IOB1": (bio_transitions, ["O", "I-x", "I-x", "I-y"], r"IOB1.*first tag of each chunk.*'B-x'"),
    "IOB1 start": (bio_transitions, ["I-x", "I-x", "O", "O"], r"starts with 'I-x'.*IOB1.*'B-x'"),
    "one": (bio_transitions, ["B-x", "O", "I-y", "B-y"], r"1 of the chunks .*'B-y'"),
    "no types": (bio_transitions, ["O", "I", "I", "O"], r"IOB1.*'B'"),
    "BIO": (bioes_transitions, ["B-x", "I-x", "O", "O"], r"BIO tags, use .*bio_transitions"),
    "open": (bioes_transitions, ["B-x", "O", "S-x", "O"], r"chunk open"),
    "ends": (bioes_transitions, ["S-x", "O", "O", "B-x"], r"ends with 'B-x'.*chunk open"),
    "own": (lambda a, b: b != "I", ["O", "I", "O", "O"], r"which transition_mask forbids$"),
}


@pytest.mark.parametrize("mask, tags, message", BROKEN.values(), ids=BROKEN)
def test_tags_that_break_a_mask(mask, tags, message):
    fine = ["S-x" if mask is bioes_transitions and tags != BROKEN["BIO"][1] else "O", "O", "O", "O"]
    data = [np.eye(4)] * 2
    check_raises(rf"y\[1\] .*{message}", ChainSSVM(transition_mask=mask), data, [fine, tags])


def test_nan_features_are_explained():
    padded = np.full((N, L + 2, 3), np.nan)
    padded[:, :L] = X
    y = np.full((N, L + 2), -1)
    y[:, :L] = CODES
    check_raises(r"X\[0\] .*node 6. All features are NaN.*padding", ChainSSVM(), padded, y)
    check_raises(r"X\[0\] .*node 6.*padding", ChainSSVM(), [x[: L + 1] for x in padded], list(y))
    inside = [x.copy() for x in X]
    inside[2][1, 0] = np.nan
    for kind, data in ((ChainSSVM, inside), (GraphCRFSSVM, [(x, [[0, 1]]) for x in inside])):
        check_raises(r"X\[2\] .*node 1. Impute missing.*ignore_label", kind(), data, CODES)
    inside[2][1, 0] = np.inf
    check_raises(r"X\[2\] contains NaN or infinity at node 1$", ChainSSVM(), inside, CODES)
