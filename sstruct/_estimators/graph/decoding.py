"""Choose the decoder of graphs, and describe it for ``inference_``."""

import numpy as np

from sstruct._checks.parameters import Range
from sstruct._estimators.core.training import Inference, Quality
from sstruct._estimators.graph.fwmap_decoder import TreeSearch
from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct.inference._methods._constrained_decoder import ConstrainedDecoder
from sstruct.inference._methods._exact_decoder import LARGEST, ExactDecoder
from sstruct.inference._methods._tree_decoder import TreeDecoder

# Iterations of "fwmap" per decoding: fewer in training, which decodes each graph repeatedly.
ITERATIONS = {"training": 20, "prediction": 200}
# Valid values of the time limit of "exact".
MAX_ORACLE_TIME = Range(least=0, other=(None,))


def decoding_method(model, graphs, n_labels, samples=None):
    """Return the name of the decoder of the graphs.

    "auto" and "exact" choose the fastest exact decoder: "cut" for two labels that attract each
    other, and "max-sum" for forests. For other graphs, "auto" chooses "expansion", which is
    approximate.

    samples : indices of the graphs in X, or None for all
    """
    inference = model["inference"]
    if inference in ("auto", "exact") and n_labels <= 2 and model["attractive"]:
        return "cut"
    if inference in ("auto", "exact", "max-sum"):
        cyclic = graphs.with_cycles()
        if len(cyclic) == 0:
            return "max-sum"
        if inference == "max-sum":
            i = cyclic[0] if samples is None else samples[cyclic[0]]
            raise ValueError(
                f'inference="max-sum" is for forests, but X[{i}] has a cycle; use inference="auto"'
            )
        if inference == "auto":
            return "expansion"
        check_size(graphs, n_labels, samples)
        return "exact"
    return inference


def check_size(graphs, n_labels, samples, constraints=None):
    """Raise ValueError if a graph is too large for branch and bound.

    constraints : GraphConstraints or None
    """
    entries = graphs.n_edges.astype(np.float64) * n_labels**2
    if constraints is not None:
        entries += constraints.n_entries()
    i = int(entries.argmax())
    if entries[i] > LARGEST:
        parts, advice = "edges times squared labels", 'inference="fwmap", which bounds its error'
        what = 'inference="exact" requires'
        if constraints is not None:
            parts, advice = f"{parts}, and constraints", "fewer constraints or smaller graphs"
            what = "constraints require"
        raise ValueError(
            f"{what} at most {LARGEST} table entries ({parts}), but "
            f"X[{i if samples is None else samples[i]}] has {entries[i]:.0f}; use {advice}"
        )


def described_inference(method, pairwise, graphs, constrained=False):
    """Return the Inference of a decoder, given its name and whether labels are constrained."""
    if not graphs.n_edges.any() and not constrained:
        return Inference("node by node")
    if method == "expansion":
        moves = "fusion moves" if pairwise in ("full", "directed") else "alpha-expansion"
        return Inference(moves, Quality.APPROXIMATE)
    return {
        "cut": Inference("graph cut"),
        "max-sum": Inference("max-sum"),
        "fwmap": Inference("trees by Frank-Wolfe", Quality.BOUNDED),
        # It is exact unless a limit is reached.
        "exact": Inference("branch and bound", Quality.BOUNDED),
    }[method]


def decoder_of(method, seed, use, max_time=None, constraints=None):
    """Return a decoder by name, for "training" or for "prediction"."""
    keeps = use == "training"
    if constraints is not None:
        return ConstrainedDecoder(constraints, seed, max_time, keeps)
    if method == "exact":
        return ExactDecoder(seed, max_time, keeps)
    if method == "fwmap":
        return TreeDecoder(TreeSearch(seed, ITERATIONS[use], keeps), seed)
    return GraphDecoder(method, seed)
