"""What fitted estimators are made of, and the one check of it: a model may come from a file."""

import math
import reprlib
import sys
import weakref
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import signature
from typing import ClassVar, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sstruct._checks.arrays import is_sized
from sstruct._input.packed_names import pack_names, unpack_names
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


def refuse(name, value, expected):
    """Raise because a part of a state is not what is expected."""
    raise Unexpected(name, described(value), expected)


def described(value):
    """Say what a value is in a few words, whatever it is."""
    if isinstance(value, np.ndarray):
        return f"a {type(value).__name__} of shape {value.shape} and dtype {value.dtype}"
    try:
        return f"{reprlib.repr(value)}, of type {type(value).__name__}"
    except Exception:  # objects from files may not be able to say
        return f"of type {type(value).__name__}"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A part of a state; subclasses say in ``check`` which values it may have.

    Attributes
    ----------
    optional : bool
        Whether it may be missing, or None.
    """

    optional: bool = False

    def look(self, parts, name, sizes, prefix=""):
        """Check one of the parts of a dict; sizes: what letters in shapes stand for."""
        if parts.get(name) is not None:
            self.check(parts[name], f"{prefix}{name}", sizes)
        elif not self.optional:
            raise Unexpected(f"{prefix}{name}", "missing", self.expected())

    def expected(self):
        """Say which values are expected."""
        return "one"

    def check(self, value, name, sizes):
        """Raise Unexpected unless a value is as expected; take sizes that it gives."""


@dataclass(frozen=True, kw_only=True)
class Number(Field):
    """A number; `whole`: an integer. `size`: the letter that it gives a value."""

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
        # What fits make: a Fraction, say, can be compared, but not written into a message.
        kinds = int | np.integer if self.whole else int | float | np.integer | np.floating
        right = isinstance(value, kinds) and not isinstance(value, bool)
        if right and not self.any_float:
            # As doubles, which 10**400 is not.
            largest = math.inf if self.whole else sys.float_info.max
            right = self.least <= value <= self.most and abs(value) <= largest
            right = right and (value > 0 or not self.positive)
        if not right:
            refuse(name, value, self.expected())
        if self.size is not None:
            sizes[self.size] = int(value)


@dataclass(frozen=True, kw_only=True)
class Flag(Field):
    """True or False; 1 is neither, for flags are multiplied with."""

    def expected(self):
        return "True or False"

    def check(self, value, name, sizes):
        if not isinstance(value, bool | np.bool_):
            refuse(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A string, of those listed if any are."""

    choices: tuple = ()

    def expected(self):
        return f"one of {self.choices}" if self.choices else "a string"

    def check(self, value, name, sizes):
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            refuse(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Array(Field):
    """An array, contiguous and of finite numbers within bounds.

    Attributes
    ----------
    dtype : type
    shape : tuple of int and str
        A letter stands for one size: that of the first array, or Number, that has it. None: any.
    least, most : float
    """

    dtype: type
    shape: tuple | None = None
    least: float = -math.inf
    most: float = math.inf
    any_float: bool = False  # NaN and infinities too

    def expected(self):
        shape = "" if self.shape is None else f" of shape ({', '.join(map(str, self.shape))})"
        return f"a contiguous {np.dtype(self.dtype)} array{shape}"

    def check(self, value, name, sizes):
        check_array(value, name, self.expected())
        if value.dtype != self.dtype or not value.flags.c_contiguous:
            refuse(name, value, self.expected())
        check_shape(value, name, self.shape, sizes)
        if value.size == 0 or value.dtype == bool or self.any_float:
            return
        lowest, highest = value.min(), value.max()  # NaN where there is one
        finite = abs(lowest) < math.inf and abs(highest) < math.inf
        if not (finite and self.least <= lowest and highest <= self.most):
            found = f"of numbers from {lowest:g} to {highest:g}"
            raise Unexpected(name, found, f"finite ones from {self.least:g} to {self.most:g}")


@dataclass(frozen=True, kw_only=True)
class Labels(Field):
    """A 1-D array of labels, none twice, their number a size; `strings`: of str objects alone."""

    size: str
    strings: bool = False

    def expected(self):
        kind = "strings" if self.strings else "hashable labels"
        return f"a 1-D array of {kind}{'' if self.strings else ', none twice'}"

    def check(self, value, name, sizes):
        check_array(value, name, self.expected())
        known = value.dtype.kind in "iubfUSO" and value.dtype.itemsize > 0
        if value.ndim != 1 or len(value) == 0 or not known:
            refuse(name, value, self.expected())
        check_shape(value, name, (self.size,), sizes)
        labels = value.tolist()
        if self.strings:
            if not all(isinstance(label, str) for label in labels):
                refuse(name, value, self.expected())
            return
        try:
            distinct = len(set(labels)) == len(labels) and all(label == label for label in labels)
        except Exception:  # whatever objects from files raise where they are compared
            distinct = False
        if not distinct:
            refuse(name, value, self.expected())


@dataclass(frozen=True, kw_only=True)
class Each(Field):
    """A tuple with one value for each of some fields."""

    of: tuple

    def expected(self):
        return f"a tuple of {len(self.of)} values"

    def check(self, value, name, sizes):
        if not isinstance(value, tuple) or not is_sized(value) or len(value) != len(self.of):
            refuse(name, value, self.expected())
        for k, each in enumerate(self.of):
            each.look({f"[{k}]": value[k]}, f"[{k}]", sizes, name)


@dataclass(frozen=True, kw_only=True)
class ListOf(Field):
    """A list or a tuple of any length; `size`: the letter that its length gives a value."""

    of: Field
    least: int = 0
    size: str | None = None

    def expected(self):
        return f"a list of at least {self.least} values"

    def check(self, value, name, sizes):
        listed = isinstance(value, list | tuple) and is_sized(value)
        if not listed or len(value) < self.least:
            refuse(name, value, self.expected())
        if self.size is not None and sizes.setdefault(self.size, len(value)) != len(value):
            refuse(name, value, f"{sizes[self.size]} values")
        for k, item in enumerate(value):
            self.of.look({f"[{k}]": item}, f"[{k}]", sizes, name)


@dataclass(frozen=True, kw_only=True)
class DictOf(Field):
    """A dict with some known keys; letters in it are its own. Other keys are let be."""

    of: dict

    def expected(self):
        return f"a dict with the keys {tuple(self.of)}"

    def check(self, value, name, sizes):
        if not isinstance(value, dict):
            refuse(name, value, self.expected())
        own = dict(sizes)
        for key, each in self.of.items():
            each.look({f"[{key!r}]": value.get(key)}, f"[{key!r}]", own, name)


@dataclass(frozen=True, kw_only=True)
class Columns(Field):
    """A dict of columns: strings to 1-D arrays of numbers, of one length."""

    def expected(self):
        return "a dict of 1-D arrays of numbers, all of one length"

    def check(self, value, name, sizes):
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            refuse(name, value, self.expected())
        rows = {}
        for key, column in value.items():
            check_array(column, f"{name}[{key!r}]", self.expected())
            if column.dtype.kind not in "iuf" or column.dtype.itemsize == 0:
                refuse(f"{name}[{key!r}]", column, self.expected())
            check_shape(column, f"{name}[{key!r}]", ("rows",), rows)


@dataclass(frozen=True, kw_only=True)
class Of(Field):
    """An object of a type, whose own state has been looked at, or is now; or with some methods."""

    type: type = object
    methods: tuple = ()

    def expected(self):
        having = f" with {', '.join(self.methods)}" if self.methods else ""
        return ("an object" if self.type is object else f"a {self.type.__name__}") + having

    def check(self, value, name, sizes):
        right = isinstance(value, self.type) and not isinstance(value, type)
        if not right or not all(callable(getattr(value, each, None)) for each in self.methods):
            refuse(name, value, self.expected())
        if isinstance(value, CheckedState) and value._is_fitted():
            value._check_state()


def check_array(value, name, expected):
    """Raise unless a value is a plain array, whose bytes all are there."""
    # Not subclasses: a masked array or a matrix does other things when it is indexed.
    if type(value) not in (np.ndarray, np.memmap):
        refuse(name, value, expected)


def check_shape(value, name, shape, sizes):
    """Raise unless an array has a shape; letters take the size that they have first."""
    if shape is None:
        return
    named = ", ".join(f"{part} = {sizes[part]}" if part in sizes else f"{part}" for part in shape)
    right = value.ndim == len(shape) and all(
        part is None or (sizes.setdefault(part, n) if isinstance(part, str) else part) == n
        for part, n in zip(shape, value.shape)
    )
    if not right:
        raise Unexpected(name, f"of shape {value.shape}", f"shape ({named})")


@dataclass(frozen=True)
class FittedState:
    """What the attributes of a fitted estimator are to be.

    Attributes
    ----------
    fields : dict of str to Field
        By attribute, in the order in which they are looked at.
    rules : tuple of callables
        ``rule(state)``, called after all fields are as expected, raises Unexpected (``refuse``)
        where attributes do not agree.
    layout : callable or None
        ``layout(state)`` returns the WeightLayout of ``_w``; None: the object has no weights.
    """

    fields: dict = field(default_factory=dict)
    rules: tuple = ()
    layout: Callable[[dict], WeightLayout] | None = None

    def extended(self, more=None, rules=(), layout=None):
        """Return the same with more fields, and rules after the others."""
        fields = {**self.fields, **(more or {})}
        return replace(self, fields=fields, rules=self.rules + rules, layout=layout or self.layout)

    def check(self, state, owner):
        """Raise ValueError unless a dict of attributes is such a state; owner: whose it is."""
        try:
            sizes = {}
            for name, each in self.fields.items():
                each.look(state, name, sizes)
            for rule in self.rules:
                rule(state)
            if self.layout is not None:
                expected = self.layout(state).size
                if len(state["_w"]) != expected:
                    found = f"of {len(state['_w'])} weights"
                    raise Unexpected("_w", found, f"{expected}, as the other attributes say")
        except Unexpected as error:
            raise ValueError(
                f"this {owner} is no model that can be used: {error}. It was changed after its "
                "fit, or its file is damaged; fit it again, or load a whole file"
            ) from None


# By id, a weak reference to an object and the attributes that it had when it was looked at.
_looked_at = {}


def reads_one_fit(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public method that uses fitted attributes: call it on a checked copy.

    The method, and the methods that it calls, then read the attributes of one fit, even if another
    thread fits the object again meanwhile.
    """

    @wraps(method)
    def read(self, *args, **kwargs):
        return method(self._require_fitted(), *args, **kwargs)

    return read


class CheckedState:
    """An object that checks its attributes when it is loaded, and when they are used.

    A subclass declares ``_fitted_state``, decorates public methods that use what was fitted with
    ``reads_one_fit``, and ends its fit by ``_publish``.
    """

    _fitted_state: ClassVar[FittedState] = FittedState()
    # True for the checked copy that a method reads, which no fit changes.
    _is_snapshot: ClassVar[bool] = False

    def __copy__(self):
        """Return a copy that, unlike a file, keeps callbacks and other functions."""
        return self._with(self.__dict__.copy())

    def __deepcopy__(self, memo):
        memo[id(self)] = other = self._with(self.__dict__.copy())
        other.__dict__ = deepcopy(other.__dict__, memo)
        return other

    def _with(self, state):
        """Return another object of this class with a state, of which it is the owner."""
        state.pop("_is_snapshot", None)
        other = type(self).__new__(type(self))
        other.__dict__ = state
        return other

    def __getstate__(self):
        state = self._snapshot()._stored_state()
        state.pop("_is_snapshot", None)
        return state

    def _stored_state(self):
        """Return the state for pickles and files; called on a copy that no fit changes."""
        return pack_names(super().__getstate__())

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
        """Return the attributes that ``__getstate__`` has made a state of."""
        return unpack_names(state)

    def _is_fitted(self):
        """Whether there is anything that a fit has set."""
        return any(
            name in self.__dict__
            for name, each in self._fitted_state.fields.items()
            if not each.optional
        )

    def _snapshot(self):
        """Return a copy that no fit changes."""
        snapshot = self._with(self.__dict__.copy())  # in one step for other threads
        snapshot._is_snapshot = True
        return snapshot

    def _require_fitted(self):
        """Return a copy that no fit changes, its attributes checked.

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If fitted attributes are damaged.
        """
        if self._is_snapshot:
            return self
        snapshot = self._snapshot()
        if isinstance(self, BaseEstimator):
            check_parameters(snapshot)  # a file may have no state at all
            check_is_fitted(snapshot)
        self._check_state(snapshot.__dict__)
        return snapshot

    def _publish(self, attributes):
        """Replace the fitted attributes, in one step for other threads; None removes one."""
        state = {**self.__dict__, **attributes}
        for name, value in attributes.items():
            if value is None:
                del state[name]
        self.__dict__ = state
        self._forget_state()

    def _check_state(self, state=None):
        """Check the fitted attributes, unless they are those of the last check."""
        state = self.__dict__ if state is None else state
        # Not objects that look after themselves, which might keep this one from being freed.
        fields = self._fitted_state.fields.items()
        now = [state.get(name) for name, each in fields if not isinstance(each, Of)]
        seen = _looked_at.get(id(self))
        if seen is not None and seen[0]() is self and all(a is b for a, b in zip(seen[1], now)):
            return
        self._fitted_state.check(state, type(self).__name__)
        key = id(self)
        _looked_at[key] = weakref.ref(self, lambda _: _looked_at.pop(key, None)), now

    def _forget_state(self):
        """Let go of attributes that were looked at: there are others now."""
        _looked_at.pop(id(self), None)


def of_format(owner, state, expected):
    """Return a state without its format, which must be the one expected."""
    version = state.get("_sstruct_format") if isinstance(state, dict) else None
    if type(version) is not int or version != expected:
        raise ValueError(
            f"this {type(owner).__name__} was pickled in format {reprlib.repr(version)}; this "
            f"version of sstruct reads format {expected}"
        )
    return {name: value for name, value in state.items() if name != "_sstruct_format"}


def check_names(owner, state):
    """Raise unless a state from a file is a dict of attributes, none of which hides the class's."""
    kind = type(owner)
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise ValueError(
            f"this {kind.__name__} has no state that can be used: it is {described(state)}, "
            "expected a dict of attributes by name; its file is damaged"
        )
    own = {*parameter_names(kind), *owner._fitted_state.fields}
    for name in state:
        if name not in own and _is_of_class(kind, name):
            raise ValueError(
                f"this {kind.__name__} has an attribute {name} of its own, expected that of its "
                "class: its file is damaged"
            )
    check_parameters(owner, state)


@cache
def parameter_names(kind):
    """Return the names of the parameters of an estimator's class; of other classes none."""
    if is_dataclass(kind):
        return [each.name for each in fields(kind) if each.init]
    return [*signature(kind).parameters] if issubclass(kind, BaseEstimator) else []


def check_parameters(owner, state=()):
    """Raise unless an object, or the state that it is to get, has all its parameters."""
    for name in parameter_names(type(owner)):
        if name not in state and not hasattr(owner, name):
            raise ValueError(
                f"this {type(owner).__name__} has no parameter {name}, expected one: its file is "
                "damaged"
            )


def _is_of_class(kind, name):
    """Whether a name is that of a method or a constant of this package or scikit-learn."""
    for each in kind.__mro__:
        if name in vars(each):
            return each.__module__.partition(".")[0] in ("sstruct", "sklearn", "builtins")
    return False
