"""The Structure of GraphCRFSSVM, for nodes of graphs."""

import numpy as np

from sstruct._checks.arrays import LARGEST
from sstruct._checks.parameters import Range, check_choice, is_real, random_of
from sstruct._checks.shown import shortened
from sstruct._estimators.core.distribution import BlockDistribution, IndependentNodes
from sstruct._estimators.core.structure import NodeStructure, Structure
from sstruct._estimators.core.training import Training
from sstruct._estimators.graph.decoding import (
    MAX_ORACLE_TIME,
    decoder_of,
    decoding_method,
    described_inference,
)
from sstruct._estimators.graph.free_nodes import free_nodes, state_scores
from sstruct._estimators.graph.graph_samples import pack_graphs
from sstruct._estimators.graph.graph_state import GRAPH_STATE, INFERENCE
from sstruct._estimators.graph.graph_training import LabeledGraphs
from sstruct._input.labels import check_padding
from sstruct._input.partial import known_codes
from sstruct._input.ragged import known_labels
from sstruct._input.threads import n_threads
from sstruct._problems.core._decode import decode
from sstruct._problems.core._explicit import ExplicitProblem, explicit_where_cheaper
from sstruct._problems.graph._graph_problem import max_marginals
from sstruct._problems.graph.graph_arguments import PAIRWISE, WITH_FEATURES, attractive_edges

MODELS = PAIRWISE[1:]


class GraphStructure(NodeStructure):
    """The Structure of GraphCRFSSVM."""

    state = GRAPH_STATE
    valid_values = Structure.valid_values | {
        "inference": INFERENCE,
        "pairwise": Range(least=0, other=MODELS),
        "max_oracle_time": MAX_ORACLE_TIME,
    }
    searches = ("auto", "bisecting", "binary")
    one_sample = "graphs: one graph is a list of one tuple, [(node features, edges)]"
    fits_partitions = has_distribution = True

    def check(self):
        super().check()
        if not isinstance(self.pairwise, str):
            if self.pairwise > LARGEST:
                raise ValueError(
                    f"pairwise must be at most {LARGEST:g}, found {shortened(self.pairwise)}; "
                    "divide loss and pairwise by the same number"
                )
            if self.pairwise > 0 and self.rescaling == "slack":
                raise ValueError(
                    f"pairwise={shortened(self.pairwise)} with rescaling='slack': a fixed pairwise "
                    'cost is supported only by margin rescaling; use pairwise="potts", which '
                    "learns the cost, or pairwise=0.0"
                )
        if isinstance(self.bounds, str):
            check_choice("bounds", self.bounds, ("submodular",))

    def _settings(self):
        """Return the settings of the model, given the parameters."""
        fixed = is_real(self.pairwise)
        return {
            "pairwise": "fixed" if fixed else self.pairwise,
            "strength": float(self.pairwise) if fixed else 0.0,
            "connectivity": self.parameters.get("connectivity", 0),
        }

    def pack(self, X, model=None):
        settings = self._settings() if model is None else model._model
        has_features = settings["pairwise"] in WITH_FEATURES
        expected = settings.get("n_edge_features") if has_features else None
        names = settings.get("edge_names")
        return pack_graphs(self.expected_input(model), X, settings["pairwise"], expected, names)

    def train(self, X, y, sample_weight, completion=None, model=None):
        graphs = self.pack(X, model)
        settings = self._settings()
        labels = self.labels(y, graphs.nodes)
        check_padding(self, y, labels, graphs.nodes)
        if graphs.edge_features is None and settings["pairwise"] in WITH_FEATURES:
            raise ValueError(
                f'pairwise="{settings["pairwise"]}" requires edge features: each sample is (node '
                "features, edges, edge features)"
            )
        data = LabeledGraphs(self, graphs, labels, sample_weight, completion)
        K = len(data.classes)
        self._check_attraction(settings["pairwise"], graphs.edge_features, K)
        common = [np.array(repr(settings))]
        settings["attractive"] = self._is_attractive(settings["pairwise"])
        settings["inference"] = self.inference
        settings["edge_names"] = graphs.edge_names
        settings["seed"] = int(random_of(self.random_state).randint(2**31 - 1))
        pairwise = settings["pairwise"], settings["strength"]
        method = decoding_method(settings, data.whole_graphs, K)

        def given():
            decoder = decoder_of(method, settings["seed"], "training", self.max_oracle_time)
            return pairwise, decoder, self.fit_intercept

        problem = data.problem(*given())
        has_features = settings["pairwise"] in WITH_FEATURES
        settings["n_edge_features"] = problem.pairwise.n_features if has_features else 0
        # Planes are relative to the true labelings, so a warm start requires the same ones.
        explicit = self._with_planes(problem) if completion is None else problem
        if explicit is not problem:
            if self.warm_start or self.solver_option("checkpoint") is not None:
                explicit.keep_labelings()
            # Planes contain losses, and indices of weights; a warm start requires the same ones.
            common += [np.array(problem.n_weights)]
        inference = described_inference(method, pairwise[0], data.whole_graphs)
        return Training(
            explicit,
            data.sample_weight,
            data.total_weight,
            data.trained,
            data.data(*common, explicit=explicit is not problem),
            inference,
            {
                "n_features_in_": graphs.nodes.n_features,
                "feature_names_in_": graphs.nodes.feature_names,
                "classes_": data.classes,
                # The meaning of w_ must not change if a parameter is set after the fit.
                "_bias": self.fit_intercept,
                "_model": settings,
                "_form": graphs.nodes.form,
                "_keeps_planes": explicit is not problem,
                "_class_scores": data.class_scores,
            },
            features=_scalable(graphs, settings["pairwise"]),
            empty=graphs.nodes.empty,
            whole=None if data.image is None else lambda: data.whole_problem(*given()),
        )

    def _with_planes(self, problem):
        """Return the problem, with explicit planes if these are cheaper.

        A fit that continues another one keeps the form of its labelings. Planes contain losses; if
        losses change when samples are added, a warm start requires the labelings instead.
        """
        solver = self.solvers.get(self.chosen_solver.name)
        # Partitions must decode in the same way, and these solvers do not score labelings again.
        if self.is_part or (solver is not None and solver.supports_partial_fit):
            return problem
        if self.last_fit is not None:
            return ExplicitProblem(problem) if self.last_fit._keeps_planes else problem
        weights = self.loss, self.class_weight
        if self.warm_start and any(isinstance(w, str) and w == "balanced" for w in weights):
            return problem
        return explicit_where_cheaper(problem)

    def _is_attractive(self, pairwise):
        """Whether bounds ensure that neighbors do not repel each other."""
        return pairwise in ("fixed", "potts", "contrast") or isinstance(self.bounds, str)

    def _check_attraction(self, pairwise, edge_features, n_labels):
        """Raise an error if the decoder does not support neighbors that may repel each other."""
        if isinstance(self.bounds, str) and pairwise == "directed" and (edge_features < 0).any():
            raise ValueError(
                'bounds="submodular" with pairwise="directed" requires nonnegative edge features, '
                "since bounds of the weights cannot make negative ones attractive"
            )
        if self.inference == "cut" and n_labels > 2:
            raise ValueError(
                f'inference="cut" requires two labels, found {n_labels}; use inference="auto"'
            )
        if self.inference == "cut" and not self._is_attractive(pairwise):
            raise ValueError(
                f'inference="cut" with pairwise="{pairwise}" requires bounds="submodular", since '
                "without bounds neighbors may repel each other"
            )

    def given_bounds(self, problem):
        """Return bounds of the weights, including the bounds for attractive neighbors."""
        given = self.bounds is not None and not isinstance(self.bounds, str)
        bounds = super().given_bounds(problem) if given else None
        pairwise, shape = problem.pairwise.name, problem.pairwise.shape
        always = pairwise in ("potts", "contrast")
        if pairwise == "fixed" or not (always or isinstance(self.bounds, str)):
            return bounds
        if given:
            if (problem.layout.table(bounds[1], "edge") > 0).any():
                raise ValueError(
                    f'bounds allow a positive weight of pairwise="{pairwise}", so neighbors '
                    "repel each other; expected upper bounds of at most 0 for edge_coef_"
                )
            return bounds
        bounds = problem.layout.unbounded()
        for bound, edge in zip(bounds, attractive_edges(pairwise, shape)):
            problem.layout.table(bound, "edge")[...] = edge
        return bounds

    def decode(self, model, samples, known=None):
        if known is None:
            return self._decoded(model, samples)
        codes, free = known.copy(), known < 0
        if free.any():
            edge, K = model.table("edge"), len(model.classes_)
            graphs, at = samples.with_nodes()
            some, graphs, scores = free_nodes(graphs, known, _pairwise(model), edge, K)
            codes[free] = self._decoded(model, graphs, at[some], scores)
        return codes

    def known_codes(self, model, samples, y_partial):
        shapes = getattr(samples.nodes, "shapes", None)
        return known_codes(y_partial, samples.nodes, model.classes_, self.ignore_label, shapes)

    def hidden(self, X, y, sample_weight):
        nodes = self.pack(X).nodes
        return known_labels(self, nodes, self.labels(y, nodes), sample_weight)

    def complete(self, model, X, known, n_states=1):
        graphs = self.pack(X, model)
        if n_states == 1 or not len(known.codes):
            return self.decode(model, graphs, known.codes)
        tables = model.tables() | {"coef": model.node_coef()}
        scores = state_scores(graphs, known.codes, _pairwise(model), tables, n_states)
        return self._decoded(model, graphs, node_scores=scores)

    def axis_values(self, model):
        values = super().axis_values(model) | {"other_label": model.classes_}
        return values | {"edge_feature": {"feature": self.edge_feature_names(model)}}

    def edge_feature_names(self, model):
        """Return the names of the edge features."""
        default = [f"edge{g}" for g in range(model._model["n_edge_features"])]
        return model._model.get("edge_names") or default

    def max_marginals(self, model, graphs):
        """Return, for each node and label, the score of the best labeling found with it."""
        graphs, samples = graphs.with_nodes()
        if not len(samples):
            return np.empty((0, len(model.classes_)))
        problem = self._problem(model, graphs, samples)
        return max_marginals(problem, model._w, graphs.are_forests(), n_threads(self.n_jobs))

    def inexact(self, model, graphs):
        return first_with_cycle(graphs)

    def distribution(self, model, graphs, exact=True):
        if not exact:
            return IndependentNodes(self.max_marginals(model, graphs))
        some, samples = graphs.with_nodes()
        problem = self._problem(model, some, samples) if len(samples) else None
        return BlockDistribution(problem, model, graphs.length, self.n_jobs)

    def nodes_of(self, samples):
        return samples.nodes

    def _problem(self, model, graphs, samples, node_scores=None):
        """Return the problem of decoding nonempty graphs, whose indices in X are `samples`."""
        K, settings = len(model.classes_), model._model
        method = decoding_method(settings, graphs, K, samples)
        decoder = decoder_of(method, settings["seed"], "prediction", self.max_oracle_time)
        return graphs.problem(
            _pairwise(model),
            K,
            decoder,
            bias=model._bias,
            class_scores=model.get("_class_scores"),
            node_scores=node_scores,
        )

    def _decoded(self, model, graphs, samples=None, node_scores=None):
        """Return the labels of all nodes."""
        if samples is None:
            graphs, samples = graphs.with_nodes()
        if not len(samples):
            return np.empty(0, dtype=np.int32)
        problem = self._problem(model, graphs, samples, node_scores)
        return decode(problem, model._w, n_threads(self.n_jobs))


def first_with_cycle(graphs):
    """Return the index of the first of the Graphs that has a cycle, and this as text, or None."""
    graphs, samples = graphs.with_nodes()
    cyclic = graphs.with_cycles() if len(samples) else []
    return (int(samples[cyclic[0]]), "it has a cycle") if len(cyclic) else None


def _pairwise(model):
    """Return the name of the pairwise model and its fixed cost."""
    return model._model["pairwise"], model._model["strength"]


def _scalable(graphs, pairwise):
    """Return the features of nodes, and of edges if the model uses features from X."""
    given = pairwise in WITH_FEATURES and graphs.grids is None and graphs.edge_features is not None
    return (graphs.nodes.flat, graphs.edge_features) if given else (graphs.nodes.flat,)
