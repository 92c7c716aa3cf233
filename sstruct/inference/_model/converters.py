"""Arguments of MRF for models of other packages, which are not imported."""

import numpy as np

from sstruct._checks.arrays import real_array
from sstruct._checks.shown import shortened
from sstruct.inference._model.packing import check_costs
from sstruct.inference._model.term_list import TermList


def _check_methods(model, names, expected):
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"{expected}; found {type(model).__name__}, which has no attribute {missing[0]!r}"
        )


def _checked_table(table, shape, name):
    """Return a table of costs as float64 array; None in `shape` accepts any size."""
    table = real_array(table, name)
    is_valid = table.ndim == len(shape) and table.size > 0
    if not is_valid or any(b not in (None, a) for a, b in zip(table.shape, shape, strict=True)):
        expected = ", ".join("n_labels" if size is None else str(size) for size in shape)
        raise ValueError(f"the {name} must have shape ({expected}), found {table.shape}")

    def name_of(at):
        return f"the {name} at {[int(k) for k in np.unravel_index(at, table.shape)]}"

    check_costs(table.ravel(), name_of)
    return table


def pgmpy_arguments(model):
    """Return the arguments of MRF for a model of pgmpy, see `MRF.from_pgmpy`."""
    expected = "model must be a discrete Bayesian network, Markov network or factor graph of pgmpy"
    _check_methods(model, ["nodes"], expected)
    if hasattr(model, "get_cpds"):
        cpds = list(model.get_cpds())
        for cpd in cpds:
            _check_methods(cpd, ["to_factor"], f"{expected}, and its CPDs must be tables")
        factors = [cpd.to_factor() for cpd in cpds]
    else:
        _check_methods(model, ["get_factors"], expected)
        factors = list(model.get_factors())
    for factor in factors:
        _check_methods(factor, ["variables", "cardinality", "values"], expected)
    # Factors are nodes of factor graphs.
    nodes = [node for node in model.nodes() if not hasattr(node, "cardinality")]
    number = {node: v for v, node in enumerate(nodes)}
    states = {}
    for factor in factors:
        for node, n_labels in zip(factor.variables, factor.cardinality, strict=True):
            states.setdefault(node, _states(factor, node, n_labels))
    missing = [node for node in nodes if node not in states]
    if missing:
        raise ValueError(
            f"the variable {shortened(missing[0])} has no factor or CPD; add a factor of ones"
        )
    terms = TermList([len(states[node]) for node in nodes])
    for factor in factors:
        scope = tuple(number[node] for node in factor.variables)
        terms.add(scope, _factor_costs(factor, states))
    return terms.arguments()


def _states(factor, node, n_labels):
    """Return the states of a variable in the order of a factor's table."""
    names = getattr(factor, "state_names", None) or {}
    return list(names.get(node, range(int(n_labels))))


def _factor_costs(factor, states):
    """Return the costs of a factor, with states in the order of `states`."""
    name = f"factor of {shortened(list(factor.variables))}"
    shape = tuple(int(n_labels) for n_labels in factor.cardinality)
    values = real_array(factor.values, name).reshape(shape)
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        raise ValueError(
            f"the {name} has the entry {values[wrong][0]}, expected finite potentials >= 0"
        )
    for axis, (node, n_labels) in enumerate(zip(factor.variables, shape, strict=True)):
        own, order = _states(factor, node, n_labels), states[node]
        if own == order:
            continue
        if len(own) != len(order) or set(own) != set(order):
            raise ValueError(
                f"the {name} has the states {shortened(own)} of {shortened(node)}, but another "
                f"factor has {shortened(order)}"
            )
        values = values.take([own.index(state) for state in order], axis=axis)
    with np.errstate(divide="ignore"):
        # Subtract from 0 to avoid costs of -0.0 for potentials of 1.
        return 0.0 - np.log(values)


def networkx_arguments(graph, node_costs, edge_costs, weight):
    """Return the arguments of MRF for a graph of networkx, see `MRF.from_networkx`."""
    _check_methods(graph, ["nodes", "edges", "is_directed"], "graph must be a networkx graph")
    number = {node: v for v, node in enumerate(graph.nodes)}
    costs = []
    for node, data in graph.nodes(data=True):
        what = f"node {shortened(node)}"
        table = _attribute(data, node_costs, what, "node_costs")
        costs.append(_checked_table(table, (None,), f"costs of {what}"))
    terms = TermList([len(row) for row in costs])
    for v, row in enumerate(costs):
        terms.add((v,), row)
    shared = None if isinstance(edge_costs, str) else real_array(edge_costs, "edge_costs")
    for first, second, data in graph.edges(data=True):
        u, v = number[first], number[second]
        if u > v and not graph.is_directed():
            u, v, first, second = v, u, second, first
        what = f"edge ({shortened(first)}, {shortened(second)})"
        if u == v:
            raise ValueError(f"the {what} is a self-loop; add its costs to those of the node")
        table = _attribute(data, edge_costs, what, "edge_costs") if shared is None else shared
        shape = len(costs[u]), len(costs[v])
        table = _checked_table(table, shape, f"costs of {what}")
        if weight is not None:
            factor = real_array(_attribute(data, weight, what, "weight"), f"weight of {what}")
            if factor.shape != ():
                raise ValueError(
                    f"the weight of {what} must be a number, found an array of shape {factor.shape}"
                )
            with np.errstate(invalid="ignore"):
                table = factor * table
            table = _checked_table(table, shape, f"weighted costs of {what}")
        terms.add((u, v), table)
    return terms.arguments()


def _attribute(data, name, what, parameter):
    if name not in data:
        raise ValueError(
            f"the {what} has no attribute {shortened(name)}; set it or the parameter {parameter}"
        )
    return data[name]
