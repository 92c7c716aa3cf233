"""Docstrings that estimators share."""

import inspect
import re

ENTRY = re.compile(r"^(\w[\w, ]*) : .*\n(?:(?:    .*)?\n)*?(?=\S|\Z)", re.MULTILINE)
PLACE = re.compile(r"^<(\w+)>\n", re.MULTILINE)


def shares_documentation(source):
    """Decorate a class: a line ``<name>`` of its docstring becomes what `source` says of `name`.

    Parameters and attributes are looked up by name, ``<References>`` is that whole section.
    """
    text = inspect.cleandoc(source.__doc__ or "") + "\n"
    entries = {}
    for match in ENTRY.finditer(text):
        for name in match[1].split(", "):
            entries.setdefault(name, match[0].rstrip("\n") + "\n")
    section = re.search(r"^References\n-+\n(.*?)\n\n(?=\w+\n-)", text, re.MULTILINE | re.DOTALL)
    if section:
        entries["References"] = section[0].rstrip("\n") + "\n"

    def fill(target):
        if target.__doc__:
            own = inspect.cleandoc(target.__doc__) + "\n"
            target.__doc__ = PLACE.sub(lambda match: entries[match[1]], own)
        return target

    return fill
