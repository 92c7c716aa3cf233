"""Test that memory-mapped features give equal results and are not copied."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, MulticlassSSVM, MultilabelSSVM, Sequences
from sstruct._estimators.core import fit_warnings
from sstruct._problems.core._rows import is_mapped
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._snapshot import snapshot
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct.mapped import open_mapped
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import assert_same_bits
from tests.solvers.small import Small

L, K = 5, 4


def make_chains(rng, n=80, d=12, dtype=np.float32):
    labels = rng.integers(0, K, n * L)
    centers = rng.standard_normal((K, d))
    X = (centers[labels] + 1.5 * rng.standard_normal((n * L, d))).astype(dtype)
    return X, labels, np.arange(n + 1) * L


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_mapped_features_give_the_same_bits(rng, tmp_path, kind, dtype):
    X, y, offsets = make_chains(rng, dtype=dtype)
    if kind == "csr":
        X = sparse.csr_matrix(np.where(np.abs(X) > 1.5, X, 0).astype(dtype))
        sparse.save_npz(tmp_path / "X.npz", X, compressed=False)
        mapped = open_mapped(tmp_path / "X.npz")
        assert all(is_mapped(part) for part in (mapped.data, mapped.indices, mapped.indptr))
        assert (mapped != X).nnz == 0
    else:
        np.save(tmp_path / "X.npy", X)
        mapped = open_mapped(tmp_path / "X.npy")
        assert is_mapped(mapped)
        assert is_mapped(np.asarray(mapped)[3:])
    assert mapped.dtype == dtype
    labels = Sequences(y, offsets)
    keywords = {"lam": 0.01, "tol": 0.03, "random_state": 0}
    with sklearn.config_context(working_memory=1024):
        chains = ChainSSVM(pairwise_scale=1, **keywords).fit(Sequences(mapped, offsets), labels)
        assert_same_bits(
            chains, ChainSSVM(pairwise_scale=1, **keywords).fit(Sequences(X, offsets), labels)
        )
        rows = MulticlassSSVM(**keywords).fit(mapped, y)
        assert_same_bits(rows, MulticlassSSVM(**keywords).fit(X, y))
    # Beyond the limit, sampling is sequential in both fits.
    with sklearn.config_context(working_memory=1e-4):
        chains = ChainSSVM(pairwise_scale=1, **keywords).fit(Sequences(mapped, offsets), labels)
        other = ChainSSVM(pairwise_scale=1, solver=MPBCFW(sampling="sequential"), **keywords).fit(
            Sequences(X, offsets), labels
        )
        assert_same_bits(chains, other)
        default = ChainSSVM(pairwise_scale=1, **keywords).fit(Sequences(X, offsets), labels)
        assert not np.array_equal(default.w_, other.w_)
        assert chains.status_ == other.status_ == default.status_ == "CONVERGED"
        assert chains.dual_objective_ <= default.objective_ * (1 + 1e-12)
        assert default.dual_objective_ <= chains.objective_ * (1 + 1e-12)
        rows = MulticlassSSVM(**keywords).fit(mapped, y)
        assert_same_bits(
            rows, MulticlassSSVM(solver=MPBCFW(sampling="sequential"), **keywords).fit(X, y)
        )
    np.testing.assert_array_equal(rows.predict(mapped), rows.predict(X))
    assert chains.score(Sequences(mapped, offsets), labels) == other.score(
        Sequences(X, offsets), labels
    )


def test_auto_is_sequential_for_mapped_label_sets(rng, tmp_path):
    X, y, _ = make_chains(rng, n=20)
    Y = np.eye(K, dtype=int)[y]
    np.save(tmp_path / "X.npy", X)
    model = MultilabelSSVM(tol=1e-3, random_state=0)
    for memory in (1e-3, 0):
        with sklearn.config_context(working_memory=memory):
            auto = clone(model).fit(open_mapped(tmp_path / "X.npy"), Y)
            assert_same_bits(
                auto, clone(model).set_params(solver=MPBCFW(sampling="sequential")).fit(X, Y)
            )
            assert not np.array_equal(auto.w_, clone(model).fit(X, Y).w_)


def test_scales_of_mapped_features_are_not_checked(rng, tmp_path, monkeypatch):
    X, y, offsets = make_chains(rng, n=20)
    np.save(tmp_path / "X.npy", X)
    checked = []
    monkeypatch.setattr(fit_warnings.Scales, "from_arrays", lambda *rows: checked.append(rows))
    for rows in (X, open_mapped(tmp_path / "X.npy")):
        ChainSSVM(tol=0.5, random_state=0).fit(Sequences(rows, offsets), Sequences(y, offsets))
        assert len(checked) == 1  # those in memory


def test_shards_are_visited_one_after_another(rng):
    n = 64 * 3 - 10
    small = Small(rng, n=n)
    state, pool, orders = small.state(), ThreadPool(small.problem, 1), []
    for number in (1, 2):
        plan = PassPlan(StepKind.FW, Sampling.SEQUENTIAL, number, 0, np.inf)
        exact_pass(state, pool, plan, False)
        orders.append(snapshot(state)["order"].tolist())
    for order in orders:
        assert sorted(order) == list(range(n))
        shards = [i // 3 for i in order]
        assert shards == sorted(shards)
        assert order != sorted(order)
    assert orders[0] != orders[1]


def test_error_locates_an_invalid_value(rng, tmp_path):
    X, y, offsets = make_chains(rng, n=20)
    X[37, 3] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X\[7\] contains NaN or infinity at node 2"):
        ChainSSVM().fit(Sequences(open_mapped(tmp_path / "X.npy"), offsets), Sequences(y, offsets))


def test_files_that_cannot_be_mapped(rng, tmp_path):
    X = sparse.random(20, 10, 0.3, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "c.npz", X)
    sparse.save_npz(tmp_path / "csc.npz", X.tocsc(), compressed=False)
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    for name, message in [
        ("c.npz", "compressed=False"),
        ("csc.npz", "format 'csc', expected 'csr'"),
        ("a.npz", "not a SciPy sparse matrix: the entry 'data' is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            open_mapped(tmp_path / name)


@pytest.mark.parametrize("dtype", [object, [("number", float), ("name", object)]])
def test_files_with_objects(tmp_path, dtype):
    np.save(tmp_path / "X.npy", np.zeros(3, dtype=dtype))
    with pytest.raises(ValueError, match=r"cannot map .*X.npy: the array contains Python objects"):
        open_mapped(tmp_path / "X.npy")


def test_files_of_empty_matrices_and_other_formats(tmp_path):
    sparse.save_npz(tmp_path / "X.npz", sparse.csr_array((3, 2)), compressed=False)
    assert open_mapped(tmp_path / "X.npz").toarray().tolist() == [[0, 0]] * 3
    with open(tmp_path / "X.npy", "wb") as file:
        np.lib.format.write_array(file, np.eye(2), version=(3, 0))
    with pytest.raises(ValueError, match=r"the array has format \(3, 0\), expected \(1, 0\) or"):
        open_mapped(tmp_path / "X.npy")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_error_names_damaged_file(tmp_path, kind):
    path = tmp_path / "damaged"
    with open(path, "wb") as file:
        if kind == "dense":
            np.save(file, np.eye(3))
        else:
            sparse.save_npz(file, sparse.csr_matrix(np.eye(3)), compressed=False)
    valid = path.read_bytes()
    messages = []
    for at in range(0, len(valid), 11):
        for text in (valid[:at], valid[:at] + b"\xff" + valid[at + 1 :]):
            path.write_bytes(text)
            try:
                open_mapped(path)
            except ValueError as error:
                messages.append(str(error))
    assert len(messages) > 10
    assert all(message.startswith(f"cannot map {path}: ") for message in messages)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="damaged"):
        open_mapped(path)


@pytest.mark.parametrize("shape", [4, [np.inf, 3], [-3, 3], [3, 3, 3], [10**12, 3]])
def test_invalid_shapes(tmp_path, shape):
    X = sparse.csr_matrix(np.eye(3))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "format": "csr"}
    np.savez(tmp_path / "X.npz", shape=shape, **parts)
    with pytest.raises(ValueError, match=r"the matrix has the shape|indptr has shape"):
        open_mapped(tmp_path / "X.npz")


MEASURE = """
import sys, threading, time
import numpy as np
from sstruct import ChainSSVM, MulticlassSSVM, Sequences
from sstruct.mapped import open_mapped

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) / 1024

X, y = open_mapped(sys.argv[1]), np.load(sys.argv[2])
offsets = np.arange(len(y) // 5 + 1) * 5
before = peak = anonymous()
done = False
def watch():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
keywords = dict(lam=0.01, tol=0.5, max_iter=3, random_state=0)
chains = Sequences(X, offsets)
ChainSSVM(**keywords).fit(chains, Sequences(y, offsets)).predict(chains)
MulticlassSSVM(**keywords).fit(X, y).predict(X)
done = True
thread.join()
print(peak - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_features_on_disk_are_not_copied(rng, tmp_path):
    X, y, _ = make_chains(rng, n=3000, d=1500)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    command = [sys.executable, "-W", "ignore", "-c", MEASURE]
    done = subprocess.run(
        [*command, tmp_path / "X.npy", tmp_path / "y.npy"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # The features take 86 MB; the rest are working sets, labels and buffers of products.
    assert X.nbytes > 85 * 2**20
    assert float(done.stdout) < 50
