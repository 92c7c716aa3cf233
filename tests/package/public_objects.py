"""Find all public objects of the package."""

import importlib
import inspect
import pkgutil

import sstruct


def public_modules():
    """Yield all modules with a public name."""
    yield sstruct
    for info in pkgutil.walk_packages(sstruct.__path__, "sstruct."):
        if "._" not in info.name:
            yield importlib.import_module(info.name)


def public_objects():
    """Return public functions, classes and their own methods by name, each object once."""
    found = {}
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue  # scorers and the version
            found.setdefault(value, f"{module.__name__}.{name}")
            for key, member in inspect.getmembers(value) if inspect.isclass(value) else ():
                function = getattr(member, "fget", member)
                function = getattr(function, "__func__", function)
                if not key.startswith("_") and inspect.isfunction(function):
                    if function.__module__.startswith("sstruct"):
                        found.setdefault(function, f"{module.__name__}.{name}.{key}")
    return {name: value for value, name in sorted(found.items(), key=lambda item: item[1])}


OBJECTS = public_objects()
