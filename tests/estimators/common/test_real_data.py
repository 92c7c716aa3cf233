"""Known optima and scores on the data sets of the benchmarks. Requires SSTRUCT_DATA."""

import gzip
import os
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM, LatentSSVM, PathCV
from sstruct.datasets import fetch_conll2000, fetch_lspet_pose, fetch_ocr_letters
from sstruct.masks import bio_transitions
from sstruct.metrics import chunk_f1_score
from sstruct.preprocessing import PerNode, SequenceVectorizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("SSTRUCT_DATA"), reason="SSTRUCT_DATA is not set"),
]


def test_ocr_letters_have_the_optimum_that_another_program_found():
    # An independent C++ program computed the dual 0.3810794 and the primal 0.3810823 for lam=0.01.
    letters = fetch_ocr_letters()
    train = np.flatnonzero(letters.fold != 0)
    X, y = [letters.data[i] for i in train], [letters.target[i] for i in train]
    model = ChainSSVM(lam=0.01, loss="hamming", pairwise_scale=1, tol=1e-4, random_state=0)
    model.fit(X, y)
    assert model.converged_
    assert model.dual_objective_ <= 0.3810823
    assert model.objective_ >= 0.3810794
    assert model.dual_gap_ <= 1e-4 * model.objective_
    test = np.flatnonzero(letters.fold == 0)
    error = 1 - model.score([letters.data[i] for i in test], [letters.target[i] for i in test])
    assert error == pytest.approx(0.123, abs=0.003)


def test_hidden_letters_are_completed_better_from_a_better_model():
    letters = fetch_ocr_letters()
    train, test = np.flatnonzero(letters.fold == 0), np.flatnonzero(letters.fold != 0)
    X, X_test = ([letters.data[i] for i in part] for part in (train, test))
    y, y_test = ([letters.target[i] for i in part] for part in (train, test))
    truth = np.concatenate(y)
    cut, strong = (ChainSSVM(lam=lam, ignore_label=-1, random_state=0) for lam in (0.03, 0.001))
    kernel = PerNode(Nystroem(gamma=0.05, n_components=1000, random_state=0))
    init = make_pipeline(kernel, LatentSSVM(strong))
    # Fits end in local optima, so sums over three choices of hidden letters are compared.
    wrong, score = np.zeros(2), np.zeros(2)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        partly = [np.where(rng.random(len(labels)) < 0.5, -1, labels) for labels in y]
        hidden = np.concatenate(partly) == -1
        for k, given in enumerate((None, init)):
            model = LatentSSVM(cut, init=given).fit(X, partly)
            wrong[k] += (np.concatenate(list(model.predict(X, partly))) != truth)[hidden].mean()
            score[k] += model.score(X_test, y_test)
    assert wrong[1] < wrong[0]
    assert score[1] > score[0]


def features(data):
    """Yield feature dicts of sentences: each word, its tag and the tags of its neighbors."""
    for sentence in data:
        words = [word for word, _ in sentence]
        tags = ["", *(tag for _, tag in sentence), ""]
        yield [
            {"w": word, "t": tags[k + 1], "t-": tags[k], "t+": tags[k + 2]}
            for k, word in enumerate(words)
        ]


def test_chunks_of_conll2000():
    train, test = fetch_conll2000(subset="train"), fetch_conll2000(subset="test")
    vectorizer = SequenceVectorizer()
    X = vectorizer.fit_transform(list(features(train.data[:3000])))
    model = ChainSSVM(
        loss="hamming-count", lam=0.003, transition_mask=bio_transitions, random_state=0
    ).fit(X, train.target[:3000])
    predicted = model.predict(vectorizer.transform(list(features(test.data))))
    assert model.converged_
    # It was 0.908 when this test was written; a broken mask or vectorizer would reduce it.
    assert chunk_f1_score(test.target, predicted) > 0.9
    for labels in predicted:
        for before, after in zip([None, *labels], [*labels, None]):
            assert bio_transitions(before, after)


def test_choosing_lambda_of_chunkers_inside_pipelines():
    train, test = fetch_conll2000(subset="train"), fetch_conll2000(subset="test")
    X, y = list(features(train.data[:240])), train.target[:240]
    held_out = list(features(test.data[:300])), test.target[:300]
    chain = ChainSSVM(loss="hamming-count", random_state=0)
    grid = GridSearchCV(
        make_pipeline(SequenceVectorizer(), chain),
        {"chainssvm__lam": np.geomspace(30, 0.001, 10)},
        cv=3,
    ).fit(X, y)
    path = make_pipeline(SequenceVectorizer(), PathCV(chain, eps=0.3, cv=3)).fit(X, y)
    assert grid.best_score_ > grid.cv_results_["mean_test_score"][0] + 0.05
    assert path[-1].best_score_ >= grid.best_score_ - 0.005
    assert path.score(*held_out) >= grid.score(*held_out) - 0.01
    nested = cross_val_score(path, X, y, cv=2)
    assert nested.shape == (2,)
    assert nested.min() > 0.8


def test_a_tree_finds_more_joints_than_their_detectors_alone():
    # On this small subset of hard poses, the gain is small.
    pose = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "pose.py"))
    rows = pose["run"](fetch_lspet_pose(), 0, lam=1e-3, tol=1e-2, n_train=200)
    tree, alone, place = (rows[name] for name in ("tree", "independent", "mean place"))
    assert tree["status"] == alone["status"] == "CONVERGED"
    assert tree["mean_distance"] < min(alone["mean_distance"], place["mean_distance"])
    assert tree["within_tenth"] > alone["within_tenth"]


def test_twenty_documents_adapt_tags_of_news_to_texts_of_the_web():
    folder = Path(os.environ["SSTRUCT_DATA"])
    news, web = (
        [
            [line.split(separator) for line in block.split("\n")]
            for block in gzip.decompress((folder / name).read_bytes())
            .decode()
            .strip()
            .split("\n\n")
        ]
        for name, separator in (
            ("conll2000_train.txt.gz", " "),
            ("ud_english_ewt_train.txt.gz", "\t"),
        )
    )
    with np.load(folder / "word_vectors_256.npz") as data:
        names, vectors = data["words"], data["vectors"].astype(np.float64)
    vectors *= 4 / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def embedded(sentences):
        """Return vectors of the previous, the current and the next word."""
        out = []
        for sentence in sentences:
            words = np.array([row[0] for row in sentence])
            at = np.minimum(np.searchsorted(names, words), len(names) - 1)
            x = np.pad(vectors[at] * (names[at] == words)[:, np.newaxis], ((1, 1), (0, 0)))
            out.append(np.hstack([x[:-2], x[1:-1], x[2:]]))
        return out

    def tags(sentences, column):
        return [[row[column] for row in sentence] for sentence in sentences]

    classes = sorted({tag for found in (*tags(news, 1), *tags(web, 2)) for tag in found})
    order = np.random.default_rng(0).permutation(len(news))[:1000]
    news = [news[i] for i in order]
    model = ChainSSVM(classes=classes, random_state=0)
    old = clone(model).fit(embedded(news), tags(news, 1))
    # The data do not separate documents; runs of five sentences replace them.
    documents = [web[k : k + 5] for k in range(0, len(web) - 5, 5)]
    for draw in range(5):
        order = np.random.default_rng(draw).permutation(len(documents))
        train, test = (
            [sentence for i in part for sentence in documents[i]]
            for part in (order[:20], order[20:220])
        )
        X, y, X_test, y_test = embedded(train), tags(train, 2), embedded(test), tags(test, 2)
        from_zero = clone(model).fit(X, y)
        adapted = clone(model).set_params(prior=old).fit(X, y)
        # On 480 documents, scores are 0.746 to 0.753 (old), 0.690 to 0.700 (from zero) and 0.766
        # to 0.774 (adapted).
        score = adapted.score(X_test, y_test)
        assert score > old.score(X_test, y_test) + 0.005
        assert score > from_zero.score(X_test, y_test) + 0.03
