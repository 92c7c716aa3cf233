"""The readers of exported models predict the same labels as the models."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler

from sstruct import ChainSSVM, MulticlassSSVM, MultilabelSSVM
from sstruct.datasets import make_sequences
from sstruct.export import export_model, reader_path
from sstruct.masks import bio_kinds, bio_transitions
from sstruct.preprocessing import PerNode, SequenceVectorizer
from tests.export.readers import as_text, c_labels, c_program, js_labels, onnx_labels, run

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TAGS = np.array(["B-a", "I-a", "O", "B-ä", "I-ä"])


def sequences(rng, n=60, n_features=3):
    return [rng.standard_normal((rng.integers(1, 8), n_features)) for _ in range(n)]


def tagged(rng, X):
    """Return labels that depend on the rows and obey the BIO scheme."""
    y = []
    for x in X:
        codes = (x[:, :3] @ np.arange(1, 4)).astype(int) % 5
        labels = TAGS[codes].tolist()
        for l, label in enumerate(labels):
            if not bio_transitions(labels[l - 1] if l else None, label):
                labels[l] = f"B-{label[2:]}"
        y.append(labels)
    return y


def chain(**parameters):
    return ChainSSVM(**{"lam": 0.02, "max_iter": 20, "tol": 0.1, "random_state": 0} | parameters)


def check_numbers(model, path, X):
    """Compare all readers with the model on sequences of numbers; return the labels as text."""
    export_model(model, path / "model.json")
    expected = [labels.tolist() for labels in model.predict(X)]
    rows = [np.asarray(x).tolist() for x in X]
    assert js_labels(path / "model.json", rows) == expected
    texts = [as_text(labels) for labels in expected]
    assert c_labels(path / "model.json", X) == texts
    pytest.importorskip("onnx")
    export_model(model, path / "model.onnx")
    assert onnx_labels(path / "model.onnx", rows) == expected
    return texts


CHAINS = {
    "plain": {},
    "mask": {"transition_mask": bio_transitions},
    "mask without weights": {"transition_mask": bio_transitions, "transitions": False},
    "no transitions": {"transitions": False},
    "no boundaries": {"boundaries": False, "fit_intercept": False},
    "tied": {"transitions": bio_kinds},
    "scores": {"class_scores": [3, 4, 5, 6, 7]},
    "long labels": {"classes": sorted([*TAGS, *(f"B-{k}" for k in range(12))])},
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name, tmp_path):
    rng = np.random.default_rng(0)
    X = sequences(rng, n_features=8)
    y = tagged(rng, X)
    texts = check_numbers(chain(**CHAINS[name]).fit(X, y), tmp_path, X)
    if name == "plain":
        assert len({label for labels in texts for label in labels}) > 2


@pytest.mark.parametrize("labels", [[-3, 0, 2**40], [False, True], ['\t"\\', "é\U0001f600", ""]])
def test_types_of_labels(labels, tmp_path):
    X, y = make_sequences(30, n_labels=len(labels), n_features=2, random_state=0)
    y = [[labels[code] for code in codes] for codes in y]
    if isinstance(labels[0], str):  # the program in C separates labels by tabs
        model = chain().fit(X, y)
        export_model(model, tmp_path / "model.json")
        expected = [found.tolist() for found in model.predict(X)]
        assert js_labels(tmp_path / "model.json", [x.tolist() for x in X]) == expected
        found = c_labels(tmp_path / "model.json", X[:1])
        assert "\t".join(found[0]) == "\t".join(expected[0])
    else:
        check_numbers(chain().fit(X, y), tmp_path, X)


def test_ties_go_to_the_lowest_labels(tmp_path):
    # Small integers: all sums are exact, and many of them are equal.
    rng = np.random.default_rng(0)
    X = [rng.integers(-2, 3, (n, 3)).astype(float) for n in rng.integers(1, 8, 300)]
    model = chain().fit(X[:40], [rng.integers(0, 4, len(x)) for x in X[:40]])
    model._w = np.round(model._w * 2)
    check_numbers(model, tmp_path, X)


def test_empty_sequences(tmp_path):
    X, y = make_sequences(20, random_state=0)
    model = chain().fit(X, y)
    export_model(model, tmp_path / "model.json")
    empty = np.empty((0, X[0].shape[1]))
    assert js_labels(tmp_path / "model.json", [[], X[0].tolist()])[0] == []
    assert c_labels(tmp_path / "model.json", [empty, X[0]])[0] == []


def rows(rng, n=80):
    X = rng.standard_normal((n, 4))
    return X, np.array(["x", "y", "z"])[(X[:, 0] > 0) + (X[:, 1] > 0.5).astype(int)]


def check_rows(model, path, X):
    """Compare all readers with an estimator of rows; they read all rows as one sequence."""
    export_model(model, path / "model.json")
    expected = model.predict(X)
    assert js_labels(path / "model.json", [X.tolist()]) == [expected.tolist()]
    assert c_labels(path / "model.json", [X])[0] == as_text(expected.ravel().tolist())
    pytest.importorskip("onnx")
    export_model(model, path / "model.onnx")
    assert onnx_labels(path / "model.onnx", [X])[0] == expected.tolist()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [MulticlassSSVM, MultilabelSSVM])
def test_classes(kind, bias, tmp_path):
    X, y = rows(np.random.default_rng(0))
    model = kind(lam=0.1, random_state=0, fit_intercept=bias).fit(X, y)
    check_rows(model, tmp_path, X)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"pairwise": "full"}, {"class_scores": [2, 3]}, {"fit_intercept": False}],  # ties at 0
)
def test_label_sets(parameters, tmp_path):
    X, y = rows(np.random.default_rng(0))
    Y = np.column_stack([y == "x", y != "z"])
    model = MultilabelSSVM(lam=0.1, random_state=0, edges=None, **parameters).fit(X, Y)
    assert 0 < model.predict(X).mean() < 1
    check_rows(model, tmp_path, np.vstack([X, 0 * X[:1]]))


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False),
                                    StandardScaler(with_std=False), RobustScaler(),
                                    MaxAbsScaler()], ids=str)  # fmt: skip
@pytest.mark.parametrize("nested", [True, False])
def test_scalers(scaler, nested, tmp_path):
    rng = np.random.default_rng(0)
    if nested:
        X = [5 + 3 * x for x in sequences(rng, n_features=8)]
        model = make_pipeline("passthrough", PerNode(make_pipeline(scaler)), chain())
        model.fit(X, tagged(rng, X))
        check_numbers(model, tmp_path, X)
    else:
        X, y = rows(rng)
        check_rows(make_pipeline(scaler, MulticlassSSVM(lam=0.1)).fit(5 + 3 * X, y), tmp_path, X)


WORDS = ["he", "runs", "é", "Zürich", "naïve", "\U0001f600"]


def items(rng, n=60):
    def item():
        word = WORDS[rng.integers(len(WORDS))]
        return {
            "w": word, "upper": word[0].isupper(), "size": len(word) / 3, "bias": 1,
            "chars": list(word), "v": rng.standard_normal(2).tolist(),
            "in": {"w": word, "d": {"k": 2}},
        }  # fmt: skip

    return [[item() for _ in range(rng.integers(1, 6))] for _ in range(n)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["dicts", "strings", "scaled"])
def test_sequences_of_features(kind, dtype, tmp_path):
    X = items(np.random.default_rng(0))
    y = [[item["w"] for item in sequence] for sequence in X]
    vectorizer = SequenceVectorizer(dtype=dtype)
    steps = [vectorizer, PerNode(MaxAbsScaler())] if kind == "scaled" else [vectorizer]
    if kind == "strings":
        X = [[[f"w={item['w']}", "bias"] for item in sequence] for sequence in X]
    model = make_pipeline(*steps, chain()).fit(X, y)
    X[0][0] = ["w=unknown", "bias"] if kind == "strings" else {"w": "unknown", "bias": 2}
    expected = [labels.tolist() for labels in model.predict(X)]
    assert len({label for labels in expected for label in labels}) == len(WORDS)
    export_model(model, tmp_path / "model.json")
    assert js_labels(tmp_path / "model.json", X) == expected
    assert c_labels(tmp_path / "model.json", list(vectorizer.transform(X))) == expected
    names = json.loads((tmp_path / "model.json").read_text())["features"]
    _, text = run(c_program(), "columns", tmp_path / "model.json", *names, "another")
    assert [int(line) for line in text.split()] == [*range(len(names)), -1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_rows_of_features(is_sparse, dtype, tmp_path):
    keep = ("w", "upper", "size", "bias", "chars")
    X = [{k: item[k] for k in keep} for each in items(np.random.default_rng(0)) for item in each]
    y = [item["w"] for item in X]
    vectorizer = DictVectorizer(dtype=dtype, sparse=is_sparse, separator="=" if is_sparse else "/")
    scaler = MaxAbsScaler() if is_sparse else StandardScaler()
    model = make_pipeline(vectorizer, scaler, MulticlassSSVM(lam=0.1)).fit(X, y)
    X[0] = {"w": "unknown", "bias": 2}
    expected = model.predict(X).tolist()
    assert set(expected) == set(WORDS)
    export_model(model, tmp_path / "model.json")
    assert js_labels(tmp_path / "model.json", [X]) == [expected]
    assert c_labels(tmp_path / "model.json", [vectorizer.transform(X)]) == [expected]


def test_sparse_rows_with_a_center(tmp_path):
    # StandardScaler with a mean requires dense rows, but readers accept sparse ones, too.
    rng = np.random.default_rng(0)
    X = [x * (rng.random(x.shape) < 0.4) for x in sequences(rng, n_features=8)]
    model = make_pipeline(PerNode(StandardScaler()), chain()).fit(X, tagged(rng, X))
    export_model(model, tmp_path / "model.json")
    expected = [labels.tolist() for labels in model.predict(X)]
    assert c_labels(tmp_path / "model.json", [sparse.csr_array(x) for x in X]) == expected


def test_missing_values_of_feature_dicts(tmp_path):
    X = [[{"w": "a", "n": 1.0}, {"w": "b", "l": ["x", "y"]}], [{"w": "b"}]]
    y = [["A", "B"], ["B"]]
    model = make_pipeline(SequenceVectorizer(), chain()).fit(X, y)
    export_model(model, tmp_path / "model.json")
    other = [[{"w": "b", "n": None, "l": ["x", None], "e": [], "z": [1.5, None], "s": {}}]]
    with pytest.warns(UserWarning, match="missing"):
        expected = [labels.tolist() for labels in model.predict(other)]
    assert js_labels(tmp_path / "model.json", other) == expected


def test_the_page_of_the_manual(tmp_path):
    page = Path(__file__).parents[2] / "doc" / "how_to" / "browser.html"
    if not page.exists():
        pytest.skip("the manual is not in the source tree")
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    X = [[{"word": "she", "upper": True, "before": ""}, {"word": "runs", "before": "she"}]]
    model = make_pipeline(SequenceVectorizer(), chain()).fit(X, [["N", "V"]])
    export_model(model, tmp_path / "tagger.json")
    shutil.copy(reader_path("javascript"), tmp_path)
    script = re.search(r'<script type="module">(.*)</script>', text, re.DOTALL)[1]
    before = """
        import { readFileSync } from "node:fs";
        const elements = { text: { value: "She runs", addEventListener() {} }, labels: {} };
        globalThis.document = { getElementById: (name) => elements[name] };
        globalThis.fetch = async (path) => ({ text: async () => readFileSync(path, "utf8") });
    """
    (tmp_path / "page.mjs").write_text(before + script + "console.log(labels.textContent);")
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node.js is not installed")
    done = subprocess.run([program, "page.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "She/N runs/V\n", done.stderr
