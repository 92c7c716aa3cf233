"""What the multilabel data sets share: features and label sets of one file, as a Bunch."""

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from ._cache import cached_file


def load_label_sets(
    file_name, description, subset, return_indicator, data_home, return_X_y, target_names=None
):
    """Load a part of an archive of features and label sets.

    The archive holds, for each of its parts ("train" and "test", or "all" alone), features as an
    array ``X_part`` or as CSR (``X_part_data``, ``X_part_indices``, ``X_part_indptr``), and label
    sets as an array ``Y_part`` or as CSR without data (``Y_part_indices``, ``Y_part_indptr``); for
    CSR also ``n_features`` and ``n_labels``; and ``label_names`` unless `target_names` is given.
    """
    check_indicator(return_indicator)
    path = cached_file(data_home, file_name, make=None, download_if_missing=False)
    with np.load(path, allow_pickle=False) as arrays:
        split = any(name.startswith("X_train") for name in arrays)
        parts = parts_of_subset(subset, ("train", "test") if split else ("all",), file_name)
        X = [_matrix(arrays, f"X_{part}", "n_features", np.float64) for part in parts]
        Y = [_matrix(arrays, f"Y_{part}", "n_labels", np.int64) for part in parts]
        if target_names is None:
            target_names = arrays["label_names"].tolist()
    return label_sets_bunch(X, Y, return_indicator, return_X_y, target_names, description)


def parts_of_subset(subset, parts, what):
    """The parts that a subset is made of; ValueError if there is none such."""
    if subset == "all":
        return parts
    if subset not in parts:
        expected = '"train", "test" or "all"' if len(parts) > 1 else f'"all", {what} has no split'
        raise ValueError(f"subset must be {expected}; got {subset!r}")
    return (subset,)


def check_indicator(return_indicator):
    """Raise ValueError unless it names a format of label sets."""
    if return_indicator not in ("sparse", "dense"):
        raise ValueError(f'return_indicator must be "sparse" or "dense", got {return_indicator!r}')


def label_sets_bunch(X, Y, return_indicator, return_X_y, target_names, description):
    """Join parts, and return them as scikit-learn's fetchers do."""
    data = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    target = sparse.vstack([sparse.csr_matrix(part) for part in Y], format="csr")
    if return_indicator == "dense":
        target = target.toarray()
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, target_names=list(target_names), DESCR=description)


def _matrix(arrays, name, width, dtype):
    """An array of the archive, or the CSR matrix that its arrays `name`_* are."""
    if name in arrays:
        return arrays[name].astype(dtype)
    indices = arrays[f"{name}_indices"]
    indptr = arrays[f"{name}_indptr"].astype(np.int32)
    values = np.ones(len(indices)) if name.startswith("Y") else arrays[f"{name}_data"]
    shape = (len(indptr) - 1, int(arrays[width]))
    matrix = sparse.csr_matrix((values.astype(dtype), indices, indptr), shape=shape)
    matrix.sort_indices()
    return matrix
