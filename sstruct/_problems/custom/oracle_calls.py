"""Calls of a user's oracle, with read-only arguments and validated results."""

import numbers
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from threading import get_ident
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import LARGEST, contiguous, first_beyond
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.parameters import is_real
from sstruct._checks.shown import shortened
from sstruct._problems.custom._plane_table import dense_difference, sparse_difference

METHODS = ("joint_feature", "loss", "argmax")
# Limit of nested containers in digests of samples.
MAX_NESTING = 200
# Smaller errors of bounds may be caused by rounding. Relative to the magnitudes of all terms of
# scores, and of the score and the loss.
BOUND_ROUNDING, BOUND_ERROR = 1e-6, 1e-3
# Methods of which both must be implemented, or neither.
FORMS = ("encode", "decode")


class Constraint(NamedTuple):
    """Constraint of ``constrained_argmax``: h > 0, and loss / h between `lower` and `upper`.

    h = margin - <w, psi>; `above` and `below` are true if `lower` and `upper` are excluded.
    """

    margin: float
    lower: float
    upper: float
    above: bool
    below: bool


def samples_of(values, name):
    """Return samples as a list; the samples themselves are not validated."""
    if sparse.issparse(values):
        check_compressed(values, name)
        values = as_csr(values)
    elif isinstance(values, memoryview):
        values = np.asarray(values)
    shape = getattr(values, "shape", None)
    has_shape = isinstance(shape, tuple) and len(shape) > 0
    strange = isinstance(values, str | bytes | Mapping | Set) or shape == ()
    if (
        strange
        or not hasattr(values, "__getitem__")
        or not (has_shape or hasattr(values, "__len__"))
    ):
        raise TypeError(
            f"{name} must be a list with one item per sample, found {type(values).__name__}"
        )
    if isinstance(values, list | tuple):
        return list(iter(values))  # do not rely on the length of subclasses
    rows = values.iloc if hasattr(values, "iloc") else values
    return [rows[i] for i in range(shape[0] if has_shape else len(values))]


def frozen(w):
    """Return a read-only copy of weights."""
    return np.frombuffer(w.tobytes())


def encoded(oracle, x, y):
    """Return a labeling in the form that the oracle's methods use."""
    return oracle.encode(x, y) if hasattr(oracle, "encode") else y


def decoded(oracle, x, labeling):
    """Return a labeling of the oracle in the form that users pass and receive."""
    return oracle.decode(x, labeling) if hasattr(oracle, "decode") else labeling


def valid_loss(value, what):
    """Return the result of a loss method, named `what` in errors, as a float of at least 0."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not (is_real(value) or isinstance(value, bool | np.bool_)):
        raise TypeError(f"{what} returned {type(value).__name__}, expected a real number")
    loss = float(value)
    if not 0 <= loss <= LARGEST:
        raise ValueError(
            f"{what} returned {loss}, expected a finite number of at least 0 and at most "
            f"{LARGEST:g}"
        )
    return abs(loss)  # without the sign of -0.0, since equal planes have equal bits


def best_labelings(oracle, samples, w, rows, truths=None):
    """Return the labelings with the largest score, plus the loss if true labelings are given.

    rows : indices of the samples in the user's data, for error messages
    """
    labelings = []
    for k, (x, i) in enumerate(zip(samples, rows, strict=True)):
        at = called(oracle, i, "potentials", x, w) if hasattr(oracle, "potentials") else w
        more = {} if truths is None else {"y_true": truths[k]}
        labelings.append(called(oracle, i, "argmax", x, at, **more))
    return labelings


def called(oracle, i, name, *args, **keywords):
    """Call a method for sample i of the user's data; add a note to an exception raised in it."""
    try:
        return getattr(oracle, name)(*args, **keywords)
    except Exception as error:
        error.add_note(f"raised by {name} of the oracle at X[{i}]")
        raise


class OracleCalls:
    """A user's oracle applied to samples.

    Can be pickled with cloudpickle: each worker process has a copy.

    Parameters
    ----------
    oracle : object
        Has the methods ``joint_feature``, ``loss`` and ``argmax``, and may have optional ones.
    X, y : list
        Samples and labelings as users pass them.
    rows : list of int
        Indices of the samples in the user's data, for error messages.
    form : tuple of (int, bool), optional
        `n_weights` and `sparse`, if another partition of the samples has determined them.

    Attributes
    ----------
    y : list
        True labelings in the form that the oracle uses.
    n_weights : int
    sparse : bool
        Whether features are stored as index and value: True if the first ones were a sparse vector.
    truths : list
        Features of the true labelings, as returned by ``features``.
    digests : list of bytes
        Digest of each sample, to detect changes.
    constrained, bounded : bool
        Whether the oracle has ``constrained_argmax`` and ``bounded_argmax``.
    n_threads : int
        Number of threads that may usefully call ``ask`` at the same time.
    """

    n_threads = 1

    def __init__(self, oracle, X, y, rows, form=(None, False)):
        self.oracle, self.X, self.y, self.rows = oracle, X, y, rows
        self.n_weights, self.sparse = form
        self.checked = bytearray(len(X))
        # Last potentials of each thread, with their block and weights.
        self.known = {}
        self._take_digests()
        if hasattr(oracle, "encode"):
            self.y = [self._encoded(i) for i in range(len(X))]
            self._take_digests()
        self.truths = [self._truth(i) for i in range(len(X))]

    def __len__(self):
        return len(self.X)

    @property
    def constrained(self):
        return hasattr(self.oracle, "constrained_argmax")

    @property
    def bounded(self):
        return hasattr(self.oracle, "bounded_argmax")

    @property
    def truth_digests(self):
        """Digests of the features of each true labeling."""
        return [digest(features) for features in self.truths]

    def _take_digests(self):
        self.digests = [digest((x, y)) for x, y in zip(self.X, self.y, strict=True)]

    def _encoded(self, i):
        """Return the true labeling in the oracle's form, after checking the round trip."""
        truth = self._call(i, "encode", self.X[i], self.y[i])
        if truth is None:
            raise TypeError(f"{self._at(i, 'encode')} returned None, expected a labeling")
        again = self._call(i, "encode", self.X[i], self._call(i, "decode", self.X[i], truth))
        loss = self._loss_between(i, truth, again)
        if loss != 0:
            raise ValueError(
                f"{self._at(i, 'encode')} of the decoded true labeling has loss "
                f"{loss:g}, expected 0"
            )
        self.check_unchanged(i)
        return truth

    def _truth(self, i):
        """Return the features of the true labeling, after checking them and its loss."""
        truth = self.y[i]
        features = self.features(i, truth)
        again = self.features(i, truth)
        pairs = zip(features, again) if self.sparse else [(features, again)]
        if not all(np.array_equal(a, b) for a, b in pairs):
            raise ValueError(
                f"{self._at(i, 'joint_feature')} returned different vectors for the same labeling"
            )
        loss = self.loss(i, truth)
        if loss != 0:
            raise ValueError(
                f"{self._at(i, 'loss')} returned {loss:g} for the true labeling, expected 0"
            )
        self.check_unchanged(i)
        return features

    def _at(self, i, name):
        return f"X[{self.rows[i]}]: {name}"

    def _call(self, i, name, *args, **keywords):
        return called(self.oracle, self.rows[i], name, *args, **keywords)

    def features(self, i, labeling):
        """Return phi(x_i, y) as an array or, if stored sparsely, as index and value."""
        vector = self._call(i, "joint_feature", self.X[i], labeling)
        is_sparse = sparse.issparse(vector)
        if is_sparse:
            check_compressed(vector, f"{self._at(i, 'joint_feature')} result", ndims=(1, 2))
        else:
            try:
                vector = np.asarray(vector)
            except ValueError:
                raise TypeError(
                    f"{self._at(i, 'joint_feature')} returned {shortened(vector)}, expected a "
                    "vector"
                ) from None
        shape = vector.shape
        if self.n_weights is None:
            if len(shape) == 0 or shape[-1] == 0 or shape[:-1] not in ((), (1,) * is_sparse):
                raise ValueError(
                    f"{self._at(i, 'joint_feature')} returned shape {shape}, expected (d,), or a "
                    "sparse (1, d)"
                )
            self.n_weights, self.sparse = int(shape[-1]), is_sparse
        d = self.n_weights
        if shape != (d,) and not (is_sparse and shape == (1, d)):
            raise ValueError(
                f"{self._at(i, 'joint_feature')} returned shape {shape}, expected ({d},)"
            )
        if vector.dtype.kind not in "biuf":
            raise TypeError(
                f"{self._at(i, 'joint_feature')} returned dtype {vector.dtype}, expected real "
                "numbers"
            )
        if is_sparse:
            index, value = _entries(vector)
            index = index.astype(np.int32)
        else:
            # A copy, because an oracle may reuse its array.
            value = np.array(vector, dtype=np.float64)
        wrong = first_beyond(value)
        if wrong is not None:
            at = wrong[0]
            raise ValueError(
                f"{self._at(i, 'joint_feature')} returned {value[at]} at entry "
                f"{index[at] if is_sparse else at}, expected finite numbers with magnitudes of at "
                f"most {LARGEST:g}"
            )
        if is_sparse == self.sparse:
            return (index, value) if is_sparse else value
        if is_sparse:
            dense = np.zeros(d)
            dense[index] = value
            return dense
        index = np.flatnonzero(value)
        return index.astype(np.int32), value[index]

    def loss(self, i, labeling):
        """Return L_i(y)."""
        return self._loss_between(i, self.y[i], labeling)

    def _loss_between(self, i, truth, labeling):
        return valid_loss(self._call(i, "loss", truth, labeling), self._at(i, "loss"))

    def ask(self, i, w, loss_weight, constraint=None):
        """Return the plane of the labeling that the max-oracle returns.

        Parameters
        ----------
        i : int
        w : ndarray
            Read-only, as returned by `frozen`.
        loss_weight : float
        constraint : Constraint, optional
            If given, call the constrained oracle, whose labeling must satisfy the constraint.

        Returns
        -------
        tuple or None
            Index, values and loss of the plane, and the excess: the difference between an upper
            bound of the value of any labeling and the value of this one, 0 for an exact oracle.
            Index None means that the plane is dense; None that no labeling satisfies the
            constraint.
        """
        x, y, scores, bound = self.X[i], self.y[i], self.potentials(i, w), None
        if constraint is None:
            name = "bounded_argmax" if self.bounded else "argmax"
            labeling = self._call(i, name, x, scores, y_true=y, loss_weight=loss_weight)
            if self.bounded:
                labeling, bound = self._labeling_and_bound(i, labeling)
        else:
            name = "constrained_argmax"
            labeling = self._call(
                i, name, x, scores, y, loss_weight=loss_weight, **constraint._asdict()
            )
            if labeling is None:
                return None
        if labeling is None:
            raise TypeError(f"{self._at(i, name)} returned None, expected a labeling")
        features, loss = self.features(i, labeling), self.loss(i, labeling)
        if not self.checked[i]:
            self.check_unchanged(i)
            self.checked[i] = True
        excess = 0.0
        if bound is not None:
            index, value = features if self.sparse else (slice(None), features)
            excess = bound - float(w[index] @ value) - loss_weight * loss
            if excess < 0 < loss:
                self._check_bound(i, w, features, loss_weight * loss, bound)
            excess = max(0.0, excess)
        if self.sparse:
            return *sparse_difference(*self.truths[i], *features), loss, excess
        return *dense_difference(self.truths[i], features), loss, excess

    def _labeling_and_bound(self, i, result):
        """Return the two results of ``bounded_argmax``, validated."""
        if not isinstance(result, tuple) or len(result) != 2 or not is_real(result[1]):
            raise TypeError(
                f"{self._at(i, 'bounded_argmax')} must return a labeling and a number, a bound; "
                f"found {shortened(result)}"
            )
        labeling, bound = result
        if not abs(bound) <= LARGEST:
            raise ValueError(
                f"{self._at(i, 'bounded_argmax')} returned the bound {bound}, expected a finite "
                f"number with a magnitude of at most {LARGEST:g}"
            )
        return labeling, float(bound)

    def _check_bound(self, i, w, features, weighted_loss, bound):
        """Raise ValueError for a bound below the value of its own labeling, except for rounding."""
        scores, terms = [], 0.0
        for vector in (features, self.truths[i]):
            index, value = vector if self.sparse else (slice(None), vector)
            products = w[index] * value
            scores.append(products.sum())
            terms += np.abs(products).sum()
        value = scores[0] + weighted_loss
        tolerance = max(BOUND_ROUNDING * terms, BOUND_ERROR * (abs(scores[0]) + weighted_loss))
        if bound < value - tolerance:
            raise ValueError(
                f"{self._at(i, 'bounded_argmax')} returned the bound {bound:g}, below {value:g}, "
                "the score plus loss of its labeling. The bound must be at least the inner product "
                "of w and joint_feature, plus loss_weight * loss, of any labeling"
            )

    def potentials(self, i, w):
        """Return the argument of the oracle's searches: its potentials, or w by default."""
        if not hasattr(self.oracle, "potentials"):
            return w
        thread = get_ident()
        block, weights, potentials = self.known.get(thread, (None, None, None))
        if block != i or not (weights is w or np.array_equal(weights, w)):
            potentials = self._call(i, "potentials", self.X[i], w)
            if potentials is None:
                raise TypeError(f"{self._at(i, 'potentials')} returned None, expected potentials")
            _freeze(potentials)
            self.known[thread] = i, w, potentials
        return potentials

    def check_all_unchanged(self):
        """Raise an error if any sample has changed."""
        for i in range(len(self)):
            self.check_unchanged(i)

    def check_unchanged(self, i):
        """Raise an error if a sample has changed since the first call."""
        if digest((self.X[i], self.y[i])) != self.digests[i]:
            raise ValueError(
                f"X[{self.rows[i]}]: the oracle has changed the sample or its labeling"
            )

    def wrong_value(self, i, value):
        """Return the error for an answer that is worse than the true labeling."""
        name = "bounded_argmax" if self.bounded else "argmax"
        return ValueError(
            f"{self._at(i, name)} returned a labeling whose score plus loss is {-value:g} "
            f"below the true labeling's score. {name} must maximize the inner product of w and "
            "joint_feature, plus loss_weight * loss; an inexact oracle must compare its answer "
            "with y_true"
        )

    def outside(self, i, loss, h, constraint):
        """Return the error for a constrained answer that violates the constraint."""
        return ValueError(
            f"{self._at(i, 'constrained_argmax')} returned a labeling of loss {loss:g} and "
            f"h = {h:g}, expected h > 0 and loss / h from {constraint.lower:g} to "
            f"{constraint.upper:g}"
        )


def _freeze(potentials):
    """Make arrays read-only, since they are used for several calls."""
    for one in potentials if isinstance(potentials, list | tuple) else [potentials]:
        if isinstance(one, np.ndarray):
            one.setflags(write=False)


def _entries(vector):
    """Return index, ascending without duplicates, and value of a sparse vector, as copies."""
    vector = vector if vector.format == "csr" and vector.ndim == 2 else vector.tocoo()
    if vector.format == "csr":
        if not vector.has_canonical_format:
            vector = vector.copy()
            vector.sum_duplicates()
        index, value = vector.indices, vector.data
    else:
        index, place = np.unique(vector.col, return_inverse=True)
        value = np.bincount(place, weights=vector.data, minlength=len(index))
    return np.array(index), np.array(value, dtype=np.float64)


def public(oracle):
    """Return the public attributes of an oracle, without private ones such as caches."""
    attributes = getattr(oracle, "__dict__", {})
    return {name: attributes[name] for name in sorted(attributes) if not name.startswith("_")}


def digest(value):
    """Return a digest of arrays, numbers, strings, containers and dataclasses.

    For other objects, only the name of the type is used.
    """
    state = blake2b(digest_size=8)
    _feed(state, value)
    return state.digest()


def _feed(state, value, above=()):
    """Add a value to a digest; `above` has the ids of the containers that contain it."""
    if id(value) in above or len(above) == MAX_NESTING:
        state.update(b"...")
        return
    within = (*above, id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        state.update(repr((value.shape, value.dtype.str)).encode())
        value = contiguous(value)
        if value.dtype.kind in "biufc" and value.size:
            state.update(memoryview(value.reshape(-1)).cast("B"))
        else:
            state.update(value.tobytes())
    elif isinstance(value, np.ndarray):
        state.update(f"array {value.shape}".encode())
        for item in value.ravel():
            _feed(state, item, within)
    elif is_dataclass(value) and not isinstance(value, type):
        state.update(type(value).__qualname__.encode())
        for each in fields(value):
            _feed(state, getattr(value, each.name), within)
    elif isinstance(value, list | tuple):
        state.update(f"{type(value).__name__} {len(value)}".encode())
        for item in value:
            _feed(state, item, within)
    elif isinstance(value, dict):
        state.update(f"dict {len(value)}".encode())
        for key, item in value.items():
            _feed(state, key, within)
            _feed(state, item, within)
    elif isinstance(value, set | frozenset):
        state.update(repr(sorted(map(digest, value))).encode())
    elif sparse.issparse(value):
        state.update(f"{value.format} {value.shape}".encode())
        for name in ("data", "indices", "indptr", "row", "col", "offsets"):
            if isinstance(getattr(value, name, None), np.ndarray):
                _feed(state, getattr(value, name))
    elif isinstance(value, str | bytes | numbers.Number | np.generic | None):
        state.update(f"{value!r};".encode())
    else:
        state.update(type(value).__qualname__.encode())
