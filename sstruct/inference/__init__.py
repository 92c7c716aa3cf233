"""MAP inference on plain arrays: the decoders that training and prediction use."""

from sstruct._oracles._viterbi import max_marginals, viterbi

__all__ = ["max_marginals", "viterbi"]
