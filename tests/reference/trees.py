"""Joint features and hinge terms of trees of parts, computed by definition and enumeration."""

from itertools import product

import numpy as np

from sstruct._estimators.tree.tree_state import tree_model
from tests.reference.brute_force import Block


def joint_feature(model, parents, x, places, pair, y, unit=1.0):
    """Return phi(x, y) by its definition, as one vector in the order of ``w_``.

    x : P arrays (S_p, F)    places : P arrays (S_p, 2)    pair : None or P tables
    """
    P, T = len(parents), model.n_types
    out = {name: np.zeros(block.shape) for name, block in model.layout.blocks.items()}
    coef = out["coef"].reshape(P, T, -1)
    edge = out["edge"].reshape(P, T, -1)
    kind = [s * T // len(x[p]) for p, s in enumerate(y)]
    for p, s in enumerate(y):
        if s < 0:
            continue
        coef[p, kind[p]] += x[p][s]
        if "intercept" in out:
            out["intercept"][p, kind[p]] += 1
        q = parents[p]
        if q < 0 or y[q] < 0:
            continue
        dx, dy = (places[p][s] - places[q][y[q]]) / unit
        edge[p, kind[p], :4] -= [dx**2, dx, dy**2, dy]
        if pair is not None:
            edge[p, kind[p], 4] += pair[p][y[q]][s]
        if T > 1:
            out["type"][p, kind[q], kind[p]] += 1
    return np.concatenate([table.ravel() for table in out.values()])


def listed(sample):
    """Return features and positions of a sample of either format as lists."""
    f = sample["features"]
    if isinstance(f, list):
        return f, sample["positions"]
    y, x = np.indices(f.shape[-3:-1]).reshape(2, -1)
    n_types = f.shape[1] if f.ndim == 5 else 1
    return list(f.reshape(len(f), -1, f.shape[-1])), [np.tile(np.c_[x, y], (n_types, 1))] * len(f)


def cost(loss, places, state, truth, scale):
    """Return the cost of one part."""
    if loss != "distance":
        return float(state != truth)
    move = np.subtract(places[state], places[truth]) / scale
    return min(1.0, float(move @ move))


def blocks(model, X, y, loss, weights):
    """Return the hinge terms of the objective of an estimator; unknown parts are -1 in y."""
    out, tree = [], tree_model(vars(model))
    for sample, truth, weight in zip(X, y, weights, strict=True):
        x, places = listed(sample)
        known = [p for p, s in enumerate(truth) if s >= 0]
        if not known or weight == 0:
            continue
        scale, pair = sample.get("scale", 1.0), sample.get("pair_scores")
        states = (range(len(x[p])) if p in known else [-1] for p in range(len(x)))
        labelings = list(product(*states))
        divisor = 1 if loss == "hamming-count" else len(known)
        losses = [
            sum(cost(loss, places[p], z[p], truth[p], scale) for p in known) / divisor
            for z in labelings
        ]
        phi = [joint_feature(tree, model.parents_, x, places, pair, z, scale) for z in labelings]
        at = labelings.index(tuple(int(s) for s in truth))
        out.append(Block(0, labelings, np.array(phi), np.array(losses), at, weight))
    total = sum(block.weight for block in out)
    for block in out:
        block.weight /= total
    return out
