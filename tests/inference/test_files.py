"""Test round trips of model files, published files, and errors for invalid files."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct.inference import MRF, read_dd, read_uai, read_uai_evidence, write_uai
from tests.inference import fuzz_files
from tests.inference.test_real_models import ENTRIES, FOLDER, NAMES
from tests.reference import mrf as reference


@given(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.5, 1.0]),
    kind=st.sampled_from(["real", "forbidding"]),
    n_factors=st.integers(0, 3),
    compressed=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_uai_round_trip(
    n_nodes, density, kind, n_factors, compressed, seed, new_rng, tmp_path_factory
):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, kind, n_factors=n_factors)
    path = tmp_path_factory.mktemp("uai") / ("model.uai" + ".gz" * compressed)
    model = MRF(*plain.arguments())
    write_uai(model, path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == compressed
    again = read_uai(path)
    assert again.n_labels.tolist() == model.n_labels.tolist()
    assert again.edges.tolist() == model.edges.tolist()
    np.testing.assert_allclose(again.node_costs, model.node_costs, atol=1e-15)
    for e in range(model.n_edges):
        np.testing.assert_allclose(again.edge_cost(e), model.edge_cost(e), atol=1e-15)
    for f in range(model.n_factors):
        assert again.factor(f)[0].tolist() == model.factor(f)[0].tolist()
        np.testing.assert_allclose(again.factor(f)[1], model.factor(f)[1], atol=1e-15)


def write(tmp_path, text, name="model"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_factors_of_same_nodes_are_added(tmp_path):
    # The file has a constant, two factors of a node, two of a pair in both directions, and tabs.
    path = write(
        tmp_path,
        "MARKOV\n2\n2 3\n5\n0\n1 0\n1 0\n2 0 1\n2 1 0\n\n1 0.5\n2 1 2\n2\n1\n4\n"
        "6 1 2 3\t4 5 6 6\n 1 2 1 0 1 1",
    )
    model = read_uai(path)
    assert model.edges.tolist() == [[0, 1]]
    first = np.array([[1.0, 2, 3], [4, 5, 6]])
    second = np.array([[1.0, 2], [1, 0], [1, 1]])
    for a in range(2):
        for b in range(3):
            potential = 0.5 * [1, 2][a] * [1, 4][a] * first[a, b] * second[b, a]
            expected = -np.log(potential) if potential else np.inf
            assert model.energy([a, b]) == pytest.approx(expected)


def test_equal_tables_are_stored_once(tmp_path):
    path = write(tmp_path, "MARKOV 3 2 2 2 2 2 0 1 2 1 2 4 1 2 3 4 4 1 2 3 4")
    assert len(read_uai(path).tables) == 4


def test_words_across_block_boundaries(tmp_path, monkeypatch):
    model = MRF(*reference.random_model(np.random.default_rng(0), 6, 1.0, n_factors=2).arguments())
    path = tmp_path / "model.uai"
    write_uai(model, path)
    expected = read_uai(path)
    dd = write(tmp_path, fuzz_files.DD)
    problems = read_dd(dd)
    for size in (1, 7, 100):
        monkeypatch.setattr("sstruct.inference._files.tokens._BLOCK", size + 30)
        np.testing.assert_array_equal(read_uai(path).tables, expected.tables)
        assert read_dd(dd).keys() == problems.keys()


SOUND = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n 0.5 1\n\n4\n 1 2\n 3 4\n"


@pytest.mark.parametrize(
    "text",
    [
        SOUND.replace("MARKOV", "BAYES"),
        SOUND.replace("MARKOV", "bayes"),
        SOUND.replace("MARKOV\n", ""),
        "\ufeff" + SOUND,
        "\ufeff" + SOUND.replace("MARKOV\n", ""),
        SOUND.replace("\n", "\r\n"),
        "# by hand\n" + SOUND,
        SOUND.replace("2 2\n", "2 2 # labels # of each\n#\n# 3 3\n", 1) + "# 17",
        SOUND.replace("0.5", "5D-01"),
        SOUND.replace("0.5", "5.0d-1").replace(" 1 2\n", " 1E0 .2D+01\n"),
    ],
)
@pytest.mark.parametrize("block", [2**20, 33])
def test_format_variants_of_public_archives(tmp_path, text, block, monkeypatch):
    monkeypatch.setattr("sstruct.inference._files.tokens._BLOCK", block)
    model = read_uai(write(tmp_path, text))
    np.testing.assert_allclose(model.node_costs, [-np.log(0.5), 0, 0, 0])
    np.testing.assert_allclose(model.tables, -np.log([1, 2, 3, 4]))


def test_line_numbers_of_errors_include_comments(tmp_path):
    text = "# one\n\n# three\n" + SOUND.replace("0.5", "half")
    with pytest.raises(ValueError, match="line 12: 'half' found"):
        read_uai(write(tmp_path, text))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0", {}),
        ("1 0\n", {}),
        ("1\n0\n", {}),
        ("0 0", {}),
        ("0\n0\n", {}),
        ("2 0 1 3 2", {0: 1, 3: 2}),
        ("1\n2 0 1 3 2\n", {0: 1, 3: 2}),
        ("1\r\n 2\r\n 0 1\r\n 3 2\r\n", {0: 1, 3: 2}),
        ("\ufeff1\n1 5 0", {5: 0}),
        ("1 5 0", {5: 0}),
        ("# seen\n1 # sample\n1 5 0", {5: 0}),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_evidence(tmp_path, text, expected, compressed):
    data = gzip.compress(text.encode()) if compressed else text
    assert read_uai_evidence(write(tmp_path, data)) == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1: the file ends before the number of observed nodes"),
        ("1", "line 1: the file ends before the number of observed nodes"),
        ("2 0 1", "found 2 numbers after the number of observed nodes, expected 4"),
        ("1\n2 0 1 3\n", "found 4 numbers after the number of observed nodes, expected 2"),
        ("2\n1 0 1\n2 3 1 4 0\n", "found 2 samples of evidence, expected one; write each"),
        ("3\n1 0 1\n0\n2 3 1 4 0\n", "found 3 samples of evidence"),
        ("2\n1 0 1\n2 3 1 4\n", "found 7 numbers after the number of observed nodes, expected 4"),
        ("0 0 1", "found 2 numbers after the number of observed nodes, expected 0"),
        ("0 1 5 0", "found 3 numbers after the number of observed nodes, expected 0"),
        ("9 2", "found 1 numbers after the number of observed nodes, expected 18"),
        ("1 -1 0", "line 1: a node or a label is -1"),
        ("1 a 0", "line 1: 'a' found, expected a node or a label"),
        ("2 5 0\n5 1", "line 2: node 5 is observed twice"),
    ],
)
def test_malformed_evidence(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"model, .*{message}"):
        read_uai_evidence(write(tmp_path, text))


def test_evidence_with_too_many_numbers(tmp_path):
    with pytest.raises(ValueError, match="more than max_entries=10"):
        read_uai_evidence(write(tmp_path, "8" + " 1" * 16), max_entries=10)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(tmp_path, compress):
    data = compress(SOUND.encode())
    expected = read_uai(write(tmp_path, SOUND))
    found = read_uai(write(tmp_path, data))
    np.testing.assert_array_equal(found.node_costs, expected.node_costs)
    np.testing.assert_array_equal(found.tables, expected.tables)
    with pytest.raises(ValueError, match="cannot read the rest of the file"):
        read_uai(write(tmp_path, data[:-9]))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("MARKOV", "BAYESIAN", "line 1: 'BAYESIAN' found, expected MARKOV, BAYES or the number"),
        ("2\n2 2\n2", "-2\n2 2\n2", "line 2: the number of variables is -2"),
        ("\n2 2\n", "\n2 0\n", "line 3: the number of labels of node 1 is 0"),
        ("\n2 2\n", "\n2 2.5\n", "line 3: '2.5' found, expected the number of labels of node 1"),
        (
            "\n2 2\n",
            "\n2 999999\n",
            "line 3: labels of node 1: the file declares more than max_entries=1000",
        ),
        ("\n2\n1 0", "\n2\n1 2", "line 5: a node of factor 0 is 2, expected 0 to 1"),
        ("\n2 0 1", "\n2 1 1", "line 6: factor 1 contains a node twice"),
        ("\n2 0 1", "\n32 0 1", "line 6: factor 1 has 32 nodes, expected at most 31"),
        ("\n4\n", "\n8\n", r"line 11: the table of factor 1 has 8 entries, expected 4.*\(2, 2\)"),
        ("0.5", "nan", "line 9: the table of factor 0, which ends here, has the entry nan"),
        ("0.5", "-0.5", "line 9: the table of factor 0, which ends here, has the entry -0.5"),
        ("3", "1e999", "line 13: the table of factor 1, which ends here, has the entry inf"),
        ("3", "three", "line 13: 'three' found, expected a number of the table of factor 1"),
        ("3", "3" * 1000, "line 13: '3{40}' found"),
        ("3 4\n", "3\n", "line 14: the file ends within the table of factor 1.*3 of 4"),
        ("3 4\n", "3 4\n\n5\n", "line 15: '5' found after the last table"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_malformed_models(tmp_path, old, new, message, compressed):
    assert SOUND.count(old) == 1 or old == "3"
    text = SOUND.replace(old, new).encode()
    path = write(tmp_path, gzip.compress(text) if compressed else text)
    with pytest.raises(ValueError, match=f"model, {message}"):
        read_uai(path, max_entries=1000)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("p 2 3 4 3", "q 2 3 4 3", "line 3: 'q' found, expected a problem"),
        ("p 2 3 4 3", "p 0 3 4 3", "line 3: the number of left nodes is 0"),
        ("p 2 3 4 3", "p 2 3 4 2", "line 10: 'e' found after the last pair"),
        ("p 2 3 4 3", "p 2 3 4 4", "line 11: 'gm' found, expected pair 3"),
        (
            "p 2 3 4 3",
            "p 2 3 4 999",
            "line 3: 4 assignments, 999 pairs: the file declares more than max_entries",
        ),
        (
            "p 2 3 4 3",
            "p 90000 90000 4 3",
            "line 3: 90000 left and 90000 right nodes: the file declares more than",
        ),
        ("a 1 0 2", "a 2 0 2", "line 5: the id of assignment 1 is 2"),
        ("a 1 0 2", "a 1 2 2", "line 5: the left node of assignment 1 is 2, expected 0 to 1"),
        ("a 1 0 2", "a 1 0 0", "line 5: assignment 1 of 0 to 0 is given twice"),
        ("a 1 0 2 0.25", "a 1 0 2 inf", "line 5: the cost of assignment 1 is inf"),
        ("e 0 3", "e 3 3", "line 8: pair 0 joins assignment 3 with itself"),
        ("e 0 3", "e 0 4", "line 8: the second assignment of pair 0 is 4"),
        ("gm 1 2", "gm 0 1", r"line 11: the pair of graphs \(0, 1\) is given twice"),
        ("a 0 0 0 3\n", "", "line 13: the file ends before assignment 0"),
    ],
)
def test_malformed_matchings(tmp_path, old, new, message):
    path = write(tmp_path, fuzz_files.DD.decode().replace(old, new))
    with pytest.raises(ValueError, match=f"model, {message}"):
        read_dd(path, max_entries=500)


def test_read_dd(tmp_path):
    problem = read_dd(write(tmp_path, fuzz_files.DD))[0, 1]
    inf = np.inf
    np.testing.assert_array_equal(problem.unary, [[-1.5, inf, 0.25], [1, -2, inf]])
    pairwise = np.zeros((6, 6))
    pairwise[0, 4], pairwise[2, 3], pairwise[2, 4] = 0.5, -1.5, 4
    np.testing.assert_array_equal(problem.pairwise.toarray(), pairwise)


def test_too_long_text(tmp_path):
    blank = write(tmp_path, gzip.compress(b" \n" * (33 * 2**20)))
    with pytest.raises(ValueError, match=r"line .*: the file has more than .* bytes of text"):
        read_uai(blank, max_entries=1000)
    word = write(tmp_path, gzip.compress(b"1" * (3 * 2**20)))
    with pytest.raises(ValueError, match="line 1: a word or a line has more than"):
        read_uai(word)


def test_costs_without_finite_potential(tmp_path):
    (tmp_path / "a.uai").write_text("unchanged")
    with pytest.raises(ValueError, match=r"edge_cost\(0\)\[1, 0\] is 800.0"):
        write_uai(MRF(np.zeros((2, 2)), [[0, 1]], [[0.0, 0.0], [800.0, 0.0]]), tmp_path / "a.uai")
    assert (tmp_path / "a.uai").read_text() == "unchanged"


def test_writing_with_swapped_arguments(tmp_path):
    model = MRF(np.zeros((2, 2)), [[0, 1]], np.eye(2))
    with pytest.raises(TypeError, match="mrf must be an MRF, found str"):
        write_uai(str(tmp_path / "a.uai"), model)


def test_damaged_files(rng, tmp_path):
    counts = fuzz_files.fuzz(rng, tmp_path, lambda n: n < 400)
    assert counts["read"] > 10
    assert counts["rejected"] > 200


QUICK = ("sidechain2008", "segmentation_12", "ising_grid20x20.f10.wrap", "gm_opengm1")


@pytest.mark.parametrize(
    "name",
    [
        name if name.startswith(QUICK) else pytest.param(name, marks=pytest.mark.slow)
        for name in NAMES
        if name.endswith((".uai.gz", ".dd.gz", " 0 1", " 6 7"))
    ],
)
def test_sizes_of_published_files(name):
    entry = json.loads(ENTRIES.read_text())[name]
    if name.endswith(".uai.gz"):
        model = read_uai(FOLDER / name)
        assert model.n_nodes == entry["n"]
        assert model.n_labels.min() == entry["card_min"]
        assert model.n_labels.max() == entry["card_max"]
        larger = entry["factors_by_arity"][1:]
        assert [model.n_edges, model.n_factors][: len(larger)] == larger
        return
    file, *pair = name.split()
    problem = read_dd(FOLDER / file)
    problem = problem[tuple(map(int, pair[1:]))] if pair else problem
    assert problem.unary.shape == (entry["n_left"], entry["n_right"])
    assert np.isfinite(problem.unary).sum() == entry["assignments"]
    assert problem.pairwise.nnz == entry["edges"]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_uai, "MARKOV " + "9" * 900_000, "expected the number of variables"),
        (read_dd, "c " + "x" * 900_000 + "\np 1 1", "the file ends"),
        # Large declared sizes without the corresponding data.
        (read_uai, "MARKOV 1 100000000 0", "nodes without factors have 100000000 labels"),
        (read_dd, "p 10000 10000 1 0\na 0 0 0 1.0", "for 1 assignments"),
    ],
)
def test_time_and_memory_depend_on_the_length_of_the_text(tmp_path, read, text, message):
    # If the time were quadratic in the length of the longest word, this would take minutes.
    path = tmp_path / "long"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path)
