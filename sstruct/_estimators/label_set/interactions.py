"""Choose the pairs of labels that interact, and a decoder for them."""

import numpy as np

from sstruct._checks.arrays import array_of
from sstruct._checks.shown import shortened
from sstruct._estimators.core.training import Inference, Quality
from sstruct._oracles.label_set._constrained_search import ConstrainedSearch
from sstruct._oracles.label_set._cut import LabelCut
from sstruct._oracles.label_set._forest_decoder import LabelForest
from sstruct._oracles.label_set._gray_enumeration import MAX_LABELS, GrayEnumeration
from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._oracles.label_set._set_constraints import SetConstraints
from sstruct._oracles.label_set._set_decoder import ordered_edges

INFERENCE = ("auto", "independent", "enumeration", "tree", "cut", "relaxed", "exact")
DECODERS = {
    "independent": Inference("label by label"),
    "enumeration": Inference("enumeration"),
    "tree": Inference("max-sum"),
    "cut": Inference("graph cut"),
    "relaxed": Inference("roof duality", relaxed=True),
    # It is exact unless a limit of the number of nodes is reached.
    "exact": Inference("branch and bound", Quality.BOUNDED),
}
# Maximum number of labels for which "auto" enumerates: 0.14 ms per call with all interactions (0.01
# ms for 14 labels), five times the time of the relaxation. It finds the exact maximum, also for
# slack rescaling.
AUTO_ENUMERATES = 18
# Maximum number of labels for which edges="auto" uses all pairs. With more labels, a tree predicts
# equally well on real data (benchmarks/notes/defaults.md), and all pairs take ten times as long or
# do not converge.
AUTO_FULL = 20
NAMED_EDGES = ("auto", "full", "tree")


def check_edges_parameter(edges):
    """Raise an error if the parameter `edges` is invalid, whatever the number of labels is."""
    if edges is None or (isinstance(edges, str) and edges in NAMED_EDGES):
        return
    expected = '"auto", "full", "tree", None, an array (E, 2) of edges or (K,) of parents'
    if isinstance(edges, str):
        raise ValueError(f"edges must be {expected}, found {shortened(edges)}")
    array = array_of(edges, "edges", expected)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"edges must be {expected}, of integers, found dtype {array.dtype}")
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 2):
        raise ValueError(f"edges must be {expected}, found shape {array.shape}")


def is_learned(edges, K):
    """Whether the interacting pairs of K labels depend on the training labels."""
    return isinstance(edges, str) and (edges == "tree" or (edges == "auto" and K > AUTO_FULL))


def is_hierarchy(edges):
    """Whether the parameter is an array of parents; an empty list is a list of no pairs."""
    if edges is None or isinstance(edges, str):
        return False
    return np.ndim(edges) == 1 and len(edges) > 0


def interactions(edges, Y, weights, known=None):
    """Return the sorted edges (E, 2), u < v, and the parents of a hierarchy or None.

    Parameters
    ----------
    edges : as the estimator's parameter
    Y : CSR matrix of shape (n, K)
        Ones for labels that a sample is known to have.
    weights : ndarray of shape (n,)
    known : ndarray of bool of shape (n, K) or None
        Whether it is known if a sample has a label. If None, all are known.
    """
    K, none = Y.shape[1], np.empty((0, 2), dtype=np.int32)
    if edges is None or len(edges) == 0:
        return none, None
    if is_hierarchy(edges):
        parents = np.ascontiguousarray(edges, dtype=np.int64)
        if parents.shape != (K,):
            raise ValueError(
                f"edges has {len(parents)} parents, expected {K}, one for each label; pass -1 for "
                "labels without a parent"
            )
        return none, parents
    if isinstance(edges, str):
        learned = is_learned(edges, K)
        pairs = tree(Y, weights, known) if learned else np.column_stack(np.triu_indices(K, 1))
        return ordered_edges(pairs, K), None
    return ordered_edges(edges, K), None


def mutual_information(Y, weights, known=None):
    """Return the empirical mutual information of each pair of labels, (K, K), in nats.

    For each pair, only samples in which both are known are used.
    """
    weighted = Y.multiply(weights[:, np.newaxis])
    if known is None:
        both = np.asarray((Y.T @ weighted).todense()) / weights.sum()
        on = both.diagonal()[:, np.newaxis].copy()
    else:
        total = np.maximum(known.T @ (known * weights[:, np.newaxis]), np.finfo(float).tiny)
        both, on = np.asarray((Y.T @ weighted).todense()) / total, weighted.T @ known / total
    tables = {
        (1, 1): both,
        (1, 0): on - both,
        (0, 1): on.T - both,
        (0, 0): 1 - on - on.T + both,
    }
    information = np.zeros_like(both)
    for (a, b), table in tables.items():
        independent = (on if a else 1 - on) * (on if b else 1 - on).T
        # Other terms are 0: their probability is 0, up to rounding errors.
        positive = (table > 0) & (independent > 0)
        information[positive] += table[positive] * np.log(table[positive] / independent[positive])
    return information


def tree(Y, weights, known=None):
    """Return a maximum spanning tree of the mutual information: the tree of Chow and Liu.

    Prim's method from label 0. Ties, up to rounding, go to the lowest labels. O(K nnz + K^2) time,
    and O(n K^2) with `known`.
    """
    information = np.round(mutual_information(Y, weights, known), 12)
    K = len(information)
    best, link = information[0].copy(), np.zeros(K, dtype=np.int64)
    outside = np.arange(K) > 0
    edges = []
    for _ in range(K - 1):
        v = int(np.argmax(np.where(outside, best, -np.inf)))
        edges.append((link[v], v))
        outside[v] = False
        closer = outside & (information[v] > best)
        best[closer], link[closer] = information[v][closer], v
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def decoding_method(inference, K, edges, parents, attractive, relaxes=False, constrained=False):
    """Return the name of the requested decoder, or of the fastest exact or relaxed one.

    `relaxes`: only decoders that are exact over the local polytope for all scores; `constrained`:
    whether sets must satisfy constraints.

    Raises
    ------
    ValueError
        If the requested decoder does not support these labels and interactions.
    """
    if parents is not None:
        if inference not in ("auto", "tree"):
            raise ValueError(
                f'inference={inference!r} does not support a hierarchy, expected "auto" or "tree"'
            )
        return "tree"
    if constrained:
        if inference == "auto":
            return "enumeration" if K <= AUTO_ENUMERATES else "exact"
        if inference not in ("enumeration", "exact"):
            raise ValueError(
                f"inference={inference!r} does not support constraints, expected "
                '"auto", "enumeration" or "exact"'
            )
    fits = {
        "independent": len(edges) == 0,
        "enumeration": K <= MAX_LABELS,
        "tree": is_forest(K, edges),
        "cut": attractive or len(edges) == 0,
        "relaxed": True,
        "exact": True,
    }
    needs = {
        "independent": f"labels without interactions, found {len(edges)} edges",
        "enumeration": f"at most {MAX_LABELS} labels, found {K}",
        "tree": f"interactions without a cycle, found {len(edges)} edges of {K} labels",
        "cut": 'pairwise="and" and bounds="submodular" (edge weights of at least 0)',
    }
    if inference != "auto":
        if not fits[inference]:
            raise ValueError(f"inference={inference!r} requires {needs[inference]}")
        return inference
    order = ["independent", "tree", "enumeration", "cut"]
    if relaxes:
        order = ["independent", "tree"]
    elif attractive and K > AUTO_ENUMERATES:
        order.remove("enumeration")
    return next((method for method in order if fits[method]), "relaxed")


def is_forest(K, edges):
    """Whether edges between K labels have no cycle."""
    if len(edges) >= K:
        return False
    try:
        LabelForest(K, edges)
    except ValueError:
        return False
    return True


def label_decoder(method, K, edges, parents, whole=False, constraints=None):
    """Return a decoder by name.

    whole : bool
        Whether a relaxation returns integral sets, too.
    constraints : ndarray of int32 of shape (n_constraints, K + 2), or None
        As returned by `constraint_rows`.

    Raises
    ------
    ValueError
        If the decoder does not support the labels, edges or constraints, or no set satisfies them.
    """
    if constraints is not None or method == "exact":
        rows = np.zeros((0, K + 2), dtype=np.int32) if constraints is None else constraints
        rows = SetConstraints(rows[:, 2:], rows[:, 0], rows[:, 1])
        decoders = {"enumeration": GrayEnumeration, "exact": ConstrainedSearch}
        if method not in decoders:
            raise ValueError(f"the decoder {method!r} does not support constraints")
        return decoders[method](K, edges, rows)
    if method in ("independent", "tree"):
        return LabelForest(K, None if parents is not None else edges, parents)
    if method == "relaxed":
        return LabelRelaxation(K, edges, whole)
    return (GrayEnumeration if method == "enumeration" else LabelCut)(K, edges)


def check_closed(Y, parents, rows):
    """Raise an error unless each set contains the parents of its labels.

    rows : indices of the rows, for the error
    """
    dense = Y.toarray() > 0
    below = np.flatnonzero(parents >= 0)
    lacking = dense[:, below] & ~dense[:, parents[below]]
    if lacking.any():
        i, k = np.argwhere(lacking)[0]
        label = below[k]
        raise ValueError(
            f"y[{rows[i]}] has label {label} without its parent {parents[label]}; in a hierarchy, "
            "sets must contain all ancestors of their labels"
        )
