"""Test that public signatures and fitted attributes have annotations."""

import inspect
from pathlib import Path

import pytest

import sstruct
from tests.package.public_objects import OBJECTS

NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

# Compiled functions have no annotations.
IN_PYTHON = {
    name: getattr(value, "__init__", None) if inspect.isclass(value) else value
    for name, value in OBJECTS.items()
    if inspect.isclass(value) or inspect.isfunction(value)
}


def test_every_parameter_and_result_is_annotated():
    for name, function in IN_PYTHON.items():
        if not inspect.isfunction(function):
            continue  # a class without a constructor
        signature = inspect.signature(function)
        missing = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is parameter.empty and parameter.name not in ("self", "cls")
        ]
        assert not missing, name
        # Constructors of named tuples have no return annotation.
        of_named_tuple = function.__qualname__.startswith("namedtuple")
        assert of_named_tuple or signature.return_annotation is not signature.empty, name


def test_fitted_attributes_are_annotated_in_the_class():
    for name, estimator in OBJECTS.items():
        if not (hasattr(estimator, "_get_param_names") and hasattr(estimator, "fit")):
            continue
        attributes = NumpyDocString(inspect.getdoc(estimator))["Attributes"]
        known = set().union(*(inspect.get_annotations(base) for base in estimator.__mro__))
        known |= {
            key
            for key in dir(estimator)
            if isinstance(inspect.getattr_static(estimator, key), property)
        }
        assert attributes, name
        documented = [key for entry in attributes for key in entry.name.split(", ")]
        assert not [key for key in documented if key not in known], name


def test_package_is_marked_as_typed():
    assert (Path(sstruct.__file__).parent / "py.typed").exists()
