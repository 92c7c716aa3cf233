"""GDMM as a solver of MultilabelSSVM."""

import numpy as np

from sstruct._label_model import is_hierarchy
from sstruct._problems._multilabel import MultilabelProblem
from sstruct._solvers.gdmm_labels import LabelGDMM

# Where "auto" is GDMM, all pairs interacting and loss="hamming-count": so many labels, samples, at
# most so many labels on in the mean, and lam between these times 1 / n. There it came closest to
# the default tolerance on all sets measured (benchmarks/label_solvers.py), while one with 39 labels
# on, fewer samples or a larger lam had it behind, a smaller lam on some sets.
LEAST_LABELS, LEAST_SAMPLES, MOST_ON = 100, 2000, 5
LEAST_LAM, MOST_LAM = 1, 10


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

    def _auto_solver(self, problem, lam):
        """GDMM where it was measured to win and nothing is asked for that it does not have."""
        loss = isinstance(self.loss, str) and self.loss == "hamming-count"
        # With one label a sample the problem is another one.
        fits = loss and self.class_weight is None and isinstance(problem, MultilabelProblem)
        if not fits or any(self._misfits("gdmm")):
            return "mp-bcfw"
        n, K = problem.n_blocks, problem.n_labels
        # So many labels with all pairs have no decoder without bounds but the relaxed one.
        pairs = problem.n_edges == K * (K - 1) // 2 and not problem.full
        large = K >= LEAST_LABELS and n >= LEAST_SAMPLES
        # 1 / n times n need not be 1.
        middle = LEAST_LAM <= round(lam * n, 9) <= MOST_LAM
        if not (pairs and large and middle):
            return "mp-bcfw"
        # Of a relaxed code 2 is a label that is on.
        on = sum(np.count_nonzero(problem.true_code(i)[:K] == 2) for i in range(n))
        return "gdmm" if on <= MOST_ON * n else "mp-bcfw"

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
