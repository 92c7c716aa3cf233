"""Validate sentences of DependencySSVM and their true trees; errors name the sample."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import (
    NUMBERS,
    array_of,
    as_floats,
    check_depth,
    check_magnitudes,
    is_empty_list,
    is_sized,
    items_of,
    listed_samples,
    listed_targets,
    sample_dict,
    without_view,
)
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.shown import shortened
from sstruct._input.integers import integer_labels, integers
from sstruct._input.labels import (
    as_labels,
    concatenate_labels,
    encode,
    is_label,
    masked_as_none,
    training_classes,
)
from sstruct._input.ragged import NO_NODES, NoNodesError
from sstruct._problems.dependency.dependency_arguments import Arcs

KEYS = ("features", "arcs", "label_features")
# Limit of the tokens of a sentence: its tables of all pairs of tokens take 2 GiB.
MAX_TOKENS = 2**13
# The code of a token is head * K + label, UNKNOWN, or UNSEEN if its label is not a class.
UNKNOWN, UNSEEN = -1, -2
ADVICE = (
    "The head of a child of the root is 0. Set ignore_label to another number, such as "
    "ignore_label=-1, to ignore tokens whose head is unknown"
)


@dataclass(frozen=True)
class PackedSentences:
    """Sentences whose arcs are parts of one array.

    Attributes
    ----------
    features : ndarray or CSR matrix of shape (n_arcs, n_features)
    label_features : ndarray or CSR matrix of shape (n_arcs, n_label_features), or None
        None if they are the features.
    head, dependent : ndarray of int32 of shape (n_arcs,)
        In ascending order of samples, dependents and heads.
    n_arcs, n_tokens : ndarray of int64 of shape (n,)
        A sample without tokens has no arcs.
    """

    features: Any
    label_features: Any
    head: np.ndarray
    dependent: np.ndarray
    n_arcs: np.ndarray
    n_tokens: np.ndarray

    def __len__(self):
        return len(self.n_tokens)

    @property
    def offsets(self):
        """Index of the first token of each sample among all tokens, and the number of tokens."""
        return np.append(0, np.cumsum(self.n_tokens))

    @property
    def sizes(self):
        """Numbers of features and of label features, the latter 0 if they are the features."""
        others = self.label_features
        return self.features.shape[1], 0 if others is None else others.shape[1]

    def split(self, codes):
        """Return the codes of the tokens of each sample."""
        return [codes[a:b] for a, b in pairwise(self.offsets)]

    def of_samples(self, used):
        """Return the sentences of a mask of samples; the same object if it has all."""
        if used.all():
            return self
        rows = np.repeat(used, self.n_arcs)
        return PackedSentences(
            self.features[rows],
            None if self.label_features is None else self.label_features[rows],
            self.head[rows],
            self.dependent[rows],
            self.n_arcs[used],
            self.n_tokens[used],
        )

    def arcs(self):
        """Return the Arcs of a problem; all samples have tokens."""
        start = np.append(0, np.cumsum(self.n_arcs))
        return Arcs(self.head, self.dependent, start, self.n_tokens)


def pack_sentences(X, sizes=None):
    """Validate X and return its PackedSentences.

    Parameters
    ----------
    X : list of arrays or dicts
    sizes : tuple of int or None
        ``PackedSentences.sizes`` of the fit; None in a fit.
    """
    kind = "a list of arrays (tokens, tokens + 1, features) or of dicts, one per sentence"
    X = listed_samples(X, kind, "sentence", fitted=sizes is not None)
    samples = [None if is_empty_list(item) else _sample(i, item) for i, item in enumerate(X)]
    none = np.empty((0, 2), dtype=np.int32)
    empty = None
    for i, sample in enumerate(samples):
        if sample is None:
            continue
        features, others, *_ = sample
        empty = features[:0], None if others is None else others[:0], none, 0
        found = features.shape[1], 0 if others is None else others.shape[1]
        sizes = found if sizes is None else sizes
        for n, expected, key in zip(found, sizes, ("features", "label_features"), strict=True):
            if n != expected:
                raise ValueError(f"{key!r} of X[{i}] has {n} features per arc, expected {expected}")
    if sizes is None:
        raise NoNodesError(NO_NODES)
    if empty is None:
        others = None if sizes[1] == 0 else np.empty((0, sizes[1]))
        counts = np.zeros(len(samples), dtype=np.int64)
        return PackedSentences(np.empty((0, sizes[0])), others, *none.T, counts, counts)
    samples = [empty if sample is None else sample for sample in samples]
    features, others, arcs, n_tokens = zip(*samples, strict=True)
    joined = np.concatenate(arcs)
    return PackedSentences(
        _stacked(features, "features"),
        None if others[0] is None else _stacked(others, "label_features"),
        np.ascontiguousarray(joined[:, 0], dtype=np.int32),
        np.ascontiguousarray(joined[:, 1], dtype=np.int32),
        np.array([len(own) for own in arcs], dtype=np.int64),
        np.array(n_tokens, dtype=np.int64),
    )


def _stacked(parts, key):
    """Return rows of all samples, dense or canonical CSR."""
    is_sparse = [sparse.issparse(part) for part in parts]
    if any(is_sparse) and not all(is_sparse):
        i, kinds = is_sparse.index(not is_sparse[0]), ("dense", "sparse")
        raise TypeError(
            f"{key!r} of X[{i}] is {kinds[is_sparse[i]]}, but that of X[0] is "
            f"{kinds[is_sparse[0]]}; expected the same for all sentences"
        )
    if not is_sparse[0]:
        return np.ascontiguousarray(np.concatenate(parts))
    flat = sparse.csr_array(sparse.vstack(parts, format="csr"))
    if not flat.has_canonical_format:
        flat = flat.copy()
        flat.sum_duplicates()
    return flat


def _sample(i, item):
    """Return features, label features or None, arcs (head, dependent) and the number of tokens."""
    item = sample_dict(item, i, KEYS)
    listed = item.get("arcs") is not None
    features = _numbers(item["features"], f"'features' of X[{i}]")
    others = item.get("label_features")
    if others is not None:
        others = _numbers(others, f"'label_features' of X[{i}]")
    n = features.shape[0] if features.ndim else 0
    for table, key in ((features, KEYS[0]), (others, KEYS[2])):
        if table is None:
            continue
        if listed:
            is_valid, expected = table.ndim == 2, "(arcs, features)"
        else:
            is_valid = table.ndim == 3 and table.shape[:2] == (n, n + 1)
            expected = "(tokens, tokens + 1, features)"
        if not is_valid or table.shape[-1] == 0:
            raise ValueError(
                f"{key!r} of X[{i}] has shape {table.shape}, expected {expected} with at least one "
                "feature" + ("" if listed else "; X must be a list of such arrays")
            )
    if listed:
        arcs, order = _listed_arcs(i, item["arcs"], features.shape[0])
        if others is not None and others.shape[0] != len(arcs):
            raise ValueError(
                f"'label_features' of X[{i}] has {others.shape[0]} rows, expected {len(arcs)}, one "
                "per arc"
            )
        if order is not None:
            features, others = features[order], None if others is None else others[order]
        n = int(arcs[:, 1].max(initial=0))
        if n > MAX_TOKENS:
            raise ValueError(
                f"X[{i}] has {n} tokens, expected at most {MAX_TOKENS}, since the decoder stores "
                "all pairs of tokens; divide it into sentences"
            )
        return features, others, arcs, n
    dependent, head = np.nonzero(np.arange(n + 1) != np.arange(1, n + 1)[:, np.newaxis])
    arcs = np.column_stack([head, dependent + 1])
    return features[dependent, head], None if others is None else others[dependent, head], arcs, n


def _numbers(value, name):
    """Return finite numbers as a float array or a CSR matrix."""
    if sparse.issparse(value):
        check_compressed(value, name)
        array = as_csr(value)
        array = array.copy() if array is value else array
        array.data = as_floats(array.data, name)
    else:
        array = as_floats(array_of(without_view(value), name, NUMBERS), name)
    numbers = array.data if sparse.issparse(array) else np.atleast_1d(array)
    check_magnitudes(numbers, f"{name} contains")
    return array


def _listed_arcs(i, arcs, n_rows):
    """Return arcs (head, dependent) in ascending order, and that order, None if they are sorted."""
    name = f"'arcs' of X[{i}]"
    arcs = integers(arcs, name)
    if arcs.size == 0:
        arcs = arcs.reshape(-1, 2)
    if arcs.shape != (n_rows, 2):
        raise ValueError(
            f"{name} has shape {arcs.shape}, expected {(n_rows, 2)}, the head and the dependent of "
            "each arc"
        )
    # Every token has an arc, so n_rows limits the numbers of tokens, and the memory used below.
    wrong = np.flatnonzero(
        (arcs < [0, 1]).any(axis=1) | (arcs > n_rows).any(axis=1) | (arcs[:, 0] == arcs[:, 1])
    )
    if len(wrong):
        raise ValueError(
            f"{name} has {arcs[wrong[0]].tolist()} at {wrong[0]}, expected a head and another "
            "dependent: tokens have the numbers 1 to n, and only a head may be 0, the root"
        )
    n = int(arcs[:, 1].max(initial=0))
    missing = np.flatnonzero(np.bincount(arcs[:, 1], minlength=n + 1)[1:] == 0)
    if len(missing):
        raise ValueError(f"{name} has no arc to token {missing[0] + 1}")
    if len(arcs) and arcs[:, 0].max() > n:
        raise ValueError(f"{name} has the head {arcs[:, 0].max()}, but the sentence has {n} tokens")
    places = arcs[:, 1] * (n + 1) + arcs[:, 0]
    if (np.diff(places) > 0).all():
        return arcs, None
    order = np.argsort(places, kind="stable")
    twice = np.flatnonzero(np.diff(places[order]) == 0)
    if len(twice):
        raise ValueError(f"{name} contains {arcs[order[twice[0]]].tolist()} twice")
    return arcs[order], order


@dataclass(frozen=True)
class KnownTrees:
    """Heads, and labels of arcs, of the tokens of all samples.

    Attributes
    ----------
    heads : ndarray of int32 of shape (n_tokens,)
        UNKNOWN if the head, or the label, is not known.
    labels : ndarray of shape (n_tokens,), or None
        None if arcs have no labels.
    """

    heads: np.ndarray
    labels: np.ndarray | None

    def classes(self, used, packed):
        """Return the sorted labels of known tokens in a mask of samples; None without labels."""
        if self.labels is None:
            return None
        chosen = np.repeat(used, packed.n_tokens) & (self.heads != UNKNOWN)
        return training_classes(None, self.labels, chosen, None)

    def codes(self, classes):
        """Return the codes of the tokens, given the classes of the fit."""
        if self.labels is None:
            return self.heads
        labels = np.full(len(self.heads), -1, dtype=np.int32)
        known = self.heads != UNKNOWN
        if known.any():
            labels[known] = encode(self.labels[known], classes)
        codes = np.where(labels < 0, UNSEEN, self.heads * len(classes) + labels)
        return np.where(known, codes, UNKNOWN).astype(np.int32)


def pack_trees(y, packed, labeled, ignore_label, name="y"):
    """Validate y and return its KnownTrees.

    Parameters
    ----------
    y : list of int arrays of heads or, with labels, of pairs (heads, labels)
    packed : PackedSentences
    labeled : bool
    ignore_label : object
        Marker of unknown heads and labels, as are missing values; None if all are known.
    name : str
        "y", or "y_partial", in which None instead of an item means that all tokens are unknown.
    """
    y = listed_targets(y, len(packed), "a list of trees, one per sentence", name)
    heads, labels = [np.empty(0, dtype=np.int32)], []
    for i, (item, n) in enumerate(zip(y, packed.n_tokens.tolist(), strict=True)):
        if (name != "y" and item is None) or (n == 0 and is_empty_list(item)):
            item = [None] * n
            item = (item, item) if labeled else item
        own, own_labels = tree_of(f"{name}[{i}]", items_of(item), n, labeled, ignore_label)
        heads.append(own)
        labels.append(own_labels)
    if labeled:
        parts = [own for own in labels if len(own)]
        labels = as_labels(concatenate_labels(parts), ignore_label) if parts else np.empty(0, int)
    return KnownTrees(np.concatenate(heads), labels if labeled else None)


def heads_of(tree):
    """Return the heads of a tree, which may be a pair of heads and labels."""
    is_list = isinstance(tree, list | tuple | np.ndarray) and is_sized(tree)
    return tree[0] if is_list and len(tree) == 2 and is_sized(items_of(tree[0])) else tree


def tree_of_any_size(name, item, labeled=None):
    """Return the result of `tree_of` for a tree of any number of tokens.

    labeled : whether labels are returned, which must then exist; None: if there are any
    """
    check_depth(item, name)
    item = items_of(item)
    heads = heads_of(item)
    if not is_sized(heads):
        raise TypeError(f"{name} must contain heads, found {type(item).__name__}")
    labeled = heads is not item if labeled is None else labeled
    return tree_of(name, item if labeled else heads, len(heads), labeled)


def tree_of(name, item, n, labeled, ignore_label=None):
    """Return the heads of one sentence, and its labels, with the same tokens unknown in both."""
    if not labeled:
        return _heads(name, item, n, ignore_label), None
    if not isinstance(item, list | tuple | np.ndarray) or not is_sized(item) or len(item) != 2:
        raise ValueError(
            f"{name} must be a pair (heads, labels), since labeled=True, found {shortened(item)}"
        )
    kind = f"heads, one per token; with labeled=True, {name} is a pair (heads, labels)"
    heads = _heads(f"{name}[0]", item[0], n, ignore_label, kind)
    labels = masked_as_none(items_of(item[1]))
    if len(getattr(labels, "shape", (n,))) != 1:
        raise ValueError(f"the labels of {name} have shape {labels.shape}, expected {(n,)}")
    labels = as_labels(labels, ignore_label, lambda t: f"the labels of {name} at token {t + 1}")
    if len(labels) != n:
        raise ValueError(f"{name} has {len(labels)} labels, expected {n}, one per token")
    unknown = (heads == UNKNOWN) | is_label(labels, ignore_label)
    return np.where(unknown, UNKNOWN, heads), labels


def _heads(name, item, n, ignore_label, kind="heads, one per token"):
    """Return the heads of the tokens of one sentence; `kind` describes them in errors."""
    given = item, name, kind, (n,), ignore_label
    heads, ignored = integer_labels(*given, lambda t: f"{name} at token {t + 1}", ADVICE)
    tokens = np.arange(1, n + 1)
    wrong = np.flatnonzero(~ignored & ((heads < 0) | (heads > n) | (heads == tokens)))
    if len(wrong):
        t = wrong[0]
        unknown = "" if ignore_label is None else f", or {ignore_label} if unknown"
        raise ValueError(
            f"{name} has the head {heads[t]} of token {t + 1}, expected another token, 1 to {n}, 0 "
            f"for the root{unknown}"
        )
    return np.where(ignored, UNKNOWN, heads.astype(np.int64)).astype(np.int32)
