"""Models of graphs with several types of nodes, expressed as models of a GraphProblem."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sstruct._problems.core._rows import padded_labels
from sstruct._problems.core.weight_layout import WeightBlock, WeightLayout

# Design: nodes of all types are rows of one matrix with separate columns for each type: its
# features and, for its biases, a column of ones. The labels of each type t are numbered from 0, so
# that K is the largest number of labels, and a node may have the first K_t. Edge features have
# separate columns for each pair of types. The result is a GraphProblem with "directed" edges and
# without a bias. Weights that belong to no type stay 0, since nothing is ever added to them.


@dataclass(frozen=True)
class TypedModel:
    """The sizes of a model with T types of nodes.

    Attributes
    ----------
    n_features : tuple of int
        Number of features of the nodes of each type.
    n_labels : tuple of int
        Number of labels of each type.
    pairs : tuple of (int, int, int)
        The pairs of types that edges join, in order: the type of an edge's first node, that of its
        second node, and the number of features of such edges.
    bias : bool
        Whether each label has a bias.
    """

    n_features: tuple
    n_labels: tuple
    pairs: tuple
    bias: bool

    @property
    def n_types(self):
        return len(self.n_features)

    @cached_property
    def K(self):
        return max(self.n_labels)

    @cached_property
    def layout(self):
        """The WeightLayout.

        The tables are ``coef_t`` (K_t, F_t) and ``intercept_t`` (K_t,) of each type, and
        ``edge_t_u`` (G_tu, K_t, K_u) of each pair. On the axes "label", "feature" and
        "edge_feature", the entries of all types, or pairs, are concatenated.
        """
        K, width, blocks = self.K, padded_labels(self.K), {}
        feature = accumulate(self.n_features, initial=0)
        edge_feature = accumulate((G for _, _, G in self.pairs), initial=0)
        label = tuple(accumulate(self.n_labels, initial=0))
        for t, (own, F, at) in enumerate(zip(self.n_labels, self.n_features, feature)):
            blocks[f"coef_{t}"] = WeightBlock(
                ("label", "feature"), (own, F), (1, width), F * width, (label[t], at)
            )
        for t, own in enumerate(self.n_labels):
            row = WeightBlock(("label",), (own,), (1,), width, label[t : t + 1])
            blocks[f"intercept_{t}"] = row if self.bias else (own,)
        for (t, u, G), at in zip(self.pairs, edge_feature):
            blocks[f"edge_{t}_{u}"] = WeightBlock(
                ("edge_feature", "label", "other_label"),
                (G, self.n_labels[t], self.n_labels[u]),
                (K * K, K, 1),
                G * K * K,
                (at, label[t], label[u]),
            )
        return WeightLayout(blocks)
