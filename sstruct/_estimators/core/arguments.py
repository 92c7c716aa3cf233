"""Constructors that say what to write instead of arguments that they do not have."""

from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import wraps
from typing import TypeVar

from sstruct._checks.scalars import is_real

T = TypeVar("T")


def explains_arguments(cls: type[T]) -> type[T]:
    """Decorate an estimator, a dataclass: what its constructor refuses, it explains.

    The constructor keeps its signature, by which scikit-learn knows the parameters.
    """
    init = cls.__init__
    parameters = [each for each in fields(cls) if each.init]
    names = [each.name for each in parameters]
    leading = [each.name for each in parameters if not each.kw_only]
    needed = [f"{each.name}=..." for each in parameters if each.kw_only and each.default is MISSING]

    @wraps(init)
    def explained(self, *args, **given):
        if len(args) > len(leading):
            raise TypeError(_by_name(cls.__name__, [*leading, *needed], args[len(leading)]))
        for name, value in given.items():
            if name not in names:
                raise TypeError(_unknown(cls.__name__, names, name, value))
        init(self, *args, **given)

    cls.__init__ = explained
    return cls


def lam_of(C):
    """Say what the C of other packages is here."""
    value = f"{float(C):g}" if is_real(C) else "C"
    return f"C={value} is lam=1 / ({value} * n), n the number of samples or their total weight"


def _by_name(owner, needed, value):
    """Say how to write a parameter that was given by its place."""
    number = is_real(value)
    found = f"{float(value):g}" if number else f"a {type(value).__name__}"
    call = ", ".join([*needed, f"lam={found if number else 0.01}"])
    return (
        f"{owner} takes its parameters by name, found {found} without one: write {owner}({call})"
        + "; X and y go to fit" * (not number)
    )


def _unknown(owner, names, name, value):
    """Say which parameters there are in the place of one that there is not."""
    if name == "C":
        return f"{owner} has no parameter C, it has lam: {lam_of(value)}"
    near = get_close_matches(name, names, n=1)
    instead = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(names))}"
    return f"{owner} has no parameter {name}; {instead}"
