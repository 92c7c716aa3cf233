# Design:
# (a) Gotoh (1982). A gap is a run of unaligned positions of one sequence. For the first i positions of
#     the first sequence and the first j of the second, a cell (i, j) has the best scores of their
#     alignments in three states: those that end with a pair, with a gap of the first sequence, or with a
#     gap of the second.
# (b) Between two pairs, a gap of the first sequence precedes one of the second, never the reverse. So an
#     alignment, a set of pairs, has one path, and its score does not depend on the path: the result is
#     exact also if opening a gap costs less than extending it.
# (c) Only the scores of the current and the previous row are stored, and a byte per cell with the
#     predecessors of the three states. Gaps of the second sequence depend on scores of the same row and
#     have a separate loop, so that the compiler can vectorize the other loops.
# (d) A local alignment (Smith and Waterman, 1981) starts and ends with a pair; other positions are free.
# (e) -inf forbids a pair. If scores are equal, a pair is preferred, and then a gap of the first sequence.
#     A local alignment starts as late and ends as early as possible.
"""The best alignment of two sequences, with affine gap scores."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

import numpy as np

from sstruct._checks.arrays import LARGEST, contiguous, real_array, check_not_sparse
from sstruct._checks.parameters import check_choice
from sstruct._checks.shown import shortened
from sstruct._kernels._interruption cimport poll_signals

METHODS = ("global", "local")
# Largest number of pairs of positions. With one byte for each, they need 1 GiB, and their scores 8 GiB.
MAX_PAIRS = 2**30
cdef double LIMIT = LARGEST

# Bits of the byte of a cell: the predecessors of its three states. The predecessor of a pair is a pair
# unless one of the first three bits is set; of these, later ones take precedence. Gaps follow a pair
# unless a bit is set.
cdef enum:
    AFTER_FIRST = 1           # the pair follows a gap of the first sequence
    AFTER_SECOND = 2          # the pair follows a gap of the second sequence
    STARTS = 4                # the pair is the first one of a local alignment
    FIRST_EXTENDS = 8         # the gap of the first sequence is extended
    SECOND_AFTER_FIRST = 16   # a new gap of the second sequence follows one of the first
    SECOND_EXTENDS = 32       # the gap of the second sequence is extended

cdef enum:
    PAIR, FIRST, SECOND  # states

# Entries of `known` that are not columns.
cdef enum:
    UNALIGNED = -1
    UNKNOWN = -2


# Scores of the first position and of each further position of a gap, for both sequences.
cdef struct Gaps:
    double open_first, open_second, extend_first, extend_second


# Scores of one row, m + 1 entries each, by the last state of the alignment.
cdef struct Row:
    double* pair
    double* first
    double* second


cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline void fill(double* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        values[j] = -INFINITY


# The loops of the next three functions have no branches.

cdef inline void append_pairs(
        Row last, Row row, const double* score, Py_ssize_t m, double start,
        uint8_t* marks) noexcept nogil:
    """row.pair[1:] = max(last.pair[:-1], last.first[:-1], last.second[:-1], start) + score"""
    cdef Py_ssize_t j
    cdef double best
    for j in range(m):
        best = larger(larger(last.pair[j], last.first[j]), last.second[j])
        row.pair[j + 1] = larger(best, start) + score[j]
    for j in range(m):
        best = larger(last.pair[j], last.first[j])
        marks[j + 1] = (
            (last.first[j] > last.pair[j]) * AFTER_FIRST
            + (last.second[j] > best) * AFTER_SECOND
            + (start >= larger(best, last.second[j])) * STARTS)


cdef inline void extend_first(
        Row last, Row row, Py_ssize_t m, const Gaps* gaps, uint8_t* marks) noexcept nogil:
    """row.first = max(last.pair + open, last.first + extend)"""
    cdef Py_ssize_t j
    cdef double opening = gaps.open_first, extending = gaps.extend_first
    for j in range(m + 1):
        row.first[j] = larger(last.pair[j] + opening, last.first[j] + extending)
    for j in range(m + 1):
        marks[j] += (last.first[j] + extending > last.pair[j] + opening) * FIRST_EXTENDS


cdef inline void extend_second(
        Row row, Py_ssize_t m, const Gaps* gaps, uint8_t* marks) noexcept nogil:
    """row.second[j] = max(max(row.pair, row.first)[j - 1] + open, row.second[j - 1] + extend)"""
    cdef Py_ssize_t j
    cdef double extended = -INFINITY, value, extending = gaps.extend_second
    row.second[0] = -INFINITY
    for j in range(m):
        row.second[j + 1] = larger(row.pair[j], row.first[j]) + gaps.open_second
    for j in range(m):
        marks[j + 1] += (row.first[j] > row.pair[j]) * SECOND_AFTER_FIRST
    for j in range(1, m + 1):
        value = row.second[j]
        marks[j] += (extended > value) * SECOND_EXTENDS
        value = larger(value, extended)
        row.second[j] = value
        extended = value + extending


cdef double best_path(
        const double* scores, Py_ssize_t n, Py_ssize_t m, const Gaps* gaps, bint local,
        const int32_t* known, double* scratch, uint8_t* trace, int32_t* columns) except? -1 nogil:
    """Write the column of each row, or -1, and return the score; -inf if there is no alignment.

    scores : n x m    known : n, or NULL    IN
    scratch : 6 (m + 1)    trace : (n + 1) x (m + 1)    columns : n    OUT
    A local alignment contains all rows that are known to be aligned. O(n m).
    """
    cdef Py_ssize_t i, j, least = 0, most = n, end_row = 0, end_column = 0
    cdef int32_t column
    cdef int state = PAIR
    cdef uint8_t came
    cdef uint8_t* marks
    cdef double start, total = -INFINITY
    cdef Row row, last
    row.pair, row.first, row.second = scratch, scratch + m + 1, scratch + 2 * (m + 1)
    last.pair, last.first = scratch + 3 * (m + 1), scratch + 4 * (m + 1)
    last.second = scratch + 5 * (m + 1)
    # `least` and `most` are the first and the last row that must be aligned, counted from 1. If there
    # are none, `least` is 0.
    for i in range(n):
        columns[i] = -1
        if known != NULL and known[i] >= 0:
            least, most = i + 1 if least == 0 else least, i + 1
    fill(row.pair, m + 1)
    fill(row.first, m + 1)
    fill(row.second, m + 1)
    memset(trace, 0, (n + 1) * (m + 1))
    if not local:
        row.pair[0] = 0
        extend_second(row, m, gaps, trace)
    elif least == 0:
        total = 0
    for i in range(1, n + 1):
        row, last = last, row
        marks = trace + i * (m + 1)
        column = UNKNOWN if known == NULL else known[i - 1]
        start = 0 if local and (least == 0 or i <= least) else -INFINITY
        row.pair[0] = -INFINITY
        append_pairs(last, row, scores + (i - 1) * m, m, start, marks)
        if column != UNKNOWN:
            for j in range(m):
                if j != column:
                    row.pair[j + 1] = -INFINITY
        extend_first(last, row, m, gaps, marks)
        if column >= 0:
            fill(row.first, m + 1)
        extend_second(row, m, gaps, marks)
        if local and (least == 0 or i >= most):
            for j in range(1, m + 1):
                if row.pair[j] > total:
                    total, end_row, end_column = row.pair[j], i, j
        poll_signals(5.0 * (m + 1))
    if not local:
        end_row, end_column, total = n, m, row.pair[m]
        if row.first[m] > total:
            total, state = row.first[m], FIRST
        if row.second[m] > total:
            total, state = row.second[m], SECOND
    if total == -INFINITY:
        return total
    i, j = end_row, end_column
    while i + j > 0:
        came = trace[i * (m + 1) + j]
        if state == PAIR:
            i, j = i - 1, j - 1
            columns[i] = <int32_t> j
            if came & STARTS:
                break
            state = SECOND if came & AFTER_SECOND else FIRST if came & AFTER_FIRST else PAIR
        elif state == FIRST:
            i -= 1
            state = FIRST if came & FIRST_EXTENDS else PAIR
        else:
            j -= 1
            if not came & SECOND_EXTENDS:
                state = FIRST if came & SECOND_AFTER_FIRST else PAIR
    return total


cdef Py_ssize_t first_invalid(const double* scores, Py_ssize_t size) noexcept nogil:
    """Return the index of the first score that is neither -inf nor of a valid magnitude, or -1."""
    cdef Py_ssize_t k
    cdef double limit = LIMIT
    cdef bint valid = True
    for k in range(size):
        valid &= (scores[k] <= limit) & ((scores[k] >= -limit) | (scores[k] == -INFINITY))
    if valid:
        return -1
    for k in range(size):
        if not (fabs(scores[k]) <= limit or scores[k] == -INFINITY):
            return k
    return -1


def best_alignment(scores, open_gap, extend_gap, bint local, known=None):
    """Return the column of each row, int32 with -1 for none, and the score.

    Parameters
    ----------
    scores : contiguous ndarray of float64 of shape (n, m)
        Without NaN and +inf; -inf forbids a pair.
    open_gap, extend_gap : pair of floats
        Scores of gaps of the first and of the second sequence.
    local : bool
    known : contiguous ndarray of int32 of shape (n,), optional
        Column of each row, -1 if it is unaligned, -2 if unknown. Columns must increase.

    Returns
    -------
    columns : ndarray of int32 of shape (n,)
    value : float
        -inf if no alignment is allowed.
    """
    cdef const double[:, ::1] table = scores
    cdef Py_ssize_t n = table.shape[0], m = table.shape[1]
    check_size(n, m, "scores")
    cdef const int32_t[::1] rows = known
    if known is not None and rows.shape[0] != n:
        raise ValueError(f"known has {rows.shape[0]} entries, expected {n}")
    if known is not None:
        aligned = known[known >= 0]
        if (np.diff(aligned) <= 0).any() or (aligned >= m).any() or (known < UNKNOWN).any():
            raise ValueError(
                f"known must contain increasing columns below {m}, -1 (unaligned) or -2 (unknown), "
                f"found {shortened(known)}")
    cdef Gaps gaps
    gaps.open_first, gaps.open_second = open_gap
    gaps.extend_first, gaps.extend_second = extend_gap
    columns = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = columns
    cdef double[::1] scratch = np.empty(6 * (m + 1))
    cdef uint8_t[::1] trace = np.empty((n + 1) * (m + 1), dtype=np.uint8)
    cdef double value
    cdef const double* first = &table[0, 0] if n > 0 and m > 0 else NULL
    cdef const int32_t* given = &rows[0] if known is not None and n > 0 else NULL
    with nogil:
        value = best_path(
            first, n, m, &gaps, local, given, &scratch[0], &trace[0], &out[0] if n > 0 else NULL)
    return columns, value


def check_size(n, m, name):
    """Raise ValueError if there are too many positions, n or m, or pairs of them."""
    if n * m > MAX_PAIRS or max(n, m) >= MAX_PAIRS:
        raise ValueError(
            f"{name} has {n} x {m} pairs of positions, expected at most 2^30, which take 1 GiB in "
            "addition to 8 GiB for their scores; divide the sequences into parts")


def _of_gaps(value, name):
    """Return the scores of gaps of both sequences."""
    check_not_sparse(value, name, "a number or a pair of numbers")
    pair = real_array(value, name)
    if pair.shape not in ((), (2,)) or not (np.abs(pair) <= LARGEST).all():
        raise ValueError(
            f"{name} must be a number or a pair of numbers, one for each sequence, of at most "
            f"{LARGEST:g}, found {shortened(value)}")
    return np.broadcast_to(pair, 2)


def align(scores, gap_open, gap_extend=None, *, method="global"):
    """Find the highest-scoring alignment of two sequences with affine gap scores.

    An alignment pairs positions of two sequences in increasing order. Its score is the sum of the
    scores of its pairs and of its gaps, runs of unaligned positions of one sequence between two
    pairs or at the ends. A gap of length k scores ``gap_open + (k - 1) * gap_extend``.

    Parameters
    ----------
    scores : array-like of shape (n, m)
        Score of each pair of a position of the first and one of the second sequence; ``-inf``
        forbids a pair. Each sequence may be empty.
    gap_open : float or pair of floats
        Score of the first position of a gap, usually negative. Two floats are the scores for gaps of
        the first sequence (unaligned positions of it) and for gaps of the second.
    gap_extend : float or pair of floats, default=None
        Score of each further position of a gap, in the same form. If None, it is `gap_open`.
    method : {"global", "local"}, default="global"
        ``"global"``: the alignment of the whole sequences (Needleman and Wunsch). ``"local"``: the
        best alignment of a part of each (Smith and Waterman), where positions before the first pair
        and after the last one do not score; no pairs if no alignment has a positive score.

    Returns
    -------
    columns : ndarray of shape (n,), dtype int32
        For each position of the first sequence, the position of the second sequence to which it is
        aligned, or -1 if it is unaligned.
    value : float
        The score of the alignment.

    Raises
    ------
    ValueError
        If shapes are invalid, a score is NaN or ``+inf``, a gap's score is not finite, a finite score
        exceeds 1e100 in magnitude, there are more than 2^30 pairs of positions, or a sequence has 2^30
        positions or more.

    See Also
    --------
    sstruct.AlignmentSSVM : Learn the scores from true alignments.

    Notes
    -----
    O(n m) time. Memory is (n + 1) (m + 1) bytes in addition to the scores. The result is exact for
    gap scores of any sign, also if opening a gap costs less than extending it. Ties are resolved
    deterministically.

    References
    ----------
    O. Gotoh. An improved algorithm for matching biological sequences. Journal of Molecular Biology
    162(3), 1982.

    Examples
    --------
    Equal letters score 1, and different ones -1:

    >>> import numpy as np
    >>> from sstruct.inference import align
    >>> first, second = np.array([*"GATTACA"]), np.array([*"GTACA"])
    >>> scores = np.where(first[:, np.newaxis] == second, 1.0, -1.0)
    >>> align(scores, gap_open=-2.0, gap_extend=-0.5)
    (array([ 0, -1, -1,  1,  2,  3,  4], dtype=int32), 2.5)

    The best local alignment:

    >>> align(scores, gap_open=-2.0, gap_extend=-0.5, method="local")
    (array([-1, -1, -1,  1,  2,  3,  4], dtype=int32), 4.0)
    """
    check_not_sparse(scores, "scores", "an array of shape (n, m)")
    check_choice("method", method, METHODS)
    table = real_array(scores, "scores")
    if table.ndim != 2:
        raise ValueError(f"scores must have shape (n, m), found {table.shape}")
    check_size(*table.shape, "scores")
    table = contiguous(table)
    cdef const double[:, ::1] given = table
    cdef Py_ssize_t wrong = first_invalid(&given[0, 0], table.size) if table.size > 0 else -1
    if wrong >= 0:
        raise ValueError(
            f"scores must have magnitudes of at most {LARGEST:g}, or be -inf, found {table.flat[wrong]}")
    gaps = _of_gaps(gap_open, "gap_open")
    more = gaps if gap_extend is None else _of_gaps(gap_extend, "gap_extend")
    return best_alignment(table, gaps, more, method == "local")
