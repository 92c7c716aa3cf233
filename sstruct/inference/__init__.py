"""MAP inference on plain arrays: the decoders that training and prediction use."""

from sstruct._oracles._top_k import top_k
from sstruct._oracles._viterbi import max_marginals, viterbi

__all__ = ["max_marginals", "top_k", "viterbi"]
