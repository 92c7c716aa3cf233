"""Mistakes in the input that would otherwise be unnoticed raise errors or warnings."""

import io
import logging
import pickle
import re
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    PathCV,
    Sequences,
    ssvm_path,
)
from sstruct._solvers.core.status import Limit
from sstruct.datasets import make_sequences
from sstruct.solvers import BCFW, MPBCFW

PAIR = np.array([[0, 1]])


@pytest.fixture
def chains(rng):
    X = [rng.standard_normal((length, 3)) for length in (4, 2, 3, 3)]
    return X, [(x[:, 0] > 0).astype(int) for x in X]


def two_dimensional(x):
    """Return one sample in all formats that could be interpreted as rows."""
    return {
        "array": x,
        "lists": x.tolist(),
        "rows": list(x),
        "csr": sparse.csr_matrix(x),
        "wide": np.ones((2, 7)),
    }


@pytest.mark.parametrize("kind", ["array", "lists", "rows", "csr", "wide"])
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_top_k", "score"])
def test_error_for_one_sequence(chains, kind, method):
    X, y = chains
    model = ChainSSVM(lam=0.1, random_state=0).fit(X, y)
    more = {"predict_top_k": (2,), "score": (y[0],)}.get(method, ())
    with pytest.raises(ValueError, match="one sequence is a list of one array") as caught:
        getattr(model, method)(two_dimensional(X[0])[kind], *more)
    assert "ChainSSVM was fitted on sequences" in str(caught.value)
    assert len(model.predict([X[0]])[0]) == 4


@pytest.mark.parametrize("pack", [Sequences.from_list, lambda X: np.stack([x[:2] for x in X])])
def test_every_kind_of_sequences_is_remembered(chains, pack):
    X, y = chains
    data = pack(X)
    labels = [own[: len(x)] for own, x in zip(y, data)]
    model = ChainSSVM(lam=0.1, random_state=0).fit(data, labels)
    restored = pickle.loads(pickle.dumps(model))
    path = ssvm_path(ChainSSVM(random_state=0), data, labels, eps=0.1)
    for known in (model, restored, path.estimator(0.5)):
        with pytest.raises(ValueError, match="one sequence is a list of one array"):
            known.predict(data[0])


def test_rows_are_predicted_by_models_of_rows(chains):
    X, y = chains
    rows, labels = np.concatenate(X), np.concatenate(y)
    model = ChainSSVM(lam=0.1, random_state=0).fit(rows, labels)
    assert model.predict(X[0]).shape == (4,)
    assert len(model.predict([X[0]])) == 1
    model.fit(X, y)  # now a model of sequences
    with pytest.raises(ValueError, match="one sequence"):
        model.predict(X[0])


def test_error_for_one_image_or_graph(rng):
    images = [rng.standard_normal((3, 4, 4)) for _ in range(3)]
    grid = GridCRFSSVM(lam=1, random_state=0).fit(images, [(x[..., 0] > 0) * 1 for x in images])
    for wrong in (images[0][:, :, 0], np.ones((5, 2)), images[0][0].tolist()):
        with pytest.raises(ValueError, match="one image is a list of one array"):
            grid.predict(wrong)
    with pytest.raises(ValueError, match=r"for a single image x use \[x\]"):
        grid.predict(images[0])
    graphs = [(rng.standard_normal((2, 2)), PAIR) for _ in range(4)]
    graph = GraphCRFSSVM(lam=1, random_state=0).fit(graphs, [[0, 1]] * 4)
    one = "one graph is a list of one tuple"
    for wrong in (graphs[0][0], graphs[0], list(graphs[0]), (np.ones((2, 5)), PAIR)):
        with pytest.raises(ValueError, match=one):
            graph.predict(wrong)
    with pytest.raises(ValueError, match=one):
        GraphCRFSSVM().fit(graphs[0], [0, 1])
    assert len(graph.predict([graphs[0]])[0]) == 2
    rows = GraphCRFSSVM(lam=1, random_state=0).fit(np.eye(2), [0, 1])
    assert rows.predict(np.eye(2)).shape == (2,)


@pytest.mark.parametrize(
    "edges", [[[0, 1], [1, 2]], [(0, 1)], sparse.csr_array(np.eye(4)[::-1]), np.array([[0, 1]])]
)
def test_error_for_the_parts_of_one_graph(rng, edges):
    nodes = rng.standard_normal((4, 3))
    model = GraphCRFSSVM(lam=0.1, random_state=0).fit([(nodes, edges)], [[0, 1, 0, 1]])
    for X in ((nodes, edges), [nodes, edges]):
        with pytest.raises(ValueError, match=r"X is one graph, .*: one graph is a list of one"):
            model.predict(X)
        with pytest.raises(ValueError, match=r"X is one graph, .*: one graph is a list of one"):
            GraphCRFSSVM().fit(X, [0, 1, 0, 1])


def test_error_for_gray_images_without_channel(rng):
    images = rng.standard_normal((3, 4, 5))
    labels = (images > 0).astype(int)
    for X in (images, list(images)):
        with pytest.raises(ValueError, match=r"gr[ae]y image.*\[\.\.\., np\.newaxis\]"):
            GridCRFSSVM().fit(X, labels)
    GridCRFSSVM(lam=1).fit(images[..., np.newaxis], labels)


def padded(dtype=int):
    y = np.array([[0, 1, 2, 1], [1, 0, -1, -1], [2, -1, -1, -1]], dtype=dtype)
    return np.random.default_rng(0).standard_normal((3, 4, 2)), y


@pytest.mark.parametrize("dtype", [int, np.int8, float])
def test_error_for_padded_labels(dtype):
    X, y = padded(dtype)
    model = ChainSSVM(lam=0.1, random_state=0)
    before = dict(vars(model))
    message = r"y\[1\] ends in -1 from node 2 on.*Set ignore_label=-1.*classes=\["
    for data, labels in ((X, y), (list(X), y), (X, y.tolist())):
        with pytest.raises(ValueError, match=message):
            model.fit(data, labels)
    assert vars(model) == before
    assert model.set_params(ignore_label=-1).fit(X, y).classes_.tolist() == [0, 1, 2]
    # Labels of -1 are accepted if classes contains -1.
    model.set_params(ignore_label=None, classes=np.unique(y)).fit(X, y)
    assert model.classes_.tolist() == [-1, 0, 1, 2]


def test_error_for_padded_images(rng):
    X, y = rng.standard_normal((2, 3, 4, 2)), rng.integers(0, 2, (2, 3, 4))
    y[1, 2:], y[1, :, 3:] = -1, -1
    with pytest.raises(ValueError, match=r"y\[1\] ends in -1 from pixel \(0, 3\) on"):
        GridCRFSSVM(ignore_label=None).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[1\] ends in -1 from pixel \(0, 3\) on"):
        GridCRFSSVM(ignore_label=None).fit(X, y.tolist())
    assert GridCRFSSVM(lam=10, random_state=0).fit(X, y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    "y",
    [
        [[1, 1, -1, -1], [1, -1, -1, -1], [1, 1, 1, 1]],  # two classes
        [[0, -1, 2, 1], [1, 0, -1, -1], [2, -1, -1, -1]],  # one within
        [[-1, 0, 0, 0], [1, 0, -1, -1], [2, -1, -1, -1]],  # one at the start
        [[0, 1, 2, 1], [-1, -1, -1, -1], [2, 2, 1, 1]],  # whole sequences
        [["0", "1", "0", "0"], ["1", "0", "-1", "-1"], ["0", "-1", "-1", "-1"]],
    ],
)
def test_minus_one_may_be_a_label(y):
    X, _ = padded()
    assert len(ChainSSVM(lam=0.1, random_state=0).fit(X, np.array(y)).classes_) > 1


def test_lists_of_labels_are_not_padded():
    X, y = padded()
    assert ChainSSVM(lam=0.1, random_state=0).fit(list(X), y.tolist()).classes_[0] == -1


@pytest.mark.parametrize(
    "parameters, limit, message",
    [
        (
            {"max_iter": 3},
            Limit.PASSES,
            "after 3 passes, before tol=0: max_iter=3 passes were made",
        ),
        (
            {"max_iter": 4, "solver": BCFW(cache=True)},
            Limit.CALLS,
            "after 4 passes, before tol=0: 160 oracle calls were made, the limit for",
        ),
        (
            {"max_iter": 50, "solver": BCFW(cache=True, sampling="gap")},
            Limit.ROUNDS,
            "500 rounds, 10 times max_iter=50, were made, and most visits used a cached",
        ),
        ({"max_time": 1e-9}, Limit.TIME, "the time limit max_time=1e-09 was reached"),
    ],
    ids=lambda value: value if isinstance(value, Limit) else "",
)
def test_warnings_name_the_limit_that_ended_a_fit(parameters, limit, message):
    X, y = make_sequences(n_samples=40, random_state=0)
    model = ChainSSVM(lam=0.05, tol=0, random_state=0, **parameters)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    text = str(caught[0].message)
    assert message in text
    other = "max_iter" if limit is Limit.TIME else "max_time"
    assert other not in text
    assert f"Increase {'max_time' if limit is Limit.TIME else 'max_iter'}, or tol" in text
    assert model.status_ == ("TIME_LIMIT" if limit is Limit.TIME else "MAX_ITER")


def shares(text):
    """Return the percentages that a progress bar has shown, in order."""
    return [int(number) for number in re.findall(r"(\d+)%\|", text)]


@pytest.mark.parametrize(
    "solver",
    ["mp-bcfw", MPBCFW(sampling="uniform"), BCFW(sampling="gap"), "fw", "gdmm"],
    ids=str,
)
def test_progress_never_decreases_and_is_full_when_converged(monkeypatch, solver):
    pytest.importorskip("tqdm")
    X, y = make_sequences(n_samples=40, random_state=0)
    for parameters, status in (
        ({"tol": 0.3}, "CONVERGED"),
        ({"max_iter": 2, "tol": 1e-8}, "MAX_ITER"),
    ):
        # tqdm reads sys.stderr when a bar is created.
        screen = io.StringIO()
        monkeypatch.setattr("sys.stderr", screen)
        model = ChainSSVM(lam=0.05, solver=solver, random_state=0, verbose=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(**parameters).fit(X, y)
        monkeypatch.undo()
        shown = shares(screen.getvalue())
        assert model.status_ == status
        assert shown == sorted(shown)
        assert shown[0] == 0
        assert (shown[-1] == 100) == (status == "CONVERGED")
        assert shown.count(100) <= 2  # when the fit has ended, and when the bar is closed


def whole(X):
    return np.concatenate(X)


LENGTHS = {
    "list": lambda X, y: (X, y),
    "object arrays": lambda X, y: (list(X), [labels.tolist() for labels in y]),
    "sequences": lambda X, y: (Sequences.from_list(X), Sequences.from_list(y)),
    "rows": lambda X, y: (whole(X), whole(y)),
    "lists of rows": lambda X, y: (whole(X).tolist(), whole(y).tolist()),
    "one sequence": lambda X, y: ([whole(X)], [whole(y)]),
}


@pytest.mark.parametrize("form", LENGTHS)
@pytest.mark.parametrize("pack", [list, np.array, tuple], ids=["list", "array", "tuple"])
def test_lengths_are_rejected_as_sample_weights(chains, form, pack):
    X, y = LENGTHS[form](*chains)
    lengths = pack([len(x) for x in chains[0]])
    for model in (
        ChainSSVM(),
        ChainSSVM(solver=MPBCFW(early_stopping=True)),
        LatentSSVM(ChainSSVM()),
        PathCV(ChainSSVM(), cv=2, lams=[0.1]),
    ):
        if isinstance(model, PathCV) and form == "one sequence":
            continue  # no folds
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"Sequences\.from_lengths\(X, lengths\)"):
            model.fit(X, y, lengths)
        assert vars(model) == before


def test_integers_that_are_not_the_lengths_are_weights(chains):
    X, y = chains  # of lengths 4, 2, 3, 3

    def fit(X, y, weights):
        return ChainSSVM(lam=0.1, random_state=0).fit(X, y, weights).w_

    np.testing.assert_array_equal(fit(X, y, [4.0, 2.0, 3.0, 3.0]), fit(X, y, [8, 4, 6, 6]))
    for weights in ([1, 1, 1, 1], [3, 3, 3, 3], [2, 4, 3, 3], [4, 2, 3, 0]):
        expected = fit(X, y, np.array(weights, dtype=float))
        np.testing.assert_array_equal(fit(X, y, weights), expected)
    ones = [x[:1] for x in X], [labels[:1] for labels in y]
    np.testing.assert_array_equal(fit(*ones, [1, 1, 1, 1]), fit(*ones, None))


class BrokenPipe(io.StringIO):
    """A stream that raises BrokenPipeError after some writes."""

    def __init__(self, n_writes=0):
        super().__init__()
        self.n_writes = n_writes

    def write(self, text):
        self.n_writes -= 1
        if self.n_writes < 0:
            raise BrokenPipeError(32, "Broken pipe")
        return len(text)


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("verbose", [1, 2])
@pytest.mark.parametrize(
    "stream",
    [lambda: None, closed, BrokenPipe, lambda: BrokenPipe(4)],
    ids=["none", "closed", "broken", "breaks"],
)
def test_a_fit_does_not_need_a_console(chains, monkeypatch, verbose, stream):
    pytest.importorskip("tqdm")
    expected = ChainSSVM(lam=0.01, random_state=0).fit(*chains)
    logger = logging.getLogger("sstruct")
    before = logger.level, list(logger.handlers)
    monkeypatch.setattr(logger, "propagate", False)  # so that the handler of pytest is not used
    monkeypatch.setattr("sys.stderr", stream())
    model = ChainSSVM(lam=0.01, random_state=0, verbose=verbose).fit(*chains)
    monkeypatch.undo()
    assert (logger.level, list(logger.handlers)) == before
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.status_ == "CONVERGED"


def test_lines_of_a_fit_that_begins_during_another_one_and_ends_after_it(chains, caplog):
    logger = logging.getLogger("sstruct")
    second_runs, first_is_over = threading.Event(), threading.Event()
    first, second = (ChainSSVM(lam=0.01, random_state=0, verbose=2) for _ in range(2))

    def wait_for_first(info):
        second_runs.set()
        assert first_is_over.wait(60)

    def start_second(info):
        thread.start()
        assert second_runs.wait(60)
        return True

    thread = threading.Thread(target=second.set_callbacks(wait_for_first).fit, args=chains)
    first.set_callbacks(start_second).fit(*chains)
    first_is_over.set()
    thread.join()
    assert logger.level == logging.NOTSET
    assert first.n_iter_ == 1 < second.n_iter_
    assert len(caplog.messages) == first.n_iter_ + second.n_iter_


def test_lines_are_logged_unless_the_logger_or_a_level_is_disabled(chains, caplog, monkeypatch):
    logger, model = logging.getLogger("sstruct"), ChainSSVM(random_state=0, verbose=2)
    monkeypatch.setattr(logging.getLogger(), "level", logging.ERROR)
    assert logger.getEffectiveLevel() == logging.ERROR
    n_passes = model.fit(*chains).n_iter_
    assert [record.levelno for record in caplog.records] == [logging.INFO] * n_passes
    assert {record.filename for record in caplog.records} == {"progress.py"}
    caplog.clear()
    for owner, name, value in (
        (logger, "level", logging.WARNING),
        (logger, "disabled", True),
        (logger.manager, "disable", logging.INFO),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(owner, name, value)
            model.fit(*chains)
    assert not caplog.records
