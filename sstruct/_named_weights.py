"""The weights of a model by name: views of one vector."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sstruct._problems.graph_arguments import graph_weight_views
from sstruct._problems.node_arguments import join_views, weight_views


class NodeWeights:
    """``w_`` and its parts, of an estimator with ``_w`` in the problem's layout and ``_terms``."""

    def _views(self):
        check_is_fitted(self)
        return weight_views(self._w, len(self.classes_), self.n_features_in_, self._terms)

    def _term(self, name):
        """View of the weights of a term; zeros where there is none."""
        return self._views().get(name, np.zeros((len(self.classes_),)))

    @property
    def w_(self):
        """All weights one after another, assembled when asked for."""
        return join_views(self._views())

    @property
    def coef_(self):
        """Node weights."""
        return self._views()["coef"]

    @property
    def intercept_(self):
        """Bias of each label."""
        return self._term("intercept")


class ChainWeights(NodeWeights):
    """The same with start, end and transition weights."""

    @property
    def start_coef_(self):
        """Weight of each label at the start of a chain."""
        return self._term("start")

    @property
    def end_coef_(self):
        """Weight of each label at the end of a chain."""
        return self._term("end")

    @property
    def edge_coef_(self):
        """Weight of each transition, rows from, columns to."""
        K = len(self.classes_)
        return self._views().get("edge", np.zeros((K, K)))


class GraphWeights(NodeWeights):
    """The same with pairwise weights, of shape ``_edge_shape``: () where there are none."""

    def _views(self):
        check_is_fitted(self)
        return graph_weight_views(
            self._w, len(self.classes_), self.n_features_in_, self._terms[0], self._edge_shape
        )

    @property
    def edge_coef_(self):
        """Pairwise weights; None where they are fixed."""
        return self._views().get("edge")
