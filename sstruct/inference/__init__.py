"""MAP inference on plain arrays: the decoders that training and prediction use."""

from sstruct._oracles._binary_energy import graph_cut
from sstruct._oracles._maxflow import maxflow
from sstruct._oracles._top_k import top_k
from sstruct._oracles._viterbi import max_marginals, viterbi
from sstruct._oracles.alpha_expansion import alpha_expansion

__all__ = ["alpha_expansion", "graph_cut", "max_marginals", "maxflow", "top_k", "viterbi"]
