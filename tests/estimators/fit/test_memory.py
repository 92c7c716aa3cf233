"""Memory grows with the sequences, not with sequences times weights."""

import subprocess
import sys

import pytest

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
