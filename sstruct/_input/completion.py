"""Labels of which some are hidden, and what a model has completed them to."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class KnownLabels:
    """What is known of the labels that a fit is given.

    Attributes
    ----------
    codes : ndarray of int32
        Index of each label, -1 where it is hidden or does not train. In the structure's shape:
        (n_nodes,); (n, P) of parts; (n, K), 0 or 1, of label sets.
    trained : ndarray of bool
        Of that shape: whether the sample trains; it does not if its weight is 0, or nothing of it
        is known.
    classes : ndarray of shape (K,) or None
        Labels, where nodes have them.
    features : ndarray or CSR matrix of shape (n_nodes, n_features), or None
        Of these nodes, where their labels may have states.
    empty : ndarray of int
        Indices of the samples without nodes.
    plain : bool
        Whether ``fit`` reads the labels as they were given, if no label of the samples that train
        is hidden.
    warm : bool
        Whether a fit of other completions can go on from the working sets of one.
    """

    warm: ClassVar = True

    codes: np.ndarray
    trained: np.ndarray
    classes: np.ndarray | None = None
    features: Any = None
    empty: Any = ()
    plain: bool = True

    @property
    def in_loss(self):
        """Which labels count in the loss: those that are known, of samples that train."""
        return self.trained & (self.codes >= 0)

    def changed(self, codes, others):
        """Count the labels, or states, of samples that train in which two completions differ."""
        return int((codes != others)[self.trained].sum())

    @property
    def n_hidden(self):
        """Number of hidden labels of samples that train."""
        return int((self.trained & (self.codes < 0)).sum())


@dataclass(frozen=True)
class Completion:
    """Labels, or states below them, of all that trains: the truth of a fit.

    Attributes
    ----------
    codes : ndarray of int32, or list
        In the shape of ``KnownLabels.codes``: labels, or states, S of each label in turn. Of
        structures that are the user's a list of labelings.
    in_loss : ndarray of bool or None
        Of that shape: which of them count in the loss, those whose label is known.
    n_states : int
        S, of every label.
    """

    codes: Any
    in_loss: np.ndarray | None
    n_states: int = 1

    def classes(self, classes):
        """Return the labels of the model: with states, pairs of a label and its state."""
        if self.n_states == 1:
            return classes
        states = np.empty(len(classes) * self.n_states, dtype=object)
        for k, label in enumerate(classes.tolist()):
            for s in range(self.n_states):
                states[k * self.n_states + s] = label, s
        return states

    def spread(self, table, axes=(0, 1)):
        """Repeat a table of labels for the states of each, along some axes; None: None."""
        for axis in axes if table is not None and self.n_states > 1 else ():
            table = np.repeat(table, self.n_states, axis=axis)
        return table
