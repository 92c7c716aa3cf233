"""Generate the content of doc/changelog.rst from CHANGELOG.md."""

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
UNDERLINES = {1: "=", 2: "-", 3: "~"}


def to_rst(text):
    """Convert the Markdown of the changelog to reStructuredText."""
    out = []
    for line in text.splitlines():
        line = re.sub(r"\[([^\]]+)\]\((http[^)]+)\)", r"`\1 <\2>`__", line)
        line = re.sub(r"(?<!`)`([^`]+)`(?!`|_)", r"``\1``", line)
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            out += [heading[2], UNDERLINES[len(heading[1])] * len(heading[2])]
        else:
            out.append(line)
    return "\n".join(out) + "\n"


def fill(app, name, source):
    if name == "changelog":
        source[0] = ":orphan:\n\n" + to_rst(SOURCE.read_text())


def outdated_pages(app, env, added, changed, removed):
    """Return the page in every build, since Sphinx does not track CHANGELOG.md."""
    return ["changelog"]


def setup(app):
    app.connect("source-read", fill)
    app.connect("env-get-outdated", outdated_pages)
    return {"parallel_read_safe": True}
