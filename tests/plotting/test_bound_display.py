"""BoundDisplay draws the curves of the histories."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sstruct.inference import MRF, map_mrf
from sstruct.plotting import BoundDisplay


@pytest.fixture
def results(rng):
    edges = [(u, v) for u in range(8) for v in range(u)]
    model = MRF(rng.normal(size=(8, 3)), edges, rng.normal(size=(len(edges), 3, 3)))
    return {method: map_mrf(model, method, max_iter=20) for method in ("trws", "icm")}


def test_curves_are_the_history(results):
    display = BoundDisplay.from_result(results["trws"])
    history = results["trws"].history
    energy, bound = display.lines_
    shown = np.isfinite(history["lower_bound"])
    np.testing.assert_array_equal(energy.get_ydata(), history["energy"])
    np.testing.assert_array_equal(bound.get_ydata(), history["lower_bound"][shown])
    np.testing.assert_array_equal(bound.get_xdata(), history["seconds"][shown])
    assert (energy.get_linestyle(), bound.get_linestyle()) == ("-", "--")
    assert energy.get_color() == bound.get_color()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "trws, energy",
        "trws, lower bound",
    ]


def test_several_runs_in_given_axes(results):
    _, ax = plt.subplots()
    display = BoundDisplay.from_results(results, ax=ax, x="iterations", linewidth=3)
    assert display.ax_ is ax
    # ICM has no bound.
    assert len(display.lines_) == 3
    assert {line.get_linewidth() for line in display.lines_} == {3}
    assert display.lines_[0].get_xdata().tolist() == list(
        range(len(results["trws"].history["energy"]))
    )


def test_invalid_axis(results):
    figures = plt.get_fignums()
    with pytest.raises(ValueError, match="x must be one of"):
        BoundDisplay.from_results(results, x="hours")
    assert plt.get_fignums() == figures


def test_error_for_other_objects_than_results(results):
    with pytest.raises(TypeError, match=r"^result must be a MapResult.*found \[1\]"):
        BoundDisplay.from_result([1])
    with pytest.raises(TypeError, match=r"^results\['a'\] must be a MapResult.*found 'trws'"):
        BoundDisplay.from_results({"a": "trws"})
    with pytest.raises(TypeError, match=r"^results must be a dict by name, found \["):
        BoundDisplay.from_results(list(results.values()))
