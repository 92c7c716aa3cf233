"""The fit of LatentSSVM."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sstruct._checks.parameters import Range, check_values, random_of
from sstruct._checks.shown import errors_of, shortened
from sstruct._compat import num_samples
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fit import check_given, check_not_set
from sstruct._estimators.core.fit_warnings import warn_of_empty
from sstruct._estimators.core.meta_estimator import MetaSSVM, search_hint
from sstruct._estimators.core.training import Samples
from sstruct._estimators.latent.rounds import Latent, Rounds, concave_convex, row_of_history
from sstruct._estimators.latent.starts import (
    first_states,
    labels_by,
    last_of,
    randomly_weighted,
    seeded,
)

# A table of transitions between the states of one label then has 10^8 entries.
MAX_STATES = 10_000
VALID_VALUES = {
    "states_per_label": Range(least=1, whole=True),
    "tol": Range(least=0),
    "max_rounds": Range(least=1, whole=True),
    "n_init": Range(least=1, whole=True),
}
# The errors for parameters of the estimator and options of its solver that are not supported.
UNSUPPORTED = {
    "checkpoint": "checkpoint of the solver is not supported by LatentSSVM, which makes many fits; "
    "use checkpoint=None",
    "prior": "prior is not supported by LatentSSVM; use prior=None, or fit the estimator itself",
    "early_stopping": "early_stopping=True of the solver is not supported by LatentSSVM, whose "
    "rounds continue from fit to fit; use early_stopping=False",
    "couple_windows": "couple_windows=True of the solver is not supported by LatentSSVM; use "
    "couple_windows=False",
}


@dataclass
class LatentFit:
    """A fit with the parameters of LatentSSVM."""

    estimator: Any
    states_per_label: int
    tol: float
    max_rounds: int
    n_init: int
    init: Any
    random_state: Any

    def check(self):
        """Raise an error if a parameter is invalid."""
        if not isinstance(self.estimator, BaseSSVM):
            hint = search_hint(self.estimator)
            if isinstance(self.estimator, Pipeline):
                hint = "; put LatentSSVM at the end of the pipeline"
            raise TypeError(
                "estimator must be an estimator of this package, found "
                f"{shortened(self.estimator)}{hint}"
            )
        check_values(vars(self), VALID_VALUES)
        structure = self.estimator._structure()
        check_not_set(structure, UNSUPPORTED)
        if self.init is not None:
            self._check_init()
        if not structure.has_objective:
            raise ValueError(
                f"solver={structure.chosen_solver.name!r} has no objective, which LatentSSVM "
                "requires; use solver='mp-bcfw' or 'bcfw'"
            )

    def _check_init(self):
        last = last_of(self.init)
        # Among meta-estimators, only LatentSSVM completes labels.
        if not (isinstance(last, BaseSSVM | MetaSSVM) and hasattr(last, "_first_labels")):
            raise TypeError(
                "init must be an estimator of this package, or a pipeline that ends in one, found "
                f"{shortened(self.init)}"
            )
        inner = last.estimator if isinstance(last, MetaSSVM) else last
        kinds = [getattr(each, "_structure_class", None) for each in (self.estimator, inner)]
        if any(getattr(kind, "first_labels_of_user", False) for kind in kinds):
            raise TypeError(
                "StructuredSVM does not support init and cannot be used as init; use init=None, "
                "since complete(x, y, None) of its oracle returns the initial completion"
            )

    def check_given(self, *given):
        """Raise an error if data are nested too deeply, or if a parameter is invalid.

        This includes the parameters of `estimator` and `init`.
        """
        self.check()
        check_given(self.estimator._structure(), *given)
        if self.init is not None:
            with errors_of("init"):
                last = last_of(self.init)
                if isinstance(last, MetaSSVM):
                    last._settings(LatentFit).check_given(*given)
                else:
                    check_given(last._structure(), *given)

    def run(self, given, publish):
        """Fit to X, y and sample_weight.

        publish : callable
            Called with the fitted attributes, also before a KeyboardInterrupt after the first
            round is raised again.
        """
        self.check_given(*given)
        begin, random = time.perf_counter(), random_of(self.random_state)
        model, samples = clone(self.estimator), Samples(*given)
        if model.random_state is None and self.random_state is not None:
            model.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        structure, n_states = model._structure(), int(self.states_per_label)
        known = structure.hidden(*given)
        if len(known.empty):  # warn once instead of in all fits
            warn_of_empty(known.empty)
            samples = samples.subset(np.delete(np.arange(num_samples(samples.X)), known.empty))
            known = structure.hidden(*samples)
        if n_states > 1 and known.features is None:
            raise ValueError(
                f"states_per_label={n_states} is supported only for chains, graphs and images, "
                f"found {structure.estimator_name}"
            )
        if n_states > MAX_STATES:
            raise ValueError(
                f"states_per_label must be at most {MAX_STATES}, found {shortened(n_states)}"
            )
        if known.n_hidden == 0 and n_states == 1 and known.plain:
            model.fit(*samples)
            row = row_of_history(model, model.objective_, 0, begin)
            publish(self._attributes(Rounds(model, model.objective_, True, [row]), known))
            return
        latent = Latent(samples, known, n_states, float(self.tol), int(self.max_rounds), begin)
        starts = []
        try:
            self._run_starts(model, latent, random, starts)
        except KeyboardInterrupt:
            if starts and starts[0].rows:
                publish(self._attributes(self._best_of(starts), known))
            raise
        publish(self._attributes(self._best_of(starts), known))

    def _best_of(self, starts):
        """Return the Rounds with the lowest objective, without the state for another round."""
        best = min(starts, key=lambda rounds: rounds.objective)
        best.model.set_params(warm_start=self.estimator.warm_start)
        vars(best.model).pop("_warm_state", None)
        return best

    def _attributes(self, best, known):
        """Return the fitted attributes, given the best Rounds."""
        best.model.set_params(random_state=self.estimator.random_state)
        return {
            "estimator_": best.model,
            "objective_": float(best.objective),
            "history_": best.history(),
            "n_rounds_": len(best.rows),
            "n_hidden_": known.n_hidden,
            "converged_": best.converged,
            "_n_states": int(self.states_per_label),
        }

    def _run_starts(self, template, latent, random, starts):
        """Run all starts, and append the Rounds of each to `starts` before its first round."""
        if self.init is not None and latent.known.n_hidden:
            latent.check_data(template)
        for start in range(int(self.n_init)):
            model = clone(template)
            codes = self._first_codes(model, latent, start > 0, random)
            message = "the completion by init is invalid for estimator"
            with nullcontext() if self.init is None else errors_of(message):
                training = latent.training(model, codes)
            starts.append(Rounds(model))
            concave_convex(starts[-1], latent, codes, training)

    def _first_codes(self, model, latent, redrawn, random):
        """Return initial codes of all labels or states, with random sample weights if `redrawn`."""
        codes, (X, y, weights) = latent.known.codes, latent.samples
        if latent.known.n_hidden:
            if redrawn:
                weights = randomly_weighted(weights, num_samples(X), random)
            if self.init is None:
                codes = model._first_labels(X, y, weights, latent.known)
            else:
                seeds = None if self.random_state is None else random
                with errors_of("init"):
                    codes = labels_by(seeded(self.init, seeds), X, y, weights, latent.known)
        if latent.n_states > 1:
            codes = first_states(latent.known, codes, latent.n_states, random)
        return codes
