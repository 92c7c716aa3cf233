"""Programs in a separate Python process, which can be stopped at any time."""

import pickle
import subprocess
import sys
import tempfile
import time
from math import inf
from multiprocessing import spawn

SECONDS_BETWEEN_CHECKS = 0.01
# Time in seconds to report a result after the signal at the deadline.
GRACE = 1.0
# Start of the program of the other process. It imports the same packages as this process, and
# ignores Ctrl-C, which the caller handles. `question` is the object that the caller sent. Printed
# text is discarded, so that it does not become part of the answer.
BEGIN = """
import os, pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
def answer(found):
    pickle.dump(found, out)
    out.close()
sys.path[:] = pickle.load(sys.stdin.buffer)
question = pickle.load(sys.stdin.buffer)
"""


class NoProcess(Exception):
    """Raised if no process can be started."""


def run_apart(program, question, name, deadline=inf, stop=None):
    """Run a program in a separate process and return its answer.

    Parameters
    ----------
    program : str
        Python code that calls ``answer`` with the result for ``question``.
    question : object
        Sent with pickle.
    name : str
        Name of the program in errors.
    deadline : float
        On the clock of ``time.monotonic()``. Ignored without `stop`.
    stop : signal, optional
        Sent at the deadline; the process is killed `GRACE` seconds later.

    Returns
    -------
    answer : object
        None if the process was stopped at the deadline and did not return an answer.

    Raises
    ------
    NoProcess
        If no process can be started.
    OSError
        If the process fails.
    """
    python = spawn.get_executable()
    if not python or getattr(sys, "frozen", False):
        raise NoProcess
    with tempfile.TemporaryFile() as sent, tempfile.TemporaryFile() as received:
        pickle.dump(sys.path, sent)
        pickle.dump(question, sent)
        sent.seek(0)
        try:
            process = subprocess.Popen(
                [python, "-P", "-c", BEGIN + program],
                stdin=sent, stdout=received, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise NoProcess from error
        try:
            was_stopped = _wait(process, deadline, stop)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            if was_stopped:
                return None
            raise OSError(
                f"the {name} process ended with code {process.returncode}, possibly because memory "
                "is exhausted; use method='trws' for a bound of large models"
            )
        received.seek(0)
        return pickle.load(received)


def _wait(process, deadline, stop):
    """Wait for the end of a process; return True if it was stopped at the deadline."""
    was_stopped = False
    while process.poll() is None:
        now = time.monotonic()
        if stop is not None and now >= deadline and not was_stopped:
            process.send_signal(stop)
            was_stopped = True
        if was_stopped and now >= deadline + GRACE:
            return True
        time.sleep(SECONDS_BETWEEN_CHECKS)
    return was_stopped
