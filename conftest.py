"""Settings of the tests and of the doctests in the package."""

import os
import sys

# Figures of examples are drawn without a display.
os.environ.setdefault("MPLBACKEND", "Agg")
# scikit-learn skips its array API check unless SciPy was imported with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Files that Sphinx writes next to the sources of the manual: examples, which are tested in
# examples/, and pages of docstrings, which are tested in the package. The settings of Sphinx write
# files when they are imported.
collect_ignore_glob = [
    "doc/conf.py",
    "doc/_build/*",
    "doc/gallery/*",
    "doc/generated/*",
    "doc/tutorials/*",
]


def pytest_runtest_teardown():
    """Close the figures of examples, since matplotlib warns if many are open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
