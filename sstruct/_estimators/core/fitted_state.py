"""Declare and validate the fitted attributes of estimators, which may come from a file."""

import math
import operator
import reprlib
import sys
import weakref
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property, partial, wraps
from inspect import signature
from typing import ClassVar, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.arrays import is_sized
from sstruct._checks.listing import ListedType
from sstruct._compat.documentation import DocumentationLink
from sstruct._input.packed_state import pack_state, unpack_state
from sstruct._problems.core.weight_layout import WeightLayout

# Design: compiled code uses fitted attributes as indices, so they are validated like X. A class
# declares them as a FittedState of fields and rules. One function validates them when an object is
# unpickled or loaded, and before use if an attribute was replaced since the last validation. The
# record of validated attributes is kept outside of the objects, so that a file cannot contain it.

P = ParamSpec("P")
R = TypeVar("R")


class Unexpected(Exception):
    """An invalid part of a state: its name, the value found, and the value expected."""

    def __init__(self, name, found, expected):
        super().__init__(f"{name} is {found}, expected {expected}")


def raise_unexpected(name, value, expected):
    """Raise Unexpected for a part of a state, with a description of its value."""
    raise Unexpected(name, described(value), expected)


def described(value):
    """Describe any value in a few words."""
    if isinstance(value, np.ndarray):
        return f"a {type(value).__name__} of shape {value.shape} and dtype {value.dtype}"
    try:
        return f"{reprlib.repr(value)}, of type {type(value).__name__}"
    except Exception:  # the repr of an object from a file may raise
        return f"of type {type(value).__name__}"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One part of a state; subclasses define its valid values in ``check``.

    Attributes
    ----------
    optional : bool
        Whether it may be missing, or None.
    """

    optional: bool = False

    def check_item(self, parts, name, sizes, prefix=""):
        """Validate one item of a dict.

        sizes : dict with the values of letters in shapes
        """
        if parts.get(name) is not None:
            self.check(parts[name], f"{prefix}{name}", sizes)
        elif not self.optional:
            raise Unexpected(f"{prefix}{name}", "missing", self.expected())

    def expected(self):
        """Describe the valid values."""

    def check(self, value, name, sizes):
        """Raise Unexpected if a value is invalid; add the sizes that it defines to `sizes`."""


@dataclass(frozen=True, kw_only=True)
class Number(Field):
    """A number, or an integer if `whole`.

    size : the letter in shapes whose value is this number, or None
    """

    whole: bool = False
    least: float = -math.inf
    most: float = math.inf
    positive: bool = False
    any_float: bool = False  # NaN and infinities too
    size: str | None = None

    def expected(self):
        kind = "an integer" if self.whole else "a number"
        bounds = f" from {self.least:g} to {self.most:g}"
        return kind + (" above 0" if self.positive else "" if self.any_float else bounds)

    def check(self, value, name, sizes):
        # Only types that fits set: a Fraction can be compared, but not formatted in a message.
        kinds = int | np.integer if self.whole else int | float | np.integer | np.floating
        is_valid = isinstance(value, kinds) and not isinstance(value, bool)
        if is_valid and not self.any_float:
            # Unless `whole`, integers that do not fit a double, such as 10**400, are invalid.
            largest = math.inf if self.whole else sys.float_info.max
            is_valid = self.least <= value <= self.most and abs(value) <= largest
            is_valid = is_valid and (value > 0 or not self.positive)
        if not is_valid:
            raise_unexpected(name, value, self.expected())
        if self.size is not None:
            sizes[self.size] = int(value)


@dataclass(frozen=True, kw_only=True)
class Flag(Field):
    """True or False, but not 1, since flags are used in products."""

    def expected(self):
        return "True or False"

    def check(self, value, name, sizes):
        if not isinstance(value, bool | np.bool_):
            raise_unexpected(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A string; one of `choices`, if there are any."""

    choices: tuple = ()

    def expected(self):
        return f"one of {self.choices}" if self.choices else "a string"

    def check(self, value, name, sizes):
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise_unexpected(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Array(Field):
    """A contiguous array of finite numbers within bounds.

    Attributes
    ----------
    dtype : type
    shape : tuple of int and str
        A letter stands for a size, defined by the first array, or Number, that contains it. None
        matches any size.
    least, most : float
    """

    dtype: type
    shape: tuple
    least: float = -math.inf
    most: float = math.inf
    any_float: bool = False  # NaN and infinities too

    def expected(self):
        shape = ", ".join(map(str, self.shape))
        return f"a contiguous {np.dtype(self.dtype)} array of shape ({shape})"

    def check(self, value, name, sizes):
        check_array(value, name, self.expected())
        if value.dtype != self.dtype or not value.flags.c_contiguous:
            raise_unexpected(name, value, self.expected())
        check_shape(value, name, self.shape, sizes)
        if value.size == 0 or value.dtype == bool or self.any_float:
            return
        lowest, highest = value.min(), value.max()  # NaN if any entry is
        finite = abs(lowest) < math.inf and abs(highest) < math.inf
        if not (finite and self.least <= lowest and highest <= self.most):
            found = f"an array of numbers from {lowest:g} to {highest:g}"
            raise Unexpected(name, found, f"finite numbers from {self.least:g} to {self.most:g}")


@dataclass(frozen=True, kw_only=True)
class Labels(Field):
    """A 1-D array of distinct labels or, if `strings`, of str; its length defines a size."""

    size: str
    strings: bool = False

    def expected(self):
        kind = "strings" if self.strings else "hashable labels"
        return f"a 1-D array of {kind}{'' if self.strings else ' without duplicates'}"

    def check(self, value, name, sizes):
        check_array(value, name, self.expected())
        known = value.dtype.kind in "iubfUSO" and value.dtype.itemsize > 0
        if value.ndim != 1 or len(value) == 0 or not known:
            raise_unexpected(name, value, self.expected())
        check_shape(value, name, (self.size,), sizes)
        labels = value.tolist()
        if self.strings:
            if not all(isinstance(label, str) for label in labels):
                raise_unexpected(name, value, self.expected())
            return
        try:
            distinct = len(set(labels)) == len(labels) and all(label == label for label in labels)
        except Exception:  # comparing objects from files may raise anything
            distinct = False
        if not distinct:
            raise_unexpected(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Each(Field):
    """A tuple with one value for each of the fields `of`."""

    of: tuple

    def expected(self):
        return f"a tuple of {len(self.of)} values"

    def check(self, value, name, sizes):
        if not isinstance(value, tuple) or not is_sized(value) or len(value) != len(self.of):
            raise_unexpected(name, value, self.expected())
        for k, each in enumerate(self.of):
            each.check_item({f"[{k}]": value[k]}, f"[{k}]", sizes, name)


@dataclass(frozen=True, kw_only=True)
class ListOf(Field):
    """A list or a tuple of any length."""

    of: Field
    least: int = 0

    def expected(self):
        return f"a list of at least {self.least} values"

    def check(self, value, name, sizes):
        listed = isinstance(value, list | tuple) and is_sized(value)
        if not listed or len(value) < self.least:
            raise_unexpected(name, value, self.expected())
        for k, item in enumerate(value):
            self.of.check_item({f"[{k}]": item}, f"[{k}]", sizes, name)


@dataclass(frozen=True, kw_only=True)
class DictOf(Field):
    """A dict with some known keys; others are not validated. Sizes that it defines are local."""

    of: dict

    def expected(self):
        return f"a dict with the keys {tuple(self.of)}"

    def check(self, value, name, sizes):
        if not isinstance(value, dict):
            raise_unexpected(name, value, self.expected())
        own = dict(sizes)
        for key, each in self.of.items():
            each.check_item({f"[{key!r}]": value.get(key)}, f"[{key!r}]", own, name)


@dataclass(frozen=True, kw_only=True)
class Columns(Field):
    """A dict of columns: names to 1-D arrays of numbers of equal length."""

    def expected(self):
        return "a dict of 1-D arrays of numbers of equal length"

    def check(self, value, name, sizes):
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise_unexpected(name, value, self.expected())
        rows = {}
        for key, column in value.items():
            check_array(column, f"{name}[{key!r}]", self.expected())
            if column.dtype.kind not in "iuf" or column.dtype.itemsize == 0:
                raise_unexpected(f"{name}[{key!r}]", column, self.expected())
            check_shape(column, f"{name}[{key!r}]", ("rows",), rows)


@dataclass(frozen=True, kw_only=True)
class Of(Field):
    """An object of a type, which validates its own state, or an object with some methods."""

    type: type = object
    methods: tuple = ()

    def expected(self):
        having = f" with {', '.join(self.methods)}" if self.methods else ""
        return ("an object" if self.type is object else f"a {self.type.__name__}") + having

    def check(self, value, name, sizes):
        is_valid = isinstance(value, self.type) and not isinstance(value, type)
        if not is_valid or not all(callable(getattr(value, each, None)) for each in self.methods):
            raise_unexpected(name, value, self.expected())
        if isinstance(value, CheckedState) and value._is_fitted():
            value._check_state()


def check_array(value, name, expected):
    """Raise Unexpected unless a value is an ndarray or a memmap."""
    # Other subclasses are rejected: masked arrays and matrices have other indexing rules.
    if type(value) not in (np.ndarray, np.memmap):
        raise_unexpected(name, value, expected)


def check_shape(value, name, shape, sizes):
    """Raise Unexpected unless an array has a shape; the first use of a letter defines its size."""
    named = ", ".join(f"{part} = {sizes[part]}" if part in sizes else f"{part}" for part in shape)
    is_valid = value.ndim == len(shape) and all(
        part is None or (sizes.setdefault(part, n) if isinstance(part, str) else part) == n
        for part, n in zip(shape, value.shape)
    )
    if not is_valid:
        raise Unexpected(name, f"of shape {value.shape}", f"shape ({named})")


@dataclass(frozen=True)
class FittedState:
    """Declaration of the valid attributes of a fitted estimator.

    Attributes
    ----------
    fields : dict of str to Field
        By attribute, in the order in which they are validated.
    rules : tuple of callables
        ``rule(state)``, called once all fields are valid, raises Unexpected if attributes do not
        agree.
    layout : callable or None
        ``layout(state)`` returns the WeightLayout of ``_w``. None if the object has no weights.
    """

    fields: dict = field(default_factory=dict)
    rules: tuple = ()
    layout: Callable[[dict], WeightLayout] | None = None

    @cached_property
    def compared(self):
        """Names of the attributes that show whether a validated state has changed.

        Objects that validate themselves are excluded: references to them may form a cycle.
        """
        return [name for name, each in self.fields.items() if not isinstance(each, Of)]

    def extended(self, more=None, rules=(), layout=None):
        """Return a copy with additional fields, and additional rules at the end."""
        fields = {**self.fields, **(more or {})}
        return replace(self, fields=fields, rules=self.rules + rules, layout=layout or self.layout)

    def check(self, state, owner):
        """Raise ValueError if a dict of attributes is invalid.

        owner : class name for the error
        """
        try:
            sizes = {}
            for name, each in self.fields.items():
                each.check_item(state, name, sizes)
            for rule in self.rules:
                rule(state)
            if self.layout is not None:
                expected = self.layout(state).size
                if len(state["_w"]) != expected:
                    found = f"an array of {len(state['_w'])} weights"
                    raise Unexpected("_w", found, f"{expected} to match the other attributes")
        except Unexpected as error:
            raise ValueError(
                f"invalid fitted state of {owner}: {error}. It was modified after fit, or its "
                "file is damaged; fit it again, or load an intact file"
            ) from None


# By id: a weak reference to an object, its attributes when it was last validated, and a dict of
# values computed from the attributes. The callbacks of weak references must not be Python
# functions: a Ctrl-C that arrives in one is lost.
_validated = {}


def reads_one_fit(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public method that uses fitted attributes: call it on a validated copy.

    The method, and the methods that it calls, then read the attributes of one fit, even if another
    thread fits the object again meanwhile.
    """

    @wraps(method)
    def read(self, *args, **kwargs):
        return method(self._require_fitted(), *args, **kwargs)

    return read


class CheckedState(DocumentationLink, metaclass=ListedType):
    """Mixin that validates fitted attributes when an object is loaded, and before use.

    A subclass declares ``_fitted_state``, decorates public methods that use fitted attributes with
    ``reads_one_fit``, and calls ``_publish`` at the end of its fit.
    """

    _fitted_state: ClassVar[FittedState] = FittedState()
    # True for the validated copy that a method uses, which no fit modifies.
    _is_snapshot: ClassVar[bool] = False

    def __copy__(self):
        """Return a copy that, unlike a pickle, keeps callbacks and other functions."""
        return self._with(self.__dict__.copy())

    def __deepcopy__(self, memo):
        memo[id(self)] = other = self._with(self.__dict__.copy())
        other.__dict__ = deepcopy(other.__dict__, memo)
        return other

    def _with(self, state):
        """Return a new object of this class that owns a state."""
        state.pop("_is_snapshot", None)
        other = type(self).__new__(type(self))
        other.__dict__ = state
        return other

    def __getstate__(self):
        state = self._snapshot()._stored_state()
        state.pop("_is_snapshot", None)
        return state

    def _stored_state(self):
        """Return the state for pickles and files; called on a copy that no fit modifies."""
        return pack_state(super().__getstate__())

    def __setstate__(self, state):
        try:
            state = self._attributes_of(state)
        except ValueError as error:
            raise ValueError(f"invalid state of {type(self).__name__}: {error}") from None
        check_names(self, state)
        parent = getattr(super(), "__setstate__", None)
        if parent is None:
            self.__dict__.update(state)
        else:
            parent(state)
        if self._is_fitted():
            self._check_state()

    def _attributes_of(self, state):
        """Return the attributes from a state made by ``__getstate__``."""
        return unpack_state(state)

    def _is_fitted(self):
        """Whether any required fitted attribute is set."""
        state = self.__dict__
        for name, each in self._fitted_state.fields.items():
            if name in state and not each.optional:
                return True
        return False

    def __sklearn_is_fitted__(self):
        return self._is_fitted()

    def _snapshot(self):
        """Return a copy that no fit modifies."""
        snapshot = self._with(self.__dict__.copy())  # atomic with respect to other threads
        snapshot._is_snapshot = True
        return snapshot

    def _require_fitted(self):
        """Return a copy that no fit modifies, after validation.

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If fitted attributes are invalid.
        """
        if self._is_snapshot:
            return self
        snapshot = self._snapshot()
        if isinstance(self, BaseEstimator):
            check_parameters(snapshot)  # in a file, the object may have no state
            if not snapshot._is_fitted():
                check_is_fitted(snapshot)
        self._check_state(snapshot.__dict__)
        return snapshot

    def _publish(self, attributes):
        """Replace the fitted attributes, atomically for other threads; None removes one."""
        state = {**self.__dict__, **attributes}
        for name, value in attributes.items():
            if value is None:
                del state[name]
        self.__dict__ = state
        self._forget_state()

    def _check_state(self, state=None):
        """Validate the fitted attributes, unless they are unchanged since the last validation.

        Return a cache for values computed from the attributes, which is empty after a validation.
        """
        state = self.__dict__ if state is None else state
        now = [*map(state.get, self._fitted_state.compared)]
        seen = _validated.get(id(self))
        if seen is not None and seen[0]() is self and all(map(operator.is_, seen[1], now)):
            return seen[2]
        self._fitted_state.check(state, type(self).__name__)
        key, known = id(self), {}
        _validated[key] = weakref.ref(self, partial(_validated.pop, key)), now, known
        return known

    def _forget_state(self):
        """Drop the record of validated attributes after they were replaced."""
        _validated.pop(id(self), None)


def of_format(owner, state, expected):
    """Return a state without its format number; raise ValueError if that is not `expected`."""
    version = state.get("_sstruct_format") if isinstance(state, dict) else None
    if type(version) is not int or version != expected:
        raise ValueError(
            f"this {type(owner).__name__} was pickled in format {reprlib.repr(version)}; this "
            f"version of sstruct reads format {expected}; fit it again, or load it with the "
            "version that pickled it"
        )
    return {name: value for name, value in state.items() if name != "_sstruct_format"}


def check_names(owner, state):
    """Raise an error unless a state is a dict of attributes that hide no class attribute."""
    kind = type(owner)
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise ValueError(
            f"invalid state of {kind.__name__}: found {described(state)}, "
            "expected a dict of attributes by name; the file is damaged"
        )
    own = {*parameter_names(kind), *owner._fitted_state.fields}
    for name in state:
        if name not in own and _is_of_class(kind, name):
            raise ValueError(
                f"invalid state of {kind.__name__}: attribute {name} overrides the attribute of "
                "the class; the file is damaged"
            )
    check_parameters(owner, state)


@cache
def parameter_names(kind):
    """Return the names of the parameters of an estimator class; [] for other classes."""
    if is_dataclass(kind):
        return [each.name for each in fields(kind) if each.init]
    return [*signature(kind).parameters] if issubclass(kind, BaseEstimator) else []


def check_parameters(owner, state=()):
    """Raise ValueError if a parameter is missing both in an object and in its new state."""
    for name in parameter_names(type(owner)):
        if name not in state and not hasattr(owner, name):
            raise ValueError(
                f"invalid state of {type(owner).__name__}: parameter {name} is missing; the file "
                "is damaged"
            )


def _is_of_class(kind, name):
    """Whether a name is defined by a class of this package, scikit-learn or Python itself."""
    for each in kind.__mro__:
        if name in vars(each):
            return each.__module__.partition(".")[0] in ("sstruct", "sklearn", "builtins")
    return False
