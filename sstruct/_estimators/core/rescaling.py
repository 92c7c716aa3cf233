"""Slack rescaling: its parameters, and the problem that a fit solves."""

from dataclasses import replace

import numpy as np

from sstruct._estimators.core.training import Quality
from sstruct._input.ragged import check_choice
from sstruct._problems.slack._problem import SlackProblem

SEARCHES = ("auto", "angular", "bisecting", "binary")
# What maximizes loss times score directly, by the decoder in whose place it is.
DIRECT = {
    "viterbi": "error table",
    "max-sum": "error table",
    "label by label": "error table",
    "roof duality": "edges of a polygon",
}


def check_rescaling(estimator):
    """Refuse values of `rescaling` and `search` that are none, or do not go together."""
    check_choice("rescaling", estimator.rescaling, ("margin", "slack"))
    check_choice("search", estimator.search, SEARCHES)
    if estimator.rescaling == "margin" and estimator.search != "auto":
        raise ValueError(
            f'search={estimator.search!r} is for rescaling="slack": with rescaling="margin" leave '
            'search="auto"'
        )
    if estimator.search not in estimator._searches:
        raise _no_angular_search(estimator)


def _no_angular_search(estimator):
    return ValueError(
        'search="angular" needs an oracle that is constrained in score and loss, which '
        f'{type(estimator).__name__} does not have: leave search="auto", or take "bisecting"'
    )


def slack_rescaled(training, estimator):
    """Return a Training under slack rescaling.

    Raises
    ------
    ValueError
        If the problem does not have what the search needs.
    """
    if estimator.search == "angular" and not training.problem.has_between:
        raise _no_angular_search(estimator)
    problem = SlackProblem(training.problem, estimator.search)
    inference = training.inference
    if problem.search == "product":
        inference = replace(inference, search=DIRECT.get(inference.decoder))
    else:
        quality = inference.quality
        if problem.search != "angular":
            quality = Quality.BOUNDED if training.problem.bounded else Quality.APPROXIMATE
        inference = replace(inference, search=f"{problem.search} search", quality=quality)
    # Planes depend on the loss: a warm start must find it unchanged, too.
    data = training.data.also(np.array("slack"), np.asarray(getattr(estimator, "loss", "")))
    return replace(training, problem=problem, data=data, inference=inference)
