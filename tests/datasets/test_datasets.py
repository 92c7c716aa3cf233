"""Test formats, splits and downloads of data sets."""

import dataclasses
import gzip
import hashlib
import os
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from sstruct.datasets import (
    _cache,
    _fetched,
    fetch_conll2000,
    fetch_ocr_letters,
    load_digit_dates,
    load_ewt_sample,
    make_sequences,
)


def real_file(name):
    """Return the path of a file in the data folder of the environment."""
    path = Path(os.environ.get("SSTRUCT_DATA") or "no-such-folder", name)
    if not path.exists():
        pytest.skip(f"{name} not found in $SSTRUCT_DATA")
    return path


def test_ewt_sample():
    bunch = load_ewt_sample()
    words, tags = load_ewt_sample(return_X_y=True)
    assert (words, tags) == (bunch.data, bunch.target)
    assert len(words) == 300
    assert [*map(len, words)] == [*map(len, tags)]
    assert all(6 <= len(sentence) <= 25 and all(sentence) for sentence in words)
    assert len({tag for sentence in tags for tag in sentence}) == 17
    assert "CC BY-SA 4.0" in bunch.DESCR


def test_digit_dates_layout():
    bunch = load_digit_dates(n_train=7)
    assert len(bunch.data) == len(bunch.target) == len(bunch.dates) == 7
    for x, y, images, text in zip(bunch.data, bunch.target, bunch.images, bunch.dates):
        assert x.shape == (10, 64)
        assert x.dtype == np.float64
        assert x.min() >= 0
        assert x.max() <= 1
        assert np.array_equal(images.reshape(10, 64), x)
        assert "".join(bunch.target_names[k] for k in y) == text
        assert date.fromisoformat(text).year in (1998, 1999)
    assert len(bunch.feature_names) == 64


def test_digit_dates_are_written_with_the_images_they_name():
    from sklearn.datasets import load_digits

    digits = load_digits()
    bunch = load_digit_dates(subset="test", n_test=40)
    for x, y, index in zip(bunch.data, bunch.target, bunch.image_index):
        assert np.array_equal(index < 0, y == 10)
        written = index >= 0
        assert np.array_equal(x[written], digits.data[index[written]] / 16)
        assert np.array_equal(y[written], digits.target[index[written]])


@pytest.mark.parametrize("random_state", range(3))
def test_no_image_in_both_training_and_test_dates(random_state):
    train, test = (
        set(np.concatenate(load_digit_dates(subset=s, random_state=random_state).image_index))
        for s in ("train", "test")
    )
    assert train & test == {-1}


def test_digit_dates_use_the_images_of_a_digit_evenly():
    bunch = load_digit_dates()
    index, label = np.concatenate(bunch.image_index), np.concatenate(bunch.target)
    for digit in range(10):
        uses = np.unique(index[label == digit], return_counts=True)[1]
        assert uses.max() - uses.min() <= 1


def test_digit_dates_all_is_train_then_test():
    sizes = {"n_train": 20, "n_test": 30}
    every = load_digit_dates(subset="all", **sizes)
    train, test = (load_digit_dates(subset=s, **sizes) for s in ("train", "test"))
    assert every.dates == train.dates + test.dates
    assert np.array_equal(np.array(every.data), np.array(train.data + test.data))
    # The test dates do not depend on the number of training dates.
    assert load_digit_dates(subset="test", n_train=5, n_test=30).dates == test.dates


def test_digit_dates_random_state_and_return_X_y():
    X, y = load_digit_dates(n_train=5, return_X_y=True)
    bunch = load_digit_dates(n_train=5)
    assert np.array_equal(X, bunch.data)
    assert np.array_equal(y, bunch.target)
    assert load_digit_dates(n_train=5, random_state=1).dates != bunch.dates


def test_digit_dates_years():
    bunch = load_digit_dates(n_train=300, years=(1900, 2099))
    years = [int(text[:4]) for text in bunch.dates]
    assert min(years) < 1920
    assert max(years) > 2080


def test_make_sequences_layout():
    X, y = make_sequences(50, n_labels=3, n_features=2, min_length=2, max_length=6, random_state=0)
    assert len(X) == len(y) == 50
    assert {len(x) for x in X} == set(range(2, 7))
    for x, labels in zip(X, y):
        assert x.shape == (len(labels), 2)
        assert labels.ndim == 1
        assert set(labels) <= {0, 1, 2}


def test_make_sequences_without_noise_returns_the_label_centers():
    X, y = make_sequences(30, noise=0, random_state=0)
    flat_X, flat_y = np.vstack(X), np.concatenate(y)
    for label in np.unique(flat_y):
        assert len(np.unique(flat_X[flat_y == label], axis=0)) == 1


def test_markov_labels_follow_the_transition_matrix():
    from sstruct.datasets._synthetic import _markov_labels

    transitions = np.array([[0.0, 0.3, 0.7], [1.0, 0.0, 0.0], [0.2, 0.2, 0.6]])
    labels = _markov_labels(transitions, 20_000, 10, np.random.RandomState(0))
    counts = np.zeros((3, 3))
    np.add.at(counts, (labels[:, :-1], labels[:, 1:]), 1)
    assert np.all(counts[transitions == 0] == 0)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), transitions, atol=0.01)


def letter_data(arrays):
    """Return the text of letter.data with the given words, in the format of the source."""
    lines = []
    for word, (start, end) in enumerate(zip(arrays["offsets"][:-1], arrays["offsets"][1:])):
        for i in range(start, end):
            next_id = i + 2 if i + 1 < end else -1
            fields = [i + 1, chr(ord("a") + arrays["labels"][i]), next_id, word + 1, i - start + 1]
            pixels = (arrays["pixels"][i] + ord("0")).tobytes().decode()
            # A tab ends the line in the source.
            lines.append("\t".join(map(str, [*fields, arrays["fold"][word], *pixels])) + "\t\n")
    return "".join(lines)


@pytest.fixture
def words():
    """Return three short words in the layout of ocr_letters.npz."""
    rng = np.random.default_rng(0)
    return {
        "pixels": rng.integers(0, 2, (9, 128), dtype=np.uint8),
        "labels": np.array([0, 25, 3, 3, 1, 2, 7, 7, 7], dtype=np.uint8),
        "lengths": np.array([4, 2, 3], dtype=np.int32),
        "offsets": np.array([0, 4, 6, 9], dtype=np.int64),
        "fold": np.array([0, 7, 8], dtype=np.uint8),
    }


def change_source(monkeypatch, name, **changes):
    """Replace the addresses and hashes of a data set."""
    changed = dataclasses.replace(_fetched.SOURCES[name], **changes)
    monkeypatch.setitem(_fetched.SOURCES, name, changed)


def serve_words(monkeypatch, server, arrays, known=None):
    folder, url, _ = server
    (folder / "letter.data.gz").write_bytes(gzip.compress(letter_data(arrays).encode()))
    change_source(monkeypatch, "ocr_letters", url=f"{url}/letter.data.gz")
    if known is not None:
        hashes = tuple(hashlib.sha256(v.tobytes()).hexdigest() for v in known.values())
        change_source(monkeypatch, "ocr_letters", sha256={"all": hashes})


def test_ocr_letters_download(monkeypatch, server, words, tmp_path):
    serve_words(monkeypatch, server, words, known=words)
    home = tmp_path / "new" / "cache"
    bunch = fetch_ocr_letters(data_home=home)
    assert [len(x) for x in bunch.data] == [4, 2, 3]
    assert bunch.data[0].dtype == np.float32
    assert "".join(bunch.target_names[k] for k in bunch.target[0]) == "azdd"
    assert bunch.fold.tolist() == [0, 7, 8]
    with np.load(home / "ocr_letters.npz", allow_pickle=False) as arrays:
        assert set(arrays) == set(words)
        for name, array in words.items():
            assert arrays[name].dtype == array.dtype
            assert np.array_equal(arrays[name], array)
    # The second call downloads nothing, and no temporary file is left.
    X, y = fetch_ocr_letters(data_home=home, return_X_y=True)
    assert np.array_equal(X[2], bunch.data[2])
    assert np.array_equal(y[2], bunch.target[2])
    assert len(server[2]) == 1
    assert os.listdir(home) == ["ocr_letters.npz"]


def test_ocr_letters_of_scattered_lines(words):
    lines = letter_data(words).splitlines()
    # Words are in the order of their first letters, for any positions of the others.
    scattered = [lines[i] for i in (3, 0, 2, 4, 1, 6, 8, 7, 5)]
    arrays = _fetched._parse_letters("\n".join(scattered), "a page")
    for name, array in words.items():
        assert np.array_equal(arrays[name], array)


@pytest.mark.slow
def test_real_ocr_letters_round_trip(monkeypatch, server, tmp_path):
    with np.load(real_file("ocr_letters.npz"), allow_pickle=False) as file:
        arrays = dict(file)
    # Checked against the hashes in the package.
    serve_words(monkeypatch, server, arrays)
    downloaded = fetch_ocr_letters(data_home=tmp_path)
    assert len(server[2]) == 1
    cached = fetch_ocr_letters(data_home=os.environ["SSTRUCT_DATA"])
    assert len(server[2]) == 1
    for key in ("data", "target"):
        assert np.array_equal(np.concatenate(downloaded[key]), np.concatenate(cached[key]))
    assert len(cached.data) == len(cached.target) == len(cached.fold) == 6877
    assert [np.count_nonzero(cached.fold == k) for k in (0, 1, 9)] == [626, 704, 675]
    assert "".join(cached.target_names[k] for k in cached.target[0]) == "ommanding"


def test_damaged_download_leaves_no_file(monkeypatch, server, words, tmp_path):
    other = words | {"labels": words["labels"] + 1 - 2 * (words["labels"] > 3)}
    serve_words(monkeypatch, server, other, known=words)
    with pytest.raises(OSError, match=r"SHA256 checksum of array 'labels' "):
        fetch_ocr_letters(data_home=tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_error_for_short_line(words):
    text = letter_data(words) + "10\ta\t-1\t4\t1\t0\t0\n"
    with pytest.raises(OSError, match=r"Letter 9 of a page has 7 fields, expected 134"):
        _fetched._parse_letters(text, "a page")


def test_missing_page(monkeypatch, server, tmp_path):
    change_source(monkeypatch, "ocr_letters", url=f"{server[1]}/gone.gz")
    with pytest.raises(OSError, match=r"Could not download .*gone\.gz"):
        fetch_ocr_letters(data_home=tmp_path)
    assert not (tmp_path / "ocr_letters.npz").exists()


@pytest.mark.parametrize("fetch", [fetch_ocr_letters, fetch_conll2000])
def test_download_if_missing_false(fetch, tmp_path):
    with pytest.raises(OSError, match="not found and download_if_missing is False"):
        fetch(data_home=tmp_path / "nothing", download_if_missing=False)
    assert not (tmp_path / "nothing").exists()


def test_error_without_pooch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"sstruct\[data\]"):
        fetch_ocr_letters(data_home=tmp_path)


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SSTRUCT_DATA", str(tmp_path))
    assert _cache.cache_path(None, "a") == tmp_path / "a"
    assert _cache.cache_path("elsewhere", "a") == Path("elsewhere", "a")
    monkeypatch.delenv("SSTRUCT_DATA")
    assert _cache.cache_path(None, "a") == Path.home() / "sstruct_data" / "a"


SENTENCES = "He PRP B-NP\nruns VBZ B-VP\n\nNo UH B-INTJ\n. . O\n\n"


@pytest.mark.parametrize(
    "served", [SENTENCES, SENTENCES.rstrip() + "\n", SENTENCES.replace("\n", " \r\n")]
)
def test_conll2000_download(monkeypatch, server, tmp_path, served):
    folder, url, requests = server
    (folder / "test.txt.gz").write_bytes(gzip.compress(served.encode()))
    change_source(monkeypatch, "conll2000", url=url + "/{part}.txt.gz")
    known = hashlib.sha256(SENTENCES.encode()).hexdigest()
    change_source(monkeypatch, "conll2000", sha256={"test": (known,)})
    bunch = fetch_conll2000(subset="test", data_home=tmp_path)
    assert bunch.data == [[("He", "PRP"), ("runs", "VBZ")], [("No", "UH"), (".", ".")]]
    assert bunch.target == [["B-NP", "B-VP"], ["B-INTJ", "O"]]
    assert bunch.target_names == ["B-INTJ", "B-NP", "B-VP", "O"]
    assert gzip.decompress((tmp_path / "conll2000_test.txt.gz").read_bytes()) == SENTENCES.encode()
    X, y = fetch_conll2000(subset="test", data_home=tmp_path, return_X_y=True)
    assert (X, y) == (bunch.data, bunch.target)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("subset", "n_sentences", "n_tokens", "n_tags"),
    [("train", 8936, 211727, 22), ("test", 2012, 47377, 19)],
)
def test_real_conll2000(monkeypatch, server, tmp_path, subset, n_sentences, n_tokens, n_tags):
    folder, url, _ = server
    served = real_file(f"conll2000_{subset}.txt.gz").read_bytes()
    (folder / f"{subset}.txt.gz").write_bytes(served)
    change_source(monkeypatch, "conll2000", url=url + "/{part}.txt.gz")
    # Checked against the hashes in the package.
    bunch = fetch_conll2000(subset=subset, data_home=tmp_path)
    assert len(bunch.data) == len(bunch.target) == n_sentences
    assert [len(x) for x in bunch.data] == [len(y) for y in bunch.target]
    assert sum(map(len, bunch.target)) == n_tokens
    assert len(bunch.target_names) == n_tags


def test_conll2000_subset_error():
    with pytest.raises(ValueError, match="subset must be"):
        fetch_conll2000(subset="dev")
