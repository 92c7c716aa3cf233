"""Corrupt checkpoints; resuming must raise an error or end with a valid certificate."""

import functools
import json

import numpy as np

from sstruct.solvers import MPBCFW
from tests.hostile.case import REJECTED
from tests.hostile.certificates import check_certificate
from tests.hostile.files import damaged_arrays, damaged_bytes
from tests.hostile.judge import same_attributes
from tests.hostile.workplace import folder
from tests.options import solver_with
from tests.registry import TRAINED

NAMES = (
    "chain", "segments", "change points", "graph", "featured graph", "grid", "candidates", "maps",
    "label sets", "rows", "choices", "typed graph",
)  # fmt: skip
OPTIONS = (
    {}, {"solver": MPBCFW(step="fw")}, {"solver": MPBCFW(step="away")},
    {"solver": MPBCFW(step="corrective", cache=True)}, {"solver": MPBCFW(sampling="gap")},
    {"solver": MPBCFW(average=True)}, {"solver": "bcfw"}, {"rescaling": "slack"},
    {"bounds": "nonnegative"}, {"solver": MPBCFW(early_stopping=True, validation_fraction=0.4)},
)  # fmt: skip
# Replacements for numbers in arrays.
STORED = (0, 1, -1, 2, 2**31 - 1, -(2**31), 2**63 - 1, 2**62, 0.5, 1e300, np.nan)


@functools.cache
def valid(name, number):
    """Return data, parameters and the bytes of the checkpoint of an interrupted fit."""
    example = TRAINED[name]
    rng = np.random.default_rng(number)
    X, y = example.varied(rng, 4)
    path = folder() / "valid"
    path.unlink(missing_ok=True)
    given = OPTIONS[number] | example.required
    given |= {"lam": 0.1, "tol": 0, "max_iter": 3, "random_state": 0}
    given["solver"] = solver_with(given.get("solver", "auto"), checkpoint=path)
    if given.get("bounds") == "nonnegative":
        solver = solver_with(given["solver"], checkpoint=None)
        plain = example.estimator(**{**given, "bounds": None, "solver": solver}).fit(X, y)
        given["bounds"] = np.array([[0.0], [np.inf]]) * np.ones(len(plain.w_))
        given["bounds"][0] = 0
    try:
        example.estimator(**given).fit(X, y)
    except (TypeError, ValueError):
        return None
    return X, y, given, path.read_bytes() if path.exists() else None


def attack(case):
    """Resume a fit from a tampered file."""
    name = case.random.choice(NAMES)
    found = valid(name, case.random.randrange(len(OPTIONS)))
    if found is None or found[-1] is None:
        return
    X, y, given, text = found
    path = folder() / "tampered"
    path.write_bytes(tampered(case, text))
    most = case.random.choice((3, 4, 8))
    solver = solver_with(given["solver"], checkpoint=path)
    model = TRAINED[name].estimator(**{**given, "solver": solver, "max_iter": most})
    before = dict(vars(model))
    case.log.append(f"{name} {given}")
    if case.attempt("fit", model.fit, X, y) is REJECTED:
        if getattr(model, "status_", "") != "INTERRUPTED":
            same_attributes(before, model, f"{type(model).__name__}.fit, checkpoint")
        return
    case.counts["resumed"] += 1
    if name == "choices" and any("plane" in line for line in case.log):
        return  # only the oracle could check these, see SECURITY.md
    case.counts["certificates"] += check_certificate(name, model, X, y)


def tampered(case, text):
    """Return the bytes of a checkpoint with some arrays or notes, or some bytes, changed."""
    if case.random.random() < 0.1:
        return damaged_bytes(case.random, text)
    path = folder() / "written.npz"
    path.write_bytes(text)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    notes = json.loads(arrays.pop("notes").tobytes())
    for _ in range(case.random.randint(1, 2)):
        if case.random.random() < 0.25:
            notes = damaged_notes(case, notes)
        elif case.random.random() < 0.5:
            arrays = with_number(case, arrays)
        else:
            arrays = damaged_arrays(case, arrays)
    text = json.dumps(notes).encode()
    np.savez(path, notes=np.frombuffer(text, dtype=np.uint8), **arrays)
    return path.read_bytes()


def with_number(case, arrays):
    """Put a number that fits the dtype into one array."""
    name = case.random.choice(list(arrays))
    out = arrays[name].copy()
    if out.size == 0:
        return arrays
    number = case.random.choice(STORED)
    at = case.random.randrange(out.size)
    with np.errstate(all="ignore"):
        out.flat[at] = np.array(number).astype(out.dtype)
    case.log.append(f"{name}[{at}] = {out.flat[at]}")
    return {**arrays, name: out}


def damaged_notes(case, notes):
    """Replace a note by another value that JSON supports; keep the fingerprint."""
    name = case.random.choice([name for name in notes if name not in ("fingerprints", "format")])
    value = case.damaged(name, notes[name])
    try:
        json.dumps(value)
    except Exception:  # hostile objects, too
        return notes
    return {**notes, name: value}
