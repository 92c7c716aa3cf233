"""Test the validation of sparse matrices."""

import numpy as np
import pytest
from scipy import sparse

from sstruct import MulticlassSSVM
from sstruct._checks.compressed import as_csr, check_compressed, check_rows, stacked
from sstruct._input.indicator import label_matrix

DENSE = np.array([[1.0, 0, 2, 0], [0, 3, 0, 4], [5, 0, 0, 6], [0, 0, 0, 0]])
FORMATS = ["csr", "csc", "coo"]


def make(form, kind="matrix"):
    return getattr(sparse, f"{form}_{kind}")(DENSE)


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_valid_matrices_pass(form, kind):
    check_compressed(make(form, kind), "X")
    check_compressed(make(form, kind)[:0] if form in ("csr", "csc") else make(form, kind), "X")
    np.testing.assert_array_equal(stacked([make(form, kind)] * 2, "X").toarray(), [*DENSE, *DENSE])


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", ["bsr", "dia", "dok", "lil"])
def test_other_formats_are_rejected(form, kind):
    X = make(form, kind)
    with pytest.raises(TypeError, match=f"X is a {form}_{kind}, expected a sparse matrix in CSR"):
        check_compressed(X, "X")
    with pytest.raises(TypeError, match=r"X\[1\] is a .* format; convert it with tocsr\(\)"):
        stacked([make("csr"), X], "X")


def test_unsorted_indices_pass():
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 0], [0, 3]), shape=(1, 4))
    check_compressed(X, "X")
    assert not X.has_canonical_format
    assert not X.has_sorted_indices


def test_subclasses_are_validated():
    class Named(sparse.csr_matrix):
        pass

    X = Named(DENSE)
    check_compressed(X, "X")
    X.indices[0] = 9
    with pytest.raises(ValueError, match=r"X\.indices\[0\] is 9, expected 0 to 3"):
        check_compressed(X, "X")


def set_to(name, value):
    return lambda X: setattr(X, name, value(getattr(X, name)))


def set_coords(change):
    def apply(X):
        coords = change((X.row, X.col))
        if hasattr(X, "coords"):
            X.coords = coords
        else:  # SciPy before 1.13
            X.row, X.col = coords

    return apply


WRONG = [
    (
        "csr",
        set_to("indptr", lambda a: np.array([0, 5, 4, 6, 6])),
        r"indptr must be nondecreasing, but X.indptr\[1\] is 5 and X.indptr\[2\] is 4",
    ),
    ("csr", set_to("indptr", lambda a: a[:, np.newaxis]), "indptr is 2-D, expected 1-D"),
    ("csr", set_to("indptr", lambda a: a * 1.5), "indptr has dtype float64, expected integers"),
    ("csr", set_to("indptr", lambda a: a.tolist()), "indptr is a list, expected an array"),
    ("csr", set_to("indptr", lambda a: a[:3]), "indptr has 3 entries, expected 5"),
    ("csr", set_to("data", lambda a: a[:2]), "data has 2 entries, expected 6, the last entry of"),
    (
        "csr",
        set_to("data", lambda a: np.append(a, a)),
        r"the last .*; prune\(\) removes the unused",
    ),
    pytest.param(
        "coo",
        set_coords(lambda a: a[:1]),
        "coords has 1 arrays, expected 2, one per axis",
        marks=pytest.mark.skipif(
            not hasattr(sparse.coo_array((1, 1)), "coords"), reason="SciPy before 1.13"
        ),
    ),
    ("csr", set_to("data", lambda a: a * 1j), "X has dtype complex128, expected real numbers"),
    ("csr", lambda X: delattr(X, "indices"), "indices is a NoneType, expected an array"),
    ("csr", lambda X: setattr(X, "_shape", (4, 2**40)), "expected at most 2147483647 each"),
    ("csr", lambda X: setattr(X, "_shape", (4,)), "X is a sparse 1-D array, expected 2-D"),
    ("csc", lambda X: setattr(X, "_shape", (10**9, 4)), "has 1000000000 rows but only 6 entries"),
    ("coo", lambda X: setattr(X, "_shape", (10**9, 4)), "has 1000000000 rows but only 6 entries"),
    ("coo", set_coords(lambda a: (a[0] + 4, a[1])), r"coords\[0\]\[0\] is 4"),
    ("coo", set_coords(lambda a: (a[0], a[1] - 9)), r"coords\[1\]\[0\] is -9"),
    ("coo", set_coords(lambda a: (a[0], a[1] * 1.0)), "must be a 1-D array of signed integers"),
    ("coo", set_to("data", lambda a: a[:3]), r"coords\[0\] has 6 entries, expected 3"),
]


@pytest.mark.parametrize("form, change, message", WRONG, ids=range(len(WRONG)))
def test_invalid_arrays(form, change, message):
    X = make(form)
    change(X)
    with pytest.raises((ValueError, TypeError), match=message):
        check_compressed(X, "X")
    with pytest.raises((ValueError, TypeError)):
        stacked([make("csr"), X], "X")


@pytest.mark.parametrize("dtype", [np.float16, ">f4", ">f8"])
@pytest.mark.parametrize("form", FORMATS)
def test_unsupported_dtypes_are_converted(form, dtype):
    X = getattr(sparse, f"{form}_array")((DENSE > 2).astype(np.float32))
    X.data = X.data.astype(dtype)
    check_compressed(X, "X")
    for csr in (as_csr(X), stacked([X], "X"), label_matrix(X, 4)):
        assert csr.format == "csr"
        np.testing.assert_array_equal(csr.astype(np.float64).toarray(), DENSE > 2)
    assert MulticlassSSVM(lam=1.0).fit(X, [0, 1, 0, 1]).n_features_in_ == 4


@pytest.mark.parametrize("flag", ["has_canonical_format", "has_sorted_indices"])
def test_false_flags_are_detected(flag):
    X = make("csr")
    setattr(X, flag, True)
    X.indices[4:6] = [3, 0]
    message = rf"X.{flag} is True, but X.indices\[4\] is 3 and X.indices\[5\] is 0"
    with pytest.raises(ValueError, match=message):
        check_compressed(X, "X")


def test_stacked_names_the_item():
    items = [make("csr") for _ in range(3)]
    items[1].indices[2] = 4
    with pytest.raises(ValueError, match=r"items\[1\]\.indices\[2\] is 4, expected 0 to 3"):
        stacked(items, "items")


def test_selected_rows_are_validated():
    X = make("csr")
    X.indptr[2] = 2**30
    check_rows(X, np.array([0, 3]), "X")
    with pytest.raises(ValueError, match=r"X\.indptr\[1\] is 2 and X\.indptr\[2\] is 1073741824"):
        check_rows(X, np.array([0, 1]), "X")
    with pytest.raises(ValueError, match="X has 4 rows, but its offsets refer to rows 0 to 4"):
        check_rows(X, np.array([0, 4]), "X")
