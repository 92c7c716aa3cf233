"""What every estimator of the package shares: parameters, the fit over a BlockProblem, pickles."""

import numbers
import os
import warnings
from dataclasses import asdict
from hashlib import blake2b

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sstruct._callbacks import CallbackSupport, FitTask
from sstruct._compat import with_callbacks
from sstruct._labels import encode, is_label
from sstruct._out_of_core import auto_sampling
from sstruct._problems._slack import SlackProblem
from sstruct._problems.node_arguments import padded_bounds
from sstruct._rescaling import check_rescaling, with_rescaling
from sstruct._solvers._state import DualState
from sstruct._solvers.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.checkpoint import Checkpoint
from sstruct._solvers.cutting_plane import CuttingPlane
from sstruct._solvers.frank_wolfe import SAMPLINGS, STEPS, FrankWolfe, Options
from sstruct._solvers.plane_qp import qp_solver
from sstruct._solvers.progress import progress
from sstruct._solvers.solver import relative
from sstruct._solvers.status import Status
from sstruct._solvers.subgradient import StochasticSubgradient
from sstruct._solvers.warm_start import rescaled
from sstruct._threads import n_threads
from sstruct._validation import check_choice, check_number, check_weights, flat_labels

PICKLE_FORMAT = 1

# Work of an oracle call from which on "auto" spares calls before all else: gap sampling, caching
# and corrective steps. Graph cuts of 200 superpixels: half the time to a gap of 0.01. CoNLL-2000,
# a thousand units of work: no difference.
DEAR_ORACLE = 20_000

# Solvers to compare with; and the parameters that they do not have, with the values left for them.
BASELINES = {
    "fw": BatchFrankWolfe,
    "ssg": StochasticSubgradient,
    "cutting-plane": CuttingPlane,
}
# GDMM works on factors, where a structure has them (and the estimator its parameters).
WITHOUT_STATE = (*BASELINES, "gdmm")
NOT_FOR_BASELINES = {
    "step": ("auto",),
    "sampling": ("auto",),
    "cache": ("auto", False),
    "schedule": ("work",),
    "average": ("auto", False),
    "warm_start": (False,),
    "checkpoint": (None,),
}
OF_SUBGRADIENT = {"sampling": ("auto", "uniform", "permutation"), "average": ("auto", True)}
OF_GDMM = {"sampling": ("auto", "permutation"), "rescaling": ("margin",), "bounds": (None,)}


class BaseSSVM(CallbackSupport, BaseEstimator):
    """Fit, certificate, warm start and state of a structured SVM.

    A subclass packs its data into a ``BlockProblem`` and calls ``_fit_problem``; its
    ``_predict_codes(X)`` returns the packed nodes and the index of each one's label.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # No estimator type: cv=5 must not look into structured targets.
        tags.estimator_type = None
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self):
        """Refuse parameters out of range; the data are not looked at."""
        if isinstance(self.lam, str):
            if self.lam != "auto":
                raise ValueError(f'lam must be a positive number or "auto", found {self.lam!r}')
        else:
            check_number("lam", self.lam, above=0)
        if hasattr(self, "rescaling"):
            check_rescaling(self)
        on_factors = ("gdmm",) if hasattr(self, "gdmm_rho") else ()
        check_choice("solver", self.solver, ("auto", "mp-bcfw", "bcfw", *BASELINES, *on_factors))
        if on_factors:
            check_number("gdmm_parts", self.gdmm_parts, least=1, whole=True)
            if isinstance(self.gdmm_rho, str):
                check_choice("gdmm_rho", self.gdmm_rho, ("auto",))
            else:
                check_number("gdmm_rho", self.gdmm_rho, above=0)
        check_choice("step", self.step, ("auto", *STEPS))
        check_choice("sampling", self.sampling, ("auto", *SAMPLINGS))
        check_choice("cache", self.cache, ("auto", True, False))
        check_choice("schedule", self.schedule, ("work", "clock"))
        check_choice("average", self.average, ("auto", True, False))
        if hasattr(self, "fit_intercept"):
            check_choice("fit_intercept", self.fit_intercept, (True, False))
        check_number("tol", self.tol, least=0)
        check_number("certificate_every", self.certificate_every, least=1, whole=True)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0)
        check_choice("warm_start", self.warm_start, (False, True, "dual", "primal"))
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, whole=True)
            if self.n_jobs == 0:
                raise ValueError("n_jobs must not be 0")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | os.PathLike):
            raise TypeError(f"checkpoint must be a path or None, found {self.checkpoint!r}")
        if self.solver in WITHOUT_STATE:
            self._check_baseline()
        if self.verbose is not True:
            check_number("verbose", self.verbose, least=0, whole=True)

    def _check_baseline(self):
        """Refuse parameters that a baseline, or GDMM, does not have; look for what it needs."""
        if self.solver == "cutting-plane":
            qp_solver()
        for name, values in self._misfits(self.solver):
            raise ValueError(
                f"{name}={getattr(self, name)!r} does not go with solver={self.solver!r}: leave "
                f"{name}={values[0]!r}, or take solver='mp-bcfw' or 'bcfw'"
            )

    def _misfits(self, solver):
        """Yield parameters that a solver does not have, with the values left for them."""
        own = {"ssg": OF_SUBGRADIENT, "gdmm": OF_GDMM}.get(solver, {})
        for name, values in (NOT_FOR_BASELINES | own).items():
            value = getattr(self, name)
            if not any(value is fine or (np.isscalar(value) and value == fine) for fine in values):
                yield name, values

    def _auto_solver(self, problem, lam):
        """What ``solver="auto"`` stands for."""
        return "mp-bcfw"

    @with_callbacks
    def _fit_problem(self, problem, block_weight, lam, data, attributes, training):
        """Solve and set every fitted attribute.

        Parameters
        ----------
        problem : BlockProblem
        block_weight : ndarray of shape (n_blocks,)
        lam : float
        data : iterable of arrays
            What a warm start must find unchanged.
        attributes : dict
            Fitted attributes that come from the data and not from the solver; None: not there.
        training : tuple of (X, y, sample_weight)
            As given to ``fit``, for callbacks.
        """
        problem, data, attributes = with_rescaling(self, problem, data, attributes)
        solver = self._auto_solver(problem, lam) if self.solver == "auto" else self.solver
        options = self._options(solver, problem)
        bounds = self._bounds(problem)
        bar = progress(self.verbose, solver, self.tol, self.max_iter)

        def as_fitted(solution):
            return self._fitted_attributes(solution, lam, solver, attributes)

        # Cache hits are no oracle calls: how many passes max_iter allows is then not known.
        most = None if options.cache else self.max_iter
        if solver in WITHOUT_STATE:
            task = FitTask(self, training, most, as_fitted)
            if solver == "gdmm":
                run = self._gdmm(problem, lam, block_weight, options, bar, task.callback)
            else:
                run = BASELINES[solver](
                    problem, lam, block_weight, options, bar, task.callback, bounds
                )
            solution = run.solve()
            fitted = {**as_fitted(solution), "_warm_state": None}
            return self._finish(task, *self._look_back(problem, solution, fitted))
        checkpoint = self._checkpoint(problem, data, lam, block_weight, options)
        state = DualState(
            problem,
            lam,
            block_weight,
            options.seed,
            bounds=bounds,
            draw=options.sampling == "gap",
            average=options.average,
        )
        fingerprint = None
        if self.warm_start:
            fingerprint = _fingerprint(data)
            warm = self.__dict__.get("_warm_state")
            if warm is not None:
                if warm["fingerprint"] != fingerprint:
                    raise ValueError(
                        "warm_start goes on from the last fit and needs its data; this X, y, set "
                        "of classes or transition_mask (for graphs also the loss; with slack "
                        "rescaling that, or the rescaling) is another one. Set warm_start=False, "
                        "or clone."
                    )
                if self.warm_start == "primal":
                    warm = rescaled(warm, lam, block_weight)
                problem.restore_planes(warm)
                state.restore(warm)
        task = FitTask(self, training, most, as_fitted)
        solution = FrankWolfe(
            problem, state, block_weight, options, bar, checkpoint, task.callback
        ).solve()
        warm = None
        if self.warm_start:
            warm = {
                "fingerprint": fingerprint,
                "lam": lam,
                "block_weight": block_weight,
                **problem.planes(),
                **state.export(),
            }
        fitted = {**as_fitted(solution), "_warm_state": warm}
        return self._finish(task, *self._look_back(problem, solution, fitted))

    def _bounds(self, problem):
        """Return bounds of the weights in the problem's layout, or None."""
        return None if self.bounds is None else padded_bounds(problem, self.bounds)

    def _look_back(self, problem, solution, attributes):
        """Return the last two, as they are to be; a subclass may have found something out."""
        return solution, attributes

    def _labels(self, y, nodes):
        """Return all labels as one array with an entry a node."""
        return flat_labels(y, nodes, type(self).__name__)

    def _finish(self, task, solution, attributes):
        """Set the fitted attributes; then raise or warn of what ended the fit."""
        # At once, so that an interruption leaves the attributes of one fit.
        self.__dict__.update(attributes)
        for name, value in attributes.items():
            if value is None:
                del self.__dict__[name]
        error = solution.interruption or task.error
        if error is not None:
            raise error
        task.end(solution)
        for remark in solution.remarks:
            warnings.warn(remark, ConvergenceWarning, stacklevel=5)
        name = type(self).__name__
        if solution.status is Status.STALLED and "bounded)" in self.inference_:
            warnings.warn(
                f"{name} stopped at relative duality gap "
                f"{relative(solution.gap, solution.primal):.2e}, before "
                f"tol={self.tol:g}: the search finds nothing that would reduce it. The optimum "
                "lies between dual_objective_ and objective_.",
                ConvergenceWarning,
                stacklevel=5,
            )
        # A solver without a dual has no other end.
        if solution.status in (Status.MAX_ITER, Status.TIME_LIMIT) and not np.isnan(solution.gap):
            # A certificate is as good as the decoder that it rests on.
            approximate = " (approximate)" if "(approximate)" in self.inference_ else ""
            warnings.warn(
                f"{name} stopped at relative duality gap "
                f"{relative(solution.gap, solution.primal):.2e}{approximate} after "
                f"{solution.n_passes} passes, before tol={self.tol:g}. Increase max_iter or "
                "max_time, or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return self

    def _checkpoint(self, problem, data, lam, block_weight, options):
        """Return the fit's Checkpoint, or None; its fingerprint is of all that changes a step.

        Not of the warm start: the file has the whole state, whatever that began from.
        """
        if self.checkpoint is None:
            return None
        free = ("tol", "max_iter", "max_time", "n_jobs", "seed")
        policy = {k: v for k, v in asdict(options).items() if k not in free}
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else None
        terms = list(problem.weight_views(np.empty(problem.n_weights)))
        searches = [problem.search] if isinstance(problem, SlackProblem) else []
        names = np.array(repr((type(self).__name__, terms, policy, seed, *searches)))
        parts = [*data, block_weight, np.array(lam), np.asarray(getattr(self, "loss", "")), names]
        parts += [] if self.bounds is None else [np.asarray(self.bounds)]
        return Checkpoint(self.checkpoint, _fingerprint(parts))

    def _options(self, solver, problem):
        """Return the solver's options; "auto" is settled here."""
        dear = solver not in WITHOUT_STATE and problem.oracle_work >= DEAR_ORACLE
        step, sampling, cache = self.step, self.sampling, self.cache
        if step == "auto":
            step = "corrective" if dear else "pairwise"
        if sampling == "auto":
            sampling = auto_sampling(problem, dear)
        if cache == "auto":
            cache = dear
        return Options(
            multi_plane=solver == "mp-bcfw",
            step=step,
            sampling=sampling,
            cache=bool(cache),
            schedule=self.schedule,
            average=self.average is True,
            pass_average=self.average == "auto",
            n_jobs=n_threads(self.n_jobs),
            tol=self.tol,
            certificate_every=self.certificate_every,
            max_iter=self.max_iter,
            max_time=self.max_time,
            seed=check_random_state(self.random_state).randint(np.iinfo(np.int32).max),
        )

    @staticmethod
    def _fitted_attributes(solution, lam, solver, attributes):
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

    def score(self, X, y, sample_weight=None):
        """Compute the accuracy over all nodes.

        Parameters
        ----------
        X, y : as in ``fit``
            Labels that training has not seen count as wrong; ``ignore_label`` is left out.
        sample_weight : array-like of shape (n,), optional
            Weight of each sequence's nodes.

        Returns
        -------
        float
        """
        nodes, codes = self._predict_codes(X)
        labels = self._labels(y, nodes)
        weights = np.repeat(check_weights(sample_weight, len(nodes)), nodes.lengths)
        weights[is_label(labels, getattr(self, "ignore_label", None))] = 0
        if not weights.any():
            raise ValueError("y has no labelled node in a sample of positive weight")
        return float(np.average(encode(labels, self.classes_) == codes, weights=weights))

    def __getstate__(self):
        state = super().__getstate__().copy()
        if not self.warm_start:
            state.pop("_warm_state", None)
        state["_sstruct_format"] = PICKLE_FORMAT
        return state

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("_sstruct_format", None)
        if version != PICKLE_FORMAT:
            raise ValueError(
                f"this {type(self).__name__} was pickled in format {version}; this version of "
                f"sstruct reads format {PICKLE_FORMAT}"
            )
        super().__setstate__(state)


def training_of(estimator, X, y, sample_weight):
    """Return what ``fit`` hands to the solver, by the names of ``_fit_problem``'s parameters.

    Validated and packed as in a fit; the estimator is left as it is.
    """
    kept = {}

    def keep(problem, block_weight, lam, data, attributes, training):
        problem, data, attributes = with_rescaling(packer, problem, data, attributes)
        kept.update(problem=problem, block_weight=block_weight, lam=lam, attributes=attributes)

    packer = clone(estimator)
    packer._fit_problem = keep
    packer.fit(X, y, sample_weight)
    return kept


def _fingerprint(arrays):
    """A digest of arrays: their bytes, shapes and dtypes."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        array = np.ascontiguousarray(array)
        digest.update(repr((array.shape, array.dtype.str)).encode())
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(memoryview(array.reshape(-1)).cast("B") if array.size else b"")
    return digest.hexdigest()
