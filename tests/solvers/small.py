"""Small chain problems with enumerated labelings, and plans of passes, for tests of solvers."""

import math
import signal
from contextlib import contextmanager

import numpy as np

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from tests.reference import boxed_qp, brute_force

KINDS = ("chain", "multiclass")
LATER = math.inf
BOUNDS = ("free", "nonnegative", "mixed", "without zero")


class Small:
    """A problem, its enumerated terms, block weights and bounds.

    Parameters
    ----------
    rng : numpy.random.Generator
    kind : {"chain", "multiclass"}
        Chains of 1 to 4 nodes with all kinds of weights; or of one node, with only node weights.
    lam : float
    box : {"free", "nonnegative", "mixed", "without zero"}
        Bounds on the weights; those "without zero" exclude 0 for two thirds of them.
    """

    def __init__(self, rng, kind="chain", lam=0.1, box="free", n=7, K=3, batch=1):
        self.lam = lam
        terms = kind == "chain"
        model = brute_force.Model(K, True, terms, terms)
        lengths = rng.integers(1, 5, n) if kind == "chain" else np.ones(n, dtype=np.int64)
        self.X = [rng.standard_normal((length, 2)) for length in lengths]
        self.y = [rng.integers(0, K, length) for length in lengths]
        self.weights = rng.integers(1, 5, n).astype(float)
        self.q = self.weights / self.weights.sum()
        self.terms = brute_force.blocks(self.X, self.y, model, "hamming", self.weights)
        offsets = np.r_[0, np.cumsum(lengths)]
        self.problem = ChainProblem(
            np.vstack(self.X),
            ChainRanges(offsets[:-1], lengths),
            ChainModel(K, boundaries=terms, transitions=terms),
            np.concatenate(self.y),
            loss_scale=1 / lengths,
        )
        self.problem.batch_size = batch
        self.bounds = make_bounds(rng, box, self.terms[0].phi.shape[1])
        # Place of each weight of the reference in the problem's layout.
        place = np.arange(self.problem.n_weights, dtype=np.float64)
        self.place = self.flat(place).astype(np.intp)

    def flat(self, w):
        """Return weights of the problem's layout in the reference's order."""
        return self.problem.layout.public(w)

    @property
    def boxed(self):
        return np.isfinite(self.bounds).any()

    def state(self, seed=0, **keywords):
        """Return a new state."""
        bounds = None
        if self.boxed:
            bounds = np.full((2, self.problem.n_weights), [[-np.inf], [np.inf]])
            bounds[:, self.place] = self.bounds
        return DualState(self.problem, self.lam, self.q, seed, bounds, **keywords)

    def primal(self, w):
        """Return P(w) by enumeration; w is in the reference's order."""
        return brute_force.primal(w, self.lam, self.terms)

    def optimum(self):
        """Return the optimal value of the independent QP."""
        return boxed_qp.optimum(self.terms, self.lam, self.bounds)[0]

    def alphas(self, state):
        """Check and return the dual weights: nonnegative, sum one, the truth first, none twice."""
        alphas = brute_force.read_working_sets(state.export(), self.terms)
        assert sum(map(len, alphas)) == state.n_labelings
        for of_block, block in zip(alphas, self.terms, strict=True):
            values = np.array(list(of_block.values()))
            assert (values >= 0).all()
            assert abs(values.sum() - 1) <= 1e-12
            assert next(iter(of_block)) == block.labelings[block.truth]
        return alphas

    def check(self, state):
        """Compare w and the dual value with those of the dual weights; return the dual value."""
        alphas = self.alphas(state)
        v = brute_force.weights_of(alphas, self.lam, self.terms)
        scale = max(1, abs(v).max())
        np.testing.assert_allclose(
            self.flat(state.w), np.clip(v, *self.bounds), rtol=0, atol=1e-12 * scale
        )
        value = boxed_qp.dual(alphas, self.lam, self.terms, self.bounds)
        primal = self.primal(np.clip(v, *self.bounds))
        assert abs(state.dual - value) <= 1e-12 * max(primal, abs(value))
        assert value <= primal * (1 + 1e-12)
        return value


def plan(number=1, step=StepKind.PAIRWISE, sampling=Sampling.PERMUTATION, keep=10,
         deadline=LATER, **more):  # fmt: skip
    """Return the plan of a pass, by default of each block once, in random order."""
    return PassPlan(step, sampling, number, keep, deadline, **more)


def after_passes(small, n=3, **keywords):
    """Return a state after n exact passes, and its pool."""
    state, pool = small.state(**keywords), ThreadPool(small.problem)
    for number in range(1, n + 1):
        exact_pass(state, pool, plan(number), False)
    return state, pool


def make_bounds(rng, box, d):
    """Return bounds of d weights; "mixed" and "without zero" leave a third of them free."""
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    part = rng.permutation(d) % 3
    if box == "nonnegative":
        lower[:] = 0
    elif box == "mixed":
        lower[part == 1], upper[part == 1] = -0.3, 0.2
        upper[part == 2] = 0.1
    elif box == "without zero":
        lower[part == 1] = 0.1
        lower[part == 2], upper[part == 2] = -0.6, -0.05
    else:
        assert box == "free"
    return np.array([lower, upper])


def repeated_chain(rng, length=3000, n_features=20, n_labels=200, n_blocks=3200):
    """Return a problem of blocks with the same rows.

    With the default sizes its oracles take some seconds together, far longer than `alarm` waits.
    """
    return ChainProblem(
        rng.standard_normal((length, n_features)),
        ChainRanges(np.zeros(n_blocks), np.full(n_blocks, length)),
        ChainModel(n_labels),
        rng.integers(0, n_labels, length),
    )


@contextmanager
def alarm(delay=0.05):
    """Raise KeyboardInterrupt from a signal handler after a delay in seconds."""

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
