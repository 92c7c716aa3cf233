"""Flat arrays of probabilities or prediction sets, with a column for each label, for metrics."""

from __future__ import annotations

import numpy as np

from sstruct._checks.arrays import array_of, check_listed, real_array, type_name
from sstruct._checks.shown import shortened
from sstruct._input.labels import label_list
from sstruct.metrics._flat_labels import FlatLabels, check_images


class FlatTables:
    """True labels of the scored nodes, and a value for each of K labels.

    Attributes
    ----------
    codes : ndarray of int of shape (n_nodes,)
        Column of the true label of each node, -1 if it is not among the labels.
    tables : ndarray of shape (n_nodes, K)
        Probabilities, or whether labels belong to prediction sets.
    weights : ndarray of shape (n_nodes,)
        Weight of the sequence of each node.
    sequence : ndarray of int of shape (n_nodes,)
        Index of the sequence of each node.
    """

    def __init__(self, y_true, tables, name, labels, sample_weight, ignore_label):
        flat = FlatLabels(y_true, y_true, sample_weight, ignore_label)
        labels = label_list(labels, "labels")
        if not labels:
            raise ValueError("labels is empty, expected at least one label")
        column = {label: k for k, label in enumerate(labels)}
        if len(column) < len(labels):
            raise ValueError(f"labels has duplicates: {shortened(labels)}")
        rows = flat_tables(tables, name, flat.lengths, len(labels))
        check_images(y_true, tables, name, 1)
        code_of = np.array([column.get(label, -1) for label in flat.labels])
        self.codes, self.tables = code_of[flat.true], rows[flat.kept]
        self.sequence = flat.sequence
        self.weights = np.ones(len(self.codes)) if flat.weights is None else flat.weights

    def of_truth(self):
        """Return the value for the true label of each node, 0 if it is not among the labels."""
        values = self.tables[np.arange(len(self.codes)), self.codes]
        return np.where(self.codes >= 0, values, 0)


def flat_tables(tables, name, lengths=None, n_labels=None):
    """Validate arrays of shape (L_i, K) and concatenate them to one of shape (n_nodes, K).

    lengths : number of nodes of each sequence, or None if they are not checked
    n_labels : K, or None for the number of columns of the first array
    """
    check_listed(tables, name, "arrays", type_name)
    if lengths is not None and len(tables) != len(lengths):
        raise ValueError(f"{name} has {len(tables)} arrays, expected {len(lengths)}")
    flat = []
    for i, table in enumerate(tables):
        table = array_of(table, f"{name}[{i}]")
        if table.dtype != bool:
            table = real_array(table, f"{name}[{i}]")
        if table.size == 0 and not (lengths is not None and lengths[i]):
            continue
        if table.ndim < 2:
            raise ValueError(f"{name}[{i}] has shape {table.shape}, expected (n_nodes, n_labels)")
        n_labels = table.shape[-1] if n_labels is None else n_labels
        n_nodes = int(np.prod(table.shape[:-1]))
        expected = n_nodes if lengths is None else lengths[i]
        if (n_nodes, table.shape[-1]) != (expected, n_labels):
            raise ValueError(
                f"{name}[{i}] has shape {table.shape}, expected {(expected, n_labels)}: a row for "
                "each node and a column for each label"
            )
        flat.append(table.reshape(n_nodes, n_labels))
    return np.concatenate(flat) if flat else np.empty((0, n_labels or 0), dtype=bool)


class FlatProbabilities(FlatTables):
    """True labels and probabilities of the scored nodes."""

    def __init__(self, y_true, y_proba, labels, sample_weight, ignore_label):
        super().__init__(y_true, y_proba, "y_proba", labels, sample_weight, ignore_label)
        if self.tables.dtype == bool:
            self.tables = self.tables.astype(float)
        low, high = self.tables.min(), self.tables.max()
        sums = self.tables.sum(axis=1)
        if not (low >= 0 and high <= 1 + 1e-6 and np.abs(sums - 1).max() < 1e-3):
            raise ValueError(
                "y_proba must be probabilities that sum to 1 for each node, found values from "
                f"{low:.3g} to {high:.3g} and sums from {sums.min():.3g} to {sums.max():.3g}; use "
                "predict_proba of CalibratedSSVM"
            )

    def mean(self, values):
        """Return the mean of values of nodes, weighted by `weights`."""
        return float(np.average(values, weights=self.weights))

    def events(self, label=None):
        """Return the probability of an event at each node, and whether the event occurs.

        label : column of a label; the event is that the node has this label. If None, the event is
            that the most probable label of the node is the true one.
        """
        if label is None:
            best = self.tables.argmax(axis=1)
            return self.tables[np.arange(len(best)), best], self.codes == best
        return self.tables[:, label], self.codes == label
