"""The regularization path of an estimator: weights for every lambda, with a guarantee."""

from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike

from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.remarks import warn_of_data
from sstruct._estimators.path.along_lambda import AlongLambda, Sweep, check_sweep
from sstruct._estimators.path.compact_rows import CompactRows
from sstruct._estimators.path.path_state import PATH_STATE
from sstruct._input.ragged import check_number
from sstruct._solvers.path.segment import Segment

__all__ = ["CompactRows", "RegularizationPath", "ssvm_path"]

KAPPA = 0.9


class RegularizationPath(AlongLambda):
    r"""Weights for every lambda from infinity down to the end of the path.

    Made by :func:`ssvm_path`. The weights are piecewise constant. With breakpoints :math:`\lambda_1
    > \lambda_2 > \dots > \lambda_J` and weights :math:`w_1, \dots, w_J`, w is :math:`(\lambda_1 /
    \lambda) w_1` above the first and :math:`w_j` between :math:`\lambda_{j + 1}` (excluded) and
    :math:`\lambda_j`. Where ``guarantee_`` is ``"certified"``, its objective exceeds the optimum by
    at most `eps`, at every lambda from ``lam_end_`` on.

    Parameters
    ----------
    sweep : Sweep
        The estimator and its data; :func:`ssvm_path` makes it, and checks the parameters.
    eps, kappa : float
        As in :func:`ssvm_path`.
    lam_min : float or None
        As in :func:`ssvm_path`.

    Attributes
    ----------
    lams_ : ndarray of shape (J,)
        Breakpoints, falling.
    ws_ : sequence of J ndarrays of shape (n_weights,)
        Weights, in the order of the estimator's ``w_``; kept as differences where that is smaller.
        Neighbors may be equal: only their certificates differ then.
    gaps_ : ndarray of shape (J,)
        Duality gap, absolute, of each ``ws_[j]`` at ``lams_[j]``; at most kappa times eps.
    lam_end_ : float
        Smallest lambda of the path; 0 where the last weights serve all smaller ones.
    guarantee_ : {"certified", "approximate"}
        ``"approximate"``: the decoder is not exact, so the gaps are not certain.
    certified_ : bool
        Whether ``guarantee_`` is ``"certified"``.
    status_ : str
        CONVERGED, or what ended the path before the lambda asked for.
    history_ : dict of ndarrays of shape (J,)
        For each breakpoint: lam; seconds, passes (n oracle calls each), oracle_calls and
        approximate_passes so far; primal, dual, gap, hinge (the sum of weighted hinge losses),
        linear and square (the dual is linear - square / (2 lam) where no weight is on a bound but
        0), working_set_size.

    See Also
    --------
    ssvm_path : Makes paths.
    sstruct.PathCV : Chooses lambda along paths.
    sstruct.plotting.RegularizationPathDisplay : Draws paths.

    Examples
    --------
    >>> from sstruct import ChainSSVM, ssvm_path
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=30, random_state=0)
    >>> path = ssvm_path(ChainSSVM(random_state=0), X, y, eps=0.2, lam_min=0.05)
    >>> path.status_
    'CONVERGED'
    >>> path.w(0.1).shape == path.ws_[0].shape
    True
    """

    _fitted_state = PATH_STATE

    lam_end_: float
    guarantee_: str
    kappa: float

    def __init__(self, sweep: Sweep, eps: float, kappa: float, lam_min: float | None) -> None:
        super().__init__(sweep, eps)
        sweep.check_zero()
        self.kappa = kappa
        solver = sweep.solver(1.0)
        least = None if lam_min is None else lam_min / sweep.unit
        self._take(solver.path(eps, kappa, least), sweep)
        self._hinge_at_zero = solver.hinge_at_zero
        self.lam_end_ = lam_min if solver.end == least else sweep.unit * solver.end
        self.guarantee_ = "certified" if self._exact else "approximate"
        self._finish(solver.status, f"the path, at lam={self.lam_end_:g},", sweep)

    @property
    def certified_(self) -> bool:
        """Whether the duality gaps are certain."""
        return self.guarantee_ == "certified"

    def _at(self, lam):
        check_number("lam", lam, above=0)
        lam = float(lam)
        if len(self.lams_) == 0:
            raise ValueError(f"this path ended before its first breakpoint ({self.status_})")
        if lam < self.lam_end_:
            raise ValueError(
                f"lam={lam:g} is below the end of the path, {self.lam_end_:g}: nothing is known "
                "there. Compute the path with a smaller lam_min"
            )
        row = max(int(np.searchsorted(-self.lams_, -lam, side="right")) - 1, 0)
        return row, min(self.lams_[row] / lam, 1.0) if row == 0 else 1.0

    def _certificate(self, lam):
        row, factor = self._at(lam)
        known = {name: float(column[row]) for name, column in self.history_.items()}
        norm = 2 * (known["primal"] - known["hinge"]) / known["lam"]
        if lam >= known["lam"]:
            # Convexity bounds the hinge losses by those at both ends.
            hinge = factor * known["hinge"] + (1 - factor) * self._hinge_at_zero
            product = factor * (known["linear"] - known["hinge"] + known["gap"])
            primal = 0.5 * lam * factor**2 * norm + hinge
            return primal, primal - (hinge - known["linear"] + product)
        segment = Segment(**{name: known[name] for name in Segment.__dataclass_fields__})
        return segment.primal_at(lam), segment.dual_at(lam)

    def gap(self, lam: float) -> float:
        """Bound the suboptimality of ``w(lam)``.

        Parameters
        ----------
        lam : float
            The value of lambda.

        Returns
        -------
        float
            The duality gap of ``w(lam)`` and rescaled dual weights, from its formula, without the
            data; above the first breakpoint an upper bound on it. At most `eps`.
        """
        self._require_fitted()
        row, _ = self._at(lam)
        primal, dual = self._certificate(lam)
        # At a breakpoint the gap is known; a difference of sums would round it.
        gap = self.gaps_[row] if lam == self.lams_[row] else primal - dual
        return max(float(gap), 0.0)

    def save(self, file: Any) -> None:
        """Write the path to a file, by joblib's compressed pickle.

        Parameters
        ----------
        file : str, path or file object
            Where the path is written.
        """
        joblib.dump(self, file, compress=3)

    @classmethod
    def load(cls, file: Any) -> Self:
        """Read a path that ``save`` has written; from trusted sources only, as any pickle.

        Parameters
        ----------
        file : str, path or file object
            What ``save`` has written.

        Returns
        -------
        RegularizationPath
            The path.
        """
        path = joblib.load(file)
        if not isinstance(path, cls):
            raise ValueError(f"the file holds a {type(path).__name__}, expected a {cls.__name__}")
        return path

    def __repr__(self):
        self._require_fitted()
        end = "all smaller lam" if self.lam_end_ == 0 else f"lam={self.lam_end_:g}"
        stretch = f" from lam={self.lams_[0]:g} to {end}" if len(self.lams_) else ""
        return (
            f"<{self.guarantee_} path of {type(self._template).__name__}: {len(self.lams_)} "
            f"breakpoints{stretch}, eps={self.eps:g}>"
        )


def ssvm_path(
    estimator: BaseSSVM,
    X: Any,
    y: Any,
    *,
    eps: float = 0.1,
    kappa: float | None = None,
    lam_min: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> RegularizationPath:
    r"""Compute weights for every lambda: an approximate regularization path.

    One sweep from the largest useful lambda downwards replaces a grid. At every lambda the
    objective of the weights found exceeds its minimum by at most `eps`, which the duality gap
    certifies. Weights change at breakpoints only; the guarantee also holds between them, since it
    is known exactly how the gap grows while weights stay the same ([1]_, section 4; the dual
    weights are kept here where the paper shrinks them, so that breakpoints are much further apart).

    Parameters
    ----------
    estimator : an estimator of this package
        It need not be fitted; its `solver` must be ``"auto"``, ``"mp-bcfw"`` or ``"bcfw"``, or one
        of their objects, whose `average` is ignored. So are `lam`, `tol`, `warm_start` and
        callbacks. `max_iter` holds for each
        breakpoint, `max_time` for the whole path. `bounds` must allow weights of 0.
    X, y : as in the estimator's ``fit``
        Training samples and their labels.
    eps : float, default=0.1
        How far the objective may be from its minimum, in units of the mean loss.
    kappa : float, default=None
        At breakpoints the gap is at most `kappa` times `eps`. Smaller values, below 1, take more
        time at each of fewer breakpoints. None: 0.9.
    lam_min : float, default=None
        Smallest lambda of interest; None: a ten thousandth of the first breakpoint. The path ends
        earlier if the mean hinge loss falls to `eps`: the weights then serve all smaller lambdas.
    sample_weight : as in the estimator's ``fit``, default=None
        Weight of each sample, or weights of its nodes.

    Returns
    -------
    RegularizationPath
        The weights and their guarantee.

    Raises
    ------
    ValueError, TypeError
        As from ``fit``; also if `bounds` exclude 0, or if the solver has no dual weights.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or `max_time` end the path before `lam_min`. What has been computed keeps
        its guarantee; ``lam_end_`` is the smallest lambda reached.

    See Also
    --------
    sstruct.PathCV : Choose lambda by cross-validation along paths.

    Notes
    -----
    Most breakpoints cost a few passes, O(n) oracle calls each, or less: several may share their
    weights. The paper's heuristic path, which replaces certificates with the gaps of earlier
    visits, is not offered: a certificate here is a pass that also improves the weights, and paths
    without certificates needed more oracle calls. Memory for a breakpoint is that of w, or of its
    changes if there are fewer of them.

    References
    ----------
    .. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania, S. Lacoste-Julien. Minding the
       Gaps for Block Frank-Wolfe Optimization of Structured SVMs. ICML 2016.

    Examples
    --------
    >>> from sstruct import ChainSSVM, ssvm_path
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=60, random_state=0)
    >>> path = ssvm_path(ChainSSVM(random_state=0), X[:40], y[:40], eps=0.1)
    >>> path.certified_, bool((path.gaps_ <= 0.09).all())
    (True, True)
    >>> bool(path.gap(1.0) <= 0.1)
    True
    >>> bool(path.estimator(1.0).score(X[40:], y[40:]) > 0.7)
    True
    """
    options = path_options(eps, kappa, lam_min)
    sweep = Sweep(estimator, X, y, sample_weight)
    warn_of_data(sweep.training)
    return RegularizationPath(sweep, *options)


def path_options(eps, kappa, lam_min):
    """Return the checked parameters of a RegularizationPath, in its order."""
    kappa = KAPPA if kappa is None else kappa
    check_sweep(eps, kappa, lam_min)
    return float(eps), float(kappa), None if lam_min is None else float(lam_min)
