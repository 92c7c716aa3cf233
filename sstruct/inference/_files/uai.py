"""Readers and writers of UAI files."""

from __future__ import annotations

import gzip
import math
import os

import numpy as np

from sstruct._checks.files import replaced_file
from sstruct.inference._files.tokens import Tokens
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.packing import MAX_NODES
from sstruct.inference._model.term_list import TermList

_MAX_LABELS = 2**31 - 1
# Labels of nodes without factors that a file may declare.
_FREE = 2**20


def _costs(tokens, shape, what):
    """Read a table of potentials and return its costs."""
    size = tokens.integer(f"the number of entries of {what}", 0, _MAX_LABELS)
    expected = math.prod(shape)
    if size != expected:
        raise tokens.error(f"{what} has {size} entries, expected {expected}: a table {shape}")
    tokens.declare(size, what)
    values = tokens.numbers(size, what)
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        raise tokens.error(
            f"{what}, which ends here, has the entry {values[wrong.argmax()]}, expected a finite "
            "potential >= 0"
        )
    with np.errstate(divide="ignore"):
        # Subtract from 0 to avoid costs of -0.0 for potentials of 1.
        return (0.0 - np.log(values)).reshape(shape)


def _scopes(tokens, n_nodes, n_factors):
    scopes = []
    for f in range(n_factors):
        arity = tokens.integer(f"the number of nodes of factor {f}", 0, _MAX_LABELS)
        if arity > MAX_NODES:
            raise tokens.error(f"factor {f} has {arity} nodes, expected at most {MAX_NODES}")
        tokens.declare(16, f"factor {f}")
        what = f"a node of factor {f}"
        scope = tuple(tokens.integer(what, 0, n_nodes - 1) for _ in range(arity))
        if len(set(scope)) < arity:
            raise tokens.error(f"factor {f} contains a node twice: {list(scope)}")
        scopes.append(scope)
    return scopes


def read_uai(path: str | os.PathLike[str], *, max_entries: int = 2**27) -> MRF:
    """Read a model from a UAI file.

    Parameters
    ----------
    path : str or path-like
        A text file, plain or compressed (gzip, bzip2 or xz): ``MARKOV``, ``BAYES`` or neither; the
        number of variables and their numbers of labels; the number of factors; the scope of each
        factor (number of nodes, then nodes); and the table of each factor (number of entries, then
        entries, with the label of the last node changing fastest). Entries are potentials p >= 0,
        and costs are -log(p); a potential of 0 forbids the labels. ``#`` starts a comment up to the
        end of the line; exponents may be written with ``D`` as in Fortran.
    max_entries : int, default=2**27
        Limit on the total number of entries: all labels and table entries, plus 16 for each
        variable and factor. An entry takes about 16 bytes of memory. Words of more than 2^21
        characters are rejected (those of more than 2^20 may be), as are more than 2^20 labels of
        nodes without factors.

    Returns
    -------
    mrf : MRF
        Factors of one and two nodes become node and edge costs; repeated factors are summed, and
        factors without nodes are added to the costs of node 0. Equal tables of edges are stored
        once. Larger factors are kept.

    Raises
    ------
    ValueError
        If the file is truncated, has text after its end, declares more than `max_entries`, has a
        factor of more than 31 nodes, a potential that is negative, NaN or infinite, or is not a
        valid UAI file. The message gives the line number.

    See Also
    --------
    read_uai_evidence : Read the observed labels of a model.
    write_uai : Write a model to such a file.

    Notes
    -----
    The energy of a labeling is the negative logarithm of the product of its potentials.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sstruct.inference import read_uai
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pair.uai"
    ...     _ = path.write_text("MARKOV 2 2 2 1 2 0 1 4 1.0 0.0 0.5 1.0")
    ...     model = read_uai(path)
    >>> model.edge_cost(0).round(3)
    array([[0.   ,   inf],
           [0.693, 0.   ]])
    """
    with Tokens(path, max_entries, comments=b"#") as tokens:
        what = "MARKOV, BAYES or the number of variables"
        if tokens.is_next((b"MARKOV", b"BAYES")):
            tokens.word(what)
            what = "the number of variables"
        n_nodes = tokens.integer(what, 1, _MAX_LABELS)
        n_labels = []
        for v in range(n_nodes):
            n_labels.append(tokens.integer(f"the number of labels of node {v}", 1, _MAX_LABELS))
            tokens.declare(16 + n_labels[-1], f"labels of node {v}")
        n_factors = tokens.integer("the number of factors", 0, _MAX_LABELS)
        scopes = _scopes(tokens, n_nodes, n_factors)
        terms = TermList(n_labels)
        for f, scope in enumerate(scopes):
            shape = tuple(n_labels[v] for v in scope)
            terms.add(scope, _costs(tokens, shape, f"the table of factor {f}"))
        if not tokens.at_end():
            raise tokens.error(f"{tokens.word('')[:40]!r} found after the last table")
        # A file contains no data for the labels of nodes without factors, so it may declare many.
        named = {v for scope in scopes for v in scope}
        silent = sum(n_labels[v] for v in range(n_nodes) if v not in named)
        if silent > _FREE:
            raise tokens.error(
                f"nodes without factors have {silent} labels, expected at most {_FREE}"
            )
    return MRF(*terms.arguments())


def read_uai_evidence(path: str | os.PathLike[str], *, max_entries: int = 2**27) -> dict[int, int]:
    """Read the observed labels of a model from a UAI evidence file.

    Parameters
    ----------
    path : str or path-like
        A text file, plain or compressed as in :func:`read_uai`, usually named ``.evid``: the number
        of observed nodes, then the node and the label of each. As in the competition of 2010, this
        may be preceded by the number of samples, which must be 0 or 1. Files without evidence
        contain ``0``, ``1 0`` or ``0 0``. Comments are as in :func:`read_uai`.
    max_entries : int, default=2**27
        Limit on the number of integers in the file.

    Returns
    -------
    evidence : dict of int to int
        The label of each observed node, for the parameter `evidence` of :func:`map_mrf`.

    Raises
    ------
    ValueError
        If the file has several samples, observes a node twice, has the wrong number of integers or
        is not a valid evidence file. The message gives the line number.

    See Also
    --------
    map_mrf : Find the best labels of the other nodes.
    read_uai : Read the model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sstruct.inference import read_uai_evidence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.uai.evid"
    ...     _ = path.write_text("1\\n2 0 1 3 0\\n")
    ...     read_uai_evidence(path)
    {0: 1, 3: 0}
    """
    with Tokens(path, max_entries, comments=b"#") as tokens:
        numbers = []
        while not numbers or not tokens.at_end():
            tokens.declare(1, "the evidence")
            what = "a node or a label" if numbers else "the number of observed nodes"
            numbers.append(tokens.integer(what, 0, _MAX_LABELS))
        first, rest = numbers[0], numbers[1:]
        if len(rest) != 2 * first and _are_samples(first, rest):
            if first > 1:
                raise tokens.error(
                    f"found {first} samples of evidence, expected one; write each to its own file"
                )
            first, rest = rest[0], rest[1:]
        elif numbers == [1]:
            raise tokens.error("the file ends before the number of observed nodes")
        if len(rest) != 2 * first:
            raise tokens.error(
                f"found {len(rest)} numbers after the number of observed nodes, expected "
                f"{2 * first}: the node and the label of each"
            )
        evidence = {}
        for v, label in zip(rest[::2], rest[1::2], strict=True):
            if v in evidence:
                raise tokens.error(f"node {v} is observed twice")
            evidence[v] = label
    return evidence


def _are_samples(count, numbers):
    """Return True if `numbers` lists `count` samples: the size, then nodes and labels of each.

    A count of 0 may be followed by another 0.
    """
    if count == 0:
        return numbers == [0]
    at = 0
    for _ in range(count):
        if at >= len(numbers):
            return False
        at += 1 + 2 * numbers[at]
    return at == len(numbers)


def _tables(mrf):
    """Yield the costs of all nodes, edges and factors, each with its name for errors."""
    for v in range(mrf.n_nodes):
        yield mrf.node_cost(v), f"node_cost({v})"
    for e in range(mrf.n_edges):
        yield mrf.edge_cost(e), f"edge_cost({e})"
    for f in range(mrf.n_factors):
        yield mrf.factor(f)[1], f"factor({f})[1]"


def _potentials(costs, name):
    """Return exp(-costs), or raise ValueError if it overflows or underflows."""
    with np.errstate(over="ignore", under="ignore"):
        potentials = np.exp(-costs)
    wrong = np.isfinite(costs) & ((potentials == 0) | np.isinf(potentials))
    if wrong.any():
        place = tuple(int(k) for k in np.unravel_index(wrong.argmax(), costs.shape))
        raise ValueError(
            f"{name}{list(place)} is {costs[place]}, but exp(-cost) is not a valid float64. "
            "Subtract a constant from the table, which changes all energies equally"
        )
    return potentials


def write_uai(mrf: MRF, path: str | os.PathLike[str]) -> None:
    """Write a model to a UAI file.

    Parameters
    ----------
    mrf : MRF
        The model to write.
    path : str or path-like
        The output file; compressed if the name ends in ``.gz``.

    Raises
    ------
    TypeError
        If `mrf` is not an MRF.
    ValueError
        If the potential exp(-cost) of a finite cost is 0 or infinite in float64 (cost above about
        745 or below -709).

    See Also
    --------
    read_uai : Read a model from such a file.

    Notes
    -----
    :func:`read_uai` restores a model with the same energies up to rounding. If an error occurs, an
    existing file is not changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sstruct.inference import MRF, read_uai, write_uai
    >>> model = MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [[0.0, 1.0], [1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_uai(model, Path(folder) / "pair.uai.gz")
    ...     read_uai(Path(folder) / "pair.uai.gz").energy([1, 0])
    4.0
    """
    if not isinstance(mrf, MRF):
        raise TypeError(f"mrf must be an MRF, found {type(mrf).__name__}")
    opened = gzip.open if os.fspath(path).endswith(".gz") else open
    with replaced_file(path) as draft, opened(draft, "wt") as file:
        print(f"MARKOV\n{mrf.n_nodes}\n{' '.join(map(str, mrf.n_labels))}", file=file)
        print(mrf.n_nodes + mrf.n_edges + mrf.n_factors, file=file)
        for v in range(mrf.n_nodes):
            print(f"1 {v}", file=file)
        for u, v in mrf.edges.tolist():
            print(f"2 {u} {v}", file=file)
        for f in range(mrf.n_factors):
            scope, _ = mrf.factor(f)
            print(len(scope), *scope, file=file)
        for costs, name in _tables(mrf):
            print(f"\n{costs.size}", file=file)
            print(" ".join(map(repr, _potentials(costs, name).ravel().tolist())), file=file)
