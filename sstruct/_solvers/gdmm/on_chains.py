"""Greedy direction method of multipliers (GDMM) on the factors of chains."""

import math
from typing import ClassVar

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._problems.chain._sparse import sparse_hinges
from sstruct._solvers.core._state import squared_norm
from sstruct._solvers.core.solver import Solver, relative
from sstruct._solvers.gdmm._chain_bounds import rebuild, relaxed_hinge, set_rho, squared_sizes
from sstruct._solvers.gdmm._chain_dual import consistent_dual
from sstruct._solvers.gdmm._chain_pass import ChainFactors

# Generated sequences with 100 labels, 100 chains, one run each, relative gap after 30 passes: 0.20,
# 0.019 and 0.014 with 1, 3 and 10 new labels per search (under an older rule for rho); 0.057,
# 0.0046 and 0.0001 with 5, 10 and 20 passes between searches, in 1.1, 1.9 and 3.4 s of CPU time.
NEW_LABELS = 10
PASSES_BETWEEN = 10
# Passes between searches visit the chains whose last gain was at least this share of the mean.
MIN_GAIN = 0.5
# The penalty adds to the curvature of a factor, which is the squared norm of a row for a node and 1
# for a transition. It is not changed if neither residual is more than BALANCED times the other.
FIRST_RHO = 1.0
BALANCED = 3.0
RHO_CHANGE = 1.5
BALANCE_EVERY = 3
MAX_CHANGES = 40
# For more labels, Viterbi with its K^2 operations per node would cost more than everything else.
# Unless transitions are sparse, a certificate then uses the relaxed primal, and the exact one only
# if the relaxed primal meets the tolerance.
MAX_EXACT_LABELS = 300
# From this pass on, every second pass is certified: a certificate takes about a tenth of the time
# of a pass, and the tolerance is usually reached after 8 to 16 passes.
FIRST_EXTRA_CERTIFICATE = 6
# Columns of the history that a certificate measures, in passes without one.
UNKNOWN = dict.fromkeys(
    ("relaxed_primal", "feasibility", "labels_per_unigram", "labels_per_bigram"), math.nan
)
# Weights below this share of the largest transition weight are rounding errors.
DUST = 1e-13


# Values of the parameters of estimators that solvers on factors support.
WITH_FACTORS = Solver.takes | {
    "rescaling": ("margin",),
    "bounds": (None,),
    "class_scores": (None,),
}


def n_parts(options, problem):
    """Return the number of label groups; raise ValueError if a group would be empty."""
    if options.parts > problem.n_labels:
        raise ValueError(
            f"parts={options.parts} of GDMM, expected at most {problem.n_labels}, the number of "
            "labels"
        )
    return int(options.parts)


class GDMMFit(Solver):
    """Dual decomposition of chains into nodes and edges, by an augmented Lagrangian.

    A pass visits each chain with searches for new labels and pairs, and then visits the chains that
    still change a few more times with searches for pairs only, which are cheap. Bounds do not
    require that the factors agree. ``dual`` is the best lower bound so far, from dual variables
    made consistent; ``w`` is the best iterate at a certificate, and ``primal`` its exact objective.
    Iterates are not averaged: averages had higher objectives on generated sequences.

    Parameters
    ----------
    setup : Setup
        Of a ChainProblem. If the option `rho` is "auto", it is adapted such that the relative
        residuals of agreement and of movement are balanced.

    References
    ----------
    I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual Decomposed
    Learning with Factorwise Oracles for Structural SVM of Large Output Domain. NIPS 2016.
    B. Wohlberg. ADMM Penalty Parameter Selection by Residual Balancing. arXiv:1704.06209.
    """

    takes: ClassVar[dict] = WITH_FACTORS

    def __init__(self, setup):
        super().__init__(setup)
        options = self.options
        self.adaptive, self.n_changes = options.rho == "auto", 0
        rho = FIRST_RHO if self.adaptive else float(options.rho)
        self.factors = ChainFactors(
            self.problem,
            self.lam,
            self.block_weight,
            rho,
            NEW_LABELS,
            options.seed,
            options.exhaustive,
            setup.prior,
        )
        self._checked(float(np.max(self.factors.curvature)))
        self.parts = n_parts(options, self.problem)
        self.random = np.random.default_rng(options.seed)
        self.run_seconds = 0.0
        self.w, self.dual = self._start(), 0.0
        self.relaxed, self.state = math.inf, UNKNOWN
        self.spare = None  # weights of a certificate that were not the best: memory for the next

    def _iterate(self):
        """Make a pass with searches and passes between; return the status, None to continue."""
        self.state = UNKNOWN
        self.n_oracle_calls += self._run(np.arange(self.problem.n_blocks), search=True)
        self.n_passes += 1
        residual, movement = self.factors.residual, self.factors.movement
        gain = np.asarray(self.factors.chain_gain)
        for _ in range(PASSES_BETWEEN):
            if seconds() >= self.deadline:
                break
            self._run(np.flatnonzero(gain >= MIN_GAIN * gain.mean()), search=False)
        if self.adaptive and self.n_passes % BALANCE_EVERY == 0:
            self._balance(residual, movement)
        return self._conclude()

    def _certificate_due(self):
        extra = self.n_passes >= FIRST_EXTRA_CERTIFICATE and self.n_passes % 2 == 0
        return extra or super()._certificate_due()

    def _run(self, blocks, search):
        begin = seconds()
        order = self.random.permutation(blocks).astype(np.intp, copy=False)
        try:
            step = self.options.multiplier_step
            return self.factors.run(order, search, self.parts, step, self.deadline)
        finally:
            self.run_seconds += seconds() - begin

    def _balance(self, residual, movement):
        """Raise rho if the relative disagreement exceeds the relative movement, or lower it."""
        marginals, multipliers = squared_sizes(self.factors)
        if not (marginals > 0 and multipliers > 0) or self.n_changes >= MAX_CHANGES:
            return
        disagreement, change = math.sqrt(residual / marginals), math.sqrt(movement / multipliers)
        factor = 1.0
        if disagreement > BALANCED * change:
            factor = RHO_CHANGE
        elif change > BALANCED * disagreement:
            factor = 1 / RHO_CHANGE
        if factor != 1:
            set_rho(self.factors, self.factors.rho * factor)
            self.n_changes += 1

    def _evaluate(self, exact):
        """Bound the optimum from both sides; return whether the exact primal was computed.

        If `exact` is false, it is computed only if cheap, or if the relaxed primal is good enough.
        """
        factors = self.factors
        self.state = UNKNOWN | rebuild(factors)
        w = self._start() if self.spare is None else self.spare
        self.spare = w
        self.dual = max(self.dual, self._dual_at(consistent_dual(factors, w), w))
        w[: factors.n_node_weights] = factors.w
        if self.problem.transitions:
            edges = w[factors.n_node_weights :].reshape(self.problem.n_labels, -1)
            edges = edges[:, : self.problem.n_labels]
            edges[:] = factors.pairs.scores()
            if self.problem.masked:
                forbidden = edges == -np.inf
                edges[forbidden] = 0.0
            # Rounding errors of canceled sums, which sparse decoders would treat as weights.
            least = DUST * max(edges.max(), -edges.min())
            edges[(edges < least) & (edges > -least)] = 0.0
        if self.primal == math.inf:  # in case the time limit is reached here
            self.w, self.spare = w, None
            if self.problem.masked and self.prior is not None:
                start = self.prior[factors.n_node_weights :].reshape(self.problem.n_labels, -1)
                edges[forbidden] = start[:, : self.problem.n_labels][forbidden]
        relaxed = self._checked(
            self.lam * (0.5 * squared_norm(self._from_prior(w)) + relaxed_hinge(factors))
        )
        self.relaxed = min(self.relaxed, relaxed)
        self.state["relaxed_primal"] = relaxed
        hinges = sparse_hinges(self.problem, w, self.pool.n_threads)
        exact = (
            exact
            or hinges is not None
            or self.problem.n_labels <= MAX_EXACT_LABELS
            or relative(relaxed - self.dual, relaxed) <= self.options.tol
        )
        if exact:
            if hinges is not None:
                hinge, all_exact = float(self.block_weight @ hinges), True
                primal = self._objective(w, hinge)
            else:
                primal, all_exact = self._primal_at(w)
            if primal < self.primal:
                self.w, self.primal, self.exact, self.spare = w, primal, all_exact, None
        return exact

    def _dual_at(self, loss, w):
        """Return the dual value of the best multiple, between 0 and 1, of the dual variables.

        loss, w : of `consistent_dual`
        """
        square = self._checked(squared_norm(w))
        if self.prior is not None:
            loss -= float(self.prior @ w)
        scale = 1.0 if square <= loss else max(loss, 0.0) / square
        return self.lam * scale * (loss - 0.5 * scale * square)

    def _estimate(self):
        upper = min(self.primal, self.relaxed)
        return relative(max(upper - self.dual, 0.0), upper)

    def _measures(self):
        search = self.factors.label_seconds, self.factors.pair_seconds
        return {
            **self.state,
            "rho": self.factors.rho,
            "unigram_search_seconds": search[0],
            "bigram_search_seconds": search[1],
            "step_seconds": self.run_seconds - sum(search),
        }
