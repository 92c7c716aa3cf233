"""Markov random fields with a label set for each node and factors of several nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sstruct._checks.arrays import array_of
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module
from sstruct._oracles.core._edges import checked_simple_edges
from sstruct.inference._model.converters import networkx_arguments, pgmpy_arguments
from sstruct.inference._model.packing import (
    checked_weights,
    pack_edge_costs,
    pack_factors,
    pack_node_costs,
)
from sstruct.inference._model.stored_model import ARRAYS, check_stored, table_shapes
from sstruct.inference._model.table_forms import table_forms


@public_module("sstruct.inference")
class MRF:
    """Markov random field with costs of labels, pairs and tuples of labels.

    The energy of a labeling y is

    .. math:: E(y) = \\sum_v \\theta_v(y_v) + \\sum_{e=(u,v)} w_e\\, \\theta_e(y_u, y_v)
              + \\sum_f \\theta_f(y_{f_1}, \\ldots, y_{f_k}).

    Every node has its own label set. A cost of ``+inf`` forbids a label, a pair or a tuple.

    Parameters
    ----------
    node_costs : list of V array-likes of shape (K_v,), or array-like of shape (V, K)
        Cost of each label of each node, finite or ``+inf`` (forbidden).
    edges : array-like of int of shape (E, 2)
        Pairs (u, v) of different nodes, each pair once.
    edge_costs : list of E array-likes of shape (K_u, K_v), or array-like (E, K, L) or (K, L)
        Cost of each pair of labels, with a row for each label of u and a column for each label of
        v, finite or ``+inf`` (forbidden). A single table (K, L) is shared by all edges and stored
        once, as is an array that occurs several times in a list.
    weights : array-like of shape (E,), default=None
        Weight that multiplies each edge's table: finite, and positive if the table forbids pairs.
        Default: ones.
    factors : list of (scope, table), default=None
        Terms over 3 to 31 different nodes: `scope` lists the nodes, and `table` has one axis
        for the labels of each node. An array that occurs several times is stored once.

    Attributes
    ----------
    n_nodes, n_edges, n_factors : int
    n_labels : ndarray of shape (V,), dtype int32
        Number of labels of each node.
    node_start : ndarray of shape (V + 1,), dtype int64
        The costs of node v are ``node_costs[node_start[v]:node_start[v + 1]]``.
    node_costs : ndarray of shape (node_start[-1],)
    edges : ndarray of shape (E, 2), dtype int32
    weights : ndarray of shape (E,)
    edge_table : ndarray of shape (E,), dtype int32
        Index of the table of each edge.
    table_start : ndarray of shape (T + 1,), dtype int64
        Table t is ``tables[table_start[t]:table_start[t + 1]]``, row-major.
    tables : ndarray of shape (table_start[-1],)
    table_form : ndarray of shape (T,), dtype int8
        0: general; 1: Potts; 2: truncated linear; 3: truncated quadratic. Messages of the last
        three take time linear in the number of labels.
    table_parameters : ndarray of shape (T, 2)
        Potts: cost of equal and of different labels, the former not larger. Truncated: coefficient
        of ``abs(a - b)`` or of its square, and the largest value.
    factor_start : ndarray of shape (n_factors + 1,), dtype int64
        The nodes of factor f are ``factor_nodes[factor_start[f]:factor_start[f + 1]]``.
    factor_nodes : ndarray of shape (factor_start[-1],), dtype int32
    factor_table : ndarray of shape (n_factors,), dtype int32
    factor_table_start, factor_tables : ndarray
        Like `table_start` and `tables`.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a cost is NaN or ``-inf``, a node has no label, an edge or a
        scope is out of range, an edge is a self-loop or given twice, a scope contains a node twice,
        a weight is not finite, or a weight is not positive although the table forbids pairs. The
        message names the entry.

    See Also
    --------
    read_uai : Read a model from a file.

    Notes
    -----
    All arrays are read-only. The constructor takes time linear in the number of nodes, edges and
    table entries.

    Examples
    --------
    Three nodes, the last with three labels:

    >>> from sstruct.inference import MRF
    >>> model = MRF(
    ...     [[0.0, 1.0], [0.5, 0.0], [1.0, 0.0, 2.0]],
    ...     [[0, 1], [1, 2]],
    ...     [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 3.0, 1.0], [2.0, 0.0, 1.0]]],
    ... )
    >>> model.energy([0, 1, 1])
    1.0
    """

    node_start: NDArray[np.int64]
    node_costs: NDArray[np.float64]
    n_labels: NDArray[np.int32]
    edges: NDArray[np.int32]
    weights: NDArray[np.float64]
    edge_table: NDArray[np.int32]
    table_start: NDArray[np.int64]
    tables: NDArray[np.float64]
    table_form: NDArray[np.int8]
    table_parameters: NDArray[np.float64]
    factor_start: NDArray[np.int64]
    factor_nodes: NDArray[np.int32]
    factor_table: NDArray[np.int32]
    factor_table_start: NDArray[np.int64]
    factor_tables: NDArray[np.float64]

    def __init__(
        self,
        node_costs: ArrayLike | Sequence[ArrayLike],
        edges: ArrayLike,
        edge_costs: ArrayLike | Sequence[ArrayLike],
        weights: ArrayLike | None = None,
        factors: Iterable[Any] | None = None,
    ) -> None:
        self.node_costs, self.node_start = pack_node_costs(node_costs)
        n_labels = np.diff(self.node_start).astype(np.int32)
        self.edges = checked_simple_edges(edges, self.n_nodes).copy()
        self.tables, self.table_start, self.edge_table = pack_edge_costs(
            edge_costs, self.edges, n_labels
        )
        self.weights = checked_weights(weights, self.edge_table, self.tables, self.table_start)
        (
            self.factor_nodes,
            self.factor_start,
            self.factor_table,
            self.factor_tables,
            self.factor_table_start,
        ) = pack_factors(factors, n_labels)
        self._complete()

    @classmethod
    def from_pgmpy(cls, model: Any) -> MRF:
        """Convert a discrete model of the package pgmpy.

        Parameters
        ----------
        model : DiscreteBayesianNetwork, DiscreteMarkovNetwork or FactorGraph
            Each variable requires a factor or a conditional probability table (CPD).

        Returns
        -------
        mrf : MRF
            Costs are negative logarithms of the potentials; a potential of 0 forbids the labels.
            Nodes are the variables in the order of ``model.nodes()``. Labels are the states in the
            order of ``state_names`` in the first factor that contains the variable. Factors of the
            same node or pair are added up.

        Raises
        ------
        TypeError
            If the model is not one of these or has continuous variables.
        ValueError
            If a variable has no factor, factors differ in the states of a variable, a potential is
            negative, NaN or infinite, or a factor has more than 31 variables.

        Examples
        --------
        >>> from sstruct.inference import MRF, map_mrf
        >>> from pgmpy.factors.discrete import TabularCPD  # doctest: +SKIP
        >>> from pgmpy.models import DiscreteBayesianNetwork  # doctest: +SKIP
        >>> model = DiscreteBayesianNetwork([("rain", "wet")])  # doctest: +SKIP
        >>> model.add_cpds(
        ...     TabularCPD("rain", 2, [[0.8], [0.2]]),
        ...     TabularCPD("wet", 2, [[0.9, 0.2], [0.1, 0.8]], ["rain"], [2]),
        ... )  # doctest: +SKIP
        >>> map_mrf(MRF.from_pgmpy(model)).labels  # doctest: +SKIP
        array([0, 0], dtype=int32)
        """
        return cls(*pgmpy_arguments(model))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        node_costs: str = "costs",
        edge_costs: str | ArrayLike = "costs",
        weight: str | None = None,
    ) -> MRF:
        """Convert a graph of the package networkx with costs as attributes.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            A graph without self-loops. Parallel and opposite edges are added up.
        node_costs : str, default="costs"
            Name of the attribute of nodes with the cost of each label, of shape (K_v,).
        edge_costs : str or array-like of shape (K, L), default="costs"
            Name of the attribute of edges with the cost of each pair of labels, or a table for all
            edges. Rows are the labels of the source of a directed edge, or of the node that comes
            first in ``graph.nodes``.
        weight : str, default=None
            Name of the attribute of edges with a number that multiplies their costs. Default: costs
            are not multiplied.

        Returns
        -------
        mrf : MRF
            Its nodes are in the order of ``graph.nodes``.

        Raises
        ------
        TypeError
            If `graph` is not a graph.
        ValueError
            If an attribute is missing, costs have the wrong shape or are NaN or ``-inf``, or an
            edge is a self-loop. The message names the node or edge.

        Examples
        --------
        >>> import networkx as nx  # doctest: +SKIP
        >>> import numpy as np
        >>> from sstruct.inference import MRF, map_mrf
        >>> graph = nx.path_graph(["a", "b", "c"])  # doctest: +SKIP
        >>> for node, costs in zip(graph, [[0, 3], [2, 1], [0, 3]]):  # doctest: +SKIP
        ...     graph.nodes[node]["costs"] = costs
        >>> model = MRF.from_networkx(graph, edge_costs=1 - np.eye(2))  # doctest: +SKIP
        >>> map_mrf(model).labels  # doctest: +SKIP
        array([0, 0, 0], dtype=int32)
        """
        return cls(*networkx_arguments(graph, node_costs, edge_costs, weight))

    def __getstate__(self):
        return {name: getattr(self, name) for name in ARRAYS}

    def __setstate__(self, state):
        try:
            check_stored(state)
        except ValueError as error:
            raise ValueError(f"invalid state of MRF, the file is damaged: {error}") from None
        self.__dict__.update(state)
        self._complete()

    if not TYPE_CHECKING:  # hides unknown attributes from type checkers otherwise

        def __getattr__(self, name):
            # Reached only for missing attributes: the file had no state.
            if name in ARRAYS:
                raise ValueError(f"this MRF has no {name}: its file is damaged")
            raise AttributeError(f"'MRF' object has no attribute {name!r}")

    def _complete(self):
        """Add derived arrays; make all read-only, since compiled code does not validate indices."""
        self.n_labels = np.diff(self.node_start).astype(np.int32)
        shapes = table_shapes(self.table_start, self.edge_table, self.n_labels[self.edges])
        self.table_form, self.table_parameters = table_forms(self.tables, self.table_start, shapes)
        for array in vars(self).values():
            array.setflags(write=False)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_start) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def n_factors(self) -> int:
        """Number of factors of three or more nodes."""
        return len(self.factor_table)

    def __repr__(self) -> str:
        text = f"MRF(n_nodes={self.n_nodes}, n_edges={self.n_edges}"
        return text + (f", n_factors={self.n_factors})" if self.n_factors else ")")

    def node_cost(self, v: int) -> np.ndarray:
        """Return the costs of node v.

        Parameters
        ----------
        v : int
            A node.

        Returns
        -------
        costs : ndarray of shape (n_labels[v],)
            A view.

        Examples
        --------
        >>> from sstruct.inference import MRF
        >>> MRF([[0.0, 1.0], [2.0]], [], []).node_cost(0)
        array([0., 1.])
        """
        return self.node_costs[self.node_start[v] : self.node_start[v + 1]]

    def edge_cost(self, e: int) -> np.ndarray:
        """Return the costs of edge e, its weight included.

        Parameters
        ----------
        e : int
            An edge.

        Returns
        -------
        costs : ndarray of shape (n_labels[u], n_labels[v])
            A new array.

        Examples
        --------
        >>> from sstruct.inference import MRF
        >>> MRF([[0.0, 1.0], [2.0]], [[0, 1]], [[[1.0], [3.0]]], weights=[2.0]).edge_cost(0)
        array([[2.],
               [6.]])
        """
        t = self.edge_table[e]
        table = self.tables[self.table_start[t] : self.table_start[t + 1]]
        return self.weights[e] * table.reshape(self.n_labels[self.edges[e]])

    def factor(self, f: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes and the costs of factor f.

        Parameters
        ----------
        f : int
            A factor.

        Returns
        -------
        scope : ndarray of shape (k,), dtype int32
            The factor's k nodes, a view.
        costs : ndarray with k axes
            Cost of each tuple of labels, with an axis for each node of `scope`; a view.

        Examples
        --------
        >>> import numpy as np
        >>> from sstruct.inference import MRF
        >>> table = np.zeros((2, 2, 2))
        >>> model = MRF(np.zeros((3, 2)), [], [], factors=[([0, 2, 1], table)])
        >>> model.factor(0)[0]
        array([0, 2, 1], dtype=int32)
        """
        scope = self.factor_nodes[self.factor_start[f] : self.factor_start[f + 1]]
        t = self.factor_table[f]
        table = self.factor_tables[self.factor_table_start[t] : self.factor_table_start[t + 1]]
        return scope, table.reshape(self.n_labels[scope])

    def checked_labels(self, labels: ArrayLike) -> NDArray[np.int32]:
        """Return a labeling as int32, or raise ValueError.

        Parameters
        ----------
        labels : array-like of int of shape (V,)
            The label of each node.

        Returns
        -------
        labels : ndarray of shape (V,), dtype int32
            The validated labels.

        Raises
        ------
        ValueError
            If the shape is wrong, labels are not integers, or a label is out of range.

        Examples
        --------
        >>> from sstruct.inference import MRF
        >>> MRF([[0.0, 1.0], [2.0]], [], []).checked_labels([1, 0])
        array([1, 0], dtype=int32)
        """
        labels = array_of(labels, "labels")
        if labels.shape != (self.n_nodes,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels must be integers of shape {(self.n_nodes,)}; found dtype "
                f"{labels.dtype} and shape {labels.shape}"
            )
        wrong = (labels < 0) | (labels >= self.n_labels)
        if wrong.any():
            v = int(wrong.argmax())
            raise ValueError(
                f"labels[{v}] = {labels[v]} is out of range for the {self.n_labels[v]} labels of "
                f"node {v}"
            )
        return labels.astype(np.int32)

    def _with_evidence(self, evidence):
        """Return the model in which `evidence` fixes the labels of the given nodes."""
        if not isinstance(evidence, Mapping):
            raise TypeError(
                "evidence must be a dict that maps nodes to labels, such as {3: 0}; found "
                f"{shortened(evidence)}"
            )
        costs = self.node_costs.copy()
        for v, label in evidence.items():
            if not is_integer(v) or not 0 <= v < self.n_nodes:
                raise ValueError(
                    f"evidence has the key {shortened(v)}, expected a node from 0 to "
                    f"{self.n_nodes - 1}"
                )
            if not is_integer(label) or not 0 <= label < self.n_labels[v]:
                raise ValueError(
                    f"evidence[{v}] is {shortened(label)}, expected an integer from 0 to "
                    f"{self.n_labels[v] - 1}: node {v} has {self.n_labels[v]} labels"
                )
            kept = self.node_start[v] + label
            cost = costs[kept]
            costs[self.node_start[v] : self.node_start[v + 1]] = np.inf
            costs[kept] = cost
        costs.setflags(write=False)
        model = MRF.__new__(MRF)
        model.__dict__.update(vars(self), node_costs=costs)
        return model

    def energy(self, labels: ArrayLike) -> float:
        """Compute the energy of a labeling.

        Parameters
        ----------
        labels : array-like of int of shape (V,)
            The label of each node, starting at 0.

        Returns
        -------
        energy : float
            The energy, ``+inf`` if the labeling is forbidden.

        Raises
        ------
        ValueError
            See :meth:`checked_labels`.

        Examples
        --------
        >>> from sstruct.inference import MRF
        >>> MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [[0.0, 1.0], [1.0, 0.0]]).energy([0, 0])
        2.0
        """
        y = self.checked_labels(labels).astype(np.int64)
        total = self.node_costs[self.node_start[:-1] + y].sum()
        u, v = self.edges[:, 0], self.edges[:, 1]
        entry = self.table_start[self.edge_table] + y[u] * self.n_labels[v] + y[v]
        total += (self.weights * self.tables[entry]).sum()
        arity = np.diff(self.factor_start)
        for k in np.unique(arity):
            which = np.flatnonzero(arity == k)
            entry = np.zeros(len(which), dtype=np.int64)
            for place in range(k):
                nodes = self.factor_nodes[self.factor_start[which] + place]
                entry = entry * self.n_labels[nodes] + y[nodes]
            entry += self.factor_table_start[self.factor_table[which]]
            total += self.factor_tables[entry].sum()
        return float(total)
