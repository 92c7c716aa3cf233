"""What the estimators of graphs and of grids share."""

import numbers

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sstruct._graph_data import LabelledGraphs, check_feature_need
from sstruct._named_weights import GraphWeights
from sstruct._oracles._graph_decoder import GraphDecoder
from sstruct._problems._decode import decode
from sstruct._problems._explicit import explicit_where_cheaper
from sstruct._problems.graph_arguments import PAIRWISE, attractive_edges
from sstruct._threads import n_threads
from sstruct._tree_search import TreeSearch
from sstruct._validation import check_choice, check_number
from sstruct.base import BaseSSVM
from sstruct.inference._tree_decoder import TreeDecoder

MODELS = PAIRWISE[1:]
INFERENCE = ("auto", "cut", "expansion", "max-sum", "fwmap")
# Iterations of "fwmap" in a decoding: training comes back to each graph, prediction does not.
TRAINING_ITERATIONS = 20
PREDICTION_ITERATIONS = 200


class GraphSSVM(GraphWeights, BaseSSVM):
    """A structured SVM over labelled graphs.

    A subclass has ``_pack(X, model, fitted)``, which returns Graphs; model: ``_model`` of the fit.
    """

    def __init__(
        self,
        *,
        pairwise="potts",
        inference="auto",
        lam="auto",
        loss="hamming",
        solver="auto",
        step="auto",
        sampling="auto",
        cache="auto",
        schedule="work",
        average="auto",
        fit_intercept=True,
        bounds=None,
        classes=None,
        ignore_label=-1,
        tol=1e-2,
        certificate_every=10,
        max_iter=1000,
        max_time=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.pairwise = pairwise
        self.inference = inference
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.step = step
        self.sampling = sampling
        self.cache = cache
        self.schedule = schedule
        self.average = average
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.classes = classes
        self.ignore_label = ignore_label
        self.tol = tol
        self.certificate_every = certificate_every
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __repr__(self, *arguments):
        text = super().__repr__(*arguments)
        # A comment, so that the text is still the expression that makes the estimator.
        fitted = self.__dict__.get("inference_", "")
        return text + "  # certificate: approximate" * ("approximate" in fitted)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("inference", self.inference, INFERENCE)
        if isinstance(self.pairwise, numbers.Real):
            check_number("pairwise", self.pairwise, least=0)
        else:
            check_choice("pairwise", self.pairwise, MODELS)
        if isinstance(self.bounds, str):
            check_choice("bounds", self.bounds, ("submodular",))

    def _training(self, X, y, sample_weight):
        """Return the arguments of ``_fit_problem``."""
        self._check_parameters()
        fixed = isinstance(self.pairwise, numbers.Real)
        model = {
            "pairwise": "fixed" if fixed else self.pairwise,
            "strength": float(self.pairwise) if fixed else 0.0,
            "connectivity": getattr(self, "connectivity", 0),
        }
        graphs = self._pack(X, model, fitted=False)
        labels = self._labels(y, graphs.nodes)
        n_edge_features = None if graphs.edge_features is None else graphs.edge_features.shape[1]
        check_feature_need(model["pairwise"], n_edge_features)
        data = LabelledGraphs(self, graphs, labels, sample_weight)
        K = len(data.classes)
        self._check_attraction(model["pairwise"], graphs.edge_features, K)
        arrays = [*data.arrays(), np.array(repr(model))]
        model["attractive"] = self._is_attractive(model["pairwise"])
        model["inference"] = self.inference
        model["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        pairwise = model["pairwise"], model["strength"]
        method = _method(model, data.graphs, K)
        decoder = _decoder(method, model["seed"], TRAINING_ITERATIONS)
        problem = data.problem(pairwise, decoder, self.fit_intercept)
        cheaper = explicit_where_cheaper(problem)
        if cheaper is not problem:
            # Planes hold weights' places and losses: a warm start must find those unchanged too.
            arrays += [np.array(problem.n_weights), np.asarray(self.loss)]
        return {
            "problem": cheaper,
            "block_weight": data.block_weight,
            "lam": 1 / data.total_weight if isinstance(self.lam, str) else float(self.lam),
            "data": arrays,
            "training": (X, y, sample_weight),
            "attributes": {
                "n_features_in_": graphs.nodes.n_features,
                "feature_names_in_": graphs.nodes.feature_names,
                "classes_": data.classes,
                "inference_": _name(method, model["pairwise"], data.graphs),
                # What w_ means must not change when a parameter is set after the fit.
                "_terms": (self.fit_intercept, False, False),
                "_edge_shape": problem.pairwise.shape,
                "_model": model,
            },
        }

    def _is_attractive(self, pairwise):
        """Whether bounds keep neighbours from repelling each other."""
        return pairwise in ("fixed", "potts", "contrast") or isinstance(self.bounds, str)

    def _check_attraction(self, pairwise, edge_features, n_labels):
        """Raise where neighbours may repel each other and must not."""
        if isinstance(self.bounds, str) and pairwise == "directed" and (edge_features < 0).any():
            raise ValueError(
                'bounds="submodular" with pairwise="directed" needs edge features that are not '
                "negative: no box on the weights keeps the others attractive"
            )
        if self.inference == "cut" and n_labels > 2:
            raise ValueError(f'inference="cut" is for two labels, found {n_labels}')
        if self.inference == "cut" and not self._is_attractive(pairwise):
            raise ValueError(
                f'inference="cut" with pairwise="{pairwise}" needs bounds="submodular": free '
                "weights may make neighbours repel each other"
            )

    def _bounds(self, problem):
        """Box the pairwise weights where neighbours must not repel each other."""
        given = self.bounds is not None and not isinstance(self.bounds, str)
        bounds = super()._bounds(problem) if given else None
        pairwise, shape = problem.pairwise.name, problem.pairwise.shape
        always = pairwise in ("potts", "contrast")
        if pairwise == "fixed" or not (always or isinstance(self.bounds, str)):
            return bounds
        if given:
            if (problem.weight_views(bounds[1])["edge"] > 0).any():
                raise ValueError(
                    f'bounds let a weight of pairwise="{pairwise}" be positive: neighbours would '
                    "repel each other; expected upper bounds of at most 0 for edge_coef_"
                )
            return bounds
        bounds = np.full((2, problem.n_weights), [[-np.inf], [np.inf]])
        for bound, edge in zip(bounds, attractive_edges(pairwise, shape)):
            problem.weight_views(bound)["edge"][...] = edge
        return bounds

    def _predict_codes(self, X):
        check_is_fitted(self)
        graphs = self._pack(X, self._model, fitted=True)
        pairwise = self._model["pairwise"], self._model["strength"]
        K = len(self.classes_)
        method = _method(self._model, graphs, K)
        decoder = _decoder(method, self._model["seed"], PREDICTION_ITERATIONS, keeps=False)
        problem = graphs.problem(pairwise, K, decoder, bias=self._terms[0])
        return graphs.nodes, decode(problem, self._w, n_threads(self.n_jobs))

    def _predicted(self, X):
        nodes, codes = self._predict_codes(X)
        return nodes.like_input(self.classes_[codes])


def _method(model, graphs, n_labels):
    """Name the decoder of some graphs: the one asked for, or the best that is exact for them."""
    inference = model["inference"]
    if inference == "auto" and n_labels <= 2 and model["attractive"]:
        return "cut"
    if inference in ("auto", "max-sum"):
        cyclic = graphs.with_cycles()
        if len(cyclic) == 0:
            return "max-sum"
        if inference == "max-sum":
            raise ValueError(f'inference="max-sum" is for forests, but X[{cyclic[0]}] has a cycle')
        return "expansion"
    return inference


def _name(method, pairwise, graphs):
    """What ``inference_`` says of a method."""
    if not graphs.n_edges.any():
        return "node by node (exact)"
    if method == "expansion":
        moves = "fusion moves" if pairwise in ("full", "directed") else "alpha-expansion"
        return f"{moves} (approximate)"
    return {
        "cut": "graph cut (exact)",
        "max-sum": "max-sum (exact)",
        "fwmap": "trees by Frank-Wolfe (bounded)",
    }[method]


def _decoder(method, seed, max_iter, keeps=True):
    if method == "fwmap":
        return TreeDecoder(TreeSearch(seed, max_iter, keeps), seed)
    return GraphDecoder(method, seed)
