"""Vectorizer for the arcs of dependency trees, with hashed templates of words and tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from sstruct._checks.arrays import is_sized, items_of, listed
from sstruct._checks.compressed import csr_array_of
from sstruct._checks.parameters import FLAG, check_choice, check_number
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module
from sstruct._estimators.core.fitted_state import (
    Array,
    CheckedState,
    FittedState,
    Labels,
    Number,
    check_parameters,
    reads_one_fit,
)
from sstruct._estimators.dependency.sentence_samples import heads_of, tree_of
from sstruct._input.labels import object_array

__all__ = ["ArcVectorizer"]

# Codes of words and tags that are not in the vocabulary.
ROOT, UNKNOWN, OUTSIDE = range(3)
SPECIAL = ("root", "unknown", "outside")
# Lower ends of the distances from a head that have a code each, in each direction.
DISTANCES = np.array([1, 2, 3, 4, 5, 10])
# Number of arcs whose features are computed together: temporary arrays stay in the cache.
AT_ONCE = 2**14
MAX_BUCKETS = 2**24

# Attributes of an arc: the word and tag of the head (H, h) and of the dependent (D, d), the tags
# before and after these (a, b and x, y), and the direction with the distance (+).
# The templates of the first-order parser of McDonald, Crammer and Pereira (2005), most of them with
# and without the distance.
PAIRS = ("HhDd", "hDd", "HDd", "Hhd", "HhD", "HD", "hd")
AROUND = ("hbxd", "ahxd", "hbdy", "ahdy")
SINGLE = ("Hh", "H", "h", "Dd", "D", "d")
TEMPLATES = ("+", *(t + "+" for t in (*SINGLE, *PAIRS, *AROUND)), *PAIRS, *AROUND)
LABEL_TEMPLATES = ("Dd", "hd+", "Hd", "hD", "Hhd", "HD", "d+", "xdy", "h+")


@public_module("sstruct.preprocessing")
class ArcVectorizer(CheckedState, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Convert sentences of words and tags to features of arcs for `DependencySSVM`.

    Features are indicators of the words and tags of the head and of the dependent, of neighboring
    tags and of the tags between them, and of combinations of these with the direction and distance
    of the arc: the templates of the first-order parser of [1]_. Each template is hashed to
    `n_buckets` columns.

    Parameters
    ----------
    n_buckets : int, default=65536
        Number of columns of each of the 30 templates. With fewer, more combinations share weights.
    labeled : bool, default=False
        Whether to add ``label_features``, with 9 templates of `n_label_buckets` columns, for
        ``DependencySSVM(labeled=True)``. Without them, it learns weights of the 30 templates of
        arcs for each label, which takes much more time and memory.
    n_label_buckets : int, default=4096
        Number of columns of each template of label features. The number of weights is 9 times this
        number times the number of labels.
    min_count : int, default=2
        Words with fewer occurrences in the training sentences are treated as unknown.
    prune : bool, default=True
        Whether to leave out arcs whose tags of the head and the dependent do not occur with this
        direction in a training tree, if ``fit`` is passed trees. Arcs from the root, between
        neighbors and with an unknown tag are always candidates, so that there is a tree.

    Attributes
    ----------
    words_, tags_ : ndarray of str objects
        The known words and tags, sorted.

    See Also
    --------
    sstruct.DependencySSVM : The estimator for these features.
    SequenceVectorizer : Features of tokens, from dicts.

    Notes
    -----
    A sentence of n tokens has up to n^2 arcs with about 35 features each, of 8 bytes in memory.
    Time is linear in the number of features. Columns have no names, since hashing cannot be
    inverted.

    References
    ----------
    .. [1] R. McDonald, K. Crammer, F. Pereira. Online Large-Margin Training of Dependency Parsers.
       ACL 2005, table 1.

    Examples
    --------
    >>> from sstruct import DependencySSVM
    >>> from sstruct.preprocessing import ArcVectorizer
    >>> X = [[("Dogs", "NOUN"), ("bark", "VERB")], [("Cats", "NOUN"), ("sleep", "VERB")]]
    >>> y = [[2, 0], [2, 0]]
    >>> vectorizer = ArcVectorizer(min_count=1)
    >>> arcs = vectorizer.fit_transform(X, y)
    >>> arcs[0]["arcs"].tolist()
    [[0, 1], [2, 1], [0, 2], [1, 2]]
    >>> model = DependencySSVM(random_state=0).fit(arcs, y)
    >>> model.predict(vectorizer.transform([[("Birds", "NOUN"), ("sing", "VERB")]]))[0]
    array([2, 0])
    """

    _fitted_state = FittedState(
        {
            "_words": Labels(size="W", strings=True),
            "_tags": Labels(size="T", strings=True),
            "_seen": Array(dtype=bool, shape=("T", "T", 2)),
            # Numbers of columns per template, the latter 0 without label features.
            "_buckets": Number(whole=True, least=1, most=MAX_BUCKETS),
            "_label_buckets": Number(whole=True, least=0, most=MAX_BUCKETS),
        }
    )

    def __init__(
        self,
        *,
        n_buckets: int = 65536,
        labeled: bool = False,
        n_label_buckets: int = 4096,
        min_count: int = 2,
        prune: bool = True,
    ) -> None:
        self.n_buckets = n_buckets
        self.labeled = labeled
        self.n_label_buckets = n_label_buckets
        self.min_count = min_count
        self.prune = prune

    @property
    def words_(self) -> np.ndarray:
        """The known words, sorted."""
        return self._words[len(SPECIAL) :].copy()

    @property
    def tags_(self) -> np.ndarray:
        """The known tags, sorted."""
        return self._tags[len(SPECIAL) :].copy()

    def fit(self, X: Iterable[Any], y: Any = None) -> ArcVectorizer:
        """Learn the words and tags and, from trees, the pairs of tags of candidate arcs.

        Parameters
        ----------
        X : list of sentences, lists of pairs (word, tag) of str
            Sentences.
        y : list of int arrays of heads, or of pairs (heads, labels), default=None
            Their trees, as for :class:`~sstruct.DependencySSVM`. If None, all arcs are candidates.

        Returns
        -------
        self : ArcVectorizer
            The fitted vectorizer.
        """
        check_parameters(self)
        for name in ("n_buckets", "n_label_buckets"):
            check_number(name, getattr(self, name), least=1, below=MAX_BUCKETS + 1, whole=True)
        check_number("min_count", self.min_count, least=1, whole=True)
        for name in ("labeled", "prune"):
            check_choice(name, getattr(self, name), FLAG)
        sentences = _checked(X)
        if not sentences:
            raise ValueError("X is empty, expected at least one sentence")
        words = _vocabulary([word for s in sentences for word, _ in s], self.min_count)
        tags = _vocabulary([tag for s in sentences for _, tag in s], 1)
        seen = np.ones((len(tags), len(tags), 2), dtype=bool)
        if y is not None and self.prune:
            seen[...] = False
            code = {tag: k for k, tag in enumerate(tags.tolist()[len(SPECIAL) :], len(SPECIAL))}
            for heads, sentence in zip(_heads(y, sentences), sentences, strict=True):
                own = np.array([ROOT, *(code[tag] for _, tag in sentence)])
                seen[own[heads], own[1:], (heads > np.arange(1, len(own))).astype(int)] = True
        self._publish(
            {
                "_words": words,
                "_tags": tags,
                "_seen": seen,
                "_buckets": int(self.n_buckets),
                "_label_buckets": int(self.n_label_buckets) if self.labeled else 0,
            }
        )
        return self

    @reads_one_fit
    def transform(self, X: Iterable[Any]) -> list[dict[str, Any]]:
        """Convert sentences to samples of :class:`~sstruct.DependencySSVM`.

        Parameters
        ----------
        X : list of sentences, lists of pairs (word, tag) of str
            Sentences.

        Returns
        -------
        list of dicts
            For each sentence, the candidate ``arcs``, an int array of pairs (head, dependent), and
            their ``features`` and, with ``labeled=True``, ``label_features``, CSR arrays of ones in
            float32.
        """
        sentences, out = _checked(X), []
        coded = [
            {name: k for k, name in enumerate(names.tolist()) if k >= len(SPECIAL)}
            for names in (self._words, self._tags)
        ]
        first = 0
        while first < len(sentences):
            last, n_arcs = first, 0
            while last < len(sentences) and (n_arcs == 0 or n_arcs < AT_ONCE):
                n_arcs += len(sentences[last]) ** 2
                last += 1
            out += self._samples(sentences[first:last], coded)
            first = last
        return out

    def _samples(self, sentences, coded):
        """Return the samples of some sentences."""
        tokens = _Tokens(sentences, coded)
        head, dependent = tokens.arcs(self._seen)
        attributes = tokens.attributes(head, dependent)
        parts = {"features": (TEMPLATES, self._buckets, tokens.between(head, dependent))}
        if self._label_buckets:
            parts["label_features"] = LABEL_TEMPLATES, self._label_buckets, None
        rows = {key: _hashed(attributes, *given) for key, given in parts.items()}
        offsets, out = tokens.offsets, []
        ends = np.searchsorted(dependent, offsets)
        for i in range(len(sentences)):
            a, b = ends[i], ends[i + 1]
            sample = {key: _rows(*table, a, b) for key, table in rows.items()}
            sample["arcs"] = np.column_stack([head[a:b], dependent[a:b]]) - offsets[i]
            out.append(sample)
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Tokens:
    """The tokens of some sentences, each preceded by a root, as codes of words and tags."""

    def __init__(self, sentences, coded):
        words, tags = coded
        self.offsets = np.cumsum([0, *(len(s) + 1 for s in sentences)])
        size = self.offsets[-1]
        self.word, self.tag = np.full((2, size), ROOT)
        inner = np.ones(size, dtype=bool)
        inner[self.offsets[:-1]] = False
        pairs = [pair for s in sentences for pair in s]
        self.word[inner] = [words.get(word, UNKNOWN) for word, _ in pairs]
        self.tag[inner] = [tags.get(tag, UNKNOWN) for _, tag in pairs]
        # Tags of neighbors in the same sentence; the neighbor before the first token is the root.
        self.before, self.after = np.full((2, size), OUTSIDE)
        self.before[1:], self.after[:-1] = self.tag[:-1], self.tag[1:]
        self.before[self.offsets[:-1]] = self.after[self.offsets[1:] - 1] = OUTSIDE
        self.after[self.offsets[:-1]] = OUTSIDE

    def arcs(self, seen):
        """Return the head and the dependent of all candidates, in order of dependents and heads."""
        sizes = np.diff(self.offsets)
        # Each token, with each head.
        token = np.concatenate([np.arange(a + 1, b) for a, b in pairwise(self.offsets)])
        n_heads = np.repeat(sizes, sizes - 1)
        dependent = np.repeat(token, n_heads)
        root = np.repeat(np.repeat(self.offsets[:-1], sizes - 1), n_heads)
        head = root + np.arange(len(dependent)) - np.repeat(np.cumsum(n_heads) - n_heads, n_heads)
        kept = seen[self.tag[head], self.tag[dependent], (head > dependent).astype(int)]
        kept |= (head == root) | (abs(head - dependent) == 1)
        # Tags that did not occur in training give no reason to leave out an arc.
        kept |= (self.tag[head] == UNKNOWN) | (self.tag[dependent] == UNKNOWN)
        kept &= head != dependent
        return head[kept], dependent[kept]

    def attributes(self, head, dependent):
        """Return the code of each attribute of arcs, by its character in templates."""
        place = np.searchsorted(DISTANCES, abs(head - dependent), side="right")
        place = np.where(self.tag[head] == ROOT, 0, place + (head > dependent) * len(DISTANCES))
        tables = {"H": self.word, "h": self.tag, "a": self.before, "b": self.after}
        out = {key: table[head] for key, table in tables.items()}
        tables = {"D": self.word, "d": self.tag, "x": self.before, "y": self.after}
        out |= {key: table[dependent] for key, table in tables.items()}
        return {key: codes.astype(np.uint64) for key, codes in (out | {"+": place}).items()}

    def between(self, head, dependent):
        """Return arcs and tags, for each tag that occurs between the ends of an arc."""
        counts = np.zeros((len(self.tag) + 1, self.tag.max() + 1), dtype=np.int32)
        counts[np.arange(1, len(counts)), self.tag] = 1
        counts = np.cumsum(counts, axis=0, dtype=np.int32)
        low, high = np.minimum(head, dependent), np.maximum(head, dependent)
        return np.nonzero(counts[high] > counts[low + 1])


def _hash(codes, seed):
    """Return hashes of 31 bits, as uint64, of rows of codes: a list of columns of uint64."""
    out = np.full(len(codes[0]), seed, dtype=np.uint64)
    for column in codes:
        # The constants of splitmix64.
        out = (out ^ column) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(31)
    return (out * np.uint64(0x94D049BB133111EB)) >> np.uint64(33)


def _hashed(attributes, templates, n_buckets, between):
    """Return column indices and row pointers of the features of arcs, and the number of columns."""
    n, T = len(attributes["d"]), len(templates)
    size = np.uint64(n_buckets)
    columns = np.empty((n, T), dtype=np.int32)
    for k, template in enumerate(templates):
        codes = [attributes[key] for key in template]
        columns[:, k] = (_hash(codes, k) % size).astype(np.int32) + k * n_buckets
    if between is None:
        return columns.ravel(), np.arange(n + 1, dtype=np.int32) * T, T * n_buckets
    arc, tag = between
    codes = [attributes["h"][arc], tag.astype(np.uint64), attributes["d"][arc]]
    # Different tags may have the same bucket. Buckets of an arc are sorted.
    codes.append((attributes["+"][arc] > len(DISTANCES)).astype(np.uint64))
    places = np.sort(arc * n_buckets + (_hash(codes, T) % size).astype(np.int64))
    places = places[np.append(True, places[1:] != places[:-1])] if len(places) else places
    arc, bucket = np.divmod(places, n_buckets)
    counts = np.bincount(arc, minlength=n)
    indptr = np.append(0, np.cumsum(T + counts))
    out = np.empty(indptr[-1], dtype=np.int32)
    is_between = np.zeros(len(out), dtype=bool)
    is_between[indptr[arc] + T + np.arange(len(arc)) - (np.cumsum(counts) - counts)[arc]] = True
    out[is_between], out[~is_between] = bucket + T * n_buckets, columns.ravel()
    return out, indptr, (T + 1) * n_buckets


def _rows(columns, indptr, n_columns, first, last):
    """Return some rows of ones as a CSR array."""
    begin, end = indptr[first], indptr[last]
    pointers = (indptr[first : last + 1] - begin).astype(np.int32)
    ones = np.ones(end - begin, dtype=np.float32)
    rows = csr_array_of(ones, columns[begin:end].copy(), pointers, (last - first, n_columns))
    rows.has_canonical_format = True
    return rows


def _vocabulary(names, min_count):
    """Return the special names, and the sorted names with enough occurrences."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return object_array([*SPECIAL, *sorted(k for k, n in counts.items() if n >= min_count)])


def _checked(X):
    """Return sentences as lists of pairs of str."""
    out = []
    for i, sentence in enumerate(listed(items_of(X), "X", "a list of sentences")):
        tokens = []
        for t, token in enumerate(listed(items_of(sentence), f"X[{i}]", "a list of tokens")):
            # Not the keys of a dict, nor a set, which has no order.
            is_pair = is_sized(token) and not isinstance(token, str | bytes | Mapping | Set)
            pair = list(token) if is_pair else []
            if len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                raise TypeError(
                    f"X[{i}][{t}] must be a pair (word, tag) of str, found {shortened(token)}"
                )
            tokens.append((str(pair[0]), str(pair[1])))
        out.append(tokens)
    return out


def _heads(y, sentences: Sequence[Any]):
    """Return the heads of each sentence."""
    trees = listed(items_of(y), "y", "a list of trees")
    if len(trees) != len(sentences):
        raise ValueError(f"X has {len(sentences)} samples but y has {len(trees)}")
    return [
        tree_of(f"y[{i}]", heads_of(items_of(tree)), len(sentence), False)[0]
        for i, (tree, sentence) in enumerate(zip(trees, sentences, strict=True))
    ]
