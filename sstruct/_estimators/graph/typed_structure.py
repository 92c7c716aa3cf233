"""The Structure of TypedGraphCRFSSVM, for graphs with several types of nodes."""

import numpy as np

from sstruct._checks.arrays import is_sized
from sstruct._checks.parameters import random_of
from sstruct._checks.shown import shortened
from sstruct._estimators.core.distribution import BlockDistribution, IndependentNodes
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Training
from sstruct._estimators.graph.constraint_terms import hard_terms
from sstruct._estimators.graph.decoding import (
    MAX_ORACLE_TIME,
    check_size,
    decoder_of,
    decoding_method,
    described_inference,
)
from sstruct._estimators.graph.free_nodes import free_nodes
from sstruct._estimators.graph.graph_structure import first_with_cycle
from sstruct._estimators.graph.typed_samples import (
    known_codes_by_type,
    labels_by_type,
    pack_typed,
)
from sstruct._estimators.graph.typed_state import INFERENCE, TYPED_STATE, typed_model
from sstruct._estimators.graph.typed_training import (
    LabeledTypedGraphs,
    TypedGraphProblem,
    no_label_of,
    typed_graphs,
)
from sstruct._input.label_constraints import check_constraints_parameter
from sstruct._input.labels import (
    as_labels,
    check_one_type,
    check_reserved,
    concatenate_labels,
    encode_truth,
    find_classes,
    is_label,
    object_array,
)
from sstruct._input.per_sample import PerSample
from sstruct._input.ragged import check_weights
from sstruct._input.threads import n_threads
from sstruct._problems.core._decode import decode
from sstruct._problems.graph._graph_problem import max_marginals

LOSSES = ("hamming", "hamming-count", "balanced")


class TypedGraphStructure(Structure):
    """The Structure of TypedGraphCRFSSVM."""

    state = TYPED_STATE
    valid_values = Structure.valid_values | {
        "loss": LOSSES,
        "inference": INFERENCE,
        "max_oracle_time": MAX_ORACLE_TIME,
    }
    scaling = None
    classes_by_type = fits_partitions = has_distribution = True

    def check(self):
        super().check()
        check_constraints_parameter(self.constraints, of_graphs=True)
        if self.constraints and self.inference not in ("auto", "exact"):
            raise ValueError(
                f'inference="{self.inference}" does not support constraints; use '
                'inference="exact" or "auto"'
            )

    def _check_lists(self, n_types):
        """Raise an error unless parameters with an entry per type are lists of length `n_types`."""
        for name in ("classes", "class_weight"):
            value = getattr(self, name)
            if value is None or (name == "class_weight" and isinstance(value, str)):
                continue
            if not isinstance(value, list | tuple) or not is_sized(value) or len(value) != n_types:
                raise ValueError(
                    f"{name} must be a list with an entry for each of {n_types} types, found "
                    f"{shortened(value)}"
                )

    def pack(self, X, model=None):
        if model is None:
            return pack_typed(X)
        sizes = typed_model(vars(model))
        return pack_typed(X, sizes.n_features, sizes.pairs)

    def train(self, X, y, sample_weight, completion=None, model=None):
        typed = self.pack(X)
        n_types = len(typed.n_features)
        self._check_lists(n_types)
        labels = labels_by_type(y, typed, self)
        data = LabeledTypedGraphs(self, typed, labels, sample_weight)
        sizes = data.model
        settings = {
            "inference": self.inference,
            "seed": int(random_of(self.random_state).randint(2**31 - 1)),
        }
        method = typed_method(settings, data.graphs, sizes.K, data.hard)
        options = "training", self.max_oracle_time, data.hard
        decoder = decoder_of(method, settings["seed"], *options)
        constraints = data.constraint_rows
        common = [np.array(repr((sizes, self.inference)))]
        if constraints is not None:
            common.append(constraints.ravel())
        settings["constraints"] = constraints
        problem = data.problem(decoder)
        return Training(
            problem,
            data.sample_weight,
            data.total_weight,
            data.trained,
            data.data(*common, explicit=False),
            described_inference(method, "directed", data.graphs, data.hard is not None),
            {
                "n_features_in_": typed.n_features,
                "classes_": data.classes_of,
                # The meaning of w_ must not change if a parameter is set after the fit.
                "_pairs": typed.pairs,
                "_bias": bool(self.fit_intercept),
                "_model": settings,
            },
            features=(typed.graphs.nodes.flat,),
            empty=typed.graphs.nodes.empty,
        )

    def distinct_labels(self, y):
        some = [item for item in y if len(item)]  # graphs without nodes may have no types
        by_type = [
            [own for own in type_labels if len(own)] for type_labels in zip(*some, strict=True)
        ]
        by_type = [as_labels(concatenate_labels(own), self.ignore_label) for own in by_type]
        return [find_classes(own[~is_label(own, self.ignore_label)]) for own in by_type]

    def joined_labels(self, parts):
        if not any(len(own) for by_type in parts for own in by_type):
            return self.classes  # packing reports that no node is labeled
        parts = [by_type for by_type in parts if by_type]
        counts = sorted({len(by_type) for by_type in parts})
        if len(counts) > 1:
            raise ValueError(
                "y must have labels of the same number of node types in each partition, found "
                f"{' and '.join(map(str, counts))} types"
            )
        self._check_lists(len(parts[0]))
        parts = [[own for own in type_labels if len(own)] for type_labels in zip(*parts)]
        classes = [find_classes(as_labels(concatenate_labels(own))) for own in parts]
        given = self.classes or [None] * len(classes)
        for t, own in enumerate(classes):
            if given[t] is None:
                if not len(own):
                    raise ValueError(no_label_of(t))
                check_one_type(own)
                check_reserved(self, own)
        return [
            own if type_classes is None else type_classes
            for own, type_classes in zip(classes, given)
        ]

    def decode(self, model, samples, known=None):
        _, problem = self._decoder(model, samples, known)
        codes = np.empty(0, dtype=np.int32) if known is None else known.copy()
        if problem is None:
            return codes
        try:
            decoded = decode(problem, model._w, n_threads(self.n_jobs))
        except ValueError as error:
            if known is None:
                raise
            raise ValueError(f"given the labels of y_partial, {error}") from error
        if known is None or model._model["constraints"] is not None:
            return decoded
        codes[known < 0] = decoded
        return codes

    def known_codes(self, model, samples, y_partial):
        return known_codes_by_type(y_partial, samples, model.classes_, self.ignore_label)

    def truth(self, model, samples, y, sample_weight):
        labels = labels_by_type(y, samples, self)
        weights = check_weights(sample_weight, len(samples))[samples.samples]
        codes = np.empty(len(weights), dtype=np.int32)
        for t, own in enumerate(labels):
            at = samples.types == t
            weights[at] *= ~is_label(own, self.ignore_label)
            codes[at] = encode_truth(own, model.classes_[t], weights[at])
        return codes, weights

    def hidden(self, X, y, sample_weight):
        raise TypeError(
            "LatentSSVM does not support several types of nodes; with ignore_label, nodes without "
            "a label are ignored in training"
        )

    def axis_values(self, model):
        labels = [label for own in model.classes_ for label in own.tolist()]
        names = [f"{t},{u}:edge{g}" for t, u, G in model._pairs for g in range(G)]
        return {
            "label": labels,
            "other_label": labels,
            "edge_feature": {"feature": names},
            "feature": [f"{t}:x{k}" for t, n in enumerate(model.n_features_in_) for k in range(n)],
        }

    def output(self, model, samples, codes):
        return PerSample.from_items(
            [own[k] for own, k in zip(model.classes_, parts)] for parts in samples.by_type(codes)
        )

    def max_marginals(self, model, typed):
        """Return, for each node and label, the score of the best labeling found with it."""
        graphs, problem = self._decoder(model, typed)
        if problem is None:
            return np.empty((0, typed_model(vars(model)).K))
        return max_marginals(problem, model._w, graphs.are_forests(), n_threads(self.n_jobs))

    def inexact(self, model, typed):
        if model._model["constraints"] is not None and len(typed):
            return 0, "the model has constraints"
        return first_with_cycle(typed.graphs)

    def distribution(self, model, typed, exact=True):
        if exact:
            _, problem = self._decoder(model, typed)
            return BlockDistribution(problem, model, self.n_nodes(model, typed), self.n_jobs)
        counts = np.array([len(own) for own in model.classes_])[typed.types]
        scores = self.max_marginals(model, typed)
        scores[np.arange(scores.shape[1]) >= counts[:, np.newaxis]] = -np.inf
        return IndependentNodes(scores)

    def n_nodes(self, model, samples):
        return samples.counts.sum(axis=1)

    def like_input(self, model, samples, values):
        sizes = [len(own) for own in model.classes_]
        return PerSample.from_items(
            [part[:, :size] for size, part in zip(sizes, parts)]
            for parts in samples.by_type(values.reshape(-1, max(sizes)))
        )

    def labels_of(self, model, samples, draws):
        parts = (
            np.split(codes, np.cumsum(counts)[:-1], axis=1)
            for codes, counts in zip(draws, samples.counts)
        )
        return object_array([own[k] for own, k in zip(model.classes_, part)] for part in parts)

    def _decoder(self, model, typed, known=None):
        """Return the nonempty Graphs, and the problem of decoding them; None if there are none.

        Without constraints, nodes with a known label are removed.
        """
        sizes, settings = typed_model(vars(model)), model._model
        graphs, samples = typed_graphs(typed, sizes).with_nodes()
        rows, hard, node_scores = settings["constraints"], None, None
        if not len(samples):
            return graphs, None
        if rows is None and known is not None:
            if (known >= 0).all():
                return graphs, None
            pairwise = "directed" if sizes.pairs else "fixed", 0.0
            edge = _edge_weights(model, sizes)
            some, graphs, node_scores = free_nodes(graphs, known, pairwise, edge, sizes.K)
            samples = samples[some]
        if rows is not None:
            hard = hard_terms(rows, graphs, typed.types, samples, known=known)
        method = typed_method(settings, graphs, sizes.K, hard, samples)
        options = "prediction", self.max_oracle_time, hard
        decoder = decoder_of(method, settings["seed"], *options)
        return graphs, TypedGraphProblem.from_graphs(
            graphs, sizes, decoder, node_scores=node_scores
        )


def _edge_weights(model, sizes):
    """Return the weights of all pairs of types as one table of shape (G, K, K)."""
    out, at = np.zeros((sum(G for _, _, G in sizes.pairs), sizes.K, sizes.K)), 0
    for t, u, G in sizes.pairs:
        table = model.table(f"edge_{t}_{u}")
        out[at : at + G, : table.shape[1], : table.shape[2]] = table
        at += G
    return out


def typed_method(settings, graphs, K, hard, samples=None):
    """Return the name of the decoder of graphs with the constraints `hard`, or None."""
    if hard is not None:
        check_size(graphs, K, samples, hard)
        return "exact"
    return decoding_method({**settings, "attractive": False}, graphs, K, samples)
