"""Test shards, consecutive blocks whose features fit in memory."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges, EdgeFeatureRows
from sstruct._problems.core._rows import FeatureRows
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._problems.tree._tree_problem import TreeProblem
from sstruct._problems.tree.tree_arguments import TreeStates
from sstruct._solvers.frank_wolfe.shards import shards_of


def chain_problem(X, lengths, start=None):
    start = np.r_[0, np.cumsum(lengths)[:-1]] if start is None else start
    return ChainProblem(X, ChainRanges(start, lengths), ChainModel(2), np.zeros(X.shape[0]))


def spans(shards):
    return [(shard.first, shard.last) for shard in shards]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 3000), st.booleans())
def test_shards_cover_all_blocks_and_respect_the_size(lengths, most, as_sparse):
    rng = np.random.default_rng(len(lengths))
    X = rng.standard_normal((sum(lengths), 5)).astype(np.float32)
    sizes = np.array(lengths) * 20
    if as_sparse:
        X = sparse.csr_matrix(np.where(X > 0, X, 0))
        ends = np.cumsum(lengths)
        sizes = 8 * (X.indptr[ends] - X.indptr[np.r_[0, ends[:-1]]])
    shards = shards_of(chain_problem(X, lengths), most)
    cuts = [shard.first for shard in shards] + [len(lengths)]
    assert cuts[0] == 0
    assert cuts == sorted(set(cuts))
    assert [shard.last for shard in shards] == cuts[1:]
    for shard in shards:
        size = sizes[shard.first : shard.last].sum()
        assert shard.n_bytes == size
        assert size <= max(most, sizes.mean()) + sizes.max()
    rows = [rows for shard in shards for _, *rows in shard.rows]
    assert [first for first, _ in rows] == [0] + [last for _, last in rows[:-1]]
    assert rows[-1][1] == X.shape[0]


def test_size_includes_edge_features():
    lengths = np.full(10, 3)
    X, edges = np.zeros((30, 4)), np.zeros((20, 8))
    starts = np.arange(10) * 3
    plain = chain_problem(X, lengths)
    assert spans(shards_of(plain, 30 * 4 * 8 / 2)) == [(0, 5), (5, 10)]
    assert shards_of(SlackProblem(plain), 500)[0].n_bytes == shards_of(plain, 500)[0].n_bytes
    both = EdgeFeatureChainProblem(
        X, ChainRanges(starts, lengths), ChainModel(2), np.zeros(30),
        edges=EdgeFeatureRows(edges, np.arange(10) * 2),
    )  # fmt: skip
    shards = shards_of(both, (X.nbytes + edges.nbytes) / 2)
    assert spans(shards) == [(0, 5), (5, 10)]
    assert [rows[1:] for rows in shards[1].rows] == [(15, 30), (10, 20)]


def test_shards_of_trees():
    start = np.array([[0, 2, 5], [5, 7, 8], [8, 9, 12]])
    problem = TreeProblem(
        np.zeros((12, 3)), TreeStates(start, positions=np.zeros((12, 2))), [-1, 0]
    )
    shards = shards_of(problem, 12 * 3 * 8 / 2)
    assert [rows[1:] for shard in shards for rows in shard.rows] == [(0, 8), (8, 12)]


def test_single_shard_without_limit_or_with_unordered_rows():
    X, lengths = np.zeros((30, 4)), np.full(10, 3)
    assert spans(shards_of(chain_problem(X, lengths), np.inf)) == [(0, 10)]
    backwards = chain_problem(X, lengths, np.arange(10)[::-1] * 3)
    assert spans(shards_of(backwards, 100)) == [(0, 10)]
    # If the limit is less than the size of a block, each block is a shard.
    assert spans(shards_of(chain_problem(X, lengths), 1e-9)) == [(i, i + 1) for i in range(10)]


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc")
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_preload_reads_only_the_given_rows(tmp_path, kind):
    path, n = tmp_path / "X.npy", 4000
    np.save(path, np.ones((n, 512)))
    X = np.load(path, mmap_mode="r")
    if kind == "csr":
        matrix = sparse.csr_matrix((n, 512))
        matrix.data, matrix.indptr = X.reshape(-1), np.arange(n + 1) * 512
        matrix.indices = np.tile(np.arange(512, dtype=np.int32), n)
        rows = FeatureRows(matrix)
        # Values that are all 1 do not count: only 4-byte indices are stored.
        assert rows.bytes_before(np.array([2]))[0] == 2 * 512 * 4
        rows.preload(0, n)
        return

    def resident():
        maps = re.split(r"\n(?=[0-9a-f]+-)", Path("/proc/self/smaps").read_text())
        (text,) = (text for text in maps if str(path) in text.split("\n")[0])
        return int(re.search(r"Rss: +(\d+) kB", text)[1]) * 1024

    rows = FeatureRows(X)
    before = resident()
    rows.preload(n // 4, n // 2)
    assert X.nbytes // 4 <= resident() - before < X.nbytes * 3 // 4
    FeatureRows(np.ones((3, 2))).preload(0, 3)
