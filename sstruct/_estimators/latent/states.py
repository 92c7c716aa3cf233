"""Hidden states of labels, represented by classes that are pairs of a label and a state."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sstruct._estimators.core.structure import weighted_accuracy
from sstruct._input.completion import KnownLabels
from sstruct._input.labels import as_labels
from sstruct._input.partial import known_codes
from sstruct._input.per_sample import PerSample


def labels_of_states(classes, n_states):
    """Return the labels that occur in the classes of the fitted estimator."""
    if n_states == 1:
        return classes
    return as_labels([label for label, _ in classes[::n_states].tolist()])


def attributes_of_labels(attributes, n_states):
    """Return the classes, masks and transition groups of a fit, with labels instead of states."""
    if n_states == 1:
        return attributes
    edges, boundaries = attributes.get("_masks", (None, None))
    return {
        "classes_": labels_of_states(attributes["classes_"], n_states),
        "_masks": (
            _table_of_labels(edges, n_states),
            None if boundaries is None else boundaries[:, ::n_states],
        ),
        "transition_groups_": _table_of_labels(attributes.get("transition_groups_"), n_states),
    }


def _table_of_labels(table, n_states):
    """Convert a table of pairs of states, or None, to a table of pairs of labels."""
    return None if table is None else table[::n_states, ::n_states].copy()


def best_of_states(scores, n_states):
    """Return the largest score of the states of each label, given scores of all states."""

    def best(scores):
        return scores.reshape(*scores.shape[:-1], -1, n_states).max(axis=-1)

    return PerSample.from_items(map(best, scores)) if scores.dtype == object else best(scores)


@dataclass
class ModelWithStates:
    """Predicts the labels, not the states, of a model with hidden states.

    Parameters
    ----------
    structure : Structure
    model : FittedModel
        Its classes are pairs of a label and a state.
    n_states : int
        Number of states of each label.
    """

    structure: Any
    model: Any
    n_states: int

    @property
    def classes(self):
        """All labels."""
        return labels_of_states(self.model.classes_, self.n_states)

    def predict(self, X, y_partial=None):
        """Predict the labels of X, given the known labels in `y_partial`."""
        nodes, codes = self._decoded(X, y_partial)
        return nodes.like_input(self.classes[codes])

    def score(self, X, y, sample_weight):
        """Return the weighted accuracy of the predicted labels."""
        nodes, codes = self._decoded(X)
        truth = self.structure.truth_of_nodes(self.classes, nodes, y, sample_weight)
        return weighted_accuracy(codes == truth[0], truth[1])

    def _decoded(self, X, y_partial=None):
        """Return the Nodes of X and the codes of their best labels."""
        structure, model = self.structure, self.model
        samples = structure.pack(X, model)
        nodes = structure.nodes_of(samples)
        if y_partial is None:
            return nodes, structure.decode(model, samples) // self.n_states
        shapes = getattr(nodes, "shapes", None)
        known = known_codes(y_partial, nodes, self.classes, structure.ignore_label, shapes)
        known = KnownLabels(known, np.ones(len(known), dtype=bool))
        return nodes, structure.complete(model, X, known, self.n_states) // self.n_states
