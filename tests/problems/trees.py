"""Small problems of trees of parts, with the parts that the reference requires."""

from itertools import product
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from tests.problems.flat import tree_problem
from tests.reference.trees import joint_feature

FORESTS = ([-1], [-1, 0, 0], [2, 2, -1, 2], [1, 2, -1], [-1, 0, -1, 2])


def make_trees(rng, parents, form="candidates", *, n_types=1, loss="distance", pairs=False,
               bias=True, storage="dense", dtype=np.float64, missing=0.3, F=3, labeled=True,
               n_blocks=3):  # fmt: skip
    """Return a problem of integers; `form` is "candidates" or "maps"."""
    P = len(parents)
    x, places, tables, shape = [], [], [], rng.integers(1, 3, (n_blocks, 2))
    for height, width in shape:
        sizes = n_types * (
            rng.integers(1, 5 - n_types, P) if form == "candidates" else np.full(P, height * width)
        )
        x.append([rng.integers(-3, 4, (size, F)) * (rng.random((size, F)) < 0.8) for size in sizes])
        if form == "candidates":
            places.append([rng.integers(-4, 5, (size, 2)) for size in sizes])
        else:
            y_of, x_of = np.indices((height, width)).reshape(2, -1)
            places.append([np.tile(np.stack([x_of, y_of], axis=1), (n_types, 1))] * P)
        tables.append(
            [None if q < 0 else rng.integers(-3, 4, (sizes[q], sizes[p]))
             for p, q in enumerate(parents)]
        )  # fmt: skip
    labels = np.array([[rng.integers(len(rows)) for rows in parts] for parts in x])
    absent = rng.random(labels.shape) < missing
    absent[np.arange(n_blocks), rng.integers(0, P, n_blocks)] = False
    labels[absent] = -1
    rows = np.concatenate([rows for parts in x for rows in parts]).astype(dtype)
    ends = np.cumsum([len(rows) for parts in x for rows in parts]).reshape(n_blocks, P)
    start = np.column_stack([np.r_[0, ends[:-1, -1]], ends])
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], n_blocks)
    unit = rng.choice([0.5, 1.0, 2.0], n_blocks)
    arguments = dict(
        X=sparse.csr_matrix(rows) if storage == "csr" else rows,
        start=start,
        parents=parents,
        labels=labels if labeled else None,
        n_types=n_types,
        loss_scale=scale,
        unit=unit,
        by_distance=loss == "distance",
        bias=bias,
    )
    if form == "maps":
        arguments["shape"] = shape
    else:
        arguments["positions"] = np.concatenate([p for parts in places for p in parts])
    if pairs:
        flat = [np.zeros(0) if t is None else t.ravel() for block in tables for t in block]
        size = np.array([len(t) for t in flat])
        arguments["pair_scores"] = np.concatenate(flat).astype(float)
        arguments["pair_start"] = (np.cumsum(size) - size).reshape(n_blocks, P)
    problem = tree_problem(**arguments)
    model = problem.model

    def phi(i, y):
        pair = tables[i] if pairs else None
        return joint_feature(model, parents, x[i], places[i], pair, y, unit[i])

    def cost(i, p, s):
        truth = labels[i, p]
        if truth < 0:
            return 0.0
        if loss != "distance":
            return float(s != truth)
        offset = places[i][p][s] - places[i][p][truth]
        return min(1.0, offset @ offset / unit[i] ** 2)

    choices = [
        list(product(*(
            range(len(rows)) if labels[i, p] >= 0 or not labeled else (-1,)
            for p, rows in enumerate(parts)
        )))
        for i, parts in enumerate(x)
    ]  # fmt: skip
    w = rng.integers(-4, 5, problem.n_weights).astype(float)
    steep = model.layout.views(w)["edge"][..., [0, 2]]
    model.layout.views(w)["edge"][..., [0, 2]] = np.abs(steep)
    return SimpleNamespace(
        problem=problem,
        arguments=arguments,
        model=model,
        x=x,
        phi=phi,
        loss=lambda i, y: scale[i] * sum(cost(i, p, s) for p, s in enumerate(y)),
        w=w,
        padded=w,
        public=lambda w: problem.layout.public(w),
        allowed=choices,
        labels=labels,
    )
