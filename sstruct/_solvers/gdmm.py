"""GDMM, greedy direction method of multipliers: training on the factors of chains."""

import math

import numpy as np

from sstruct._solvers._clock import seconds
from sstruct._solvers._gdmm_bounds import (
    consistent_dual,
    rebuild,
    relaxed_hinge,
    set_rho,
    squared_sizes,
)
from sstruct._solvers._gdmm_chain import ChainFactors
from sstruct._solvers._state import aligned_zeros, squared_norm
from sstruct._solvers.solver import Solver, relative
from sstruct._solvers.status import Status

SWEEPS = 5
FIRST_RHO = 1.0
MULTIPLIER_STEP = 1.0


class GDMM(Solver):
    def __init__(
        self,
        problem,
        factors,
        lam,
        block_weight,
        options,
        progress=None,
        callback=None,
        *,
        rho="auto",
        parts=1,
        sweeps=SWEEPS,
        step=MULTIPLIER_STEP,
    ):
        super().__init__(problem, lam, block_weight, options, progress, callback)
        self.adaptive = rho == "auto"
        rho = FIRST_RHO if self.adaptive else float(rho)
        self.factors = ChainFactors(factors, lam, block_weight, rho, options.seed)
        self.parts, self.sweeps, self.step = parts, sweeps, step
        self.random = np.random.default_rng(options.seed)
        self.n_oracle_calls = 0
        self.w, self.dual = np.zeros(problem.n_weights), 0.0
        self.log = []

    def _iterate(self):
        order = self.random.permutation(self.problem.n_blocks).astype(np.intp)
        n = self.factors.run(order, self.sweeps, self.step, self.parts, self.deadline)
        self.n_passes += 1
        self.n_oracle_calls += n
        in_time = seconds() < self.deadline
        last = not in_time or self.n_passes >= self.options.max_iter
        certified = last or self.n_passes % self.options.certificate_every == 0
        if certified:
            self._certify()
        if self.adaptive:
            self._balance()
        self._record(certified)
        if certified and relative(self._gap(), self.primal) <= self.options.tol:
            return Status.CONVERGED
        if not in_time:
            return Status.TIME_LIMIT
        return Status.MAX_ITER if last else None

    def _balance(self):
        f = self.factors
        marginals, multipliers = squared_sizes(f)
        if not (marginals > 0 and multipliers > 0):
            return
        primal = math.sqrt(f.residual / marginals)
        dual = math.sqrt(f.movement / multipliers)
        self.balance = primal, dual
        if self.n_passes % 3 == 0:
            if primal > 3 * dual:
                set_rho(f, f.rho * 1.5)
            elif dual > 3 * primal:
                set_rho(f, f.rho / 1.5)

    def _certify(self):
        begin = seconds()
        f = self.factors
        stats = rebuild(f)
        w = aligned_zeros(self.problem.n_weights)
        w[: f.n_node_weights] = f.w
        v = w[f.n_node_weights :].copy()
        loss = consistent_dual(f, v)
        square = squared_norm(f.w) + squared_norm(v)
        scale = 1.0 if square <= loss else loss / square
        dual = self.lam * (scale * loss - 0.5 * scale**2 * square)
        self.dual = max(self.dual, dual)
        w2 = w.copy()
        w2[f.n_node_weights :] = v
        K, KP = f.pairs.scores().shape[0], f.pairs.scores().strides[0] // 8
        w[f.n_node_weights :].reshape(K, KP)[:, :K] = f.pairs.scores()
        relaxed = self.lam * (0.5 * squared_norm(w) + relaxed_hinge(f))
        p1 = self._primal_at(w)[0]
        p2 = self._primal_at(w2)[0]
        self.log.append((self.n_passes, f.rho, dual, scale, relaxed, p1, p2, stats, getattr(self, "balance", None), f.label_seconds, f.pair_seconds))
        p, w = min((p1, 0), (p2, 1))
        w = w2 if p2 < p1 else w
        if p < self.primal:
            self.primal, self.w = p, w
        self.certificate_seconds += seconds() - begin
