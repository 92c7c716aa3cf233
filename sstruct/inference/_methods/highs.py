"""Linear and integer programs solved by HiGHS, with support for Ctrl-C.

HiGHS does not check for signals. A program that does not end quickly is therefore restarted in a
separate process, which can be killed. Results are the same, since HiGHS is deterministic.
"""

import time
from math import inf

from scipy import optimize

from sstruct.inference._methods.separate_process import NoProcess, run_apart

# Time limit in seconds for programs in this process, and the number of variables above which a
# separate process is used directly: HiGHS checks the time only between steps, which take longer
# with more variables. A process takes half a second to start, mostly to import SciPy.
SECONDS_HERE = 0.15
MAX_VARIABLES_IN_PROCESS = 2**12
TIME_LIMIT = 1  # status of `optimize.milp` and `optimize.linprog`
# Program of the other process, which uses the same SciPy.
PROGRAM = """
from scipy import optimize
solver, costs, program, options = question
found = getattr(optimize, solver)(costs, **program, options=options)
last = found.mip_dual_bound if solver == "milp" else found.ineqlin.marginals
answer((found.status, found.x, last))
"""


def solve_here(costs, program, options, solver="milp"):
    """Call a solver; return its status, the solution, and a bound or multipliers.

    ``"milp"`` returns a lower bound, and ``"linprog"`` the multipliers of inequalities, at most 0.
    The last two results are None if the solver has not found them.
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
    if len(costs) <= MAX_VARIABLES_IN_PROCESS:
        first = options | {"time_limit": min(SECONDS_HERE, limit)}
        answer = solve_here(costs, program, first, solver)
        if answer[0] != TIME_LIMIT or limit <= SECONDS_HERE:
            return answer
    if limit < inf:
        options = options | {"time_limit": max(end - time.monotonic(), 0.0)}
    try:
        return run_apart(PROGRAM, (solver, costs, program, options), "HiGHS")
    except NoProcess:
        return solve_here(costs, program, options, solver)
