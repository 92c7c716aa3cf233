# Design:
# (a) Training on factors needs what the oracle of a chain is made of, not the oracle: rows, labels,
#     costs, masks and the layout of the weights. They are handed over as they are, without a copy.
"""The parts of a chain problem, for solvers that work on its factors."""

from functools import partial

from sstruct._problems._chain cimport ChainProblem

import numpy as np

from sstruct._problems._chain_sparse import sparse_hinges


def chain_factors(ChainProblem problem not None):
    """Return what the unigram and bigram factors of a problem are made of, by name.

    Labels are padded to ``width`` entries a row, as in the problem's weights: ``n_features`` rows,
    then those of intercepts, start, end, as far as they exist, and of transitions. ``hinges`` is
    `sparse_hinges` of the problem.
    """
    problem.need_labels()
    return {
        "features": problem.features,
        "start": np.asarray(problem.start),
        "length": np.asarray(problem.length),
        "labels": np.asarray(problem.labels),
        "cost": np.asarray(problem.cost),
        "loss_scale": np.asarray(problem.loss_scale),
        "starts_here": np.asarray(problem.starts_here),
        "ends_here": np.asarray(problem.ends_here),
        "edge_penalty": np.asarray(problem.edge_penalty) if problem.masked else None,
        "boundary_penalty": np.asarray(problem.boundary_penalty),
        "n_labels": problem.n_labels,
        "width": problem.KP,
        "bias": bool(problem.bias),
        "boundaries": bool(problem.boundaries),
        "transitions": bool(problem.transitions),
        "hinges": partial(sparse_hinges, problem),
    }
