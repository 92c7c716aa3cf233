"""Corrupt stored containers, transformers, paths and models."""

import functools
import warnings

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM, PathCV, Sequences, inference, ssvm_path
from sstruct.path import CompactRows
from sstruct.preprocessing import ArcVectorizer, PerNode, SequenceVectorizer
from tests.hostile.case import REJECTED

RNG = np.random.default_rng(0)
X = [RNG.standard_normal((L, 2)) for L in (1, 3, 2, 4)]
Y = [RNG.integers(0, 2, len(x)) for x in X]
WORDS = [[{"a": 1.0, "b": "c"}], [{"b": "d"}, {"a": 2.0}]]
TAGGED = [[("a", "N"), ("b", "V")], [("c", "V")]]
ROWS = np.vstack(X)


def _sequences():
    names = ["one", "two"]
    flat = Sequences.from_list(X).flat
    offsets = Sequences.from_list(X).offsets
    return [
        Sequences(flat, offsets, feature_names=names),
        Sequences(sparse.csr_matrix(flat), offsets),
        Sequences(flat, offsets),
        Sequences(flat, offsets, edge_features=RNG.standard_normal((6, 2))),
    ]


def _paths():
    return [ssvm_path(ChainSSVM(random_state=0), X, Y, eps=0.3)]


def _searches():
    return [PathCV(ChainSSVM(random_state=0), eps=0.5, cv=2).fit(X, Y)]


def _rows():
    rows = CompactRows()
    for k in range(3):
        rows.append(np.arange(100.0) + (np.arange(100) == k))
    return [rows]


def _models():
    ring = [[0, 1], [1, 2], [2, 3], [3, 0]]
    costs = RNG.random((4, 3))
    factor = ([0, 1, 2], RNG.random((3, 3, 3)))
    mixed = [[0.0, 1.0], [0.5, 0.0, 1.0], [1.0]]
    return [
        inference.MRF(costs, ring, 0.2 * (1 - np.eye(3))),
        inference.MRF(costs, ring, RNG.random((4, 3, 3)), factors=[factor]),
        inference.MRF(mixed, [[0, 1], [1, 2]], [RNG.random((2, 3)), RNG.random((3, 1))]),
    ]


KINDS = {
    "Sequences": (
        _sequences,
        {
            "fit": lambda it: ChainSSVM(max_iter=2, random_state=0).fit(it, Y),
            "predict": lambda it: _chain().predict(it),
            "slice": lambda it: it[1:3],
            "selection": lambda it: it[[0, -1]] if len(it) else None,
            "items": lambda it: [*it, it.lengths, repr(it), it.shape],
        },
    ),
    "PerNode": (
        lambda: [PerNode(StandardScaler()).fit(X), PerNode(StandardScaler())],
        {
            # Errors of transformers of other libraries are not findings.
            "transform": lambda it: it.transform(X) if _of_sklearn(it) else None,
            "fit": lambda it: it.fit(X),
            "names": lambda it: getattr(it, "get_feature_names_out", list)(),
        },
    ),
    "SequenceVectorizer": (
        lambda: [SequenceVectorizer().fit(WORDS), SequenceVectorizer()],
        {
            "transform": lambda it: it.transform(WORDS),
            "fit_transform": lambda it: it.fit_transform(WORDS),
            "names": lambda it: it.get_feature_names_out(),
        },
    ),
    "ArcVectorizer": (
        lambda: [ArcVectorizer(n_buckets=8, labeled=True).fit(TAGGED), ArcVectorizer()],
        {
            "transform": lambda it: it.transform(TAGGED),
            "fit_transform": lambda it: it.fit_transform(TAGGED, [[2, 0], [0]]),
        },
    ),
    "PathCV": (
        _searches,
        {
            # Without a best estimator it has no such method.
            "predict": lambda it: it.predict(X) if hasattr(it, "predict") else None,
            # Errors of scorers of other libraries or users are not findings.
            "score": lambda it: it.score(X, Y) if _scored_by_sklearn(it) else None,
            "split_scores": lambda it: it.split_scores(0.1),
            "classes_": lambda it: it.classes_,
        },
    ),
    "RegularizationPath": (
        _paths,
        {
            "predict": lambda it: it.predict(X, 0.1),
            "w": lambda it: it.w(0.1),
            "gap": lambda it: it.gap(0.1),
            "estimator": lambda it: it.estimator(0.01).score(X, Y),
        },
    ),
    "CompactRows": (
        _rows,
        {
            "items": lambda it: [it[k] for k in range(len(it))],
            "append": lambda it: it.append(np.arange(100.0)),
            "width": lambda it: (it.width, it.nbytes),
        },
    ),
    "MRF": (
        _models,
        {
            **{
                method: lambda it, method=method: inference.map_mrf(it, method, max_iter=3)
                for method in ("auto", "fwmap", "trws", "bp", "icm", "exact")
            },
            "energy": lambda it: it.energy(np.zeros(it.n_nodes, dtype=int)),
            "repr": repr,
        },
    ),
}


def _scored_by_sklearn(search):
    scorer = getattr(search, "scorer_", None)
    return scorer is None or type(scorer).__module__.startswith("sklearn.")


def _of_sklearn(per_node):
    return isinstance(getattr(per_node, "transformer_", None), StandardScaler | None)


@functools.cache
def _chain():
    return ChainSSVM(max_iter=2, random_state=0).fit(X, Y)


@functools.cache
def _made(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[name][0]()


def attack(case):
    """Load a tampered object, or one without a state, and use it."""
    name = case.random.choice(list(KINDS))
    valid = case.random.choice(_made(name))
    uses = KINDS[name][1]
    case.log.append(name)
    loaded = _loaded(case, valid)
    if loaded is REJECTED:
        return
    for use in case.random.sample(list(uses), 2):
        case.attempt(use, uses[use], loaded)


def _loaded(case, valid):
    out = type(valid).__new__(type(valid))
    if case.random.random() < 0.02:
        case.log.append("no state")
        return out
    state = _damaged_state(case, valid.__getstate__())
    return REJECTED if case.attempt("__setstate__", out.__setstate__, state) is REJECTED else out


def _damaged_state(case, state):
    if case.random.random() < 0.02:
        return case.damaged("state", state)
    parts = list(state) if isinstance(state, tuple) else dict(state)
    for _ in range(case.random.randint(1, 2)):
        places = range(len(parts)) if isinstance(parts, list) else list(parts)
        place = case.random.choice(places)
        if isinstance(parts, dict) and case.random.random() < 0.05:
            del parts[place]
            case.log.append(f"without {place}")
        else:
            parts[place] = _damaged_part(case, place, parts[place])
        if not parts:
            break
    return tuple(parts) if isinstance(parts, list) else parts


def _damaged_part(case, name, value):
    """Damage a value; in small arrays of numbers, usually one entry."""
    if type(value) is np.ndarray and value.size and value.dtype.kind in "iuf":
        if case.random.random() < 0.6:
            out = value.copy()
            number = case.random.choice((0, 1, -1, 2, 3, 4, 2**27, 2**31 - 1, 2**62, 1e300, np.nan))
            at = case.random.randrange(out.size)
            with np.errstate(all="ignore"):
                out.flat[at] = np.array(number).astype(out.dtype)
            case.log.append(f"{name}[{at}] = {out.flat[at]}")
            return out
    return case.damaged(str(name), value)
