#!/usr/bin/env python3
"""Does memory grow over a thousand fits that succeed, fail or are refused?

    python benchmarks/memory_of_fits.py [--runs 1000] [--only REGEX] [--trim] > memory.csv

A case is an estimator, a solver or a function, and how its call ends: well, refused, or left by an
exception of the user's own. It runs `--runs` times in a process of its own, each time with a new
estimator. Its resident memory is read after the first 100 runs and after the last, each time after
a garbage collection. Freed memory that the C library keeps counts too, unless --trim has it given
back (``malloc_trim``) before each reading. Linux only: it reads /proc.

Prints a line of CSV a case: how it ended, by the type of the exception, the kilobytes by which
memory has grown, and milliseconds a run. Exits with 1 if a case has grown by a megabyte, or has
ended in another way than it says.
"""

import argparse
import ctypes
import gc
import os
import re
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import joblib
import numpy as np
from scipy import sparse

import sstruct
from sstruct import inference, metrics, preprocessing
from sstruct.solvers import GDMM, MPBCFW

WARM_RUNS = 100
LIMIT = 1000  # kilobytes
COMMON = {"lam": 0.01, "tol": 0, "max_iter": 5, "certificate_every": 1, "random_state": 0}


class OwnError(Exception):
    """What a user's code raises."""


class Choice:
    """An oracle: x an array (m, d) of candidates, y the place of the right one."""

    def __init__(self, as_sparse=False, method=None, at=None):
        self.as_sparse, self.method, self.at, self.calls = as_sparse, method, at, 0

    def _call(self, method):
        if method == self.method:
            self.calls += 1
            if self.calls == self.at:
                raise OwnError(method)

    def joint_feature(self, x, y):
        self._call("joint_feature")
        return sparse.csr_array(x[[y]]) if self.as_sparse else x[y]

    def loss(self, y_true, y):
        self._call("loss")
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        self._call("argmax")
        scores = x @ w
        if y_true is not None:
            scores = scores + loss_weight * (np.arange(len(x)) != y_true)
        return int(np.argmax(scores))


class Term:
    """A term of the energy: a price for equal labels of two nodes."""

    nodes = (0, 1)

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def cost(self, labels):
        return float(labels[0] == labels[1])

    def minimize(self, costs):
        self.calls += 1
        if self.calls == self.at:
            raise OwnError("minimize")
        total = costs[0][:, None] + costs[1][None] + np.eye(costs.shape[1])
        return np.array(np.unravel_index(total.argmin(), total.shape))


# Data ---------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
N = 12


def chains(n_labels=3):
    X = [RNG.standard_normal((L, 4)) for L in RNG.integers(2, 8, N)]
    return X, [RNG.integers(0, n_labels, len(x)) for x in X]


def sparse_chains():
    X, y = chains()
    return [sparse.csr_matrix(x * (x > 0)) for x in X], y


def sequences():
    X, y = chains()
    return sstruct.Sequences.from_list(X), sstruct.Sequences.from_list(y)


def graphs(features=False, n_labels=3, n=N):
    X, y = (part[:n] for part in chains(n_labels))
    rings = [np.array([(v, (v + 1) % len(x)) for v in range(len(x) - (len(x) == 2))]) for x in X]
    if features:
        return [(x, ring, RNG.random((len(ring), 2))) for x, ring in zip(X, rings)], y
    return list(zip(X, rings)), y


def images():
    return RNG.standard_normal((N, 4, 5, 2)), RNG.integers(0, 2, (N, 4, 5))


def candidates():
    X, y = [], []
    for _ in range(N):
        sizes = RNG.integers(2, 5, 3)
        X.append({
            "features": [RNG.standard_normal((size, 3)) for size in sizes],
            "positions": [RNG.standard_normal((size, 2)) for size in sizes],
        })  # fmt: skip
        y.append(np.array([RNG.integers(size) for size in sizes]))
    return X, y


def score_maps():
    X = [{"features": RNG.standard_normal((3, 4, 5, 2))} for _ in range(N)]
    return X, [RNG.integers(0, 20, 3) for _ in range(N)]


def label_sets():
    return RNG.standard_normal((N, 4)), RNG.integers(0, 2, (N, 5))


def sparse_label_sets():
    X, Y = label_sets()
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)


def rows():
    return RNG.standard_normal((3 * N, 4)), RNG.integers(0, 3, 3 * N)


def choices():
    X = [RNG.standard_normal((4, 3)) for _ in range(N)]
    return X, RNG.integers(0, 4, N).tolist()


# Estimators of which every way is tried; then other solvers, decoders and kinds of data. ----------

PARENTS = {"parents": [-1, 0, 0]}
FULL = {
    "chain": (sstruct.ChainSSVM, chains, {}),
    "graph": (sstruct.GraphCRFSSVM, graphs, {}),
    "grid": (sstruct.GridCRFSSVM, images, {}),
    "tree": (sstruct.TreeSSVM, candidates, PARENTS),
    "multilabel": (sstruct.MultilabelSSVM, label_sets, {}),
    "multiclass": (sstruct.MulticlassSSVM, rows, {}),
    "structured": (sstruct.StructuredSVM, choices, {"oracle": Choice()}),
}
COSTLY = {"solver": MPBCFW(step="corrective", sampling="gap", cache=True)}
OTHERS = {
    "chain, sequences": (sstruct.ChainSSVM, sequences, {}),
    "chain, sparse": (sstruct.ChainSSVM, sparse_chains, {}),
    "chain, bcfw": (sstruct.ChainSSVM, chains, {"solver": "bcfw"}),
    "chain, fw": (sstruct.ChainSSVM, chains, {"solver": "fw"}),
    "chain, ssg": (sstruct.ChainSSVM, chains, {"solver": "ssg"}),
    "chain, cutting-plane": (sstruct.ChainSSVM, chains, {"solver": "cutting-plane"}),
    "chain, gdmm": (sstruct.ChainSSVM, chains, {"solver": GDMM(parts=2)}),
    "chain, corrective": (sstruct.ChainSSVM, chains, COSTLY),
    "chain, average": (sstruct.ChainSSVM, chains, {"solver": MPBCFW(average=True)}),
    "chain, warm": (sstruct.ChainSSVM, chains, {"warm_start": True}),
    "chain, slack": (sstruct.ChainSSVM, chains, {"rescaling": "slack"}),
    "chain, two threads": (sstruct.ChainSSVM, chains, {"n_jobs": 2}),
    "graph, directed": (sstruct.GraphCRFSSVM, partial(graphs, True), {"pairwise": "directed"}),
    "graph, fwmap": (sstruct.GraphCRFSSVM, partial(graphs, n=2), {"inference": "fwmap"}),
    "graph, expansion": (sstruct.GraphCRFSSVM, graphs, {"inference": "expansion"}),
    "graph, ssg": (sstruct.GraphCRFSSVM, graphs, {"solver": "ssg"}),
    "graph, cut": (
        sstruct.GraphCRFSSVM,
        partial(graphs, n_labels=2),
        {"inference": "cut", "bounds": "submodular"},
    ),
    "grid, two threads": (sstruct.GridCRFSSVM, images, {"n_jobs": 2, "connectivity": 8}),
    "tree, maps": (sstruct.TreeSSVM, score_maps, PARENTS),
    "tree, slack": (sstruct.TreeSSVM, candidates, PARENTS | {"rescaling": "slack"}),
    "tree, two threads": (sstruct.TreeSSVM, candidates, PARENTS | {"n_jobs": 2}),
    "multilabel, sparse": (sstruct.MultilabelSSVM, sparse_label_sets, {}),
    "multilabel, relaxed": (sstruct.MultilabelSSVM, label_sets, {"inference": "relaxed"}),
    "multilabel, tree": (sstruct.MultilabelSSVM, label_sets, {"edges": "tree"}),
    "multilabel, hierarchy": (
        sstruct.MultilabelSSVM,
        lambda: (label_sets()[0], np.tile([[1, 0, 0], [1, 1, 0], [1, 1, 1]], (N // 3, 1))),
        {"edges": np.array([-1, 0, 1])},
    ),
    "multilabel, slack": (
        sstruct.MultilabelSSVM,
        label_sets,
        {"rescaling": "slack", "inference": "relaxed"},
    ),
    "multilabel, gdmm": (sstruct.MultilabelSSVM, label_sets, {"solver": "gdmm"}),
    "multiclass, slack": (sstruct.MulticlassSSVM, rows, {"rescaling": "slack"}),
    "multiclass, ssg": (sstruct.MulticlassSSVM, rows, {"solver": "ssg"}),
    "structured, sparse": (sstruct.StructuredSVM, choices, {"oracle": Choice(True)}),
    "structured, slack": (
        sstruct.StructuredSVM,
        choices,
        {"oracle": Choice(), "rescaling": "slack"},
    ),
    "structured, cutting-plane": (
        sstruct.StructuredSVM,
        choices,
        {"oracle": Choice(), "solver": "cutting-plane"},
    ),
}


# Ways: what is done each time, and the exceptions that it may end with (none: it must not). -------


def refused_samples(X):
    """The same with a NaN in the last sample."""
    if not isinstance(X, list):
        X = X.copy()
        of = X.flat if isinstance(X, sstruct.Sequences) else X
        values = of.data if sparse.issparse(of) else of
        values.reshape(-1)[-1] = np.nan
        return X
    last = X[-1]
    if isinstance(last, dict):
        features = last["features"]
        part = features[-1].copy()
        part.reshape(-1)[-1] = np.nan
        return [*X[:-1], {**last, "features": [*features[:-1], part]}]
    if isinstance(last, tuple):
        return [*X[:-1], (last[0] * np.nan, *last[1:])]
    return [*X[:-1], last * np.nan]


def calls_until(error, at):
    """A callback that raises a new exception of a type at one of its calls."""
    calls = []

    def callback(info):
        calls.append(info)
        if len(calls) == at:
            raise error

    return callback


def ways_of(kind, folder, full):
    """Return what is called, and the exception it ends with (or several), by the way's name."""
    estimator, make, own = kind
    X, y = make()
    given = COMMON | own

    def new(**more):
        return estimator(**{**given, **more})

    def good():
        new().fit(X, y)

    def with_callback(error, at):
        new().set_callbacks(calls_until(error, at)).fit(X, y)

    ways = {
        "fit": (good, None),
        "callback raises at call 3": (partial(with_callback, OwnError, 3), OwnError),
        "KeyboardInterrupt at call 2": (
            partial(with_callback, KeyboardInterrupt, 2),
            KeyboardInterrupt,
        ),
    }
    if not full:
        return ways
    fitted = new().fit(X, y)
    again, warm = new(), new(warm_start=True)
    bad_X, short = refused_samples(X), y[:-1]
    other_X = make()[0]
    states = [
        {**fitted.__getstate__(), "_w": fitted._w[:-1]},
        {**fitted.__getstate__(), "n_iter_": "many"},
    ]
    number = iter(range(10**9))

    def use():
        model = new().fit(X, y)
        model.predict(other_X)
        model.score(X, y)
        assert len(model.w_)
        model.to_frame()

    def checkpointed():
        path = folder / "checkpoint"
        new(checkpoint=path, max_iter=2).fit(X, y)
        new(checkpoint=path).fit(X, y)
        path.unlink()

    def checkpoint_gone():
        place = folder / f"folder {next(number)}"
        place.mkdir()
        path = place / "checkpoint"

        def callback(info):
            path.unlink(missing_ok=True)
            if place.exists():
                place.rmdir()

        new(checkpoint=path).set_callbacks(callback).fit(X, y)

    def checkpoint_refused():
        path = folder / "other"
        if not path.exists():
            path.write_bytes(b"no checkpoint")
        new(checkpoint=path).fit(X, y)

    def load():
        model = estimator.__new__(estimator)
        model.__setstate__(states[next(number) % 2])

    def doctored():
        model = new().fit(X, y)
        model._w = model._w[:-1]
        model.predict(X)

    return ways | {
        "fit and use": (use, None),
        "the same estimator": (lambda: again.fit(X, y), None),
        "warm starts": (lambda: warm.fit(X, y), None),
        "checkpoint": (checkpointed, None),
        "X refused": (lambda: new().fit(bad_X, y), ValueError),
        "y refused": (lambda: new().fit(X, short), ValueError),
        "parameter refused": (lambda: new(tol=-1).fit(X, y), ValueError),
        "weights refused": (lambda: new().fit(X, y, sample_weight=[1.0]), ValueError),
        "callback raises at call 1": (partial(with_callback, OwnError, 1), OwnError),
        "MemoryError at call 2": (partial(with_callback, MemoryError, 2), MemoryError),
        "callback stops": (
            lambda: new().set_callbacks(lambda info: info["passes"] == 2).fit(X, y),
            None,
        ),
        "checkpoint goes away": (checkpoint_gone, (OSError, None)),
        "checkpoint refused": (checkpoint_refused, ValueError),
        "loaded model refused": (load, (ValueError, None)),  # any w serves a user's oracle
        "predict refused": (lambda: fitted.predict(bad_X), (ValueError, None)),
        "changed model refused": (doctored, ValueError),
        "predict before a fit": (lambda: new().predict(X), ValueError),
    }


def oracles_that_raise():
    """Fits that the oracle of a StructuredSVM ends."""
    X, y = choices()
    for method in ("argmax", "joint_feature", "loss"):
        for at in (1, 30):
            for as_sparse in (False, True):

                def fit(method=method, at=at, as_sparse=as_sparse):
                    oracle = Choice(as_sparse, method, at)
                    sstruct.StructuredSVM(**COMMON | {"oracle": oracle}).fit(X, y)

                kind = "sparse" if as_sparse else "dense"
                yield f"structured, {kind}: {method} raises at call {at}", fit, OwnError


def paths():
    """Regularization paths and searches over them."""
    X, y = chains()
    template = sstruct.ChainSSVM(random_state=0)
    path = partial(sstruct.ssvm_path, eps=0.3)
    yield "ssvm_path: good", lambda: path(template, X, y), None
    yield "ssvm_path: X refused", lambda: path(template, refused_samples(X), y), ValueError

    def search(**parameters):
        return sstruct.PathCV(template, eps=0.5, cv=2, **parameters).fit(X, y)

    def in_threads():
        with joblib.parallel_config("threading"):
            search(n_jobs=2)

    def raising():
        calls = []

        def scoring(model, X, y):
            calls.append(None)
            if len(calls) == 2:
                raise OwnError
            return 0.0

        search(scoring=scoring)

    yield "PathCV: good", search, None
    yield "PathCV: two threads", in_threads, None
    yield "PathCV: parameter refused", partial(search, rule="worst"), ValueError
    yield "PathCV: scoring raises", raising, OwnError


def functions():
    """Functions without an estimator."""
    n = 12
    unary = RNG.standard_normal((n, 3))
    ring = np.array([(v, (v + 1) % n) for v in range(n)])
    two = unary[:, :2]
    smooth = 0.3 * (1 - np.eye(3))
    mrf = inference.MRF(unary, ring, smooth)
    binary = inference.MRF(two, ring, 0.3 * (1 - np.eye(2)))
    few = {"max_iter": 5, "random_state": 0}
    for method in ("auto", "fwmap", "trws", "bp", "icm", "alpha-expansion", "exact"):
        yield f"map_mrf: {method}", partial(inference.map_mrf, mrf, method, **few), None
    yield "map_mrf: graph-cut", partial(inference.map_mrf, binary, "graph-cut"), None
    yield "map_mrf: term", lambda: inference.map_mrf(mrf, terms=[Term()], **few), None
    yield (
        "map_mrf: term raises",
        lambda: inference.map_mrf(mrf, terms=[Term(3)], **few),
        OwnError,
    )
    yield "map_mrf: refused", partial(inference.map_mrf, mrf, "graph-cut"), ValueError
    yield "MRF: good", lambda: inference.MRF(unary, ring, smooth), None
    yield "MRF: refused", lambda: inference.MRF(unary, ring + 1, smooth), ValueError
    pairwise = sparse.random(16, 16, 0.2, format="csr", random_state=0)
    match = partial(inference.graph_matching, unary[:4, :3].repeat(2, 1)[:, :4])
    yield "graph_matching: good", partial(match, pairwise, **few), None
    yield "graph_matching: refused", partial(match, pairwise[:5], **few), ValueError
    image = RNG.integers(0, 2, (3, 4))
    rays = inference.projection_rays(image.shape, [0, 90])
    sums = [image.ravel()[ray].sum() for ray in rays]
    tomography = inference.discrete_tomography
    yield "discrete_tomography: good", partial(tomography, sums, rays, (3, 4), 2, **few), None
    wrong = partial(tomography, [99, *sums[1:]], rays, (3, 4), 2)
    yield "discrete_tomography: refused", wrong, ValueError

    transition, scores = RNG.standard_normal((3, 3)), RNG.standard_normal((9, 3))
    for name in ("viterbi", "max_marginals"):
        decode = getattr(inference, name)
        yield f"{name}: good", partial(decode, scores, transition), None
        yield f"{name}: refused", partial(decode, scores * np.nan, transition), ValueError
    yield "top_k", partial(inference.top_k, scores, transition, 3), None
    yield "graph_cut", partial(inference.graph_cut, two, ring, np.ones(n)), None
    expand = partial(inference.alpha_expansion, unary, ring, np.ones(n))
    yield "alpha_expansion", partial(expand, random_state=0), None
    sets = partial(inference.multilabel_map, unary[:, 0], ring, np.ones(n))
    yield "multilabel_map", sets, None

    segments = np.arange(24).reshape(4, 6) // 3
    picture = RNG.random((4, 6, 3))
    graph = preprocessing.superpixel_graph
    yield "superpixel_graph: good", partial(graph, picture, segments), None
    yield "superpixel_graph: refused", partial(graph, picture, segments[1:]), ValueError
    labels = partial(preprocessing.superpixel_labels, (segments > 3).astype(int), segments)
    yield "superpixel_labels", labels, None
    words = [[{"w": f"word{k}", "n": k} for k in range(5)]] * 3
    vectorizer = preprocessing.SequenceVectorizer
    yield "SequenceVectorizer: good", lambda: vectorizer().fit_transform(words), None
    bad = [*words, [{"w": object()}]]
    yield (
        "SequenceVectorizer: refused",
        lambda: vectorizer().fit_transform(bad),
        (TypeError, ValueError),
    )
    from sklearn.preprocessing import StandardScaler

    X, y = chains()
    per_node = preprocessing.PerNode(StandardScaler())
    yield "PerNode: good", lambda: per_node.fit_transform(X), None
    yield "PerNode: refused", lambda: per_node.fit_transform([*X, X[0][:, :2]]), ValueError
    yield "Sequences: refused", lambda: sstruct.Sequences(X[0], [0, 9, 1]), ValueError
    yield "flat_f1_score", lambda: metrics.flat_f1_score(y, y, average="macro"), None


def files(folder):
    """Files that are read, whole and damaged."""
    mrf = inference.MRF(RNG.random((5, 2)), [[0, 1], [1, 2]], RNG.random((2, 2)))
    whole, cut = folder / "whole.uai", folder / "cut.uai"
    inference.write_uai(mrf, whole)
    cut.write_text(whole.read_text()[:-20])
    yield "read_uai: good", lambda: inference.read_uai(whole), None
    yield "read_uai: refused", lambda: inference.read_uai(cut), ValueError
    dd = folder / "some.dd"
    dd.write_text("p 2 2 2 1\na 0 0 0 1.0\na 1 1 1 2.0\ne 0 1 -3.0\n")
    yield "read_dd: good", lambda: inference.read_dd(dd), None
    wrong = folder / "wrong.dd"
    wrong.write_text("p 2 2 2 1\na 0 0 9 1.0\n")
    yield "read_dd: refused", lambda: inference.read_dd(wrong), ValueError


def cases(folder):
    """Return a function and how it ends, by the name of each case."""
    found = {}
    for kinds, full in ((FULL, True), (OTHERS, False)):
        for name, kind in kinds.items():
            for way, case in ways_of(kind, folder, full).items():
                found[f"{name}: {way}"] = case
    for make in (oracles_that_raise, paths, functions, partial(files, folder)):
        for name, call, ending in make():
            found[name] = call, ending
    return found


# Measuring ----------------------------------------------------------------------------------------


def resident(trim):
    """Resident memory, in kilobytes."""
    gc.collect()
    if trim:
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1000


def ending_of(call):
    """Call, and return the type of what is raised."""
    try:
        call()
    except (Exception, KeyboardInterrupt) as error:
        return type(error)
    return None


def measure(call, runs, trim):
    """Return the endings, the kilobytes by which memory grows, and milliseconds a run."""
    endings = {ending_of(call) for _ in range(WARM_RUNS)}
    before, began = resident(trim), time.perf_counter()
    for _ in range(runs - WARM_RUNS):
        endings.add(ending_of(call))
    seconds = time.perf_counter() - began
    return endings, resident(trim) - before, 1000 * seconds / (runs - WARM_RUNS)


def in_a_child(name, case, arguments):
    """Measure a case in a child process, which prints its line; return whether all is well."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    good = False
    try:
        call, ending = case
        endings, growth, milliseconds = measure(call, arguments.runs, arguments.trim)
        expected = ending if isinstance(ending, tuple) else (ending,)
        as_said = all(
            any(e is o or (e and o and issubclass(e, o)) for o in expected) for e in endings
        )
        good = as_said and growth < LIMIT
        names = " ".join(sorted("good" if e is None else e.__name__ for e in endings))
        remark = "" if good else "GREW" if as_said else "UNEXPECTED"
        print(f'"{name}",{names},{growth:.0f},{milliseconds:.2f},{remark}', flush=True)
    finally:
        os._exit(0 if good else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="cases whose names match")
    parser.add_argument("--trim", action="store_true", help="call malloc_trim before a reading")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("case,ended,kilobytes,milliseconds,remark")
    with tempfile.TemporaryDirectory() as folder:
        chosen = {k: v for k, v in cases(Path(folder)).items() if re.search(arguments.only, k)}
        good = [in_a_child(name, case, arguments) for name, case in chosen.items()]
    print(f"# {sum(good)} of {len(good)} cases as expected, malloc_trim: {arguments.trim}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
