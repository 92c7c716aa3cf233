"""Warn if a fit predicts the same label for all of its training data."""

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._input.threads import n_threads
from sstruct._problems.core._block_problem import WrappedProblem
from sstruct._problems.core._decode import decode
from sstruct._problems.label_set._multilabel import MultilabelProblem
from sstruct._solvers.rounds.partitioned_blocks import PartitionedBlocks

# Maximum number of blocks to decode first: most fits predict two or more labels in them, and the
# other blocks are not decoded.
FIRST_BLOCKS = 64
# Minimum number of nodes (or label sets), and of nodes with another label, for a warning: constant
# predictions are common in tiny examples, and correct if other labels are very rare.
MIN_NODES = 50
MIN_MISSED = 10


def constant_prediction(structure, training, w):
    """Return a warning if every node, or every set of labels, has the same prediction; else None.

    Parameters
    ----------
    structure : Structure
    training : Training
    w : ndarray of shape (n_weights,)
        The weights of the fit, in the units of X. The features of the problem are scaled back to
        these units.
    """
    problem, classes = training.problem, training.attributes.get("classes_")
    if isinstance(problem, PartitionedBlocks) or not isinstance(classes, np.ndarray):
        return None
    if training.completed:  # one of the many fits of LatentSSVM
        return None
    while isinstance(problem, WrappedProblem):
        problem = problem.problem
    if training.pairwise_scale != 1:
        problem.scale_features(1.0)
    sets = isinstance(problem, MultilabelProblem)
    n = problem.n_blocks
    first = problem.best_code(0, w, 0.0)[0]
    constant = first if sets else first[0]
    for i in range(0, n, -(-n // FIRST_BLOCKS)):
        if (problem.best_code(i, w, 0.0)[0] != constant).any():
            return None
    truths = [problem.true_code(i) for i in range(n)]
    missed = [truth != constant for truth in truths]
    n_missed = sum(np.any(each) if sets else np.sum(each) for each in missed)
    n_nodes = n if sets else sum(map(len, truths))
    if n_nodes < MIN_NODES or n_missed < MIN_MISSED:
        return None
    codes = decode(problem, w, n_threads(structure.n_jobs))
    if ((codes.reshape(n, -1) if sets else codes) != constant).any():
        return None
    name = structure.estimator_name
    if sets:
        predicted = (
            f"same set of labels for all {n} training samples, {n - n_missed} of which have it"
        )
    else:
        predicted = (
            f"label {shortened(classes.tolist()[constant])} for all {n_nodes} nodes of the "
            f"training data, {n_nodes - n_missed} of which have it"
        )
    advice = f"a smaller lam, such as lam={training.lam / 30:.1g} (here {training.lam:.2g})"
    # Weights of whole sets do not help if a set has frequent and rare labels.
    option = "loss" if sets else "class_weight"
    value = structure.parameters.get(option, "balanced")
    if value is None or (isinstance(value, str) and value != "balanced"):
        advice += f', or {option}="balanced"'
    return (
        f"{name} predicts the {predicted}. Try {advice}, and features that distinguish the labels."
    )
