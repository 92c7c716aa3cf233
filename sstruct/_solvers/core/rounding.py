r"""Rounding errors of certificates, and limits of the range of float64.

Notation: u is the unit roundoff, q_i are the weights of the blocks, r_i is a bound of
:math:`|\phi(x_i, y)|` over labelings (``BlockProblem.norms``) and S = sum_i q_i r_i. The error of a
computed sum is at most g u times the sum of the magnitudes of its terms, where g is the number of
additions or, with probability 1 - 1e-13 for each sum, 8 times its square root (Higham and Mary).
Hence

* the error of a score is g u |w| r_i, and that of a hinge loss H_i = L - <w, psi>, where psi is a
  difference of two phi, is g u (2 |w| r_i + L). Since L <= 2 H_i + 4 |w| r_i (also for slack
  rescaling, where psi has the factor L and H_i is L times 1 - <w, psi>), the error of P is
  g u (6 |w| S + 3 P + lam |w|^2);
* the error of w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) is g u 2 S / lam, which changes
  D = l - lam <w, v> + lam/2 |w|^2 by g u 2 |w| S. Since l <= D + 4 |w| S, the error of D is
  g u (6 |w| S + D + lam |w|^2). With bounds on the weights, the first sum is v instead of w =
  clip(v), and both statements hold for this w.

The dual weights of a block sum to 1 up to 1e-14 = 90 u (``DualState.rebuild``). This changes D by
at most 90 u times the larger of l and lam <w, v>. The terms above contain both at least twice, so
that adding 45 to g covers this. For solvers that do not have the w of their dual value, |w|^2 <= 2
D / lam holds, since no multiple of its dual weights has a larger D. Terms of scores other than <w,
phi>, such as fixed pairwise costs, have the magnitude ``BlockProblem.fixed_scores``. With a prior
w_0, lam |w|^2 becomes lam |w - w_0| times the larger of |w| and |w_0|, and the bound of |w|^2 by D
is a bound of |w - w_0|^2.

References
----------
N. J. Higham, T. Mary. A New Approach to Probabilistic Rounding Error Analysis. SIAM Journal on
Scientific Computing 41(5), 2019, Theorem 2.4.
"""

import math

import numpy as np

from sstruct._kernels.slices import SLICE
from sstruct._solvers.core._state import from_prior, squared_norm

UNIT = np.finfo(np.float64).eps / 2
# A certificate must be accurate to half of the digits, however small `tol` is. If `tol` is below
# that, a fit continues until no step is possible.
HALF = math.sqrt(UNIT)
DEVIATIONS = 8.0
OF_DUAL_WEIGHTS = 45.0  # half of `DRIFT` in _state.pyx, in units of u
# Sums of squares up to this value do not overflow.
MOST = 1e300
# Sums of squares of at least this value are not affected by underflow.
LEAST = 1e-250
# Largest error of a product that underflows.
TINY = np.finfo(np.float64).tiny


class Rounding:
    """Bounds of the rounding errors in fits of a problem.

    Parameters
    ----------
    problem : BlockProblem
    lam : float
        The first lam of the fit.
    block_weight : ndarray of shape (n_blocks,)
    prior : ndarray of shape (n_weights,) or None
        The center of the regularizer; None for 0.

    Raises
    ------
    ValueError
        If squares may exceed the range of float64 for this lam and these features.
    """

    def __init__(self, problem, lam, block_weight, prior=None):
        self.problem, self.block_weight, self.prior = problem, block_weight, prior
        self.prior_norm = 0.0 if prior is None else _norm(prior)
        terms = problem.n_weights + float(problem.n_blocks) * problem.max_code_size
        self.growth = OF_DUAL_WEIGHTS + min(terms, DEVIATIONS * math.sqrt(terms))
        self.measure()
        weights = 2 * self.size / lam  # upper bound of |w|
        if not max(self.largest, weights) <= math.sqrt(MOST):
            raise ValueError(
                f"the weights may exceed the range of float64: with lam={lam:g} and features of "
                f"norms up to {self.largest:.3g} per sample they may reach {weights:.3g}. "
                "Rescale the features, or increase lam"
            )

    def measure(self):
        """Read the sizes of scores from the problem; call it again after they have changed."""
        norms = self.problem.norms()
        with np.errstate(over="ignore"):
            self.size = 0.0 if norms is None else float(np.dot(self.block_weight, norms))
        self.largest = 0.0 if norms is None else float(norms.max())
        self.fixed = float(np.dot(self.block_weight, self.problem.fixed_scores()))

    def bound(self, lam, primal, dual, *vectors):
        """Return an upper bound of the rounding error of P - D.

        vectors : w and, if known, the w of the dual value; a dual of NaN means that there is none
        """
        if self.problem.keeps_planes:  # the norms refer to the planes found so far
            self.measure()
        dual = 0.0 if math.isnan(dual) else dual
        norm = move = max(map(_norm, vectors))
        if self.prior is not None:
            move = max(_norm(from_prior(vector, self.prior)) for vector in vectors)
        if len(vectors) == 1:
            move = max(move, math.sqrt(2 * max(dual, 0.0) / lam))
        norm = max(norm, move) if self.prior is None else max(norm, self.prior_norm + move)
        total = (
            12 * norm * self.size + 3 * (primal + self.fixed) + abs(dual) + 2 * lam * norm * move
        )
        # Products of features, and of w with itself, may have underflowed.
        lost = TINY * (1 + self.largest + lam * len(vectors[0])) if norm > 0 else 0.0
        return self.growth * (UNIT * total + lost)


def in_range(weights):
    """Return the weights if all are finite; raise ValueError otherwise."""
    if not np.isfinite(weights).all():
        raise out_of_range("weights")
    return weights


def out_of_range(what):
    """Return the error for overflow in solvers without an objective."""
    return ValueError(
        f"{what} exceed the range of float64: rescale the features, or reduce the sample weights"
    )


def _norm(vector):
    """Return |w|, also if its square is out of the range of float64."""
    square = squared_norm(vector)
    if LEAST < square < MOST:
        return math.sqrt(square)
    largest = max(vector.max(initial=0.0), -vector.min(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    parts = (vector[first : first + SLICE] for first in range(0, len(vector), SLICE))
    return largest * math.sqrt(sum(squared_norm(part / largest) for part in parts))
