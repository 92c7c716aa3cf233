"""Data frames and series of pandas and polars as input; column names are kept."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM, PathCV
from sstruct._input.labels import object_array
from sstruct.metrics import flat_accuracy_score
from tests.estimators.equal import equal
from tests.registry import EXAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
FIT = {"lam": 0.1, "random_state": 0, "max_iter": 5}
CHAINS = [RNG.standard_normal((length, 2)) for length in (3, 1, 5, 4)]
TAGS = [list("aba"), list("b"), list("aabab"), list("bbaa")]
ROWS = RNG.standard_normal((30, 2))
SETS = (ROWS @ RNG.standard_normal((2, 3)) + RNG.standard_normal((30, 3)) > 0).astype(int)
TOPICS = ["news", "art", "sports"]
EDGES = np.array([[0, 1], [1, 2]])


class Library:
    """Functions of pandas or polars that the tests use."""

    def __init__(self, name):
        self.name, self.module = name, pytest.importorskip(name)

    def frame(self, array, names):
        return self.module.DataFrame(dict(zip(names, np.asarray(array).T, strict=True)))

    def column(self, items):
        """Return a series of arbitrary items."""
        if self.name == "pandas":
            return self.module.Series(object_array(items), index=range(5, 5 + len(items)))
        return self.module.Series("x", list(items), dtype=self.module.Object)


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return Library(request.param)


def test_sequences_of_frames_keep_their_names(library):
    X = [library.frame(x, ["wide", "high"]) for x in CHAINS]
    expected = ChainSSVM(**FIT).fit(CHAINS, TAGS)
    assert not hasattr(expected, "feature_names_in_")
    model = ChainSSVM(**FIT).fit(X, [library.module.Series(tags) for tags in TAGS])
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.feature_names_in_.tolist() == ["wide", "high"]
    assert equal(model.predict(X), expected.predict(CHAINS))
    assert equal(model.predict(library.column(X)), expected.predict(CHAINS))
    assert model.score(X, TAGS) == expected.score(CHAINS, TAGS)
    with pytest.raises(ValueError, match=r"columns of X\[0\] are \['high', 'wide'\], expected tho"):
        model.predict([x[["high", "wide"]] for x in X])
    with pytest.raises(ValueError, match=r"columns of X\[1\] are \['high', 'wide'\]"):
        ChainSSVM(**FIT).fit([X[0], *(x[["high", "wide"]] for x in X[1:])], TAGS)
    frame = model.to_frame()
    assert set(frame.feature[frame.kind == "coef"]) == {"wide", "high"}


def test_names_of_several_types_raise():
    pd = pytest.importorskip("pandas")
    X = [pd.DataFrame(x, columns=["wide", 1]) for x in CHAINS]
    with pytest.raises(TypeError, match=r"data frame are \['wide', 1\], expected only"):
        ChainSSVM(**FIT).fit(X, TAGS)


def test_columns_of_arrays_are_lists_of_arrays(library):
    expected = ChainSSVM(**FIT).fit(CHAINS, TAGS)
    X, y = library.column(CHAINS), library.column(TAGS)
    model = ChainSSVM(**FIT).fit(X, y)
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert equal(model.predict(X), expected.predict(CHAINS))
    assert model.score(X, y) == expected.score(CHAINS, TAGS)
    with pytest.raises(ValueError, match=r"X\[2\] has 1 features, expected 2"):
        model.predict(library.column([*CHAINS[:2], CHAINS[2][:, :1]]))
    # A column of a table may contain nested lists.
    nested = [x.tolist() for x in CHAINS]
    table = library.module.DataFrame({"x": nested, "y": TAGS})
    again = ChainSSVM(**FIT).fit(table["x"], table["y"])
    np.testing.assert_array_equal(again.w_, expected.w_)
    # A column of vectors is a table of rows.
    rows = library.module.Series([row.tolist() for row in ROWS])
    labels = (SETS[:, 0] + 1).tolist()
    model = MulticlassSSVM(**FIT).fit(rows, library.module.Series(labels))
    np.testing.assert_array_equal(model.w_, MulticlassSSVM(**FIT).fit(ROWS, labels).w_)
    assert equal(model.predict(rows), model.predict(ROWS))
    # A series of numbers is not a series of samples.
    with pytest.raises(ValueError, match=r"Expected (2D|a 2-dim)"):
        ChainSSVM().fit(library.module.Series([1.0, 2.0]), ["a", "b"])


def test_columns_are_split_and_scored(library):
    X, y = library.column(CHAINS * 3), library.module.Series(TAGS * 3)
    grid = {"lam": [0.1, 1.0]}
    estimator = ChainSSVM(random_state=0)
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, y)
    expected = GridSearchCV(estimator, grid, cv=3).fit(CHAINS * 3, TAGS * 3)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert equal(
        cross_val_predict(estimator, X, y, cv=3),
        cross_val_predict(estimator, CHAINS * 3, TAGS * 3, cv=3),
    )
    score = flat_accuracy_score(y, search.predict(X))
    assert score == flat_accuracy_score(TAGS * 3, expected.predict(CHAINS * 3))


def test_tables_of_rows_keep_their_names(library):
    X = library.frame(ROWS, ["wide", "high"])
    y = library.module.Series(["b" if on else "a" for on in SETS[:, 0]])
    for estimator in (MulticlassSSVM, ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MultilabelSSVM):
        model = estimator(**FIT).fit(X, y)
        assert model.feature_names_in_.tolist() == ["wide", "high"]
        expected = estimator(**FIT).fit(ROWS, y.to_list())
        np.testing.assert_array_equal(model.w_, expected.w_)
        assert model.predict(X).tolist() == expected.predict(ROWS).tolist()
        assert "high" in set(model.to_frame().feature)
        with pytest.raises(ValueError, match=r"feature names should match"):
            model.predict(X[["high", "wide"]])


def framed(value, library):
    """Return samples in which all tables are replaced by frames."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype != object:
        return library.frame(value, [f"column {j}" for j in range(value.shape[1])])
    if isinstance(value, list | tuple):
        return type(value)(framed(item, library) for item in value)
    if isinstance(value, dict):
        return {key: framed(item, library) for key, item in value.items()}
    return value


@pytest.mark.parametrize(
    "name", [n for n, example in EXAMPLES.items() if "oracle" not in example.required]
)
def test_frames_stand_for_the_tables_in_samples(library, name):
    example = EXAMPLES[name]
    X, y = example.samples()
    frames = framed(X, library)
    expected, model = example.fitted(), example.unfitted().fit(frames, y)
    assert equal(model.predict(frames), expected.predict(X))
    assert model.score(frames, y) == expected.score(X, y)


@pytest.mark.parametrize("name", EXAMPLES)
def test_columns_stand_for_lists_of_samples(library, name):
    example = EXAMPLES[name]
    X, y = example.samples()
    columns = (library.column(list(X)), library.column(y) if isinstance(y, list) else y)
    expected, model = example.fitted(), example.unfitted().fit(*columns)
    assert equal(list(model.predict(columns[0])), list(expected.predict(X)))
    assert model.score(*columns) == expected.score(X, y)


@pytest.mark.parametrize("pairwise", ["contrast", "directed"])
def test_features_of_edges_keep_their_names(library, pairwise):
    pytest.importorskip("pandas")
    nodes, features = RNG.standard_normal((4, 3, 2)), RNG.random((4, 2, 2))
    y = RNG.integers(0, 2, (4, 3))
    names = ["length", "contrast"]

    def graphs(names):
        return [(x, EDGES, library.frame(e, names)) for x, e in zip(nodes, features)]

    arrays = list(zip(nodes, [EDGES] * 4, features))
    expected = GraphCRFSSVM(pairwise=pairwise, **FIT).fit(arrays, y)
    model = GraphCRFSSVM(pairwise=pairwise, **FIT).fit(graphs(names), y)
    np.testing.assert_array_equal(model.w_, expected.w_)
    frame = model.to_frame()
    assert frame.feature[frame.kind == "edge"].unique().tolist() == names
    assert equal(model.predict(graphs(names)), expected.predict(arrays))
    model.predict(arrays)
    with pytest.raises(ValueError, match=r"edge features of X\[0\] are .* the names of the fit"):
        model.predict(graphs(names[::-1]))
    mixed = [*graphs(names)[:2], *graphs(["length", "other"])[2:]]
    with pytest.raises(ValueError, match=r"edge features of X\[2\] are .* the names of X\[0\]: "):
        GraphCRFSSVM(pairwise=pairwise, **FIT).fit(mixed, y)
    model.fit(graphs(names[::-1]), y)  # a refit has other names, or none
    assert model.to_frame().feature.tolist()[-1] == names[0]
    frame = model.fit(arrays, y).to_frame()
    assert frame.feature[frame.kind == "edge"].unique().tolist() == ["edge0", "edge1"]
    GraphCRFSSVM(**FIT).fit(mixed, y)  # reads no edge features


def indexed(library, X):
    """Return rows with a separate index, if the library supports it."""
    return X.set_index(np.arange(len(X)) * 2 + 100) if library.name == "pandas" else X


@pytest.mark.parametrize("edges", ["full", None])
@pytest.mark.parametrize("kind", [int, bool, float])
def test_predictions_for_frame_of_label_sets_are_a_frame(library, edges, kind):
    X = indexed(library, library.frame(ROWS, ["wide", "high"]))
    Y = library.frame(SETS.astype(kind), TOPICS)
    expected = MultilabelSSVM(edges=edges, **FIT).fit(ROWS, SETS)
    assert expected.classes_.tolist() == [0, 1, 2]
    model = MultilabelSSVM(edges=edges, **FIT).fit(X, Y)
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.classes_.tolist() == TOPICS
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        found = fitted.predict(X)
        assert isinstance(found, library.module.DataFrame)
        assert list(found.columns) == TOPICS
        np.testing.assert_array_equal(found.to_numpy(), expected.predict(ROWS))
        assert found.to_numpy().dtype == np.int64
    if library.name == "pandas":
        assert found.index.equals(X.index)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        plain = model.predict(ROWS)
    assert list(plain.columns) == TOPICS
    assert isinstance(model.decision_function(X), np.ndarray)
    assert model.score(X, Y) == model.score(X, SETS) == expected.score(ROWS, SETS)
    frame = model.to_frame()
    assert frame.label[frame.kind == "intercept"].tolist() == TOPICS
    # A fit to arrays removes the names.
    again = model.fit(ROWS, SETS)
    assert isinstance(again.predict(ROWS), np.ndarray)
    assert again.classes_.tolist() == [0, 1, 2]


def test_names_of_labels_must_be_those_of_the_fit(library):
    Y = library.frame(SETS, TOPICS)
    other = ["art", "news", "sports"]
    model = MultilabelSSVM(**FIT).fit(ROWS, Y)
    with pytest.raises(ValueError, match=r"columns of y are \['art', 'news', 'sports'\], expected"):
        model.score(ROWS, Y[other])
    with pytest.raises(ValueError, match=r"columns of y are \['news', 'art', 'sports'\], expected"):
        MultilabelSSVM(classes=other, **FIT).fit(ROWS, Y)
    assert MultilabelSSVM(classes=TOPICS, **FIT).fit(ROWS, Y).classes_.tolist() == TOPICS
    # Arrays have no names to compare.
    assert model.score(ROWS, SETS[:, [1, 0, 2]]) != model.score(ROWS, SETS)


def test_frames_of_labels_in_searches_and_scores(library):
    X, Y = library.frame(ROWS, ["wide", "high"]), library.frame(SETS, TOPICS)
    pipeline = make_pipeline(StandardScaler(), MultilabelSSVM(**FIT))
    grid = {"multilabelssvm__lam": [0.01, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring="f1_macro", error_score="raise").fit(X, Y)
    found = search.predict(X)
    assert list(found.columns) == TOPICS
    arrays = clone(search.best_estimator_).fit(ROWS, SETS).predict(ROWS)
    np.testing.assert_array_equal(found.to_numpy(), arrays)
    assert f1_score(Y, found, average="micro") == f1_score(SETS, arrays, average="micro")
    folds = cross_val_predict(MultilabelSSVM(**FIT), X, Y, cv=2)
    np.testing.assert_array_equal(folds, cross_val_predict(MultilabelSSVM(**FIT), ROWS, SETS, cv=2))
    path = PathCV(MultilabelSSVM(random_state=0), lams=[0.1, 1.0], cv=2).fit(X, Y)
    assert list(path.predict(X).columns) == path.classes_.tolist() == TOPICS


def test_columns_without_names_are_numbers():
    pd = pytest.importorskip("pandas")
    model = MultilabelSSVM(**FIT).fit(ROWS, pd.DataFrame(SETS))
    assert model.classes_.tolist() == list(model.predict(ROWS).columns) == [0, 1, 2]
    model = MultilabelSSVM(classes=TOPICS, **FIT).fit(ROWS, pd.DataFrame(SETS))
    assert model.classes_.tolist() == list(model.predict(ROWS).columns) == TOPICS
    model = MultilabelSSVM(**FIT).fit(ROWS, pd.DataFrame(SETS, columns=[7, 3, 5]))
    assert model.classes_.tolist() == list(model.predict(ROWS).columns) == [7, 3, 5]
    pairs = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    model = MultilabelSSVM(**FIT).fit(ROWS, pd.DataFrame(SETS, columns=pairs))
    assert model.classes_.tolist() == pairs.tolist()
    assert model.predict(ROWS).columns.equals(pairs)
    nullable = pd.DataFrame(SETS, columns=TOPICS).astype("boolean")
    model = MultilabelSSVM(**FIT).fit(ROWS, nullable)
    np.testing.assert_array_equal(model.w_, MultilabelSSVM(**FIT).fit(ROWS, SETS).w_)
    with pytest.raises(ValueError, match="y has several columns 'a'"):
        MultilabelSSVM().fit(ROWS, pd.DataFrame(SETS, columns=["a", "b", "a"]))
    wrong = pd.DataFrame(SETS.copy(), columns=TOPICS)
    wrong.iloc[2, 1] = 2
    with pytest.raises(ValueError, match=r"y\[2, 1\] is 2, expected 0 or 1"):
        MultilabelSSVM().fit(ROWS, wrong)


def test_error_without_the_library_of_the_frames(library, monkeypatch):
    model = MultilabelSSVM(**FIT).fit(ROWS, library.frame(SETS, TOPICS))

    def without(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("sstruct._input.frames.import_module", without)
    with pytest.raises(ImportError, match=rf"{library.name} is not installed: pip install"):
        model.predict(ROWS)


def test_error_names_sample_with_missing_values(library):
    X = [library.frame(x, ["wide", "high"]) for x in CHAINS]
    holed = CHAINS[2].copy()
    holed[3, 1] = np.nan
    X[2] = library.frame(holed, ["wide", "high"])
    with pytest.raises(ValueError, match=r"X\[2\] contains NaN or infinity at node 3"):
        ChainSSVM().fit(X, TAGS)
    X[2] = library.module.DataFrame({"wide": list("abcde"), "high": [1.0] * 5})
    with pytest.raises(ValueError, match=r"X\[2\] is not a numeric 2-D array"):
        ChainSSVM().fit(X, TAGS)


def test_missing_values_of_nullable_columns_are_named():
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(x, columns=["wide", "high"]).convert_dtypes() for x in CHAINS]
    complete = ChainSSVM(**FIT).fit(frames, TAGS)
    assert equal(complete.w_, ChainSSVM(**FIT).fit(CHAINS, TAGS).w_)
    frames[2].iloc[3, 1] = pd.NA
    message = r"X\[2\] contains NaN or infinity at node 3\. Impute missing features"
    with pytest.raises(ValueError, match=message):
        ChainSSVM().fit(frames, TAGS)
    assert frames[2].iloc[3, 1] is pd.NA


# Old versions of pandas and polars warn about attributes that scikit-learn reads.
@pytest.mark.filterwarnings("ignore")
def test_error_for_lazy_and_grouped_frames(library):
    table = library.frame(CHAINS[2], ["wide", "high"])
    grouped = (table.groupby if library.name == "pandas" else table.group_by)("wide")
    with pytest.raises(TypeError, match=r"found \w*GroupBy; use \[group for _, group in X\]"):
        ChainSSVM().fit(grouped, TAGS)
    if library.name == "polars":
        with pytest.raises(TypeError, match=r"found LazyFrame; use X.collect\(\)"):
            MulticlassSSVM().fit(table.lazy(), TAGS[2])
        with pytest.raises(TypeError, match=r"X\[0\] must be.*LazyFrame; use X\[0\].collect\(\)"):
            ChainSSVM().fit([table.lazy()], [TAGS[2]])


def test_error_for_items_that_are_not_tables():
    with pytest.raises(TypeError, match=r"X\[0\] must be an array.* found object"):
        ChainSSVM().fit([object(), object()], TAGS[:2])
    with pytest.raises(TypeError, match=r"X must be a table of numbers: float\(\) argument"):
        MulticlassSSVM().fit([[1.0, object()], [1.0, 2.0]], [0, 1])
