"""MAP inference on plain arrays: the decoders that training and prediction use."""

from sstruct._oracles._distance_transform import distance_transform
from sstruct._oracles._top_k import top_k
from sstruct._oracles._tree import tree_max_sum
from sstruct._oracles._viterbi import max_marginals, viterbi

__all__ = ["distance_transform", "max_marginals", "top_k", "tree_max_sum", "viterbi"]
