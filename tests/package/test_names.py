"""Files and modules mentioned in texts exist, and names of classes and modules are unique."""

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import sstruct

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sstruct"
FOLDERS = ("sstruct", "benchmarks", "doc", "examples", "tests", "tools")
# Folders that builds write.
GENERATED = {"_build", "generated", "__pycache__", "doc/gallery", "doc/tutorials"}
PROSE = {".py", ".pyx", ".pxd", ".h", ".rst", ".md", ".inc"}


def files():
    """Return the files of the repository, as paths relative to its root."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    paths = [path.relative_to(ROOT) for path in found]
    return sorted(
        path
        for path in paths
        if not GENERATED & {*path.parts, "/".join(path.parts[:2])}
        # The changelog names what was removed.
        and path.name not in ("CHANGELOG.md", "sg_execution_times.rst")
    )


FILES = files()
NAMES = {path.name for path in FILES}
PATHS = {path.as_posix() for path in FILES}
PATHS |= {parent.as_posix() for path in FILES for parent in path.parents}
MODULES = {
    path.with_suffix("").as_posix().removesuffix("/__init__"): path
    for path in FILES
    if path.suffix in (".py", ".pyx", ".pxd") and path.parts[0] == "sstruct"
}
STEMS = {path.stem for path in FILES if path.suffix in (".py", ".pyx", ".pxd", ".h")}
# Placeholders, and what builds write.
OTHERS = {
    "benchmarks/SCRIPT",
    "doc/_build/html",
    "sstruct._kernels._cyutility",
    # Files whose names look like those of modules.
    "sstruct.h",
    "sstruct.js",
}


@cache
def source(path):
    """Return the content of a file."""
    return (ROOT / path).read_text()


def prose(path):
    """Return the prose of a file: comments and docstrings of code, all of other files."""
    if path.suffix not in (".py", ".pyx", ".pxd", ".h"):
        return source(path)
    blocks = r'"""(?s:.*?)"""|/\*(?s:.*?)\*/|(?:^|\s)(?:#:?|//) .*'
    return "\n".join(re.findall(blocks, source(path)))


@cache
def texts():
    """Return the prose of every file."""
    return {path: prose(path) for path in FILES if path.suffix in PROSE}


# A folder and what follows; "*" stands for several files, and "plot_<structure>" for a name.
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./*-]*[\w*](?![\w<])")
# A folder of the package without "sstruct/", as in _solvers/core/solver.py or _solvers.core.
LAYERS = "|".join(path.name for path in PACKAGE.iterdir() if re.match("_[a-z]", path.name))
LAYER_PATH = re.compile(rf"(?<![\w./-])(?:{LAYERS})/[\w./*-]*[\w*]")
MODULE = re.compile(rf"(?<![\w./-])(?:sstruct|{LAYERS})(?:\.\w+)+")
FILE = re.compile(r"(?<![\w./*-])(?:_?sphx_glr_[a-z]+_)?(\w+\.(?:py|pyx|pxd|h))\b(?!\()")
# A private name, such as that of a module, but not the target of a link.
WORD = re.compile(r"\b_\w+")
PRIVATE = re.compile(r"(?<![\w.`/*-])(?<!\.\. )_[a-z][a-z_]{2,}\b")


def exists(name):
    """Return whether a path or a pattern exists, also without the suffix of a module."""
    name = name.rstrip("/.")
    if "*" in name:
        pattern = re.escape(name).replace(r"\*", "[^/]*")
        return any(re.fullmatch(pattern, path) for path in PATHS)
    return name in PATHS or name in MODULES


def defines(module, names):
    """Return whether the source of a module contains the first of some names."""
    path = MODULES[module]
    sources = [path, path.with_suffix(".pyx"), path.with_suffix(".pxd")]
    text = "\n".join(source(each) for each in sources if each in FILES)
    return re.search(rf"\b{names[0]}\b", text) is not None


def is_module(dotted):
    """Return whether a dotted name is that of a module or of something in a module."""
    parts = dotted.split(".")
    parts = parts if parts[0] == "sstruct" else ["sstruct", *parts]
    for size in range(len(parts), 1, -1):
        name = "/".join(parts[:size])
        if name in MODULES:
            return size == len(parts) or defines(name, parts[size:])
        if name in PATHS:
            return size == len(parts)
    return hasattr(sstruct, parts[1])


def missing(text):
    """Return the names in a text that do not exist."""
    found = [name for name in PATH.findall(text) if not exists(name)]
    found += [name for name in LAYER_PATH.findall(text) if not exists(f"sstruct/{name}")]
    found += [name for name in MODULE.findall(text) if not is_module(name)]
    found += [name for name in FILE.findall(text) if name not in NAMES]
    return set(found) - OTHERS


def test_files_and_modules_named_in_prose_exist():
    found = {path.as_posix(): missing(text) for path, text in texts().items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_private_names_in_comments_exist():
    sources = {path: text for path, text in texts().items() if path.parts[0] == "sstruct"}
    names = {name for text in sources.values() for name in PRIVATE.findall(text)}
    # A name exists if it occurs more often in the sources than in their prose.
    words = Counter(word for path in sources for word in WORD.findall(source(path)))
    in_prose = Counter(word for text in sources.values() for word in WORD.findall(text))
    assert {name for name in names - STEMS if words[name] <= in_prose[name]} == set()


def test_missing_names_are_found():
    text = (
        "sstruct/_solvers/core/solver.py, _solvers/core/_state, _problems/*/*_problem.pyx exist; "
        "sstruct/_solvers/core/gone.py, _problems/gone and sstruct._cluster.gone.Part do not, "
        "nor does gone.pyx. sstruct._solvers.core.solver.Solver and solver.py do."
    )
    assert missing(text) == {
        "_problems/gone",
        "gone.pyx",
        "sstruct._cluster.gone.Part",
        "sstruct/_solvers/core/gone.py",
    }


def duplicates(named):
    """Return the names that occur in several places."""
    places = defaultdict(set)
    for name, place in named:
        places[name].add(place)
    return {name for name, found in places.items() if len(found) > 1}


def test_no_module_name_is_used_twice():
    named = [
        (path.stem, path.with_suffix("").as_posix())
        for path in FILES
        if path.parts[0] == "sstruct"
        and path.suffix in (".py", ".pyx", ".pxd")
        and path.stem != "__init__"
    ]
    assert duplicates(named) == set()


def test_no_class_name_is_used_twice():
    pattern = re.compile(r"^(?:cdef )?class (\w+)", re.MULTILINE)
    named = [
        (name, path.as_posix())
        for path in FILES
        if path.parts[0] == "sstruct" and path.suffix in (".py", ".pyx")
        for name in pattern.findall(source(path))
    ]
    assert duplicates(named) == set()


def test_papers_are_cited_by_their_authors():
    pattern = re.compile(r"\bpapers? 0\d", re.IGNORECASE)
    assert [path.as_posix() for path, text in texts().items() if pattern.search(text)] == []
