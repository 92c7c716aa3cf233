"""List the names, signatures, attributes and file formats of the public interface.

``python -m tests.package.public_api`` writes the list to public_api.txt.
"""

import inspect
from pathlib import Path

from sstruct._estimators.core.base import PICKLE_FORMAT
from sstruct._estimators.path.along_lambda import FORMAT as PATH_FORMAT
from sstruct._solvers.core.checkpoint import FORMAT as CHECKPOINT_FORMAT
from tests.package.public_objects import public_modules

SNAPSHOT = Path(__file__).with_suffix(".txt")


def parameters(function):
    """Return the parameters and defaults of a callable, without annotations; "" if unknown."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled, without a signature
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    text = str(inspect.Signature(plain))
    # Defaults without a __repr__ method contain an address.
    return text.partition(" at 0x")[0] if " at 0x" in text else text


def constructor(value):
    """Return the parameters of a class in the order in which they may be passed."""
    return parameters(value) if "__init__" in dir(value) else ""


def members(value):
    """Return lines for the public methods and attributes of a class of the package."""
    for key in sorted(dir(value)):
        # Some names exist only to raise an error that names the alternative.
        if key.startswith("_") or not hasattr(value, key):
            continue
        member = inspect.getattr_static(value, key)
        owner = next((base for base in value.__mro__ if key in vars(base)), value)
        if not owner.__module__.startswith("sstruct"):
            continue
        # Methods that only some models have are descriptors, which return a function.
        function = member if isinstance(member, property) else getattr(value, key)
        yield key, parameters(function) if callable(function) else ""
    for base in value.__mro__:
        if base.__module__.startswith("sstruct"):
            for key in inspect.get_annotations(base):
                if key.endswith("_") and not key.startswith("_"):
                    yield key, ""


def interface():
    """Return the public interface, one name per line."""
    lines = [
        f"format of pickles: {PICKLE_FORMAT}",
        f"format of paths: {PATH_FORMAT}",
        f"format of checkpoints: {CHECKPOINT_FORMAT}",
    ]
    for module in sorted(public_modules(), key=lambda module: module.__name__):
        for name in sorted(set(module.__all__) - {"__version__"}):
            value = getattr(module, name)
            title = f"{module.__name__}.{name}"
            if not inspect.isclass(value):
                lines.append(title + (parameters(value) if inspect.isroutine(value) else ""))
                continue
            lines.append(title + constructor(value))
            # A class in several modules is listed with its members where it is defined, or, if
            # that is a private module, in each of them.
            if value.__module__ == module.__name__ or "._" in value.__module__:
                lines += [f"    .{key}{text}" for key, text in sorted(set(members(value)))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(interface(), encoding="utf-8")
