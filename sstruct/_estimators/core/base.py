"""What every estimator of the package shares: parameters, the fit over a BlockProblem, pickles."""

import os
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from sstruct._checks.arguments import other_name
from sstruct._checks.arrays import check_depth
from sstruct._checks.partitioned import is_partitioned
from sstruct._checks.scalars import is_integer
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._compat import with_callbacks
from sstruct._estimators.core.callbacks import CallbackSupport, FitTask
from sstruct._estimators.core.common_state import BASE_STATE, LABELING_STATE
from sstruct._estimators.core.fitted_state import (
    CheckedState,
    FittedState,
    check_parameters,
    of_format,
    parameter_names,
    reads_one_fit,
)
from sstruct._estimators.core.held_out import (
    Samples,
    Scorer,
    check_early_stopping,
    divided,
    on_disk,
)
from sstruct._estimators.core.lam_from_scale import (
    lam_from_scale,
    pairwise_from_scale,
    scale_of,
)
from sstruct._estimators.core.missing_methods import AvailableIf, Missing, no_probabilities
from sstruct._estimators.core.online import check_settled, learner_of_part, takes_parts
from sstruct._estimators.core.parted_fit import located, parted_training
from sstruct._estimators.core.partitions import parted_right
from sstruct._estimators.core.remarks import remarks, warn_of_data, warn_of_empty
from sstruct._estimators.core.rescaling import SEARCHES, check_rescaling, slack_rescaled
from sstruct._estimators.core.sample_data import check_goes_on, fingerprint
from sstruct._estimators.core.solvers_by_name import SOLVERS
from sstruct._estimators.core.threads import check_n_jobs, n_threads
from sstruct._estimators.core.weight_frame import names_of_features, weight_frame
from sstruct._input.labels import as_labels, concatenate_labels, encode, find_classes, is_label
from sstruct._input.losses import check_loss
from sstruct._input.padding import check_reserved
from sstruct._input.ragged import (
    NoNodesError,
    check_choice,
    check_node_weights,
    check_number,
    flat_labels,
)
from sstruct._kernels.delayed_interrupt import DelayedInterrupt
from sstruct._problems.slack._problem import SlackProblem
from sstruct._solvers.core.checkpoint import Checkpoint, check_place
from sstruct._solvers.core.held_out import HeldOut
from sstruct._solvers.core.progress import progress
from sstruct._solvers.core.seed import random_of
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.core.warm_start import kept_warm_start, rescaled
from sstruct._solvers.rounds.parts import PartedBlocks
from sstruct._solvers.rounds.solver import Rounds
from sstruct.solvers import MPBCFW, SOLVER_OF_NAME, BaseSolver, solver_object

PICKLE_FORMAT = 1


@dataclass(kw_only=True, eq=False, repr=False)
class BaseSSVM(CheckedState, CallbackSupport, BaseEstimator):
    """Fit, certificate, warm start and state of a structured SVM.

    A subclass has a documented ``fit`` that calls ``_fit``, a ``predict``, and what is listed
    under "Hooks" below: ``_training`` and ``_fitted_state`` in any case, ``_predict_codes`` where
    the labels of nodes are scored, the others where it differs.
    """

    # Parameters of all estimators, and attributes of fitted ones. An estimator is a dataclass, so
    # that each parameter and its default stand once: here, or where a subclass adds it.
    lam: float | str = "auto"
    solver: str | BaseSolver = "auto"
    bounds: ArrayLike | None = None
    tol: float = 1e-2
    certificate_every: int = 10
    max_iter: int = 1000
    max_time: float | None = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    warm_start: bool | str = False
    checkpoint: str | os.PathLike | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    lam_: float = field(init=False)
    solver_: str = field(init=False)
    n_iter_: int = field(init=False)
    n_oracle_calls_: int = field(init=False)
    objective_: float = field(init=False)
    dual_objective_: float = field(init=False)
    dual_gap_: float = field(init=False)
    status_: str = field(init=False)
    converged_: bool = field(init=False)
    inference_: str = field(init=False)
    history_: dict[str, np.ndarray] = field(init=False)

    # Hooks ----------------------------------------------------------------------------------------

    # Its fitted attributes: types, ranges, how they must agree, and the layout of the weights.
    # Models come from files: all that decoding and ``to_frame`` read of them must be in it.
    _fitted_state: ClassVar[FittedState] = BASE_STATE
    # The solvers that the estimator accepts, by name.
    _solvers: ClassVar[dict] = SOLVERS
    # Whether its samples may be in partitions on a cluster that its own rounds go over. Others ask
    # oracles there.
    _fits_partitions: ClassVar[bool] = False
    # Whether these are then rows of arrays, not lists.
    _samples_are_rows: ClassVar[bool] = False
    # Whether integer weights of samples that equal their lengths raise an error.
    _refuses_lengths: ClassVar[bool] = False
    # The values of `search` that its oracle can serve, for estimators with slack rescaling.
    _searches: ClassVar[tuple] = SEARCHES
    # Whether it packs one of the partitions of a fit.
    _is_part: ClassVar[bool] = False
    # Whether it goes on from the samples before: of `learner_of_part` alone.
    _goes_on: ClassVar[bool] = False
    # How a scaler of features, "{}", goes into a pipeline; None where none reads its samples.
    _scaling: ClassVar[str | None] = "PerNode({})"

    def _training(self, X, y, sample_weight, completion=None):
        """Check and pack the data of a fit, under margin rescaling; the estimator stays as it is.

        Parameters are checked before. With a Completion its labels are the truth in the place of
        y's, hidden ones count in no loss, and a warm start may find them changed. Returns a
        Training.
        """
        raise NotImplementedError

    # Whether the parameter `classes` has a list of labels for each type of nodes.
    _classes_by_type: ClassVar[bool] = False

    def _needs_classes(self, y):
        """Whether the first part of the samples does not tell the classes."""
        return True

    def _settled(self):
        """Return the parameters that the first part of the samples has settled, by name."""
        return {"classes": self.classes_} if "classes" in self._parameters() else {}

    def _needs_all_samples(self, y):
        """Return whether the model depends on all labels, so that training has no partitions."""
        return False

    def _known_labels(self, X, y, sample_weight):
        """Return the KnownLabels of a fit's data, for LatentSSVM; parameters are checked before."""
        name = type(self).__name__
        raise TypeError(f"LatentSSVM has no hidden labels for {name}: every sample has one label")

    def _complete(self, X, known, n_states=1):
        """Return the best codes of all labels, or states, around the known ones.

        known : the KnownLabels of X
        """
        raise NotImplementedError

    def _nodes(self, X):
        """Return the packed nodes of samples, after the fit."""
        raise NotImplementedError

    def _first_labels(self, X, y, sample_weight, known):
        """Return initial codes of all labels, predicted by a fit to the known labels."""
        model = clone(self).set_params(warm_start=False)
        return model.fit(X, y, sample_weight)._complete(X, known)

    def _check_divisible(self, X):
        """Refuse samples of which none can be held out."""
        if on_disk(X):
            raise ValueError(
                "X is mapped from a file, and held-out samples would be copied into memory: hold "
                "them out yourself, and give them to fit as X_val and y_val"
            )

    def _classes_to_share(self, y):
        """Return the class of each sample, for classes to have their share of what is held out."""
        return None

    def _packed_for_score(self, X, y):
        """Return samples in a form that ``score`` takes the least time to read."""
        return X, y

    def _axis_values(self):
        """Return the values along each axis of the layout, for ``to_frame``; see `weight_frame`."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{k}" for k in range(self.n_features_in_)]
        return {"feature": names}

    def _check_parameters(self):
        """Refuse parameters out of range; the data are not looked at. Extend it."""
        parameters = self._parameters()
        if isinstance(self.lam, str):
            if self.lam != "auto":
                raise ValueError(
                    f'lam must be a positive number or "auto", found {shortened(self.lam)}'
                )
        else:
            check_number("lam", self.lam, above=0)
        if "loss" in parameters:
            self._check_loss()
        if "rescaling" in parameters:
            check_rescaling(self)
        if "pairwise_scale" in parameters:
            if not isinstance(self.pairwise_scale, str):
                check_number("pairwise_scale", self.pairwise_scale, above=0)
            elif self.pairwise_scale != "auto":
                raise ValueError(
                    'pairwise_scale must be a positive number or "auto", found '
                    f"{shortened(self.pairwise_scale)}"
                )
        chosen = self._chosen_solver() or MPBCFW()
        chosen._check()
        if "fit_intercept" in parameters:
            check_choice("fit_intercept", self.fit_intercept, (True, False))
        check_number("tol", self.tol, least=0)
        check_number("certificate_every", self.certificate_every, least=1, whole=True)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0)
        check_choice("early_stopping", self.early_stopping, (False, True))
        check_early_stopping(self)
        check_choice("warm_start", self.warm_start, (False, True, "dual", "primal"))
        check_n_jobs(self.n_jobs)
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | os.PathLike):
                raise TypeError(
                    f"checkpoint must be a path or None, found {shortened(self.checkpoint)}"
                )
            check_place(self.checkpoint)
        solver = self._solvers[chosen.name]
        solver.check_installed()
        for name, values in solver.refused(parameters):
            others = [
                repr(other)
                for other, each in self._solvers.items()
                if name not in dict(each.refused(parameters))
            ]
            raise ValueError(
                f"{name}={shortened(parameters[name])} does not go with solver={chosen.name!r}: "
                f"leave {name}={values[0]!r}, or take solver={' or '.join(others[:3])}"
            )
        if self.verbose is not True:
            check_number("verbose", self.verbose, least=0, whole=True)

    def _check_loss(self):
        """Refuse values of `loss` that are none, whatever the data."""
        check_loss(self.loss)

    def _auto_solver(self, problem):
        """Return the name that ``solver="auto"`` stands for; it must not depend on `lam`."""
        return "mp-bcfw"

    def _solver_class(self, solver, training):
        """Return the class that solves the problem of a Training, for the name of a solver."""
        return Rounds if isinstance(training.problem, PartedBlocks) else self._solvers[solver]

    def _alternative_solver(self, problem):
        """Return the solver that a warning suggests if a limit ended the fit, or None."""
        return None

    def _chosen_solver(self):
        """Return the solver object that `solver` is or names; None for "auto"."""
        return solver_object(self.solver, tuple(self._solvers))

    @property
    def _solver_name(self):
        """The name of the chosen solver, or "auto"."""
        chosen = self._chosen_solver()
        return "auto" if chosen is None else chosen.name

    def _has_objective(self):
        """Return whether the chosen solver minimizes the objective."""
        return self._solvers[(self._chosen_solver() or MPBCFW()).name].has_objective

    def _options(self, solver, problem):
        """Return the Options of a fit by a solver object; "auto" is resolved here."""
        return Options(
            **solver._settled(problem, self.early_stopping),
            n_jobs=n_threads(self.n_jobs),
            tol=float(self.tol),
            certificate_every=self.certificate_every,
            max_iter=self.max_iter,
            max_time=None if self.max_time is None else float(self.max_time),
            seed=random_of(self.random_state).randint(np.iinfo(np.int32).max),
        )

    def _bounds(self, problem):
        """Return bounds of the weights in the problem's layout, (2, n_weights), or None."""
        return None if self.bounds is None else problem.layout.padded_bounds(self.bounds)

    def _after_solve(self, training, solution):
        """Return the Solution, and adjust the Training, given what the solver found out."""
        return solution

    def _fitted_attributes(self, solution, lam, solver, attributes):
        """Return all fitted attributes; `attributes` are those of the Training. Extend it."""
        return {
            **attributes,
            # In the problem's layout: what decoding wants, and no second copy of it.
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

    def _predict_codes(self, X):
        """Return the packed nodes and the index of each one's label; ``score`` uses it."""
        raise NotImplementedError

    def _labels_of(self, labels):
        """Return the labels of one sample, as y has them, one after another."""
        return labels

    def _distinct_labels(self, y):
        """Return the labels that occur in a partition's y; None where no class is to be found."""
        # Empty arrays may have any dtype.
        labels = concatenate_labels([own for own in map(self._labels_of, y) if len(own)])
        labels = as_labels(labels, self.ignore_label)
        return find_classes(labels[~is_label(labels, self.ignore_label)])

    def _joined_labels(self, found):
        """Return the parameter `classes` from what `_distinct_labels` has found in partitions."""
        classes = find_classes(as_labels(concatenate_labels([own for own in found if len(own)])))
        check_reserved(self, classes)
        return classes

    def _labels(self, y, nodes):
        """Return all labels as one array with an entry a node; ``score`` uses it."""
        return flat_labels(y, nodes, self)

    # ----------------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # No estimator type: cv=5 must not look into structured targets.
        tags.estimator_type = None
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    @property
    def _layout(self):
        """The WeightLayout of ``_w``."""
        return self._fitted_state.layout(self.__dict__)

    def _views(self):
        """Return the tables of ``_w`` by name, as views that can be written."""
        return self._layout.views(self._w)

    def _parameters(self):
        """Return all parameters by name, also where a user's subclass does not show them."""
        check_parameters(self)
        return {name: getattr(self, name) for name in parameter_names(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn's estimators do.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
            The estimator itself.
        """
        names = self.get_params(deep=False) if params else {}
        for name, value in params.items():
            solver = params.get("solver", self.solver)
            if name.startswith("solver__") and isinstance(solver, str):
                kind = SOLVER_OF_NAME.get(solver, MPBCFW).__name__
                raise ValueError(
                    f"solver={solver!r} is a name without options to set; set an object, "
                    f"solver={kind}({name.removeprefix('solver__')}=...)"
                )
            known = other_name(type(self).__name__, names, name, value)
            if known is not None:
                raise ValueError(known)
        return super().set_params(**params)

    def _lam(self, total_weight, scale=None, pairwise_scale=1.0):
        """Return lambda, for samples of a total weight; "auto" asks `scale`, a function, for it."""
        if not self._has_objective():
            return 0.0
        if not isinstance(self.lam, str):
            return float(self.lam)
        if scale is None:  # nothing is known of what a user's oracle makes of a sample
            return 1 / total_weight
        given = self._parameters()
        proportional = isinstance(given.get("pairwise_scale"), str)
        return lam_from_scale(
            scale(), given.get("rescaling") == "slack", pairwise_scale, proportional
        )

    def _check_given(self, X, y, sample_weight):
        """Refuse parameters out of range, and data or parameters too deep to look at."""
        data, parameters = {"X": X, "y": y, "sample_weight": sample_weight}, self._parameters()
        for name, value in (data | parameters).items():
            if self._fits_partitions or not is_partitioned(value):
                check_depth(value, name)
            if name in parameters and sparse.issparse(value):  # which even iterating would read
                raise TypeError(f"{name} is a {type(value).__name__}, and no parameter is sparse")
        self._check_parameters()

    def _prepare(self, X, y, sample_weight, completion=None, validation=None):
        """Check parameters and data; return the Training of a fit. The estimator stays as it is.

        validation : Samples that ``fit`` was given to validate on; None: this is no plain ``fit``
        """
        self._check_given(X, y, sample_weight)
        more = {} if completion is None else {"completion": completion}
        samples = Samples(X, y, sample_weight)
        learner, part, held_out, empty = divided(self, samples, validation)
        training = learner._training_of(part.X, part.y, part.sample_weight, **more)
        training.held_out, training.completed = held_out, completion is not None
        if empty is not None:
            training.empty = empty
        nodes, weight, training.nodes = training.nodes, training.total_weight, None
        scale = None if nodes is None else partial(scale_of, nodes, weight)
        training.set_strengths(*self._strengths(weight, scale), self._bounds(training.problem))
        if training.pairwise_scale != 1:
            training.problem.scale_features(1 / training.pairwise_scale)
        return training

    def _strengths(self, total_weight, scale=None):
        """Return lambda and the size of pairwise features, None for a model without such a size.

        "auto" asks `scale`, a function, for the Scale of the samples.
        """
        scale = None if scale is None else cache(scale)
        size = self._parameters().get("pairwise_scale")
        if size is None:
            return self._lam(total_weight, scale), None
        if not isinstance(size, str):
            size = float(size)
        elif self._goes_on:  # of the samples before
            size = self.pairwise_scale_
        elif not self._has_objective():
            size = 1.0
        else:
            size = pairwise_from_scale(scale())
        lam = self._lam(total_weight, scale, size)
        if lam and not (0 < size**2 < np.inf and 0 < lam / size**2 < np.inf):
            raise ValueError(
                f"lam={lam:g} with pairwise_scale={size:g}: lam / pairwise_scale^2 is out of the "
                "range of floating point; scale the features, or give other numbers"
            )
        return lam, size

    def _training_of(self, X, y, sample_weight, **more):
        """Return the Training of checked parameters, under the rescaling asked for, without lam."""
        training = self._training(X, y, sample_weight, **more)
        if self._parameters().get("rescaling") == "slack":
            training = slack_rescaled(training, self)
        return training

    @with_callbacks
    def _fit(self, X, y, sample_weight, training=None, validation=None):
        """Solve and set every fitted attribute; what a subclass's ``fit`` calls.

        training : what ``_prepare`` has made of the data, where it was called before
        validation : X_val, y_val and sample_weight_val
        """
        parted = False
        if self._fits_partitions and training is None:
            X, y, parted = located(self, X, y, sample_weight, validation)
        if parted:
            self._check_parameters()
            training = parted_training(self, X, y, sample_weight, validation)
            warn_of_data(training)
        elif training is None:
            training = self._prepare(X, y, sample_weight, validation=Samples(*validation))
            warn_of_data(training)
        if self.warm_start and "_warm_state" in self.__dict__:
            self._check_state()
        problem = training.problem
        chosen = self._chosen_solver()
        if chosen is None:
            chosen = SOLVER_OF_NAME["mp-bcfw" if parted else self._auto_solver(problem)]()
        solver = chosen.name
        setup = self._setup(training, self._options(chosen, problem))
        if self._solvers[solver].has_objective:
            setup.step_weight *= problem.n_blocks / training.total_weight
        if training.held_out is not None:
            setup.held_out = HeldOut(Scorer(self, solver, training), self.n_iter_no_change)
        setup.checkpoint = self._checkpoint(training, setup.options)
        setup.warm = self._warm(training)
        return self._solve(solver, setup, training, (X, y, sample_weight))

    @with_callbacks
    def _fit_part(self, X, y, classes, sample_weight):
        """Make one step a sample, from where the last call has ended; what `partial_fit` calls."""
        self._check_given(X, y, sample_weight)
        twin = learner_of_part(self, y, classes)
        training = twin._prepare(X, y, sample_weight)
        warn_of_empty(training.empty)
        chosen = self._chosen_solver()
        options = replace(self._options(chosen, training.problem), sampling="given", max_iter=1)
        setup = self._setup(training, options)
        setup.online = True
        if twin._goes_on:
            check_settled(self, training)
            # Of later parts without names they are those of the first.
            names = self.__dict__.get("feature_names_in_")
            training.attributes |= {} if names is None else {"feature_names_in_": names}
            setup.warm = self._steps
            if setup.warm["bounded"] != (setup.bounds is not None):
                raise ValueError("bounds were set or taken away since the last part: take a clone")
        return self._solve(chosen.name, setup, training, (X, y, sample_weight))

    def _setup(self, training, options):
        """Return the Setup of a solver with Options."""
        lam, bounds = training.solver_lam, training.solver_bounds
        setup = Setup(training.problem, lam, training.block_weight, options, bounds)
        setup.step_weight = training.sample_weight.copy()
        return setup

    def _solve(self, solver, setup, training, given):
        """Run a solver, by its name, and set every fitted attribute; `given`: to ``fit``."""
        problem, options = setup.problem, setup.options
        setup.progress = progress(self.verbose, solver, options.tol, options.max_iter)
        data = self._named(training.data) if self.warm_start else {}

        def as_fitted(solution):
            # Not of the setup, which knows the task: a cycle would keep all data.
            solution = replace(solution, w=training.user_weights(solution.w))
            return self._fitted_attributes(solution, training.lam, solver, training.known)

        # Cache hits are no oracle calls: how many passes max_iter allows is then not known.
        most = None if options.cache else options.max_iter
        task = FitTask(self, given, most, as_fitted)
        setup.callback = task.callback
        # A signal must not come between a solution and the attributes that it becomes.
        with DelayedInterrupt() as setup.delay:
            run = self._solver_class(solver, training)(setup)
            solution = run.solve()
            warm, steps = run.export() if self.warm_start else None, None
            if warm is not None:
                warm |= data
            elif self.warm_start and solution.interruption is None:  # the cluster has gone by now
                solution = replace(solution, interruption=problem.failure)
            if run.takes_samples_as_they_come:
                # Those of the weights kept, which others have followed.
                steps = (setup.held_out and setup.held_out.steps) or run.export()
                steps |= {"solver": solver, "bounded": setup.bounds is not None}
            solution = self._after_solve(training, solution)
            if setup.online:  # what is said of all samples is not said of a part
                solution = replace(solution, remarks=())
            self._publish({**as_fitted(solution), "_warm_state": warm, "_steps": steps})
        return self._finish(task, solution, training)

    @partial(AvailableIf, takes_parts)
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn from samples as they come: one step for each, in their order.

        For ``solver="perceptron"``, ``"pa"`` and ``"ssg"``. The first call begins at w = 0; others,
        and those after ``fit``, continue from the last one. Calls with parts of the samples give
        the weights, to the bit, of one call with all of them. ``w_`` is the average over all steps
        so far, and there is no certificate: ``objective_`` and the dual attributes are NaN. A
        ``fit`` with ``"ssg"`` evaluates the objective and returns the last weights instead of the
        average if they are better, so that its ``w_`` may differ.

        Parameters
        ----------
        X, y : as in ``fit``
            The next samples, with the features of those before.
        classes : array-like, optional
            All labels that may ever occur, in order. Needed in the first call, unless the parameter
            of that name is set; in later ones it may be left out. :class:`MultilabelSSVM` needs it
            for one label a sample alone; :class:`TreeSSVM` and :class:`StructuredSVM` have none.
        sample_weight : as in ``fit``
            What each sample's step is multiplied by; ``fit`` with ``"ssg"`` divides it by the mean.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter are not as expected or not as in the calls before: other
            features, new classes, another solver. The estimator stays as it was.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> from sstruct.datasets import make_sequences
        >>> X, y = make_sequences(n_samples=60, random_state=0)
        >>> model = ChainSSVM(solver="perceptron")
        >>> for first in range(0, 40, 10):
        ...     part = slice(first, first + 10)
        ...     model = model.partial_fit(X[part], y[part], classes=range(4))
        >>> model.n_oracle_calls_
        40
        >>> bool(model.score(X[40:], y[40:]) > 0.7)
        True
        """
        return self._fit_part(X, y, classes, sample_weight)

    predict_proba = Missing(no_probabilities)
    predict_log_proba = Missing(no_probabilities)

    def _finish(self, task, solution, training):
        """Raise or warn of what ended the fit."""
        error = solution.interruption or task.error
        if error is not None:
            # Frames of its traceback hold these: a cycle would keep all data until it is collected.
            solution.interruption = task.error = None
            try:
                raise error
            finally:
                del error
        task.end(solution)
        for remark, category in remarks(self, solution, training):
            warn_user(remark, category)
        return self

    def _named(self, data):
        """Return what the next fit has to know of the data: taken before user code is called."""
        return {"fingerprint": data.fingerprint(), "n_samples": data.n_samples}

    def _warm(self, training):
        """Return what the last fit left to go on from, or None."""
        warm = self.__dict__.get("_warm_state") if self.warm_start else None
        if warm is None:
            return None
        try:
            kept_warm_start(warm)
        except ValueError as error:
            raise ValueError(f"what the last fit left to go on from: {error}") from error
        classes = training.attributes.get("classes_")
        check_goes_on(warm, training.data, classes, self.__dict__.get("classes_"))
        if self.warm_start == "primal":
            # New samples have the truth alone, whose plane is zero.
            old = training.block_weight[: len(warm["size"])]
            warm = rescaled(warm, training.solver_lam, old)
        return warm

    def _checkpoint(self, training, options):
        """Return the fit's Checkpoint, or None; its fingerprint is of all that changes a step.

        Not of the warm start: the file has the whole state, whatever that began from.
        """
        if self.checkpoint is None:
            return None
        free = ("tol", "max_iter", "max_time", "n_jobs", "seed", "rho", "parts", "aggressiveness")
        policy = {k: v for k, v in asdict(options).items() if k not in free}
        seed = self.random_state if is_integer(self.random_state) else None
        names = np.array(repr((type(self).__name__, policy, seed)))
        loss = np.asarray(self._parameters().get("loss", ""))
        parts = [*self._told_apart(training), training.block_weight]
        parts += [np.array([training.lam, training.pairwise_scale]), loss, names]
        parts += [] if self.bounds is None else [np.asarray(self.bounds)]
        if training.held_out is not None:
            parts += [np.array(training.held_out.fingerprint())]
        return Checkpoint(self.checkpoint, fingerprint(parts))

    def _told_apart(self, training):
        """Return arrays that identify the data and the problem of a fit."""
        problem, data = training.problem, training.data
        arrays = [*data.arrays(), *data.costs]
        if isinstance(problem, PartedBlocks):  # the parts' digests have the rest
            return arrays
        terms = list(problem.layout.blocks)
        searches = [problem.search] if isinstance(problem, SlackProblem) else []
        return [*arrays, np.array(repr((terms, *searches)))]

    @property
    @reads_one_fit
    def w_(self) -> np.ndarray:
        """All weights in one vector."""
        return self._layout.public(self._w)

    @reads_one_fit
    def to_frame(self, feature_names: ArrayLike | None = None) -> Any:
        """List all weights, and what each belongs to, in a pandas data frame.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), optional
            Names of the features, such as ``pipeline[:-1].get_feature_names_out()``. Default:
            ``feature_names_in_`` or, where X had no names, x0, x1, ... The weights of
            :class:`StructuredSVM` are named by their indices, or by so many names.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each weight, in the order of ``w_``, with the columns

            kind
                The part of the weights, an attribute without its ending: coef, intercept, start,
                end, edge, edge_feature, type (``type_coef_``), w.
            label, next_label or other_label
                The label, or the pair of neighboring or interacting labels. ``edge_coef_`` of
                chains goes from label to next_label; with ``pairwise="directed"`` label is that of
                an edge's first node. For :class:`TreeSSVM` part, type and parent_type instead; for
                :class:`MultilabelSSVM` with ``pairwise="full"`` also the value of each label.
            feature
                Name of the feature of the node or edge.
            weight
                The weight, a float.

            All but weight are categorical, and missing where a weight belongs to no such thing.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there are more or fewer names than features.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> X, y = [[[2.0, 0.0], [0.0, 1.0]], [[0.0, 2.0]]], [["a", "b"], ["b"]]
        >>> frame = ChainSSVM(lam=0.1, random_state=0).fit(X, y).to_frame(["warm", "wet"])
        >>> frame.columns.tolist()
        ['kind', 'label', 'next_label', 'feature', 'weight']
        >>> wet = frame.query("kind == 'coef' and feature == 'wet'")
        >>> wet.label[wet.weight.idxmax()]
        'b'
        """
        values = self._axis_values()
        if feature_names is not None:
            values["feature"] = names_of_features(feature_names, len(values["feature"]))
        return weight_frame(self._layout, self._w, values)

    @reads_one_fit
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy over all nodes.

        Parameters
        ----------
        X, y : as in ``fit``
            Labels that training has not seen count as wrong; ``ignore_label`` is left out.
        sample_weight : array-like of shape (n,), or list of arrays, optional
            Weight of each sample's nodes; or, for sequences, graphs and images, an array for each
            sample with the weights of its nodes.

        Returns
        -------
        float
            Share of labels that are right.
        """
        if self._fits_partitions and is_partitioned(X):
            return share_right(*parted_right(self, X, y, sample_weight))
        return share_right(*self._right(X, y, sample_weight))

    def _right(self, X, y, sample_weight):
        """Return which labels are predicted as they are, and the weight of each."""
        nodes, codes = self._predict_codes(X)
        return self._right_of(nodes, codes, self.classes_, y, sample_weight)

    def _right_of(self, nodes, codes, classes, y, sample_weight):
        """As `_right`, of nodes with codes of their predicted labels."""
        labels = self._labels(y, nodes)
        of_samples, of_nodes = check_node_weights(sample_weight, nodes)
        weights = np.repeat(of_samples, nodes.lengths)
        weights = weights if of_nodes is None else of_nodes
        weights[is_label(labels, self._parameters().get("ignore_label"))] = 0
        return encode(labels, classes) == codes, weights

    def __dask_tokenize__(self):
        # Dask would use the fields of the dataclass only, without the fitted attributes.
        return tokenized(self)

    def _stored_parameters(self, attributes):
        """Return the parameters that a file keeps in another form, given the fitted attributes."""
        return {}

    def _stored_state(self):
        state = super()._stored_state()
        if not self.warm_start:
            state.pop("_warm_state", None)
        if self._is_fitted():
            state = _stored(self, state, vars(self))
        state["_sstruct_format"] = PICKLE_FORMAT
        return state

    def __setstate__(self, state):
        super().__setstate__(of_format(self, state, PICKLE_FORMAT))


@dataclass(kw_only=True, eq=False, repr=False)
class LabelingSSVM(BaseSSVM):
    """A BaseSSVM whose labels, found in training, each have weights of the features and a bias."""

    _fitted_state = LABELING_STATE

    loss: str | ArrayLike = "hamming-count"
    fit_intercept: bool = True
    classes: ArrayLike | None = None
    classes_: np.ndarray = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    def _axis_values(self):
        return {"label": self.classes_, **super()._axis_values()}


def share_right(right, weights):
    """Return the weighted share of labels that are right."""
    if not weights.any():
        raise NoNodesError("y has no labeled node in a sample of positive weight")
    return float(np.average(right, weights=weights))


def stored_template(estimator, attributes):
    """Return a copy of an unfitted estimator for the file of a model that was fitted with it.

    attributes : those of a fit, or None if there are none
    """
    out = object.__new__(type(estimator))
    out.__dict__ = _stored(estimator, vars(estimator), attributes)
    return out


def _stored(estimator, state, attributes):
    """Return a state as files of fitted models have it: without functions that belong to a fit."""
    state = {name: value for name, value in state.items() if name != "_skl_callbacks"}
    return state if attributes is None else state | estimator._stored_parameters(attributes)


def tokenized(estimator):
    """Return what tells an estimator from others, for Dask: its type and state."""
    from dask.base import normalize_token

    return normalize_token((type(estimator), estimator.__getstate__()))
