"""Packing does not change names and sparse weights; damaged packed values raise errors."""

import gc
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct import ChainSSVM
from sstruct._input import packed_state
from sstruct._input.packed_state import KEY, MIN_WEIGHTS, SPARSE, pack_state, unpack_state
from sstruct.preprocessing import SequenceVectorizer

# With zero characters, and with lone surrogates, which UTF-8 cannot encode.
TEXT = st.text(st.characters(categories=None), max_size=4) | st.sampled_from(["", "\0", "\ud800"])


def names_array(names):
    return np.array([*names, None], dtype=object)[:-1]


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_names_are_restored(names):
    packed = pack_state({"names_": names_array(names), "other": 3})
    assert packed.keys() == {KEY, "other"}
    found = unpack_state(pickle.loads(pickle.dumps(packed)))
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
def test_other_values_are_not_packed(value):
    state = {"value_": value}
    assert pack_state(state)["value_"] is value
    assert unpack_state(pack_state(state))["value_"] is value


def test_one_array_stays_one_array():
    names = names_array(["a", "b"])
    state = pickle.loads(pickle.dumps((pack_state({"a_": names}), pack_state({"b_": names}))))
    first, second = map(unpack_state, state)
    assert first["a_"] is second["b_"]
    del state, first, second, names
    gc.collect()
    assert not packed_state._converted


def test_a_change_in_place_is_saved():
    names = names_array(["a", "b"])
    pack_state({"a_": names})
    names[0] = "c"
    assert unpack_state(pack_state({"a_": names}))["a_"].tolist() == ["c", "b"]


@pytest.fixture
def model():
    X = [[{"w": "He"}, {"w": "runs"}], [{"w": "She"}]]
    vectorizer = SequenceVectorizer()
    return vectorizer, ChainSSVM(lam=0.1).fit(vectorizer.fit_transform(X), [["a", "b"], ["a"]])


DAMAGED = {
    "not a dict": lambda packed: 3,
    "not bytes": lambda packed: packed | {"feature_names_in_": names_array(["a", "b", "c"])},
    "2-D": lambda packed: packed | {"feature_names_in_": np.zeros((1, 2), dtype=np.uint8)},
    "not UTF-8": lambda packed: packed | {"feature_names_in_": np.full(3, 0x80, dtype=np.uint8)},
    "too few": lambda packed: packed | {"feature_names_in_": np.full(3, 65, dtype=np.uint8)},
    "given twice": lambda packed: packed | {"_w": np.full(3, 65, dtype=np.uint8)},
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_names(model, damage):
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
    state[KEY] = {"_column_names": pack_state({"names": names_array("aba")})[KEY]["names"]}
    with pytest.raises(ValueError, match="vocabulary_ is"):
        again.__setstate__(state)


def test_pipeline_stores_its_names_once(model):
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded[0]._column_names is loaded[1].feature_names_in_
    assert loaded[0].get_feature_names_out().tolist() == ["w:He", "w:runs", "w:She"]


@given(
    st.floats(0, 1),
    st.integers(MIN_WEIGHTS - 1, 2 * MIN_WEIGHTS),
    st.integers(0, 2**31),
    st.sampled_from([1.0, -0.0, 5e-324]),
)
def test_weights_are_restored_to_the_bit(share, size, seed, value):
    w = np.zeros(size)
    w[np.random.default_rng(seed).random(size) < share] = value
    packed = pack_state({"_w": w})
    assert len(pickle.dumps(packed)) <= w.nbytes + 1000
    found = unpack_state(pickle.loads(pickle.dumps(packed)))
    assert found.keys() == {"_w"}
    assert found["_w"].tobytes() == w.tobytes()


@pytest.fixture
def sparse_model(rng):
    X = [np.eye(2000)[rng.integers(0, 2000, 3)] for _ in range(60)]
    y = [rng.integers(0, 3, 3) for _ in X]
    return ChainSSVM(lam=0.1, tol=0.5, random_state=0).fit(X, y)


def test_mostly_zero_weights_are_stored_as_nonzeros(sparse_model):
    state = pickle.dumps(sparse_model)
    assert len(state) < sparse_model._w.nbytes / 2
    assert pickle.loads(state).w_.tobytes() == sparse_model.w_.tobytes()


DAMAGED_WEIGHTS = {
    "not a dict": lambda packed: 3,
    "no size": lambda packed: {k: v for k, v in packed.items() if k != "size"},
    "a huge size": lambda packed: packed | {"size": 2**50},
    "a size that is not an integer": lambda packed: packed | {"size": 1e4},
    "too small": lambda packed: packed | {"size": packed["size"] - 1},
    "outside": lambda packed: packed | {"places": packed["places"] + 2**20},
    "negative": lambda packed: packed | {"places": packed["places"] - 2**20},
    "floats": lambda packed: packed | {"places": packed["places"].astype(float)},
    "2-D": lambda packed: packed | {"values": packed["values"][:, None]},
    "fewer values": lambda packed: packed | {"values": packed["values"][1:]},
    "nothing": lambda packed: packed | {k: packed[k][:0] for k in ("places", "values")},
}


@pytest.mark.parametrize("damage", DAMAGED_WEIGHTS)
def test_damaged_weights(sparse_model, damage):
    state = sparse_model.__getstate__()
    state[SPARSE] = DAMAGED_WEIGHTS[damage](state[SPARSE])
    again = object.__new__(ChainSSVM)
    with pytest.raises(ValueError, match=r"ChainSSVM.* damaged"):
        again.__setstate__(state)
    state = sparse_model.__getstate__() | {"_w": sparse_model._w}
    with pytest.raises(ValueError, match="_w occurs twice"):
        again.__setstate__(state)
