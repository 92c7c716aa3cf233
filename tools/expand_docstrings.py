#!/usr/bin/env python3
"""Write the texts that docstrings share into the sources, so that each docstring is complete.

    python tools/expand_docstrings.py          # rewrite what is out of date
    python tools/expand_docstrings.py --check  # fail if anything is out of date

`docstring_texts.py` contains each shared text once. To change one, edit it there and run this tool.
In the docstrings listed in TARGETS, every entry (a parameter, an attribute or the section
References) with a shared text is replaced by it, except for the names in OWN. A line ``<name>``, in
a new docstring, is replaced by the shared text of that name.
"""

import argparse
import ast
import inspect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docstring_texts import (
    Chains,
    Classes,
    Common,
    Custom,
    Graphs,
    Grids,
    LabelSets,
    Metrics,
    PairwiseScale,
    Slack,
    Solvers,
    Validation,
)

ROOT = Path(__file__).parents[1]
ENTRY = re.compile(r"^(\w[\w, ]*) : .*\n(?:(?:    .*)?\n)*?(?=\S|\Z)", re.MULTILINE)
REFERENCES = re.compile(r"^References\n-+\n.*?(?=\n\n\w+\n-|\s*\Z)", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"^<(\w+)>\n", re.MULTILINE)

# For each file and class or function: the shared texts (later ones take precedence), and additions.
TARGETS = {
    ("chain.py", "ChainSSVM"): ([Common], [Classes, Slack, PairwiseScale, Chains]),
    ("segmentation.py", "SegmentSSVM"): ([Common], [Classes, Slack, PairwiseScale]),
    ("change_points.py", "ChangePointSSVM"): ([Common], []),
    ("multilabel.py", "MultilabelSSVM"): ([Common], [Classes, Slack, LabelSets]),
    ("multiclass.py", "MulticlassSSVM"): ([Common], [Classes, Slack]),
    ("tree.py", "TreeSSVM"): ([Common], [Slack]),
    ("matching.py", "MatchingSSVM"): ([Common], []),
    ("alignment.py", "AlignmentSSVM"): ([Common], []),
    ("dependency.py", "DependencySSVM"): ([Common], []),
    ("custom.py", "StructuredSVM"): ([Common], [Slack, Custom]),
    ("graph.py", "GraphCRFSSVM"): ([Common, Graphs], [Slack]),
    ("grid.py", "GridCRFSSVM"): ([Common, Graphs], [Slack, Grids]),
    ("typed_graph.py", "TypedGraphCRFSSVM"): ([Common, Graphs], []),
}
TARGETS |= {(path, f"{name}.fit"): ([Validation], []) for path, name in TARGETS}
STOPS_EARLY = ("MPBCFW", "BCFW", "Subgradient", "Perceptron", "PassiveAggressive")
TARGETS |= {("solvers.py", name): ([Solvers], []) for name in STOPS_EARLY}
FLAT = ("accuracy_score", "f1_score", "precision_score", "recall_score", "classification_report")
TARGETS |= {("metrics/_scores.py", f"flat_{name}"): ([Metrics], []) for name in FLAT}
TARGETS["metrics/_scores.py", "sequence_accuracy_score"] = [Metrics], []
# Entries that differ from the shared text of the same name.
OWN = {
    ("multilabel.py", "MultilabelSSVM"): (
        *("bounds", "classes", "class_weight", "classes_", "objective_"),
    ),
    ("multiclass.py", "MulticlassSSVM"): (
        *("fit_intercept", "classes", "class_weight", "n_jobs", "coef_"),
    ),
    ("tree.py", "TreeSSVM"): ("fit_intercept", "lam", "bounds", "coef_", "n_features_in_"),
    ("matching.py", "MatchingSSVM"): ("fit_intercept", "lam", "n_jobs", "coef_", "n_features_in_"),
    ("alignment.py", "AlignmentSSVM"): (
        *("fit_intercept", "lam", "bounds", "n_jobs"),
        *("w_", "coef_", "intercept_", "n_features_in_"),
    ),
    ("dependency.py", "DependencySSVM"): (
        *("ignore_label", "lam", "warm_start", "coef_", "n_features_in_", "classes_"),
    ),
    ("custom.py", "StructuredSVM"): ("bounds", "lam", "warm_start", "n_jobs"),
    ("typed_graph.py", "TypedGraphCRFSSVM"): (
        *("inference", "bounds", "classes", "class_weight", "w_", "coef_", "intercept_"),
        *("classes_", "n_features_in_"),
    ),
    ("solvers.py", "Subgradient"): ("certificate_every",),
    ("change_points.py", "ChangePointSSVM"): (
        *("bounds", "lam", "solver", "w_", "coef_", "inference_"),
    ),
    ("change_points.py", "ChangePointSSVM.fit"): ("X_val",),
    ("metrics/_scores.py", "flat_classification_report"): ("labels",),
}


def entries_of(text):
    """Return a docstring's entries by name; "References" is the whole section."""
    text = inspect.cleandoc(text) + "\n"
    entries = {}
    for match in ENTRY.finditer(text):
        for name in match[1].split(", "):
            entries.setdefault(name, match[0].rstrip("\n") + "\n")
    section = REFERENCES.search(text)
    if section:
        entries["References"] = section[0] + "\n"
    return entries


def expanded(text, shared, own=()):
    """Return a docstring, without indentation, with current shared texts.

    Parameters
    ----------
    text : str
    shared : dict of str to str
        Entries by name.
    own : collection of str
        Names of entries that are not replaced.

    Raises
    ------
    ValueError
        If a line ``<name>`` has no shared text.
    """
    for name in PLACE.findall(text):
        if name not in shared:
            accepted = ", ".join(f"<{each}>" for each in shared)
            raise ValueError(f"<{name}> has no shared text, expected one of {accepted}")
    text = PLACE.sub(lambda match: shared[match[1]], text)

    def entry(match):
        name = match[1].split(", ")[0]
        if name not in shared or name in own:
            return match[0]
        blank = match[0][len(match[0].rstrip("\n")) + 1 :]
        return shared[name] + blank

    text = ENTRY.sub(entry, text)
    return REFERENCES.sub(lambda match: _references(match[0], shared), text)


def _references(section, shared):
    """Return a section of references: the shared ones, then others with higher numbers."""
    first = shared.get("References")
    if first is None:
        return section
    number = max(map(int, re.findall(r"^\.\. \[(\d+)\]", first, re.MULTILINE)))
    more = section.find(f".. [{number + 1}]")
    return first.rstrip("\n") + ("" if more < 0 else "\n" + section[more:])


def docstrings(tree):
    """Yield the qualified name and the docstring's node of classes, methods and functions."""
    for node in tree.body:
        if "overload" in map(ast.unparse, getattr(node, "decorator_list", ())):
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{node.name}.{method.name}", method


def rewritten(path):
    """Return the source of a file with complete docstrings."""
    source = (ROOT / "sstruct" / path).read_text()
    lines = source.splitlines(keepends=True)
    nodes = list(docstrings(ast.parse(source)))
    missing = {name for where, name in TARGETS if where == path} - dict(nodes).keys()
    if missing:
        raise ValueError(f"{path} has no {', '.join(sorted(missing))}; see TARGETS")
    for name, node in reversed(nodes):
        if (path, name) not in TARGETS:
            continue
        sources, added = TARGETS[path, name]
        shared = {}
        for each in sources:
            shared |= entries_of(each.__doc__)
        for addition in added:
            for key, text in entries_of(addition.__doc__).items():
                # The section of references has two lines of heading, an entry has one.
                heading = 2 if key == "References" else 1
                shared[key] += text.split("\n", heading)[heading]
        literal = node.body[0]
        indent = " " * literal.col_offset
        first, last = literal.lineno - 1, literal.end_lineno
        body = "".join(lines[first:last])
        quote = body.index('"""') + 3
        head, inner = body[:quote], body[quote : body.rindex('"""')]
        own = OWN.get((path, name), ())
        try:
            text = expanded(inspect.cleandoc(inner) + "\n", shared, own)
        except ValueError as error:
            raise ValueError(f"{path}, {name}: {error}") from None
        inner = "".join(indent * (line != "\n") + line for line in text.splitlines(keepends=True))
        lines[first:last] = [head + inner.lstrip() + f'{indent}"""\n']
    return source, "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only fail if anything is out of date")
    arguments = parser.parse_args()
    stale = []
    for path in dict.fromkeys(path for path, _ in TARGETS):
        before, after = rewritten(path)
        if before != after:
            stale.append(path)
            if not arguments.check:
                (ROOT / "sstruct" / path).write_text(after)
    if stale and arguments.check:
        sys.exit(f"docstrings are out of date in {', '.join(stale)}: run {Path(__file__).name}")


if __name__ == "__main__":
    main()
