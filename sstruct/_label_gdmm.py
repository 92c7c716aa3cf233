"""GDMM as a solver of MultilabelSSVM."""

from sstruct._label_model import is_hierarchy
from sstruct._label_sets import is_indicator
from sstruct._solvers.gdmm_labels import LabelGDMM


class LabelFactorSolver:
    """Makes the solver of an estimator with ``gdmm_rho`` and ``gdmm_parts``."""

    def _check_gdmm(self):
        if self.solver != "gdmm":
            return
        refused = None
        if self.pairwise != "and":
            refused = f"pairwise={self.pairwise!r}"
        elif is_hierarchy(self.edges):
            refused = "a hierarchy"
        elif self.inference in ("enumeration", "cut"):
            refused = f"inference={self.inference!r}"
        if refused:
            raise ValueError(
                f"{refused} does not go with solver='gdmm', which solves the relaxation of "
                "pairwise=\"and\"; take solver='mp-bcfw' or 'bcfw'"
            )

    def _check_gdmm_data(self, y):
        """Refuse targets that GDMM has no factors for."""
        if self.solver != "gdmm":
            return
        if not is_indicator(y):
            raise ValueError(
                "solver='gdmm' needs sets of labels, an (n, K) array y of 0 and 1; for one label a "
                "sample take solver='mp-bcfw' or 'bcfw'"
            )
        n_labels = y.shape[1] if hasattr(y, "shape") else len(y[0])
        if self.gdmm_parts > n_labels:
            raise ValueError(
                f"gdmm_parts={self.gdmm_parts}, expected at most {n_labels}, the number of labels"
            )

    def _gdmm(self, problem, lam, block_weight, options, progress, callback):
        return LabelGDMM(
            problem,
            lam,
            block_weight,
            options,
            progress,
            callback,
            rho=None if self.gdmm_rho == "auto" else float(self.gdmm_rho),
            n_parts=int(self.gdmm_parts),
        )
