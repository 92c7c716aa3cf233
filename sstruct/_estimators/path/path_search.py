"""The fit of PathCV."""

import time
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from sstruct._checks.arrays import array_of, is_partitioned
from sstruct._checks.parameters import FLAG, check_number, check_values
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._compat import safe_indexing
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fit import check_samples
from sstruct._estimators.core.fit_warnings import warn_of_empty
from sstruct._estimators.core.partitions import Partitions
from sstruct._estimators.path.along_lambda import LambdaGrid, Sweep
from sstruct._estimators.path.breakpoints import BreakpointPath, path_options
from sstruct._estimators.path.folds import (
    as_rows,
    best_of,
    check_scorer,
    check_splits,
    check_splitter,
    n_samples_of,
    scores_along,
    splits_of,
    warn_of_unscored,
)
from sstruct._estimators.path.path_state import SEARCH_STATE
from sstruct._input.ragged import NoNodesError, sliceable_weights

# Range of a default grid: from the lam of the estimator times this number to lam_min or, without
# it, lam divided by this number.
WIDEST = 30
VALID_VALUES = {
    "warm_start": ("primal", "dual", False),
    "rule": ("best", "one-se"),
    "refit": FLAG,
}
# Entries of the result of a fold that are used only by the search.
FOR_SEARCH = "empty", "data_warnings", "is_scored"


@dataclass
class PathSearch:
    """A search for lambda with the parameters of PathCV."""

    estimator: Any
    eps: float | None
    tol: float
    kappa: float | None
    lam_min: float | None
    lams: Any
    warm_start: Any
    cv: Any
    scoring: Any
    rule: str
    refit: bool
    n_jobs: int | None

    def check(self):
        """Raise an error if a parameter is out of range; the estimator is checked later."""
        check_number("tol", self.tol, above=0)
        path_options(self.tol if self.eps is None else self.eps, self.kappa, self.lam_min)
        check_values(vars(self), VALID_VALUES)
        check_splitter(self.cv)
        if self.lams is not None:
            lams = array_of(self.lams, "lams")
            if lams.ndim != 1 or len(lams) == 0 or lams.dtype.kind not in "iuf":
                raise ValueError(
                    f"lams must be a list of positive numbers, found {shortened(self.lams)}"
                )
            for lam in lams.tolist():
                check_number("lams", lam, above=0)

    def run(self, X, y, sample_weight, groups, publish):
        """Compute the paths of all folds, choose lambda, and fit the estimator with it.

        publish : callable
            Called with all fitted attributes, None if missing, even if the last fit fails.
        """
        self.check()
        known = isinstance(self.estimator, BaseSSVM)  # for others, the folds raise an error
        classifies = known and is_classifier(self.estimator)
        check_scorer(self.scoring, classifies, y)
        partitions = None
        if is_partitioned(X):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight is not supported for partitions by PathCV; use None"
                )
            are_rows = known and self.estimator._structure().samples_are_rows
            partitions = Partitions.from_arguments(X, y, are_rows)
            X, y = partitions.X, partitions.y
        X, y = as_rows(X, "X"), as_rows(y, "y")
        if partitions is None and known:
            check_samples(clone(self.estimator)._structure(), X, y, sample_weight)
        n_samples = n_samples_of(X)
        weights = None if sample_weight is None else sliceable_weights(sample_weight, n_samples)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        splits = splits_of(self.cv, classifies and partitions is None, X, y, groups)
        check_splits(splits, n_samples, self.cv)
        if partitions is None:
            folds = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold)(self, X, y, weights, train, test, scorer) for train, test in splits
            )
            rows = [np.arange(n_samples)[train] for train, _ in splits]
        else:
            folds, rows = partitions.map_splits(self.path_and_scores, splits, scorer)
        fitted = self._best_of(folds, rows) | {"scorer_": scorer}
        model = clone(self.estimator).set_params(lam=fitted["best_lam_"])
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        begin = time.perf_counter()
        try:
            if self.refit:
                model.fit(X, y, **weighted)
        finally:  # keep the results of the folds if the last fit fails, and its model after Ctrl-C
            if model.__sklearn_is_fitted__():
                fitted["best_estimator_"] = model
                fitted["refit_time_"] = time.perf_counter() - begin
            publish(dict.fromkeys(SEARCH_STATE.fields) | fitted)

    def _best_of(self, folds, rows):
        """Return the fitted attributes that the folds determine, and warn about their data.

        rows : the indices of the training samples of each fold
        """
        empty, data_warnings, scored = ([fold.pop(name) for fold in folds] for name in FOR_SEARCH)
        if not self.refit:  # otherwise, the last fit warns about all samples
            found = [fold_rows[some] for fold_rows, some in zip(rows, empty, strict=True)]
            warn_of_empty(np.unique(np.concatenate(found)))
            for message in dict.fromkeys(chain.from_iterable(data_warnings)):
                warn_user(message)
        warn_of_unscored(np.flatnonzero(~np.array(scored)), len(folds))
        end = max(fold["end"] for fold in folds)
        return {
            "n_splits_": len(folds),
            "_folds": folds,
            "certified_": all(fold["certified"] for fold in folds),
            "lam_end_": end,
            **best_of(folds, end, np.array(scored), self.rule),
        }

    def path_and_scores(self, train, test, scorer, weights=None):
        """Compute the path or grid of a fold, and score each segment of it.

        If the test samples have no labeled node, every score is NaN.

        train, test : tuple
            X and y.
        """
        sweep = Sweep(self.estimator, *train, weights)
        lams = self.lams
        if lams is None and not sweep.exact:  # a path requires gaps of at most eps
            least = sweep.training.lam / WIDEST if self.lam_min is None else self.lam_min
            lams = np.geomspace(max(WIDEST * sweep.training.lam, least), least, 11)
        relative = self.eps is None
        eps = self.tol if relative else self.eps
        if lams is None:
            options = path_options(eps, self.kappa, self.lam_min)
            path = BreakpointPath(sweep, *options, relative=relative)
            end = path.lam_end_
        else:
            path = LambdaGrid(sweep, lams, float(eps), self.warm_start, relative)
            end = path.lams_.min(initial=np.inf)
        try:
            scores = scores_along(path, scorer, test)
        except NoNodesError:
            scores = None
        return {
            "lams": path.lams_,
            "scores": np.full(len(path.lams_), np.nan) if scores is None else np.array(scores),
            "is_scored": scores is not None,
            "seconds": path.history_.get("seconds", np.empty(0)),
            "end": end,
            "certified": path.certified_,
            "empty": sweep.training.empty,
            "data_warnings": sweep.training.data_warnings,
        }


def _fold(search, X, y, weights, train, test, scorer):
    """Select the samples of a fold, and return its path and scores."""
    samples = [(safe_indexing(X, rows), safe_indexing(y, rows)) for rows in (train, test)]
    return search.path_and_scores(*samples, scorer, None if weights is None else weights[train])
