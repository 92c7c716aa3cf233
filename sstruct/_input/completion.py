"""Labels that are partly hidden, and their completion by a model."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sstruct._input.labels import object_array


class KnownOutputs:
    """Base class of known outputs that are not arrays of labels, unlike KnownLabels."""

    warm = False
    in_loss = classes = features = None
    empty, plain = (), True


@dataclass(frozen=True)
class KnownLabels:
    """The known labels of the samples in a fit.

    Attributes
    ----------
    codes : ndarray of int32
        Index of each label, -1 if it is hidden or not used for training. The shape depends on the
        structure: (n_nodes,); (n, P) of parts; (n, K), 0 or 1, of label sets.
    trained : ndarray of bool
        Of the same shape. Whether the sample is used for training: its weight is positive and some
        of its labels are known.
    classes : ndarray of shape (K,) or None
        Labels of nodes, if any.
    features : ndarray or CSR matrix of shape (n_nodes, n_features), or None
        Features of the nodes, if their labels may have states.
    empty : ndarray of int
        Indices of the samples without nodes.
    plain : bool
        Whether ``fit`` can use the original labels if no label of the training samples is hidden.
    warm : bool
        Whether the working sets remain valid for a fit of another completion; False if planes are
        relative to the true labeling.
    """

    codes: np.ndarray
    trained: np.ndarray
    classes: np.ndarray | None = None
    features: Any = None
    empty: Any = ()
    plain: bool = True
    warm: bool = True

    @property
    def in_loss(self):
        """Mask of the labels that count in the loss: known labels of training samples."""
        return self.trained & (self.codes >= 0)

    def changed(self, codes, others):
        """Count the labels or states of training samples that differ between two completions."""
        return int((codes != others)[self.trained].sum())

    @property
    def n_hidden(self):
        """Number of hidden labels of training samples."""
        return int((self.trained & (self.codes < 0)).sum())


@dataclass(frozen=True)
class Completion:
    """Labels, or states of labels, of all training samples: the target of a fit.

    Attributes
    ----------
    codes : ndarray of int32, or list
        Labels or states in the shape of ``KnownLabels.codes``, with S consecutive states for each
        label. For user-defined structures, a list of labelings.
    in_loss : ndarray of bool or None
        Of the same shape. The labels that count in the loss, because they are known.
    n_states : int
        Number S of states of every label.
    """

    codes: Any
    in_loss: np.ndarray | None
    n_states: int = 1

    def classes(self, classes):
        """Return the labels of the model; with states, pairs of a label and its state."""
        if self.n_states == 1:
            return classes
        return object_array(product(classes.tolist(), range(self.n_states)))

    def spread(self, table, axes=(0, 1)):
        """Repeat a table of labels for their states along the given axes; None stays None."""
        for axis in axes if table is not None and self.n_states > 1 else ():
            table = np.repeat(table, self.n_states, axis=axis)
        return table
