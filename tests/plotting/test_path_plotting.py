"""Test lines and labels of RegularizationPathDisplay."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sstruct import ChainSSVM, GridCRFSSVM, PathCV, ssvm_path
from sstruct.datasets import make_grids, make_sequences
from sstruct.metrics import flat_f1_score, make_flat_scorer
from sstruct.plotting import RegularizationPathDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def data():
    return make_sequences(n_samples=40, random_state=0)


@pytest.fixture(scope="module")
def path(data):
    return ssvm_path(ChainSSVM(random_state=0), *data, eps=0.05)


def test_objectives(path):
    display = RegularizationPathDisplay.from_path(path)
    primal, dual = display.lines_
    assert [line.get_label() for line in display.lines_] == ["primal", "dual"]
    lams = primal.get_xdata()
    assert (np.diff(lams) <= 0).all()
    assert lams[0] == pytest.approx(10 * path.lams_[0])
    assert set(path.lams_) <= set(lams)
    assert (primal.get_ydata() - dual.get_ydata() <= 0.05).all()
    assert (primal.get_ydata() >= dual.get_ydata() - 1e-12).all()
    for lam, value in zip(path.lams_, path.history_["primal"], strict=True):
        assert primal.get_ydata()[lams == lam][0] == pytest.approx(value)
    assert display.ax_.xaxis_inverted()
    assert display.ax_.get_xscale() == "log"
    assert display.figure_ is display.ax_.figure


def test_gap_and_its_tolerance(path):
    gap, bound = RegularizationPathDisplay.from_path(path, y="gap").lines_
    assert gap.get_ydata().max() <= 0.05
    assert gap.get_ydata().max() > 0.0499  # at the end of a segment
    assert bound.get_ydata()[0] == 0.05


def test_scores(path, data):
    X, y = data
    display = RegularizationPathDisplay.from_path(
        path, train=(X, y), validation=(X[:9], y[:9]), y="score"
    )
    training, validation = display.lines_
    assert [line.get_label() for line in display.lines_] == ["training", "validation"]
    for row in (0, 3, len(path.lams_) - 1):
        lam = path.lams_[row]
        for line, n in ((training, 40), (validation, 9)):
            drawn = line.get_ydata()[line.get_xdata() == lam]
            assert drawn[0] == path.estimator(lam).score(X[:n], y[:n])
    display = RegularizationPathDisplay.from_path(
        path, validation=(X, y), scoring=make_flat_scorer(flat_f1_score, average="macro"), y="score"
    )
    expected = flat_f1_score(y, path.predict(X, path.lams_[0]), average="macro")
    assert display.lines_[0].get_ydata()[0] == pytest.approx(expected)


def test_working_set_size_in_given_axes(path):
    _, ax = plt.subplots()
    display = RegularizationPathDisplay.from_path(path, y="working_set_size", ax=ax, color="red")
    assert display.ax_ is ax
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_ydata(), path.history_["working_set_size"])
    assert line.get_color() == "red"


def test_labels_of_approximate_objectives():
    X, y = make_grids(n_samples=6, shape=(4, 4), n_labels=3, random_state=0)
    path = ssvm_path(GridCRFSSVM(random_state=0), X, y, lam_min=0.1)
    display = RegularizationPathDisplay.from_path(path)
    assert [line.get_label() for line in display.lines_] == [
        "primal (approximate)",
        "dual (approximate)",
    ]


def test_invalid_y(path):
    display = RegularizationPathDisplay.from_path(path)
    with pytest.raises(ValueError, match="y must be one of"):
        display.plot(y="norm")
    with pytest.raises(
        ValueError, match=r"no score: pass train=\(X, y\) or validation to from_path"
    ):
        display.plot(y="score")
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("lam_min", [0.5, None])
def test_scores_of_a_search_are_a_step_function_of_lambda(data, lam_min):
    search = PathCV(ChainSSVM(random_state=0), cv=3, lam_min=lam_min).fit(*data)
    display = RegularizationPathDisplay.from_estimator(search)
    curve, best = display.lines_
    lams, scores = curve.get_data()
    assert (np.diff(lams) <= 0).all()
    assert lams[0] == search.cv_results_["param_lam"][0]
    assert lams[-1] == search.lam_end_
    np.testing.assert_array_equal(lams[1:-1:2], np.nextafter(lams[2::2], np.inf))
    for at in (0, 1, 2, 3, 40, len(lams) - 2):
        assert scores[at] == pytest.approx(np.mean(search.split_scores(lams[at])))
    assert best.get_xdata()[0] == search.best_lam_
    assert scores[lams == search.best_lam_][0] == search.best_score_
    assert curve.get_label() == "mean over folds"
    assert display.ax_.xaxis_inverted()


def test_scores_of_a_search_without_refit_over_given_values(data):
    search = PathCV(ChainSSVM(random_state=0), cv=3, lams=[0.1, 1.0, 0.5], refit=False).fit(*data)
    _, ax = plt.subplots()
    display = RegularizationPathDisplay.from_estimator(search, ax=ax, marker="o")
    assert display.ax_ is ax
    lams, scores = display.lines_[0].get_data()
    np.testing.assert_array_equal(lams, [1.0, 0.5, 0.1])
    np.testing.assert_array_equal(scores, search.cv_results_["mean_test_score"])
    assert display.lines_[0].get_marker() == "o"


def test_error_for_other_objects_than_paths():
    for other in (PathCV(ChainSSVM()), ChainSSVM(), None):
        with pytest.raises(TypeError, match=r"path must be a RegularizationPath.*from_estimator"):
            RegularizationPathDisplay.from_path(other)
    assert plt.get_fignums() == []


def test_searches_that_cannot_be_drawn(path):
    with pytest.raises(TypeError, match=r"must be a fitted PathCV.*use from_path"):
        RegularizationPathDisplay.from_estimator(path)
    with pytest.raises(TypeError, match="must be a fitted PathCV"):
        RegularizationPathDisplay.from_estimator(ChainSSVM())
    with pytest.raises(NotFittedError):
        RegularizationPathDisplay.from_estimator(PathCV(ChainSSVM()))
