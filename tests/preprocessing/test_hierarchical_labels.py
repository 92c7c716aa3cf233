"""Test that label sets get the ancestors that the names of the labels define."""

import numpy as np
import pytest
from scipy import sparse

from sstruct.preprocessing import hierarchical_labels

NAMES = ["B.x", "A.x.1", "A.x", "C", "A.y.2.z"]


def test_sets_are_closed_under_ancestors():
    Y = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
    closed, names, parents = hierarchical_labels(Y, NAMES)
    assert names == [*NAMES, "A", "A.y", "A.y.2", "B"]
    assert parents.dtype == np.int32
    assert parents.tolist() == [8, 2, 5, -1, 7, -1, 5, 6, -1]
    expected = [{"B.x", "B"}, {"A.x.1", "A.x", "A", "C"}, {"A.y.2.z", "A.y.2", "A.y", "A"}, set()]
    assert [{names[k] for k in np.flatnonzero(row)} for row in closed] == expected
    assert closed.max() == 1


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_sets_stay_sparse(rng, make):
    Y = rng.integers(0, 2, (20, 5))
    expected, names, parents = hierarchical_labels(Y, NAMES)
    closed, same_names, same_parents = hierarchical_labels(make(Y), NAMES)
    assert sparse.issparse(closed)
    assert closed.format == "csr"
    assert set(closed.data.tolist()) == {1}
    np.testing.assert_array_equal(closed.toarray(), expected)
    assert same_names == names
    assert same_parents.tolist() == parents.tolist()


def test_closed_sets_stay_as_they_are(rng):
    closed, names, parents = hierarchical_labels(rng.integers(0, 2, (20, 5)), NAMES)
    again, same_names, same_parents = hierarchical_labels(closed, names)
    np.testing.assert_array_equal(again, closed)
    assert same_names == names
    assert same_parents.tolist() == parents.tolist()


def test_names_without_separators_are_roots():
    Y = np.eye(3, dtype=bool)
    closed, names, parents = hierarchical_labels(Y, ["a.b", "a.c", "d"], separator="/")
    np.testing.assert_array_equal(closed, np.eye(3))
    assert parents.tolist() == [-1] * 3
    assert names == ["a.b", "a.c", "d"]
    given = memoryview(np.array(["a.b", "a.c", "d"]))
    assert hierarchical_labels(Y, given, separator="/")[1] == names


@pytest.mark.parametrize(
    "Y, names, separator, message",
    [
        ([[1, 2]], ["a", "b"], ".", "Y must contain only 0 and 1; found 2"),
        ([["1", "0"]], ["a", "b"], ".", "Y must contain 0 and 1, found dtype <U1"),
        ([1, 0], ["a", "b"], ".", r"Y must have shape \(n_samples, n_labels\)"),
        ([[1, 0]], ["a"], ".", "names has 1 entries for 2 labels"),
        ([[1, 0]], ["a", "a"], ".", r"names\[1\] = 'a' repeats names\[0\]"),
        ([[1, 0]], ["a", ".b"], ".", r"names\[1\] = '.b' has an empty part"),
        ([[1, 0]], ["a", "b"], "", "separator must be a nonempty string"),
    ],
)
def test_invalid_input(Y, names, separator, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hierarchical_labels(Y, names, separator=separator)
