"""MAP inference: the decoders that training and prediction use, on plain arrays, and models."""

from sstruct._oracles._binary_energy import graph_cut
from sstruct._oracles._distance_transform import distance_transform
from sstruct._oracles._maxflow import maxflow
from sstruct._oracles._top_k import top_k
from sstruct._oracles._tree import tree_max_sum
from sstruct._oracles._viterbi import max_marginals, viterbi
from sstruct._oracles.alpha_expansion import alpha_expansion
from sstruct._oracles.multilabel_map import multilabel_map
from sstruct.inference._dd import MatchingProblem, read_dd
from sstruct.inference._discrete_tomography import discrete_tomography
from sstruct.inference._graph_matching import graph_matching
from sstruct.inference._map_mrf import map_mrf
from sstruct.inference._map_result import MapResult
from sstruct.inference._mrf import MRF
from sstruct.inference._rays import projection_rays
from sstruct.inference._uai import read_uai, write_uai

__all__ = [
    "MRF",
    "MapResult",
    "MatchingProblem",
    "alpha_expansion",
    "discrete_tomography",
    "distance_transform",
    "graph_cut",
    "graph_matching",
    "map_mrf",
    "max_marginals",
    "maxflow",
    "multilabel_map",
    "projection_rays",
    "read_dd",
    "read_uai",
    "top_k",
    "tree_max_sum",
    "viterbi",
    "write_uai",
]
