"""Data that stay on disk: which they are, and how a fit goes through them."""

import sklearn


def auto_sampling(problem, dear):
    """What ``sampling="auto"`` stands for.

    Parameters
    ----------
    problem : BlockProblem
    dear : bool
        Whether an oracle call is.
    """
    mapped = getattr(getattr(problem, "features", None), "mapped_bytes", 0)
    if mapped > sklearn.get_config()["working_memory"] * 2**20:
        return "sequential"
    return "gap" if dear else "permutation"
