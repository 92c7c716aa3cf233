"""Generated pairs of sequences with a common ancestor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstruct._checks.parameters import random_of
from sstruct.datasets._synthetic import Arrays, RandomState, _as_size, _check_counts

# Number of similar symbols, by which one of them is usually replaced.
GROUP = 4
WITHIN_GROUP = 0.9
# Gaps of 100 positions on average.
MAX_EXTENSION = 0.99


def make_alignments(
    n_samples: int = 100,
    *,
    length: int = 30,
    n_symbols: int = 20,
    substitution: float = 0.4,
    gap_open: float = 0.05,
    gap_extend: float = 0.6,
    n_flanking: int = 0,
    random_state: RandomState = None,
) -> tuple[list[Any], Arrays]:
    """Generate pairs of sequences, and their true alignment.

    The first sequence is random. The second one is a copy with mutations: symbols are replaced,
    usually by similar ones, and runs of positions are deleted or inserted, so that the alignment
    has gaps.

    Parameters
    ----------
    n_samples : int, default=100
        The number of samples, pairs of sequences.
    length : int, default=30
        The length of the first sequence, without flanking symbols.
    n_symbols : int, default=20
        The number of symbols 0, 1, ... Symbols 0 to 3, 4 to 7 and so on are similar.
    substitution : float, default=0.4
        The probability that a symbol is replaced by another one, from 0 to 1. With probability 0.9,
        the other symbol is drawn from the similar ones, if there are any, otherwise from all
        others.
    gap_open : float, default=0.05
        The probability that a deletion starts at a position of the first sequence and, separately,
        of an insertion before it, from 0 to 1.
    gap_extend : float, default=0.6
        The probability that a gap is extended by a further position, from 0 to 0.99.
    n_flanking : int, default=0
        The largest number of unaligned random symbols that are added to each end of each sequence,
        as in local alignments.
    random_state : int, RandomState instance or None, default=None
        Determines the samples. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples tuples (first, second) of int arrays
        The symbols of both sequences.
    y : list of n_samples int arrays of shape (n_rows,)
        For each position of the first sequence, the position of the second sequence to which it is
        aligned, or -1.

    See Also
    --------
    sstruct.AlignmentSSVM : Learn to align.

    Examples
    --------
    >>> from sstruct.datasets import make_alignments
    >>> X, y = make_alignments(2, length=8, gap_open=0.1, random_state=3)
    >>> for row in (*X[0], y[0]):
    ...     print(row.tolist())
    [10, 3, 8, 0, 19, 10, 11, 9]
    [10, 17, 10, 8, 9]
    [0, -1, -1, -1, 1, 2, 3, 4]
    """
    _check_counts(n_samples=n_samples, length=length, n_symbols=n_symbols)
    _check_counts(0, n_flanking=n_flanking)
    substitution = _as_size("substitution", substitution, 1)
    gap_open = _as_size("gap_open", gap_open, 1)
    gap_extend = _as_size("gap_extend", gap_extend, MAX_EXTENSION)

    rng = random_of(random_state)
    X, y = [], []
    for _ in range(n_samples):
        first = rng.randint(n_symbols, size=length)
        second, columns = [], np.full(length, -1)
        is_deleted = np.zeros(length, dtype=bool)
        for start in np.flatnonzero(rng.uniform(size=length) < gap_open):
            is_deleted[start : start + rng.geometric(1 - gap_extend)] = True
        inserts = rng.uniform(size=length) < gap_open
        for r, symbol in enumerate(first):
            if inserts[r]:
                second += rng.randint(n_symbols, size=rng.geometric(1 - gap_extend)).tolist()
            if not is_deleted[r]:
                columns[r] = len(second)
                is_replaced = rng.uniform() < substitution
                second.append(_other_symbol(symbol, n_symbols, rng) if is_replaced else symbol)
        ends = rng.randint(n_flanking + 1, size=4)
        before, after, start, stop = (rng.randint(n_symbols, size=size) for size in ends)
        X.append((np.r_[before, first, after], np.r_[start, second, stop].astype(first.dtype)))
        columns[columns >= 0] += len(start)
        y.append(np.r_[np.full(len(before), -1), columns, np.full(len(after), -1)])
    return X, y


def _other_symbol(symbol, n_symbols, rng):
    """Return a random other symbol, usually a similar one; the same if there is only one."""
    first = symbol - symbol % GROUP
    size = min(GROUP, n_symbols - first)
    if size == 1 or rng.uniform() >= WITHIN_GROUP:
        first, size = 0, n_symbols
    if size == 1:
        return symbol
    other = first + rng.randint(size - 1)
    return other + (other >= symbol)
