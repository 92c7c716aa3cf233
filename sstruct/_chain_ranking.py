"""The best few labellings of chains: a part of ChainSSVM."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sstruct._problems._chain import chain_top_k
from sstruct._validation import check_number, pack_nodes


class ChainRanking:
    """``predict_top_k`` of an estimator with ``_decoder`` and ``classes_``."""

    def predict_top_k(self, X, k):
        """Find the k best labellings of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
        k : int
            How many, at least 1.

        Returns
        -------
        labels : ndarray of shape (n,), dtype object
            For each sequence an array (m, L) of different labellings, best first, the first that
            of :meth:`predict`, up to ties; for 2-D X an array (m,). m is k, or the number of
            labellings that the sequence can have, given `transition_mask`, if that is smaller.
        scores : ndarray of shape (n,), dtype object
            For each sequence an array (m,) of their scores ``<w_, phi(x, y)>``.

        See Also
        --------
        sstruct.inference.top_k : The same for potentials.

        Notes
        -----
        O(L K (K + k)) time for a sequence of L nodes, beside the potentials; exact.

        Examples
        --------
        >>> from sstruct import ChainSSVM
        >>> model = ChainSSVM(random_state=0).fit([[[2.0], [-1.0]], [[-2.0]]], [["a", "b"], ["b"]])
        >>> labels, scores = model.predict_top_k([[[3.0], [0.0]]], k=2)
        >>> labels[0].tolist()
        [['a', 'b'], ['a', 'a']]
        """
        check_is_fitted(self)
        check_number("k", k, least=1, whole=True)
        nodes = pack_nodes(self, X, fitted=True)
        ranked = chain_top_k(*self._decoder(nodes), min(int(k), np.iinfo(np.intp).max))
        labels, scores = np.empty((2, len(nodes)), dtype=object)
        for i, (codes, values) in enumerate(ranked):
            labels[i] = self.classes_[codes[:, 0] if nodes.form == "rows" else codes]
            scores[i] = values
        return labels, scores
