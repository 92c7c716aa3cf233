"""Corrupt models as loaded from a skops file; their use must not crash."""

import functools
import io
import json
import zipfile

import numpy as np

from sstruct import AlignmentSSVM, MatchingSSVM
from tests.hostile.case import REJECTED
from tests.hostile.files import damaged_bytes
from tests.registry import TRAINED

try:
    from skops import io as skops
except ImportError:  # optional for the tests
    skops = None

NAMES = [name for name in TRAINED if TRAINED[name].estimator.__name__ != "StructuredSVM"]
N_VARIANTS = 8
MAX_PASSES = 10_000
# Numbers that JSON can hold, for the schema of a file.
JSON_NUMBERS = (0, 1, -1, 2, 3, 100, 2**27, 2**31, 2**62, -(2**31), 0.5, 1e300, True, None, "", "a")


@functools.cache
def fitted(name, number):
    """Return a model that was fitted to valid data, and the data; or None."""
    import random

    example = TRAINED[name]
    X, y = example.varied(np.random.default_rng(number), 4)
    given = example.valid_parameters(random.Random(number)) | {"verbose": 0, "max_iter": 3}
    if number % 2:
        given["warm_start"] = True
    given["transition_mask"] = None
    given = {k: v for k, v in given.items() if k in example.parameters or k in example.required}
    try:
        return example.estimator(**given).fit(X, y), X, y
    except (TypeError, ValueError):
        return None


def attack(case):
    """Load a tampered model, and use it."""
    name = case.random.choice(NAMES)
    found = fitted(name, case.random.randrange(N_VARIANTS))
    if found is None:
        return
    model, X, y = found
    case.log.append(f"{name}: {model!r}"[:300])
    load = from_file if skops is not None and case.random.random() < 0.15 else from_state
    tampered = load(case, model)
    if tampered is REJECTED:
        return
    tables = [k for k in ("coef_", "intercept_", "edge_coef_") if hasattr(type(model), k)]
    uses = [
        ("predict", lambda: tampered.predict(X)),
        ("score", lambda: tampered.score(X, y)),
        ("w_", lambda: tampered.w_),
        ("to_frame", lambda: tampered.to_frame()),
        ("coef_", lambda: [getattr(tampered, name) for name in tables]),
        ("fit", lambda: _fit(tampered, X, y)),
    ]
    if hasattr(model, "decision_function"):
        uses.append(("decision_function", lambda: tampered.decision_function(X)))
    if hasattr(model, "predict_top_k"):
        uses.append(("predict_top_k", lambda: tampered.predict_top_k(X, 2)))
    if name not in ("rows", "typed graph", "change points"):
        uses.append(("y_partial", lambda: tampered.predict(X, y)))
    for use in case.random.sample(uses, 3):
        case.attempt(use[0], use[1])


def _fit(model, X, y):
    """Fit again with few passes, since some solvers have no other stopping criterion."""
    if isinstance(model.max_iter, int) and model.max_iter > MAX_PASSES:
        model.max_time = 5.0
    if isinstance(model, AlignmentSSVM | MatchingSSVM):  # worker processes take seconds to start
        model.n_jobs = None
    model.fit(X, y)


def from_state(case, model):
    """Set a damaged state, as skops and pickles do."""
    state = model.__getstate__()
    for _ in range(case.random.randint(1, 2)):
        fields = [key for key in state if key not in model.get_params()] or list(state)
        name = case.random.choice(fields if case.random.random() < 0.85 else list(state))
        if case.random.random() < 0.08:
            state = {key: value for key, value in state.items() if key != name}
        else:
            state = state | {name: case.damaged(name, state[name])}

    def load():
        tampered = type(model).__new__(type(model))
        tampered.__setstate__(state)
        return tampered

    return case.attempt("__setstate__", load)


def from_file(case, model):
    """Tamper with a file that skops wrote: its arrays, its schema or its bytes."""
    data = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=data)
    kind = case.random.random()
    if kind < 0.1:
        changed = damaged_bytes(case.random, data)
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        arrays = [name for name in members if name.endswith(".npy")]
        if kind < 0.5 and arrays:
            name = case.random.choice(arrays)
            members[name] = damaged_array(case, members[name])
        else:
            schema = json.loads(members["schema.json"])
            change_number(case, schema)
            members["schema.json"] = json.dumps(schema).encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        changed = out.getvalue()
    try:
        return skops.loads(changed, trusted=trusted)
    except Exception as error:
        # skops raises its own errors for files that are not models; sstruct raises the errors for
        # invalid models of its estimators.
        if any("__setstate__" in str(frame) for frame in _frames(error)):
            return case.attempt("skops.loads", skops.loads, changed, trusted=trusted)
        return REJECTED


def _frames(error):
    import traceback

    return [frame for frame in traceback.extract_tb(error.__traceback__) if "sstruct" in frame[0]]


def damaged_array(case, text):
    array = np.load(io.BytesIO(text), allow_pickle=False)
    out = io.BytesIO()
    try:
        np.save(out, np.asarray(case.damaged("array", array)), allow_pickle=False)
    except Exception:  # hostile objects, and values that are not arrays
        return text
    return out.getvalue()


def change_number(case, schema):
    """Change a constant somewhere in the schema."""
    places = []

    def collect(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "content" and isinstance(value, str | int | float | bool):
                    places.append((node, key))
                collect(value)
        elif isinstance(node, list):
            for item in node:
                collect(item)

    collect(schema)
    if places:
        node, key = case.random.choice(places)
        number = case.random.choice(JSON_NUMBERS)
        case.log.append(f"schema: {str(node[key])[:40]} -> {number!r}")
        node[key] = json.dumps(number) if isinstance(node[key], str) else number
