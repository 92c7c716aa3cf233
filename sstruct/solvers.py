"""Solvers and their options, for the parameter `solver` of estimators.

A name such as ``solver="bcfw"`` is shorthand for an object with default options, ``solver=BCFW()``.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import sklearn
from sklearn.base import BaseEstimator

from sstruct._checks.arguments import explains_arguments
from sstruct._checks.listing import ListedType
from sstruct._checks.parameters import FLAG, Range, check_values
from sstruct._checks.shown import shortened
from sstruct._compat.documentation import DocumentationLink
from sstruct._solvers.core.checkpoint import check_place
from sstruct._solvers.frank_wolfe.block_coordinate import EACH_ONCE, SAMPLINGS, STEPS
from sstruct._solvers.frank_wolfe.constants import Constants

__all__ = [
    "BCFW",
    "GDMM",
    "MPBCFW",
    "CuttingPlane",
    "FrankWolfe",
    "PassiveAggressive",
    "Perceptron",
    "Subgradient",
]

# An oracle call is costly from this number of multiply-adds on. "auto" then saves calls by cached
# labelings and gap sampling and, for BCFW, by corrective steps. For MPBCFW pairwise steps need
# fewer calls in eleven of thirteen comparisons (benchmarks/notes/solvers.md).
COSTLY_ORACLE = 20_000
# With fewer samples than this and a costly, slow oracle, MPBCFW makes passes over cached labelings
# after each tenth of the calls, and does not average. On horses (40 images, 60 graphs), fits to a
# gap of 0.01 then took 0.6 to 0.95 of the CPU time and 0.6 to 0.9 of the calls; trackers of ten
# graphs (benchmarks/tracking.py) need 0.7 to 0.85 of the integer programs. With 600 samples and an
# oracle in Python, the number of calls hardly fell.
FEW_SAMPLES = 100
# Size of a shard of memory-mapped data, as a share of the working memory. The rest is for data that
# are read ahead or not yet released.
SHARD_SHARE = 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class BaseSolver(DocumentationLink, BaseEstimator, metaclass=ListedType):
    """Base class of solvers; `name` is the string that estimators accept for a solver."""

    # An object of this class itself represents ``solver="auto"``.
    name: ClassVar[str] = "auto"
    _valid_values: ClassVar[dict] = {}

    def _check(self):
        """Raise TypeError or ValueError if an option is out of range or has no effect."""
        check_values(vars(self), self._valid_values, f" of {type(self).__name__}")

    def _unsupported_for_partitions(self):
        """Yield an option and advice for each option that partitions do not support."""
        return iter(())

    def _options(self, problem):
        """Return the fields of ``Options`` that this solver sets, with "auto" resolved.

        Parameters
        ----------
        problem : BlockProblem
        """
        return {}


@dataclass(kw_only=True, eq=False, repr=False)
class StopsEarly(BaseSolver):
    """Options of solvers that can return the weights with the best validation score."""

    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5

    _valid_values: ClassVar[dict] = {
        "early_stopping": FLAG,
        "validation_fraction": Range(above=0, below=1),
        "n_iter_no_change": Range(least=1, whole=True),
    }


@dataclass(kw_only=True, eq=False, repr=False)
class BlockCoordinate(StopsEarly):
    """Options of both MPBCFW and BCFW."""

    step: Literal["auto", "fw", "pairwise", "away", "corrective"] = "auto"
    sampling: Literal["auto", "uniform", "permutation", "gap", "sequential"] = "auto"
    cache: bool | Literal["auto"] = "auto"
    average: bool | Literal["auto"] = "auto"
    cache_lifetime: int = Constants.cache_lifetime
    max_working_set: int = Constants.max_working_set
    cache_gap_share: float = Constants.cache_gap_share
    cache_mean_gap_share: float = Constants.cache_mean_gap_share
    gap_refresh_every: int = Constants.gap_refresh_every
    sequential_visits: bool = Constants.sequential_visits
    couple_windows: bool = False
    certificate_every: int = 10
    checkpoint: str | os.PathLike | None = None

    _valid_values: ClassVar[dict] = StopsEarly._valid_values | {
        "step": ("auto", *STEPS),
        "sampling": ("auto", *SAMPLINGS),
        "cache": ("auto", *FLAG),
        "average": ("auto", *FLAG),
        "sequential_visits": FLAG,
        "couple_windows": FLAG,
        "schedule": ("work", "clock"),
        "cache_lifetime": Range(least=0, whole=True),
        "max_working_set": Range(least=2, whole=True),  # the true labeling and one more
        "max_approximate_passes": Range(least=0, whole=True),
        "full_pass_every": Range(least=1, whole=True),
        "cache_gap_share": Range(least=0),
        "cache_mean_gap_share": Range(least=0),
        "gap_refresh_every": Range(least=1, whole=True),
        "certificate_every": Range(least=1, whole=True),
    }
    # Whether step="auto" makes corrective steps if a call of the oracle is costly.
    _corrects_if_costly: ClassVar[bool] = False
    # Options that use gaps of samples or of cached labelings.
    _gap_options: ClassVar[tuple] = ("cache_gap_share", "cache_mean_gap_share", "gap_refresh_every")

    def _check(self):
        super()._check()
        for option, instead in (("average", "auto"), ("early_stopping", False)):
            if self.couple_windows and getattr(self, option) in (True,):  # not "auto"
                raise ValueError(
                    f"couple_windows=True of {type(self).__name__} cannot be combined with "
                    f"{option}=True; use {option}={instead!r}"
                )
        for option in self._changed():
            reason, advice = self._without_effect(option)
            if reason:
                raise ValueError(
                    f"{option} of {type(self).__name__} has no effect with {reason}; leave its "
                    f"default, or set {advice}"
                )
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | os.PathLike):
                raise TypeError(
                    f"checkpoint of {type(self).__name__} must be a path or None, found "
                    f"{shortened(self.checkpoint)}"
                )
            check_place(self.checkpoint)

    def _changed(self):
        """Return the constants that differ from their defaults."""
        return [
            each.name
            for each in fields(Constants)
            if hasattr(self, each.name) and getattr(self, each.name) != each.default
        ]

    def _without_effect(self, option):
        """Return the reason why an option has no effect and how to change that, or (None, None).

        An option of "auto" is never the reason, because it may resolve to any value.
        """
        if isinstance(self.cache, str) or self.cache:
            return None, None
        if option == "gap_refresh_every" and self.sampling in ("auto", "gap"):
            return None, None
        if option == "gap_refresh_every":
            return f"cache=False and sampling={self.sampling!r}", "cache=True or sampling='gap'"
        if option in self._gap_options:
            return "cache=False", "cache=True"
        return None, None

    def _unsupported_for_partitions(self):
        for option, values in (
            ("sampling", ("auto", *EACH_ONCE)),
            ("cache", ("auto", False)),
            ("average", ("auto", False)),
            ("couple_windows", (False,)),
            ("early_stopping", (False,)),
        ):
            value = getattr(self, option)
            if not any(value is fine or value == fine for fine in values):
                yield option, f"use {option}={values[0]!r}"
        for option in self._changed():
            if option in self._gap_options:
                yield option, "it has no effect because each visit calls the oracle; remove it"

    def _options(self, problem):
        costly = problem.oracle_work >= COSTLY_ORACLE and not problem.oracle_is_quick
        sampling = self.sampling
        if sampling == "auto":
            sampling = _auto_sampling(problem, costly)
        step = self.step
        if step == "auto":  # a corrective step uses all labelings if the oracle scores all of them
            corrects = problem.n_choices > 0 or (costly and self._corrects_if_costly)
            step = "corrective" if corrects else "pairwise"
        constants = {}
        for each in fields(Constants):
            if hasattr(self, each.name):
                value = each.type(getattr(self, each.name))
                constants[each.name] = min(value, sys.maxsize) if each.type is int else value
        # Long before the optimum, the average over all visits predicts best.
        by_score = self.early_stopping and self.average == "auto"
        in_shards = sampling == "sequential"
        return {
            "step": step,
            "sampling": sampling,
            "cache": costly if self.cache == "auto" else bool(self.cache),
            "average": by_score if self.average == "auto" else bool(self.average),
            "pass_average": self.average == "auto" and not by_score,
            "shard_bytes": max(SHARD_SHARE * _working_memory(), 1) if in_shards else math.inf,
            "constants": Constants(**constants),
            "certificate_every": self.certificate_every,
        }


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class MPBCFW(BlockCoordinate):
    r"""Multi-plane block-coordinate Frank-Wolfe, the default solver.

    Passes that call the max-oracle, which finds the most violated labeling of each sample,
    alternate with cheap passes over the labelings found before [1]_. With fewer than 100 samples
    and slow calls of the oracle, as for images, graphs and oracles in Python, the cheap passes
    follow each tenth of the calls. The options change the speed of a fit, but not its solution;
    their defaults are suitable for data of all sizes.

    Parameters
    ----------
    step : {"auto", "fw", "pairwise", "away", "corrective"}, default="auto"
        Kind of Frank-Wolfe step after a call of the oracle [2]_. ``"auto"`` is ``"corrective"`` for
        multiclass problems and ``"pairwise"`` for others. Steps over cached labelings are
        corrective, unless `step` is ``"fw"``.
    sampling : {"auto", "uniform", "permutation", "gap", "sequential"}, default="auto"
        Order of the samples in a pass. ``"uniform"``: drawn at random with replacement;
        ``"permutation"``: shuffled; ``"gap"``: drawn in proportion to their duality gaps, which are
        recomputed every `gap_refresh_every` passes; the first pass visits each sample once.
        ``"sequential"`` processes the data shard by shard; a shard is half as large as
        scikit-learn's ``working_memory``. If the data fit into one shard, samples are shuffled only
        within each 64th of the data. ``"auto"`` is ``"sequential"`` for memory-mapped features
        larger than ``working_memory``, ``"gap"`` if a call of the oracle is costly (estimated work
        of at least 20,000 scalar multiply-adds, of which those in vector loops count 1/24), and
        ``"permutation"`` otherwise. For sequences, a call never counts as costly with 64 labels or
        more and one table of transitions, because the oracle then skips labels, or with 64 dense
        features or more, unless there are more labels than features.
    cache : bool or "auto", default="auto"
        Whether a labeling found before may replace a call of the oracle if it promises enough
        progress ([2]_, section 3.3). ``"auto"`` is True if a call of the oracle is costly, as
        defined for `sampling`.
    average : bool or "auto", default="auto"
        Whether to average the weights. ``"auto"``: over about the last ten passes, unless there are
        fewer than 100 samples and calls of the oracle are slow, or, with early stopping, over all
        steps. True: over all steps ([1]_, section 3.5). False: no average.
        ``w_`` is the average or the last iterate, whichever has the lower objective; with early
        stopping it is always the average, if there is one.
    certificate_every : int, default=10
        Number of passes between certificates, which compute the duality gap with one additional
        oracle call per sample. A certificate is also computed when the estimated gap falls below
        the tolerance of the estimator. With `cache`, at least ten passes or two oracle calls per
        sample lie between such a certificate and the previous one.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.
    checkpoint : path or None, default=None
        File in which the state of the fit is saved periodically. If the file exists, the fit
        continues from it, with results that are bitwise identical to an uninterrupted fit; the file
        of a different fit raises an error. It is removed when a fit converges. If the file cannot
        be written during the fit, a warning is issued and the fit continues. Concurrent fits
        require different files.
    cache_lifetime : int, default=2
        Number of passes that an unused cached labeling is kept (T of [1]_), at least 0.
    max_working_set : int, default=1000
        If a sample has at least this number of cached labelings, new labelings replace unused ones
        (N of [1]_). At least 2. Labelings with dual weight are always kept.
    cache_gap_share : float, default=0.25
        With `cache`, a cached labeling replaces a call of the oracle only if its gap is at least
        this share of the last gap of the sample (F of [2]_). At least 0.
    cache_mean_gap_share : float, default=0.01
        As `cache_gap_share`, but relative to the mean gap of all samples (nu of [2]_); both
        conditions must hold. At least 0.
    gap_refresh_every : int, default=10
        With ``sampling="gap"`` or `cache`, the gaps of all samples are recomputed after at most
        this number of passes, and with every certificate. At least 1.
    sequential_visits : bool, default=False
        Whether each visit of a sample uses the weights after all previous visits. By default, some
        visits and calls of the oracle are concurrent and use slightly older weights.
    couple_windows : bool, default=False
        Whether to enforce that two windows, or tiles, agree on the labels of shared nodes, for
        :class:`~sstruct.ChainSSVM` and :class:`~sstruct.GridCRFSSVM`. Multipliers are added to the
        scores of such a label in one window and subtracted in the other, and optimized together
        with the weights, which makes the upper bound ``objective_`` as small as possible. It is
        tight, up to `tol`, for sequences, and for images with two labels and neighbors that do not
        repel each other; for images, training takes several times as long. Has no effect on samples
        that are not split. Cannot be combined with ``average=True``, `early_stopping`, partitions
        on a cluster, paths over `lam` and :class:`~sstruct.LatentSSVM`. See
        :doc:`/how_to/long_recordings`.
    schedule : {"work", "clock"}, default="work"
        Whether counted operations (reproducible) or the clock, as in [1]_, determine when passes
        over cached labelings stop.
    max_approximate_passes : int, default=1000
        Largest number of passes over cached labelings between two passes that call the oracle (M of
        [1]_), at least 0.
    full_pass_every : int, default=4
        Every `full_pass_every`-th pass over cached labelings visits all samples; the others visit
        only samples with large gaps. At least 1, which is the value in [1]_.

    See Also
    --------
    BCFW : The same without passes over cached labelings.

    References
    ----------
    .. [1] N. Shah, V. Kolmogorov, C. H. Lampert. A Multi-Plane Block-Coordinate Frank-Wolfe
       Algorithm for Training Structural SVMs with a Costly max-Oracle. CVPR 2015.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania, S. Lacoste-Julien. Minding the
       Gaps for Block Frank-Wolfe Optimization of Structured SVMs. ICML 2016.

    Examples
    --------
    >>> from sstruct import ChainSSVM
    >>> from sstruct.datasets import make_sequences
    >>> from sstruct.solvers import MPBCFW
    >>> X, y = make_sequences(n_samples=30, random_state=0)
    >>> model = ChainSSVM(solver=MPBCFW(step="away"), random_state=0).fit(X, y)
    >>> model.set_params(solver__step="corrective").fit(X, y).converged_
    True
    """

    schedule: Literal["work", "clock"] = "work"
    max_approximate_passes: int = Constants.max_approximate_passes
    full_pass_every: int = Constants.full_pass_every

    name: ClassVar[str] = "mp-bcfw"

    def _without_effect(self, option):
        if option == "full_pass_every" and self.max_approximate_passes < 2:
            # The first pass visits all samples anyway.
            reason = f"max_approximate_passes={self.max_approximate_passes}"
            return reason, "max_approximate_passes to 2 or more"
        return super()._without_effect(option)

    def _unsupported_for_partitions(self):
        if self.schedule != "work":
            yield "schedule", "use schedule='work'"
        yield from super()._unsupported_for_partitions()

    def _options(self, problem):
        options = super()._options(problem)
        costly = problem.oracle_work >= COSTLY_ORACLE and problem.oracle_is_slow
        in_parts = costly and problem.n_blocks < FEW_SAMPLES
        options["pass_average"] &= not in_parts
        return options | {"multi_plane": True, "schedule": self.schedule, "in_parts": in_parts}


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class BCFW(BlockCoordinate):
    """Block-coordinate Frank-Wolfe: each visit of a sample calls the max-oracle [1]_.

    The options are those of :class:`MPBCFW`, except for the options of passes over cached
    labelings.

    Parameters
    ----------
    step : {"auto", "fw", "pairwise", "away", "corrective"}, default="auto"
        Kind of Frank-Wolfe step, as in :class:`MPBCFW`. ``"auto"`` is ``"corrective"`` for
        multiclass problems and if a call of the oracle is costly, and ``"pairwise"`` otherwise.
    sampling : {"auto", "uniform", "permutation", "gap", "sequential"}, default="auto"
        Order of the samples in a pass, as in :class:`MPBCFW`.
    cache : bool or "auto", default="auto"
        Whether a labeling found before may replace a call of the oracle.
    average : bool or "auto", default="auto"
        Whether to average the weights, as in :class:`MPBCFW`, but ``"auto"`` does not depend on the
        number of samples.
    certificate_every : int, default=10
        Number of passes between certificates, which compute the duality gap with one additional
        oracle call per sample. A certificate is also computed when the estimated gap falls below
        the tolerance of the estimator. With `cache`, at least ten passes or two oracle calls per
        sample lie between such a certificate and the previous one.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.
    checkpoint : path or None, default=None
        File in which the state of the fit is saved periodically. If the file exists, the fit
        continues from it, with results that are bitwise identical to an uninterrupted fit; the file
        of a different fit raises an error. It is removed when a fit converges. If the file cannot
        be written during the fit, a warning is issued and the fit continues. Concurrent fits
        require different files.
    cache_lifetime : int, default=2
        With `cache`, number of passes that an unused cached labeling is kept.
    max_working_set : int, default=1000
        With `cache`, if a sample has at least this number of cached labelings, new labelings
        replace unused ones.
    cache_gap_share : float, default=0.25
        With `cache`, a cached labeling replaces a call of the oracle only if its gap is at least
        this share of the last gap of the sample.
    cache_mean_gap_share : float, default=0.01
        As `cache_gap_share`, but relative to the mean gap of all samples; both conditions must
        hold.
    gap_refresh_every : int, default=10
        With ``sampling="gap"`` or `cache`, the gaps of all samples are recomputed after at most
        this number of passes, and with every certificate.
    sequential_visits : bool, default=False
        Whether each visit of a sample uses the weights after all previous visits.
    couple_windows : bool, default=False
        Whether to enforce that two windows agree on the labels of shared nodes, as in
        :class:`MPBCFW`.

    See Also
    --------
    MPBCFW : The default solver.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher. Block-Coordinate Frank-Wolfe
       Optimization for Structural SVMs. ICML 2013.

    Examples
    --------
    Block-coordinate Frank-Wolfe with weighted averaging, as it was published:

    >>> from sstruct import MulticlassSSVM
    >>> from sstruct.solvers import BCFW
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> published = BCFW(
    ...     step="fw", sampling="uniform", cache=False, average=True, sequential_visits=True
    ... )
    >>> MulticlassSSVM(solver=published, random_state=0).fit(X, y).solver_
    'bcfw'
    """

    name: ClassVar[str] = "bcfw"
    _corrects_if_costly: ClassVar[bool] = True

    def _without_effect(self, option):
        cached = isinstance(self.cache, str) or self.cache
        if option in ("cache_lifetime", "max_working_set") and not cached:
            return "cache=False", "cache=True or solver='mp-bcfw'"
        return super()._without_effect(option)

    def _options(self, problem):
        return super()._options(problem) | {"multi_plane": False}


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class FrankWolfe(BaseSolver):
    """Batch Frank-Wolfe, for comparison: each step calls the oracle once per sample [1]_.

    See Also
    --------
    BCFW : Makes a step after each call of the oracle and converges much faster.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher. Block-Coordinate Frank-Wolfe
       Optimization for Structural SVMs. ICML 2013.

    Examples
    --------
    >>> from sstruct.solvers import FrankWolfe
    >>> FrankWolfe()
    FrankWolfe()
    """

    name: ClassVar[str] = "fw"


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class CuttingPlane(BaseSolver):
    """One-slack cutting-plane method, for comparison; requires the package clarabel [1]_.

    Each pass calls the oracle once per sample and then solves a quadratic program over all planes.

    References
    ----------
    .. [1] T. Joachims, T. Finley, C.-N. J. Yu. Cutting-Plane Training of Structural SVMs.
       Machine Learning 77, 2009.

    Examples
    --------
    >>> from sstruct.solvers import CuttingPlane
    >>> CuttingPlane()
    CuttingPlane()
    """

    name: ClassVar[str] = "cutting-plane"


@dataclass(kw_only=True, eq=False, repr=False)
class Online(StopsEarly):
    """Base class of solvers that make one step per sample; `sampling` is their order."""

    sampling: Literal["auto", "permutation", "given"] = "auto"
    _valid_values: ClassVar[dict] = StopsEarly._valid_values | {
        "sampling": ("auto", "permutation", "given"),
        "aggressiveness": Range(above=0),
    }

    def _options(self, problem):
        sampling = self.sampling
        if sampling == "auto":
            # "sequential" for large memory-mapped features, which Subgradient shuffles.
            sampling = _auto_sampling(problem, costly=False)
        return {"sampling": sampling}


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class Subgradient(Online):
    """Stochastic subgradient descent with averaging, for comparison and ``partial_fit`` [1]_.

    The solver computes no dual bound. A fit therefore ignores `tol`, ends without a warning at
    `max_iter` or `max_time`, and sets the dual attributes to NaN.

    Parameters
    ----------
    sampling : {"auto", "uniform", "permutation", "given"}, default="auto"
        Order of the samples in a pass: drawn at random with replacement, shuffled, or as given.
        ``"auto"`` is ``"permutation"``.
    certificate_every : int, default=10
        Number of passes between evaluations of the objective, with two additional oracle calls per
        sample: at the last weights and at their average.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter. Pegasos: Primal Estimated
       sub-GrAdient SOlver for SVM. Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from sstruct.solvers import Subgradient
    >>> Subgradient(sampling="uniform")
    Subgradient(sampling='uniform')
    """

    sampling: Literal["auto", "uniform", "permutation", "given"] = "auto"
    certificate_every: int = 10

    name: ClassVar[str] = "ssg"
    _valid_values: ClassVar[dict] = StopsEarly._valid_values | {
        "sampling": ("auto", "uniform", "permutation", "given"),
        "certificate_every": Range(least=1, whole=True),
    }

    def _options(self, problem):
        return super()._options(problem) | {"certificate_every": self.certificate_every}


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(Online):
    """Averaged perceptron [1]_, for a fast first model and for online learning.

    If the prediction of a sample, made without the loss, is wrong, a step adds the features of its
    true labeling to the weights and subtracts those of the prediction, multiplied by the sample
    weight. There is no objective and no regularization: `lam` must be ``"auto"`` and `rescaling`
    must be ``"margin"``. Training ends after a pass without a mistake; ``w_`` is the average over
    all steps.

    Parameters
    ----------
    sampling : {"auto", "permutation", "given"}, default="auto"
        Order of the samples in a pass: shuffled, or as given. ``"auto"`` is ``"given"`` for
        memory-mapped features larger than ``working_memory``, and ``"permutation"`` otherwise.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.

    References
    ----------
    .. [1] M. Collins. Discriminative Training Methods for Hidden Markov Models: Theory and
       Experiments with Perceptron Algorithms. EMNLP 2002.

    Examples
    --------
    >>> from sstruct.solvers import Perceptron
    >>> Perceptron(sampling="given")
    Perceptron(sampling='given')
    """

    name: ClassVar[str] = "perceptron"


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressive(Online):
    """Passive-aggressive solver: the steps of :class:`Perceptron`, with adaptive lengths [1]_.

    Parameters
    ----------
    sampling : {"auto", "permutation", "given"}, default="auto"
        Order of the samples in a pass: shuffled, or as given. ``"auto"`` is ``"given"`` for
        memory-mapped features larger than ``working_memory``, and ``"permutation"`` otherwise.
    aggressiveness : float, default=1.0
        Upper bound of the step length, positive (C of [1]_). Each step is the shortest one after
        which the score of the true labeling exceeds the score of the prediction by the square root
        of the loss of the prediction, unless this step is longer than the bound.
    early_stopping : bool, default=False
        Whether to evaluate ``score`` on validation samples after each pass, and return the weights
        with the best score. After a pass, these are the average, or the last iterate of a solver
        without an average. The certificate, if any, is computed for the returned weights.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside for validation with `early_stopping`, drawn by the
        ``random_state`` of the estimator, unless `X_val` and `y_val` are passed to its ``fit``.
        Between 0 and 1.
    n_iter_no_change : int, default=5
        With `early_stopping`, stop after this number of passes without a better score.

    References
    ----------
    .. [1] K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online
       Passive-Aggressive Algorithms. JMLR 7, 2006.

    Examples
    --------
    >>> from sstruct.solvers import PassiveAggressive
    >>> PassiveAggressive(aggressiveness=0.01)
    PassiveAggressive(aggressiveness=0.01)
    """

    aggressiveness: float = 1.0

    name: ClassVar[str] = "pa"

    def _options(self, problem):
        options = super()._options(problem)
        return options | {"aggressiveness": float(self.aggressiveness)}


@explains_arguments
@dataclass(kw_only=True, eq=False, repr=False)
class GDMM(BaseSolver):
    """Greedy direction method of multipliers, a dual decomposition for many labels [1]_.

    For :class:`~sstruct.ChainSSVM` without edge features and
    :class:`~sstruct.MultilabelSSVM` with ``pairwise="and"``. A visit of a sample searches only for
    new labels and pairs of labels, so its time grows slowly with their number.

    Parameters
    ----------
    rho : "auto" or float, default="auto"
        Penalty on disagreement between factors, positive. ``"auto"`` adapts it by residual
        balancing.
    parts : int, default=1
        Number of groups into which the labels are divided; each visit searches one group, drawn at
        random. At most the number of labels.
    certificate_every : int, default=10
        Number of passes between certificates, which compute the duality gap. For chains, a
        certificate is also computed in every second pass, starting with the sixth. With more than
        300 labels, it uses an upper bound of the objective, and the objective itself is computed
        only if this bound meets the tolerance, and at the end.

    References
    ----------
    .. [1] I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual
       Decomposed Learning with Factorwise Oracles for Structural SVMs of Large Output Domain.
       NIPS 2016.

    Examples
    --------
    >>> from sstruct.solvers import GDMM
    >>> GDMM(parts=4)
    GDMM(parts=4)
    """

    rho: float | Literal["auto"] = "auto"
    parts: int = 1
    certificate_every: int = 10

    name: ClassVar[str] = "gdmm"
    _valid_values: ClassVar[dict] = {
        "rho": Range(above=0, other=("auto",)),
        "parts": Range(least=1, whole=True),
        "certificate_every": Range(least=1, whole=True),
    }

    def _options(self, problem):
        return {
            "rho": self.rho,
            "parts": int(self.parts),
            "certificate_every": self.certificate_every,
        }


SOLVER_OF_NAME = {
    each.name: each
    for each in (
        MPBCFW,
        BCFW,
        Perceptron,
        PassiveAggressive,
        FrankWolfe,
        Subgradient,
        CuttingPlane,
        GDMM,
    )
}
# The objects with default options for which names are shorthand.
DEFAULT_SOLVERS = {
    name: solver() for name, solver in (SOLVER_OF_NAME | {"auto": BaseSolver}).items()
}


def _auto_sampling(problem, costly):
    """Return the value of ``sampling="auto"``: sequential for data larger than memory."""
    mapped = 0
    for rows, _ in problem.feature_rows():
        mapped += rows.mapped_bytes
    if mapped and mapped > _working_memory():
        return "sequential"
    return "gap" if costly else "permutation"


def _working_memory():
    """Return scikit-learn's ``working_memory`` in bytes."""
    return sklearn.get_config()["working_memory"] * 2**20
