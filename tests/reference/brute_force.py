"""Joint features, losses and scores of chains, computed by definition and enumeration.

Slow and obviously correct; shares no code with the package. Labels are integers 0 ... K - 1, and -1
marks a node without a label, at which a chain is cut.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np


@dataclass
class Model:
    """Defines which weights exist and which labelings are allowed."""

    n_labels: int
    bias: bool = True
    boundaries: bool = True
    transitions: bool = True
    edge_mask: np.ndarray | None = None  # (K, K), rows from
    boundary_mask: np.ndarray | None = None  # (2, K): may start, may end
    groups: np.ndarray | None = None  # (K, K): transitions that share a weight, -1: no weight


@dataclass
class Block:
    """One labeled segment of a sample, with all its labelings."""

    sample: int
    labelings: list  # list of tuples
    phi: np.ndarray  # (M, d)
    loss: np.ndarray  # (M,)
    truth: int  # index of the true labeling
    weight: float  # weight of its hinge loss in the objective

    @cached_property
    def psi(self):
        return self.phi[self.truth] - self.phi

    @cached_property
    def place(self):
        """Return the index of each labeling."""
        return {y: k for k, y in enumerate(self.labelings)}


def flat(parts, shape):
    """Join parts of the joint features of labelings; `shape` is (M,), or () for one labeling."""
    sizes = [math.prod(part.shape[len(shape) :]) for part in parts]
    return np.concatenate([part.reshape(*shape, n) for part, n in zip(parts, sizes)], axis=-1)


def joint_feature(x, y, model, starts=True, ends=True, edge_features=None, copied=False):
    """Return phi(x, y); y may be a list of labelings.

    The order is coef (K, F), intercept, start, end, edge (K, K) or by groups, and edge_feature
    (G, K, K) if the transitions have features (L - 1, G). `copied`: the last node is a copy of the
    first one of another window, so that only the transition to it counts.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    on = np.eye(model.n_labels)[y]
    own, before, after = on[..., : y.shape[-1] - copied, :], on[..., :-1, :], on[..., 1:, :]
    parts = [own.swapaxes(-1, -2) @ x[: own.shape[-2]]]
    if model.bias:
        parts.append(own.sum(axis=-2))
    if model.boundaries:
        parts += [on[..., 0, :] * starts, on[..., -1, :] * ends]
    if model.transitions:
        edge, groups = before.swapaxes(-1, -2) @ after, model.groups
        if groups is not None:
            of_groups = [edge[..., groups == g].sum(axis=-1) for g in range(groups.max() + 1)]
            edge = np.stack(of_groups, axis=-1) if of_groups else edge[..., :0, 0]
        parts.append(edge)
    if edge_features is not None:
        parts.append(np.einsum("lg,...la,...lb->...gab", edge_features, before, after))
    return flat(parts, y.shape[:-1])


def is_allowed(y, model, starts=True, ends=True):
    if model.edge_mask is not None:
        for before, after in pairwise(y):
            if not model.edge_mask[before][after]:
                return False
    if model.boundary_mask is not None:
        if starts and not model.boundary_mask[0][y[0]]:
            return False
        if ends and not model.boundary_mask[1][y[-1]]:
            return False
    return True


def labelings(length, model, starts=True, ends=True):
    """Return all allowed labelings of a chain, as tuples."""
    return [
        y
        for y in product(range(model.n_labels), repeat=length)
        if is_allowed(y, model, starts, ends)
    ]


def node_cost(loss, y, weights, n_labels, node_weights):
    """Return cost[truth][label] and whether a sample's loss is divided by its labeled nodes."""
    K = n_labels
    cost = [[float(a != b) for b in range(K)] for a in range(K)]
    if isinstance(loss, str):
        if loss in ("hamming", "hamming-count"):
            return cost, loss == "hamming"
        assert loss == "balanced"
        count = [0.0] * K
        for labels, weight, factors in zip(y, weights, node_weights, strict=True):
            for label, factor in zip(labels, factors, strict=True):
                if label >= 0:
                    count[label] += weight * factor
        total, occurring = sum(count), sum(c > 0 for c in count)
        for a in range(K):
            for b in range(K):
                cost[a][b] *= total / (occurring * count[a]) if count[a] > 0 else 0.0
        return cost, True
    loss = np.asarray(loss)
    if loss.ndim == 1:
        return [[loss[a] * (a != b) for b in range(K)] for a in range(K)], True
    return loss.tolist(), True


def segments(labels):
    """Return the maximal runs (first, after) of nodes that have a label."""
    runs, first = [], None
    for position, label in enumerate([*labels, -1]):
        if label >= 0 and first is None:
            first = position
        elif label < 0 and first is not None:
            runs.append((first, position))
            first = None
    return runs


def windows(first, after, size):
    """Cut a segment into the fewest windows of equal size; return [(first, after, copied)]."""
    n = 1 if size is None else math.ceil((after - first) / size)
    cuts = [first + k * (after - first) // n for k in range(n + 1)]
    return [(a, b, b < after) for a, b in pairwise(cuts)]


def class_factors(class_weight, y, weights, node_weights, n_labels):
    """Return the factor of a node's cost by true label; class_weight: "balanced" or a dict."""
    if class_weight == "balanced":
        count = [0.0] * n_labels
        for labels, weight, factors in zip(y, weights, node_weights, strict=True):
            for label, factor in zip(labels, factors, strict=True):
                if label >= 0:
                    count[label] += weight * factor
        occurring = sum(c > 0 for c in count)
        return [sum(count) / (occurring * c) if c > 0 else 0.0 for c in count]
    return [(class_weight or {}).get(k, 1.0) for k in range(n_labels)]


def blocks(
    X,
    y,
    model,
    loss="hamming-count",
    weights=None,
    *,
    class_weight=None,
    node_weights=None,
    edge_features=None,
    window_size=None,
):
    """Return the hinge terms: one for each labeled segment of each sample, or its windows."""
    weights = [1.0] * len(X) if weights is None else list(weights)
    if node_weights is None:
        node_weights = [np.ones(len(labels)) for labels in y]
    # Samples of weight 0 or without a labeled node of positive weight are ignored.
    weights = [
        weight if sum(f for f, label in zip(factors, labels) if label >= 0) > 0 else 0.0
        for weight, labels, factors in zip(weights, y, node_weights, strict=True)
    ]
    total = sum(weights)
    cost, divided = node_cost(loss, y, weights, model.n_labels, node_weights)
    of_label = class_factors(class_weight, y, weights, node_weights, model.n_labels)
    cost = np.array(cost) * np.array(of_label)[:, np.newaxis]
    out = []
    for i, (x, labels, weight) in enumerate(zip(X, y, weights, strict=True)):
        if weight == 0:
            continue
        factors = np.asarray(node_weights[i], dtype=float)
        x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
        n_labeled = factors[np.asarray(labels) >= 0].sum()
        parts = [part for run in segments(labels) for part in windows(*run, window_size)]
        for first, last, copied in parts:
            after = last + copied
            starts, ends = first == 0, last == len(labels)
            own = None if edge_features is None else edge_features[i][first : after - 1]
            truth = tuple(int(label) for label in labels[first:after])
            allowed = labelings(after - first, model, starts, ends)
            costs = cost[truth, np.array(allowed)] / (n_labeled if divided else 1.0)
            out.append(
                Block(
                    sample=i,
                    labelings=allowed,
                    phi=joint_feature(x[first:after], allowed, model, starts, ends, own, copied),
                    loss=(costs[:, : last - first] * factors[first:last]).sum(axis=1),
                    truth=allowed.index(truth),
                    weight=weight / total,
                )
            )
    return out


def slack_terms(terms):
    """Return the blocks under slack rescaling: psi(y) becomes L(y) psi(y)."""
    return [replace(block, phi=-block.loss[:, np.newaxis] * block.psi) for block in terms]


def hinge(w, block):
    """Return H_i(w) = max_y L(y) - <w, phi(truth) - phi(y)>."""
    return float(np.max(block.loss - block.psi @ w))


def primal(w, lam, terms, prior=None):
    """Return P(w) by its definition; the regularizer is lam/2 |w - prior|^2."""
    move = w if prior is None else w - prior
    return 0.5 * lam * float(move @ move) + sum(block.weight * hinge(w, block) for block in terms)


def read_working_sets(exported, terms):
    """Turn the arrays of DualState.export into a list of {labeling: alpha}, one for each block."""
    out, at, position = [], 0, 0
    for size, block in zip(exported["size"], terms, strict=True):
        length, alphas = len(block.labelings[0]), {}
        for _ in range(size):
            y = tuple(exported["code"][position : position + length].tolist())
            assert y not in alphas, "a labeling is there twice"
            alphas[y] = float(exported["alpha"][at])
            at, position = at + 1, position + length
        out.append(alphas)
    assert at == len(exported["alpha"])
    assert position == len(exported["code"])
    return out


def weights_of(alphas, lam, terms):
    """Return w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y)."""
    w = np.zeros(terms[0].phi.shape[1])
    for of_block, block in zip(alphas, terms, strict=True):
        for y, alpha in of_block.items():
            w += block.weight / lam * alpha * block.psi[block.place[y]]
    return w


def linear_part(alphas, terms):
    """Return sum_i q_i sum_y alpha_i(y) L_i(y)."""
    return sum(
        block.weight * alpha * block.loss[block.place[y]]
        for of_block, block in zip(alphas, terms, strict=True)
        for y, alpha in of_block.items()
    )


def dual(alphas, lam, terms):
    """Return D(alpha) = sum_i q_i sum_y alpha_i(y) L_i(y) - lam/2 |w(alpha)|^2."""
    w = weights_of(alphas, lam, terms)
    return linear_part(alphas, terms) - 0.5 * lam * float(w @ w)
