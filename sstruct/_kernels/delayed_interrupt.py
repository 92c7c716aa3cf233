"""SIGINT that waits until what a call has found is where it belongs."""

import signal

from sstruct._kernels._interruption import LastMoment


class DelayedInterrupt:
    """A ``with`` block, in which SIGINT waits from `begin` on until the block is left.

    Then the handler that was there is called, whosever it is. A LastMoment does not wait: a signal
    ends it. Nothing is held back in other threads than the main one, which hear of no signal, nor
    where SIGINT is ignored or is not Python's to handle.
    """

    def __init__(self):
        self.entered, self.handler, self.arrived = False, None, None

    def __enter__(self):
        self.entered = True
        return self

    def begin(self):
        """Hold SIGINT back, within the block; a second call changes nothing."""
        handler = signal.getsignal(signal.SIGINT)
        if not self.entered or self.handler is not None or not callable(handler):
            return
        try:
            signal.signal(signal.SIGINT, self._wait)
        except ValueError:  # not the main thread
            return
        self.handler = handler

    def _wait(self, *arguments):
        self.arrived = arguments
        if LastMoment.runs():
            raise KeyboardInterrupt

    def __exit__(self, *_):
        handler, self.handler = self.handler, None
        if handler is None:
            return
        if signal.getsignal(signal.SIGINT) == self._wait:  # nobody has set another one
            signal.signal(signal.SIGINT, handler)
        arrived, self.arrived = self.arrived, None
        if arrived is not None:
            handler(*arrived)
