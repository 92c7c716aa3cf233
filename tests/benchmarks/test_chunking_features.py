"""The feature template of benchmarks/chunking_features.py on two short sentences."""

import pytest


@pytest.fixture
def template(script):
    return script("chunking_features")


def test_attributes_outside_the_sentence_are_left_out(template):
    first, second = template.sentence_features([("He", "PRP"), ("runs", "VBZ")])
    assert first == {
        **{"w[0]": "He", "w[1]": "runs", "w[0]|w[1]": "He|runs"},
        **{"pos[0]": "PRP", "pos[1]": "VBZ", "pos[0]|pos[1]": "PRP|VBZ", "__BOS__": True},
    }
    assert second == {
        **{"w[-1]": "He", "w[0]": "runs", "w[-1]|w[0]": "He|runs"},
        **{"pos[-1]": "PRP", "pos[0]": "VBZ", "pos[-1]|pos[0]": "PRP|VBZ", "__EOS__": True},
    }
    assert template.sentence_features([]) == []


def test_inner_tokens_have_all_features(template):
    row = template.sentence_features([(letter, letter.upper()) for letter in "abcde"])[2]
    assert len(row) == 19
    assert row["w[-2]"] == "a"
    assert row["pos[-2]|pos[-1]|pos[0]"] == "A|B|C"
    assert row["pos[0]|pos[1]|pos[2]"] == "C|D|E"


def test_reads_sentences(template, tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("He PRP B-NP\nruns VBZ B-VP\n\n. . O\n", encoding="utf-8")
    data, target = template.read_conll2000(path)
    assert data == [[("He", "PRP"), ("runs", "VBZ")], [(".", ".")]]
    assert target == [["B-NP", "B-VP"], ["O"]]
    assert len(template.chunking_features(data)) == 2
