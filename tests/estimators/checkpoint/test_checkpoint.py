"""Test that a fit that is resumed from a checkpoint has identical results."""

import json
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct.datasets import make_sequences
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.same_bits import assert_same_bits, keep_files
from tests.options import solver_with

PARAMETERS = {
    "default": {},
    "all": {"solver": MPBCFW(step="away", sampling="gap", cache=True, average=True)},
    "plain": {"solver": BCFW(step="fw", sampling="uniform", average=True)},
}


def model(path=None, solver="auto", **parameters):
    defaults = {"lam": 1e-3, "tol": 1e-9, "max_iter": 40, "random_state": 3}
    solver = solver_with(solver, checkpoint=path)
    return ChainSSVM(solver=solver, **{**defaults, **parameters})


@pytest.fixture(scope="module")
def chains():
    return make_sequences(n_samples=60, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("end", ["max_iter", "callback"])
def test_certificates_at_the_end_of_a_fit_do_not_change_the_resumed_fit(
    chains, tmp_path, name, end
):
    parameters = {**PARAMETERS[name], "lam": 0.01, "tol": 1e-4, "max_iter": 60}
    whole = model(**parameters).fit(*chains)
    for last in (1, 2, 4, 7, 11):
        path = tmp_path / f"{last}.npz"
        short = model(path, **parameters)
        if end == "max_iter":
            short.set_params(max_iter=last)
        else:
            short.set_callbacks(lambda info, last=last: info["passes"] == last)
        short.fit(*chains)
        assert np.isfinite(short.dual_gap_)
        assert not short.converged_
        if end == "max_iter":  # this fit reads the file, but does not change it
            model(path, **{**parameters, "max_iter": last}).fit(*chains)
        assert_same_bits(model(path, **parameters).fit(*chains), whole)


def test_the_file_is_removed_when_the_fit_has_converged(chains, tmp_path):
    path = tmp_path / "fit.npz"
    with pytest.warns(ConvergenceWarning):
        model(path, max_iter=2).fit(*chains)
    assert path.exists()
    fitted = model(path, max_iter=1000, tol=0.5).fit(*chains)
    assert fitted.converged_
    assert fitted.history_["passes"].tolist() == list(range(1, len(fitted.history_["passes"]) + 1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_fit_resumed_after_its_last_pass_can_converge(chains, tmp_path, name):
    path = tmp_path / "fit.npz"
    parameters = {**PARAMETERS[name], "lam": 0.1, "max_iter": 7}
    with pytest.warns(ConvergenceWarning):
        short = model(path, **parameters).fit(*chains)
    fitted = model(path, **parameters, tol=0.9).fit(*chains)
    assert fitted.dual_gap_ <= 0.9 * fitted.objective_
    assert (fitted.status_, fitted.n_iter_) == ("CONVERGED", short.n_iter_)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_file_of_another_fit_raises(chains, tmp_path):
    X, y = chains
    path = tmp_path / "fit.npz"
    model(path, max_iter=2).fit(X, y)
    content = path.read_bytes()
    size = model().fit(X, y).w_.size
    others = [
        (model(path, lam=0.1), (X, y), "lam"),
        (model(path, solver=MPBCFW(step="fw")), (X, y), "solver"),
        (model(path, loss="hamming"), (X, y), "loss"),
        (model(path, rescaling="slack"), (X, y), "data"),
        (model(path, random_state=4), (X, y), "random_state"),
        (model(path), (X[:-1], y[:-1]), "data"),
        (model(path), ([2 * x for x in X], y), "data"),
        (model(path), (X, y, np.linspace(1, 2, len(X))), ""),
        (model(path), (X, y, [np.arange(1, 1 + len(x)) for x in X]), ""),
        (model(path, bounds=[[-1] * size, [1] * size]), (X, y), "bounds"),
        (model(path, prior=np.ones(size)), (X, y), ""),
        (model(path, pairwise_scale=4.0), (X, y), ""),
        (model(path, transitions=lambda a, b: a == b), (X, y), ""),
        (model(path, class_scores=range(4)), (X, y), ""),
        (model(path, class_scores=("fixed", range(4))), (X, y), ""),
    ]
    for other, given, differing in others:
        message = f"checkpoint of a fit with other data or parameters: \\['{differing}"
        with pytest.raises(ValueError, match=message):
            other.fit(*given)
        assert not hasattr(other, "status_")
    assert path.read_bytes() == content
    path.write_bytes(content[:1000])
    with pytest.raises(ValueError, match=r"fit\.npz is damaged, or is not a ch.*Remove it"):
        model(path).fit(X, y)
    path.write_text("notes")
    with pytest.raises(ValueError, match=r"fit\.npz is damaged, or is not a ch.*Remove it"):
        model(path).fit(X, y)
    np.savez(path, w=np.zeros(3))
    with pytest.raises(ValueError, match="not a checkpoint of sstruct: it has no array 'notes'"):
        model(path).fit(X, y)
    with pytest.raises(TypeError, match="checkpoint of MPBCFW must be a path"):
        model(3).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_fingerprint_includes_every_entry_and_every_term(chains, tmp_path, rng):
    path = tmp_path / "fit.npz"
    raises = pytest.raises(ValueError, match="checkpoint of a fit with other data or parameters")
    # The cost matrix is so large that its repr omits most entries.
    X, y = rng.standard_normal((80, 3)), np.r_[np.arange(40), rng.integers(0, 40, 40)]
    cost = 1.0 - np.eye(40)
    other = cost.copy()
    other[20, 21] = 3
    solver = MPBCFW(checkpoint=path)
    classifier = {"solver": solver, "max_iter": 2, "tol": 0, "random_state": 0}
    MulticlassSSVM(loss=cost, **classifier).fit(X, y)
    with raises:
        MulticlassSSVM(loss=other, **classifier).fit(X, y)
    path.unlink()
    # With two labels there are as many transitions as starts and ends.
    X, y = chains
    y = [np.minimum(labels, 1) for labels in y]
    model(path, max_iter=2, boundaries=False).fit(X, y)
    with raises:
        model(path, max_iter=2, transitions=False).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("warm_start", ["dual", "primal"])
def test_warm_started_fit_resumes_from_its_file(chains, tmp_path, monkeypatch, warm_start):
    path = tmp_path / "fit.npz"
    first = pickle.dumps(model(max_iter=3, warm_start=warm_start).fit(*chains))
    changed = {"lam": 2e-3, "max_iter": 12}
    whole = pickle.loads(first).set_params(**changed).fit(*chains)
    kept = keep_files(monkeypatch, path)
    changed["solver"] = MPBCFW(checkpoint=path)
    assert_same_bits(pickle.loads(first).set_params(**changed).fit(*chains), whole)
    # The process that resumes the fit has the initial model, a later one, or an unfitted one.
    later = pickle.loads(first).set_params(lam=2e-3, max_iter=2).fit(*chains)
    for model_then in (pickle.loads(first), later, model(warm_start=warm_start)):
        path.write_bytes(kept[4])
        assert_same_bits(model_then.set_params(**changed).fit(*chains), whole)


KILLED = """
import json, sys, warnings
import numpy as np
import sklearn
from sstruct import ChainSSVM
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW

warnings.simplefilter("ignore")
X, y = make_sequences(n_samples=400, random_state=0)
path, out, options, working_memory = sys.argv[1:]
sklearn.set_config(working_memory=float(working_memory))
model = ChainSSVM(
    lam=1e-4, tol=1e-9, max_iter=250, random_state=3,
    solver=MPBCFW(checkpoint=path or None, **json.loads(options)),
).fit(X, y)
np.save(out, np.r_[model.w_, model.dual_objective_, model.objective_])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this platform")
@pytest.mark.parametrize(
    "options, working_memory",
    [({"sampling": "gap", "average": True}, 1024), ({"sampling": "sequential"}, 0.1)],
    ids=["gap", "in parts"],
)
def test_kill_at_ten_random_moments(tmp_path, rng, options, working_memory):
    script = tmp_path / "fit.py"
    script.write_text(KILLED)
    command, arguments = [sys.executable, script], [json.dumps(options), str(working_memory)]
    whole, resumed, path = tmp_path / "whole.npy", tmp_path / "resumed.npy", tmp_path / "kept.npz"
    subprocess.run([*command, "", whole, *arguments], check=True)
    for _ in range(10):
        before = path.stat().st_mtime_ns if path.exists() else 0
        process = subprocess.Popen([*command, path, resumed, *arguments])
        # Kill it at a random moment after it has written its first file.
        while process.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the fit was over before it was killed"
    subprocess.run([*command, path, resumed, *arguments], check=True)
    np.testing.assert_array_equal(np.load(resumed), np.load(whole))
