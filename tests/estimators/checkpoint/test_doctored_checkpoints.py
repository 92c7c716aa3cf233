"""Modified checkpoints raise an error that names the file and the field, or are harmless."""

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, GraphCRFSSVM, MulticlassSSVM
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._solvers.core.checkpoint import Checkpoint
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import check_resuming

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def read(content):
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(arrays.pop("notes").tobytes())


def write(path, arrays, notes):
    np.savez(path, notes=np.frombuffer(json.dumps(notes).encode(), dtype=np.uint8), **arrays)


@pytest.fixture
def data(rng):
    return rng.standard_normal((30, 3)), np.r_[np.arange(4), rng.integers(0, 4, 26)]


@pytest.fixture
def kept(data, tmp_path):
    """Return a model whose fit has saved a checkpoint, with its path, arrays and notes."""
    path = tmp_path / "fit.npz"
    model = MulticlassSSVM(
        lam=0.05, tol=0, max_iter=3, random_state=0, solver=MPBCFW(average=True, checkpoint=path)
    )
    clone(model).fit(*data)
    return model, path, *read(path.read_bytes())


def changed(array, at, value):
    out = array.copy()
    out[at] = value
    return out


def test_overflowing_counts(kept, data):
    model, path, arrays, notes = kept
    with np.errstate(over="ignore"):
        arrays["size"][:4] += 2**62  # the sum modulo 2**64 is unchanged
    assert arrays["size"].sum() == len(arrays["alpha"])
    write(path, arrays, notes)
    with pytest.raises(ValueError, match=r"fit\.npz is damaged.*: size: entry"):
        model.fit(*data)


def test_other_files(kept, data):
    model, path, arrays, notes = kept
    more = {f"more{k}": np.zeros(1) for k in range(200)}
    for content, message in (
        ((arrays, {**notes, "format": 0}), "was written by another version of sstruct. Remove it"),
        ((arrays, [notes]), "is damaged, or is not a checkpoint of sstruct: 'notes' is not a dict"),
        ((arrays | more, notes), r"found \d+ fields, expected at most"),
    ):
        write(path, *content)
        with pytest.raises(ValueError, match=message):
            clone(model).fit(*data)


class BytesPath:
    def __fspath__(self):
        return b"fit"


CHANGES = {
    "size": lambda a: changed(a, 0, 0),
    "alpha": lambda a: changed(a, slice(None), np.nan),
    "code": lambda a: changed(a, -1, 99),
    "last_active": lambda a: changed(a, 0, -3),
    "spread": lambda a: changed(a, 0, np.nan),
    "weights": lambda a: a[1:],
    "gap_estimates": lambda a: a.astype(np.float32),
    "working_gaps": lambda a: changed(a, 0, -1),
    "order": lambda a: a * 0,
    "shard_order": lambda a: a + 1,
    "random": lambda a: a * 0,
    "values": lambda a: changed(a, 0, np.inf),
    "counts": lambda a: changed(a, 0, 2**62),
    "exact_offset": lambda a: changed(a, 0, np.nan),
    "exact_numbers": lambda a: changed(a, 0, 0),
    "history_passes": lambda a: a + 1,
    "history_primal": lambda a: a[:-1],
    "hidden": lambda a: np.ones(3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_is_checked_and_named(kept, data, name):
    model, path, arrays, notes = kept
    for array in (CHANGES[name](arrays[name]), arrays[name].astype(np.complex64), None):
        damaged = {**arrays, name: array}
        if array is None:
            del damaged[name]
        write(path, damaged, notes)
        other = "alpha|size" if name == "alpha" else name
        with pytest.raises(ValueError, match=rf"fit\.npz.*({other}|block 29: label)"):
            clone(model).fit(*data)


@pytest.mark.parametrize(
    "name, value",
    [
        ("n_passes", 10**30),
        ("n_passes", 2.0),
        ("seconds", float("nan")),
        ("certificate_seconds", None),
        ("n_approximate", -1),
        ("visits_all", 3),
        ("stalled", 3),
        ("gap_ratio", "x"),
    ],
)
def test_notes_are_checked_and_set_nothing_else(kept, data, name, value):
    model, path, arrays, notes = kept
    write(path, arrays, {**notes, name: value})
    with pytest.raises(ValueError, match=rf"fit\.npz is damaged.*: {name} is"):
        clone(model).fit(*data)
    write(path, arrays, {**notes, "lam": 7.0, "state": None})
    assert clone(model).set_params(max_iter=5).fit(*data).n_iter_ == 5


def test_certificate_ignores_losses_w_and_dual_of_the_file(kept, data):
    model, path, arrays, notes = kept
    assert "loss" not in arrays
    arrays["loss"] = np.full(len(arrays["alpha"]), 1e3)
    arrays["values"][:2] = 1e3
    arrays["weights"] += 100.0
    write(path, arrays, notes)
    fitted = clone(model).set_params(max_iter=4).fit(*data)
    optimum = clone(model).set_params(max_iter=1000, tol=1e-6, solver__checkpoint=None).fit(*data)
    assert fitted.dual_objective_ <= optimum.objective_
    X, y = data
    scores = X @ fitted.coef_.T + fitted.intercept_
    hinge = (scores + (np.arange(4) != y[:, None])).max(axis=1) - scores[np.arange(30), y]
    primal = 0.025 * (fitted.w_ @ fitted.w_) + hinge.mean()
    assert fitted.objective_ == pytest.approx(primal, rel=1e-12)


def test_compressed_files_and_wrong_sizes(kept, data):
    model, path, *_ = kept
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("alpha.npy", b"\0" * 10**7)
    with pytest.raises(ValueError, match="checkpoint of sstruct: the fields are larger than"):
        clone(model).fit(*data)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("alpha.npy", b"ab")
    with pytest.raises(ValueError, match="checkpoint of sstruct: alpha is duplicated or comp"):
        clone(model).fit(*data)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("alpha.npy", b"\x93NUMPY\x01\x00\x47\x00" + header)
    with pytest.raises(ValueError, match="alpha is not an array of 99999999999999"):
        clone(model).fit(*data)


def test_duplicate_labelings_and_too_large_counts(kept, data):
    model, path, arrays, notes = kept
    size, alpha = arrays["size"], arrays["alpha"]
    twice = dict(arrays)
    twice["size"] = changed(size, 0, size[0] + 1)
    twice["alpha"] = np.r_[alpha[0], 0, alpha[1:]]
    twice["last_active"] = np.r_[0, arrays["last_active"]].astype(np.int32)
    twice["code"] = np.r_[arrays["code"][0], arrays["code"]].astype(np.int32)
    write(path, twice, notes)
    with pytest.raises(ValueError, match="code: block 0 has a duplicate labeling"):
        clone(model).fit(*data)
    many = 20_000
    twice["size"] = changed(size, 0, size[0] + many)
    twice["alpha"] = np.r_[alpha[0], np.zeros(many), alpha[1:]]
    twice["code"] = np.r_[np.zeros(many, dtype=np.int32), arrays["code"]].astype(np.int32)
    write(path, twice, notes)
    with pytest.raises(ValueError, match="labelings of block 0, more than any fit keeps"):
        clone(model).fit(*data)


@pytest.fixture
def graphs(rng):
    X, y = [], []
    for _ in range(8):
        n = int(rng.integers(12, 20))
        edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        X.append((rng.standard_normal((n, 2)), edges))
        y.append(np.r_[0, 1, rng.integers(0, 2, n - 2)])
    return X, y


@pytest.mark.parametrize(
    "average, names",
    [("auto", ["pass_average", "weights"]), (True, ["exact_offset", "approximate_offset"])],
)
def test_padding_of_saved_weights_is_ignored(rng, tmp_path, average, names):
    # Weights are padded for vector loops, and a resumed fit uses the stored average.
    path = tmp_path / "fit.npz"
    X, y = [rng.standard_normal((4, 3)) for _ in range(6)], rng.integers(0, 3, (6, 4)).tolist()
    model = ChainSSVM(lam=0.05, tol=0, max_iter=3, random_state=0, solver=MPBCFW(average=average))
    problem = prepare_training(model._structure(), Samples(X, y)).problem
    padding = problem.without_padding(np.ones(problem.n_weights)) == 0
    assert padding.any()
    clone(model).set_params(solver__checkpoint=path).fit(X, y)
    content = path.read_bytes()
    resumed = clone(model).set_params(solver__checkpoint=path, max_iter=5)
    expected = clone(resumed).fit(X, y).objective_
    arrays, notes = read(content)
    write(path, arrays | {name: arrays[name] + 50.0 * padding for name in names}, notes)
    assert resumed.fit(X, y).objective_ == expected


def test_explicit_planes_are_resumed_and_validated(graphs, tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    model = GraphCRFSSVM(lam=0.05, tol=0, max_iter=8, random_state=0)
    content = check_resuming(model, *graphs, path, monkeypatch, least=7)[-1]
    arrays, notes = read(content)
    planes = arrays["code"].view(np.float64).copy()
    at = int(np.flatnonzero(planes)[-1])
    planes[at] += 0.5  # the last plane's loss, or an entry
    model = clone(model).set_params(solver=MPBCFW(checkpoint=path), max_iter=9)
    write(path, {**arrays, "code": planes.view(np.int32)}, notes)
    with pytest.raises(
        ValueError, match=r"fit\.npz is damaged.*: block .: a plane does not belong to any"
    ):
        clone(model).fit(*graphs)
    labels = arrays["plane_labels"]
    for name, array, message in (
        ("plane_labels", labels[:-1], "plane_labels: .* too few"),
        ("plane_labels", changed(labels, 0, 2), "block 0: label 2"),
        ("plane_count", changed(arrays["plane_count"], 0, 2**62), "plane_count: entry 0"),
    ):
        write(path, {**arrays, name: array}, notes)
        with pytest.raises(ValueError, match=message):
            clone(model).fit(*graphs)


def test_weights_out_of_bounds(data, tmp_path):
    path = tmp_path / "fit.npz"
    model = MulticlassSSVM(
        lam=0.05,
        tol=0,
        max_iter=3,
        random_state=0,
        solver=MPBCFW(checkpoint=path),
        bounds=[[-1] * 16, [1] * 16],
    )
    clone(model).fit(*data)
    arrays, notes = read(path.read_bytes())
    write(path, {**arrays, "weights": changed(arrays["weights"], 0, 1.5)}, notes)
    with pytest.raises(ValueError, match=r"damaged.*: weights: some are outside their bounds"):
        clone(model).fit(*data)


def test_a_warm_start_rejects_invalid_planes(graphs):
    model = GraphCRFSSVM(lam=0.05, tol=0, max_iter=8, random_state=0, warm_start=True)
    model.fit(*graphs)
    again = clone(model).fit(*graphs)
    again.fit(*graphs)
    planes = model._warm_state["code"].view(np.float64).copy()
    planes[np.flatnonzero(planes)[-1]] += 0.5
    model._warm_state["code"] = planes.view(np.int32)
    with pytest.raises(ValueError, match=r"from the previous fit: block .: a plane does not"):
        model.fit(*graphs)


@pytest.mark.parametrize("warm_start", ["dual", "primal"])
@pytest.mark.parametrize(
    "name, change",
    [
        ("size", lambda a: a * 2**62),
        ("size", lambda a: a.astype(np.int32)),
        ("alpha", lambda a: a * np.nan),
        ("alpha", lambda a: a[1:]),
        ("block_weight", lambda a: a * 0),
        ("lam", lambda a: "x"),
        ("code", lambda a: a + 99),
        ("code", lambda a: a.reshape(1, -1)),
    ],
)
def test_warm_state_is_validated(data, warm_start, name, change):
    model = MulticlassSSVM(lam=0.1, max_iter=3, tol=0, random_state=0, warm_start=warm_start)
    model.fit(*data)
    before = model.w_
    model._warm_state[name] = change(model._warm_state[name])
    with pytest.raises(ValueError, match="cannot continue from the previous fit"):
        model.set_params(lam=0.05).fit(*data)
    np.testing.assert_array_equal(model.w_, before)


def test_labeling_forbidden_by_mask(rng, tmp_path):
    path, mask = tmp_path / "fit.npz", np.array([[True, False], [True, True]])
    X = [rng.standard_normal((2, 2)) for _ in range(6)]
    y = [np.array(labels) for labels in ([0, 0], [1, 0], [1, 1], [1, 0], [0, 0], [1, 1])]
    model = ChainSSVM(
        lam=0.01,
        tol=0,
        max_iter=4,
        random_state=0,
        transition_mask=mask,
        solver=MPBCFW(checkpoint=path),
    )
    clone(model).fit(X, y)
    arrays, notes = read(path.read_bytes())
    code, first = arrays["code"].reshape(-1, 2), np.cumsum(arrays["size"]) - arrays["size"]
    others = np.setdiff1d(np.arange(len(code)), first)
    code[others[0]] = [0, 1]
    write(path, {**arrays, "code": code.ravel()}, notes)
    with pytest.raises(ValueError, match="labels 0 and 1 at positions 0 and 1, which edge_mask"):
        clone(model).fit(X, y)


def test_invalid_paths_raise_before_the_fit(data, tmp_path, monkeypatch):
    def fit(path):
        # The error is raised before the data are validated.
        MulticlassSSVM(solver=MPBCFW(checkpoint=path)).fit(None, None)

    with pytest.raises(FileNotFoundError, match="there is no directory"):
        fit(tmp_path / "missing" / "fit.npz")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        fit(tmp_path)
    with pytest.raises(ValueError, match="null character"):
        fit("a\0b")
    with pytest.raises(TypeError, match="checkpoint must be a path of str, found b'fit'"):
        fit(BytesPath())
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match=r"pipe.* is a device or a pipe, expected a file"):
            fit(tmp_path / "pipe")
        os.remove(tmp_path / "pipe")
    with pytest.raises(OSError, match="too long"):
        fit(tmp_path / ("x" * 300))

    def read_only(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", read_only)
    with pytest.raises(PermissionError, match=r"cannot be written \(Permission denied\)"):
        fit(tmp_path / "fit.npz")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_symbolic_link_at_a_temporary_path_is_not_followed(data, tmp_path, monkeypatch):
    mine, path = tmp_path / "mine", tmp_path / "fit.npz"
    mine.write_text("mine")
    (tmp_path / "fit.npz.tmp").symlink_to(mine)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    MulticlassSSVM(lam=0.1, tol=0, max_iter=2, solver=MPBCFW(checkpoint=path)).fit(*data)
    assert mine.read_text() == "mine"
    assert path.exists()


FAILING = """
import gc, warnings
import numpy as np
from sstruct._estimators.core.training import Samples
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._estimators.core.fit import prepare_training
from sstruct import MulticlassSSVM

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60, 3)), np.r_[np.arange(4), rng.integers(0, 4, 56)]

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def failing(error):
    def callback(info):
        raise error("on purpose")
    return callback

for k in range(300):
    error = (RuntimeError, KeyboardInterrupt, MemoryError, SystemExit)[k % 4]
    try:
        MulticlassSSVM(lam=0.1, tol=0).set_callbacks(failing(error)).fit(X, y)
    except BaseException as found:
        assert type(found) is error, found
    if k == 99:
        before = resident()
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_failed_fits_do_not_leak_memory():
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2**20
