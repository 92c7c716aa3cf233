"""Masks of tagging schemes allow the encodings of chunks and nothing else."""

from itertools import pairwise, product

import numpy as np
import pytest

from sstruct import ChainSSVM
from sstruct.masks import bio_transitions, bioes_transitions

SCHEMES = {"BIO": bio_transitions, "BIOES": bioes_transitions}


def chunkings(length, kinds):
    """All ways to cover `length` places by chunks (length, kind) and single places outside."""
    if length == 0:
        yield ()
    for size in range(1, length + 1):
        for kind in (None, *kinds) if size == 1 else kinds:
            for rest in chunkings(length - size, kinds):
                yield ((size, kind), *rest)


def encoded(chunks, scheme):
    """The tags of chunks, written down as the scheme defines them."""
    tags = []
    for size, kind in chunks:
        if kind is None:
            letters = "O"
        elif scheme == "BIO":
            letters = "B" + "I" * (size - 1)
        else:
            letters = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
        tags += [letter + f"-{kind}" * bool(kind) for letter in letters]
    return tuple(tags)


@pytest.mark.parametrize("kinds", [("X",), ("X", "Y-Z"), ("",)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_sequences_are_the_encodings_of_chunkings(scheme, kinds):
    allows = SCHEMES[scheme]
    letters = [letter for letter in scheme if letter != "O"]
    tags = ["O", *(letter + f"-{kind}" * bool(kind) for letter in letters for kind in kinds)]
    for length in (1, 2, 3, 4):
        allowed = {
            tags
            for tags in product(tags, repeat=length)
            if all(allows(a, b) for a, b in pairwise((None, *tags, None)))
        }
        assert allowed == {encoded(chunks, scheme) for chunks in chunkings(length, kinds)}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_predictions_are_encodings_of_chunkings(scheme, rng):
    kinds = ("X", "Y")
    valid = [encoded(chunks, scheme) for chunks in chunkings(4, kinds)]
    y = [valid[i] for i in rng.permutation(len(valid))[:60]]
    X = list(rng.standard_normal((60, 4, 3)))
    model = ChainSSVM(transition_mask=SCHEMES[scheme], lam=0.1, random_state=0).fit(X, y)
    predicted = model.predict(list(5 * rng.standard_normal((200, 4, 3))))
    free = ChainSSVM(lam=0.1, random_state=0).fit(X, y)
    assert {tuple(labels) for labels in predicted} <= set(valid)
    assert not {tuple(labels) for labels in free.predict(5 * rng.standard_normal((200, 4, 3)))} <= (
        set(valid)
    )


WRONG = {
    "BIO": ["E-X", "S-X", "X", "", "o", "O-X", "B-", "BX", "-X", "BI", "BIO", 3, ("B", "X"), 0.5],
    "BIOES": ["L-X", "U-X", "X", "", "o", "O-X", "E-", "SX", "-X", "ES", "BIOES", 3, True],
}


@pytest.mark.parametrize(
    "scheme, wrong", [(scheme, wrong) for scheme in WRONG for wrong in WRONG[scheme]]
)
def test_labels_of_no_scheme_are_refused_by_name(scheme, wrong):
    allows = SCHEMES[scheme]
    for pair in ((wrong, "O"), ("O", wrong), (None, wrong), (wrong, None), ("B-X", wrong)):
        with pytest.raises(ValueError) as caught:
            allows(*pair)
        assert f"label {wrong!r} does not follow the {scheme} scheme" in str(caught.value)
        assert "expected 'O', 'B-type', 'I-type'" in str(caught.value)


def test_a_mask_of_the_wrong_scheme_is_refused_before_the_fit():
    X, y = [np.eye(2)], [["B-X", "E-X"]]
    model = ChainSSVM(transition_mask=bio_transitions)
    with pytest.raises(ValueError, match=r"label 'E-X' .* there is sstruct.masks.bioes_trans"):
        model.fit(X, y)
    assert not hasattr(model, "w_")
    ChainSSVM(transition_mask=bioes_transitions, lam=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\] ends with 'B-X', which transition_mask forbids"):
        ChainSSVM(transition_mask=bioes_transitions).fit(X, [["S-X", "B-X"]])
    with pytest.raises(ValueError, match=r"from 'B-X' to 'E-Y' at node 1, which transition_mask"):
        ChainSSVM(transition_mask=bioes_transitions).fit(X, [["B-X", "E-Y"]])


def test_a_mask_is_copied_into_the_model():
    mask = np.array([[False, True], [True, True]]).T.copy(order="F")
    model = ChainSSVM(transition_mask=mask, max_iter=2).fit([np.eye(2)], [[0, 1]])
    mask[:] = False
    np.testing.assert_array_equal(model.predict([np.eye(2)])[0], [0, 1])


def test_errors_of_a_callable_go_out_with_a_note():
    with pytest.raises(TypeError, match="exactly one argument") as caught:
        ChainSSVM(transition_mask=len).fit([np.eye(2)], [["a", "b"]])
    assert caught.value.__notes__ == ["raised by transition_mask('a', 'a')"]
