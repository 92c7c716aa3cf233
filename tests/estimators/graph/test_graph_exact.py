"""Test labelings, bounds, certificates and limits of inference="exact"."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import GraphCRFSSVM, TypedGraphCRFSSVM
from sstruct._estimators.graph import decoding
from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.graph_arguments import GraphRanges
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.frank_wolfe import block_coordinate
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._testing._graph_enumeration import graph_enumeration
from sstruct.inference._methods._exact_decoder import ExactDecoder
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal
from tests.estimators.graph.test_graph import LAM, box, compare, make, terms_of
from tests.estimators.same_bits import assert_same_bits
from tests.estimators.typed_graph import test_typed_graph as typed
from tests.options import solver_with
from tests.reference import brute_force, dual_qp, graphs, typed_graphs

MODELS = ["potts", "contrast", "full", "directed"]


def exact(**parameters):
    defaults = {"lam": LAM, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    return GraphCRFSSVM(**{"inference": "exact", **defaults, **parameters})


def problems_of(rng, kind, pairwise, K):
    """Return problems of a loopy graph, decoded exactly and by enumeration, and its labels."""
    edges = grid_edges(2, 3) if kind == "grid" else graphs.random_edges(rng, 6, 0.7)
    features = rng.standard_normal((len(edges), 2))
    features = abs(features) if pairwise == "contrast" else features
    counts = None
    if kind == "typed":
        counts = rng.integers(1, K + 1, 6).astype(np.int32)
        counts[0] = K
    labels = rng.integers(0, 2**30, 6) % (K if counts is None else counts)
    return [
        GraphProblem(
            np.eye(6),
            GraphRanges([0], [6], edges, [0], [len(edges)]),
            PairwiseModel(pairwise, K, features if pairwise in ("contrast", "directed") else None),
            decoder,
            labels.astype(np.int32),
            label_counts=counts,
        )
        for decoder in (ExactDecoder(0), graph_enumeration())
    ]


@pytest.mark.parametrize("kind", ["graph", "grid", "typed"])
def test_a_thousand_graphs_equal_enumeration(rng, kind):
    n_searched = 0
    for round_ in range(334):
        pairwise, K = MODELS[round_ % 4], 2 + round_ % 3
        own, enumerated = problems_of(rng, kind, pairwise, K)
        own.begin_fit()
        public = own.layout.public(rng.standard_normal(own.n_weights))
        for _ in range(3):  # from the labels and multipliers of the last call
            public = public + 0.3 * rng.standard_normal(len(public))
            w = own.layout.padded(public)
            code, value, _, is_exact = own.best_code(0, w, 1.0)
            _, best, _, _ = enumerated.best_code(0, w, 1.0)
            assert is_exact
            assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
            own.check_code(0, code)
        n_searched += int(own.memory()["is_searched"][0])
        assert own.counts() == {"searches": 3, "proofs": 3}
    assert n_searched > 30


@pytest.mark.parametrize("K", [2, 3, 4, 7, 8, 9, 12])
def test_every_number_of_labels_equals_enumeration(rng, K):
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 0], [1, 3]], dtype=np.int32)
    decoder = ExactDecoder(0)
    for round_ in range(40):
        node, weights = rng.standard_normal((4, K)), rng.standard_normal((5, 1))
        tables = rng.standard_normal((1, K, K)) if round_ % 2 else None
        arrays = node, edges, weights, tables, np.zeros(4, dtype=np.int32)
        _, cost, _, is_exact = decoder.decode_arrays(*arrays)
        table = 1 - np.eye(K) if tables is None else tables[0]
        terms = [(chr(97 + u) + chr(97 + v), w * table) for (u, v), w in zip(edges, weights[:, 0])]
        terms += [(chr(97 + v), costs) for v, costs in enumerate(node)]
        energies = np.zeros((K,) * 4)
        for axes, term in terms:
            energies += np.einsum(f"{axes}->{''.join(sorted(axes))}", term).reshape(
                [K if c in axes else 1 for c in "abcd"]
            )
        assert is_exact
        assert cost == pytest.approx(energies.min(), abs=1e-9)


@pytest.mark.parametrize("pairwise", ["potts", "full"])
def test_certificates_leave_at_most_their_slack(rng, pairwise):
    n_left = 0
    for _ in range(100):
        own, enumerated = problems_of(rng, "graph", pairwise, 3)
        own.begin_fit()
        w = own.layout.padded(own.layout.public(rng.standard_normal(own.n_weights)))
        least, _ = full_pass(ThreadPool(enumerated, 1), w, np.ones(1))
        for slack in (0.3, 0.0):
            own.set_tolerance(slack)
            for fork in (own, own.fork()):  # from the multipliers of the first call
                hinge, is_exact = full_pass(ThreadPool(fork, 1), w, np.ones(1))
                assert least - 1e-9 <= hinge <= least + slack + 1e-9
                assert is_exact or slack > 0
                n_left += hinge > least + 1e-6
        assert own.memory()["search_multipliers"].size == 0
    assert n_left > 10


def test_slack_at_the_time_limit_is_not_a_stall(rng, monkeypatch):
    certify, n_late = FrankWolfeFit._certify, 0

    def late(self, *arguments):
        nonlocal n_late
        certified = certify(self, *arguments)
        if self.may_be_loose and not self.exact:
            self.deadline, n_late = 0.0, n_late + 1
        return certified

    monkeypatch.setattr(FrankWolfeFit, "_certify", late)
    monkeypatch.setattr(block_coordinate, "EXHAUSTED", np.inf)
    X, y = make(rng, pairwise="full", most=6, n=20)
    model = exact(pairwise="full", solver=MPBCFW(certificate_every=1), max_time=1000)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert n_late > 0
    assert model.status_ == "TIME_LIMIT"


FITS = {
    "cache": {
        "solver": MPBCFW(sampling="gap", cache=True, certificate_every=2),
        "tol": 0.03,
        "lam": 0.1,
    },
    "average": {"solver": MPBCFW(average=True, certificate_every=3), "lam": 0.1},
    "many": {"tol": 0.1},
    "slack rescaling": {"rescaling": "slack", "loss": "hamming", "tol": 0.1},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", FITS)
def test_certificates_at_the_end_of_a_fit_do_not_change_the_resumed_fit(tmp_path, kind):
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(110 if kind == "many" else 30):
        y.append(rng.integers(4, size=rng.integers(3, 8)))
        noise = 1.2 * rng.standard_normal((len(y[-1]), 4))
        X.append((np.eye(4)[y[-1]] + noise, graphs.random_edges(rng, len(noise), 0.6)))
    defaults = {"pairwise": "full", "lam": 0.01, "tol": 0.01, "max_iter": 12}
    parameters = defaults | {"solver": MPBCFW(certificate_every=2), **FITS[kind]}
    whole, solver = exact(**parameters).fit(X, y), parameters["solver"]
    for last in range(1, 8):
        limited, stopped = (
            exact(**parameters | {"solver": solver_with(solver, checkpoint=tmp_path / name)})
            for name in (f"limited{last}", f"stopped{last}")
        )
        limited.set_params(max_iter=last).fit(X, y)
        passes = limited.history_["passes"][-1]
        stopped.set_callbacks(lambda info, passes=passes: info["passes"] == passes).fit(X, y)
        assert limited.objective_ == stopped.objective_  # neither has slack
        for short in (limited, stopped):
            if not short.converged_:
                assert_same_bits(short.set_params(max_iter=12).set_callbacks().fit(X, y), whole)


@pytest.mark.parametrize("pairwise", [*MODELS, 0.3])
def test_optimum_equals_the_independent_qp(rng, pairwise):
    X, y = make(rng, pairwise=pairwise, n=6)
    model = exact(pairwise=pairwise).fit(X, y)
    compare(model, terms_of(X, y, pairwise, 3), box(model, 3, 2, pairwise))
    primal = brute_force.primal(model.w_, LAM, terms_of(X, y, pairwise, 3))
    assert model.objective_ == pytest.approx(primal, rel=1e-9)
    assert model.inference_ == "branch and bound (bounded)"
    assert (model.history_["proofs"] == model.history_["searches"]).all()


def test_optimum_of_types_equals_the_independent_qp(rng):
    X, y = typed.make(rng, 40, forests=False)
    model = typed.tight(inference="exact").fit(X, y)
    assert model.inference_ == "branch and bound (bounded)"
    terms = typed_graphs.blocks(X, y, typed.SIZES, typed.PAIRS, typed.ones())
    dual_qp.check_optimum(model, terms)


def test_other_exact_decoders_are_used_if_possible(rng):
    X, y = make(rng, K=2, pairwise="potts")
    assert exact(tol=0.01).fit(X, y).inference_ == "graph cut (exact)"
    forests = [(x, [(v, v + 1) for v in range(len(x) - 1)]) for x, *_ in X]
    model = exact(pairwise="full", tol=0.01).fit(forests, y)
    assert model.inference_ == "max-sum (exact)"
    X, y = typed.make(rng)
    model = TypedGraphCRFSSVM(inference="exact", lam=LAM).fit(X, y)
    assert model.inference_ == "max-sum (exact)"


def test_predictions_equal_enumeration(rng):
    X, y = make(rng, pairwise="full", most=6)
    model = exact(pairwise="full", tol=0.1).fit(X, y)
    own = model._structure()
    for graph, labels in zip(X, model.predict(X), strict=True):
        x, edges = graph[0], graph[1]
        score = {
            z: graphs.joint_feature(x, z, edges, None, "full", 3) @ model.w_
            for z in product(range(3), repeat=len(x))
        }
        assert score[tuple(labels.tolist())] == pytest.approx(max(score.values()), abs=1e-9)
    assert own.max_oracle_time is None


def fitted_with_limits(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("limit", ["time", "work", "memory"])
@pytest.mark.parametrize("pairwise", ["potts", "full", "directed"])
def test_limits_give_valid_bounds(rng, monkeypatch, pairwise, limit):
    X, y = make(rng, K=3, n=8, pairwise=pairwise, most=7)
    model = exact(pairwise=pairwise, tol=1e-3, max_iter=30)
    limits = {"work": {"max_work": 0.0}, "memory": {"max_entries": 0.0}}
    if limit == "time":
        model.set_params(max_oracle_time=0)
    else:
        monkeypatch.setattr(
            decoding,
            "ExactDecoder",
            lambda seed, max_time, keeps: ExactDecoder(seed, max_time, keeps, **limits[limit]),
        )
    fitted_with_limits(model, X, y)
    terms = terms_of(X, y, pairwise, 3)
    dual_qp.check_bounds(model, terms, box(model, 3, 2, pairwise))
    assert (model.history_["proofs"] <= model.history_["searches"]).all()


def test_a_limit_bounds_every_labeling(rng):
    decoder, proven = ExactDecoder(0, 0.0), 0
    for _ in range(100):
        node, edges = rng.standard_normal((6, 3)), graphs.random_edges(rng, 6, 0.9)
        table, weights = rng.standard_normal((1, 3, 3)), np.ones((len(edges), 1))
        arrays = node, edges.astype(np.int32), weights, table, np.zeros(6, dtype=np.int32)
        _, cost, _, is_exact = decoder.decode_arrays(*arrays)
        _, least, _, _ = graph_enumeration().decode_arrays(*arrays)
        assert cost >= least - 1e-9
        assert not is_exact or cost == pytest.approx(least, abs=1e-9)
        proven += is_exact
    assert 0 < proven < 100


def test_too_large_graph(rng, monkeypatch):
    X, y = make(rng, pairwise="full", most=4)
    model = exact(pairwise="full", tol=0.1).fit(X, y)
    large = (np.zeros((9, 2)), [(u, v) for v in range(9) for u in range(v)])
    monkeypatch.setattr(decoding, "LARGEST", 100)
    message = r'inference="exact" requires at most 100 table entries .* X\[1\] has 324; use'
    with pytest.raises(ValueError, match=message):
        model.predict([(np.zeros((1, 2)), []), large])
    with pytest.raises(ValueError, match=message):
        model.fit([X[0], large], [y[0], np.zeros(9, dtype=int)])
    with pytest.raises(ValueError, match="max_oracle_time must be"):
        exact(max_oracle_time=-1).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["exact", "fwmap"])
def test_fitted_model_does_not_store_multipliers(rng, inference):
    X, y = make(rng, n=6, pairwise="full", most=5)
    model = exact(pairwise="full", inference=inference, tol=0.1, max_iter=40).fit(X, y)
    content = pickle.dumps(model)
    for word in (b"ExactDecoder", b"TreeSearch", b"multipliers"):
        assert word not in content
    assert equal(pickle.loads(content).predict(X), model.predict(X))


def memory_of(rng):
    """Return a problem after an oracle call that was searched, and its memory."""
    while True:
        problem, _ = problems_of(rng, "graph", "full", 3)
        problem.begin_fit()
        w = rng.standard_normal(problem.n_weights)
        problem.best_code(0, w, 1.0)
        memory = problem.memory()
        if memory["is_searched"][0]:
            return problem, w, memory


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("search_labels", lambda own: own[:-1], "search_labels: expected 6 entries, found 5"),
        ("search_labels", lambda own: own + 3, "search_labels: entry . is ., expected at most 2"),
        ("search_labels", lambda own: own - 3, "search_labels: entry . is -., expected at least"),
        ("search_multipliers", lambda own: own[:-1], "search_multipliers: expected .* entries"),
        ("search_multipliers", lambda own: own * np.nan, "search_multipliers: entry 0 is nan"),
        ("is_searched", lambda own: own + 1, "is_searched: entry 0 is 2, expected at most 1"),
        ("searches", lambda own: own - 9, "searches: entry 0 is -8, expected at least 0"),
        ("proofs", lambda own: own[:0], "proofs: expected 1 entries, found 0"),
    ],
)
def test_the_memory_of_a_file_is_validated(rng, name, change, message):
    problem, _, memory = memory_of(rng)
    with pytest.raises(ValueError, match=message):
        problem.restore_memory({**memory, name: change(memory[name])})
    problem.restore_memory(memory)
    for key, value in problem.memory().items():
        np.testing.assert_array_equal(value, memory[key])


@pytest.mark.parametrize("huge", [1e17, 1e300])
def test_any_multipliers_of_a_file_give_the_same_result(rng, huge):
    problem, w, memory = memory_of(rng)
    expected = problem.best_code(0, w, 1.0)[1]
    size = len(memory["search_multipliers"])
    for multipliers in (rng.standard_normal(size), np.tile([huge, -huge], size // 2)):
        problem.restore_memory({**memory, "search_multipliers": multipliers})
        _, value, _, is_exact = problem.best_code(0, w, 1.0)
        assert is_exact
        assert value == pytest.approx(expected, rel=1e-9)


def test_search_finds_better_labelings_than_moves(rng):
    """The search is necessary: the moves of "expansion" miss the optimum of some graphs."""
    missed = 0
    for _ in range(60):
        node, edges = rng.standard_normal((7, 3)), graphs.random_edges(rng, 7, 0.9)
        table, weights = rng.standard_normal((1, 3, 3)), np.ones((len(edges), 1))
        arrays = node, edges.astype(np.int32), weights, table, node.argmin(1).astype(np.int32)
        decoders = GraphDecoder("expansion", 0), ExactDecoder(0)
        moved, found = (decoder.decode_arrays(*arrays)[1] for decoder in decoders)
        missed += moved > found + 1e-9
    assert missed > 0
