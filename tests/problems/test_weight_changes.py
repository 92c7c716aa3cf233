"""Weights sent as changes equal the weights of the sender, or raise an error."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sstruct._cluster.weight_changes import ReceivedWeights, WeightChanges
from sstruct._kernels.compact import CHANGED, WHOLE
from sstruct._problems.custom.oracle_calls import frozen

D = 6
VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.5, 1e-300, np.nextafter(1.0, 2.0)])
CHANGES = st.lists(st.tuples(st.integers(0, D - 1), VALUES), max_size=D)


def bits(w):
    return w.view(np.int64).tolist()


@given(st.lists(st.tuples(CHANGES, st.lists(st.booleans(), min_size=2, max_size=2)), max_size=12))
def test_readers_have_the_senders_bits(rounds):
    sender, w = WeightChanges(D), np.zeros(D)
    readers = [[ReceivedWeights(in_place), 0, np.full(D, np.nan)] for in_place in (False, True)]
    for changes, asked in rounds:
        for at, value in changes:
            w[at] = value
        version = sender.update(frozen(w))
        for reader, asks in zip(readers, asked, strict=True):
            if not asks:
                continue
            received, since, last = reader
            index, values = sender.since(since)
            n_changed = np.count_nonzero(w.view(np.int64) != last.view(np.int64))
            if index is None:
                assert since == 0 or CHANGED * n_changed >= WHOLE * D or n_changed < len(values)
            else:
                assert index.dtype == np.int32
                assert CHANGED * len(index) < WHOLE * D
            assert received.update(version, since, index, values)
            assert bits(received.w) == bits(w)
            assert received.w.flags.writeable == received.in_place
            assert not (received.in_place and np.shares_memory(received.w, sender.w))
            reader[1:] = version, w.copy()


def test_missed_changes_are_detected():
    sender = WeightChanges(D)
    w = np.arange(float(D))
    first = sender.update(frozen(w))
    w[2] = 7
    second = sender.update(frozen(w))
    changes = sender.since(first)
    np.testing.assert_array_equal(changes[0], [2])
    fresh = ReceivedWeights()
    assert not fresh.update(second, first, *changes)
    assert fresh.update(second, 0, *sender.since(0))
    # Changes may be applied twice, and equal weights have the same version.
    assert fresh.update(second, first, *changes)
    assert bits(fresh.w) == bits(w)
    assert sender.update(frozen(w)) == second
