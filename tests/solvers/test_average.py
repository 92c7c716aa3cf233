"""Test averaged iterates against a slow Frank-Wolfe solver that stores all of them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core import _average
from sstruct._solvers.core._average import PassAverage
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from tests.reference import boxed_qp
from tests.solvers.small import BOUNDS, KINDS, Small, plan


class Reference:
    """Block-coordinate Frank-Wolfe by definition, which stores every plane and iterate."""

    def __init__(self, small):
        self.small = small
        self.alpha = [np.eye(len(block.loss))[block.truth] for block in small.terms]
        self.cached = [{block.truth} for block in small.terms]
        self.exact, self.approximate = [], []  # (v, linear) after each visit

    def iterate(self):
        """Return v and the linear part of the dual, from the dual weights."""
        lam, terms = self.small.lam, self.small.terms
        v = sum(b.weight / lam * (a @ b.psi) for a, b in zip(self.alpha, terms))
        return v, sum(b.weight * float(a @ b.loss) for a, b in zip(self.alpha, terms))

    def visits(self, i, exact):
        """Yield the visit of a block for each labeling with the best score (there may be ties)."""
        block, alpha = self.small.terms[i], self.alpha[i]
        v, _ = self.iterate()
        scores = block.loss - block.psi @ np.clip(v, *self.small.bounds)
        choice = range(len(scores)) if exact else sorted(self.cached[i])
        highest = max(scores[k] for k in choice)
        for best in choice:
            if scores[best] < highest - 1e-13:
                continue
            new = self.copy()
            new.cached[i].add(best)
            direction = np.eye(len(scores))[best] - alpha
            slope = float(direction @ scores)
            curvature = block.weight / self.small.lam * float(((direction @ block.psi) ** 2).sum())
            if slope > 1e-13:
                new.alpha[i] = alpha + min(slope / curvature, 1) * direction
            (new.exact if exact else new.approximate).append(new.iterate())
            yield new

    def copy(self):
        new = Reference(self.small)
        new.alpha = list(self.alpha)
        new.cached = [set(of_block) for of_block in self.cached]
        new.exact, new.approximate = list(self.exact), list(self.approximate)
        return new

    def passes(self, exact):
        """Yield every possible pass, for each order of the blocks and choice among ties.

        Approximate passes do not visit blocks with one cached labeling.
        """
        blocks = [i for i, cached in enumerate(self.cached) if exact or len(cached) > 1]
        for order in permutations(blocks):
            news = [self]
            for i in order:
                news = [after for new in news for after in new.visits(i, exact)]
            yield from news

    @staticmethod
    def averaged(iterates):
        """Return the averages of v and of the linear part with weights 2 / (k + 2)."""
        v, linear = 0.0, 0.0
        for k, (iterate, value) in enumerate(iterates):
            g = 2 / (k + 2)
            v, linear = (1 - g) * v + g * iterate, (1 - g) * linear + g * value
        return v, linear

    def average(self):
        """Return the interpolation of the two averages with the best dual value, within bounds.

        With bounds, the dual is not quadratic along the interpolation. The best is then that of the
        quadratic minorizer at the average of exact visits, whose curvature is that without bounds.
        """
        bounds, lam = self.small.bounds, self.small.lam
        v, linear = self.averaged(self.exact)
        if not self.approximate:
            return np.clip(v, *bounds)
        other, other_linear = self.averaged(self.approximate)
        step = other - v
        slope = other_linear - linear - lam * float(step @ np.clip(v, *bounds))
        curvature = lam * float(step @ step)
        share = min(max(slope / curvature, 0), 1) if curvature > 0 else 0
        best = self.dual_at(share)
        # Without bounds, no other share is better; with bounds, the exact average is not better.
        others = [0] if self.small.boxed else np.linspace(0, 1, 21)
        assert all(best >= self.dual_at(t) - 1e-13 * max(1, abs(best)) for t in others)
        return np.clip(v + share * step, *bounds)

    def dual_at(self, share):
        """Return the dual value of an interpolation of the two averages."""
        (v, linear), (other, other_linear) = map(self.averaged, (self.exact, self.approximate))
        return boxed_qp.dual_value(
            (1 - share) * v + share * other,
            (1 - share) * linear + share * other_linear,
            self.small.lam,
            self.small.bounds,
        )


def followed(references, state, exact):
    """Return at most four passes that lead to the state and its average; there must be one."""
    small = references[0].small
    tol = 1e-12 / small.lam
    w, average = small.flat(state.w), small.flat(state.average())
    to_state = [
        new
        for reference in references
        for new in reference.passes(exact)
        if abs(np.clip(new.iterate()[0], *small.bounds) - w).max() <= tol
    ]
    assert to_state, "no order of visits leads to the state"
    out = [new for new in to_state if abs(new.average() - average).max() <= tol]
    assert out, "no order of visits that leads to the state has its average"
    return out[:4]  # all of them agree with the state so far, but later visits may differ


@settings(max_examples=40)
@given(
    key=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([0.05, 0.3, 2.0]),
    kind=st.sampled_from(KINDS),
    box=st.sampled_from(BOUNDS),
    n_blocks=st.integers(1, 3),
)
def test_average_covers_all_iterates(new_rng, key, lam, kind, box, n_blocks):
    small = Small(new_rng(key), kind, lam, box, n=n_blocks)
    state = small.state(key, average=True)
    pool = ThreadPool(small.problem, 1)
    assert state.average() is None
    references = [Reference(small)]
    for number in (1, 2):
        of_pass = plan(number, StepKind.FW)
        exact_pass(state, pool, of_pass, False)
        references = followed(references, state, exact=True)
        approximate_pass(state, of_pass, True)
        references = followed(references, state, exact=False)


@pytest.fixture
def compact_vectors(monkeypatch):
    """Store averages of few weights like those of many."""
    monkeypatch.setattr(_average, "MIN_COMPACT", 0)


def some_iterates(rng, share):
    """Return 60 iterates of 50 weights, each nonzero with probability `share` from some pass on."""
    nonzero = (rng.random(50) < share) & (rng.integers(40, size=50) < np.arange(60)[:, np.newaxis])
    return np.where(nonzero, rng.standard_normal((60, 50)), 0.0)


@pytest.mark.parametrize("share", [0.05, 0.7, 1.0])
def test_the_average_of_passes_is_a_mean_that_forgets(rng, share, compact_vectors):
    iterates = some_iterates(rng, share)
    average = PassAverage(50)
    shares = np.zeros(60)
    for k, w in enumerate(iterates):
        average.add(w)
        rate = max(8 / (8 + k), 0.1)
        shares *= 1 - rate
        shares[k] = rate
        assert shares.sum() == pytest.approx(1)
        np.testing.assert_allclose(average.weights(), shares @ iterates, rtol=0, atol=1e-12)
        assert np.linalg.norm(average.values) == pytest.approx(np.linalg.norm(shares @ iterates))
    assert average.count == 60
    # Either the nonzeros, with their indices, or all weights.
    nonzeros = np.count_nonzero(iterates.any(axis=0))
    assert len(average.values) == (nonzeros if 12 * nonzeros < 8 * 50 else 50)


@pytest.mark.parametrize("share", [0.05, 0.7, 1.0])
def test_average_of_passes_is_resumed(rng, share, compact_vectors):
    iterates = some_iterates(rng, share)[::6]
    whole, first, second = (PassAverage(50) for _ in range(3))
    for w in iterates:
        whole.add(w)
    for w in iterates[:4]:
        first.add(w)
    second.resume(first.weights(), first.count)
    for w in iterates[4:]:
        second.add(w)
    np.testing.assert_array_equal(second.weights(), whole.weights())
    for call in (whole.add, whole.copy_to, lambda w: whole.resume(w, 1)):
        with pytest.raises(ValueError, match="3 weights, expected 50"):
            call(np.zeros(3))


@pytest.mark.parametrize("share", [0.05, 0.7, 1.0])
@pytest.mark.parametrize("share_of_w", [0.05, 1.0])
def test_an_average_of_passes_is_evaluated_in_the_memory_of_w(
    rng, share, share_of_w, compact_vectors
):
    average = PassAverage(50)
    for w in some_iterates(rng, share):
        average.add(w)
    expected, w = average.weights(), some_iterates(rng, share_of_w)[-1]
    w[3] = -0.0
    before = w.tobytes()
    assert average.evaluate(w, lambda: w.tolist()) == expected.tolist()
    assert w.tobytes() == before
    with pytest.raises(ZeroDivisionError):
        average.evaluate(w, lambda: 1 / 0)
    assert w.tobytes() == before
    assert average.weights().tolist() == expected.tolist()
