"""Test sums, max-marginals and probabilities of segments against enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sstruct._problems.chain.chain_arguments import ChainRanges
from sstruct._problems.core._sums import sum_blocks
from sstruct._problems.segment._segment_problem import NoSegmentationError, SegmentProblem
from sstruct._problems.segment._segment_sums import SegmentSums, segment_top_k
from sstruct._problems.segment.segment_arguments import SegmentModel
from tests.problems.draws import check_draws
from tests.reference.segmentations import Segmentations
from tests.reference.segments import runs

SCALE = 0.7


def marginals_of(labelings, values, n_labels, total):
    """Return `total` of the values of labelings with each label at each node; -inf if none."""
    out = np.full((labelings.shape[1], n_labels), -np.inf)
    for at in np.ndindex(*out.shape):
        some = values[labelings[:, at[0]] % n_labels == at[1]]
        if len(some):
            out[at] = total(some)
    return out


def split(made, values):
    """Return the marginals of each sequence."""
    sizes = np.asarray(made.problem.code_sizes()) * made.problem.n_labels
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return [part.reshape(-1, made.problem.n_labels) for part in parts]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("scale", [SCALE, 1000.0, 1e-3])
def test_sums_equal_enumeration(seed, scale):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        made = Segmentations.random(rng)
        value, found = sum_blocks(SegmentSums(made.problem), made.w, scale, marginals=True)
        for i, here in enumerate(split(made, found)):
            scores = scale * made.scores[i]
            assert value[i] == pytest.approx(logsumexp(scores) if len(scores) else -np.inf)
            if len(scores):
                log_p, K = scores - logsumexp(scores), made.problem.n_labels
                want = np.exp(marginals_of(made.labelings[i], log_p, K, logsumexp))
                np.testing.assert_allclose(here, want, rtol=1e-9, atol=1e-250)


@pytest.mark.parametrize("seed", range(40))
def test_max_marginals_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng)
        problem = SegmentSums(made.problem, maxima=True)
        value, found = sum_blocks(problem, made.w, 1.0, marginals=True)
        for i, here in enumerate(split(made, found)):
            scores, K = made.scores[i], made.problem.n_labels
            assert value[i] == pytest.approx(scores.max(initial=-np.inf), abs=1e-12)
            if len(scores):
                want = marginals_of(made.labelings[i], scores, K, np.max)
                np.testing.assert_allclose(here, want, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_rankings_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng, scale=rng.choice([2.0, 0.0]))
        k = int(rng.choice([1, 3, 10, 10_000]))
        if not all(map(len, made.scores)):
            with pytest.raises(NoSegmentationError):
                segment_top_k(SegmentSums(made.problem), made.w, k)
            continue
        ranked = segment_top_k(SegmentSums(made.problem), made.w, k)
        for (codes, values), y, scores in zip(ranked, made.labelings, made.scores, strict=True):
            order = np.argsort(-scores, kind="stable")[:k]
            np.testing.assert_allclose(values, scores[order], atol=1e-12)
            assert (np.diff(values) <= 0).all()
            at = {tuple(labels): score for labels, score in zip(y.tolist(), scores, strict=True)}
            found = list(map(tuple, codes.tolist()))
            assert len(set(found)) == len(found)
            np.testing.assert_allclose([at[labels] for labels in found], values, atol=1e-12)


def random_known_codes(rng, made):
    """Return a known code, or -1, for each node."""
    size, K = np.sum(made.problem.code_sizes()), made.problem.n_labels
    n_known = (3 if made.model.self_transitions else 1) * K
    return np.where(rng.random(size) < 0.4, rng.integers(0, n_known, size), -1)


@pytest.mark.parametrize("seed", range(20))
def test_known_codes_clamp_decoding_and_rankings(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng)
        sizes, known = made.problem.code_sizes(), random_known_codes(rng, made)
        found = [made.given(i, own) for i, own in enumerate(np.split(known, np.cumsum(sizes)[:-1]))]
        if not all(len(y) for y, _ in found):
            continue
        problem = SegmentProblem(**(made.arguments | {"known": known.astype(np.int32)}))
        ranked = segment_top_k(SegmentSums(problem), made.w, 10**6)
        for i, ((y, scores), (codes, values)) in enumerate(zip(found, ranked, strict=True)):
            assert sorted(codes.tolist()) == sorted(y.tolist())
            np.testing.assert_allclose(values, np.sort(scores)[::-1], atol=1e-12)
            best, value, _, _ = problem.best_code(i, made.w, 0.0)
            assert value == pytest.approx(scores.max(), abs=1e-12)
            assert best.tolist() in y[scores > scores.max() - 1e-9].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_known_labels_clamp_the_sum(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        made = Segmentations.random(rng)
        sizes, K = made.problem.code_sizes(), made.problem.n_labels
        known = random_known_codes(rng, made)
        sums = SegmentSums(made.problem)
        value, found = sum_blocks(sums, made.w, SCALE, known=known, marginals=True)
        parts = zip(np.split(known, np.cumsum(sizes)[:-1]), split(made, found), strict=True)
        for i, (own, here) in enumerate(parts):
            y, scores = made.given(i, own)
            want = logsumexp(SCALE * scores) if len(scores) else -np.inf
            assert value[i] == pytest.approx(want, rel=1e-10, abs=1e-10)
            if len(scores):
                log_p = SCALE * scores - want
                marginals = np.exp(marginals_of(y, log_p, K, logsumexp))
                np.testing.assert_allclose(here, marginals, rtol=1e-9, atol=1e-250)


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_of_segments_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        made = Segmentations.random(rng)
        rows, p, best = [], [], []
        for i, (y, scores) in enumerate(zip(made.labelings, made.scores, strict=True)):
            spans = [runs(code.tolist(), made.problem.n_labels) for code in y]
            L, total = y.shape[1], logsumexp(SCALE * scores) if len(scores) else 0
            for start, stop, k in np.ndindex(L, L + 1, made.problem.n_labels):
                if start < stop:
                    has = np.array([(start, stop, k) in own for own in spans], dtype=bool)
                    rows.append((i, start, stop, k))
                    p.append(np.exp(SCALE * scores[has] - total).sum())
                    best.append(scores[has].max(initial=-np.inf))
        sums, maxima = SegmentSums(made.problem), SegmentSums(made.problem, maxima=True)
        np.testing.assert_allclose(sums.of_segments(made.w, SCALE, rows), p, rtol=1e-9)
        np.testing.assert_allclose(maxima.of_segments(made.w, 1.0, rows), best, atol=1e-12)


def long_problem(rng, lengths, K=3, bins=(1, 2, 5, 9, 30), most=(2**60, 25, 40), splits=False):
    """Return a problem of sequences whose windows of durations span several blocks."""
    model = SegmentModel(
        K, bins=np.array(bins), least=np.array([1, 3, 2][:K]), most=np.array(most[:K]),
        self_transitions=splits,
    )  # fmt: skip
    lengths = np.array(lengths)
    X = rng.standard_normal((lengths.sum(), 2))
    problem = SegmentProblem(X, ChainRanges(np.cumsum(lengths) - lengths, lengths), model)
    w = problem.layout.padded(rng.standard_normal(problem.layout.public_size))
    return problem, w, X, model


def lattice(x, layout, w, model, known, join):
    """Return the total and the marginals of a sequence, by a loop over all pairs of ends.

    join : ufunc, numpy.maximum or numpy.logaddexp
    """
    names = "coef", "intercept", "start", "end", "edge", "self_transition", "duration"
    node, bias, start, end, edge, split, duration = (layout.table(w, name) for name in names)
    theta, L, K = x @ node.T + bias, len(x), model.n_labels
    split = split if model.self_transitions else -np.inf
    theta[0] += start
    theta[-1] += end
    theta[(known[:, np.newaxis] >= 0) & (known[:, np.newaxis] != np.arange(K))] = -np.inf

    def segments(k):
        for s in range(L):
            for e in range(s + model.least[k], min(L, s + model.most[k]) + 1):
                bin_ = np.searchsorted(model.bins, e - s, side="right") - 1
                score = theta[s:e, k].sum() + (e - s - 1) * edge[k, k] + duration[k, bin_]
                if score > -np.inf:
                    yield s, e, score

    found = [(s, e, k, score) for k in range(K) for s, e, score in segments(k)]
    before, after = np.full((2, L + 1, K), -np.inf)
    step = np.where(np.eye(K, dtype=bool), split, edge)
    for s, e, k, score in sorted(found):
        enter = 0 if s == 0 else join.reduce(before[s] + step[:, k])
        before[e, k] = join(before[e, k], enter + score)
    after[L] = 0
    for s, e, k, score in sorted(found, key=lambda each: -each[1]):
        for j in range(K if s > 0 else 0):
            after[s, j] = join(after[s, j], step[j, k] + score + after[e, k])
    out = np.full((L, K), -np.inf)
    for s, e, k, score in found:
        enter = 0 if s == 0 else join.reduce(before[s] + step[:, k])
        out[s:e, k] = join(out[s:e, k], enter + score + after[e, k])
    return join.reduce(before[L]), out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("maxima", [False, True])
@pytest.mark.parametrize("splits", [False, True])
def test_long_sequences_equal_sums_over_pairs(seed, maxima, splits):
    rng = np.random.default_rng(seed)
    lengths = [70, 31, 9]
    problem, w, X, model = long_problem(rng, lengths, splits=splits)
    known = np.where(rng.random(len(X)) < 0.04, 0, -1)
    scale, join = (1.0, np.maximum) if maxima else (SCALE, np.logaddexp)
    value, found = sum_blocks(SegmentSums(problem, maxima), w, scale, known=known, marginals=True)
    at = 0
    for i, length in enumerate(lengths):
        own = slice(at, at + length)
        total, want = lattice(X[own], problem.layout, scale * w, model, known[own], join)
        assert value[i] == pytest.approx(total, rel=1e-12)
        here = found.reshape(-1, 3)[own]
        if maxima:
            np.testing.assert_allclose(here, want, rtol=1e-11)
        else:
            np.testing.assert_allclose(here, np.exp(want - total), rtol=1e-8, atol=1e-200)
        at += length


@pytest.mark.parametrize("splits", [False, True])
def test_long_rankings_agree_with_the_decoder(rng, splits):
    problem, w, _, _ = long_problem(rng, [200, 64, 1], splits=splits)
    ranked = segment_top_k(SegmentSums(problem), w, 200)
    for i, (codes, values) in enumerate(ranked[:2]):
        best, value, _, _ = problem.best_code(i, w, 0.0)
        # With splits, several segmentations may have the best score.
        assert splits or codes[0].tolist() == best.tolist()
        assert values[0] == pytest.approx(value, rel=1e-12)
        assert len({tuple(labels) for labels in codes.tolist()}) == len(codes) == 200
        assert (np.diff(values) <= 0).all()


def test_samples_follow_the_distribution():
    rng, n_draws = np.random.default_rng(1), 20_000
    for _ in range(6):
        made = Segmentations.random(rng, max_nodes=5, scale=1.0)
        seeds = rng.integers(0, 2**63, 3).astype(np.uint64)
        _, codes = sum_blocks(
            SegmentSums(made.problem), made.w, SCALE, n_draws=n_draws, seeds=seeds
        )
        sizes = np.asarray(made.problem.code_sizes())
        parts = np.split(codes, n_draws * np.cumsum(sizes)[:-1])
        for y, scores, drawn in zip(made.labelings, made.scores, parts, strict=True):
            if len(scores) == 0:
                continue
            # Draws are the labels of nodes, which several segmentations may have.
            labels = y % made.problem.n_labels
            check_draws(drawn.reshape(n_draws, -1), labels, SCALE * scores)


@pytest.mark.parametrize("maxima", [False, True])
def test_results_do_not_depend_on_the_number_of_threads(rng, maxima):
    problem, w, _, _ = long_problem(rng, rng.integers(1, 60, 150))
    problem = SegmentSums(problem, maxima)
    seeds = np.arange(150, dtype=np.uint64)
    for request in ({"marginals": True}, {"n_draws": 3, "seeds": seeds}):
        if maxima and "seeds" in request:
            continue
        one = sum_blocks(problem, w, 1.0, 1, **request)
        for threads in (2, 4):
            for a, b in zip(one, sum_blocks(problem, w, 1.0, threads, **request), strict=True):
                np.testing.assert_array_equal(a, b)


def test_gradients_are_expectations(rng):
    """Compare derivatives of log Z by weights of nodes and durations with finite differences."""
    for _ in range(5):
        problem, w, X, model = long_problem(rng, [23])
        sums, layout = SegmentSums(problem), problem.layout
        p = sum_blocks(sums, w, 1.0, marginals=True)[1].reshape(-1, 3)
        ends = [(s, e) for s in range(23) for e in range(s + 1, 24)]
        rows = np.array([(0, s, e, k) for k in range(3) for s, e in ends])
        of_rows = sums.of_segments(w, 1.0, rows)
        bins = np.searchsorted(model.bins, rows[:, 2] - rows[:, 1], side="right") - 1
        expected = np.zeros((3, len(model.bins)))
        np.add.at(expected, (rows[:, 3], bins), of_rows)
        for name, gradient in (("coef", p.T @ X), ("duration", expected)):
            for at in np.ndindex(*gradient.shape):
                values = []
                for change in (1e-5, -1e-5):
                    moved = w.copy()
                    layout.table(moved, name)[at] += change
                    values.append(sum_blocks(sums, moved, 1.0)[0][0])
                difference = (values[0] - values[1]) / 2e-5
                assert difference == pytest.approx(gradient[at], abs=1e-7)


def test_invalid_requests(rng):
    problem, w, _, _ = long_problem(rng, [4, 3])
    sums = SegmentSums(problem)
    for rows in ([(0, 0, 5, 0)], [(0, 2, 2, 0)], [(2, 0, 1, 0)], [(0, 0, 1, 3)], [(0, -1, 1, 0)],
                 [(1, 0, 1, 0), (0, 0, 1, 0)]):  # fmt: skip
        with pytest.raises(ValueError, match="segments must be rows"):
            sums.of_segments(w, 1.0, rows)
    with pytest.raises(ValueError, match="weights, expected"):
        segment_top_k(sums, w[1:], 1)
    cut = ChainRanges([0, 4], [4, 3], ends_here=[False, True])
    with pytest.raises(ValueError, match="require whole sequences"):
        SegmentSums(problem.with_chains([0, 1], chains=cut))
    with pytest.raises(TypeError, match="expected a SegmentProblem, found SegmentSums"):
        SegmentSums(sums)
