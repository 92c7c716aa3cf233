"""Minimization by toulbar2, with the optional package pytoulbar2."""

import math
import signal
import time
from importlib.util import find_spec

import numpy as np

from sstruct._solvers.core.status import Status
from sstruct.inference._methods.exact import n_marginals
from sstruct.inference._methods.separate_process import NoProcess, run_apart

# Limit on the labels and the table entries of the model, which toulbar2 copies.
MAX_ENTRIES = 2**23
# The costs of a labeling are integers below two to this power, exact in float64.
BITS = 50
# toulbar2 measures CPU time and stops at this signal of its timer.
STOP = getattr(signal, "SIGVTALRM", signal.SIGTERM)
PROGRAM = """
from pytoulbar2 import CFN
sizes, terms, seconds = question
network = CFN()
for v, size in enumerate(sizes):
    network.AddVariable(f"x{v}", range(size))
for scope, costs in terms:
    network.AddFunction(scope, costs.tolist())
found = network.Solve(timeLimit=seconds)
answer((found and list(found[0]), float(network.GetDDualBound())))
"""


def check_toulbar2(mrf):
    """Raise ImportError without the package, ValueError if the model is too large."""
    if find_spec("pytoulbar2") is None:
        raise ImportError(
            'method="toulbar2" requires the package pytoulbar2: pip install "sstruct[exact]"'
        )
    n_entries = n_marginals(mrf) + np.diff(mrf.factor_table_start)[mrf.factor_table].sum()
    if n_entries > MAX_ENTRIES:
        raise ValueError(
            f'method="toulbar2" supports at most {MAX_ENTRIES} table entries, but the model has '
            f'{n_entries}; use method="trws", which computes a bound for larger models'
        )


def toulbar2(mrf, record):
    """Run toulbar2 in a separate process; return the status.

    Parameters
    ----------
    mrf : MRF
        A model for which `check_toulbar2` does not raise.
    record : Record
        Receives the labeling and the bound.
    """
    terms = [((v,), mrf.node_cost(v)) for v in range(mrf.n_nodes)]
    terms += [(ends, mrf.edge_cost(e)) for e, ends in enumerate(mrf.edges.tolist())]
    terms += [mrf.factor(f) for f in range(mrf.n_factors)]
    finite = [costs[np.isfinite(costs)] for _, costs in terms]
    if not all(len(costs) for costs in finite):
        return Status.INFEASIBLE
    # Rounding down keeps bounds valid.
    spread = sum(float(np.ptp(costs)) for costs in finite)
    scale, constant, sent = 2.0 ** math.floor(BITS - math.log2(spread + 1)), 0.0, []
    for scope, costs in terms:
        costs = np.floor(costs * scale)
        constant += float(costs.min())
        sent.append((tuple(map(int, scope)), (costs - costs.min()).ravel()))
    seconds = 0
    if record.deadline < np.inf:
        # This limit is in CPU seconds; the process is usually stopped at the deadline before it.
        seconds = max(1, math.ceil(record.deadline - time.monotonic()))
    try:
        found = run_apart(
            PROGRAM, (mrf.n_labels.tolist(), sent, seconds), "toulbar2", record.deadline, STOP
        )
    except NoProcess:
        raise OSError(
            'method="toulbar2" requires a separate process, which did not start'
        ) from None
    if found is not None:
        labels, bound = found
        if labels is not None:
            labels = np.array(labels, dtype=np.int32)
            record.offer(labels, mrf.energy(labels))
        if np.isfinite(bound):
            record.bound((bound + constant) / scale)
        record.row()
    return record.status()
