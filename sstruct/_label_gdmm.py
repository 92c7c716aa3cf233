"""GDMM as a solver of MultilabelSSVM."""

from sstruct._label_model import is_hierarchy
from sstruct._solvers.gdmm_labels import LabelGDMM


def checked_parts(gdmm_parts, n_labels):
    """Return the number of parts of the labels; raise ValueError where a part would be empty."""
    if gdmm_parts > n_labels:
        raise ValueError(
            f"gdmm_parts={gdmm_parts}, expected at most {n_labels}, the number of labels"
        )
    return int(gdmm_parts)


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

    def _refuse_one_label(self):
        """Refuse a label a sample, which GDMM has no factors for."""
        if self.solver == "gdmm":
            raise ValueError(
                "solver='gdmm' needs sets of labels, an (n, K) array y of 0 and 1; for one label a "
                "sample take solver='mp-bcfw' or 'bcfw'"
            )

    def _gdmm(self, problem, lam, block_weight, options, progress, callback):
        n_parts = checked_parts(self.gdmm_parts, problem.n_labels)
        return LabelGDMM(
            problem,
            lam,
            block_weight,
            options,
            progress,
            callback,
            rho=None if self.gdmm_rho == "auto" else float(self.gdmm_rho),
            n_parts=n_parts,
        )
