"""Validation of the fitted attributes of LatentSSVM."""

import numpy as np

from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fitted_state import (
    Columns,
    FittedState,
    Flag,
    Number,
    Of,
    Unexpected,
    raise_unexpected,
)
from sstruct._estimators.latent.rounds import COLUMNS


def rounds_agree(state):
    """Raise Unexpected unless each column of the history has a row per round."""
    for name in COLUMNS:
        column = state["history_"].get(name)
        if column is None or len(column) != state["n_rounds_"]:
            raise_unexpected(
                f"history_[{name!r}]", column, f"a column of {state['n_rounds_']} numbers"
            )


def states_agree(state):
    """Raise Unexpected unless the classes of the estimator are `n_states` states per label."""
    classes, n_states = getattr(state["estimator_"], "classes_", None), state["_n_states"]
    if n_states == 1:
        return
    if classes is None or len(classes) % n_states:
        raise_unexpected("estimator_.classes_", classes, f"{n_states} states for each label")
    for k, pair in enumerate(classes.tolist()):
        is_valid = isinstance(pair, tuple) and len(pair) == 2 and pair[1] == k % n_states
        if not is_valid or pair[0] != classes[k - k % n_states][0]:
            raise Unexpected(f"estimator_.classes_[{k}]", repr(pair), "a label and its state")


LATENT_STATE = FittedState(
    {
        "estimator_": Of(type=BaseSSVM),
        "objective_": Number(any_float=True),
        "n_rounds_": Number(whole=True, least=1),
        "n_hidden_": Number(whole=True, least=0, most=np.iinfo(np.int64).max),
        "converged_": Flag(),
        "history_": Columns(),
        "_n_states": Number(whole=True, least=1),
    },
    rules=(rounds_agree, states_agree),
)
