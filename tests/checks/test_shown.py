"""Test representations of values in error messages, if their repr fails or is too long."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sstruct._checks.shown import shortened


class Silent:
    def __repr__(self):
        raise ValueError("no repr")


class Computing:
    """A matrix whose repr must not be computed."""

    shape = (2, 3)

    def __repr__(self):
        pytest.fail("the repr was computed")

    __str__ = __repr__


def damaged():
    matrix = sparse.eye_array(3).tocoo()
    matrix.data = matrix.data[:-1]
    return matrix


class Shapeless:
    @property
    def shape(self):
        raise ValueError


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float64(0.5), "0.5"),
        ([np.float64(0.5), "a"], "[0.5, 'a']"),
        (np.longdouble(2), repr(np.longdouble(2))),
        (np.array([1, 2]), "array([1, 2])"),
        (np.ma.masked, "masked"),
        (damaged(), "coo_array of shape (3, 3)"),
        (pd.DataFrame([[b"", b""]]), "DataFrame of shape (1, 2)"),
        (pd.Series([Computing()]), "Series of shape (1,)"),
        ([Computing()], "[Computing of shape (2, 3)]"),
        (np.array([Computing(), None]), "array of objects of shape (2,), [Computing of shape"),
        (np.empty(10**5, dtype=object), "array of objects of shape (100000,), [None, None"),
        (Silent(), "<Silent instance at"),
        (Shapeless(), "a Shapeless"),
    ],
)
def test_shortened(value, expected):
    text = shortened(value)
    assert text.startswith(expected)
    assert len(text) < 250
