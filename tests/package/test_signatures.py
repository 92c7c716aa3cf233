"""Test signatures, help texts and HTML representations."""

import inspect
import pydoc
import re
import tomllib
import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from sstruct import ChainSSVM, GridCRFSSVM, LatentSSVM, PathCV
from sstruct._compat import documentation
from sstruct.solvers import MPBCFW, Subgradient
from tests.package.public_objects import OBJECTS

NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

ROOT = Path(__file__).parents[2]

FUNCTIONS = {
    name: value.__init__ if inspect.isclass(value) else getattr(value, "fget", value)
    for name, value in OBJECTS.items()
    if inspect.isfunction(value) or inspect.isfunction(getattr(value, "__init__", None))
}
ESTIMATORS = {
    name: value
    for name, value in OBJECTS.items()
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
}


def test_signatures_are_short():
    for name in FUNCTIONS:
        signature = inspect.signature(OBJECTS[name])
        for parameter in signature.parameters.values():
            assert len(inspect.formatannotation(parameter.annotation)) <= 80, (name, parameter)
        assert len(str(signature)) <= 1300, name


def test_annotations_can_be_evaluated():
    for name, function in FUNCTIONS.items():
        hints = typing.get_type_hints(function)
        left = [hint for hint in hints.values() if isinstance(hint, str | typing.ForwardRef)]
        assert not left, name


def strings_of(hint):
    """Return the strings that a type allows, also in unions."""
    if typing.get_origin(hint) is typing.Literal:
        return {value for value in typing.get_args(hint) if isinstance(value, str)}
    # Strings in the types of elements, such as those of a Sequence, are not included.
    union = typing.get_origin(hint) in (typing.Union, type(int | str))
    return set().union(*map(strings_of, typing.get_args(hint))) if union else set()


def test_options_are_literals_and_documented():
    for name, function in FUNCTIONS.items():
        documented = {
            each: set(re.findall(r'"([^"]+)"', parameter.type.partition("default")[0]))
            for parameter in NumpyDocString(inspect.getdoc(OBJECTS[name]) or "")["Parameters"]
            for each in parameter.name.split(", ")
        }
        for parameter, hint in typing.get_type_hints(function).items():
            # "str or solver object": the names are in the text.
            if parameter in documented and parameter != "solver":
                strings = strings_of(hint)
                if parameter == "subset":  # data sets without a split share a type
                    assert strings >= documented[parameter], name
                else:
                    assert strings == documented[parameter], (name, parameter)


def test_literals_accept_the_default():
    for name, estimator in ESTIMATORS.items():
        hints = typing.get_type_hints(estimator.__init__)
        for parameter in inspect.signature(estimator).parameters.values():
            if isinstance(parameter.default, str):
                assert parameter.default in strings_of(hints[parameter.name]), (name, parameter)


def test_solvers_match_the_type():
    from sstruct.solvers import SOLVER_OF_NAME

    found = strings_of(typing.get_type_hints(ChainSSVM.__init__)["solver"])
    assert found == {"auto", *SOLVER_OF_NAME}


def test_help_has_no_internals():
    internals = r"__(dataclass|match_args|annot|abstract|orig_bases|parameters)\w*|numpy\._typing"
    for name, estimator in ESTIMATORS.items():
        text = pydoc.render_doc(estimator, renderer=pydoc.plaintext)
        assert not re.search(internals, text), name


def test_classes_remain_dataclasses_and_may_be_abstract():
    class Named(ABC):
        @abstractmethod
        def title(self): ...

    class Chain(ChainSSVM, Named):
        def title(self):
            return f"lam={self.lam}"

    @dataclass(kw_only=True, eq=False, repr=False)
    class Weighted(ChainSSVM):
        factor: float = 2.0

    assert Chain(lam=0.5).title() == "lam=0.5"
    assert Weighted(lam=0.5).get_params()["factor"] == 2
    assert "factor" in inspect.signature(Weighted).parameters
    assert "fit" in dir(Weighted)


# HTML


@pytest.fixture(scope="module")
def manual():
    """Return the address of the manual in pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"]


@pytest.mark.parametrize(
    "estimator, name",
    [
        (ChainSSVM(), "sstruct.ChainSSVM"),
        (GridCRFSSVM(), "sstruct.GridCRFSSVM"),
        (PathCV(ChainSSVM()), "sstruct.PathCV"),
        (LatentSSVM(ChainSSVM()), "sstruct.LatentSSVM"),
        (MPBCFW(), "sstruct.solvers.MPBCFW"),
        (Subgradient(), "sstruct.solvers.Subgradient"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_html_links_to_the_manual(manual, estimator, name):
    assert f"\n   {name}\n" in (ROOT / "doc/api.rst").read_text()
    link = f'href="{manual}/generated/{name}.html"'
    assert link in estimator_html_repr(estimator)
    if name.endswith("CV"):
        assert f"{manual}/generated/sstruct.ChainSSVM.html" in estimator_html_repr(estimator)


def test_classes_of_users_have_no_link():
    class Own(ChainSSVM):
        pass

    assert Own()._get_doc_link() == ""


def test_no_link_without_metadata(monkeypatch):
    def missing(name):
        raise documentation.PackageNotFoundError(name)

    monkeypatch.setattr(documentation, "metadata", missing)
    documentation._manual.cache_clear()
    try:
        assert ChainSSVM()._get_doc_link() == ""
        assert "ChainSSVM" in estimator_html_repr(ChainSSVM())
    finally:
        documentation._manual.cache_clear()
