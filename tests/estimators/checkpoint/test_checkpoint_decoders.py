"""Fits resumed from checkpoints have identical results, for every decoder and solver."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import GraphCRFSSVM, GridCRFSSVM, TypedGraphCRFSSVM
from sstruct._estimators.graph.fwmap_decoder import TreeSearch
from sstruct._estimators.graph.graph_state import INFERENCE as OF_GRAPHS
from sstruct._estimators.label_set.interactions import INFERENCE as OF_LABEL_SETS
from sstruct.constraints import at_most, excludes, implies
from sstruct.solvers import BCFW, MPBCFW, SOLVER_OF_NAME
from tests.estimators.graph.test_graph import make as make_graphs
from tests.estimators.same_bits import check_resuming
from tests.estimators.typed_graph.random_constraints import satisfying
from tests.estimators.typed_graph.test_typed_graph import make as make_typed
from tests.options import solver_with
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COMMON = {"lam": 0.01, "tol": 1e-9, "max_iter": 7, "random_state": 3}
PATHS = np.array([(v, v + 1) for v in range(5)])
CONSTRAINTS = [
    at_most(1, [1], nodes=0),
    excludes(1, 1, edges=(0, 1)),
    implies(0, 1, nodes=(1, 0)),
]
CYCLES = np.array([*PATHS, (5, 0), (0, 3)])

# Solvers that write checkpoints; None is the default solver of the estimator.
SOLVERS = {
    "default": None,
    "corrective, gap, cache": MPBCFW(step="corrective", sampling="gap", cache=True),
    "away, averages": MPBCFW(step="away", average=True, sampling="uniform"),
    "bcfw, fw": BCFW(step="fw", average=False),
    "limits": MPBCFW(cache_lifetime=10, max_working_set=4, sequential_visits=True),
}


def graphs(edges, n_labels, signs=1):
    rng = np.random.default_rng(0)
    y = [rng.integers(0, n_labels, 6) for _ in range(12)]
    y = [np.where(rng.random(6) < 0.6, np.roll(t, signs), t) for t in y]
    return [(np.eye(n_labels)[t] + 1.5 * rng.normal(size=(6, n_labels)), edges) for t in y], y


def images(n_labels):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_labels, (8, 3, 3))
    return np.eye(n_labels)[y] + 1.5 * rng.normal(size=(8, 3, 3, n_labels)), y


# The estimator with its decoder, and a function that returns the data.
GRAPHS = {
    "cut": (GraphCRFSSVM(inference="cut"), lambda: graphs(CYCLES, 2)),
    "cut of full": (
        GraphCRFSSVM(inference="cut", pairwise="full", bounds="submodular"),
        lambda: graphs(CYCLES, 2),
    ),
    "max-sum": (GraphCRFSSVM(inference="max-sum", pairwise="full"), lambda: graphs(PATHS, 3)),
    "expansion": (GraphCRFSSVM(inference="expansion"), lambda: graphs(CYCLES, 3)),
    "expansion of full": (
        GraphCRFSSVM(inference="expansion", pairwise="full"),
        lambda: graphs(CYCLES, 3, -1),
    ),
    "auto": (
        GraphCRFSSVM(pairwise="directed"),
        lambda: make_graphs(np.random.default_rng(0), n=8, pairwise="directed", most=6),
    ),
    "fwmap": (GraphCRFSSVM(inference="fwmap"), lambda: graphs(CYCLES, 3)),
    "fwmap of full": (
        GraphCRFSSVM(inference="fwmap", pairwise="full"),
        lambda: graphs(CYCLES, 3, -1),
    ),
    "fwmap of directed": (
        GraphCRFSSVM(inference="fwmap", pairwise="directed"),
        lambda: make_graphs(np.random.default_rng(0), n=8, pairwise="directed", most=6),
    ),
    "fwmap without planes": (
        GraphCRFSSVM(inference="fwmap", pairwise="full", solver=MPBCFW(sampling="sequential")),
        lambda: graphs(CYCLES, 3, -1),
    ),
    "fwmap, typed": (
        TypedGraphCRFSSVM(inference="fwmap"),
        lambda: make_typed(np.random.default_rng(0), 10),
    ),
    "expansion, typed": (
        TypedGraphCRFSSVM(inference="expansion"),
        lambda: make_typed(np.random.default_rng(0), 10),
    ),
    "cut, grid": (GridCRFSSVM(), lambda: images(2)),
    "expansion, grid": (GridCRFSSVM(connectivity=8), lambda: images(3)),
    "fwmap, grid": (GridCRFSSVM(inference="fwmap"), lambda: images(3)),
    "cut, tiles": (GridCRFSSVM(window_size=6), lambda: images(2)),
    "expansion, tiles": (GridCRFSSVM(window_size=6), lambda: images(3)),
    "fwmap, tiles": (GridCRFSSVM(inference="fwmap", window_size=6), lambda: images(3)),
    "exact": (GraphCRFSSVM(inference="exact"), lambda: graphs(CYCLES, 3)),
    "exact of full": (
        GraphCRFSSVM(inference="exact", pairwise="full"),
        lambda: graphs(CYCLES, 3, -1),
    ),
    "exact, typed": (
        TypedGraphCRFSSVM(inference="exact"),
        lambda: make_typed(np.random.default_rng(0), 10, forests=False),
    ),
    "constraints, typed": (
        TypedGraphCRFSSVM(constraints=CONSTRAINTS),
        lambda: satisfying(CONSTRAINTS, *make_typed(np.random.default_rng(0), 20, forests=False)),
    ),
    "exact, grid": (GridCRFSSVM(inference="exact"), lambda: images(3)),
    "exact, tiles": (GridCRFSSVM(inference="exact", window_size=6), lambda: images(3)),
}


def common(model, solver=None, **options):
    """Return a clone with common parameters and a solver with options."""
    solver = solver_with(solver or model.solver, certificate_every=3, **options)
    return clone(model).set_params(**COMMON, solver=solver)


def of_example(name, parameters):
    """Return an estimator of the registry and a function that makes its data."""
    example = TRAINED[name]
    model = example.estimator(**example.required | parameters)
    return model, lambda: example.samples(12)


LABEL_SETS = [
    {"edges": None, "inference": "independent"},
    {"edges": [(0, 1), (1, 2)], "inference": "tree"},
    {"inference": "cut", "bounds": "submodular"},
    {"inference": "relaxed"},
    {"inference": "exact"},
    {"inference": "enumeration", "rescaling": "slack", "loss": "hamming"},
]
CASES = GRAPHS | {name: of_example(name, {}) for name in TRAINED}
CASES |= {f"label sets {given}": of_example("label sets", given) for given in LABEL_SETS}
CASES["chain, slack"] = of_example("chain", {"rescaling": "slack", "loss": "hamming"})
# Slow oracles, for which fits make many approximate passes and converge in three to seven passes.
FEW_PASSES = {"matchings", "listed pairs", "alignments"}


def test_every_decoder_is_tested():
    asked = {model.inference for model, _ in CASES.values() if hasattr(model, "inference")}
    assert asked >= {*OF_GRAPHS} | {*OF_LABEL_SETS}


# The fast tests resume each case with two solvers, and these cases with all solvers.
WITH_ALL_SOLVERS = {"chain", "rows", "label sets", "cut", "exact", "fwmap of full", "choices"}


@pytest.mark.parametrize(
    "name, solver",
    [
        pytest.param(
            name,
            solver,
            marks=[]
            if solver in ("default", "corrective, gap, cache") or name in WITH_ALL_SOLVERS
            else pytest.mark.slow,
        )
        for name in CASES
        for solver in SOLVERS
        # test_fits.py resumes each estimator with its default solver, from all passes.
        if solver != "default" or name not in TRAINED
    ],
)
def test_resumed_fit_equals_uninterrupted_fit(name, solver, tmp_path, monkeypatch):
    model, make = CASES[name]
    X, y = make()
    path = tmp_path / "fit"
    model = common(model, SOLVERS[solver])
    # From every third pass.
    if "fwmap" not in name:
        least = 2 if name in FEW_PASSES else 6
        check_resuming(model, X, y, path, monkeypatch, least=least, every=least // 2)
        return
    # Fewer samples, since FWMAP is slow. A fit that is resumed after its last pass computes its
    # certificate again, starting from the multipliers of the first time.
    X, y = X[:4], y[:4]
    kept = check_resuming(model, X, y, path, monkeypatch, least=5, at_end=False, every=2)
    path.write_bytes(kept[-1])
    whole = clone(model).fit(X, y)
    resumed = clone(model).set_params(solver__checkpoint=path).fit(X, y)
    np.testing.assert_array_equal(resumed.w_, whole.w_)
    assert resumed.dual_objective_ == whole.dual_objective_
    assert resumed.dual_objective_ <= resumed.objective_ <= whole.objective_ * (1 + 1e-9)


@pytest.mark.parametrize(
    "name, solver",
    [
        (name, solver)
        for name in ("chain", "label sets", "rows")
        for solver in CASES[name][0]._structure().solvers
    ],
)
def test_solvers_resume_or_have_no_checkpoint(name, solver, tmp_path, monkeypatch):
    model, make = CASES[name]
    if model._structure().solvers[solver].has_dual_weights:
        given = common(model, solver)
        check_resuming(given, *make(), tmp_path / "fit", monkeypatch, least=3)
        return
    with pytest.raises(TypeError, match="has no parameter checkpoint"):
        SOLVER_OF_NAME[solver](checkpoint=tmp_path / "fit")


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_multipliers(n_jobs, tmp_path):
    model, make = CASES["fwmap of full"]
    model = common(model).set_params(n_jobs=n_jobs)
    X, y = (part[:5] for part in make())
    path = tmp_path / "fit"
    clone(model).set_params(max_iter=4, solver__checkpoint=path).fit(X, y)
    resumed = clone(model).set_params(n_jobs=1, solver__checkpoint=path).fit(X, y)
    whole = model.fit(X, y)
    np.testing.assert_array_equal(resumed.w_, whole.w_)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the model and data of a fit with multipliers, and the content of its file."""
    model, make = CASES["fwmap of full"]
    path = tmp_path_factory.mktemp("kept") / "fit"
    model = common(model, checkpoint=path).set_params(max_iter=3)
    X, y = make()
    model.fit(X, y)
    with np.load(path) as file:
        return model.set_params(max_iter=5), X, y, {name: file[name] for name in file.files}


def moved(size):
    size = size.copy()
    size[0] -= 1
    size[1] += 1
    return size


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("multipliers", lambda m, size: None, "multipliers: expected an array"),
        ("multipliers", lambda m, size: m[:-1], "the counts do not sum to"),
        ("multipliers", lambda m, size: m.astype(np.float32), "expected an array of float64"),
        ("multipliers", lambda m, size: np.where(np.arange(len(m)) == 4, np.nan, m), "entry 4 is"),
        ("multipliers", lambda m, size: m + 1e-3, "of graph 0 do not sum to zero"),
        ("multiplier_size", lambda size, m: size[:-1], "expected 12 entries, found 11"),
        ("multiplier_size", lambda size, m: moved(size), "graph 0 has .* entries, expected"),
        ("multiplier_size", lambda size, m: size - 2**62, "multiplier_size: entry 0 is"),
        ("multiplier_size", lambda size, m: size.astype(np.int32), "expected an array of int64"),
    ],
)
def test_multipliers_of_a_file_are_checked(kept, name, change, message):
    model, X, y, arrays = kept
    other = {"multipliers": "multiplier_size", "multiplier_size": "multipliers"}[name]
    changed = {**arrays, name: change(arrays[name], arrays[other])}
    write(model.solver.checkpoint, {k: v for k, v in changed.items() if v is not None})
    before = vars(model).copy()
    with pytest.raises(ValueError, match=f"is damaged, or.*{message}.*Remove it"):
        model.fit(X, y)
    assert vars(model) == before


@pytest.mark.parametrize("huge", [1e300, 1e17])
def test_huge_multipliers_do_not_invalidate_the_bound(huge):
    # Multipliers of the two copies of a node sum to zero; costs are below their rounding errors.
    edges, search = CYCLES.astype(np.int32), TreeSearch(0, 5)
    costs, weights, start = np.full((6, 3), -1.0), np.ones((7, 1)), np.zeros(6, np.int32)
    search(0, costs, edges, weights, None, start.copy())
    kept = search.memory(1)
    kept["multipliers"] = np.tile([huge, -huge], len(kept["multipliers"]) // 2)
    search.restore_memory(kept, [(6, edges, 3)])
    _, bound, _ = search(0, costs, edges, weights, None, start.copy())
    assert bound == pytest.approx(-6.0, abs=1e-9)


def write(path, arrays):
    with open(path, "wb") as file:
        np.savez(file, **arrays)
