r"""What rounding may do to a certificate, and which sizes float64 has no room for.

Notation: u the unit roundoff, q_i the blocks' weights, r_i a bound of :math:`|\phi(x_i, y)|` over
labelings (``BlockProblem.norms``) and S = sum_i q_i r_i. A computed sum is off by at most g u times
the sum of the magnitudes of its terms; g is the number of additions or, with a probability of
1 - 1e-13 for each sum, 8 times its root (Higham and Mary). So

* a score is off by g u |w| r_i, a hinge loss H_i = L - <w, psi>, psi the difference of two phi, by
  g u (2 |w| r_i + L), and L <= 2 H_i + 4 |w| r_i (of slack rescaling, where psi has the factor L
  and H_i is L times 1 - <w, psi>, too): P by g u (6 |w| S + 3 P + lam |w|^2);
* w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) by g u 2 S / lam, which changes D = l - lam <w, v> +
  lam/2 |w|^2 by g u 2 |w| S; l <= D + 4 |w| S: D by g u (6 |w| S + D + lam |w|^2).

Dual weights of a block sum to 1 up to 45 u (``DualState.rebuild``), which g includes. For solvers
that know no w of their dual value, |w|^2 <= 2 D / lam holds there, since no multiple of its dual
weights has a larger D. What scores have beside <w, phi>, such as fixed pairwise costs, has the
magnitude ``BlockProblem.fixed_scores``.

References
----------
N. J. Higham, T. Mary. A New Approach to Probabilistic Rounding Error Analysis. SIAM Journal on
Scientific Computing 41(5), 2019, Theorem 2.4.
"""

import math

import numpy as np

from sstruct._kernels.slices import SLICE
from sstruct._solvers.core._state import squared_norm

UNIT = np.finfo(np.float64).eps / 2
# What a certificate must be good for, however small `tol` is: half of the digits. Below that, a fit
# goes on until no step is possible any more.
HALF = math.sqrt(UNIT)
DEVIATIONS = 8.0
OF_DUAL_WEIGHTS = 45.0
# Squares up to here leave room for sums of them.
MOST = 1e300
# A sum of squares from here on has lost nothing to those that are no normal numbers.
LEAST = 1e-250
# What a product loses at most that is below the normal numbers.
TINY = np.finfo(np.float64).tiny


class Rounding:
    """Bounds of what rounding does in the fits of a problem.

    Parameters
    ----------
    problem : BlockProblem
    block_weight : ndarray of shape (n_blocks,)
    """

    def __init__(self, problem, block_weight):
        self.problem, self.block_weight = problem, block_weight
        terms = problem.n_weights + float(problem.n_blocks) * problem.max_code_size
        self.growth = OF_DUAL_WEIGHTS + min(terms, DEVIATIONS * math.sqrt(terms))
        self.measure()

    def measure(self):
        """Read the sizes of scores from the problem, again if they have changed."""
        norms = self.problem.norms()
        with np.errstate(over="ignore"):
            self.size = 0.0 if norms is None else float(np.dot(self.block_weight, norms))
        self.largest = 0.0 if norms is None else float(np.max(norms))
        self.fixed = float(np.dot(self.block_weight, self.problem.fixed_scores()))

    def check_range(self, lam):
        """Refuse a lam, or features, with which squares may leave the range of float64."""
        weights = 2 * self.size / lam  # no |w| is larger
        if not max(self.largest, weights) <= math.sqrt(MOST):
            raise ValueError(
                f"the weights leave the range of float64: with lam={lam:g} and samples whose "
                f"features have norms of up to {self.largest:.3g} they may reach {weights:.3g}. "
                "Scale the features, or take a larger lam"
            )

    def bound(self, lam, primal, dual, *vectors):
        """Return what rounding may have added to, or taken from, P - D at most.

        vectors : w and, where they are known, those of the dual value; NaN: there is no dual
        """
        if self.problem.keeps_planes:  # norms are those of planes met
            self.measure()
        dual = 0.0 if math.isnan(dual) else dual
        norm = max(map(_norm, vectors))
        if len(vectors) == 1:
            norm = max(norm, math.sqrt(2 * max(dual, 0.0) / lam))
        total = (
            12 * norm * self.size + 3 * (primal + self.fixed) + abs(dual) + 2 * lam * norm * norm
        )
        # Products may have become 0, those of features and of w with itself.
        lost = TINY * (1 + self.largest + lam * len(vectors[0])) if norm > 0 else 0.0
        return self.growth * (UNIT * total + lost)


def in_range(weights):
    """Return weights that are all finite; ValueError for others."""
    if not np.isfinite(weights).all():
        raise out_of_range("weights")
    return weights


def out_of_range(what):
    """Return the error where numbers have grown beyond float64 without an objective to tell."""
    return ValueError(
        f"{what} leave the range of float64: scale the features, or weigh samples less"
    )


def _norm(vector):
    """|w|, also where its square is no float64."""
    square = squared_norm(vector)
    if LEAST < square < MOST:
        return math.sqrt(square)
    largest = max(vector.max(initial=0.0), -vector.min(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    parts = (vector[first : first + SLICE] for first in range(0, len(vector), SLICE))
    return largest * math.sqrt(sum(squared_norm(part / largest) for part in parts))
