"""Hostile fits and predictions with partly hidden labels."""

import numpy as np
from sklearn.pipeline import make_pipeline

from sstruct import LatentSSVM
from tests.hostile.case import REJECTED, shown
from tests.hostile.judge import FindingError, same_attributes
from tests.registry import FIRST, TRAINED

NAMES = ("chain", "graph", "featured graph", "grid", "candidates", "label sets", "rows")
PARAMETERS = FIRST[LatentSSVM].parameters


def attack(case):
    """Hide labels, damage some arguments, and fit; then predict and score."""
    name = case.random.choice(NAMES)
    example, rng = TRAINED[name], case.generator()
    X, y = example.varied(rng, case.random.randint(1, 5))
    inner = example.valid_parameters(case.random)
    if "ignore_label" in example.parameters:
        inner["ignore_label"] = -1
    given = {key: case.random.choice(values) for key, values in PARAMETERS.items()}
    given["estimator"] = case.attempt(
        " ".join([example.estimator.__name__, shown(inner)]), lambda: example.estimator(**inner)
    )
    if case.random.random() < 0.2:
        given["init"] = case.random.choice([given["estimator"], make_pipeline(given["estimator"])])
    if case.random.random() < 0.2:
        key = case.random.choice(list(given))
        value = case.damaged(key, given[key])
        # More rounds or starts would only make cases slow.
        if not isinstance(value, (int, float, np.number)) or abs(value) <= 5:
            given[key] = value
    texts = [f"{key}={shown(value, 60)}" for key, value in given.items()]
    model = case.attempt(f"LatentSSVM({', '.join(texts)})", lambda: LatentSSVM(**given))
    if model is REJECTED:
        return
    partly = hidden(case, y, rng)
    valid = {"X": X, "y": partly, "sample_weight": None}
    before = dict(vars(model))
    if case.attempt("fit", model.fit, **case.arguments(valid)) is REJECTED:
        same_attributes(before, model, "LatentSSVM.fit")
        return
    case.counts["fits"] += 1
    check_rounds(model)
    for method, valid in (
        ("predict", {"X": X}),
        ("predict", {"X": X, "y_partial": partly}),
        ("decision_function", {"X": X}),
        ("score", {"X": X, "y": y}),
    ):
        if hasattr(model, method) and case.random.random() < 0.5:
            case.attempt(method, getattr(model, method), **case.arguments(valid))


def hidden(case, y, rng):
    """Return labels of which a part is -1."""
    share = case.random.choice((0, 0.3, 1))
    if isinstance(y, list):
        whole = [np.asarray(labels) for labels in y]
        return [np.where(rng.random(labels.shape) < share, -1, labels)
                if labels.dtype.kind == "i" else labels for labels in whole]  # fmt: skip
    if isinstance(y, np.ndarray):
        return np.where(rng.random(y.shape) < share, -1, y)
    return y


def check_rounds(model):
    """Check that the objective never increases, and that it is that of the last round."""
    rounds = model.history_["objective"]
    if not np.isfinite(rounds).all() or len(rounds) != model.n_rounds_:
        return _wrong(f"objectives {rounds.tolist()} of {model.n_rounds_} rounds")
    if (np.diff(rounds) > 0).any() or rounds[-1] != model.objective_:
        return _wrong(f"objectives {rounds.tolist()}, at the end {model.objective_!r}")


def _wrong(text):
    raise FindingError("certificate", text, "LatentSSVM")
