"""Docstrings that share texts."""

import inspect
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import TypeVar

T = TypeVar("T")

ENTRY = re.compile(r"^(\w[\w, ]*) : .*\n(?:(?:    .*)?\n)*?(?=\S|\Z)", re.MULTILINE)
PLACE = re.compile(r"^<(\w+)>\n", re.MULTILINE)


def entries_of(text):
    """Return a docstring's parameters and attributes by name; "References": that whole section."""
    text = inspect.cleandoc(text or "") + "\n"
    entries = {}
    for match in ENTRY.finditer(text):
        for name in match[1].split(", "):
            entries.setdefault(name, match[0].rstrip("\n") + "\n")
    section = re.search(r"^References\n-+\n.*?\n(?=\n\w+\n-|\Z)", text, re.MULTILINE | re.DOTALL)
    if section:
        entries["References"] = section[0].rstrip("\n") + "\n"
    return entries


def shares_documentation(*sources: type) -> Callable[[T], T]:
    """Decorate an object: a line ``<name>`` of its docstring becomes what a source says of `name`.

    Of several sources that know a name, the last counts. In what they say ``<solvers>`` becomes the
    names of the solvers that the object, an estimator, accepts.
    """
    entries = {}
    for source in sources:
        entries |= entries_of(source.__doc__)

    def fill(target):
        if target.__doc__:
            own = inspect.cleandoc(target.__doc__) + "\n"
            text = PLACE.sub(lambda match: entries[match[1]], own)
            solvers = ("auto", *getattr(target, "_solvers", ()))
            target.__doc__ = text.replace("<solvers>", ", ".join(f'"{name}"' for name in solvers))
            if is_dataclass(target):
                _show_in_order(target.__init__, list(entries_of(target.__doc__)))
        return target

    return fill


def _show_in_order(init, names):
    """Show keyword parameters in the docstring's order: a dataclass puts inherited ones first."""
    signature = inspect.signature(init)
    first, *parameters = signature.parameters.values()
    if set(names) >= {parameter.name for parameter in parameters}:  # python -OO has no docstrings
        parameters.sort(key=lambda parameter: names.index(parameter.name))
    init.__signature__ = signature.replace(parameters=[first, *parameters])
