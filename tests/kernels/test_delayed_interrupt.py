"""DelayedInterrupt delays SIGINT until the end of its block, in the main thread."""

import signal
import threading

import pytest

from sstruct._kernels._interruption import GracePeriod
from sstruct._kernels.delayed_interrupt import DelayedInterrupt


@pytest.fixture
def heard():
    """Install a signal handler, and return the list of the signals that it receives."""
    heard = []
    handler = heard.append
    previous = signal.signal(signal.SIGINT, lambda number, frame: handler(number))
    yield heard
    signal.signal(signal.SIGINT, previous)


def test_a_signal_waits_for_the_end_of_the_block(heard):
    before = signal.getsignal(signal.SIGINT)
    with DelayedInterrupt() as delay:
        signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT]
        delay.begin()
        delay.begin()
        signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT]
    assert heard == [signal.SIGINT] * 2
    assert signal.getsignal(signal.SIGINT) is before


def test_the_handler_is_back_after_an_exception(heard):
    def fail():
        with DelayedInterrupt() as delay:
            delay.begin()
            signal.raise_signal(signal.SIGINT)
            raise ZeroDivisionError

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        fail()
    assert heard == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_is_raised_at_the_end():
    done = []

    def press():
        with DelayedInterrupt() as delay:
            delay.begin()
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        press()
    assert done


def test_a_last_moment_does_not_wait(heard):
    with DelayedInterrupt() as delay:
        delay.begin()
        with pytest.raises(KeyboardInterrupt), GracePeriod():
            signal.raise_signal(signal.SIGINT)
        assert heard == []
    assert heard == [signal.SIGINT]


def test_outside_of_a_block_nothing_waits(heard):
    before = signal.getsignal(signal.SIGINT)
    DelayedInterrupt().begin()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("kept", [signal.SIG_IGN, signal.SIG_DFL])
def test_handlers_that_are_not_functions_are_kept(kept):
    previous = signal.signal(signal.SIGINT, kept)
    try:
        with DelayedInterrupt() as delay:
            delay.begin()
            assert signal.getsignal(signal.SIGINT) is kept
        assert signal.getsignal(signal.SIGINT) is kept
    finally:
        signal.signal(signal.SIGINT, previous)


def test_a_handler_that_came_meanwhile_stays(heard):
    def another(*_):
        pass

    with DelayedInterrupt() as delay:
        delay.begin()
        signal.signal(signal.SIGINT, another)
    assert signal.getsignal(signal.SIGINT) is another


def test_other_threads_hold_nothing_back(heard):
    before, found = signal.getsignal(signal.SIGINT), []

    def work():
        with DelayedInterrupt() as delay:
            delay.begin()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
    assert signal.getsignal(signal.SIGINT) is before
