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
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    # The tutorials have an index of their own: their order matters.
    "copyfile_regex": r"index\.rst",
    "filename_pattern": r"/plot_",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sstruct",),
    "reference_url": {"sstruct": None},
    "remove_config_comments": True,
    "plot_gallery": True,
}
autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "sstruct"
html_static_path = ["_static"]
html_logo = "_static/logo.svg"
# A single page has no others to list at its side; those of the gallery and the API do.
html_sidebars = {
    page: []
    for page in ("install", "which_estimator", "benchmarks", "glossary")
    + ("architecture", "changelog")
}
html_show_sourcelink = False


def setup(app):
    app.add_css_file("columns.css")
