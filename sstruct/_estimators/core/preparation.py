"""Prepare a fit: check parameters, pack the data, choose lam."""

from functools import partial

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import check_depth, is_partitioned
from sstruct._checks.parameters import check_values
from sstruct._checks.shown import shortened
from sstruct._estimators.core.held_out import train_validation_split
from sstruct._estimators.core.lam_from_scale import lam_from_scale, pairwise_from_scale, scale_of
from sstruct._estimators.core.prior import prior_weights, with_prior
from sstruct._estimators.core.rescaling import check_rescaling, slack_rescaled
from sstruct._input.class_scores import bounded_weight
from sstruct._input.threads import check_n_jobs
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.rounds.partitioned_blocks import PartitionedBlocks


def _check_solver(structure, chosen):
    """Raise an error if options of a solver conflict with each other or with the structure."""
    parameters, solver = structure.parameters, structure.solvers[chosen.name]
    chosen._check()
    solver.check_installed()
    for name, values in solver.unsupported(parameters):
        others = [
            repr(other)
            for other, each in structure.solvers.items()
            if name not in dict(each.unsupported(parameters))
        ]
        raise ValueError(
            f"{name}={shortened(parameters[name])} is not supported by solver={chosen.name!r}; "
            f"use {name}={values[0]!r} or solver={' or '.join(others[:3])}"
        )
    if getattr(structure.chosen_solver, "couple_windows", None) and "window_size" not in parameters:
        raise ValueError(
            f"couple_windows=True of {type(chosen).__name__} is not supported by "
            f"{structure.estimator_name}, which does not split samples into windows; use "
            "couple_windows=False"
        )


def check_not_set(structure, errors):
    """Raise ValueError if a parameter, or an option of the solver, is neither None nor False.

    errors : messages by name
    """
    for name, message in errors.items():
        value = structure.parameters.get(name, getattr(structure.chosen_solver, name, None))
        if value is not None and value is not False:
            raise ValueError(message)


# Types of values that are not nested.
PLAIN = str | int | float | None


def check_given(structure, X=None, y=None, sample_weight=None):
    """Raise if parameters are out of range, or if data or parameters are nested too deeply."""
    data, parameters = {"X": X, "y": y, "sample_weight": sample_weight}, structure.parameters
    for name, value in (data | parameters).items():
        if isinstance(value, PLAIN):
            continue
        if structure.fits_partitions or not is_partitioned(value):
            check_depth(value, name)
        if name in parameters and sparse.issparse(value):  # do not iterate over it
            raise TypeError(
                f"{name} is a {type(value).__name__}, but parameters cannot be sparse matrices"
            )
    check_values(parameters, structure.valid_values)
    if structure.n_jobs is not None:
        check_n_jobs(structure.n_jobs)
    if structure.rescaling != "margin" or structure.search != "auto":
        check_rescaling(structure)
    if structure.chosen_solver.name != "auto":
        _check_solver(structure, structure.chosen_solver)
    structure.check()


def prepare_training(structure, samples, completion=None, validation=None, model=None):
    """Check parameters and data; return the Training of a fit.

    Parameters
    ----------
    structure : Structure
    samples : Samples
    completion : Completion or None
        See ``Structure.train``.
    validation : Samples or None
        X_val, y_val and sample_weight_val of ``fit``; None for fits that do not accept them.
    model : FittedModel or None
        The model after earlier samples of ``partial_fit``.
    """
    check_given(structure, *samples)
    held_out = empty = None
    if structure.prior is not None:
        structure = with_prior(structure)
    if getattr(structure.chosen_solver, "early_stopping", None):
        structure, samples, held_out, empty = train_validation_split(structure, samples, validation)
    elif validation is not None and validation.given:
        raise ValueError(
            "X_val and y_val require early_stopping=True, an option of the solver, as in "
            "solver=MPBCFW(early_stopping=True)"
        )
    training = pack_training(structure, samples, completion, model)
    if structure.prior is not None:
        training.prior = prior_weights(structure, training)
    training.held_out, training.completed = held_out, completion is not None
    if empty is not None:
        training.empty = empty
    nodes, weight, training.nodes = training.nodes, training.total_weight, None
    scale = None if nodes is None else partial(scale_of, nodes, weight)
    training.set_lam_and_scale(*resolve_lam_and_scale(structure, weight, scale, model))
    if training.pairwise_scale != 1:
        training.problem.scale_features(1 / training.pairwise_scale)
    return training


def pack_training(structure, samples, completion=None, model=None):
    """Return the Training for valid parameters, with bounds and rescaling but without lam."""
    if model is None:  # the features must be those of the prior
        model = getattr(structure.prior, "model", None)
    training = structure.train(*samples, completion=completion, model=model)
    training.bounds = structure.given_bounds(training.problem)
    if structure.class_scores is not None:
        layout = training.problem.layout
        training.bounds = bounded_weight(structure.class_scores, layout, training.bounds)
    if structure.rescaling == "slack":
        training = slack_rescaled(training, structure)
    return training


def resolve_lam_and_scale(structure, total_weight, scale=None, model=None):
    """Return lam and pairwise_scale as numbers; the latter is None for models without it.

    Parameters
    ----------
    structure : Structure
    total_weight : float
        Sum of the weights of all samples.
    scale : callable or None
        Returns the Scale of the samples, for "auto". If None, ``lam="auto"`` is 1 / total_weight.
    model : FittedModel or None
        As in `prepare_training`.
    """
    lam, size, has_objective = structure.lam, structure.pairwise_scale, structure.has_objective
    proportional = isinstance(size, str)
    if proportional and model is not None:  # as in earlier calls of partial_fit
        size = model.pairwise_scale_
    if scale is not None and has_objective and (isinstance(lam, str) or isinstance(size, str)):
        scale = scale()
    if isinstance(size, str):
        size = pairwise_from_scale(scale) if has_objective else 1.0
    elif size is not None:
        size = float(size)
    if not has_objective:
        lam = 0.0
    elif not isinstance(lam, str):
        lam = float(lam)
    elif scale is None:  # without statistics of the features, such as for user-defined structures
        lam = 1 / total_weight
    else:
        slack = structure.rescaling == "slack"
        lam = lam_from_scale(scale, slack, 1.0 if size is None else size, proportional)
    square = 1.0 if size is None else size * size  # size**2 raises OverflowError
    if lam and not (0 < square < np.inf and 0 < lam / square < np.inf):
        raise ValueError(
            f"lam={lam:g} with pairwise_scale={size:g}: lam / pairwise_scale^2 is out of the "
            "range of floating point; rescale the features, or change lam or pairwise_scale"
        )
    return lam, size


def identifying_arrays(training):
    """Return the arrays that identify the data and the problem of a fit."""
    problem, data = training.problem, training.data
    arrays = [*data.arrays(), *data.costs]
    if isinstance(problem, PartitionedBlocks):  # the digests of the partitions contain the rest
        return arrays
    terms = list(problem.layout.blocks)
    searches = [problem.search] if isinstance(problem, SlackProblem) else []
    return [*arrays, np.array(repr((terms, *searches)))]
