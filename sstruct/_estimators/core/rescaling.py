"""Parameters and problem of slack rescaling."""

from dataclasses import replace

import numpy as np

from sstruct._estimators.core.training import Quality
from sstruct._problems.slack._slack_problem import SlackProblem

SEARCHES = ("auto", "angular", "bisecting", "binary")
# By decoder: the name of the search that maximizes loss times score directly.
DIRECT = {
    "viterbi": "error table",
    "max-sum": "error table",
    "label by label": "error table",
    "roof duality": "edges of a polygon",
}


def check_rescaling(structure):
    """Raise ValueError if another parameter cannot be combined with `rescaling` or `search`."""
    if structure.rescaling == "margin" and structure.search != "auto":
        raise ValueError(
            f'search={structure.search!r} requires rescaling="slack"; with rescaling="margin" use '
            'search="auto"'
        )
    if structure.search not in structure.searches:
        raise _no_angular_search(structure)
    size = structure.parameters.get("window_size")
    if size not in (None, "auto"):
        raise ValueError(
            f"window_size={size} cannot be combined with rescaling='slack', which does not split "
            "into windows; use window_size='auto' or rescaling='margin'"
        )


def _no_angular_search(structure):
    if "oracle" in structure.parameters:
        requirement = "an oracle with the method constrained_argmax"
    else:
        requirement = (
            "an oracle that is constrained in score and loss, which "
            f"{structure.estimator_name} does not have"
        )
    return ValueError(f'search="angular" requires {requirement}; use search="auto" or "bisecting"')


def slack_rescaled(training, structure):
    """Return a Training under slack rescaling.

    Raises
    ------
    ValueError
        If the problem does not support the search.
    """
    if structure.search == "angular" and not training.problem.has_between:
        raise _no_angular_search(structure)
    problem = SlackProblem(training.problem, structure.search)
    inference = training.inference
    if problem.search == "product":
        inference = replace(inference, search=DIRECT.get(inference.decoder))
    else:
        quality = inference.quality
        if problem.search != "angular":
            quality = Quality.BOUNDED if training.problem.bounded else Quality.APPROXIMATE
        inference = replace(inference, search=f"{problem.search} search", quality=quality)
    # Planes depend on the loss, so a warm start requires the same loss.
    data = training.data.with_arrays(
        np.array("slack"), np.asarray(structure.parameters.get("loss", ""))
    )
    return replace(training, problem=problem, data=data, inference=inference)
