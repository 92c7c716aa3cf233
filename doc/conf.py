"""Sphinx configuration."""

import os
import sys
import zlib
from pathlib import Path

import sstruct

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "sstruct"
author = "The sstruct developers"
copyright = "2026, the sstruct developers"
release = version = sstruct.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "jupyterlite_sphinx",
    # In doc/extensions.
    "reference_pages",
    "changelog",
    "mathml",
    "notebooks",  # after jupyterlite_sphinx
]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    # The tutorials have an index, because their order matters.
    "copyfile_regex": r"index\.rst",
    "filename_pattern": r"/plot_",
    # The gallery starts with tasks.
    "within_subsection_order": "gallery_order.TaskOrder",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sstruct",),
    "reference_url": {"sstruct": None},
    "remove_config_comments": True,
    "plot_gallery": True,
    # Its page loads scripts from other servers.
    "write_computation_times": False,
    # Buttons that open a notebook in the browser, with Python compiled to WebAssembly.
    "jupyterlite": {
        "notebook_modification_function": "notebooks.with_installation",
        "jupyterlite_contents": "_build/jupyterlite_contents",
    },
}
jupyterlite_bind_ipynb_suffix = False
# An empty inventory replaces those that cannot be downloaded, so that the manual can be built
# offline, without links to other manuals.
NO_ENTRIES = Path(__file__).parent / "_build" / "no_entries.inv"
NO_ENTRIES.parent.mkdir(exist_ok=True)
NO_ENTRIES.write_bytes(
    b"# Sphinx inventory version 2\n# Project: none\n# Version: 0\n"
    b"# The remainder of this file is compressed using zlib.\n" + zlib.compress(b"")
)
intersphinx_mapping = {
    name: (url, (None, str(NO_ENTRIES)))
    for name, url in {
        "python": "https://docs.python.org/3",
        "numpy": "https://numpy.org/doc/stable",
        "scipy": "https://docs.scipy.org/doc/scipy",
        "sklearn": "https://scikit-learn.org/stable",
        "matplotlib": "https://matplotlib.org/stable",
        "joblib": "https://joblib.readthedocs.io/en/latest",
    }.items()
}
intersphinx_timeout = 10
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
plot_formats = ["svg"]
plot_rcparams = {"savefig.bbox": "tight"}
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
# Types are documented in the docstrings.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "sstruct"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_logo = "_static/logo.svg"
# Single pages have no sidebar, since there are no other pages to list.
html_sidebars = {
    page: []
    for page in ("install", "quickstart", "which_estimator", "benchmarks", "faq")
    + ("related_projects", "glossary", "architecture", "changelog", "deprecation")
}
html_show_sourcelink = False
# The theme reads the list of versions from a path of the server: published manuals only.
MANUAL_PATH = os.environ.get("SSTRUCT_MANUAL_PATH", "")
html_theme_options = {"check_switcher": False}  # it would read the path of the server as a file
if MANUAL_PATH:
    html_theme_options |= {
        "switcher": {
            "json_url": f"{MANUAL_PATH}/_static/switcher.json",
            "version_match": version,
        },
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
        "header_links_before_dropdown": 4,  # so that the header is one line on 1280 pixels
    }


def without_compiled(app):
    """Remove modules without Python source, which have no page, from the index of sources."""
    modules = getattr(app.env, "_viewcode_modules", {})
    for name in [name for name, entry in modules.items() if not entry]:
        del modules[name]
    return []


def defining_module(app, module, attribute):
    """Return the name of the module with the source of a function, which may be private."""
    function = getattr(sys.modules.get(module), attribute, None)
    return getattr(function, "__globals__", {}).get("__name__")


def setup(app):
    app.connect("html-collect-pages", without_compiled, priority=400)  # before viewcode
    app.connect("viewcode-follow-imported", defining_module)
