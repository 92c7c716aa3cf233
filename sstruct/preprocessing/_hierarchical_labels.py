"""Label sets with the hierarchy given by the names of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.arrays import array_of, check_listed, real_array, without_view
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.shown import shortened


def hierarchical_labels(
    Y: ArrayLike | sparse.spmatrix, names: Sequence[str], *, separator: str = "."
) -> tuple[Any, list[str], np.ndarray]:
    """Add the ancestors of labels to label sets, based on names such as "A.B.C".

    A label named "A.B.C" is a child of "A.B", which is a child of "A". Nodes without a label are
    added as labels, and every label set is extended by all ancestors of its labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1.
    names : sequence of n_labels str
        Distinct names of the labels.
    separator : str, default="."
        Separator between the name of a node and the rest of the names of its children.

    Returns
    -------
    Y : int ndarray or CSR matrix of shape (n_samples, n_nodes)
        Label sets that contain all ancestors of their labels; a CSR matrix if `Y` is sparse. The
        labels keep their columns; added nodes follow, sorted by name.
    names : list of n_nodes str
        Names of all nodes.
    parents : ndarray of shape (n_nodes,), dtype int32
        Parent of each node, -1 at a root.

    Raises
    ------
    ValueError
        If names are not distinct, their number is not the number of labels, a name has an empty
        part, or Y contains values other than 0 and 1.

    See Also
    --------
    sstruct.datasets.fetch_enron : A data set with such label names.

    Examples
    --------
    >>> from sstruct.preprocessing import hierarchical_labels
    >>> Y, names, parents = hierarchical_labels([[1, 0, 0], [0, 1, 1]], ["A.x", "A.y", "B.x"])
    >>> names, parents.tolist()
    (['A.x', 'A.y', 'B.x', 'A', 'B'], [3, 3, 4, -1, -1])
    >>> Y
    array([[1, 0, 0, 1, 0],
           [0, 1, 1, 1, 1]])
    """
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator must be a nonempty string; got {shortened(separator)}")
    is_sparse = sparse.issparse(Y)
    if is_sparse:
        check_compressed(Y, "Y")
    sets = sparse.csr_matrix(as_csr(Y)) if is_sparse else array_of(Y, "Y")
    if sets.ndim != 2:
        raise ValueError(f"Y must have shape (n_samples, n_labels); found {sets.shape}")
    if sets.dtype == object:  # such as a data frame with mixed columns
        sets = real_array(sets, "Y")
    if sets.dtype.kind not in "biuf":
        raise TypeError(f"Y must contain 0 and 1, found dtype {sets.dtype}")
    check_listed(names, "names", "strings", rejected=str)
    values = sets.data if is_sparse else sets
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise ValueError(f"Y must contain only 0 and 1; found {values[wrong][0]}")
    labels = [str(name) for name in without_view(names)]
    if len(labels) != sets.shape[1]:
        raise ValueError(f"names has {len(labels)} entries for {sets.shape[1]} labels")
    place = {}
    for k, name in enumerate(labels):
        if not all(name.split(separator)):
            raise ValueError(f"names[{k}] = {shortened(name)} has an empty part between separators")
        if place.setdefault(name, k) != k:
            raise ValueError(f"names[{k}] = {shortened(name)} repeats names[{place[name]}]")

    def above(name):
        return name.rpartition(separator)[0]

    added = set()
    for name in labels:
        while (name := above(name)) and name not in place:
            added.add(name)
    labels += sorted(added)
    place = {name: k for k, name in enumerate(labels)}
    parents = np.array([place.get(above(name), -1) for name in labels], dtype=np.int32)
    closure = np.zeros((sets.shape[1], len(labels)), dtype=np.int64)
    for k in range(sets.shape[1]):
        node = k
        while node >= 0:
            closure[k, node] = 1
            node = parents[node]
    if not is_sparse:
        return (sets.astype(np.int64) @ closure > 0).astype(np.int64), labels, parents
    closed = sparse.csr_matrix(sets.astype(np.int64) @ sparse.csr_matrix(closure))
    closed.eliminate_zeros()
    closed.data[:] = 1
    closed.sort_indices()
    return closed, labels, parents
