"""Test the rules of the architecture on the source files."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

# Of the checkout, since wheels contain no .pyx files.
ROOT = Path(__file__).parents[2] / "sstruct"
SOURCES = sorted(p for ext in ("*.py", "*.pyx", "*.pxd") for p in ROOT.rglob(ext))
COMPILED = [path for path in SOURCES if path.suffix != ".py"]
IMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+c?import\s+(.*)|c?import\s+(.*))$", re.MULTILINE)


def structures(layer, *others):
    """Return the folders of structures in a layer."""
    folders = (path.name for path in (ROOT / layer).iterdir() if (path / "__init__.py").exists())
    return [f"{layer}/{name}" for name in sorted(folders) if name not in ("core", *others)]


# Modules at the top that are not estimators, or are made of other estimators.
ON_ESTIMATORS = ["grid", "latent", "multilabel", "path_cv"]
FACADES = ["constraints", "masks", "mapped", "extending"]
ESTIMATORS = sorted(
    {path.stem for path in ROOT.glob("*.py")}
    - {"__init__", "sequences", "solvers", "spans", *ON_ESTIMATORS, *FACADES}
)

# A source may import or cimport from its own folder and from the lines above. Structures in one
# line do not import each other. Folders and modules of new structures are found automatically.
RANKS = [
    ["_kernels", "_compat", "_checks"],
    ["_oracles/core"],
    structures("_oracles", "graph", "label_set", "mrf", "segment"),
    ["_oracles/graph", "_oracles/label_set", "_oracles/mrf", "_oracles/segment"],
    ["_problems/core"],
    structures("_problems", "segment"),
    ["_problems/segment"],
    ["_cluster"],
    ["_solvers/core"],
    ["_solvers/frank_wolfe", "_solvers/baselines", "_solvers/gdmm", "_solvers/online"],
    ["_solvers/path", "_solvers/proximal", "_solvers/rounds"],
    ["_testing", "_input"],
    ["inference/_model"],
    ["inference/_files", "inference/_methods"],
    ["inference/_applications"],
    ["inference"],
    ["solvers", "_export"],
    ["_estimators/core"],
    structures("_estimators", "segment", "matching", "alignment"),
    ["_estimators/segment", "_estimators/matching"],
    ["_estimators/alignment"],
    ESTIMATORS,
    ON_ESTIMATORS,
    ["calibration"],
    ["datasets", "metrics", "preprocessing", *FACADES],
    ["plotting", "export"],
    ["__init__"],
]
RANK = {place: rank for rank, places in enumerate(RANKS) for place in places}


def place_of(path):
    """Return the folder of a source file, or its name if it is at the top: a key of RANK."""
    relative = path.relative_to(ROOT)
    if relative.parent == Path():
        # The public container of ragged input, and spans of labels.
        return "_input" if relative.stem in ("sequences", "spans") else relative.stem
    # The __init__.py files of layers only describe their content, and import nothing.
    return relative.parent.as_posix()


@cache
def imported(path):
    """Return the modules, and names in them, that a source imports: 'a.b' and 'a.b.name'."""
    text = path.read_text().replace("\\\n", " ")
    text = re.sub(r"\(([^()]*)\)", lambda m: " ".join(m.group(1).split()), text)
    out = []
    for module, names, plain in IMPORT.findall(text):
        if module.startswith("."):
            package = ".".join(path.relative_to(ROOT.parent).parent.parts)
            module = f"{package}.{module[1:]}"
        if module:
            out.append(module)
            out += [f"{module}.{name.split()[0]}" for name in names.split(",") if name.split()]
        else:
            out += [name.split()[0] for name in plain.split(",") if name.split()]
    return out


MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCES
}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def test_the_reader_sees_imports():
    chain = imported(ROOT / "_problems" / "chain" / "_chain_problem.pyx")
    assert "sstruct._oracles.chain._viterbi.viterbi_labels" in chain
    assert "numpy" in chain
    assert "sklearn.base.BaseEstimator" in imported(ROOT / "_estimators" / "core" / "base.py")
    assert len(COMPILED) > 10


def all_imported():
    """Yield every source with each module, and name in it, that it imports."""
    return ((path, module) for path in SOURCES for module in imported(path))


def test_imports_follow_the_ranks():
    for path, module in all_imported():
        own = place_of(path)
        assert own in RANK or path.name != "__init__.py", f"{name_of(path)} imports {module}"
        # The package itself: for its version, in functions.
        if module in MODULES and module != "sstruct":
            other = place_of(MODULES[module])
            assert other == own or RANK[other] < RANK[own], f"{name_of(path)} imports {module}"


def test_only_python_imports_scikit_learn_and_only_compat_its_private_names():
    for path, module in all_imported():
        parts = module.split(".")
        if parts[0] == "sklearn":
            assert path not in COMPILED, name_of(path)
            private = any(part.startswith("_") for part in parts)
            assert not private or path.parent.name == "_compat", f"{name_of(path)} imports {module}"


def test_the_top_is_public():
    assert [p.name for p in ROOT.glob("_*.py*") if p.name != "__init__.py"] == []


def test_folders_have_few_files():
    headers = list(ROOT.rglob("*.h"))
    private = (path for path in SOURCES if path.parent != ROOT)  # a public module per estimator
    counts = Counter(path.parent for path in [*private, *headers])
    assert {name_of(folder): n for folder, n in counts.items() if n > 25} == {}


def test_compiled_sources_begin_with_their_design():
    for path in ROOT.rglob("*.pyx"):
        assert path.read_text().startswith("# Design:\n"), name_of(path)


def test_tests_compare_with_care():
    # A comparison whose result is not asserted never fails.
    pattern = re.compile(r"^\s*(?:np|numpy)\.(?:allclose|isclose|array_equal)\(", re.MULTILINE)
    for path in Path(__file__).parents[1].rglob("*.py"):
        assert not pattern.search(path.read_text()), path.name


# Callbacks and descriptors receive estimators from scikit-learn and Python; a path creates them.
KNOW_ESTIMATORS = {"base", "callbacks", "missing_methods", "weight_frame", "along_lambda"}


def test_structures_and_fits_do_not_depend_on_estimators():
    for path in (ROOT / "_estimators").rglob("*.py"):
        if path.stem in KNOW_ESTIMATORS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
                assert "estimator" not in names, f"{name_of(path)}: {node.name}"
