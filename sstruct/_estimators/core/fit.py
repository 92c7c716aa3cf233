"""Fit a model, from the validation of parameters and data to the warnings."""

import sys
from dataclasses import asdict, replace
from functools import partial

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import check_depth, is_partitioned
from sstruct._checks.parameters import check_values, drawn_seed, is_integer
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._estimators.core.fit_warnings import fit_warnings, warn_of_data
from sstruct._estimators.core.fitted_model import FittedModel
from sstruct._estimators.core.held_out import Scorer, train_validation_split
from sstruct._estimators.core.lam_from_scale import lam_from_scale, pairwise_from_scale, scale_of
from sstruct._estimators.core.prior import prior_weights, with_prior
from sstruct._estimators.core.rescaling import check_rescaling, slack_rescaled
from sstruct._estimators.core.sample_data import check_continues, fingerprint
from sstruct._estimators.core.training import Samples
from sstruct._input.class_scores import bounded_weight, parse_class_scores
from sstruct._input.threads import check_n_jobs, n_threads
from sstruct._kernels._storage import return_freed_memory
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.core.best_weights import BestWeights
from sstruct._solvers.core.checkpoint import Checkpoint
from sstruct._solvers.core.progress import progress
from sstruct._solvers.core.solver import Options, Setup, objective_at
from sstruct._solvers.core.status import Status
from sstruct._solvers.core.warm_start import kept_warm_start, rescaled
from sstruct._solvers.proximal.coupled import Coupled
from sstruct._solvers.rounds.distributed_fit import DistributedFit
from sstruct._solvers.rounds.partitioned_blocks import PartitionedBlocks
from sstruct.solvers import DEFAULT_SOLVERS

# Freed memory is returned to the system before fits with at least this many weights, whose vectors
# (8 MB) need more memory than most other arrays.
MANY_WEIGHTS = 2**20
# Parameters and options of solvers that a fit may change when it continues from a checkpoint. The
# seed is drawn from random_state, which may change unless it is an integer.
FREE = ("tol", "max_iter", "max_time", "n_jobs", "seed", "rho", "parts", "aggressiveness")
# Types of values that are not nested.
PLAIN = str | int | float | None


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
    if structure.solver_option("couple_windows") and "window_size" not in parameters:
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
        value = structure.parameters.get(name, structure.solver_option(name))
        if value is not None and value is not False:
            raise ValueError(message)


def check_given(structure, X=None, y=None, sample_weight=None):
    """Raise an error if parameters are out of range, or data or parameters too deeply nested."""
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


def check_samples(structure, X, y, sample_weight):
    """Raise the errors of ``fit`` for parameters and data, without a fit.

    Meta-estimators call it before they split the samples, so that errors have indices of all
    samples instead of those of a fold.
    """
    check_given(structure, X, y, sample_weight)
    structure.train(X, y, sample_weight)


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
    if structure.solver_option("early_stopping"):
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


def chosen_options(structure, solver, problem, threads=None):
    """Return the Options of a fit by a solver object; "auto" is resolved here."""
    return Options(
        **solver._options(problem),
        n_jobs=n_threads(structure.n_jobs) if threads is None else threads,
        tol=float(structure.tol),
        max_iter=structure.max_iter,
        max_time=None if structure.max_time is None else float(structure.max_time),
        seed=drawn_seed(structure.random_state),
    )


class Fit:
    """A fit to packed data: the solver, its Setup, and the fitted attributes of its solution.

    Parameters
    ----------
    structure : Structure
    training : Training
    warm_state : dict or None
        The dual state of ``structure.last_fit`` to start from.
    online : bool
        Whether to make one step per sample, in the given order, as ``partial_fit`` does.

    Attributes
    ----------
    setup : Setup
    fitted_attributes : callable
        Returns all fitted attributes of a Solution.
    """

    def __init__(self, structure, training, warm_state=None, online=False):
        solver = structure.chosen_solver
        if solver.name == "auto":
            solver = DEFAULT_SOLVERS[training.auto_solver]
        self.structure, self.training, self.solver = structure, training, solver.name
        if training.alternative == self.solver:
            training.alternative = None
        # Not a method: setup refers to the FitTask, which refers to this; a reference cycle would
        # keep all data in memory.
        self.fitted_attributes = partial(_attributes_of, structure, training, solver.name)
        options = chosen_options(structure, solver, training.problem, training.n_threads)
        if online:
            options = replace(options, sampling="given", max_iter=1)
        self.setup = setup = Setup(
            training.problem,
            training.solver_lam,
            training.block_weight,
            options,
            training.solver_weights(training.bounds),
            training.solver_weights(training.prior),
            online=online,
        )
        setup.step_weight = training.sample_weight.copy()
        if not online and structure.solvers[self.solver].has_objective:
            setup.step_weight *= training.problem.n_blocks / training.total_weight
        self._data = {}
        if structure.warm_start:  # before calls of user code, which could change the data
            data = training.data
            self._data = {"fingerprint": data.fingerprint(), "n_samples": data.n_samples}
        if structure.verbose:
            setup.progress = progress(structure.verbose, self.solver, options.tol, options.max_iter)
        if training.held_out is not None:
            scorer = Scorer(structure, training, self.fitted_attributes)
            setup.held_out = BestWeights(scorer, solver.n_iter_no_change)
        if structure.solver_option("checkpoint") is not None:
            setup.checkpoint = _checkpoint(structure, training, options)
        if warm_state is not None:
            setup.warm = _warm(structure, training, warm_state)

    def solve(self, publish):
        """Run the solver and return its Solution, with the weights in the units of X.

        publish : callable
            Called with the fitted attributes. Signals are delivered before or after the call.
        """
        structure, training, setup = self.structure, self.training, self.setup
        if setup.problem.n_weights >= MANY_WEIGHTS:
            return_freed_memory()
        with setup.delay:
            run_class = structure.solvers[self.solver]
            if isinstance(training.problem, PartitionedBlocks):
                run_class = DistributedFit
            elif training.whole is not None and structure.solver_option("couple_windows"):
                run_class = Coupled
            run = run_class(setup)
            solution = run.solve()
            warm, steps = run.export() if structure.warm_start else None, None
            if warm is not None:
                warm |= self._data
            elif structure.warm_start and solution.interruption is None:
                # The cluster is no longer available.
                solution = replace(solution, interruption=setup.problem.failure)
            if run.supports_partial_fit:
                # The state that belongs to the best weights, which need not be the last ones.
                steps = (setup.held_out and setup.held_out.steps) or run.export()
                steps |= {
                    "solver": self.solver,
                    "bounded": setup.bounds is not None,
                    "prior": prior_digest(training),
                }
            if training.conclude is not None:
                solution = training.conclude(training, solution)
            if training.whole is not None and solution.interruption is None:
                training.attributes["whole_objective_"] = self._whole_objective(solution)
            if setup.online:  # warnings about all samples do not apply to a part
                solution = replace(solution, warnings=())
            del run
            solution.w = training.user_weights(solution.w, in_place=True)
            attributes = fitted_attributes(
                structure, solution, training.lam, self.solver, training.known
            )
            publish({**attributes, "_warm_state": warm, "_steps": steps})
        return solution

    def _whole_objective(self, solution):
        """Return the objective of whole samples, for blocks that are windows of them."""
        problem, first = self.training.whole()
        return objective_at(
            problem,
            self.training.solver_lam,
            self.training.block_weight[first],
            solution.w,
            n_threads(self.structure.n_jobs),
            self.training.solver_weights(self.training.prior),
        )

    def end(self, solution, task=None):
        """Raise the exception that ended the fit, or end its FitTask and warn about the result."""
        error = solution.interruption or getattr(task, "error", None)
        if error is not None:
            # The frames of the traceback refer to these: a cycle would keep all data in memory.
            solution.interruption = None
            if task is not None:
                task.error = None
            try:
                raise error
            finally:
                del error
        if task is not None:
            task.end(solution)
        for message, category in fit_warnings(self.structure, solution, self.training):
            warn_user(message, category)


def prior_digest(training):
    """Return a digest of the prior, in the units of X; "" if there is none."""
    return "" if training.prior is None else fingerprint([training.prior])


def _attributes_of(structure, training, solver, solution):
    solution = replace(solution, w=training.user_weights(solution.w))
    return fitted_attributes(structure, solution, training.lam, solver, training.known)


def fitted_attributes(structure, solution, lam, solver, attributes):
    """Return all fitted attributes.

    Parameters
    ----------
    structure : Structure
    solution : Solution
        Its weights are in the units of the features in X.
    lam : float
    solver : str
    attributes : dict
        Attributes of the Training.
    """
    return structure.describe(
        {
            **attributes,
            # In the layout of the problem, as needed for decoding, to avoid a second copy.
            "_w": solution.w,
            "lam_": lam,
            "solver_": solver,
            "n_iter_": solution.n_passes,
            "n_oracle_calls_": solution.n_oracle_calls,
            "objective_": solution.primal,
            "dual_objective_": solution.dual,
            "dual_gap_": solution.gap,
            "status_": solution.status.value,
            "converged_": solution.status is Status.CONVERGED,
            "history_": solution.history,
        }
    )


def training_of(structure, samples, validation):
    """Return the Training of ``fit``, whose samples may be partitions; warn about the data."""
    parted = False
    if structure.fits_partitions and "dask" in sys.modules:
        from sstruct._estimators.core.parted_fit import as_partitions, parted_training

        samples, parted = as_partitions(structure, samples, validation)
    if parted:
        check_given(structure)
        training = parted_training(structure, samples, validation)
    else:
        training = prepare_training(structure, samples, validation=validation)
    if len(training.empty) or training.data_warnings:
        warn_of_data(training)
    return training


def fitted_model(structure, samples):
    """Fit a model to samples without an estimator; return the FittedModel."""
    training, kept = training_of(structure, samples, Samples(None, None)), {}
    fit = Fit(structure, training)
    fit.end(fit.solve(kept.update))
    return FittedModel(structure.state, {k: v for k, v in kept.items() if v is not None})


def _warm(structure, training, warm):
    """Return the dual state of the last fit, checked against the data."""
    try:
        kept_warm_start(warm)
    except ValueError as error:
        raise ValueError(f"cannot continue from the previous fit: {error}") from error
    classes = training.attributes.get("classes_")
    known = structure.last_fit.get("classes_")
    check_continues(warm, training.data, classes, known, "classes" in structure.parameters)
    if structure.warm_start == "primal":
        # The working set of a new sample is its true labeling, whose plane is zero.
        old = training.block_weight[: len(warm["size"])]
        warm = rescaled(warm, training.solver_lam, old)
    return warm


def _checkpoint(structure, training, options):
    """Return the Checkpoint of a fit. Its fingerprints cover all that affects a step.

    The warm start is not covered, since the file contains the whole state.
    """
    policy = {k: v for k, v in asdict(options).items() if k not in FREE}
    seed = structure.random_state if is_integer(structure.random_state) else None
    parts = {
        "estimator": [np.array(structure.estimator_name)],
        "data or model": [*identifying_arrays(training), training.block_weight],
        "lam": [np.float64(training.lam)],
        "pairwise_scale": [np.float64(training.pairwise_scale)],
        "loss": [np.asarray(structure.parameters.get("loss", ""))],
        "solver": [np.array(repr(policy))],
        "random_state": [np.array(repr(seed))],
    }
    if structure.bounds is not None:
        parts["bounds"] = [np.asarray(structure.bounds)]
    if structure.class_scores is not None:
        parts["class_scores"] = [np.array(parse_class_scores(structure.class_scores)[0])]
    if training.prior is not None:
        parts["prior"] = [training.prior]
    if training.held_out is not None:
        parts["validation set"] = [np.array(training.held_out.fingerprint())]
    fingerprints = {name: fingerprint(arrays) for name, arrays in parts.items()}
    return Checkpoint(structure.solver_option("checkpoint"), fingerprints)
