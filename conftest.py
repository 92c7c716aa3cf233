"""Settings of the tests and of the doctests in the package."""

import os
import sys

# Figures of examples are drawn without a display.
os.environ.setdefault("MPLBACKEND", "Agg")
# scikit-learn skips its array API check unless SciPy was imported with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# What Sphinx writes beside the manual's sources: examples that run as such, and pages that
# docstrings test.
collect_ignore_glob = ["doc/_build/*", "doc/gallery/*", "doc/generated/*", "doc/tutorials/*"]


def pytest_runtest_teardown():
    """Close figures: of examples, which do not, too many in one process are a warning."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
