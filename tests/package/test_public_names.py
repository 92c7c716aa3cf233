"""Public modules have no public names other than their own."""

import subprocess
import sys
from types import ModuleType

import pytest

import sstruct
from tests.package.public_objects import public_modules

# Modules that are implemented in private modules; estimators are imported from sstruct.
DOCUMENTED = {
    "sstruct",
    "sstruct.constraints",
    "sstruct.datasets",
    "sstruct.export",
    "sstruct.extending",
    "sstruct.inference",
    "sstruct.mapped",
    "sstruct.masks",
    "sstruct.metrics",
    "sstruct.plotting",
    "sstruct.preprocessing",
}
MODULES = {module.__name__: module for module in public_modules()}


def test_documented_modules_are_found():
    assert MODULES.keys() >= DOCUMENTED


@pytest.mark.parametrize("name", sorted(MODULES))
def test_star_imports_give_only_the_names_of_the_module(name):
    found = {}
    exec(f"from {name} import *", found)
    assert found.keys() - {"__builtins__"} == set(MODULES[name].__all__)
    for key in MODULES[name].__all__:
        owner = getattr(found[key], "__module__", name)
        assert owner.partition(".")[0] == "sstruct" or key.endswith("_scorer"), key


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_public_names_are_listed(name):
    module = MODULES[name]
    own = {
        key
        for key, value in vars(module).items()
        # Public submodules are attributes once they have been imported.
        if not (isinstance(value, ModuleType) and value.__name__ == f"{name}.{key}")
    }
    public = {key for key in own if not key.startswith("_")}
    assert public == set(module.__all__) - {"__version__"}


def test_functions_of_other_packages_cannot_be_imported():
    for name in ("f1_score", "accuracy_score", "np"):
        assert not hasattr(sstruct.metrics, name)


def imported(statement, modules):
    """Return those of `modules` that a new process has imported after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules.keys() & {modules!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_optional_packages_are_imported_only_by_functions_that_use_them():
    # Not pandas, which scikit-learn imports.
    optional = {"clarabel", "dask", "distributed", "matplotlib", "onnx", "pooch", "skops", "tqdm"}
    assert not imported(f"import {', '.join(sorted(MODULES))}", optional)


def test_importing_sstruct_does_not_import_clusterings():
    assert not imported("import sstruct", {"sklearn.cluster"})
