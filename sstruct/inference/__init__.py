"""MAP inference on arrays and graphical models, with the decoders of the estimators."""

from sstruct._oracles.alignment._alignment import align
from sstruct._oracles.cut._binary_energy import graph_cut
from sstruct._oracles.cut._maxflow import maxflow
from sstruct._oracles.graph.alpha_expansion import alpha_expansion
from sstruct._oracles.label_set.multilabel_map import multilabel_map
from sstruct._oracles.tree._distance_transform import distance_transform
from sstruct._oracles.tree._max_sum import tree_max_sum
from sstruct.inference._applications.discrete_tomography import discrete_tomography
from sstruct.inference._applications.graph_matching import graph_matching
from sstruct.inference._applications.rays import projection_rays
from sstruct.inference._chains import max_marginals, top_k, viterbi
from sstruct.inference._dependency import dependency_tree
from sstruct.inference._files.cfn import read_cfn
from sstruct.inference._files.dd import MatchingProblem, read_dd
from sstruct.inference._files.uai import read_uai, read_uai_evidence, write_uai
from sstruct.inference._methods.map_mrf import map_mrf
from sstruct.inference._model.map_result import MapResult
from sstruct.inference._model.mrf import MRF
from sstruct.inference._segments import segment_viterbi
from sstruct.inference._streaming import StreamingViterbi

__all__ = [
    "MRF",
    "MapResult",
    "MatchingProblem",
    "StreamingViterbi",
    "align",
    "alpha_expansion",
    "dependency_tree",
    "discrete_tomography",
    "distance_transform",
    "graph_cut",
    "graph_matching",
    "map_mrf",
    "max_marginals",
    "maxflow",
    "multilabel_map",
    "projection_rays",
    "read_cfn",
    "read_dd",
    "read_uai",
    "read_uai_evidence",
    "segment_viterbi",
    "top_k",
    "tree_max_sum",
    "viterbi",
    "write_uai",
]
