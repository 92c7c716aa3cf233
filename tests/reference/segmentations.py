"""Small random problems of segments, with the scores of all segmentations by enumeration."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from sstruct._problems.chain.chain_arguments import ChainRanges
from sstruct._problems.segment._segment_problem import SegmentProblem
from sstruct._problems.segment.segment_arguments import FEATURE_KINDS, SegmentModel, SegmentRows
from tests.reference.segments import runs, segment_values, with_splits


@dataclass(frozen=True)
class Segmentations:
    """Sequences of at most some nodes, with weights.

    labelings : for each sequence, an array (m, L) of the codes of the allowed segmentations
    scores : for each sequence, the scores of these (m,)
    arguments : of the problem
    """

    problem: SegmentProblem
    arguments: dict
    w: np.ndarray
    labelings: list
    scores: list

    @classmethod
    def random(cls, rng, max_nodes=6, n=3, scale=2.0, splits=None):
        K = rng.integers(1, 4)
        lengths = rng.integers(1, max_nodes + 1, n)
        edge_mask = boundary_mask = bins = None
        if rng.random() < 0.5:
            edge_mask = rng.random((K, K)) < 0.7
        if rng.random() < 0.5:
            boundary_mask = rng.random((2, K)) < 0.8
        if rng.random() < 0.8:
            bins = np.r_[1, 1 + np.cumsum(rng.integers(1, 3, rng.integers(0, 4)))]
        least = rng.integers(1, 4, K) * (rng.random(K) < 0.4)
        least = np.maximum(least, 1)
        most = np.where(rng.random(K) < 0.5, least + rng.integers(0, 4, K), 2**60)
        terms = rng.random(3) < 0.8
        kinds = tuple(kind for kind in FEATURE_KINDS if rng.random() < 0.3)
        n_given = int(rng.choice([0, 0, 2]))
        if splits is None:
            splits = bool(rng.random() < 0.5)
        model = SegmentModel(
            int(K), *map(bool, terms), edge_mask, boundary_mask, bins=bins, least=least, most=most,
            kinds=kinds, n_given=n_given, self_transitions=splits,
        )  # fmt: skip
        X = rng.standard_normal((lengths.sum(), 2))
        start = np.cumsum(lengths) - lengths
        given = random_rows(rng, lengths, n_given) if n_given else None
        arguments = dict(X=X, chains=ChainRanges(start, lengths), model=model, given=given)
        problem = SegmentProblem(**arguments)
        w = problem.layout.padded(scale * rng.standard_normal(problem.layout.public_size))
        found = [
            enumerated(X[a : a + length], model, problem.layout, w, rows_of(given, a, length))
            for a, length in zip(start, lengths, strict=True)
        ]
        return cls(problem, arguments, w, *map(list, zip(*found, strict=True)))

    @property
    def model(self):
        return self.arguments["model"]

    def given(self, i, known):
        """Return the codes and scores of a sequence that agree with known codes."""
        y, K = self.labelings[i], self.problem.n_labels
        agree = (known < 0) | (y % K == known % K)
        starts = np.ones(y.shape, dtype=bool)
        starts[:, 1:] = (y[:, 1:] >= K) | (y[:, 1:] != y[:, :-1] % K)
        agree &= ~((known >= K) & (known < 2 * K)) | starts
        agree &= (known < 2 * K) | (y < K)
        agree = agree.all(axis=1)
        return y[agree], self.scores[i][agree]


def random_rows(rng, lengths, n_given):
    """Return random features of all segments."""
    reach = np.concatenate([np.arange(length, 0, -1) for length in lengths])
    at = np.cumsum(reach) - reach
    return SegmentRows(rng.standard_normal((reach.sum(), n_given)), at, reach)


def rows_of(given, first, length):
    """Return the given features of a block, by start and stop; None if there are none."""
    return given and {
        (s, e): given.values[given.at[first + s] + e - s - 1]
        for s in range(length)
        for e in range(s + 1, length + 1)
    }


@cache
def codes(length, n_labels, splits):
    """Return all codes of segmentations, and the segments of each."""
    every = product(range(n_labels), repeat=length)
    if splits:
        every = [code for y in every for code in with_splits(y, n_labels)]
    return [(code, runs(code, n_labels)) for code in every]


def enumerated(x, model, layout, w, given=None):
    """Return the allowed labelings of a sequence, and their scores, from the definition."""
    names = "coef", "intercept", "start", "end", "edge", "self_transition", "duration", "segment"
    node, bias, *tables, duration, own = (layout.table(w, name) for name in names)
    start, end, edge, split = (table.tolist() for table in tables)
    K, nodes = model.n_labels, (x @ node.T + bias).tolist()

    def of_segment(first, stop, k):
        score, values = sum(row[k] for row in nodes[first:stop]), segment_values(x, first, stop)
        if model.bins is not None:
            score += duration[k, np.searchsorted(model.bins, stop - first, side="right") - 1]
        score += sum((layout.table(w, kind)[k] * values[kind]).sum() for kind in model.kinds)
        return float(score + own[k] @ given[first, stop] if given else score)

    of_segments = {
        (first, first + size, k): of_segment(first, first + size, k)
        for k, (least, most) in enumerate(zip(model.least, model.most, strict=True))
        for size in range(least, min(most, len(x)) + 1)
        for first in range(len(x) - size + 1)
    }
    labelings, scores = [], []
    for code, segments in codes(len(x), K, model.self_transitions):
        y = [k % K for k in code]
        steps = list(zip(y, y[1:], code[1:]))
        allowed = all(segment in of_segments for segment in segments)
        if model.edge_mask is not None:
            allowed &= all(model.edge_mask[a, b] for a, b, _ in steps)
        if model.boundary_mask is not None:
            allowed &= bool(model.boundary_mask[0, y[0]] and model.boundary_mask[1, y[-1]])
        if allowed:
            labelings.append(code)
            scores.append(
                start[y[0]] + end[y[-1]] + sum(of_segments[segment] for segment in segments)
                + sum(split[b] if k >= K else edge[a][b] for a, b, k in steps)
            )  # fmt: skip
    return np.array(labelings, dtype=np.int32).reshape(-1, len(x)), np.array(scores)
