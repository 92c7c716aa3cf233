"""Exact, full and decoding passes of all structures do not depend on the number of threads.

`make test-tsan` runs these under ThreadSanitizer, so problems are small and batches forced.
"""

import numpy as np
import pytest

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.core._decode import decode
from sstruct._problems.core._explicit import ExplicitProblem
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._problems.label_set._mixtures import MixtureProblem
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from tests.estimators.custom.choices import Choice, make_choices
from tests.problems import test_map as maps
from tests.problems import test_multiclass as classes
from tests.problems import test_multilabel as label_sets
from tests.problems.test_contract import make_chains, make_enumerated, make_graphs
from tests.problems.trees import make_trees
from tests.solvers.small import plan

N = 24
FOREST = [-1, 0, 0, 1]


def chains(rng, **keywords):
    return make_chains(rng, 9, (3, 1, 5, 4) * (N // 4), **keywords).problem


def graphs(rng, pairwise, decoder, K=3):
    made = make_graphs(rng, pairwise, K, (6, 5, 1) * (N // 3), decoder=GraphDecoder(decoder, 0))
    return made.problem


def trees(rng, **keywords):
    return make_trees(rng, FOREST, n_blocks=N, **keywords).problem


def sets(rng, kind, **keywords):
    return label_sets.make(rng, kind, 6, n=N, **keywords).problem


def choices(rng):
    X, y = make_choices(rng, N)
    return CallableProblem(OracleCalls(Choice(), X, y, list(range(N))))


PROBLEMS = {
    "chains": chains,
    "chains, masks, sparse": lambda rng: chains(rng, masked=True, storage="csr", dtype=np.float32),
    "expansion": lambda rng: graphs(rng, "contrast", "expansion"),
    "cuts": lambda rng: graphs(rng, "potts", "expansion", K=2),
    "directed": lambda rng: graphs(rng, "directed", "expansion"),
    "trees": lambda rng: trees(rng, pairs=True, n_types=2),
    "maps": lambda rng: trees(rng, form="maps"),
    "classes": lambda rng: classes.make(rng, 17, n=N).problem,
    "sets by enumeration": lambda rng: sets(rng, "enumeration"),
    "sets by forests": lambda rng: sets(rng, "forest"),
    "sets by cuts": lambda rng: sets(rng, "cut"),
    "relaxed sets": lambda rng: sets(rng, "relaxed", full=True),
    "planes": lambda rng: make_enumerated(rng, (1, 5, 2, 17) * (N // 4), 9).problem,
    "explicit planes": lambda rng: ExplicitProblem(chains(rng)),
    "mixtures": lambda rng: MixtureProblem(sets(rng, "relaxed")),
    "MAP": lambda rng: maps.make(rng, grid_edges(4, 4).tolist(), 16)[1],
    "Python": choices,
    "slack, direct": lambda rng: SlackProblem(chains(rng)),
    "slack, angular": lambda rng: SlackProblem(MixtureProblem(sets(rng, "relaxed")), "angular"),
    "slack, bisecting": lambda rng: SlackProblem(sets(rng, "cut"), "bisecting"),
    "slack, Python": lambda rng: SlackProblem(choices(rng)),
}


def run_passes(name, rng, n_threads):
    """Return the state after some passes, for bitwise comparison."""
    problem = PROBLEMS[name](rng)
    n = problem.n_blocks
    bounds = None
    if name in ("maps", "sets by cuts", "slack, bisecting"):  # require weights of one sign
        bounds = np.broadcast_to([[0.0], [np.inf]], (2, problem.n_weights))
    problem.batch_size = min(n, 11)
    pool = ThreadPool(problem, n_threads)
    state = DualState(problem, 0.1, np.full(n, 1 / n), 0, bounds, draw=True)
    found = []
    for number, sampling in enumerate((Sampling.PERMUTATION, Sampling.UNIFORM, Sampling.GAP), 1):
        assert exact_pass(state, pool, plan(number, sampling=sampling), number > 1)
        found += [state.w.copy(), state.dual]
        found += [*full_pass(pool, state.w, np.full(n, 1 / n), state), state.estimated_gap]
    if name == "MAP":  # has no plain oracle
        return found
    plain = problem.problem if isinstance(problem, SlackProblem) else problem
    return [*found, decode(plain, state.w, n_threads)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bits_of_one_thread(new_rng, name):
    alone = run_passes(name, new_rng(20), 1)
    for n_threads in (2, 3, 8):
        found = run_passes(name, new_rng(20), n_threads)
        for a, b in zip(found, alone, strict=True):
            np.testing.assert_array_equal(a, b)
