"""Delay of SIGINT until the results of a call are stored."""

import signal

from sstruct._kernels._interruption import GracePeriod


class DelayedInterrupt:
    """Context manager that delays SIGINT from `begin` until its block is left.

    If SIGINT has arrived by then, the previous handler is called. A GracePeriod within the block is
    interrupted immediately, by KeyboardInterrupt. SIGINT is not delayed in threads other than the
    main one, which do not receive signals, nor if it is ignored or not handled by Python.
    """

    entered, handler, arrived = False, None, None

    def __enter__(self):
        self.entered = True
        return self

    def begin(self):
        """Start to delay SIGINT; further calls within the block have no effect."""
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
        if GracePeriod.remaining() is not None:
            raise KeyboardInterrupt

    def __exit__(self, *_):
        handler, self.handler = self.handler, None
        if handler is None:
            return
        if signal.getsignal(signal.SIGINT) == self._wait:  # not replaced by another handler
            signal.signal(signal.SIGINT, handler)
        arrived, self.arrived = self.arrived, None
        if arrived is not None:
            handler(*arrived)
