"""The rules that hold the package's shape, read from its sources."""

import re
from pathlib import Path

import pytest

import sstruct

ROOT = Path(sstruct.__file__).parent
SOURCES = sorted(p for ext in ("*.py", "*.pyx", "*.pxd") for p in ROOT.rglob(ext))
COMPILED = [path for path in SOURCES if path.suffix != ".py"]
IMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+c?import\s+(.*)|c?import\s+(.*))$", re.MULTILINE)


def imported(path):
    """Modules, and names in them, that a source imports: 'a.b' and 'a.b.name'."""
    text = path.read_text().replace("\\\n", " ")
    text = re.sub(r"\(([^()]*)\)", lambda m: " ".join(m.group(1).split()), text)
    out = []
    for module, names, plain in IMPORT.findall(text):
        if module:
            out.append(module)
            out += [f"{module}.{name.split()[0]}" for name in names.split(",") if name.split()]
        else:
            out += [name.split()[0] for name in plain.split(",") if name.split()]
    return out


def name_of(path):
    return str(path.relative_to(ROOT))


def test_the_reader_sees_imports():
    chain = imported(ROOT / "_problems" / "_chain.pyx")
    assert "sstruct._oracles._viterbi.viterbi_labels" in chain
    assert "numpy" in chain
    assert "sklearn.base.BaseEstimator" in imported(ROOT / "base.py")
    assert len(COMPILED) > 10


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_follow_the_layers(path):
    modules = imported(path)
    forbidden = {
        "_oracles": ("sstruct._problems", "sstruct._solvers", "sstruct.base", "sklearn"),
        "_problems": ("sstruct._solvers", "sstruct.base", "sklearn"),
        "_solvers": (
            "sstruct._oracles",
            "sstruct._problems._chain.",
            "sstruct.base",
            "sstruct.chain",
        ),
    }.get(path.relative_to(ROOT).parts[0], ())
    if path in COMPILED:
        forbidden += ("sklearn", "sstruct.base", "sstruct.chain", "sstruct._validation")
    for module in modules:
        assert not module.startswith(forbidden), f"{name_of(path)} imports {module}"


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.name != "_compat.py"], ids=name_of
)
def test_private_names_of_sklearn_are_in_compat_alone(path):
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "sklearn":
            assert not any(part.startswith("_") for part in parts), module


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_sources_are_under_400_lines(path):
    assert len(path.read_text().splitlines()) < 400


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".pyx"], ids=name_of)
def test_compiled_sources_begin_with_their_design(path):
    assert path.read_text().startswith("# Design:\n")


def test_tests_compare_with_care():
    # A bare comparison passes whatever it says.
    pattern = re.compile(r"^\s*(?:np|numpy)\.(?:allclose|isclose|array_equal)\(", re.MULTILINE)
    for path in Path(__file__).parent.rglob("*.py"):
        assert not pattern.search(path.read_text()), path.name
