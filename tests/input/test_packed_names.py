"""Names survive being packed into bytes, whatever they are; damaged bytes are refused."""

import gc
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct import ChainSSVM
from sstruct._input import packed_names
from sstruct._input.packed_names import KEY, pack_names, unpack_names
from sstruct.preprocessing import SequenceVectorizer

# With zero characters, and with halves of surrogate pairs, which UTF-8 has no bytes for.
TEXT = st.text(st.characters(categories=None), max_size=4) | st.sampled_from(["", "\0", "\ud800"])


def names_array(names):
    return np.array([*names, None], dtype=object)[:-1]


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_names_come_back(names):
    packed = pack_names({"names_": names_array(names), "other": 3})
    assert packed.keys() == {KEY, "other"}
    found = unpack_names(pickle.loads(pickle.dumps(packed)))
    assert found["names_"].tolist() == names
    assert found["names_"].dtype == object
    assert found["other"] == 3


@pytest.mark.parametrize(
    "value",
    [
        names_array([]),
        names_array(["a", 1]),
        names_array(["a", np.str_("b")]),
        names_array([("a", "b")]),
        np.array(["a", "b"]),
        names_array("abcd").reshape(2, 2),
        ["a"],
        np.ma.array(["a"], dtype=object),
    ],
    ids=str,
)
def test_other_values_stay_as_they_are(value):
    state = {"value_": value}
    assert pack_names(state)["value_"] is value
    assert unpack_names(pack_names(state))["value_"] is value


def test_one_array_stays_one_array():
    names = names_array(["a", "b"])
    state = pickle.loads(pickle.dumps((pack_names({"a_": names}), pack_names({"b_": names}))))
    first, second = map(unpack_names, state)
    assert first["a_"] is second["b_"]
    del state, first, second, names
    gc.collect()
    assert not packed_names._converted


def test_a_change_in_place_is_saved():
    names = names_array(["a", "b"])
    pack_names({"a_": names})
    names[0] = "c"
    assert unpack_names(pack_names({"a_": names}))["a_"].tolist() == ["c", "b"]


@pytest.fixture
def model():
    X = [[{"w": "He"}, {"w": "runs"}], [{"w": "She"}]]
    vectorizer = SequenceVectorizer()
    return vectorizer, ChainSSVM(lam=0.1).fit(vectorizer.fit_transform(X), [["a", "b"], ["a"]])


DAMAGED = {
    "not a dict": lambda packed: 3,
    "no bytes": lambda packed: packed | {"feature_names_in_": names_array(["a", "b", "c"])},
    "2-D": lambda packed: packed | {"feature_names_in_": np.zeros((1, 2), dtype=np.uint8)},
    "not UTF-8": lambda packed: packed | {"feature_names_in_": np.full(3, 0x80, dtype=np.uint8)},
    "too few": lambda packed: packed | {"feature_names_in_": np.full(3, 65, dtype=np.uint8)},
    "given twice": lambda packed: packed | {"_w": np.full(3, 65, dtype=np.uint8)},
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_names_are_refused(model, damage):
    state = model[1].__getstate__()
    state[KEY] = DAMAGED[damage](state[KEY])
    again = object.__new__(ChainSSVM)
    with pytest.raises(ValueError, match=r"ChainSSVM.* damaged"):
        again.__setstate__(state)


def test_a_vocabulary_needs_distinct_names(model):
    state = model[0].__getstate__()
    assert "vocabulary_" not in state
    again = SequenceVectorizer()
    again.__setstate__(state)
    assert again.vocabulary_ == model[0].vocabulary_
    state[KEY] = {"_column_names": pack_names({"names": names_array("aba")})[KEY]["names"]}
    with pytest.raises(ValueError, match="vocabulary_ is"):
        again.__setstate__(state)


def test_a_pipeline_keeps_its_names_once(model):
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded[0]._column_names is loaded[1].feature_names_in_
    assert loaded[0].get_feature_names_out().tolist() == ["w:He", "w:runs", "w:She"]
