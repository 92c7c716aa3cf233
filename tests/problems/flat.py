"""Construct problems from one flat dict of arguments, which tests change one at a time."""

from dataclasses import fields

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain._edge_features import EdgeFeatureChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.graph._graph_problem import GraphProblem
from sstruct._problems.graph.graph_arguments import GraphRanges
from sstruct._problems.tree._tree_problem import TreeProblem
from sstruct._problems.tree.tree_arguments import TreeStates


def chain_problem(**arguments):
    if "edges" in arguments:
        records = with_records(arguments, chains=ChainRanges, model=ChainModel)
        return EdgeFeatureChainProblem(**records)
    return ChainProblem(**with_records(arguments, chains=ChainRanges, model=ChainModel))


def graph_problem(**arguments):
    return GraphProblem(**with_records(arguments, graphs=GraphRanges))


def tree_problem(**arguments):
    return TreeProblem(**with_records(arguments, states=TreeStates))


def with_records(arguments, **records):
    """Replace the arguments that are fields of records by these records."""
    out = dict(arguments)
    for name, record in records.items():
        names = [field.name for field in fields(record) if field.name in arguments]
        out[name] = record(**{key: out.pop(key) for key in names})
    return out
