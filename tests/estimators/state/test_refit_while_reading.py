"""Test that a call during a refit uses either the old or the new fit."""

import pickle
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import sstruct
from sstruct import ChainSSVM, MultilabelSSVM, PathCV
from sstruct.preprocessing import PerNode, SequenceVectorizer
from tests.registry import EXAMPLES, FIRST

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FOLDER = Path(sstruct.__file__).parent
# Trace events are counted in these modules, and in functions of other modules with these names.
MODULES = {str(path) for path in FOLDER.glob("*.py")}
MODULES |= {str(path) for path in FOLDER.glob("_estimators/**/*.py")}
MODULES |= {str(path) for path in FOLDER.glob("preprocessing/*.py")}
MODULES -= {path for path in MODULES if path.endswith("fitted_state.py")}
READERS = ("read", "_require_fitted", "_snapshot", "_publish")
COMMON = {"lam": 0.1, "random_state": 0, "max_iter": 5}
N_POINTS = 25


def labels(X, names):
    """Return a label for each node of samples, by its largest feature."""
    return [[names[k] for k in np.argmax(x[:, : len(names)], axis=-1)] for x in X]


def chains():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(4, 3)) for _ in range(8)]


def renamed(y):
    """Return labels with other names."""
    if isinstance(y, list):
        return [renamed(labels) for labels in y]
    return y + 5


def fits(kind):
    """Return two fits of an estimator, samples and their labels in the first."""
    if kind in EXAMPLES:
        example = EXAMPLES[kind]
        X, y = example.samples()
        other = example.unfitted(**example.refitted)
        has_classes = "classes" in other.get_params() and "classes" not in example.refitted
        is_named = has_classes and example.estimator is not MultilabelSSVM
        other.fit(X, renamed(y) if is_named else y)
        return example.fitted(), other, X, y
    X = chains()
    first, second = labels(X, "ab"), labels(X, "xyz")
    rows = np.concatenate(X)
    if kind == "chain, more labels":
        second = [[label.upper() for label in sample] for sample in second]
        other = ChainSSVM(**COMMON).fit(X, second)
        return ChainSSVM(boundaries=False, **COMMON).fit(X, first), other, X, first
    if kind == "chain, edge features":
        X = [(x, np.ones((len(x) - 1, 2))) for x in X]
        return *(ChainSSVM(**COMMON).fit(X, y) for y in (first, second)), X, first
    if kind == "label sets or one label":
        Y = [rows[:, :2] > 0, np.concatenate(second)]
        return *(MultilabelSSVM(**COMMON).fit(rows, y) for y in Y), rows, Y[0]
    if kind == "words":
        X = [[{"w": "a", "n": 2.0}, {"b": 1}]]
        other = [[{"b": 1}, {"n": 3}, {"w:a": 1}, {"c": 1}]]
        return SequenceVectorizer().fit(X), SequenceVectorizer().fit(other), X, None
    if kind == "scaled nodes":
        frames, other = ([pd.DataFrame(x, columns=list(n)) for x in X] for n in ("abc", "xyz"))
        return *(PerNode(StandardScaler()).fit(each) for each in (frames, other)), frames, None
    searches = (
        PathCV(ChainSSVM(**COMMON), lams=lams, cv=2, eps=0.5, scoring=scoring)
        for lams, scoring in (([1.0, 0.1], None), ([0.5], scored_by_classes))
    )
    return *(m.fit(X, y) for m, y in zip(searches, (first, second))), X, first


def scored_by_classes(estimator, X, y):
    return float(len(estimator.classes_))


KINDS = (
    *(name for name, example in EXAMPLES.items() if example in FIRST.values()), "featured graph",
    "chain, more labels", "chain, edge features", "label sets or one label", "path"
)  # fmt: skip
TRANSFORMERS = "words", "scaled nodes"
READS = {
    "transform": lambda model, X, y: transformed(model, X),
    "get_feature_names_out": lambda model, X, y: model.get_feature_names_out(),
    "predict": lambda model, X, y: model.predict(X),
    "decision_function": lambda model, X, y: model.decision_function(X),
    "predict_top_k": lambda model, X, y: model.predict_top_k(X, 2),
    "score": lambda model, X, y: model.score(X, y),
    "split_scores": lambda model, X, y: model.split_scores(1.0),
    "to_frame": lambda model, X, y: model.to_frame(),
    "w_": lambda model, X, y: model.w_,
    "intercept_": lambda model, X, y: model.intercept_,
    "edge_coef_": lambda model, X, y: model.edge_coef_,
    "classes_": lambda model, X, y: model.classes_,
    "pickle": lambda model, X, y: used(pickle.loads(pickle.dumps(model)), X),
}


def used(model, X):
    return model.predict(X) if hasattr(model, "predict") else transformed(model, X)


def transformed(model, X):
    rows = model.transform(X)
    if isinstance(rows, list):
        return rows
    return rows.flat.toarray(), list(rows.feature_names)


def listed(value):
    """Return a result as lists, which == compares."""
    if isinstance(value, pd.DataFrame):
        return value.astype(str).to_numpy().tolist()
    if isinstance(value, dict):
        return {name: listed(each) for name, each in value.items()}
    if isinstance(value, list | tuple) or getattr(value, "dtype", None) is np.dtype(object):
        return [listed(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def result(read, *given):
    """Return the result of a read, or the message of its error: y may have unseen labels."""
    try:
        return listed(read(*given))
    except ValueError as error:
        return str(error)


def replacing(first, second):
    """Return the attributes to publish so that the first model becomes the second."""
    names = (vars(first).keys() | vars(second).keys()) - first.get_params(deep=False).keys()
    return {name: vars(second).get(name) for name in names}


class TraceFunction:
    """A trace function that calls `function` at event number `at`, or at every event if it is None.

    Only events in `MODULES` and `READERS` are counted, of functions called `names` if given.
    """

    def __init__(self, at, function, names=None):
        self.at, self.function, self.names, self.count = at, function, names, 0

    def __call__(self, frame, event, _):
        code = frame.f_code
        if code.co_filename not in MODULES and code.co_name not in READERS:
            return None
        if self.names is not None and code.co_name not in self.names:
            return None
        frame.f_trace_opcodes = True
        self.count += 1
        if self.at is None or self.count == self.at:
            self.function()
        return self


def traced(trace, function):
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        return function()
    finally:
        sys.settrace(previous)


@pytest.mark.parametrize("kind", [*KINDS, *TRANSFORMERS])
def test_each_call_sees_one_fit(kind):
    first, second, X, y = fits(kind)
    new, old = replacing(first, second), replacing(first, first)
    for name, read in READS.items():
        if not hasattr(first, name) and name != "pickle":
            continue
        results = [result(read, model, X, y) for model in (first, second)]
        counter = TraceFunction(0, None)
        traced(counter, lambda read=read: result(read, first, X, y))
        # Reading a plain attribute runs no traced code; then there are no points.
        points = np.linspace(1, counter.count, min(N_POINTS, counter.count))
        for at in np.unique(points.astype(int)):
            swap = TraceFunction(at, lambda: first._publish(new))
            found = traced(swap, lambda read=read: result(read, first, X, y))
            assert swap.count >= at
            assert found in results, f"{name} mixes two fits, at event {at} of {counter.count}"
            first._publish(old)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_published_in_one_step(kind):
    first, second, X, y = fits(kind)
    reads = {name: READS[name] for name in ("predict", "pickle")}
    allowed = {n: [listed(read(m, X, y)) for m in (first, second)] for n, read in reads.items()}
    seen = []

    def record():
        for name, read in reads.items():
            seen.append(allowed[name].index(listed(read(first, X, y))))

    trace = TraceFunction(None, record, ("_publish",))
    traced(trace, lambda: first._publish(replacing(first, second)))
    assert seen == sorted(seen), "the old fit was read after the new one"
    assert {*seen} == {0, 1} or allowed["predict"][0] == allowed["predict"][1]


def test_fit_publishes_once(monkeypatch):
    first, _, X, _ = fits("chain, more labels")
    before, seen, publish = first.predict(X), [], ChainSSVM._publish

    def counted(self, attributes):
        seen.append(listed(self.predict(X)) == listed(before))
        publish(self, attributes)

    monkeypatch.setattr(ChainSSVM, "_publish", counted)
    state = vars(first)
    first.fit(X, labels(X, "xyz"))
    assert seen == [True]
    assert vars(first) is not state, "attributes of a fit were set one after another"
    assert state["classes_"].tolist() == ["a", "b"]


def test_predict_does_not_change_the_model():
    first, _, X, _ = fits("chain, more labels")
    state = dict(vars(first))
    first.predict(X)
    assert dict(vars(first)) == state
    assert "_is_snapshot" not in first._require_fitted().__getstate__()


def test_threads_that_predict_during_fits():
    first, second, X, y = fits("chain, more labels")
    expected = [listed(model.predict(X)) for model in (first, second)]
    seen, over = Counter(), threading.Event()
    other = labels(X, "XYZ")

    def predict():
        while not over.is_set():
            try:
                seen["one" if listed(first.predict(X)) in expected else "mixed"] += 1
            except Exception as error:
                seen[type(error).__name__] += 1

    threads = [threading.Thread(target=predict) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected.append(listed(ChainSSVM(**COMMON).fit(X, other).predict(X)))
        expected.append(listed(ChainSSVM(boundaries=False, **COMMON).fit(X, other).predict(X)))
        for thread in threads:
            thread.start()
        try:
            for _ in range(40):
                first.fit(X, other)
                first.fit(X, y)
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert seen.keys() == {"one"}
