"""Test exceptions, signals and termination of the threads of ThreadPool."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._decode import decode
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._testing._costly import CostlyProblem
from sstruct._testing._enumerated import EnumeratedProblem
from tests.solvers.small import plan


def costly(seconds, n=16, batch_size=None):
    """Return `n` blocks of two labelings whose oracle calls take the given time."""
    planes = np.zeros((2 * n, 3))
    planes[1::2] = np.random.default_rng(0).standard_normal((n, 3))
    losses = np.tile([0.0, 1.0], n)
    problem = EnumeratedProblem(planes, losses, 2 * np.arange(n + 1))
    return CostlyProblem(problem, seconds, batch_size=batch_size)


def run_pass(problem, pool):
    n = problem.n_blocks
    state = DualState(problem, 0.1, np.full(n, 1 / n), 0)
    return exact_pass(state, pool, plan(), False)


def measure(problem, pool):
    n = problem.n_blocks
    return full_pass(pool, np.zeros(problem.n_weights), np.full(n, 1 / n))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("wrong", [0, 40, 99])
def test_oracle_errors_propagate_from_any_thread(n_threads, wrong):
    # No transition is allowed, so chains of two nodes have no labeling.
    length = np.ones(100, dtype=np.int64)
    length[wrong] = 2
    start = np.cumsum(length) - length
    X = np.zeros((length.sum(), 1))
    problem = ChainProblem(
        X, ChainRanges(start, length), ChainModel(2, edge_mask=np.zeros((2, 2), dtype=bool))
    )
    for _ in range(5):
        with pytest.raises(
            ValueError, match=f"block {wrong}: the masks and known labels forbid every labeling"
        ):
            decode(problem, np.zeros(problem.n_weights), n_threads)
    fine = ChainProblem(X, ChainRanges(start[length == 1], length[length == 1]), ChainModel(2))
    assert (decode(fine, np.zeros(fine.n_weights), n_threads) == 0).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers on this platform")
@pytest.mark.parametrize("one_pass", [run_pass, measure], ids=["exact", "full"])
def test_a_second_interruption_does_not_leave_threads_in_a_pass(one_pass):
    # A pass frees its memory at its end, when no thread may be in an oracle call.
    problem = costly(0.02, n=80, batch_size=31)
    pool = ThreadPool(problem, 2)
    raised = []

    def interrupt(_, frame):
        while frame is not None and frame.f_code is not one_pass.__code__:
            frame = frame.f_back
        if frame is not None and len(raised) < 2:  # twice, and inside of the pass
            raised.append(1)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.001)
    try:
        with pytest.raises(KeyboardInterrupt):
            one_pass(problem, pool)
        n_calls = problem.n_calls
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    time.sleep(0.2)
    assert problem.n_calls == n_calls


def test_every_block_is_decoded_once_per_pass():
    problem = costly(0.0, batch_size=4)
    pool = ThreadPool(problem, 3)
    for _ in range(200):
        assert run_pass(problem, pool)
    assert problem.n_calls == 200 * problem.n_blocks


def test_pools_in_several_threads_do_not_disturb_each_other():
    problems = [costly(0.0, batch_size=4) for _ in range(4)]
    answers = {}

    def work(k):
        n = problems[k].n_blocks
        state = DualState(problems[k], 0.1, np.full(n, 1 / n), 0)
        pool = ThreadPool(problems[k], 2)
        for number in range(1, 51):
            exact_pass(state, pool, plan(number, sampling=Sampling.UNIFORM), True)
        answers[k] = state.w

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(answers[k], answers[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_may_fork_after_a_pass():
    problem = costly(0.0, batch_size=4)
    pool = ThreadPool(problem, 3)
    run_pass(problem, pool)
    child = os.fork()
    if child == 0:
        os._exit(0 if run_pass(problem, pool) else 1)
    assert os.waitpid(child, 0)[1] == 0
