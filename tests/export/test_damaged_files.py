"""Readers of damaged files report an error that names the field; they never crash."""

import copy
import json
import random
import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM
from sstruct.export import export_model
from sstruct.masks import bio_transitions
from sstruct.preprocessing import SequenceVectorizer
from tests.export.readers import c_program, outcomes, packed, run

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    X = [[{"w": "a", "n": 1.5}, {"w": "b"}, {"w": "é"}], [{"w": "b"}, {"w": "c\n"}]]
    y = [["B-x", "I-x", "O"], ["O", "B-x"]]
    chain = ChainSSVM(transition_mask=bio_transitions, random_state=0, max_iter=3)
    path = tmp_path_factory.mktemp("export") / "model.json"
    export_model(make_pipeline(SequenceVectorizer(), chain).fit(X, y), path)
    content = json.loads(path.read_text(encoding="utf-8"))
    n = len(content["features"])
    content |= {"center": [0.5] * n, "scale": [2.0] * n}
    dense = content["transitions"]
    assert "counts" not in dense
    return path.read_text(encoding="utf-8").replace(
        '"center": null,\n"scale": null',
        f'"center": {json.dumps(content["center"])},\n"scale": {json.dumps(content["scale"])}',
    )


def judged(texts, folder):
    """Write texts to files; return the outcomes of both readers."""
    paths = []
    for i, each in enumerate(texts):
        paths.append(folder / f"{i}.json")
        paths[-1].write_bytes(each if isinstance(each, bytes) else each.encode())
    return outcomes(paths)


SPARSE = {"shape": [3, 3], "counts": [1, 0, 2], "columns": [2, 0, 1], "values": [1.0, 2.0, -1.5]}
MISSING = object()
# The path of a value, the value that replaces it, and the field in the error.
DAMAGES = [
    *(((name,), MISSING, name) for name in
      ("format", "version", "kind", "classes", "features", "vectorizer", "center", "scale",
      "weights",
       "intercept", "start", "end", "transitions", "allowed_next", "allowed_first",
       "allowed_last")),
    *((("weights", name), MISSING, f"weights.{name}") for name in ("shape", "values")),
    (("format",), "another", "format"), (("format",), 1, "format"), (("version",), 2, "version"),
    (("version",), "1", "version"), (("kind",), "tree", "kind"), (("kind",), None, "kind"),
    (("classes",), [], "classes"), (("classes",), ["a", "b"], "weights.shape"),
    (("classes", 1), None, "classes[1]"), (("classes", 1), 1.5, "classes[1]"),
    (("classes", 1), ["a"], "classes[1]"), (("features",), None, "features"),
    (("features", 2), 3, "features[2]"), (("features", 2), "w:a", "features[2]"),
    (("features",), ["a"], "features"), (("vectorizer",), [], "vectorizer"),
    *((("vectorizer", name), MISSING, f"vectorizer.{name}") for name in ("kind", "dtype",
    "separator")),
    (("vectorizer", "dtype"), "int8", "vectorizer.dtype"), (("center", 1), "0", "center[1]"),
    (("center",), [], "center"), (("scale", 1), 0, "scale[1]"), (("scale", 1), True, "scale[1]"),
    (("scale",), [1.0], "scale"), (("weights",), None, "weights"), (("weights",), [], "weights"),
    (("weights", "shape"), [2, 3], "weights"), (("weights", "shape"), [6], "weights.shape"),
    (("weights", "shape"), [0, 3], "weights.shape"), (("weights", "shape", 0), -6, "weights.shape"),
    (("weights", "shape", 0), 2**31, "weights.shape"),
    (("weights", "shape", 0), 2**70, "weights.shape"),
    (("weights", "values", 4), None, "weights.values[4]"),
    (("weights", "values"), [1.0], "weights."),
    (("weights", "values", 4), float("inf"), "weights.values"),
    (("intercept",), [1.0], "intercept"), (("intercept", 2), [], "intercept[2]"),
    (("start",), [1.0] * 4, "start"), (("start", 0), "x", "start[0]"), (("end",), {}, "end"),
    (("transitions",), SPARSE | {"shape": [3, 4]}, "transitions.shape"),
    (("transitions",), SPARSE | {"counts": [1, 0, 1]}, "transitions.counts"),
    (("transitions",), SPARSE | {"counts": [1, 0, 3]}, "transitions.counts[2]"),
    (("transitions",), SPARSE | {"counts": [4, 0, 2]}, "transitions.counts[0]"),
    (("transitions",), SPARSE | {"counts": [1, 2]}, "transitions.counts"),
    (("transitions",), SPARSE | {"columns": [3, 0, 1]}, "transitions.columns[0]"),
    (("transitions",), SPARSE | {"columns": [2, 1, 1]}, "transitions.columns[2]"),
    (("transitions",), SPARSE | {"columns": [2, 1]}, "transitions."),
    (("transitions",), {k: v for k, v in SPARSE.items() if k != "counts"}, "transitions.counts"),
    (("transitions",), {k: v for k, v in SPARSE.items() if k != "columns"}, "transitions.columns"),
    (("allowed_next",), [[0]], "allowed_next"), (("allowed_next", 1), [2, 1], "allowed_next[1][1]"),
    (("allowed_next", 1), [3], "allowed_next[1][0]"),
    (("allowed_next", 1), None, "allowed_next[1]"),
    (("allowed_first",), [-1], "allowed_first[0]"), (("allowed_last",), [0, 0], "allowed_last[1]"),
]  # fmt: skip


def damaged(text, path, value):
    content = json.loads(text)
    parent = content
    for step in path[:-1]:
        parent = parent[step]
    if value is MISSING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = copy.deepcopy(value)
    # As in files of the package, one field per line.
    lines = [f'"{name}": {json.dumps(each, ensure_ascii=False)}' for name, each in content.items()]
    return "{\n" + ",\n".join(lines).replace("Infinity", "1e999") + "\n}\n"


def test_errors_name_the_field(text, tmp_path):
    valid = [text, damaged(text, ("created_by",), [{"a": [1, "\\\u00e9", None]}]), "\n" + text]
    valid.append(damaged(text, ("transitions",), SPARSE))
    assert judged(valid, tmp_path) == [("ok", "ok")] * len(valid)
    found = judged([damaged(text, path, value) for path, value, _ in DAMAGES], tmp_path)
    wrong = []
    for (path, value, field), errors in zip(DAMAGES, found):
        if not all(error.startswith(field) for error in errors):
            wrong.append((path, value, field, errors))
    assert not wrong


def test_truncated_files_name_a_field(text, tmp_path):
    data = text.encode()
    cuts = range(len(data) - 2)
    found = judged([data[:cut] for cut in cuts], tmp_path)
    fields = "|".join(json.loads(text))
    for cut, (in_c, in_js) in zip(cuts, found):
        assert in_c != "ok", cut
        assert in_js != "ok", cut
        if cut > 40:
            assert re.match(rf"({fields})\b", in_c), (cut, in_c)
            assert re.match(rf"({fields})\b", in_js), (cut, in_js)


def test_modified_files(text, tmp_path):
    # Sanitizers end the program in C at the first invalid memory access.
    rng, data = random.Random(0), text.encode()
    pieces = [b"", b"]", b"[", b"{", b"}", b",", b'"', b"-", b"9", b"e9", b"null", b"\x00", b"\xff",
              b"\\", b"\\ud800", b"\\u0000", b"1e999", b"0" * 600, b"[" * 5000]  # fmt: skip
    texts = []
    for _ in range(1500):
        at, n = rng.randrange(len(data)), rng.choice([0, 1, 2, 40])
        texts.append(data[:at] + rng.choice(pieces) + data[at + n :])
    found = judged(texts, tmp_path)
    assert sum(in_c == "ok" for in_c, _ in found) < len(found) / 2
    for each, (in_c, in_js) in zip(texts, found):
        # JavaScript replaces invalid UTF-8 and takes the last of equal names; C has no U+0000.
        if in_c == "ok":
            assert in_js == "ok" or b"\xff" in each or "features" in in_js, (in_c, in_js)


@pytest.mark.parametrize("kind", ["forbidden", "overflow"])
def test_predictions_that_fail(text, kind, tmp_path):

    content = json.loads(text)
    if kind == "forbidden":
        content["allowed_last"] = []
    else:
        content["weights"]["values"] = [1e308] * len(content["weights"]["values"])
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    (tmp_path / "rows").write_bytes(packed(np.full((2, len(content["features"])), 9.0)))
    status, found = run(c_program(), "predict", path, tmp_path / "rows")
    assert status == 1
    assert {"forbidden": "forbids every labeling", "overflow": "range of double"}[kind] in found
