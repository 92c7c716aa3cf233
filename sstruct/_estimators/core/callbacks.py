"""Callbacks of a fit, including objects of scikit-learn's protocol and GapMonitor."""

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np

from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._compat import CallbackSupportMixin
from sstruct._compat.public_module import public_module
from sstruct._solvers.core.history import COLUMNS as HISTORY

PASS = "pass"  # name of the task of a pass; the task of the whole fit is named "fit"
CERTIFICATE = ("primal", "dual", "gap", "status")
# The info before the first pass.
NOTHING_YET = {
    **{name: 0 if dtype is np.int64 else math.nan for name, dtype in HISTORY.items()},
    **{"seconds": 0.0, "certificate_seconds": 0.0, "working_set_size": 0.0},
    **{"relative_gap_estimate": math.inf, "status": None},
}
HOOKS = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")


class Callback:
    """Base class with the hooks of scikit-learn's callback protocol, which do nothing."""

    def setup(self, estimator: Any, context: Any) -> None:
        """Prepare for a fit.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the fit.
        """

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Handle the start of the fit, or of a pass.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the fit or the pass.
        """

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool | None:
        """Handle the end of a pass, or of the fit.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the pass or the fit.

        Returns
        -------
        bool or None
            True stops the fit.
        """

    def teardown(self, estimator: Any, context: Any) -> None:
        """Clean up after a fit, including one that raised.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the fit.
        """


class FunctionCallback(Callback):
    """Adapter of a function ``callback(info) -> bool`` to scikit-learn's callback protocol."""

    def __init__(self, function):
        self.function = function

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool | None:
        """Call the function after a pass.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the pass or the fit.

        Returns
        -------
        bool or None
            True stops the fit.
        """
        if context.task_name != PASS:
            return False
        stop = self.function(dict(context.info))
        try:
            return bool(stop)
        except Exception as error:
            raise TypeError(
                f"a callback returned a {type(stop).__name__}, which has no truth value; "
                "return True to stop the fit, or None"
            ) from error


@public_module("sstruct")
class GapMonitor(Callback):
    """Callback that records the duality gap, and stops a fit once the gap is small enough.

    Register it with ``estimator.set_callbacks(GapMonitor())``. The gap is computed every
    ``certificate_every`` passes and at the end. One monitor can record all fits of a grid search,
    also in threads. Records made in other processes are not sent back.

    Parameters
    ----------
    stop_at : float or None, default=None
        Stop at a certified relative gap, (primal - dual) / primal, of at most `stop_at`. If None,
        only record.

    Attributes
    ----------
    histories : list of dicts of ndarrays
        For each fit, in the order in which they started, columns with one entry per certificate:
        passes, oracle_calls (int64), seconds, primal, dual, gap.

    See Also
    --------
    sstruct.plotting.ConvergenceDisplay : Draws the history of every pass, certified or not.

    Examples
    --------
    >>> from sstruct import ChainSSVM, GapMonitor
    >>> from sstruct.datasets import make_sequences
    >>> from sstruct.solvers import MPBCFW
    >>> X, y = make_sequences(n_samples=40, random_state=0)
    >>> monitor = GapMonitor(stop_at=0.1)
    >>> solver = MPBCFW(certificate_every=1)
    >>> model = ChainSSVM(lam=0.01, solver=solver, tol=1e-4, random_state=0)
    >>> model.set_callbacks(monitor).fit(X, y).status_
    'STOPPED_BY_CALLBACK'
    >>> history = monitor.history
    >>> bool(history["gap"][-1] <= 0.1 * history["primal"][-1])
    True
    >>> bool((history["gap"][:-1] > 0.1 * history["primal"][:-1]).all())
    True
    """

    COLUMNS = ("passes", "oracle_calls", "seconds", "primal", "dual", "gap")

    def __init__(self, stop_at: float | None = None) -> None:
        if stop_at is not None:
            check_number("stop_at", stop_at, least=0)
        self.stop_at = stop_at
        self._fits = []  # a list of rows for each fit
        self._open = {}  # id of an estimator that is being fitted: the rows of its fit

    def setup(self, estimator: Any, context: Any) -> None:
        """Start the record of a fit.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the fit.
        """
        self._open[id(estimator)] = rows = []
        self._fits.append(rows)

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool | None:
        """Record a certificate.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the pass or the fit.

        Returns
        -------
        bool or None
            True if the gap is at most `stop_at`.
        """
        info = getattr(context, "info", None)
        # Another callback may have emptied it.
        if info is None or not math.isfinite(info.get("primal", math.nan)):
            return False
        rows = self._open[id(estimator)]
        row = tuple(info[name] for name in self.COLUMNS)
        # The last pass may have a certificate already.
        rows[:] = [other for other in rows if other[0] != row[0]] + [row]
        return self.stop_at is not None and info["gap"] <= self.stop_at * info["primal"]

    def teardown(self, estimator: Any, context: Any) -> None:
        """End the record of a fit.

        Parameters
        ----------
        estimator : estimator
            The estimator that is being fitted.
        context : object
            The callback context of scikit-learn for the fit.
        """
        del self._open[id(estimator)]

    @property
    def histories(self) -> list[dict[str, np.ndarray]]:
        """The record of every fit."""
        columns = [zip(*rows) if rows else [()] * len(self.COLUMNS) for rows in list(self._fits)]
        return [
            {
                name: np.array(column, np.int64 if k < 2 else np.float64)
                for k, (name, column) in enumerate(zip(self.COLUMNS, fit))
            }
            for fit in columns
        ]

    @property
    def history(self) -> dict[str, np.ndarray]:
        """The record of the fit that started last.

        Raises
        ------
        ValueError
            If no fit has been recorded.
        """
        if not self._fits:
            raise ValueError("this GapMonitor has not recorded a fit")
        return self.histories[-1]

    def __repr__(self):
        return f"GapMonitor(stop_at={self.stop_at})"


class CallbackSupport(CallbackSupportMixin):
    """Mixin with a ``set_callbacks`` that also accepts functions."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Register functions to call after each pass of a fit; without arguments, remove them.

        Parameters
        ----------
        *callbacks : callables, or objects of scikit-learn's callback protocol
            A function is called as ``callback(info)`` after each pass. If it returns True, the
            fit stops with a certificate and ``status_`` STOPPED_BY_CALLBACK. If it raises, the
            fit stops in the same way, and the exception is raised once the model is complete.

            ``info`` is a dict with the row of ``history_`` for the pass (``primal`` and ``gap`` are
            NaN unless the pass computed a certificate), ``relative_gap_estimate`` (an estimate of
            the duality gap, infinite at first) and ``status``, None as long as the fit continues.
            Changing the dict does not change the fit.

            For an object (such as :class:`sstruct.GapMonitor`, or scikit-learn's ``ProgressBar``),
            the hooks ``on_fit_task_begin`` and ``on_fit_task_end`` are called for the fit and for
            each pass. ``context.info`` is the dict above. In the end hooks it describes the pass
            that has ended, in the begin hooks the previous pass (before the first one, counts are 0
            and ``primal``, ``dual`` and ``gap`` are NaN).

        Returns
        -------
        self
            The estimator.

        Raises
        ------
        TypeError
            If an argument is neither a function nor such an object.

        Notes
        -----
        Clones and the fits of a search share the callbacks. A pickle or file of a fitted model does
        not contain them, so they can be lambdas; set them again after loading. The pickle of an
        unfitted estimator contains them, since searches send it to worker processes.

        Callbacks set on a meta-estimator reach its sub-estimators with scikit-learn 1.9 or later.
        """
        return super().set_callbacks(*map(_with_hooks, callbacks))


def _with_hooks(callback):
    """Return the callback as an object of scikit-learn's protocol."""
    if not isinstance(callback, type):
        if all(callable(getattr(callback, name, None)) for name in HOOKS):
            return callback
        if callable(callback):
            return FunctionCallback(callback)
    raise TypeError(
        "callbacks must be functions of one argument or instances with the methods "
        f"{', '.join(HOOKS)}, found {shortened(callback)}"
    )


class FitTask:
    """The task of a fit with callbacks, or within a meta-estimator; it has a subtask for each pass.

    Parameters
    ----------
    estimator : BaseSSVM
    training : tuple of (X, y, sample_weight)
        As passed to ``fit``.
    max_passes : int or None
        Maximum number of passes, for progress bars, or None if unknown.
    attributes : callable
        Returns the dict of fitted attributes of a Solution.

    Attributes
    ----------
    active : bool
        Whether a callback is registered. The solver must then call `after_pass`.
    """

    def __init__(self, estimator, training, max_passes, attributes):
        X, y, sample_weight = training
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.attributes = attributes
        self.error, self.info = None, NOTHING_YET
        self.context = estimator._init_callback_context(max_subtasks=max_passes)
        self.active = bool(getattr(estimator, "_skl_callbacks", []))
        self.context.info = dict(self.info)
        self.context.call_on_fit_task_begin(**self.given)
        if self.active:
            self._begin_pass(None)

    def _begin_pass(self, attributes):
        self.subtask = self.context.subcontext(task_name=PASS)
        self.subtask.info = dict(self.info)
        self.subtask.call_on_fit_task_begin(**self.given, reconstruction_attributes=attributes)

    def after_pass(self, info, solution):
        """Call the callbacks after a pass; return True if the fit should stop.

        Exceptions are stored in `error`. A KeyboardInterrupt propagates to the solver.
        """

        def attributes():
            now = solution()
            return self.attributes(replace(now, w=now.w.copy()))

        self.info, self.subtask.info = info, dict(info)
        try:
            stop = self.subtask.call_on_fit_task_end(
                **self.given, reconstruction_attributes=attributes
            )
            if not stop and info["status"] is None:
                self._begin_pass(attributes)
        except Exception as error:
            self.error, stop = error, True
        return stop

    def end(self, solution):
        """Call the callbacks at the end of the fit, when the estimator has its attributes."""
        if self.active:
            certificate = {name: getattr(solution, name) for name in CERTIFICATE}
            self.context.info = {**self.info, **certificate}
        self.context.call_on_fit_task_end(**self.given, reconstruction_attributes={})
