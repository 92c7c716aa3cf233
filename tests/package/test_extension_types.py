"""Extension types do not accept a pickled state."""

import importlib
import pkgutil

import sstruct


def extension_types():
    """Yield all extension types of the package."""
    for module in pkgutil.walk_packages(sstruct.__path__, "sstruct."):
        found = importlib.import_module(module.name)
        if not found.__file__.endswith(".py"):
            of_module = (v for v in vars(found).values() if isinstance(v, type))
            yield from (kind for kind in of_module if kind.__module__ == module.name)


def test_no_extension_type_accepts_a_state():
    # The default method of Cython reads a tuple without validating its length.
    kinds = [*extension_types()]
    assert len(kinds) > 40
    assert not [kind for kind in kinds if hasattr(kind, "__setstate_cython__")]
