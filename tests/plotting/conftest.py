"""Use a backend without a screen, and close the figures of each test."""

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")
