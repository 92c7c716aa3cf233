"""GDMM, the greedy direction method of multipliers: training on the factors of chains."""

import math
from typing import ClassVar

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._problems.chain._sparse import sparse_hinges
from sstruct._solvers.core._state import aligned_zeros, squared_norm
from sstruct._solvers.core.solver import Solver, relative
from sstruct._solvers.gdmm._chain_bounds import rebuild, relaxed_hinge, set_rho, squared_sizes
from sstruct._solvers.gdmm._chain_dual import consistent_dual
from sstruct._solvers.gdmm._chain_pass import ChainFactors
from sstruct._solvers.gdmm.published import Published

# Made sequences, 100 labels, 100 chains, one run each, relative gap after 30 passes: with 1, 3 and
# 10 new labels a search 0.20, 0.019 and 0.014 (under an older rule for rho); with 5, 10 and 20
# passes between those with searches 0.057, 0.0046 and 0.0001, in 1.1, 1.9 and 3.4 s of CPU time.
NEW_LABELS = 10
PASSES_BETWEEN = 10
# Those visit the chains that moved at least so much, as a share of the mean, when last visited.
LEAST_GAIN = 0.5
# The penalty is weighed against products of feature rows and transitions, which is 1 for the
# latter. Residuals within BALANCED times of each other leave it alone.
FIRST_RHO = 1.0
BALANCED = 3.0
RHO_CHANGE = 1.5
BALANCE_EVERY = 3
MOST_CHANGES = 40
# Beyond so many labels Viterbi, K^2 a node, would cost more than all else: unless transitions are
# few, a certificate then looks at the relaxed primal, and at the exact one when that says that the
# fit is over.
MOST_EXACT_LABELS = 300
# From this pass on, every second pass is certified, too: a certificate takes about a tenth of the
# time of a pass, and the tolerance is usually reached after 8 to 16 passes.
FIRST_EXTRA_CERTIFICATE = 6
# A share of the largest transition's weight that is rounding.
DUST = 1e-13


# What solvers on factors take of an estimator's parameters.
WITH_FACTORS = Solver.takes | {
    "rescaling": ("margin",),
    "bounds": (None,),
}


def n_parts(options, problem):
    """Return the number of parts of the labels; raise ValueError where a part would be empty."""
    if options.parts > problem.n_labels:
        raise ValueError(
            f"parts={options.parts} of GDMM, expected at most {problem.n_labels}, the number of "
            "labels"
        )
    return int(options.parts)


class GDMMFit(Solver):
    """Dual decomposition of chains into nodes and edges, by an augmented Lagrangian.

    A pass visits each chain with searches for new labels and pairs, and then those that still move
    a few times with the searches for pairs alone, which are cheap. Bounds do not wait for the
    factors to agree. ``dual`` is the best lower bound so far, of variables made consistent; ``w``
    the best iterate at a certificate, ``primal`` its exact objective. Iterates are not averaged:
    averages of passes had higher objectives on made sequences.

    Parameters
    ----------
    setup : Setup
        Of a ChainProblem. Of its options, `rho` is kept where the relative residuals of agreement
        and of movement balance if it is "auto".
    published : Published
        For comparison with the papers.

    References
    ----------
    I. E.-H. Yen, X. Huang, K. Zhong, R. Zhang, P. Ravikumar, I. S. Dhillon. Dual Decomposed
    Learning with Factorwise Oracles for Structural SVM of Large Output Domain. NIPS 2016.
    B. Wohlberg. ADMM Penalty Parameter Selection by Residual Balancing. arXiv:1704.06209.
    """

    measures = (
        "relaxed_primal",
        "feasibility",
        "labels_per_unigram",
        "labels_per_bigram",
        "rho",
        "unigram_search_seconds",
        "bigram_search_seconds",
        "step_seconds",
    )

    takes: ClassVar[dict] = WITH_FACTORS

    def __init__(self, setup, *, published=Published()):  # noqa: B008 (frozen)
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
            published.exhaustive,
        )
        self._checked(float(np.max(self.factors.curvature)))
        self.parts = n_parts(options, self.problem)
        self.multiplier_step = published.multiplier_step
        self.random = np.random.default_rng(options.seed)
        self.run_seconds = 0.0
        self.w, self.dual = np.zeros(self.problem.n_weights), 0.0
        self.relaxed, self.state = math.inf, None

    def _iterate(self):
        """A pass with searches and those between; return the status once there is one."""
        self.state = None
        self.n_oracle_calls += self._run(np.arange(self.problem.n_blocks), search=True)
        self.n_passes += 1
        residual, movement = self.factors.residual, self.factors.movement
        gain = np.asarray(self.factors.chain_gain)
        for _ in range(PASSES_BETWEEN):
            if seconds() >= self.deadline:
                break
            self._run(np.flatnonzero(gain >= LEAST_GAIN * gain.mean()), search=False)
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
            return self.factors.run(order, search, self.parts, self.multiplier_step, self.deadline)
        finally:
            self.run_seconds += seconds() - begin

    def _balance(self, residual, movement):
        """Raise rho where the factors disagree more than they move, each relative to its size."""
        marginals, multipliers = squared_sizes(self.factors)
        if not (marginals > 0 and multipliers > 0) or self.n_changes >= MOST_CHANGES:
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

        exact: in any case; otherwise where it is cheap, or the relaxed primal meets the tolerance.
        """
        factors = self.factors
        self.state = rebuild(factors)
        w = aligned_zeros(self.problem.n_weights)
        self.dual = max(self.dual, self._dual_at(consistent_dual(factors, w), w))
        w[: factors.n_node_weights] = factors.w
        if self.problem.transitions:
            edges = w[factors.n_node_weights :].reshape(self.problem.n_labels, -1)
            edges = edges[:, : self.problem.n_labels]
            edges[:] = factors.pairs.scores()
            if self.problem.masked:
                edges[edges == -np.inf] = 0.0
            # What is left of sums whose terms are gone: sparse decoders would take it for weights.
            least = DUST * max(edges.max(), -edges.min())
            edges[(edges < least) & (edges > -least)] = 0.0
        if self.primal == math.inf:  # better than none, where the time ends here
            self.w = w
        relaxed = self._checked(self.lam * (0.5 * squared_norm(w) + relaxed_hinge(factors)))
        self.relaxed = min(self.relaxed, relaxed)
        self.state["relaxed_primal"] = relaxed
        hinges = sparse_hinges(self.problem, w, self.pool.n_threads)
        exact = (
            exact
            or hinges is not None
            or self.problem.n_labels <= MOST_EXACT_LABELS
            or relative(relaxed - self.dual, relaxed) <= self.options.tol
        )
        if exact:
            if hinges is not None:
                hinge, all_exact = float(self.block_weight @ hinges), True
                primal = self._checked(0.5 * self.lam * squared_norm(w) + hinge)
            else:
                primal, all_exact = self._primal_at(w)
            if primal < self.primal:
                self.w, self.primal, self.exact = w, primal, all_exact
        return exact

    def _dual_at(self, loss, w):
        """Dual value of the best multiple of dual variables, between 0 and 1."""
        square = self._checked(squared_norm(w))
        scale = 1.0 if square <= loss else loss / square
        return self.lam * scale * (loss - 0.5 * scale * square)

    def _estimate(self):
        upper = min(self.primal, self.relaxed)
        return relative(max(upper - self.dual, 0.0), upper)

    def _measures(self):
        search = self.factors.label_seconds, self.factors.pair_seconds
        values = {
            "rho": self.factors.rho,
            "unigram_search_seconds": search[0],
            "bigram_search_seconds": search[1],
            "step_seconds": self.run_seconds - sum(search),
            **(self.state or {}),
        }
        return {name: values.get(name, math.nan) for name in self.measures}
