"""Memory grows with the number of sequences, but not with sequences times weights."""

import subprocess
import sys
import tracemalloc
import warnings

import pytest
from scipy import sparse

from sstruct import ChainSSVM, Sequences

SCRIPT = """
import gc, warnings
import numpy as np
from sstruct import ChainSSVM, Sequences
from sstruct._estimators.chain.chain_structure import ChainStructure

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096

rng = np.random.default_rng(0)
n, K, F = 100_000, 10, 20
lengths = rng.integers(3, 12, n)
X = Sequences.from_lengths(rng.normal(size=(lengths.sum(), F)), lengths)
y = Sequences.from_lengths(rng.integers(0, K, lengths.sum()), lengths)
warnings.simplefilter("ignore")
ChainSSVM(max_iter=1).fit(X[:100], y[:100])
gc.collect()
before = resident()

# The working sets are largest when the solver has just stopped.
describe = ChainStructure.describe
def spy(self, attributes):
    print((resident() - before) / n)
    return describe(self, attributes)

ChainStructure.describe = spy
model = ChainSSVM(loss="hamming", lam=1 / n, max_iter=10, random_state=0).fit(X, y)
assert model.n_iter_ == 10, model.status_
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_2_kilobytes_a_short_sequence():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 2048


@pytest.mark.parametrize("pairwise_scale", [1.0, "auto"])
def test_a_fit_with_rare_features_needs_one_vector_of_all_weights(rng, pairwise_scale):
    n, n_features, n_labels = 50, 100_000, 8
    density = 20 / n_features
    rows = sparse.random(6 * n, n_features, density, format="csr", random_state=0)
    X, y = Sequences.from_lengths(rows, [6] * n), rng.integers(n_labels, size=(n, 6)).tolist()
    model = ChainSSVM(pairwise_scale=pairwise_scale, max_iter=6, tol=1e-9, random_state=0)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The rest are mainly sums for the default lam, vectors of one number for each feature.
    assert peak < 1.8 * 8 * n_features * n_labels
