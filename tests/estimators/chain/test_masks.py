"""Masks of tagging schemes allow exactly the encodings of chunks."""

import copy
import pickle
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, LatentSSVM, PathCV, ssvm_path
from sstruct.masks import bio_transitions, bioes_transitions

SCHEMES = {"BIO": bio_transitions, "BIOES": bioes_transitions}


def chunkings(length, kinds):
    """Yield all divisions of `length` positions into chunks (length, kind) and single ones."""
    if length == 0:
        yield ()
    for size in range(1, length + 1):
        for kind in (None, *kinds) if size == 1 else kinds:
            for rest in chunkings(length - size, kinds):
                yield ((size, kind), *rest)


def encoded(chunks, scheme):
    """Return the tags of chunks, by the definition of the scheme."""
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


WRONG = {
    "BIO": ["E-X", "S-X", "X", "", "o", "O-X", "B-", "BX", "-X", "BI", "BIO", 3, ("B", "X"), 0.5],
    "BIOES": ["L-X", "U-X", "X", "", "o", "O-X", "E-", "SX", "-X", "ES", "BIOES", 3, True],
}


@pytest.mark.parametrize(
    "scheme, wrong", [(scheme, wrong) for scheme in WRONG for wrong in WRONG[scheme]]
)
def test_error_for_labels_of_another_scheme(scheme, wrong):
    allows = SCHEMES[scheme]
    for pair in ((wrong, "O"), ("O", wrong), (None, wrong), (wrong, None), ("B-X", wrong)):
        with pytest.raises(ValueError) as caught:
            allows(*pair)
        assert f"label {wrong!r} does not follow the {scheme} scheme" in str(caught.value)
        assert "expected 'O', 'B-type', 'I-type'" in str(caught.value)


def test_mask_of_another_scheme_raises_before_the_fit():
    X, y = [np.eye(2)], [["B-X", "E-X"]]
    model = ChainSSVM(transition_mask=bio_transitions)
    with pytest.raises(ValueError, match=r"label 'E-X' .* use sstruct.masks.bioes_trans"):
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


def test_errors_of_a_callable_have_a_note():
    with pytest.raises(TypeError, match="exactly one argument") as caught:
        ChainSSVM(transition_mask=len).fit([np.eye(2)], [["a", "b"]])
    assert caught.value.__notes__ == ["raised by transition_mask('a', 'a')"]


# No "b" after "a", and no sequence ends with "a".
FORBIDDEN = {("a", "b"), ("a", None)}


def fitted(mask, **more):
    X = [np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([[0.0, 1]])]
    model = ChainSSVM(lam=0.1, transition_mask=mask, random_state=0, **more)
    return X, [["c", "b", "c"], ["b"]], model.set_params(classes=["a", "b", "c"])


class Rule:
    def __init__(self, function=None):
        self.function = function

    def __call__(self, before, after):
        return (before, after) not in FORBIDDEN


def in_main(before, after):
    return (before, after) not in FORBIDDEN


in_main.__module__ = "__main__"  # as of a notebook: another program does not have it


def other_masks():
    return {
        "lambda": lambda before, after: (before, after) not in FORBIDDEN,
        "partial": partial(lambda rule, *pair: pair not in rule, FORBIDDEN),
        "object": Rule(lambda: None),
        "main": in_main,
    }


@pytest.mark.parametrize("kind", [*other_masks()])
def test_functions_that_files_cannot_keep_are_resolved(kind):
    X, y, model = fitted(other_masks()[kind])
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    mask = again.transition_mask
    assert model.transition_mask is not mask
    for pair in product(["a", "b", "c", None], repeat=2):
        if pair != (None, None):
            assert mask(*pair) == (pair not in FORBIDDEN)
    with pytest.raises(ValueError, match="'d' is not one of the labels of the fit"):
        mask("a", "d")
    for use in (again, clone(again).fit(X, y)):
        np.testing.assert_array_equal(use.w_, model.w_)
        np.testing.assert_array_equal(use.predict(X)[0], model.predict(X)[0])
    assert pickle.loads(pickle.dumps(again)).transition_mask("b", "a")
    io = pytest.importorskip("skops.io")
    data = io.dumps(model)
    types = io.get_untrusted_types(data=data)
    assert all(name.startswith("sstruct.") for name in types)
    assert not io.loads(data, trusted=types).transition_mask("a", None)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_keep_functions(copied):
    X, y, model = fitted(other_masks()["lambda"])
    passes = []
    model.set_callbacks(lambda info: passes.append(info)).fit(X, y)
    again = copied(model)
    np.testing.assert_array_equal(again.predict(X)[0], model.predict(X)[0])
    assert again.transition_mask is model.transition_mask
    del passes[:]  # the function is called for a new label
    again.set_params(classes=None).fit(X, [["d" for _ in labels] for labels in y])
    assert passes
    assert model.classes_.tolist() != again.classes_.tolist() == ["d"]
    assert not copied(model._require_fitted())._is_snapshot


def test_functions_that_can_be_imported_are_kept():
    X, _, model = fitted(bio_transitions)
    model.set_params(classes=["B", "I", "O"]).fit(X, [["B", "I", "O"], ["B"]])
    assert pickle.loads(pickle.dumps(model)).transition_mask is bio_transitions
    X, y, model = fitted(Rule())
    assert isinstance(pickle.loads(pickle.dumps(model.fit(X, y))).transition_mask, Rule)


def test_models_of_models_with_a_lambda_can_be_pickled():
    mask = other_masks()["lambda"]
    X, y, model = fitted(mask, ignore_label="?")
    hidden = [["c", "?", "c"], ["b"]]
    for fit in (
        lambda: LatentSSVM(model).fit(X, y),
        lambda: LatentSSVM(model, states_per_label=2, random_state=0).fit(X, hidden),
        lambda: PathCV(model, lams=[0.1], cv=2).fit(X, y),
    ):
        again = pickle.loads(pickle.dumps(fit()))
        allowed = again.estimator.transition_mask
        assert [allowed("a", label) for label in ("a", "b", "c", None)] == [
            True,
            False,
            True,
            False,
        ]
    path = ssvm_path(model, X, y, eps=0.5)
    again = pickle.loads(pickle.dumps(path)).estimator(0.1)
    assert not again.transition_mask("a", "b")
    np.testing.assert_array_equal(again.predict(X)[0], path.estimator(0.1).predict(X)[0])


def test_sequences_too_long_for_their_known_labels():
    X = [np.zeros((2, 1))] * 2
    model = ChainSSVM(transition_mask=[[False, True], [False, False]]).fit(X, [[0, 1]] * 2)
    message = r"every labeling of X\[0\], which has 4 nodes, with its known labels"
    with pytest.raises(ValueError, match=message):
        model.predict([np.zeros((4, 1))], y_partial=[[None, None, None, 1]])


def test_damaged_mask():
    X, y, model = fitted(other_masks()["lambda"])
    mask = pickle.loads(pickle.dumps(model.fit(X, y))).transition_mask
    assert repr(mask) == "<transition_mask of a saved fit, for 3 labels>"
    mask.edges = mask.edges[:2]
    with pytest.raises(ValueError, match=r"ResolvedMask: edges is of shape"):
        pickle.loads(pickle.dumps(mask))
