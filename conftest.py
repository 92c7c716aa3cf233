"""Settings of the tests and of the doctests in the package."""

import os

# Figures of examples are drawn without a display.
os.environ.setdefault("MPLBACKEND", "Agg")
