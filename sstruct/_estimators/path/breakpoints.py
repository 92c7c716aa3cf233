"""Weights at breakpoints of a regularization path, valid for all values of lambda between them."""

from __future__ import annotations

import numpy as np

from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._estimators.path.along_lambda import AlongLambda, Sweep
from sstruct._estimators.path.path_state import PATH_STATE
from sstruct._solvers.path.segment import Segment

KAPPA = 0.9
# Without lam_min, a path of an estimator with lam="auto" ends at this fraction of that value, or at
# 1e-4 times the first lambda if that is smaller.
SHARE_OF_AUTO = 0.1
# Smaller gaps are below the rounding errors of the sums, or underflow in divisions.
MIN_GAP = 1e-100


class BreakpointPath(AlongLambda):
    """Base class of RegularizationPath, which computes the path and its certificates."""

    _fitted_state = PATH_STATE

    _if_not_exact = ": choose lam by PathCV or GridSearchCV"

    lam_end_: float
    guarantee_: str
    kappa: float

    def __init__(
        self,
        sweep: Sweep,
        eps: float,
        kappa: float,
        lam_min: float | None,
        relative: bool = False,
    ) -> None:
        super().__init__(sweep, eps, relative)
        sweep.check_zero()
        self.kappa = kappa
        solver = sweep.solver(1.0, relative)
        least = None if lam_min is None else lam_min / sweep.unit
        self._take(solver.path(eps, kappa, least, SHARE_OF_AUTO * sweep.auto_lam), sweep)
        self._hinge_at_zero = solver.hinge_at_zero
        self.lam_end_ = lam_min if solver.end == least else sweep.unit * solver.end
        self.guarantee_ = "certified" if self._exact else "approximate"
        self._finish(solver.status, f"the path, at lam={self.lam_end_:g}, ended early", sweep)

    @property
    def certified_(self) -> bool:
        """Whether the duality gaps are certified."""
        return self.guarantee_ == "certified"

    def _at(self, lam):
        check_number("lam", lam, above=0)
        lam = float(lam)
        if len(self.lams_) == 0:
            raise ValueError(f"this path ended before its first breakpoint ({self.status_})")
        if lam < self.lam_end_:
            raise ValueError(
                f"lam={lam:g} is below the end of the path, {self.lam_end_:g}; compute the path "
                "with a smaller lam_min"
            )
        row = max(int(np.searchsorted(-self.lams_, -lam, side="right")) - 1, 0)
        return row, min(self.lams_[row] / lam, 1.0) if row == 0 else 1.0

    def _certificate(self, lam):
        row, factor = self._at(lam)
        known = {name: float(column[row]) for name, column in self.history_.items()}
        norm = 2 * (known["primal"] - known["hinge"]) / known["lam"]
        if lam >= known["lam"]:
            # By convexity, the values at both ends bound the hinge losses in between.
            hinge = factor * known["hinge"] + (1 - factor) * self._hinge_at_zero
            product = factor * (known["linear"] - known["hinge"] + known["gap"])
            primal = 0.5 * lam * factor**2 * norm + hinge
            return primal, primal - (hinge - known["linear"] + product)
        segment = Segment(**{name: known[name] for name in Segment.__dataclass_fields__})
        return segment.primal_at(lam), segment.dual_at(lam)


def path_options(eps, kappa, lam_min):
    """Return the parameters of a BreakpointPath in its order; raise if they are out of range."""
    kappa = KAPPA if kappa is None else kappa
    check_number("eps", eps, above=0)
    check_number("kappa", kappa, above=0)
    if not kappa <= 0.999:
        raise ValueError(f"kappa must be at most 0.999, found {shortened(kappa)}")
    if not float(eps) * float(kappa) >= MIN_GAP:
        raise ValueError(
            f"kappa times eps, the gap of the solutions at breakpoints, must be at least "
            f"{MIN_GAP:g}, found {shortened(kappa)} times {shortened(eps)}"
        )
    if lam_min is not None:
        check_number("lam_min", lam_min, above=0)
    return float(eps), float(kappa), None if lam_min is None else float(lam_min)
