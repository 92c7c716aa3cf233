"""Render formulas as MathML, which browsers draw without scripts, fonts or a network.

Sphinx's own renderer loads MathJax from a server when a page is read. docutils converts the part of
LaTeX that this manual uses.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# Browsers stretch norms, unlike parentheses, to the height of their exponents.
NORM, FIXED_NORM = "<mo>‖</mo>", '<mo stretchy="false">‖</mo>'


def to_mathml(tex, as_block):
    """Convert LaTeX to a MathML element."""
    return tex2mathml(tex.strip(), as_block=as_block).replace(NORM, FIXED_NORM)


def rendered(translator, node, as_block):
    try:
        translator.body.append(to_mathml(node.astext(), as_block))
    except MathError as error:
        LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


def visit_math(translator, node):
    rendered(translator, node, as_block=False)


def visit_displaymath(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    try:
        rendered(translator, node, as_block=True)
    finally:
        translator.body.append("</div>\n")


def setup(app):
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True}
