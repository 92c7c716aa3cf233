"""Graph matching problems in dd files."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sstruct._compat.public_module import public_module
from sstruct.inference._files.tokens import Tokens

_MOST = 2**31 - 1
# Pairs of a left and a right node that a file may declare with any number of assignments.
_FREE = 2**20


@public_module("sstruct.inference")
class MatchingProblem(NamedTuple):
    """Costs of assigning left nodes to right nodes, each at most once; an unassigned node costs 0.

    Parameters
    ----------
    unary : ndarray of shape (n_left, n_right)
        Cost of each assignment, ``+inf`` if it is not allowed.
    pairwise : scipy.sparse.csr_array of shape (n_left * n_right, n_left * n_right)
        Entry ``[i * n_right + a, j * n_right + b]``: cost of assigning both i to a and j to b.
        Each pair of assignments occurs in one order only.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from sstruct.inference import MatchingProblem
    >>> MatchingProblem(np.zeros((2, 3)), sparse.csr_array((6, 6))).unary.shape
    (2, 3)
    """

    unary: np.ndarray
    pairwise: sparse.csr_array


def _finite(tokens, what):
    value = tokens.number(what)
    if not np.isfinite(value):
        raise tokens.error(f"{what} is {value}, expected finite")
    return value


def _expect(tokens, letter, what):
    word = tokens.word(what)
    if word != letter:
        raise tokens.error(f"{word[:40]!r} found, expected {what}, which starts with {letter!r}")


def _read_problem(tokens):
    """Read a problem after its leading 'p'."""
    n_left = tokens.integer("the number of left nodes", 1, _MOST)
    n_right = tokens.integer("the number of right nodes", 1, _MOST)
    n_assignments = tokens.integer("the number of assignments", 0, _MOST)
    n_pairs = tokens.integer("the number of pairs", 0, _MOST)
    tokens.declare(n_left * n_right, f"{n_left} left and {n_right} right nodes")
    tokens.declare(16 * (n_assignments + n_pairs), f"{n_assignments} assignments, {n_pairs} pairs")
    # A damaged file must not allocate memory for costs that it does not contain.
    if n_left * n_right > max(_FREE, n_assignments**2):
        raise tokens.error(
            f"{n_left} left and {n_right} right nodes for {n_assignments} assignments, expected "
            f"at most {_FREE} pairs of a left and a right node, or the square of the number of "
            "assignments"
        )
    place, costs_of = [], {}
    for k in range(n_assignments):
        _expect(tokens, "a", f"assignment {k}")
        tokens.integer(f"the id of assignment {k}", k, k)
        i = tokens.integer(f"the left node of assignment {k}", 0, n_left - 1)
        a = tokens.integer(f"the right node of assignment {k}", 0, n_right - 1)
        if i * n_right + a in costs_of:
            raise tokens.error(f"assignment {k} of {i} to {a} is given twice")
        place.append(i * n_right + a)
        costs_of[place[-1]] = _finite(tokens, f"the cost of assignment {k}")
    unary = np.full((n_left, n_right), np.inf)
    unary.flat[place] = list(costs_of.values())
    rows, columns, costs = [], [], []
    for k in range(n_pairs):
        _expect(tokens, "e", f"pair {k}")
        first = tokens.integer(f"the first assignment of pair {k}", 0, n_assignments - 1)
        second = tokens.integer(f"the second assignment of pair {k}", 0, n_assignments - 1)
        if first == second:
            raise tokens.error(f"pair {k} joins assignment {first} with itself")
        rows.append(place[min(first, second)])
        columns.append(place[max(first, second)])
        costs.append(_finite(tokens, f"the cost of pair {k}"))
    shape = (n_left * n_right,) * 2
    # Costs of repeated pairs are summed.
    return MatchingProblem(unary, sparse.coo_array((costs, (rows, columns)), shape=shape).tocsr())


def read_dd(path: str | os.PathLike[str], *, max_entries: int = 2**27) -> MatchingProblem:
    """Read one or several graph matching problems from a dd file.

    Parameters
    ----------
    path : str or path-like
        A text file, plain or compressed (gzip, bzip2 or xz): ``p left right A E``, then A lines ``a
        id left right cost``, then E lines ``e id1 id2 cost``. Nodes and ids start at 0, and ids
        are in order. Costs of repeated pairs are summed. A file may also contain several such
        blocks, each after a line ``gm i j`` that names the pair of graphs. Lines whose first word
        is ``c`` are comments.
    max_entries : int, default=2**27
        Limit on the total number of entries: n_left * n_right of each problem, plus 16 for each
        assignment and pair. An entry takes about 16 bytes of memory. Lines of more than 2^21
        characters are rejected (those of more than 2^20 may be), as are problems with more than
        2^20 pairs of a left and a right node that exceed the square of the number of assignments.

    Returns
    -------
    problem : MatchingProblem, or dict of (int, int) to MatchingProblem
        A dict that maps pairs of graphs to problems if the file has ``gm`` lines.

    Raises
    ------
    ValueError
        If the file is truncated, has text after its end, declares more than `max_entries`, repeats
        an assignment or a pair of graphs, has a cost that is NaN or infinite, or is not a valid dd
        file. The message gives the line number.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sstruct.inference import read_dd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.dd"
    ...     _ = path.write_text("p 1 2 2 0\\na 0 0 0 -1.0\\na 1 0 1 2.0\\n")
    ...     problem = read_dd(path)
    >>> problem.unary
    array([[-1.,  2.]])
    """
    problems, pair = {}, None
    with Tokens(path, max_entries, comments=b"c") as tokens:
        while True:
            word = tokens.word("a problem, which starts with 'p' or 'gm'")
            if word == "gm" and (pair is not None or not problems):
                pair = tuple(tokens.integer("the number of a graph", 0, _MOST) for _ in range(2))
                if pair in problems:
                    raise tokens.error(f"the pair of graphs {pair} is given twice")
                word = tokens.word("a problem, which starts with 'p'")
            elif problems:
                raise tokens.error(f"{word[:40]!r} found after the last pair")
            if word != "p":
                raise tokens.error(f"{word[:40]!r} found, expected a problem, 'p' or 'gm'")
            problems[pair] = _read_problem(tokens)
            if tokens.at_end():
                return problems if pair is not None else problems[None]
