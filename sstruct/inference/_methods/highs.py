"""Integer programs by HiGHS, which Ctrl-C can end.

HiGHS does not look for signals, and whoever calls it waits. So what is not over at once begins anew
in a process of its own, which can be killed. It gives the same answer: nothing in it is random.
"""

import pickle
import subprocess
import sys
import tempfile
import time
from math import inf
from multiprocessing import spawn

from scipy import optimize

# Seconds that a program may take here, and variables from which on it is not tried: HiGHS looks at
# its clock between steps, which take longer the more there are. A process takes half a second to
# begin, most of it to import SciPy.
SECONDS_HERE = 0.15
MOST_VARIABLES_HERE = 2**12
TIME_LIMIT = 1  # status of `optimize.milp`
SECONDS_BETWEEN_LOOKS = 0.01
# What the other process runs: it finds the same SciPy, and hears of Ctrl-C from its caller alone.
PROGRAM = """
import os, pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.path[:] = pickle.load(sys.stdin.buffer)
from scipy.optimize import milp
costs, program, options = pickle.load(sys.stdin.buffer)
found = milp(costs, **program, options=options)
pickle.dump((found.status, found.x, found.mip_dual_bound), out)
out.close()
"""


def solve_here(costs, program, options):
    """Call `optimize.milp`; return its status, x and a lower bound, None where there is none."""
    found = optimize.milp(costs, **program, options=options)
    return found.status, found.x, found.mip_dual_bound


def solve(costs, program, options):
    """Minimize a sum of costs over an integer program; return what `solve_here` does.

    Parameters
    ----------
    costs : ndarray of shape (n,)
    program, options : dict
        Further arguments of `optimize.milp`, and its options.
    """
    limit = options.get("time_limit", inf)
    end = time.monotonic() + limit
    if len(costs) <= MOST_VARIABLES_HERE:
        answer = solve_here(costs, program, options | {"time_limit": min(SECONDS_HERE, limit)})
        if answer[0] != TIME_LIMIT or limit <= SECONDS_HERE:
            return answer
    if limit < inf:
        options = options | {"time_limit": max(end - time.monotonic(), 0.0)}
    return _solve_apart(costs, program, options)


def _solve_apart(costs, program, options):
    """The answer of another process; of this one where no process can be started."""
    python = spawn.get_executable()
    if not python or getattr(sys, "frozen", False):
        return solve_here(costs, program, options)
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        pickle.dump(sys.path, question)
        pickle.dump((costs, program, options), question)
        question.seek(0)
        try:
            process = subprocess.Popen(
                [python, "-P", "-c", PROGRAM],
                stdin=question, stdout=answer, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError:
            return solve_here(costs, program, options)
        try:
            while process.poll() is None:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise OSError(
                f"the process in which HiGHS ran has ended with code {process.returncode}, for "
                "want of memory perhaps; 'trws' has a bound for large models"
            )
        answer.seek(0)
        return pickle.load(answer)
