"""Margin or slack rescaling: the problem that a fit solves, and what it says of its oracle."""

import numpy as np

from sstruct._problems._slack import SlackProblem
from sstruct._validation import check_choice

SEARCHES = ("auto", "angular", "bisecting", "binary")
# What maximises loss times score directly, by the decoder in whose place it is.
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


def slack_rescaled(problem, search, inference, name):
    """Return the problem under slack rescaling, and the name of its oracle.

    Parameters
    ----------
    problem : BlockProblem
    search : {"auto", "angular", "bisecting", "binary"}
    inference : str
        Name of the problem's decoder, with how good it is in brackets.
    name : str
        Of the estimator, for errors.

    Raises
    ------
    ValueError
        If the problem does not have what the search needs.
    """
    if search == "angular" and not problem.has_between:
        raise ValueError(
            f'search="angular" needs an oracle that is constrained in score and loss, which {name} '
            'does not have: leave search="auto", or take "bisecting"'
        )
    rescaled = SlackProblem(problem, search)
    decoder, quality = inference.removesuffix(")").rsplit(" (", 1)
    if rescaled.search == "product":
        way = DIRECT.get(decoder)
    else:
        way = f"{rescaled.search} search"
        if rescaled.search != "angular":
            found = "bounded" if problem.bounded else "approximate"
            quality = found if quality == "exact" else f"{quality}, {found}"
    return rescaled, f"{decoder}, {way} ({quality})" if way else inference


def with_rescaling(estimator, problem, data, attributes):
    """Return what a fit solves: the problem, what tells its planes from others, attributes."""
    if getattr(estimator, "rescaling", "margin") == "margin":
        return problem, data, attributes
    problem, inference = slack_rescaled(
        problem, estimator.search, attributes["inference_"], type(estimator).__name__
    )
    # Planes depend on the loss: a warm start must find it unchanged, too.
    data = [*data, np.array("slack"), np.asarray(getattr(estimator, "loss", ""))]
    return problem, data, {**attributes, "inference_": inference}
