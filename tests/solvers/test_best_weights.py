"""BestWeights selects the weights with the best score, and stops after `patience` scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._solvers.core.best_weights import BestWeights
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.online.subgradient import StochasticSubgradient
from tests.reference import brute_force
from tests.solvers.small import BOUNDS, Small


@given(
    scores=st.lists(st.sampled_from([0.1, 0.5, 0.7, math.nan]), min_size=1, max_size=12),
    patience=st.integers(1, 4),
)
def test_the_first_of_the_best_scores_is_kept(scores, patience):
    held = BestWeights(lambda w: scores[int(w[0])], patience)
    w = np.zeros(1)
    for k in range(len(scores)):
        w[0] = k
        ended = held.update(w, k + 1)
        best = max((s for s in scores[: k + 1] if not math.isnan(s)), default=-math.inf)
        assert held.best == best
        if best == -math.inf:
            assert held.w is None
            waited = k + 1
        else:
            assert held.w[0] == scores.index(best)
            waited = k - scores.index(best)
        assert ended == (waited >= patience)
        np.testing.assert_equal(held.score_of(k + 1), scores[k])
        assert math.isnan(held.score_of(k + 2))


def scored(small, solver, scores, patience=3, **options):
    """Run a fit whose scores are given; return its Solution and the weights that were scored."""
    seen = []

    def score(w):
        seen.append(small.flat(w).copy())
        return scores[len(seen) - 1]

    options = Options(**{"tol": 0, "certificate_every": 2, **options})
    setup = Setup(small.problem, small.lam, small.q, options, held_out=BestWeights(score, patience))
    return solver(setup).solve(), seen


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("multi_plane", [False, True])
def test_certificate_matches_returned_weights(rng, multi_plane, average):
    small = Small(rng, lam=0.01)
    scores = [0.1, 0.4, 0.3, 0.4, 0.2, 0.9]
    solution, seen = scored(small, FrankWolfeFit, scores, multi_plane=multi_plane, average=average)
    assert solution.status is Status.EARLY_STOPPED
    assert len(seen) == solution.n_passes == 5
    kept = small.flat(solution.w)
    assert kept.tobytes() == seen[1].tobytes()
    assert solution.primal == pytest.approx(brute_force.primal(kept, small.lam, small.terms))
    history = solution.history
    assert history["validation_score"].tolist() == scores[:5]
    assert history["primal"][-1] == solution.primal
    assert history["dual"][-1] == solution.dual
    # The dual is a lower bound on the objective of any weights.
    for w in seen:
        assert solution.dual <= brute_force.primal(w, small.lam, small.terms) * (1 + 1e-12)


def test_subgradients_keep_the_best_average(rng):
    small = Small(rng, lam=0.1)
    solution, seen = scored(small, StochasticSubgradient, [0.2, 0.6, 0.1, 0.1, 0.1, 0.7])
    assert solution.status is Status.EARLY_STOPPED
    kept = small.flat(solution.w)
    assert kept.tobytes() == seen[1].tobytes()
    assert solution.primal == pytest.approx(brute_force.primal(kept, small.lam, small.terms))
    assert math.isnan(solution.dual)


@pytest.mark.parametrize(
    ("scores", "status"),
    [
        # The weights with the best score are the last ones, within tol, or the first ones.
        (np.linspace(0, 1, 500), Status.CONVERGED),
        (np.linspace(1, 0, 500), Status.EARLY_STOPPED),
    ],
)
def test_a_fit_has_converged_only_if_the_weights_kept_have(rng, scores, status):
    small = Small(rng, lam=0.1)
    solution, seen = scored(small, FrankWolfeFit, scores, patience=1000, tol=1e-3)
    assert solution.status is status
    assert (solution.gap <= 1e-3 * solution.primal) == (status is Status.CONVERGED)
    assert len(seen) == solution.n_passes


def test_status_if_limits_are_reached(rng):
    small = Small(rng, lam=0.01)
    solution, _ = scored(small, FrankWolfeFit, np.ones(50), patience=50, max_iter=4)
    assert solution.status is Status.MAX_ITER
    assert solution.n_passes == 4
    solution, seen = scored(
        small, FrankWolfeFit, np.linspace(1, 0, 50), patience=50, max_iter=4, tol=0.9
    )
    assert small.flat(solution.w).tobytes() == seen[0].tobytes()


def test_an_interrupted_fit_keeps_the_best_so_far(rng):
    small = Small(rng, lam=0.01)
    scores = [0.3, 0.8, 0.5]

    def score(w):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(small.flat(w).copy())
        return scores[len(seen) - 1]

    seen = []
    setup = Setup(small.problem, small.lam, small.q, Options(tol=0), held_out=BestWeights(score, 9))
    solution = FrankWolfeFit(setup).solve()
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.interruption, KeyboardInterrupt)
    kept = small.flat(solution.w)
    assert kept.tobytes() == seen[1].tobytes()
    assert solution.primal == pytest.approx(brute_force.primal(kept, small.lam, small.terms))
    np.testing.assert_array_equal(solution.history["validation_score"], [*scores, np.nan])


@pytest.mark.parametrize("box", BOUNDS)
def test_weights_from_a_file_are_checked(rng, box):
    small = Small(rng, lam=0.1, box=box)
    state = small.state()
    w = state.clip(np.zeros(small.problem.n_weights))
    arrays = {"history_validation_score": np.array([0.1, 0.7, 0.7, 0.2]), "best_weights": w}
    held = BestWeights(None, 3)
    held.resume(arrays, small.problem, state.clip)
    assert (held.best, held.w.tobytes()) == (0.7, w.tobytes())
    held.score = lambda w: 0.7
    assert held.update(w, 5)  # the third after the best
    for name, value, message in (
        ("best_weights", w[:-1], "entries"),
        ("best_weights", w * np.nan, "finite"),
        ("history_validation_score", np.empty(0), "no pass"),
        ("history_validation_score", np.array([np.nan]), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            BestWeights(None, 3).resume(arrays | {name: value}, small.problem, state.clip)
    if small.boxed:
        outside = np.zeros_like(w)
        outside[small.place] = np.nan_to_num(small.bounds[0], neginf=0) - 1
        with pytest.raises(ValueError, match="outside their bounds"):
            BestWeights(None, 3).resume(
                arrays | {"best_weights": outside}, small.problem, state.clip
            )
