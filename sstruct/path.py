"""Regularization paths with guaranteed suboptimality for all values of lambda."""

from __future__ import annotations

from typing import Any, Self

import joblib
from numpy.typing import ArrayLike

from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fit_warnings import warn_of_data
from sstruct._estimators.path.along_lambda import Sweep
from sstruct._estimators.path.breakpoints import BreakpointPath, path_options
from sstruct._estimators.path.compact_rows import CompactRows

__all__ = ["CompactRows", "RegularizationPath", "ssvm_path"]


class RegularizationPath(BreakpointPath):
    r"""Weights for all values of lambda from infinity to the end of the path.

    Returned by :func:`ssvm_path`. The weights are piecewise constant. For breakpoints
    :math:`\lambda_1 > \ldots > \lambda_J` and weights :math:`w_1, \ldots, w_J`, the path consists
    of :math:`(\lambda_1 / \lambda) w_1` above :math:`\lambda_1`, and of :math:`w_j` between
    :math:`\lambda_{j + 1}` (excluded) and :math:`\lambda_j`. If the estimator has a prior, the
    first part is :math:`w_0 + (\lambda_1 / \lambda) (w_1 - w_0)` for its weights :math:`w_0`. If
    ``guarantee_`` is ``"certified"``, the objective exceeds the optimum by at most `eps` for every
    lambda >= ``lam_end_``.

    Parameters
    ----------
    sweep : Sweep
        The estimator and its data; created by :func:`ssvm_path`, which validates the parameters.
    eps, kappa : float
        As in :func:`ssvm_path`.
    lam_min : float or None
        As in :func:`ssvm_path`.
    relative : bool, default=False
        Whether `eps` is relative to the objective at breakpoints, as in :class:`sstruct.PathCV`.

    Attributes
    ----------
    lams_ : ndarray of shape (J,)
        Breakpoints, in decreasing order.
    ws_ : sequence of J ndarrays of shape (n_weights,)
        Weights, in the order of the estimator's ``w_``, stored as differences if these are smaller.
        Consecutive weights may be equal, with different certificates.
    gaps_ : ndarray of shape (J,)
        Absolute duality gap of ``ws_[j]`` at ``lams_[j]``, at most kappa times eps.
    lam_end_ : float
        Smallest lambda of the path; 0 if the last weights are valid for all smaller values.
    guarantee_ : {"certified", "approximate"}
        ``"approximate"`` if the decoder is not exact, so the gaps are not certified.
    certified_ : bool
        Whether ``guarantee_`` is ``"certified"``.
    status_ : str
        CONVERGED, or the reason why the path ended early.
    history_ : dict of ndarrays of shape (J,)
        For each breakpoint: lam; seconds, passes (n oracle calls each), oracle_calls and
        approximate_passes so far; primal, dual, gap, hinge (the weighted mean of the hinge losses),
        linear and square (the dual is linear - square / (2 lam) if no weight is at a nonzero
        bound), working_set_size.

    See Also
    --------
    ssvm_path : Compute paths.
    sstruct.PathCV : Choose lambda along paths.
    sstruct.plotting.RegularizationPathDisplay : Plot paths.

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

    def gap(self, lam: float) -> float:
        """Return an upper bound on the suboptimality of ``w(lam)``.

        Parameters
        ----------
        lam : float
            The value of lambda.

        Returns
        -------
        float
            The duality gap of ``w(lam)`` and of the dual weights, rescaled to `lam`. It is computed
            in closed form, without the data; above the first breakpoint, the result is an upper
            bound on the gap. It is at most `eps`.
        """
        self._require_fitted()
        row, _ = self._at(lam)
        primal, dual = self._certificate(lam)
        # At a breakpoint the gap is stored; a difference of sums would have rounding errors.
        gap = self.gaps_[row] if lam == self.lams_[row] else primal - dual
        return max(float(gap), 0.0)

    def save(self, file: Any) -> None:
        """Save the path to a file, as a compressed pickle of joblib.

        Parameters
        ----------
        file : str, path or file object
            The file to write.
        """
        joblib.dump(self, file, compress=3)

    @classmethod
    def load(cls, file: Any) -> Self:
        """Load a path from a file of ``save``. As with all pickles, load only trusted files.

        Parameters
        ----------
        file : str, path or file object
            The file to read.

        Returns
        -------
        RegularizationPath
            The path.
        """
        path = joblib.load(file)
        if not isinstance(path, cls):
            raise ValueError(
                f"the file contains a {type(path).__name__}, expected a {cls.__name__}"
            )
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
    r"""Compute an approximate regularization path, with weights for all values of lambda.

    A single sweep, starting from the largest useful lambda, replaces a grid. For each lambda, the
    objective of the weights exceeds its minimum by at most `eps`, certified by the duality gap.
    Weights change only at breakpoints. The guarantee also holds between them, since the growth of
    the gap is known exactly for constant weights ([1]_, section 4). Unlike in the paper, dual
    weights are not scaled down, so breakpoints are much further apart.

    Parameters
    ----------
    estimator : an estimator of this package
        It need not be fitted; its `solver` must be ``"auto"``, ``"mp-bcfw"`` or ``"bcfw"``, or the
        corresponding object of :mod:`sstruct.solvers`, whose `average` is ignored. `lam`, `tol`,
        `warm_start` and callbacks are also ignored. `max_iter` applies to each breakpoint,
        `max_time` to the whole path. `bounds` must allow weights of 0 or, with a prior, its
        weights.
    X, y : as in the estimator's ``fit``
        Training samples and their labels.
    eps : float, default=0.1
        Maximum suboptimality of the objective, in units of the mean loss.
    kappa : float, default=None
        The gap at breakpoints is at most `kappa` times `eps`; at most 0.999. Smaller values give
        fewer breakpoints, each of which takes more time. If None, 0.9.
    lam_min : float, default=None
        Smallest lambda of interest. If None, 1e-4 times the first breakpoint; if the estimator has
        ``lam="auto"``, at most a tenth of this automatic value. The path ends earlier if the mean
        hinge loss decreases to `eps`, since the weights are then valid for all smaller values.
    sample_weight : as in the estimator's ``fit``, default=None
        Weight of each sample, or weights of its nodes.

    Returns
    -------
    RegularizationPath
        The weights and their guarantee.

    Raises
    ------
    ValueError, TypeError
        As in ``fit``; also if `bounds` exclude 0 (or the prior), or if the solver has no dual
        weights.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or `max_time` stops the path before `lam_min`. The computed part keeps its
        guarantee; ``lam_end_`` is the smallest lambda reached.

    See Also
    --------
    sstruct.PathCV : Choose lambda by cross-validation along paths.

    Notes
    -----
    Most breakpoints require a few passes of O(n) oracle calls, or fewer if the weights do not
    change. The heuristic path of the paper, which replaces certificates with the gaps of earlier
    visits, is not implemented: in this implementation, a certificate is a pass that also improves
    the weights, and paths without certificates required more oracle calls. Each breakpoint requires
    memory for w, or only for the changed entries if these are few.

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
