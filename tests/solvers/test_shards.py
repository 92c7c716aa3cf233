"""Test passes over one shard of the data after another."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone

from sstruct import ChainSSVM, GraphCRFSSVM, MulticlassSSVM, MultilabelSSVM
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.frank_wolfe import block_coordinate
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling, approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe.shards import Shard
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import assert_same_bits, check_resuming
from tests.reference import brute_force, dual_qp
from tests.solvers.small import BOUNDS, Small, plan

K = 3


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("batch", [1, 4])
def test_pass_changes_only_its_part_and_increases_the_dual(rng, box, batch):
    small = Small(rng, box=box, n=9, batch=batch)
    state, parts = small.state(), [(0, 4), (4, 5), (5, 9)]
    pool = ThreadPool(small.problem, 1)
    dual = small.check(state)
    for number in range(1, 6):
        rebuilt, linear = np.zeros(small.problem.n_weights), 0.0
        for k in state.permutation(3):
            before = small.alphas(state)
            calls = state.n_oracle_calls
            assert exact_pass(state, pool, plan(number, blocks=parts[k]), False)
            assert state.n_oracle_calls - calls == parts[k][1] - parts[k][0]
            for of_all in (True, False):
                assert approximate_pass(state, plan(number, blocks=parts[k]), of_all)
            after = small.alphas(state)
            others = [i for i in range(9) if not parts[k][0] <= i < parts[k][1]]
            assert [after[i] for i in others] == [before[i] for i in others]
            linear += state.add_planes(rebuilt, *parts[k])
            last, dual = dual, small.check(state)
            assert dual >= last - 1e-12
        # The sum of the parts is v.
        state.set_v(rebuilt, linear)
        assert small.check(state) == pytest.approx(dual, abs=1e-12)
    # Hinge losses of parts are those of all.
    whole = full_pass(pool, state.w, small.q)[0]
    of_parts = [full_pass(pool, state.w, small.q, None, *part)[0] for part in parts]
    assert sum(of_parts) == pytest.approx(whole, rel=1e-14)


def test_invalid_block_ranges(rng):
    small = Small(rng)
    state, pool, n = small.state(), ThreadPool(small.problem, 1), small.problem.n_blocks
    for blocks, sampling in [((3, 3), "PERMUTATION"), ((-1, 3), "PERMUTATION"), ((0, 3), "GAP")]:
        with pytest.raises(ValueError, match="requires PERMUTATION and a nonempty range"):
            plan(sampling=Sampling[sampling], blocks=blocks)
    with pytest.raises(ValueError, match=f"the first block is {n}, expected less than {n}"):
        exact_pass(state, pool, plan(blocks=(n, n + 2)), False)
    with pytest.raises(ValueError, match=r"\[3, 2\) is not a nonempty range of"):
        full_pass(pool, state.w, small.q, None, 3, 2)
    for vector, first, last in [(3, 0, 1), (small.problem.n_weights, 2, n + 1)]:
        with pytest.raises(ValueError, match=r"weights and blocks"):
            state.add_planes(np.zeros(vector), first, last)


def make_chains(rng, n=24):
    X = [rng.standard_normal((rng.integers(1, 5), 2)) for _ in range(n)]
    return X, [rng.integers(0, K, len(x)) for x in X]


def in_parts(model, n_bytes, *data):
    """Fit with parts of `n_bytes` bytes of features."""
    share = 2.0 / 2**20
    with sklearn.config_context(working_memory=share * n_bytes):
        solver = MPBCFW() if model.solver == "auto" else clone(model._structure().chosen_solver)
        solver.set_params(sampling="sequential")
        return clone(model).set_params(solver=solver).fit(*data)


@pytest.mark.parametrize(
    "parameters",
    [
        {}, {"solver": "bcfw"}, {"solver": MPBCFW(cache=True)}, {"solver": MPBCFW(average=True)},
        {"solver": MPBCFW(average=False)}, {"solver": MPBCFW(step="fw"), "tol": 1e-4},
        {"solver": MPBCFW(step="corrective"), "n_jobs": 2},
        {"solver": MPBCFW(schedule="clock"), "tol": 1e-5}, {"rescaling": "slack"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("n_bytes", [150, 400])
def test_the_optimum_is_reached(rng, parameters, n_bytes):
    X, y = make_chains(rng)
    keywords = {"lam": 0.1, "loss": "hamming", "tol": 1e-7, "max_iter": 30000, "random_state": 0}
    model = in_parts(ChainSSVM(pairwise_scale=1, **{**keywords, **parameters}), n_bytes, X, y)
    history = model.history_
    assert (np.diff(history["dual"]) >= -1e-12 * model.objective_).all()
    if "rescaling" in parameters:
        other = ChainSSVM(pairwise_scale=1, **{**keywords, **parameters}).fit(X, y)
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)
        return
    terms = brute_force.blocks(X, y, brute_force.Model(K), "hamming", np.ones(len(X)))
    if "tol" not in parameters:
        dual_qp.check_optimum(model, terms)
        return
    # Frank-Wolfe steps have a larger tol, and so has the clock, which may favor exact passes.
    best, _ = dual_qp.optimum(terms, model.lam_)
    assert model.dual_objective_ <= best * (1 + 1e-8) <= model.objective_ * (1 + 2e-8)
    assert model.status_ == "CONVERGED"


@pytest.mark.parametrize("kind", ["bounds", "multiclass", "label sets", "graphs", "sparse"])
def test_other_structures_and_terms(rng, kind):
    X, y = make_chains(rng)
    keywords = {"lam": 0.1, "tol": 1e-6, "max_iter": 30000, "random_state": 0}
    rows, labels = np.vstack(X), np.concatenate(y)
    if kind == "bounds":
        size = ChainSSVM(**keywords).fit(X, y).w_.size
        model = ChainSSVM(bounds=np.outer([-0.1, 0.2], np.ones(size)), **keywords)
        data = X, y
    elif kind == "multiclass":
        model, data = MulticlassSSVM(**keywords), (rows, labels)
    elif kind == "sparse":
        model, data = MulticlassSSVM(**keywords), (sparse.csr_matrix(rows), labels)
    elif kind == "label sets":
        model, data = MultilabelSSVM(**keywords), (rows, rng.integers(0, 2, (len(rows), 4)))
    else:
        model = GraphCRFSSVM(**keywords)
        data = [(x, [[k, k + 1] for k in range(len(x) - 1)]) for x in X], [v % 2 for v in y]
    fitted, other = in_parts(model, 100, *data), model.fit(*data)
    assert fitted.status_ == other.status_ == "CONVERGED"
    assert fitted.objective_ == pytest.approx(other.objective_, rel=3e-6)
    assert fitted.dual_objective_ <= other.objective_ * (1 + 1e-12)
    assert not np.array_equal(fitted.w_, other.w_)


def test_a_round_takes_each_part_once_and_several_passes_over_it(rng, monkeypatch):
    events = []

    def record(owner, name, describe):
        function = getattr(owner, name)

        def recorded(*arguments, **keywords):
            events.append((name, describe(*arguments)))
            return function(*arguments, **keywords)

        monkeypatch.setattr(owner, name, recorded)

    record(Shard, "preload", lambda part: (part.first, part.last))
    record(block_coordinate, "exact_pass", lambda state, pool, plan, cache: (plan.first, plan.last))
    record(block_coordinate, "approximate_pass", lambda _, plan, *more: (plan.first, plan.last))
    record(block_coordinate, "full_pass", lambda *arguments: arguments[-2:])
    X, y = make_chains(rng, 40)
    model = in_parts(ChainSSVM(lam=0.01, tol=1e-3, random_state=0), 400, X, y)
    visits = [what for name, what in events if name == "exact_pass"]
    parts = sorted(set(visits))
    assert len(parts) >= 4
    assert [first for first, _ in parts] == [0] + [last for _, last in parts[:-1]]
    assert parts[-1][1] == 40
    orders = []
    for first in range(0, len(visits), len(parts)):
        orders.append(visits[first : first + len(parts)])
        assert sorted(orders[-1]) == parts
    assert len(orders) == model.n_iter_
    assert len(set(map(tuple, orders))) > 1
    # Each part is loaded, then has one exact pass, then approximate passes.
    current, approximate, most = None, 0, 0
    for name, what in events:
        if name == "preload":
            current, approximate = what, 0
        elif name == "exact_pass":
            assert what == current
            assert approximate == 0
        elif name == "approximate_pass":
            assert what == current
            approximate += 1
            most = max(most, approximate)
    assert most > 1
    # A certificate measures w and the average over one part, then the next.
    swept = [what for name, what in events if name == "full_pass"]
    n_certificates = np.isfinite(model.history_["gap"]).sum()
    assert swept == [part for part in parts for _ in range(2)] * n_certificates


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_time_of_reading_increases_the_number_of_passes(rng, monkeypatch):
    X, y = make_chains(rng, 60)
    model = ChainSSVM(lam=0.01, tol=1e-9, max_iter=5, random_state=0)
    counts = []
    for work in (0, 1e3):
        monkeypatch.setattr(block_coordinate, "READING_WORK", work)
        fitted = in_parts(model, 600, X, y)
        counts.append(fitted.history_["approximate_passes"][-1])
    assert counts[1] > counts[0]


def test_the_same_bits_for_every_n_jobs_and_again(rng):
    X, y = make_chains(rng, 60)
    model = ChainSSVM(lam=0.01, tol=1e-4, random_state=0)
    first = in_parts(model, 500, X, y)
    for n_jobs in (1, 2, 3):
        assert_same_bits(in_parts(clone(model).set_params(n_jobs=n_jobs), 500, X, y), first)
    assert not np.array_equal(in_parts(model, 250, X, y).w_, first.w_)
    other = in_parts(clone(model).set_params(random_state=1), 500, X, y)
    assert not np.array_equal(other.w_, first.w_)
    # Features that fit in memory are one shard, which does not change results.
    assert_same_bits(in_parts(model, 1e6, X, y), in_parts(model, 1e9, X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_resume_from_any_round_with_the_same_shards(rng, tmp_path, monkeypatch):
    X, y = make_chains(rng, 40)
    path = tmp_path / "fit.npz"
    model = ChainSSVM(
        lam=1e-3, tol=1e-9, max_iter=12, random_state=3, solver=MPBCFW(sampling="sequential")
    )
    kept = clone(model).set_params(solver__checkpoint=path)
    with sklearn.config_context(working_memory=800 / 2**20):
        check_resuming(model, X, y, path, monkeypatch, least=12)
        # After the last round too.
        path.unlink()
        assert_same_bits(clone(kept).fit(X, y), clone(kept).fit(X, y))
    with (
        sklearn.config_context(working_memory=400 / 2**20),
        pytest.raises(ValueError, match="other data or parameters"),
    ):
        clone(kept).fit(X, y)


@pytest.mark.parametrize("at", [2, 9, 14])
def test_an_interruption_within_a_round_leaves_a_certified_model(rng, monkeypatch, at):
    X, y = make_chains(rng, 30)
    terms = brute_force.blocks(X, y, brute_force.Model(K), "hamming", np.ones(len(X)))
    model = ChainSSVM(
        pairwise_scale=1,
        lam=0.05,
        loss="hamming",
        tol=1e-9,
        solver=MPBCFW(sampling="sequential"),
        random_state=0,
    )
    calls = []

    def preload(part):
        calls.append(part)
        if len(calls) == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(Shard, "preload", preload)
    with sklearn.config_context(working_memory=800 / 2**20), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "INTERRUPTED"
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, 0.05, terms), rel=1e-12)
    best, _ = dual_qp.optimum(terms, 0.05)
    assert 0 < model.dual_objective_ <= best * (1 + 1e-9) <= model.objective_ * (1 + 2e-9)
