"""Progress bar (tqdm, optional) or log records of a fit."""

import logging
import math
import sys
from importlib.util import find_spec

logger = logging.getLogger("sstruct")


class Bar:
    """A bar that fills as the logarithm of the relative gap falls to `tol`, and never moves back.

    It is full only once the fit has converged, because gaps between certificates are estimates.
    Without a gap (NaN), it fills in proportion to the number of passes, and is full after
    `max_iter`.
    """

    ALMOST = 0.99  # limit while the gap is only an estimate

    def __init__(self, solver, tol, max_iter):
        self.solver, self.tol, self.max_iter = solver, tol, max_iter

    def __enter__(self):
        from tqdm import tqdm

        self.bar = tqdm(
            total=1.0,
            bar_format="{l_bar}{bar}| {postfix}{elapsed}<{remaining}",
            desc=f"fit ({self.solver})",
        )
        self.first = None
        return self

    def __exit__(self, *_):
        self.bar.close()

    def update(self, n_passes, gap):
        """Show the state after a pass; `gap` is the estimated relative gap."""
        if 0 < gap < math.inf and self.first is None:
            self.first = max(gap, self.tol * (1 + 1e-12))
        if math.isnan(gap):
            self.bar.n = max(self.bar.n, min(n_passes / self.max_iter, 1.0))
        elif self.first is not None:
            floor = max(self.tol, 1e-16)
            share = math.log(self.first / max(gap, floor)) / math.log(self.first / floor)
            self.bar.n = max(self.bar.n, min(share, self.ALMOST))
        self._show(n_passes, gap)

    def finish(self, n_passes, gap):
        """Fill the bar, as the fit has converged; `gap` is the certified relative gap."""
        self.bar.n = 1.0
        self._show(n_passes, gap)

    def _show(self, n_passes, gap):
        text = "no gap" if math.isnan(gap) else f"gap {gap:.2e}"
        self.bar.set_postfix_str(f"pass {n_passes}, {text}, ", refresh=False)
        self.bar.refresh()


class Lines:
    """A log record per pass, to the logger ``sstruct`` (to stderr if it has no handlers).

    The level of the root logger does not apply, but that of this logger and ``logging.disable`` do.
    The logger is shared by the fits of all threads, so it is not changed.
    """

    def __init__(self, solver, tol):
        self.solver, self.tol = solver, tol

    def __enter__(self):
        self.handler = logging.StreamHandler()
        self.handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        return self

    def __exit__(self, *_):
        """Do nothing: each record is written at once."""

    def update(self, n_passes, gap):
        """Log the state after a pass."""
        if math.isnan(gap):
            self._log("%s, pass %d: no duality gap", self.solver, n_passes)
            return
        text = "%s, pass %d: estimated relative gap %.3e (tol %.3e)"
        self._log(text, self.solver, n_passes, gap, self.tol)

    def finish(self, n_passes, gap):
        """Do nothing: the record of the last pass has been logged."""

    def _log(self, text, *values):
        if max(logger.level, logger.manager.disable + 1) > logging.INFO:
            return
        file, line, *_ = logger.findCaller()
        record = logger.makeRecord(logger.name, logging.INFO, file, line, text, values, None)
        (logger if logger.hasHandlers() else self.handler).handle(record)


class OptionalDisplay:
    """A display that stops once its stream cannot be written to, while the fit continues.

    A service may have no console, and the other end of a pipe may be closed.
    """

    def __init__(self, display):
        self.display, self.writable = display, True

    def _call(self, method, *arguments):
        try:
            method(*arguments)
        except (OSError, ValueError):  # a broken pipe; a closed file
            self.writable = False

    def __enter__(self):
        self._call(self.display.__enter__)
        self.entered = self.writable
        return self

    def __exit__(self, *error):
        if self.entered:  # also after a failure: the display may have changed a logger
            self._call(self.display.__exit__, *error)

    def update(self, n_passes, gap):
        """Show the state after a pass."""
        if self.writable:
            self._call(self.display.update, n_passes, gap)

    def finish(self, n_passes, gap):
        """Show that the fit has converged."""
        if self.writable:
            self._call(self.display.finish, n_passes, gap)


def progress(verbose, solver, tol, max_iter):
    """Return the display for `verbose`: a bar for 1, lines for larger values.

    Lines replace the bar if tqdm is not installed or ``sys.stderr`` is None.
    """
    if verbose == 1 and sys.stderr is not None and find_spec("tqdm") is not None:
        return OptionalDisplay(Bar(solver, tol, max_iter))
    return OptionalDisplay(Lines(solver, tol))
