"""Invalid arcs of a DependencyProblem raise errors."""

from dataclasses import replace

import numpy as np
import pytest

from sstruct._problems.dependency.dependency_arguments import Arcs, InvalidTreeError, NoTreeError

# Two blocks of two tokens and of one.
ARCS = Arcs(np.array([0, 2, 1, 0]), np.array([1, 1, 2, 1]), np.array([0, 3, 4]), np.array([2, 1]))


def test_valid_arcs():
    *_, first = ARCS.checked(4)
    assert first.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_tokens": [2, 0]}, "must describe at least one block with tokens"),
        ({"n_tokens": []}, "must describe at least one block with tokens"),
        ({"head": [0, 2, 1]}, "head and dependent must have 4 entries"),
        ({"start": [0, 4, 3]}, "start must be increasing, within the rows of X"),
        ({"start": [0, 3, 5]}, "start must be increasing, within the rows of X"),
        ({"start": [-1, 3, 4]}, "start must be increasing, within the rows of X"),
        ({"head": [0, 3, 1, 0]}, "an arc connects tokens outside of its block"),
        ({"head": [0, 1, 1, 0]}, "or a token with itself"),
        ({"dependent": [1, 1, 0, 1]}, "an arc connects tokens outside of its block"),
        ({"head": [2, 0, 1, 0]}, "arcs must be in ascending order"),
        ({"n_tokens": [3, 1]}, "token 3 of block 0 has no arc"),
    ],
)
def test_invalid_arcs(change, message):
    with pytest.raises(ValueError, match=message):
        replace(ARCS, **{name: np.array(value, int) for name, value in change.items()}).checked(4)


def test_errors_name_the_block():
    assert str(NoTreeError(2)) == "block 2: the candidate arcs and known heads allow no tree"
    assert str(InvalidTreeError(1, "has a cycle")) == "block 1: its labeling has a cycle"
