"""Training data of graphs with several types of nodes, as arrays for a GraphProblem."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from sstruct._checks.shown import shortened
from sstruct._estimators.core.lam_from_scale import TrainedNodes
from sstruct._estimators.graph.constraint_terms import hard_terms
from sstruct._estimators.graph.graph_training import LabeledGraphs, LabeledRows, rows_of
from sstruct._estimators.graph.typed_constraints import check_satisfied, typed_constraint_rows
from sstruct._input.labels import check_reserved, encode, is_label, object_array, training_classes
from sstruct._input.losses import class_weights, node_costs
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph._pairwise import PairwiseModel
from sstruct._problems.graph.typed_model import TypedModel


class LabeledTypedGraphs(LabeledGraphs):
    """Validated training data of a graph model with several types of nodes.

    Parameters
    ----------
    structure : TypedGraphStructure
        Only its parameters are used.
    typed : TypedGraphs
    labels : list of ndarray
        Labels of the nodes of each type, concatenated over samples.
    sample_weight : as in ``fit``

    Attributes
    ----------
    model : TypedModel
    classes_of : tuple of ndarray
        The labels of each type.
    constraint_rows : ndarray or None
        The constraints, from `typed_constraint_rows`.
    hard : GraphConstraints or None
        The constraints of all graphs.
    rows, sample_weight, total_weight, trained : as in LabeledGraphs
    """

    def __init__(self, structure, typed, labels, sample_weight):
        weights = check_weights(sample_weight, len(typed))
        types, sample = typed.types, typed.samples
        used = np.zeros(len(types), dtype=bool)
        for t, own in enumerate(labels):
            at = np.flatnonzero(types == t)
            used[at] = ~is_label(own, structure.ignore_label) & (weights[sample[at]] > 0)
        if not used.any():
            empty = typed.graphs.nodes.empty
            raise NoNodesError("y has no labeled node in any sample with positive weight", empty)
        codes, classes = np.full(len(types), -1, dtype=np.int32), []
        for t, own in enumerate(labels):
            at = np.flatnonzero(types == t)
            given = None if structure.classes is None else structure.classes[t]
            if given is None and not used[at].any():
                raise ValueError(no_label_of(t))
            classes.append(training_classes(given, own, used[at], sample[at].__getitem__))
            codes[at] = encode(own, classes[-1])
            if given is None:
                check_reserved(structure, classes[-1], codes[at], typed.place_of(t))
        self.classes_of = tuple(classes)
        self.model = TypedModel(
            typed.n_features, tuple(map(len, classes)), typed.pairs, structure.fit_intercept
        )
        self.constraint_rows = typed_constraint_rows(
            structure.constraints, self.classes_of, typed.pairs
        )
        if self.constraint_rows is not None:
            check_satisfied(self.constraint_rows, structure.constraints, typed, codes, used)
        cost, divided = self._label_costs(
            structure, types[used], codes[used], weights[sample[used]]
        )
        node_weight = np.where(used, cost[types, np.maximum(codes, 0)], 0.0)
        size = np.bincount(sample[used], minlength=len(typed))
        if divided:
            node_weight = node_weight / np.where(size > 0, size, 1)[sample]
        kept = np.flatnonzero(size > 0)
        self.total_weight = float(weights[kept].sum())
        self.sample_weight = weights[kept]
        row_weight = weights[sample] * used
        mean = float((row_weight * node_weight).sum() / row_weight.sum())
        n_nodes = row_weight.sum() / self.total_weight
        nodes = typed.graphs.nodes
        self.trained = TrainedNodes(nodes.flat, row_weight, n_nodes, mean, structure.fit_intercept)
        self.classes = object_array((t, k) for t, own in enumerate(classes) for k in own.tolist())
        self._cost = cost
        graphs = typed_graphs(typed, self.model).selected(kept)
        self.rows = LabeledRows(graphs, codes, codes, node_weight, used).trained()
        self.hard = None
        if self.constraint_rows is not None:
            self.hard = hard_terms(self.constraint_rows, graphs, types, kept, used, codes)
        self._types = types if len(self.rows.codes) == len(types) else types[used]

    def _label_costs(self, structure, types, codes, weights):
        """Return the cost of a wrong label by type and true label, and whether losses are means."""
        n_labels = self.model.n_labels
        first = np.cumsum(n_labels) - n_labels
        label_cost, divided = node_costs(
            structure.loss, first[types] + codes, weights, sum(n_labels)
        )
        if structure.loss == "balanced":
            label_cost = label_cost.max(axis=1, initial=0)
        else:
            label_cost = np.ones(sum(n_labels))
        factor, given = np.ones(sum(n_labels)), structure.class_weight
        for t, own in enumerate(self.classes_of):
            here = types == t
            type_weight = given if given is None or isinstance(given, str) else given[t]
            at = slice(first[t], first[t] + len(own))
            factor[at] = class_weights(type_weight, own, codes[here], weights[here])
        cost = np.zeros((self.model.n_types, self.model.K))
        cost[np.arange(self.model.K) < np.array(n_labels)[:, np.newaxis]] = label_cost * factor
        if not cost[types, codes].any():
            raise ValueError(
                "class_weight gives every labeled node weight 0, expected a positive weight of the "
                f"label of at least one node; found {shortened(given)}"
            )
        return cost, divided

    def problem(self, decoder):
        training = {"labels": self.rows.codes, "node_weight": self.rows.node_weight}
        return TypedGraphProblem.from_graphs(self.graphs, self.model, decoder, **training)

    def _arrays_of_first(self, n, explicit):
        rows = rows_of(self.graphs.start[:n], self.graphs.length[:n])
        return [*super()._arrays_of_first(n, explicit), self._types[rows]]


def no_label_of(t):
    """Return the error message for a type of nodes without any label."""
    return (
        f"y has no labeled node of type {t} in any sample with positive weight; pass its labels in "
        "classes"
    )


def typed_graphs(typed, model):
    """Return the Graphs with the columns of a TypedModel, including ones for biases."""
    graphs, types = typed.graphs, typed.types
    flat = graphs.nodes.flat
    if model.bias:
        ones = np.ones(len(types))
        at = np.arange(len(types) + 1)
        ones = sparse.csr_matrix((ones, types, at), (len(types), model.n_types))
        flat = sparse.hstack([flat, ones], format="csr")
    nodes = replace(graphs.nodes, flat=flat, n_features=flat.shape[1])
    counts = np.array(model.n_labels, dtype=np.int32)[types]
    return replace(graphs, nodes=nodes, label_counts=counts)


class TypedGraphProblem(GraphProblem):
    """A GraphProblem with the weights of a TypedModel."""

    @classmethod
    def from_graphs(cls, graphs, model, decoder, **training):
        """Return the problem of Graphs from `typed_graphs`."""
        name = "directed" if model.pairs else "fixed"
        pairwise = PairwiseModel(name, model.K, graphs.edge_features)
        out = cls(
            graphs.nodes.flat,
            graphs,
            pairwise,
            decoder,
            bias=False,
            label_counts=graphs.label_counts,
            **training,
        )
        out.typed = model
        return out

    @property
    def layout(self):
        """The WeightLayout, by types and pairs of types."""
        return self.typed.layout
