"""Valid fitted attributes of regularization paths, and of PathCV."""

import math

import numpy as np

from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.common_state import SOLVED
from sstruct._estimators.core.fitted_state import (
    Array,
    Columns,
    DictOf,
    FittedState,
    Flag,
    ListOf,
    Number,
    Of,
    Text,
    Unexpected,
    check_names,
    raise_unexpected,
)
from sstruct._estimators.path.compact_rows import CompactRows
from sstruct._solvers.core.status import Status

# Columns of the history required for estimators, and for certificates between breakpoints.
NEEDED = ("lam", "passes", "oracle_calls", "primal", "dual", "gap", "hinge", "linear", "square")


def rows_agree(state):
    """Raise Unexpected unless all attributes have a row for each value of lambda."""
    lams, history, J = state["lams_"], state["history_"], len(state["lams_"])
    if J and (lams[-1] <= 0 or (np.diff(lams) > 0).any()):
        raise Unexpected("lams_", "not decreasing, or not above 0", "decreasing values above 0")
    if len(state["ws_"]) != J:
        raise Unexpected("ws_", f"of {len(state['ws_'])} rows", f"{J}, one for each of lams_")
    for name in NEEDED if J else ():
        column = history.get(name)
        if column is None or len(column) != J or not np.isfinite(column).all():
            raise_unexpected(f"history_[{name!r}]", column, f"a column of {J} finite numbers")
    if J and not np.array_equal(history["lam"], lams):
        raise Unexpected("history_['lam']", "different from lams_", "the same values")


def model_agrees(state):
    """Raise Unexpected unless the estimators along the path are valid."""
    n, width, template = int(state["_n_weights"]), state["ws_"].width, state["_template"]
    if width == 0:
        return
    prior = state.get("_prior")
    if prior is not None and len(prior) != width:
        raise Unexpected("_prior", f"of {len(prior)} weights", f"{width}, as each of ws_")
    # Rows are stored without padding, which increases their length at most fourfold.
    if not width <= n <= 4 * width:
        raise_unexpected("_n_weights", n, f"{width} to {4 * width}, for rows of {width}")
    check_names(template, vars(template) | state["_attributes"])
    known = {name: value for name, value in state["_attributes"].items() if value is not None}
    made = {**SOLVED, **known, "_w": np.zeros(n)}
    template._fitted_state.check(made, f"path of {type(template).__name__}")


ALONG_LAMBDA = FittedState(
    {
        "eps": Number(positive=True),
        "_relative": Flag(),
        "lams_": Array(dtype=np.float64, shape=("J",), least=0),
        "gaps_": Array(dtype=np.float64, shape=("J",)),
        "ws_": Of(type=CompactRows),
        "status_": Text(choices=tuple(status.value for status in Status)),
        "history_": Columns(),
        "_template": Of(type=BaseSSVM),
        "_attributes": DictOf(of={}),
        "_solver_name": Text(),
        "_n_weights": Number(whole=True, least=0),
        "_n_blocks": Number(whole=True, least=1),
        "_exact": Flag(),
        "_prior": Array(dtype=np.float64, shape=(None,), optional=True),
    },
    rules=(rows_agree, model_agrees),
)
PATH_STATE = ALONG_LAMBDA.extended(
    {
        "kappa": Number(positive=True, most=1),
        "lam_end_": Number(least=0),
        "guarantee_": Text(choices=("certified", "approximate")),
        "_hinge_at_zero": Number(any_float=True),
    }
)

FOLD = {
    "lams": Array(dtype=np.float64, shape=("J",), least=0),
    "scores": Array(dtype=np.float64, shape=("J",), any_float=True),
    "seconds": Array(dtype=np.float64, shape=("J",)),
    "end": Number(least=0),
    "certified": Flag(),
}


def folds_agree(state):
    """Raise Unexpected unless folds have decreasing lams, and results have enough rows."""
    for k, fold in enumerate(state["_folds"]):
        if not len(fold["lams"]) or (np.diff(fold["lams"]) > 0).any():
            raise Unexpected(f"_folds[{k}]['lams']", "not decreasing", "decreasing values")
    if state["n_splits_"] != len(state["_folds"]):
        raise_unexpected(
            "n_splits_", state["n_splits_"], f"{len(state['_folds'])}, one for each of _folds"
        )
    for name, column in state["cv_results_"].items():
        if not isinstance(column, list | np.ndarray) or getattr(column, "ndim", 1) != 1:
            raise_unexpected(f"cv_results_[{name!r}]", column, "a column")
        if len(column) <= state["best_index_"]:
            raise_unexpected(
                "best_index_", state["best_index_"], f"a row of {name!r}, of {len(column)}"
            )


def best_is_there(state):
    """Raise Unexpected if best_estimator_ is None; with refit=False it is missing."""
    if "best_estimator_" in state and state["best_estimator_"] is None:
        raise_unexpected("best_estimator_", None, "a fitted estimator, or a missing attribute")


SEARCH_STATE = FittedState(
    {
        "best_lam_": Number(positive=True),
        "best_index_": Number(whole=True, least=0),
        "best_score_": Number(any_float=True),
        "best_params_": DictOf(of={"lam": Number(positive=True)}),
        "best_estimator_": Of(type=BaseSSVM, optional=True),
        "cv_results_": DictOf(of={}),
        "lam_end_": Number(least=0, most=math.inf),
        "certified_": Flag(),
        "scorer_": Of(methods=("__call__",)),
        "n_splits_": Number(whole=True, least=1),
        "refit_time_": Number(least=0, optional=True),
        "_folds": ListOf(of=DictOf(of=FOLD), least=1),
    },
    rules=(folds_agree, best_is_there),
)
