"""Linear and integer programs solved by HiGHS, with support for Ctrl-C.

HiGHS does not check for signals. A program that does not end quickly is therefore restarted in a
separate process, which can be killed. Results are the same, since HiGHS is deterministic.
"""

import pickle
import subprocess
import sys
import tempfile
import time
from math import inf
from multiprocessing import spawn

from scipy import optimize

# Time limit in seconds for programs in this process, and the number of variables above which a
# separate process is used directly: HiGHS checks the time only between steps, which take longer
# with more variables. A process takes half a second to start, mostly to import SciPy.
SECONDS_HERE = 0.15
MOST_VARIABLES_HERE = 2**12
TIME_LIMIT = 1  # status of `optimize.milp` and `optimize.linprog`
SECONDS_BETWEEN_LOOKS = 0.01
# Program of the other process. It uses the same SciPy and ignores Ctrl-C, which the caller handles.
PROGRAM = """
import os, pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.path[:] = pickle.load(sys.stdin.buffer)
from scipy import optimize
solver, costs, program, options = pickle.load(sys.stdin.buffer)
found = getattr(optimize, solver)(costs, **program, options=options)
last = found.mip_dual_bound if solver == "milp" else found.ineqlin.marginals
pickle.dump((found.status, found.x, last), out)
out.close()
"""


def solve_here(costs, program, options, solver="milp"):
    """Call a solver; return its status, x, and a lower bound or the multipliers.

    The last two are None if they are missing. The multipliers are those of the inequalities of
    ``"linprog"``, at most 0; the bound is the one of ``"milp"``.
    """
    found = getattr(optimize, solver)(costs, **program, options=options)
    last = found.mip_dual_bound if solver == "milp" else found.ineqlin.marginals
    return found.status, found.x, last


def solve(costs, program, options, solver="milp"):
    """Minimize costs over a program; return the same as `solve_here`.

    Parameters
    ----------
    costs : ndarray of shape (n,)
    program, options : dict
        Further arguments of the solver, and its options.
    solver : {"milp", "linprog"}
        A function of `scipy.optimize`.
    """
    limit = options.get("time_limit", inf)
    end = time.monotonic() + limit
    if len(costs) <= MOST_VARIABLES_HERE:
        first = options | {"time_limit": min(SECONDS_HERE, limit)}
        answer = solve_here(costs, program, first, solver)
        if answer[0] != TIME_LIMIT or limit <= SECONDS_HERE:
            return answer
    if limit < inf:
        options = options | {"time_limit": max(end - time.monotonic(), 0.0)}
    return _solve_apart(costs, program, options, solver)


def _solve_apart(costs, program, options, solver):
    """Solve in a separate process, or in this one if no process can be started."""
    python = spawn.get_executable()
    if not python or getattr(sys, "frozen", False):
        return solve_here(costs, program, options, solver)
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        pickle.dump(sys.path, question)
        pickle.dump((solver, costs, program, options), question)
        question.seek(0)
        try:
            process = subprocess.Popen(
                [python, "-P", "-c", PROGRAM],
                stdin=question, stdout=answer, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError:
            return solve_here(costs, program, options, solver)
        try:
            while process.poll() is None:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise OSError(
                f"the HiGHS process ended with code {process.returncode}, possibly because memory "
                "is exhausted; use method='trws' for a bound of large models"
            )
        answer.seek(0)
        return pickle.load(answer)
