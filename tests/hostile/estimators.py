"""Fits and predictions of every estimator with hostile input."""

import numpy as np

from sstruct.solvers import BaseSolver
from tests.hostile.case import REJECTED, shown
from tests.hostile.certificates import check_certificate, check_finite_results
from tests.hostile.judge import FindingError, same_attributes
from tests.options import solver_with
from tests.registry import TRAINED

# Parameters that are not set to large numbers, which would only make cases slow.
LONG = ("max_iter", "n_jobs")
# Structures without `y_partial`.
NOT_PARTIAL = (
    "rows", "change points", "choices", "ConstrainedChoice", "ChoiceByScores",
)  # fmt: skip
EARLY = {
    "early_stopping": (True, True, False),
    "validation_fraction": (0.1, 0.5, 0.9),
    "n_iter_no_change": (1, 2, 5),
}


def parameters(case, example):
    """Return parameters by name, few of them damaged."""
    valid, known = example.valid_parameters(case.random), example.parameters
    if case.random.random() < 0.1:  # solvers that support partial_fit
        valid |= {"solver": case.random.choice(("perceptron", "pa", "ssg"))}
        valid |= {"lam": 0.1} if valid["solver"] == "ssg" else {"lam": "auto"}
        for name in ("step", "sampling", "cache", "average", "warm_start", "rescaling"):
            valid.pop(name, None)
    if case.random.random() < 0.3:
        name = case.random.choice(list(known))
        value = case.damaged(name, valid.get(name, known[name][-1]))
        if not (name in LONG and isinstance(value, (int, float, np.number)) and abs(value) > 1):
            valid[name] = value
    if case.random.random() < 0.25 and isinstance(valid.get("solver", "auto"), str | BaseSolver):
        valid["solver"] = stopping_early(case, solver_with(valid.get("solver", "auto")))
    return valid


def stopping_early(case, solver):
    """Set options for early stopping, one of them perhaps damaged, if the solver has them."""
    options = {name: case.random.choice(values) for name, values in EARLY.items()}
    if case.random.random() < 0.3:
        name = case.random.choice(list(EARLY))
        options[name] = case.damaged(name, options[name])
    if hasattr(solver, "early_stopping"):
        solver.set_params(**options)
    return solver


def attack(case):
    """Fit data that are partly damaged; then use the model as users do."""
    name = case.random.choice(list(TRAINED))
    example = TRAINED[name]
    rng = case.generator()
    X, y = example.varied(rng, case.random.randint(1, 5))
    given = parameters(case, example)
    texts = [f"{name}={shown(value, 60)}" for name, value in given.items()]
    model = case.attempt(
        f"{example.estimator.__name__}({', '.join(texts)})",
        lambda: example.estimator(**given),
    )
    if model is REJECTED:
        return
    least = 1 if case.random.random() < 0.8 else 0
    if hasattr(model, "partial_fit") and case.random.random() < 0.3:
        _partial_fit(case, name, model, X, y, rng)
    else:
        valid = {"X": X, "y": y, "sample_weight": weights(case, rng, X)}
        fit(case, name, model, case.arguments(valid | held_out(case, example, model, rng), least))
    if not hasattr(model, "w_"):
        return
    for _ in range(case.random.randint(1, 3)):
        step = case.random.choice(STEPS)
        step(case, name, model, X, y, rng)


def weights(case, rng, X):
    """Return no weights, or weights of samples."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return None if case.random.random() < 0.7 else rng.integers(0, 3, n).astype(float)


def held_out(case, example, model, rng):
    """Return nothing or validation samples; rarely for solvers that do not support them."""
    stops_early = getattr(model.solver, "early_stopping", False) is True
    if case.random.random() < (0.5 if stops_early else 0.98):
        return {}
    X, y = example.varied(rng, case.random.randint(1, 3))
    return {"X_val": X, "y_val": y, "sample_weight_val": weights(case, rng, X)}


def fit(case, name, model, arguments):
    """Fit; check that errors leave the model unchanged, and that certificates are valid."""
    before = dict(vars(model))
    if case.attempt(f"{name}: fit", model.fit, **arguments) is REJECTED:
        if getattr(model, "status_", "") != "INTERRUPTED":
            same_attributes(before, model, f"{type(model).__name__}.fit")
        return
    case.counts["fits"] += 1
    case.counts["certificates"] += check_certificate(name, model, **arguments)


def _predict(case, name, model, X, y, rng):
    method = case.random.choice(("predict", "decision_function", "predict_top_k"))
    if not hasattr(model, method):
        return
    arguments = {"X": X} | ({"k": 2} if method == "predict_top_k" else {})
    arguments = case.arguments(arguments)
    result = case.attempt(method, getattr(model, method), **arguments)
    if result is not REJECTED and arguments["X"] is X:
        check_finite_results(name, model, method, result)


def _predict_partial(case, name, model, X, y, rng):
    if name in NOT_PARTIAL:
        return
    case.attempt("predict", model.predict, **case.arguments({"X": X, "y_partial": y}))


def _score(case, name, model, X, y, rng):
    valid = {"X": X, "y": y, "sample_weight": weights(case, rng, X)}
    case.attempt("score", model.score, **case.arguments(valid))


def _to_frame(case, name, model, X, y, rng):
    n = np.sum(getattr(model, "n_features_in_", 2))
    names = case.arguments({"feature_names": [f"f{k}" for k in range(n)]})
    case.attempt("to_frame", model.to_frame, **names)


def _partial_fit(case, name, model, X, y, rng):
    """Call partial_fit; check that errors leave the model unchanged."""
    if not hasattr(model, "partial_fit"):
        return
    valid = {"X": X, "y": y, "classes": case.random.choice((None, [0, 1])), "sample_weight": None}
    arguments, before = case.arguments(valid), dict(vars(model))
    if case.attempt(f"{name}: partial_fit", model.partial_fit, **arguments) is REJECTED:
        if getattr(model, "status_", "") != "INTERRUPTED":
            same_attributes(before, model, f"{type(model).__name__}.partial_fit")
        return
    case.counts["parts"] += 1
    if not np.isfinite(model.w_).all():
        raise FindingError("certificate", "w_ is not finite", "partial_fit")


def _refit(case, name, model, X, y, rng):
    """Fit again, with more samples and other parameters; with a warm start if it is set."""
    more_X, more_y = TRAINED[name].varied(rng, 2)
    if isinstance(X, list) and isinstance(more_X, list) and type(y) is type(more_y):
        X, y = [*X, *more_X], [*y, *more_y]
    if case.random.random() < 0.5:
        changed = parameters(case, TRAINED[name])
        if case.attempt("set_params", model.set_params, **changed) is REJECTED:
            return
    fit(case, name, model, case.arguments({"X": X, "y": y, "sample_weight": None}))


STEPS = (_predict, _predict, _predict_partial, _score, _to_frame, _refit, _refit, _partial_fit)
