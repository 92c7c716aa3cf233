"""The calls that `interrupts.py` interrupts, by name; each takes one to a few seconds."""

import tempfile
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import sstruct
from sstruct import Sequences, datasets, inference, metrics, preprocessing
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core.solver import OWN_ENDS
from sstruct.solvers import MPBCFW
from tests.hostile.certificates import codes_of, node_costs, objective

# Relative, of sums in another order.
ROUNDING = 1e-9
# To be recomputed, with some Python for each: chains, and entries of rows of features.
MOST_CHAINS, MOST_ENTRIES = 1000, 2e6


class Call:
    """A function without a state: the same arguments must give the same bits."""

    def __init__(self, function):
        self.function = function

    def run(self):
        return self.function()

    def bits(self, result):
        """What must come again, as bytes."""
        return b"".join(bytes_of(result))

    def check(self, end, result):
        """What an interrupted call has left that is not sound; "" where all is well."""
        return ""

    def close(self):
        """Give back what the case has taken."""


def bytes_of(value):
    """The bytes of arrays and numbers, however nested."""
    if isinstance(value, inference.MRF | inference.MatchingProblem):
        value = list(vars(value).values()) if hasattr(value, "__dict__") else value.node_costs
    if isinstance(value, inference.MapResult):
        value = (value.labels, value.energy, value.lower_bound)
    if isinstance(value, tuple | list):
        for item in value:
            yield from bytes_of(item)
    elif sparse.issparse(value):
        yield from bytes_of([value.data, value.indices])
    elif isinstance(value, Sequences):
        yield from bytes_of([value.flat, value.offsets])
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from bytes_of(list(value))
    else:
        yield np.ascontiguousarray(value).tobytes()


class Map(Call):
    """A search that returns what it has found."""

    def __init__(self, mrf, method, **keywords):
        self.mrf, self.method, self.keywords = mrf, method, keywords

    def run(self):
        return inference.map_mrf(self.mrf, self.method, random_state=0, **self.keywords)

    def bits(self, result):
        # What a limit of time leaves is another thing each time.
        return b"" if "max_time" in self.keywords else super().bits(result)

    def check(self, end, result):
        if end == "KeyboardInterrupt" or result.energy == np.inf:
            return ""
        energy = self.mrf.energy(result.labels)
        if abs(energy - result.energy) > ROUNDING * (1 + abs(energy)):
            return f"energy {result.energy}, of its labels {energy}"
        if result.lower_bound > result.energy + ROUNDING * (1 + abs(energy)):
            return f"bound {result.lower_bound} above {result.energy}"
        return ""


class Fit(Call):
    """A fit, and the model that it leaves."""

    def __init__(self, estimator, X, y, **parameters):
        parameters = {"tol": 0, "random_state": 0, "max_iter": 50} | parameters
        self.make, self.parameters, self.X, self.y = estimator, parameters, X, y
        self.model = None

    def run(self):
        self.model = self.make(**self.parameters)
        return self.model.fit(self.X, self.y)

    def bits(self, result):
        return b"".join(bytes_of([result.w_, result.objective_, result.dual_objective_]))

    def check(self, end, result):
        model = self.model
        if not hasattr(model, "status_"):
            left = [name for name in vars(model) if name.endswith("_") and name[0] != "_"]
            return f"no status_, but {left}" if left else ""
        # Any other one: the fit was over, and the signal came in what follows the last pass.
        if end == "KeyboardInterrupt" and model.status_ not in ("INTERRUPTED", *OWN_ENDS):
            return f"status_ is {model.status_}"
        model.predict(self.X[:2])
        return self.certificate(model)

    def certificate(self, model):
        """What is wrong with a model's certificate."""
        if model.objective_ == np.inf:
            return ""
        if model.dual_objective_ > model.objective_ * (1 + ROUNDING):
            return f"dual {model.dual_objective_} above {model.objective_}"
        if "approximate" in model.inference_ or "bounded" in model.inference_:
            return ""  # started elsewhere, it may find others
        training = self.make(**self.parameters)._prepare(self.X, self.y, None)
        hinge, _ = full_pass(ThreadPool(training.problem, 1), model._w, training.block_weight, None)
        primal = 0.5 * model.lam_ * float(model._w @ model._w) + hinge
        if abs(primal - model.objective_) > 1e-6 * primal:
            return f"objective {model.objective_}, by a full pass {primal}"
        primal = self.objective_by_numpy(model)
        if primal is not None and abs(primal - model.objective_) > 1e-6 * primal:
            return f"objective {model.objective_}, by plain NumPy {primal}"
        return ""

    def objective_by_numpy(self, model):
        """P(w_) from `w_` and the data by definition, where that is simple; else None."""
        if getattr(model, "rescaling", "margin") == "slack":
            return None
        if isinstance(model, sstruct.ChainSSVM) and len(self.X) <= MOST_CHAINS:
            if sparse.issparse(self.X[0]):
                return None
            return chain_objective(model, self.X, self.y)
        if isinstance(model, sstruct.MulticlassSSVM) and np.prod(self.X.shape) <= MOST_ENTRIES:
            return objective("rows", model, self.X, self.y, None)[0]
        return None


def chain_objective(model, X, y):
    """P(w_) of a chain model without masks and missing labels: max-sum by definition."""
    codes = codes_of(model, y)
    ones = [np.ones(len(x)) for x in X]
    cost, factor, divided = node_costs(model, codes, np.ones(len(codes)), ones)
    cost, hinges = factor[:, None] * cost, 0.0
    for x, truth in zip(X, codes):
        scores = np.asarray(x) @ model.coef_.T + model.intercept_
        scores[0] += model.start_coef_
        scores[-1] += model.end_coef_
        own = scores[np.arange(len(truth)), truth].sum()
        own += model.edge_coef_[truth[:-1], truth[1:]].sum()
        scores += cost[truth] / (len(truth) if divided else 1)
        best = scores[0]
        for row in scores[1:]:
            best = (best[:, None] + model.edge_coef_).max(axis=0) + row
        hinges += best.max() - own
    return 0.5 * model.lam_ * float(model.w_ @ model.w_) + hinges / len(codes)


class Search(Call):
    """A search over parameters: no model before it is over."""

    def __init__(self, make, X, y, backend=None, n_jobs=1):
        self.make, self.X, self.y, self.backend, self.n_jobs = make, X, y, backend, n_jobs

    def run(self):
        self.model = self.make()
        if self.backend is None:
            return self.model.fit(self.X, self.y)
        with joblib.parallel_config(self.backend, n_jobs=self.n_jobs):
            return self.model.fit(self.X, self.y)

    def bits(self, result):
        return b"".join(bytes_of([result.best_estimator_.w_]))

    def check(self, end, result):
        if hasattr(self.model, "best_estimator_"):
            self.model.predict(self.X[:2])
        return ""


class Clustered(Fit):
    """A fit whose oracles are asked in the processes of a local Dask cluster."""

    def __init__(self, *args, **parameters):
        import distributed

        super().__init__(*args, **parameters)
        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0",
            silence_logs=50,
        )  # fmt: skip
        self.client = distributed.Client(self.cluster)

    def run(self):
        with joblib.parallel_config(backend="dask"):
            return super().run()

    def certificate(self, model):
        return "dual above" if model.dual_objective_ > model.objective_ else ""

    def close(self):
        self.client.close()
        self.cluster.close()


class Labels:
    """An oracle of classes, in plain Python: which of K blocks of weights a sample takes."""

    def __init__(self, n_labels):
        self.n_labels = n_labels

    def joint_feature(self, x, y):
        out = np.zeros((self.n_labels, len(x)))
        out[y] = x
        return out.ravel()

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = w.reshape(self.n_labels, -1) @ x
        if y_true is not None:
            scores = scores + loss_weight * (np.arange(self.n_labels) != y_true)
        return int(scores.argmax())


# Data ---------------------------------------------------------------------------------------------


def rng():
    return np.random.default_rng(0)


def chains(n=300, length=30, n_labels=12):
    return datasets.make_sequences(
        n, n_labels=n_labels, min_length=length, max_length=length, noise=2.0, random_state=0
    )


def long_chains():
    return chains(4, 20_000, 24)


def grids(n=20, n_labels=2, shape=(24, 32)):
    return datasets.make_grids(n, n_labels=n_labels, shape=shape, random_state=0)


def graphs(n=40, n_labels=4):
    X, y = grids(n, n_labels)
    height, width = y.shape[1:]
    at = np.arange(height * width).reshape(height, width)
    edges = np.concatenate([
        np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]),
        np.column_stack([at[:-1].ravel(), at[1:].ravel()]),
        np.column_stack([at[:-1, :-1].ravel(), at[1:, 1:].ravel()]),
    ])  # fmt: skip
    return [(x.reshape(-1, x.shape[-1]), edges) for x in X], [labels.ravel() for labels in y]


def figures(n=40, size=32):
    bunch = datasets.make_stick_figures(n, size=size, random_state=0)
    return bunch.data, bunch.target, bunch.parents


def label_sets(n=1500, n_labels=12):
    return datasets.make_multilabel_pairwise(n, n_labels=n_labels, random_state=0)


def rows(n=20_000, n_labels=20, n_features=50):
    centers = rng().standard_normal((n_labels, n_features))
    y = rng().integers(0, n_labels, n)
    return centers[y] + 4 * np.random.default_rng(1).standard_normal((n, n_features)), y


def choices(n=400):
    return rows(n, 8, 20)


def ising(side=200, n_labels=2, attractive=True):
    at = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([
        np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]),
        np.column_stack([at[:-1].ravel(), at[1:].ravel()]),
    ])  # fmt: skip
    costs = rng().standard_normal((side * side, n_labels))
    if attractive:
        weights = rng().random(len(edges))
        return inference.MRF(costs, edges, 1 - np.eye(n_labels), weights=weights)
    return inference.MRF(costs, edges, rng().standard_normal((len(edges), n_labels, n_labels)))


# Cases --------------------------------------------------------------------------------------------


def fit(estimator, data, **parameters):
    return lambda: Fit(estimator, *data(), **parameters)


def tree(**parameters):
    X, y, parents = figures()
    return Fit(sstruct.TreeSSVM, X, y, parents=parents, **parameters)


def choice(**parameters):
    return Fit(sstruct.StructuredSVM, *choices(200), oracle=Labels(8), **parameters)


def predict(make_fit, X):
    model = make_fit.run()
    return Call(lambda: model.predict(X))


def predict_chains(n_jobs=None, method="predict"):
    case = Fit(sstruct.ChainSSVM, *chains(50), max_iter=2, n_jobs=n_jobs)
    model = case.run()
    X = np.random.default_rng(2).standard_normal((1_500_000, 10))
    X = Sequences.from_lengths(X, [300_000] * 5)
    return Call(lambda: getattr(model, method)(X))


def predict_grids():
    case = Fit(sstruct.GridCRFSSVM, *grids(10, 5), max_iter=3)
    model = case.run()
    X = np.random.default_rng(2).standard_normal((1, 700, 700, 3))
    return Call(lambda: model.predict(X))


def predict_rows():
    case = Fit(sstruct.MulticlassSSVM, *rows(1000), max_iter=2)
    model = case.run()
    X = np.random.default_rng(2).standard_normal((1_500_000, 50))
    return Call(lambda: model.predict(X))


def viterbi():
    node = rng().standard_normal((400_000, 60))
    edge = rng().standard_normal((60, 60))
    return Call(lambda: inference.viterbi(node, edge))


def viterbi_tables():
    node, edge = rng().standard_normal((60_000, 24)), rng().standard_normal((59_999, 24, 24))
    return Call(lambda: inference.viterbi(node, edge))


def sparse_viterbi():
    node = rng().standard_normal((9000, 8000))
    edge = sparse.random_array((8000, 8000), density=0.002, format="csr", rng=0)
    return Call(lambda: inference.viterbi(node, edge))


def max_marginals():
    node, edge = rng().standard_normal((800_000, 30)), rng().standard_normal((30, 30))
    return Call(lambda: inference.max_marginals(node, edge))


def top_k():
    node, edge = rng().standard_normal((250_000, 30)), rng().standard_normal((30, 30))
    return Call(lambda: inference.top_k(node, edge, 10))


def tree_max_sum():
    n = 200_000
    scores = list(rng().standard_normal((n, 20)))
    parents = np.r_[-1, rng().integers(0, np.arange(1, n))]
    edge = [rng().standard_normal((20, 20))] * n
    return Call(lambda: inference.tree_max_sum(scores, parents, edge))


def distance_transform():
    costs = rng().standard_normal((5000, 4000))
    return Call(lambda: inference.distance_transform(costs, (0.1, 0.1), (0.0, 0.0)))


def graph_cut():
    model = ising(500)
    costs = model.node_costs.reshape(-1, 2)
    weights = 2 * rng().random(len(model.edges))
    return Call(lambda: inference.graph_cut(costs, model.edges, weights))


def roof_duality():
    model = ising(600, attractive=False)
    costs = model.node_costs.reshape(-1, 2)
    tables = 0.5 * rng().standard_normal((len(model.edges), 2, 2))
    return Call(lambda: inference.graph_cut(costs, model.edges, tables, roof_duality=True))


def maxflow():
    model = ising(500)
    capacities = rng().random((len(model.edges), 2))
    n = 500 * 500
    return Call(lambda: inference.maxflow(n, model.edges, capacities, 0, n - 1))


def expansion():
    model = ising(250, 10)
    costs, weights = model.node_costs.reshape(-1, 10), rng().random(len(model.edges))
    return Call(lambda: inference.alpha_expansion(costs, model.edges, weights, random_state=0))


def multilabel_map():
    n = 3000
    edges = np.unique(np.sort(rng().integers(0, n, (40_000, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    scores = rng().standard_normal(len(edges))
    node = rng().standard_normal(n)
    return Call(lambda: inference.multilabel_map(node, edges, scores))


def search_for(side, n_labels, attractive, method, **keywords):
    return lambda: Map(ising(side, n_labels, attractive), method, **keywords)


def dense_map(n, n_labels, method, **keywords):
    """A complete graph: hard for integer programs, large tables for messages."""

    def make():
        edges = np.column_stack(np.triu_indices(n, 1))
        tables = rng().standard_normal((len(edges), n_labels, n_labels))
        return Map(inference.MRF(rng().standard_normal((n, n_labels)), edges, tables), method,
                   **keywords)  # fmt: skip

    return make


def long_chain_map():
    n = 300_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    table = rng().standard_normal((12, 12))
    model = inference.MRF(rng().standard_normal((n, 12)), edges, table)
    return Map(model, "exact")


def graph_matching(n=40, density=0.3):
    unary = rng().standard_normal((n, n))
    pairwise = sparse.random_array((n * n, n * n), density=density / 20, format="csr", rng=0)
    return Call(lambda: inference.graph_matching(unary, pairwise, random_state=0, max_iter=20))


def large_matching():
    unary = rng().standard_normal((80, 80))
    pairwise = sparse.random_array((6400, 6400), density=1e-4, format="csr", rng=0)
    return Call(lambda: inference.graph_matching(unary, pairwise, random_state=0, max_iter=10))


def tomography():
    image = rng().integers(0, 4, (40, 40))
    rays = inference.projection_rays(image.shape, np.linspace(0, 170, 12))
    sums = np.array([image.ravel()[ray].sum() for ray in rays])
    return Call(
        lambda: inference.discrete_tomography(
            sums, rays, image.shape, 4, max_iter=60, random_state=0
        )
    )


def projection_rays():
    return Call(lambda: inference.projection_rays((1500, 1500), np.linspace(0, 170, 12)))


class Read(Call):
    """Reading a file that was written for it."""

    def __init__(self, read, text):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "model"
        path.write_text(text)
        super().__init__(lambda: read(path))

    def bits(self, result):
        if isinstance(result, inference.MatchingProblem):
            return super().bits([result.unary, result.pairwise])
        return super().bits([result.node_costs, result.edges])

    def close(self):
        self.folder.cleanup()


def uai(n=60_000, n_labels=6):
    ends = [(v, v + 1) for v in range(n - 1)]
    lines = ["MARKOV", str(n), " ".join([str(n_labels)] * n), str(n + len(ends))]
    lines += [f"1 {v}" for v in range(n)] + [f"2 {u} {v}" for u, v in ends]
    lines += [f"{n_labels}\n" + " ".join(["0.5"] * n_labels)] * n
    table = " ".join(f"{x:.6f}" for x in rng().random(n_labels**2))
    lines += [f"{n_labels**2}\n{table}"] * len(ends)
    return Read(inference.read_uai, "\n".join(lines))


def large_table(n_labels=2000):
    table = " ".join(f"{x:.6f}" for x in rng().random(n_labels**2))
    text = f"MARKOV\n2\n{n_labels} {n_labels}\n1\n2 0 1\n{n_labels**2}\n{table}\n"
    return Read(inference.read_uai, text)


def dd(n=300, n_pairs=400_000):
    lines = [f"p {n} {n} {n * n} {n_pairs}"]
    lines += [f"a {k} {k // n} {k % n} {k / n:.3f}" for k in range(n * n)]
    first = rng().integers(0, n * n, (2 * n_pairs, 2))
    apart = (first[:, 0] // n != first[:, 1] // n) & (first[:, 0] % n != first[:, 1] % n)
    pairs = np.unique(np.sort(first[apart], axis=1), axis=0)[:n_pairs]
    lines[0] = f"p {n} {n} {n * n} {len(pairs)}"
    lines += [f"e {a} {b} -0.25" for a, b in pairs.tolist()]
    return Read(inference.read_dd, "\n".join(lines))


def write_uai():
    model, folder = ising(150, 6, False), tempfile.TemporaryDirectory()
    path = Path(folder.name) / "model"
    case = Call(lambda: [inference.write_uai(model, path), path.read_bytes()][1:])
    case.folder = folder
    return case


def mrf():
    edges = ising(250).edges
    tables = list(rng().standard_normal((len(edges), 6, 6)))
    costs = list(rng().standard_normal((250 * 250, 6)))
    return Call(lambda: inference.MRF(costs, edges, tables))


def sequences_of_lists():
    items = [[[float(k), 1.0, 2.0] for k in range(20)] for _ in range(60_000)]
    return Call(lambda: Sequences.from_list([np.array(item) for item in items]))


def sequences_of_arrays():
    flat = rng().standard_normal((4_000_000, 20))
    items = np.split(flat, range(10, len(flat), 10))
    return Call(lambda: Sequences.from_list(items))


def sequences_of_rows():
    items = [sparse.random_array((10, 1000), density=0.01, format="csr", rng=0)] * 40_000
    return Call(lambda: Sequences.from_list(items))


def tokens(n=15_000):
    words = [f"w{k}" for k in rng().integers(0, 30_000, 20 * n)]
    return [
        [{"word": w, "lower": w[:2], "n": 1.5} for w in words[20 * i : 20 * i + 20]]
        for i in range(n)
    ]


def vectorizer():
    X = tokens()
    return Call(lambda: preprocessing.SequenceVectorizer(dtype=np.float64).fit_transform(X))


def structures_per_node():
    from sklearn.preprocessing import StandardScaler

    X, y = chains(60_000, 20, 4)
    return Call(lambda: preprocessing.PerNode(StandardScaler()).fit_transform(X, y))


def superpixels():
    segments = np.arange(3000 * 3000).reshape(3000, 3000) // 37
    image = rng().random((3000, 3000, 3))
    return Call(lambda: list(preprocessing.superpixel_graph(image, segments)))


def scores():
    tags = np.array(["B-a", "I-a", "O", "B-b"])
    y = [tags[rng().integers(0, 4, 40)].tolist() for _ in range(20_000)]
    return Call(lambda: [metrics.chunk_f1_score(y, y), metrics.flat_f1_score(y, y)])


def packing_of_objects():
    """Labels as strings and rows as lists: most of the time goes by before the first pass."""
    X, y = chains(60_000, 12, 4)
    X, y = [x.tolist() for x in X], [[f"label {k}" for k in labels] for labels in y]
    return Fit(sstruct.ChainSSVM, X, y, max_iter=1)


def packing_of_arrays():
    X, y = chains(100_000, 20, 4)
    return Fit(sstruct.ChainSSVM, X, y, max_iter=1)


def wide_rows():
    """A step for each of few samples takes long: many weights, that all passes and copies move."""
    X = sparse.random_array((2000, 500_000), density=4e-5, format="csr", rng=0)
    return X, rng().integers(0, 10, 2000)


def wide_fit(**parameters):
    return Fit(sstruct.MulticlassSSVM, *wide_rows(), **{"max_iter": 3, "lam": 1e-3} | parameters)


def wide_chains(n=200, length=10):
    X = sparse.random_array((n * length, 500_000), density=4e-5, format="csr", rng=0)
    y = rng().integers(0, 10, n * length)
    offsets = np.arange(0, n * length + 1, length)
    return Sequences(X, offsets), np.split(y, offsets[1:-1])


def many_planes(**parameters):
    X, y = rows(4000, 100, 300)
    return Fit(sstruct.MulticlassSSVM, X, y, **{"max_iter": 12, "lam": 1e-4} | parameters)


def with_checkpoint():
    folder = tempfile.TemporaryDirectory()
    case = many_planes(max_iter=8)
    case.run_once, case.folder = case.run, folder

    def run():
        for path in Path(folder.name).iterdir():
            path.unlink()
        case.parameters["checkpoint"] = str(Path(folder.name) / "fit")
        return case.run_once()

    case.run = run
    return case


def path(estimator, data, **keywords):
    def make():
        X, y = data()
        case = Call(lambda: sstruct.ssvm_path(estimator(random_state=0), X, y, **keywords))
        case.bits = lambda result: np.asarray(result.lams_).tobytes()
        return case

    return make


def path_cv(backend=None, n_jobs=None):
    X, y = chains(200, 15, 6)

    def make():
        return sstruct.PathCV(sstruct.ChainSSVM(random_state=0), eps=0.1, cv=3, n_jobs=n_jobs)

    return Search(make, X, y, backend, n_jobs)


def grid_search(backend=None, n_jobs=None):
    X, y = chains(100, 10, 4)

    def make():
        model = sstruct.ChainSSVM(random_state=0, tol=1e-3, max_iter=60)
        return GridSearchCV(model, {"lam": [1.0, 0.1, 0.01, 0.001]}, cv=3, n_jobs=n_jobs)

    return Search(make, X, y, backend, n_jobs)


def cluster():
    return Clustered(sstruct.StructuredSVM, *choices(60), oracle=Labels(8), max_iter=4)


CASES = {}
_chain, _sets = sstruct.ChainSSVM, sstruct.MultilabelSSVM
for _name, _passes in {
    "mp-bcfw": 40,
    "bcfw": 80,
    "fw": 120,
    "ssg": 150,
    "cutting-plane": 60,
}.items():
    CASES[f"fit chain {_name}"] = fit(_chain, chains, solver=_name, max_iter=_passes)
CASES |= {
    "fit chain gdmm": fit(_chain, chains, solver="gdmm", max_iter=8),
    "fit chain slack": fit(_chain, lambda: chains(100, 15, 6), rescaling="slack", max_iter=10),
    "fit chain n_jobs=2": fit(_chain, chains, n_jobs=2, max_iter=60),
    "fit chain gdmm n_jobs=2": fit(_chain, chains, solver="gdmm", n_jobs=2, max_iter=8),
    "fit long chains": fit(_chain, long_chains, max_iter=8),
    "fit long chains fw": fit(_chain, long_chains, solver="fw", max_iter=12),
    "fit long chains gdmm": fit(_chain, long_chains, solver="gdmm", max_iter=1),
    "fit packing of objects": packing_of_objects,
    "fit packing of arrays": packing_of_arrays,
    "fit grid cut": fit(sstruct.GridCRFSSVM, grids, max_iter=15),
    "fit grid expansion": fit(sstruct.GridCRFSSVM, lambda: grids(10, 5), max_iter=6),
    "fit grid fw": fit(sstruct.GridCRFSSVM, grids, solver="fw", max_iter=20),
    "fit graph": fit(sstruct.GraphCRFSSVM, lambda: graphs(15), max_iter=5),
    "fit graph fwmap": fit(
        sstruct.GraphCRFSSVM, lambda: graphs(6, 3), inference="fwmap", max_iter=2
    ),
    "fit graph cutting-plane": fit(
        sstruct.GraphCRFSSVM, lambda: graphs(15), solver="cutting-plane", max_iter=8
    ),
    "fit tree": lambda: tree(max_iter=6),
    "fit tree slack": lambda: tree(max_iter=1, rescaling="slack"),
    "fit tree n_jobs=2": lambda: tree(max_iter=8, n_jobs=2),
    "fit rows": fit(sstruct.MulticlassSSVM, rows, max_iter=25),
    "fit rows fw": fit(sstruct.MulticlassSSVM, rows, solver="fw", max_iter=60),
    "fit rows ssg": fit(sstruct.MulticlassSSVM, rows, solver="ssg", max_iter=60),
    "fit rows many planes": many_planes,
    "fit rows checkpoint": with_checkpoint,
    "fit wide rows": wide_fit,
    "fit wide rows fw": lambda: wide_fit(solver="fw", max_iter=6),
    "fit wide rows ssg": lambda: wide_fit(solver="ssg", max_iter=1),
    "fit wide rows average": lambda: wide_fit(solver=MPBCFW(average=True), max_iter=2),
    "fit wide chains average": fit(
        _chain, wide_chains, solver=MPBCFW(average=True), max_iter=8, lam=1e-3
    ),
    "fit wide rows cutting-plane": lambda: wide_fit(solver="cutting-plane", max_iter=6),
    "fit label sets": fit(_sets, label_sets, max_iter=8),
    "fit label sets gdmm": fit(_sets, lambda: label_sets(600), solver="gdmm", max_iter=12),
    "fit label sets slack": fit(
        _sets, lambda: label_sets(200, 8), rescaling="slack", max_iter=8
    ),
    "fit label sets relaxed": fit(
        _sets, lambda: label_sets(300, 24), inference="relaxed", max_iter=4
    ),
    "fit label sets cutting-plane": fit(
        _sets, lambda: label_sets(400, 10), solver="cutting-plane", max_iter=60, lam=1e-4
    ),
    "fit bounds cutting-plane": fit(
        sstruct.MulticlassSSVM, lambda: rows(2000, 20, 60), solver="cutting-plane", max_iter=30,
        lam=1e-3, bounds=np.stack([np.full(1220, -0.02), np.full(1220, 0.02)]),
    ),
    "fit oracle": lambda: choice(max_iter=30),
    "fit oracle processes": lambda: choice(max_iter=10, n_jobs=2),
    "fit oracle processes (group)": lambda: choice(max_iter=10, n_jobs=2),
    "fit oracle cluster": cluster,
    "predict long chains": predict_chains,
    "predict long chains n_jobs=2": lambda: predict_chains(2),
    "decide long chains": lambda: predict_chains(method="decision_function"),
    "predict grid": predict_grids,
    "predict rows": predict_rows,
    "viterbi": viterbi,
    "viterbi tables": viterbi_tables,
    "viterbi sparse": sparse_viterbi,
    "max_marginals": max_marginals,
    "top_k": top_k,
    "tree_max_sum": tree_max_sum,
    "distance_transform": distance_transform,
    "graph_cut": graph_cut,
    "graph_cut roof duality": roof_duality,
    "maxflow": maxflow,
    "alpha_expansion": expansion,
    "multilabel_map": multilabel_map,
    "map trws": search_for(25, 6, False, "trws", max_iter=60),
    "map bp": search_for(25, 6, False, "bp", max_iter=60),
    "map fwmap": search_for(30, 4, False, "fwmap", max_iter=20),
    "map icm": search_for(400, 10, False, "icm"),
    "map expansion": search_for(200, 8, True, "alpha-expansion"),
    "map graph-cut": search_for(400, 2, True, "graph-cut"),
    "map auto": search_for(100, 3, False, "auto", max_iter=40),
    "map exact": dense_map(20, 5, "exact", max_time=3),
    "map exact large": search_for(40, 4, False, "exact", max_time=3),
    "map exact forest": long_chain_map,
    "map dense": dense_map(60, 60, "trws", max_iter=6),
    "graph_matching": graph_matching,
    "graph_matching large": large_matching,
    "discrete_tomography": tomography,
    "projection_rays": projection_rays,
    "read_uai": uai,
    "read_uai large table": large_table,
    "read_dd": dd,
    "write_uai": write_uai,
    "MRF": mrf,
    "Sequences of lists": sequences_of_lists,
    "Sequences of arrays": sequences_of_arrays,
    "Sequences of sparse rows": sequences_of_rows,
    "SequenceVectorizer": vectorizer,
    "PerNode": structures_per_node,
    "superpixel_graph": superpixels,
    "chunk and flat scores": scores,
    "path chain": path(_chain, lambda: chains(300, 20, 8), eps=0.01),
    "path rows": path(sstruct.MulticlassSSVM, lambda: rows(3000, 8, 20), eps=0.02),
    "PathCV": path_cv,
    "PathCV threads": lambda: path_cv("threading", 2),
    "PathCV processes": lambda: path_cv("loky", 2),
    "GridSearchCV": grid_search,
    "GridSearchCV threads": lambda: grid_search("threading", 2),
    "GridSearchCV processes": lambda: grid_search("loky", 2),
    "GridSearchCV processes (group)": lambda: grid_search("loky", 2),
}  # fmt: skip
