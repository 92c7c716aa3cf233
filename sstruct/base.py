"""What every estimator of the package shares: parameters, the fit over a BlockProblem, pickles."""

import warnings
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sstruct._labels import encode, is_label
from sstruct._solvers._state import DualState
from sstruct._solvers.frank_wolfe import STEPS, FrankWolfe, Options, relative
from sstruct._solvers.progress import progress
from sstruct._solvers.status import Status
from sstruct._validation import check_choice, check_number, check_weights, flat_labels

PICKLE_FORMAT = 1


class BaseSSVM(BaseEstimator):
    """Fit, certificate, warm start and state of a structured SVM.

    A subclass packs its data into a ``BlockProblem`` and calls ``_fit_problem``; its
    ``_predict_codes(X)`` returns the packed nodes and the index of each one's label.
    """

    # What "auto" stands for.
    _auto: ClassVar = {"solver": "mp-bcfw", "step": "pairwise", "sampling": "permutation"}

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
        check_choice("solver", self.solver, ("auto", "mp-bcfw", "bcfw"))
        check_choice("step", self.step, ("auto", *STEPS))
        check_choice("sampling", self.sampling, ("auto", "uniform", "permutation"))
        check_choice("fit_intercept", self.fit_intercept, (True, False))
        check_number("tol", self.tol, least=0)
        check_number("certificate_every", self.certificate_every, least=1, whole=True)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0)
        check_choice("warm_start", self.warm_start, (False, True, "dual"))
        if self.verbose is not True:
            check_number("verbose", self.verbose, least=0, whole=True)

    def _fit_problem(self, problem, block_weight, lam, data, attributes):
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
        """
        solver, step, sampling = (
            self._auto[name] if getattr(self, name) == "auto" else getattr(self, name)
            for name in ("solver", "step", "sampling")
        )
        options = Options(
            multi_plane=solver == "mp-bcfw",
            step=step,
            permute=sampling == "permutation",
            tol=self.tol,
            certificate_every=self.certificate_every,
            max_iter=self.max_iter,
            max_time=self.max_time,
        )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        state = DualState(problem, lam, block_weight, seed)
        fingerprint = None
        if self.warm_start:
            fingerprint = _fingerprint(data)
            warm = self.__dict__.get("_warm_state")
            if warm is not None:
                if warm["fingerprint"] != fingerprint:
                    raise ValueError(
                        "warm_start goes on from the last fit and needs its data; this X, y, set "
                        "of classes or transition_mask is another one. Set warm_start=False, or "
                        "clone."
                    )
                state.restore(warm)
        bar = progress(self.verbose, self.tol)
        solution = FrankWolfe(problem, state, block_weight, options, bar).solve()
        warm = {"fingerprint": fingerprint, **state.export()} if self.warm_start else None
        self._set_solution(solution, lam, solver, {**attributes, "_warm_state": warm})
        if solution.interruption is not None:
            raise solution.interruption
        if solution.status in (Status.MAX_ITER, Status.TIME_LIMIT):
            warnings.warn(
                f"{type(self).__name__} stopped at relative duality gap "
                f"{relative(solution.gap, solution.primal):.2e} after {solution.n_passes} passes, "
                f"before tol={self.tol:g}. Increase max_iter or max_time, or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _set_solution(self, solution, lam, solver, attributes):
        attributes = {
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
        # At once, so that an interruption leaves the attributes of one fit.
        self.__dict__.update(attributes)
        for name, value in attributes.items():
            if value is None:
                del self.__dict__[name]

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
        labels = flat_labels(y, nodes, type(self).__name__)
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
