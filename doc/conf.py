"""Sphinx configuration."""

import sstruct

project = "sstruct"
author = "The sstruct developers"
copyright = "2026, the sstruct developers"
release = version = sstruct.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "sstruct"
html_show_sourcelink = False
