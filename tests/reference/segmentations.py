"""Small random problems of segments, with the scores of all segmentations by enumeration."""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from sstruct._problems.chain.chain_arguments import ChainRanges
from sstruct._problems.segment._segment_problem import SegmentProblem
from sstruct._problems.segment.segment_arguments import FEATURE_KINDS, SegmentModel, SegmentRows
from tests.reference.segments import features_of, runs, with_splits


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
    def random(cls, rng, most_nodes=6, n=3, scale=2.0, splits=None):
        K = rng.integers(1, 4)
        lengths = rng.integers(1, most_nodes + 1, n)
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
        """The codes and scores of a sequence that agree with known codes."""
        y, K = self.labelings[i], self.problem.n_labels
        agree = (known < 0) | (y % K == known % K)
        starts = np.ones(y.shape, dtype=bool)
        starts[:, 1:] = (y[:, 1:] >= K) | (y[:, 1:] != y[:, :-1] % K)
        agree &= ~((known >= K) & (known < 2 * K)) | starts
        agree &= (known < 2 * K) | (y < K)
        agree = agree.all(axis=1)
        return y[agree], self.scores[i][agree]


def random_rows(rng, lengths, n_given):
    """Random features of all segments."""
    reach = np.concatenate([np.arange(length, 0, -1) for length in lengths])
    at = np.cumsum(reach) - reach
    return SegmentRows(rng.standard_normal((reach.sum(), n_given)), at, reach)


def rows_of(given, first, length):
    """The given features of a block, by start and stop; None if there are none."""
    return given and {
        (s, e): given.values[given.at[first + s] + e - s - 1]
        for s in range(length)
        for e in range(s + 1, length + 1)
    }


def enumerated(x, model, layout, w, given=None):
    """The allowed labelings of a sequence, and their scores, from the definition."""
    of_kinds = [layout.table(w, kind) for kind in FEATURE_KINDS if kind in model.kinds]
    names = "coef", "intercept", "start", "end", "edge", "self_transition", "duration"
    node, bias, start, end, edge, split, duration = (layout.table(w, name) for name in names)
    theta, K = x @ node.T + bias, model.n_labels
    theta[0] += start
    theta[-1] += end
    labelings, scores, every = [], [], product(range(K), repeat=len(x))
    if model.self_transitions:
        every = [code for y in every for code in with_splits(y, K)]
    for code in every:
        y = [k % K for k in code]
        score, allowed = theta[range(len(x)), y].sum(), True
        for (a, b), k in zip(pairwise(y), code[1:], strict=True):
            score += split[b] if k >= K else edge[a, b]
            allowed &= model.edge_mask is None or bool(model.edge_mask[a, b])
        if model.boundary_mask is not None:
            allowed &= bool(model.boundary_mask[0, y[0]] and model.boundary_mask[1, y[-1]])
        for first, stop, k in runs(code, K):
            allowed &= bool(model.least[k] <= stop - first <= model.most[k])
            if model.bins is not None:
                score += duration[k, np.searchsorted(model.bins, stop - first, side="right") - 1]
        tables, others = features_of(x, code, model.kinds, given, K)
        score += sum((a * b).sum() for a, b in zip(of_kinds, tables, strict=True))
        score += (others * layout.table(w, "segment")).sum()
        if allowed:
            labelings.append(code)
            scores.append(score)
    return np.array(labelings, dtype=np.int32).reshape(-1, len(x)), np.array(scores)
