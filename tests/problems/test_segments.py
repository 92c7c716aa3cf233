"""Test the contract of the problem of segments with durations."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sstruct._oracles.segment.duration_ranges import duration_ranges
from sstruct._problems.chain.chain_arguments import ChainRanges
from sstruct._problems.segment._segment_problem import NoSegmentationError, SegmentProblem
from sstruct._problems.segment.segment_arguments import (
    FEATURE_KINDS,
    SegmentLoss,
    SegmentModel,
    check_segment_loss,
    check_segment_rows,
    known_boundaries,
    runs_of,
)
from tests.problems.flat import with_records
from tests.problems.test_contract import (
    STORAGES,
    check_against_definition,
    check_distances,
    make_chains,
)
from tests.reference.brute_force import is_allowed
from tests.reference.segmentations import random_rows, rows_of
from tests.reference.segments import (
    boundary_loss,
    durations_of,
    features_of,
    is_within,
    labels_of,
    segment_loss,
    with_split_counts,
    with_splits,
)


def make_segments(rng, K, lengths, bins=(1, 2, 4), kinds=(), n_given=0, loss=None, longest=7,
                  splits=False, **options):  # fmt: skip
    """Return a problem and its parts as `make_chains` does; `bins` may be None.

    With `longest` 3, segments have at most two nodes, whose means are exact.
    """
    made = make_chains(rng, K, lengths, **options)
    more = {"kinds": kinds, "n_given": n_given, "loss": loss, "longest": longest, "splits": splits}
    arguments = made.arguments
    starts, ends, labels = (arguments[key] for key in ("starts_here", "ends_here", "labels"))
    most = rng.integers(2, longest, K)
    least = np.minimum(rng.integers(1, 3, K), most)
    allowed = [
        [
            y
            for labels_ in product(range(K), repeat=length)
            if is_allowed(labels_, made.model, s, e)
            for y in (with_splits(labels_, K) if splits else [labels_])
            if is_within(y, s, e, least, most)
        ]
        for length, s, e in zip(lengths, starts, ends, strict=True)
    ]
    if not all(allowed):
        return make_segments(rng, K, lengths, bins, **more, **options)
    codes = arguments["labels"] = labels.copy()
    for i, of_block in enumerate(allowed):
        own = slice(arguments["start"][i], arguments["start"][i] + lengths[i])
        codes[own] = of_block[rng.integers(len(of_block))]
        labels[own] = codes[own] % K
    limits = {"bins": None if bins is None else np.array(bins), "least": least, "most": most}
    limits |= {"kinds": kinds, "n_given": n_given, "self_transitions": splits}
    del arguments["copies_end"]
    own = {}
    if n_given:
        # One row before the blocks, and one after them.
        given = random_rows(rng, [1, *lengths, 1], n_given)
        own["given"] = replace(given, values=np.round(2 * given.values))

    def block_loss(i, y):
        return made.loss(i, labels_of(y, K))

    if loss is not None:
        first, length = np.asarray(arguments["start"]), np.asarray(lengths)
        own["segment_loss"] = SegmentLoss.from_labels(loss, codes, first, length, 1, K)
        arguments["cost"] = np.zeros((K, K))

        def block_loss(i, y):
            truth = codes[first[i] : first[i] + length[i]].tolist()
            of = segment_loss(truth, y, K) if loss == "segments" else boundary_loss(truth, y, 1, K)
            return arguments["loss_scale"][i] * of

    problem = SegmentProblem(
        **with_records(arguments | limits, chains=ChainRanges, model=SegmentModel), **own
    )
    X = arguments["X"]
    n_chain = K * problem.n_features

    has_weights = splits and made.model.transitions

    def chain_phi(i, y):
        found = made.phi(i, labels_of(y, K))
        return with_split_counts(found, y, made.model) if has_weights else found

    def phi(i, y):
        count = durations_of(y, starts[i], ends[i], bins or (), K) if bins else np.empty(0)
        if not kinds and not n_given:
            return np.r_[chain_phi(i, y), count]
        a, b = arguments["start"][i], arguments["start"][i] + lengths[i]
        x = np.asarray(X[a:b].todense() if sparse.issparse(X) else X[a:b], dtype=float)
        given = rows_of(own["given"], a, lengths[i]) if n_given else None
        tables, others = features_of(x, y, kinds, given, K, starts[i], ends[i])
        of_chain = chain_phi(i, y)
        tables = [table.ravel() for table in tables]
        return np.concatenate(
            [of_chain[:n_chain], *tables, of_chain[n_chain:], count, others.ravel()]
        )

    n_more = K * len(bins or ()) + K * n_given + K * has_weights
    n_chain = n_chain if kinds else 0
    w = np.concatenate([
        made.w[:n_chain], rng.integers(-4, 5, n_chain * len(kinds)), made.w[n_chain:],
        rng.integers(-4, 5, n_more),
    ]).astype(float)  # fmt: skip
    return SimpleNamespace(
        problem=problem,
        phi=phi,
        loss=block_loss,
        w=w,
        padded=problem.layout.padded(w),
        public=problem.layout.public,
        allowed=allowed,
    )


@pytest.mark.parametrize("K, lengths", [(1, (3, 2)), (2, (5, 2, 7)), (3, (4, 5)), (9, (3, 2))])
@pytest.mark.parametrize("bins", [(1, 2, 4), (1,), None])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("splits", [False, True])
def test_contract(rng, K, lengths, bins, masked, splits):
    made = make_segments(rng, K, lengths, bins, masked=masked, splits=splits)
    check_against_definition(made, rng)


@pytest.mark.parametrize(
    "options",
    [
        {"cuts": False},
        {"weighted": True},
        {"scored": True},
        {"tied": 2},
        {"switches": (False, True, False)},
        {"switches": (True, False, True)},
        *({"storage": storage, "dtype": dtype} for storage, dtype in STORAGES),
    ],
    ids=str,
)
@pytest.mark.parametrize("splits", [False, True])
def test_contract_of_other_terms(rng, options, splits):
    for _ in range(5):
        made = make_segments(rng, 3, (4, 2, 5), splits=splits, **options)
        check_against_definition(made, rng)


@pytest.mark.parametrize("kinds", [(kind,) for kind in FEATURE_KINDS] + [FEATURE_KINDS, ()])
@pytest.mark.parametrize("n_given", [0, 2])
@pytest.mark.parametrize("bins", [(1, 2), None])
@pytest.mark.parametrize("splits", [False, True])
def test_contract_of_features_of_segments(rng, kinds, n_given, bins, splits):
    options = {"kinds": kinds, "n_given": n_given, "longest": 3, "splits": splits}
    check_against_definition(make_segments(rng, 3, (4, 1, 5), bins, **options), rng)
    for storage, dtype in STORAGES:
        made = make_segments(rng, 2, (3, 4), bins, storage=storage, dtype=dtype, **options)
        check_against_definition(made, rng)


@pytest.mark.parametrize("loss", ["segments", "boundaries"])
@pytest.mark.parametrize("kinds", [(), FEATURE_KINDS])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("splits", [False, True])
def test_contract_of_losses_of_segments(rng, loss, kinds, masked, splits):
    longest = 3 if kinds else 7
    for lengths in ((5, 2, 6), (1, 4)):
        made = make_segments(
            rng, 3, lengths, kinds=kinds, loss=loss, longest=longest, masked=masked, splits=splits
        )
        check_against_definition(made, rng)


@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("groups", [None, np.array([[0, 1], [-1, 1]])])
def test_distances_of_few_and_many_differences(rng, groups, splits):
    """Compare codes that differ in few or many labels or, with splits, only in boundaries."""
    for length in (5, 60, 140):
        model = SegmentModel(
            2, bins=np.array([1, 3, 8]), least=np.array([1, 1]), most=np.array([200, 200]),
            self_transitions=splits, groups=groups,
        )  # fmt: skip
        X = rng.integers(-3, 4, (length, 2)).astype(float)
        problem = SegmentProblem(X, ChainRanges([0], [length]), model)
        codes = []
        for _ in range(4):
            labels = np.repeat(rng.integers(0, 2, length), rng.integers(1, 6, length))[:length]
            same = np.append(False, labels[1:] == labels[:-1])
            for share in (0.0, 0.3) if splits else (0.0,):
                codes.append(labels + 2 * (same & (rng.random(length) < share)))
        codes = np.array(codes, dtype=np.int32)
        for code in codes:
            problem.check_code(0, code)
        check_distances(problem, codes)


def test_invalid_codes_of_splits(rng):
    model = SegmentModel(2, least=np.array([1, 1]), most=np.array([3, 3]), self_transitions=True)
    codes = np.array([0, 0, 2, 1, 3], dtype=np.int32)
    problem = SegmentProblem(np.ones((5, 1)), ChainRanges([0], [5]), model, codes)
    problem.check_code(0, codes)
    assert problem.true_code(0).tolist() == codes.tolist()
    for wrong in ([2, 0, 0, 1, 1], [0, 0, 3, 1, 1], [0, 0, 0, 2, 3]):
        with pytest.raises(ValueError, match=r"which requires label [01] at the position before"):
            problem.check_code(0, np.array(wrong, dtype=np.int32))
    for wrong in ([0, 0, 0, 1, 4], [0, 0, 0, 1, -1]):
        with pytest.raises(ValueError, match="block 0: "):
            problem.check_code(0, np.array(wrong, dtype=np.int32))
    with pytest.raises(ValueError, match="which the limits of durations forbid"):
        problem.check_code(0, np.array([0, 0, 0, 0, 2], dtype=np.int32))
    with pytest.raises(ValueError, match="codes must be int32 and less than 4"):
        SegmentProblem(np.ones((5, 1)), ChainRanges([0], [5]), model, codes + 1)
    with pytest.raises(ValueError, match="require one state per label"):
        SegmentProblem(np.ones((5, 1)), ChainRanges([0], [5]), model, states_per_label=2)


def test_invalid_codes_and_blocks_without_a_segmentation(rng):
    model = SegmentModel(2, least=np.array([2, 2]), most=np.array([3, 3]))
    labels = np.array([0, 0, 0, 1, 1, 0, 0, 1], dtype=np.int32)
    problem = SegmentProblem(np.ones((8, 1)), ChainRanges([0], [7]), model, labels)
    problem.check_code(0, labels[:7])
    for wrong in ([0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1]):
        with pytest.raises(ValueError, match="which the limits of durations forbid"):
            problem.check_code(0, np.array(wrong, dtype=np.int32))
    short = SegmentProblem(np.ones((8, 1)), ChainRanges([0, 7], [7, 1]), model)
    with pytest.raises(NoSegmentationError, match="block 1 of 1 nodes has no allowed segm") as info:
        short.best_code(1, np.zeros(short.n_weights), 0.0)
    assert info.value.block == 1
    copies = ChainRanges([0, 3], [4, 4], copies_end=[True, False], ends_here=[False, True])
    with pytest.raises(ValueError, match="cannot be cut into windows"):
        SegmentProblem(np.ones((8, 1)), copies, model)
    with pytest.raises(ValueError, match="limits of durations of 2 labels, expected 3"):
        SegmentProblem(
            np.ones((8, 1)), ChainRanges([0], [4]), SegmentModel(3, least=[1, 1], most=[2, 2])
        )


def test_invalid_features_and_losses_of_segments():
    model = SimpleNamespace(n_given=1, most=np.array([2]))
    block = np.array([0]), np.array([3]), 3
    valid = {"values": np.zeros((5, 1)), "at": np.array([0, 2, 4]), "reach": np.array([2, 2, 1])}
    check_segment_rows(SimpleNamespace(**valid), model, *block)
    for change, message in (
        ({"values": np.zeros((5, 2))}, r"have shapes \(5, 2\) and .*, expected \(n_segments, 1\)"),
        ({"at": valid["at"][:2]}, r"have shapes \(5, 1\) and \(2,\), .* and \(3,\)"),
        ({"at": valid["at"] + 1}, "must refer to their 5 rows"),
        ({"reach": valid["reach"] - [0, 1, 0]}, "start at row 1 end at duration 1, expected a row"),
    ):
        with pytest.raises(ValueError, match=message):
            check_segment_rows(SimpleNamespace(**valid | change), model, *block)
    with pytest.raises(ValueError, match="has 1 given features of segments, but `given` is None"):
        check_segment_rows(None, model, *block)
    labels, windows = np.zeros(3, dtype=np.int32), np.zeros(3, dtype=np.int32)
    loss = SegmentLoss(np.array([1]), windows)
    check_segment_loss(loss, labels, *block[1:])
    with pytest.raises(ValueError, match="a loss of segments requires labels"):
        check_segment_loss(loss, None, *block[1:])
    for wrong in (SegmentLoss(np.array([1])), SegmentLoss(np.array([1, 1]), windows)):
        with pytest.raises(ValueError, match="must have n_true for each of 1 blocks, and windows"):
            check_segment_loss(wrong, labels, *block[1:])
    for bins, message in (([2, 3], "bins must be increasing"), ([1], "1 <= least <= most")):
        with pytest.raises(ValueError, match=message):
            duration_ranges(bins, [3], [2])


def test_runs_of_blocks():
    labels = np.array([9, 0, 0, 1, 1, 1, 9, 2, 1])
    first, stop, block = runs_of(labels, np.array([1, 4, 7]), np.array([3, 2, 2]))
    assert first.tolist() == [1, 3, 4, 7, 8]
    assert stop.tolist() == [3, 4, 6, 8, 9]
    assert block.tolist() == [0, 0, 1, 2, 2]
    assert [len(each) for each in runs_of(labels, np.array([]), np.array([]))] == [0, 0, 0]
    codes = np.array([0, 3, 0, 3, 3, 1])  # with K = 3, code 3 starts a segment of label 0
    first, stop, _ = runs_of(codes, np.array([0]), np.array([6]), 3)
    assert list(zip(first.tolist(), stop.tolist(), strict=True)) == [
        (0, 1), (1, 3), (3, 4), (4, 5), (5, 6)
    ]  # fmt: skip


def test_known_boundaries():
    codes = np.array([0, 0, 3, -1, 0, 0, 0, 1], dtype=np.int32)
    found = known_boundaries(codes, np.array([0, 0, 5, 8]), 3)
    # 6 + k continues the segment before, also after 3 + k; the last sample begins at node 5.
    assert found.tolist() == [0, 6, 3, -1, 0, 0, 6, 1]
    codes = np.array([0, 3, 0], dtype=np.int32)
    assert known_boundaries(codes, np.array([0, 3]), 3).tolist() == [0, 3, 6]
