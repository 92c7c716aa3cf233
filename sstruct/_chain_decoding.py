"""Prediction of chains: the problem of a fitted model, and the decoder for its transitions."""

from sklearn.utils.validation import check_is_fitted

from sstruct._problems._chain import ChainProblem
from sstruct._problems._chain_sparse import decode_sparse, sparse_transitions
from sstruct._problems._decode import decode
from sstruct._problems.chain_arguments import ChainModel, Chains
from sstruct._problems.node_arguments import weight_views
from sstruct._threads import n_threads
from sstruct._validation import pack_nodes
from sstruct.base import BaseSSVM


class ChainDecoding(BaseSSVM):
    """Decodes chains with ``_w``, ``_terms`` and ``_masks``."""

    def _decoder(self, nodes):
        """Return the problem of decoding, and the weights in its layout."""
        chains = Chains(nodes.offsets[:-1], nodes.lengths)
        model = ChainModel(len(self.classes_), *self._terms, *self._masks)
        return ChainProblem(nodes.flat, chains, model), self._w

    def _fitted_attributes(self, solution, lam, solver, attributes):
        fitted = super()._fitted_attributes(solution, lam, solver, attributes)
        views = weight_views(
            solution.w, len(fitted["classes_"]), fitted["n_features_in_"], fitted["_terms"]
        )
        if _as_sparse(views, fitted["_masks"]) is not None:
            fitted["inference_"] += "; predictions: sparse viterbi (exact)"
        return fitted

    def _predict_codes(self, X):
        check_is_fitted(self)
        nodes = pack_nodes(self, X, fitted=True)
        problem, w = self._decoder(nodes)
        threads, transitions = (
            n_threads(self.n_jobs),
            _as_sparse(self._views(), self._masks),
        )
        if transitions is None:
            return nodes, decode(problem, w, threads)
        return nodes, decode_sparse(problem, w, transitions, threads)


def _as_sparse(views, masks):
    """Return the transitions as sparse rows where decoding with them is faster, or None."""
    if "edge" not in views or any(mask is not None for mask in masks):
        return None
    return sparse_transitions(views["edge"])
