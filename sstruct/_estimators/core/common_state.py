"""Specification of the fitted attributes that all estimators share."""

import numpy as np

from sstruct._estimators.core.callbacks import HOOKS
from sstruct._estimators.core.fitted_state import (
    Array,
    Columns,
    DictOf,
    FittedState,
    Flag,
    Labels,
    ListOf,
    Number,
    Of,
    Text,
    Unexpected,
)
from sstruct._problems.core.kept_arrays import MAX_COUNT
from sstruct._problems.core.weight_layout import label_layout, vector_layout
from sstruct._solvers.core.status import Status

INTEGER = np.iinfo(np.int64).max

# The state exported by solvers, and the planes of user-defined structures.
WARM = {
    "fingerprint": Text(),
    "n_samples": Number(whole=True, least=1, most=INTEGER),
    "lam": Number(positive=True),
    "block_weight": Array(dtype=np.float64, shape=("blocks",), least=0),
    "size": Array(dtype=np.int64, shape=("blocks",), least=1),
    "alpha": Array(dtype=np.float64, shape=("labelings",), least=0),
    "loss": Array(dtype=np.float64, shape=("labelings",)),
    "last_active": Array(dtype=np.int32, shape=("labelings",)),
    "code": Array(dtype=np.int32, shape=("entries",)),
    "plane_block": Array(dtype=np.int64, shape=("planes",), least=0, optional=True),
    "plane_code": Array(dtype=np.int64, shape=("planes",), least=0, optional=True),
    "plane_size": Array(dtype=np.int64, shape=("planes",), least=0, optional=True),
    "plane_dense": Array(dtype=np.int8, shape=("planes",), least=0, most=1, optional=True),
    "plane_loss": Array(dtype=np.float64, shape=("planes",), optional=True),
    "plane_value": Array(dtype=np.float64, shape=("values",), optional=True),
    "plane_index": Array(dtype=np.int32, shape=("indices",), least=0, optional=True),
}


# The state that an online solver needs to continue with later samples.
STEPS = {
    "solver": Text(),
    "weights": Array(dtype=np.float64, shape=("n_weights",)),
    "moment": Array(dtype=np.float64, shape=("n_weights",)),
    "n_steps": Number(whole=True, least=0, most=MAX_COUNT),
    "bounded": Flag(),
    "prior": Text(),
}


def working_sets_agree(state):
    """Raise Unexpected unless working sets have one labeling per dual weight."""
    warm = state.get("_warm_state")
    if warm is None:
        return
    planes = [name for name in WARM if name.startswith("plane_")]
    missing = [name for name in planes if warm.get(name) is None]
    if 0 < len(missing) < len(planes):
        raise Unexpected(f"_warm_state[{missing[0]!r}]", "missing", "an array, like other planes")
    counts = [("size", "alpha")] + [("plane_size", "plane_value")] * (not missing)
    for name, counted in counts:
        size, n = warm[name], len(warm[counted])
        # Each size is at most n, so the sum cannot overflow.
        if len(size) and (size.max() > n or size.sum() != n):
            found = f"sizes with the sum {size.sum()}"
            raise Unexpected(f"_warm_state[{name!r}]", found, f"{n}, the length of {counted!r}")
    if len(warm["size"]) == 0:
        raise Unexpected("_warm_state['size']", "empty", "a number for each of at least one block")


# Unknown after an interrupted fit.
CERTIFICATE = Number(any_float=True, optional=True)

BASE_STATE = FittedState(
    {
        "_w": Array(dtype=np.float64, shape=("n_weights",)),
        "lam_": Number(least=0),
        "solver_": Text(),
        "n_iter_": Number(whole=True, least=0),
        "n_oracle_calls_": Number(whole=True, least=0),
        "objective_": CERTIFICATE,
        "dual_objective_": CERTIFICATE,
        "dual_gap_": CERTIFICATE,
        "status_": Text(choices=tuple(status.value for status in Status)),
        "converged_": Flag(),
        "inference_": Text(),
        "history_": Columns(),
        "_is_approximate": Flag(optional=True),
        "_warm_state": DictOf(of=WARM, optional=True),
        "_steps": DictOf(of=STEPS, optional=True),
        "_skl_callbacks": ListOf(of=Of(methods=HOOKS), optional=True),
    },
    rules=(working_sets_agree,),
    layout=lambda state: vector_layout(len(state["_w"])),
)

# Placeholders for the required attributes that a fit sets after the solver has run, to validate the
# other attributes.
SOLVED = {
    "lam_": 1.0,
    "solver_": "",
    "n_iter_": 0,
    "n_oracle_calls_": 0,
    "status_": Status.CONVERGED.value,
    "converged_": True,
    "history_": {},
}


def sizes_of(state):
    """Return the numbers of labels and of features in coef, and whether there are intercepts."""
    n_features, columns = int(state["n_features_in_"]), state.get("_class_scores")
    if columns is not None:  # the states of a label have the same column
        n_features -= len(set(columns.tolist()))
    return len(state["classes_"]), n_features, bool(state["_bias"])


def is_scored(state):
    """Return whether some features are scores of the labels, which share one weight."""
    return state.get("_class_scores") is not None


def columns_agree(state):
    """Raise Unexpected unless scores of classes are columns of X."""
    columns, n_features = state.get("_class_scores"), state["n_features_in_"]
    if columns is not None and columns.max() >= n_features:
        expected = f"columns below {n_features}"
        raise Unexpected("_class_scores", f"up to column {columns.max()}", expected)


# The form of X, which determines the form of predictions, if it may contain sequences.
FORM = Text(choices=("ragged", "stacked", "rows"))

LABELING_STATE = BASE_STATE.extended(
    {
        "classes_": Labels(size="K"),
        "n_features_in_": Number(whole=True, least=1, size="F"),
        "feature_names_in_": Labels(size="F", strings=True, optional=True),
        "_bias": Flag(),
        # The column of X with the scores of each label; only if `class_scores` was set.
        "_class_scores": Array(dtype=np.int64, shape=("K",), least=0, optional=True),
    },
    rules=(columns_agree,),
    layout=lambda state: label_layout(*sizes_of(state)),
)
