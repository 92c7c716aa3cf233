"""Compiled loops check for signals while they run."""

import signal
from contextlib import contextmanager
from itertools import repeat

import numpy as np
import pytest
from scipy import sparse

from sstruct import inference
from sstruct._kernels._interruption import TerminationCallback
from sstruct._problems.graph.grid_edges import grid_edges
from tests.solvers.small import alarm

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no interval timers on this platform"
)


def viterbi(rng):
    return inference.viterbi, (rng.random((20000, 400)), rng.random((400, 400)))


def sparse_viterbi(rng):
    edges = sparse.csr_array(rng.random((2000, 2000)) * (rng.random((2000, 2000)) < 0.01))
    return inference.viterbi, (rng.random((5000, 2000)), edges)


def max_marginals(rng):
    return inference.max_marginals, (rng.random((200000, 80)), rng.random((80, 80)))


def top_k(rng):
    return inference.top_k, (rng.random((20000, 20)), rng.random((20, 20)), 1000)


def tree_max_sum(rng):
    parents, table = np.arange(-1, 399), rng.random((1500, 1500))
    return inference.tree_max_sum, (rng.random((400, 1500)), parents, [table] * 400)


def distance_transform(rng):
    return inference.distance_transform, (rng.random((3000, 3000)), 0.001)


def distance_transform_of_a_line(rng):
    return inference.distance_transform, (rng.random(20_000_000), 0.001)


def graph_cut(rng):
    edges = grid_edges(1000, 1000)
    return inference.graph_cut, (rng.random((1000**2, 2)), edges, rng.random(len(edges)))


def expansion(rng):
    edges = grid_edges(300, 300)
    return inference.alpha_expansion, (rng.random((300**2, 12)), edges, np.full(len(edges), 0.3))


def fusion_moves(rng):
    edges = grid_edges(150, 150)
    arguments = rng.random((150**2, 12)), edges, rng.normal(size=len(edges)), rng.random((12, 12))
    return inference.alpha_expansion, arguments


CASES = [
    viterbi,
    sparse_viterbi,
    max_marginals,
    top_k,
    tree_max_sum,
    distance_transform,
    distance_transform_of_a_line,
    graph_cut,
    expansion,
    fusion_moves,
]


@contextmanager
def signals_inside_a_call(interval):
    """Raise KeyboardInterrupt from a signal handler inside one compiled call."""
    last = None

    def interrupt(_, frame):
        # If the handler runs twice at the same instruction, the signals were handled inside one
        # compiled call. A loop that does not check for signals handles them once, after it returns.
        nonlocal last
        now = frame, frame.f_lasti
        if now == last:
            raise KeyboardInterrupt
        last = now

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, interval, interval)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("case", CASES)
def test_signals_are_handled_inside_a_call(rng, case):
    function, arguments = case(rng)
    with signals_inside_a_call(0.005), pytest.raises(KeyboardInterrupt):
        function(*arguments)


def test_termination_callbacks_store_the_error_of_a_signal():
    callback = TerminationCallback()
    with alarm(0.005):
        # Without Python instructions between the calls, which would handle the signal.
        assert any(map(callback, repeat(None, 10**8)))
    assert isinstance(callback.error, KeyboardInterrupt)
    assert not TerminationCallback()(None)
