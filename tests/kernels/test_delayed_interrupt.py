"""DelayedInterrupt delays SIGINT until the end of its block, in the main thread."""

import signal
import threading

import pytest

from sstruct._kernels._interruption import DelayedInterrupt, GracePeriod


@pytest.fixture
def received():
    """Install a signal handler; yield the list of signals that it receives."""
    received = []
    handler = received.append
    previous = signal.signal(signal.SIGINT, lambda number, frame: handler(number))
    yield received
    signal.signal(signal.SIGINT, previous)


def test_a_signal_waits_for_the_end_of_the_block(received):
    before = signal.getsignal(signal.SIGINT)
    with DelayedInterrupt() as delay:
        signal.raise_signal(signal.SIGINT)
        assert received == [signal.SIGINT]
        delay.begin()
        delay.begin()
        signal.raise_signal(signal.SIGINT)
        assert received == [signal.SIGINT]
    assert received == [signal.SIGINT] * 2
    assert signal.getsignal(signal.SIGINT) is before


def test_the_handler_is_back_after_an_exception(received):
    def fail():
        with DelayedInterrupt() as delay:
            delay.begin()
            signal.raise_signal(signal.SIGINT)
            raise ZeroDivisionError

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        fail()
    assert received == [signal.SIGINT]
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


def test_a_last_moment_does_not_wait(received):
    with DelayedInterrupt() as delay:
        delay.begin()
        with pytest.raises(KeyboardInterrupt), GracePeriod():
            signal.raise_signal(signal.SIGINT)
        assert received == []
    assert received == [signal.SIGINT]


def test_begin_outside_of_a_block_has_no_effect(received):
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


def test_a_handler_installed_inside_the_block_is_kept(received):
    def another(*_):
        pass

    with DelayedInterrupt() as delay:
        delay.begin()
        signal.signal(signal.SIGINT, another)
    assert signal.getsignal(signal.SIGINT) is another


def test_other_threads_do_not_delay_signals(received):
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
