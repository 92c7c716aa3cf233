"""Oracles that bring a problem of their own, in compiled code: what StructuredSVM asks of them."""

import numpy as np

from sstruct._problems._block_problem import BlockProblem
from sstruct._problems.oracle_calls import digest, public

# In place of those that Python oracles have; see doc/extending.rst.
METHODS = ("problem", "predict", "losses")
# Blocks that are asked about before a fit, to know the oracle again.
PROBES = 4


def is_compiled(oracle):
    """Whether an oracle brings a problem of its own."""
    return callable(getattr(oracle, "problem", None)) and not hasattr(oracle, "argmax")


def compiled_problem(oracle, X, y, rows):
    """Return the oracle's problem, looked at, and arrays that tell its data from others.

    Raises
    ------
    TypeError, ValueError
        If it is no BlockProblem with a block a sample; if a true labeling is none, or has a loss.
    """
    problem = oracle.problem(X, y, rows)
    name = type(oracle).__name__
    if not isinstance(problem, BlockProblem):
        raise TypeError(
            f"{name}.problem returned {type(problem).__name__}, expected a BlockProblem"
        )
    if problem.n_blocks != len(X):
        raise ValueError(f"{name}.problem has {problem.n_blocks} blocks for {len(X)} samples")
    for size in ("n_weights", "max_code_size", "batch_size"):
        if getattr(problem, size) < 1:
            raise ValueError(f"{name}.problem has {size} {getattr(problem, size)}, expected >= 1")
    for i, row in enumerate(rows):
        loss = problem.code_loss(i, problem.true_code(i))
        if loss != 0:
            raise ValueError(
                f"X[{row}]: {name}.problem gives the true labeling loss {loss:g}, expected 0"
            )
    digests = np.array([digest((x, labeling)) for x, labeling in zip(X, y)])
    names = np.array([type(oracle).__qualname__, digest(public(oracle)).hex()])
    return problem, [digests, names, _answers(problem)]


def _answers(problem):
    """What tells an oracle from one of other functions: answers of some blocks at two w."""
    blocks = np.linspace(0, problem.n_blocks - 1, min(PROBES, problem.n_blocks)).astype(int)
    weights = np.zeros(problem.n_weights), 1 / np.arange(1.0, problem.n_weights + 1)
    problem.remember(False)
    try:
        return np.array([problem.best_code(i, w)[1] for w in weights for i in blocks])
    except Exception:
        # It will fail in the fit, which keeps what it has by then.
        return np.array([])
    finally:
        problem.remember(True)


def compiled_predict(oracle, X, w):
    """Return the oracle's labelings, one a sample."""
    found = oracle.predict(X, w)
    if len(found) != len(X):
        raise ValueError(
            f"{type(oracle).__name__}.predict returned {len(found)} labelings for {len(X)} samples"
        )
    return found
