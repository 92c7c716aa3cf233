"""Reader of the cfn format of toulbar2."""

from __future__ import annotations

import math
import os
import re

import numpy as np

from sstruct._checks.arrays import LARGEST
from sstruct.inference._files.tokens import Tokens
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.packing import MAX_NODES
from sstruct.inference._model.term_list import TermList

_MOST = 2**31 - 1
_OPEN, _CLOSE = ("{", "["), ("}", "]")
# Relative accuracy of sums of costs that are compared with the bound of the file.
_ROUNDING = 1e-12


class _CfnTokens(Tokens):
    """Words of a cfn file: brackets, numbers and strings, without their quotes.

    Commas, colons and whitespace separate words, as in toulbar2.
    """

    WORD = re.compile(rb"[\[\]{}]|[^\s,:\[\]{}]+")
    ENDS = Tokens.ENDS + b",:[]{}"

    def _split(self):
        words = self.WORD.findall(self.text)
        if b'"' not in self.text:
            return words
        is_quoted = re.compile(rb'"[^"]*"').fullmatch
        return [word[1:-1] if is_quoted(word) else word for word in words]

    def peek(self):
        """Return the next word without consuming it, or an empty string at the end."""
        return "" if self.at_end() else self.words[self.at].decode("latin-1")

    def tag(self, name):
        """Skip the tag of a field, which may be missing; return True if it was found."""
        found = self.peek() == name
        if found:
            self.word(name)
        return found

    def open(self, what):
        """Read an opening bracket."""
        word = self.word(what)
        if word not in _OPEN:
            raise self.error(f"{word[:40]!r} found, expected {what}, which starts with {{ or [")

    def close(self, what):
        """Read a closing bracket."""
        word = self.word(f"the end of {what}")
        if word not in _CLOSE:
            raise self.error(f"{word[:40]!r} found, expected the end of {what}, }} or ]")

    def items(self, what):
        """Read brackets, and yield before each item in them."""
        self.open(what)
        while self.peek() not in _CLOSE:
            if self.at_end():
                raise self.error(f"the file ends within {what}")
            yield
        self.close(what)


def _is_name(word):
    return not (word == "" or word[0] in "0123456789-.+{}[]" or '"' in word)


def _read_problem(tokens):
    """Read the problem; return the sign of its costs, and the bound on its energies."""
    tokens.tag("problem")
    tokens.open("the problem")
    tokens.tag("name")
    tokens.word("the name of the problem")
    tokens.tag("mustbe")
    word = tokens.word("the bound of the problem, such as <10.0")
    found = re.fullmatch(r"([<>])([+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?|inf)", word)
    if found is None:
        raise tokens.error(f"{word[:40]!r} found, expected a bound of energies such as <10.0")
    tokens.close("the problem")
    sign = 1.0 if found[1] == "<" else -1.0
    return sign, math.inf if found[2] == "inf" else sign * float(found[2])


class _Variables:
    """Names of the variables and of their values.

    Attributes
    ----------
    number : dict of str to int
        Index of each named variable.
    n_labels : list of int
    values : list of dict of str to int
        For each variable, the index of each named value.
    """

    def __init__(self, tokens):
        self.number, self.n_labels, self.values = {}, [], []
        tokens.tag("variables")
        for _ in tokens.items("the variables"):
            self._read(tokens)
        if not self.n_labels:
            raise tokens.error("the file has no variables, expected at least one")

    def _read(self, tokens):
        v, values = len(self.n_labels), {}
        what = f"variable {v}"
        if _is_name(tokens.peek()):
            name = tokens.word(what)
            if name in self.number:
                raise tokens.error(f"the variable {name[:40]!r} is given twice")
            self.number[name] = v
            what = f"variable {name[:40]!r}"
        if tokens.peek() in _OPEN:
            for _ in tokens.items(f"the values of {what}"):
                value = tokens.word(f"a value of {what}")
                tokens.declare(1, what)
                if value in values or not _is_name(value):
                    raise tokens.error(
                        f"{what} has the value {value[:40]!r}, expected different names, which do "
                        "not start with a digit, a sign or a point"
                    )
                values[value] = len(values)
            if not values:
                raise tokens.error(f"{what} has no values, expected at least one")
            n_labels = len(values)
        else:
            n_labels = tokens.integer(f"the number of values of {what}", 1, _MOST)
            tokens.declare(n_labels, what)
        tokens.declare(16, what)
        self.n_labels.append(n_labels)
        self.values.append(values)

    def read_scope(self, tokens, what):
        """Return the variables of a function."""
        scope = []
        tokens.tag("scope")
        for _ in tokens.items(f"the scope of {what}"):
            word = tokens.peek()
            if _is_name(word):
                tokens.word(word)
                if word not in self.number:
                    raise tokens.error(
                        f"the scope of {what} has the unknown variable {word[:40]!r}"
                    )
                scope.append(self.number[word])
            else:
                scope.append(tokens.integer(f"a variable of {what}", 0, len(self.n_labels) - 1))
        if len(set(scope)) < len(scope):
            raise tokens.error(f"{what} contains a variable twice: {scope[:40]}")
        if len(scope) > MAX_NODES:
            raise tokens.error(f"{what} has {len(scope)} variables, expected at most {MAX_NODES}")
        return tuple(scope)

    def read_value(self, tokens, v, what):
        """Return the index of a value of variable v, given by its name or index."""
        word = tokens.peek()
        if _is_name(word):
            tokens.word(word)
            if word not in self.values[v]:
                raise tokens.error(f"{what} has the unknown value {word[:40]!r} of variable {v}")
            return self.values[v][word]
        return tokens.integer(f"a value of variable {v} in {what}", 0, self.n_labels[v] - 1)


class _Functions:
    """Read functions, and add them to terms with a sign.

    waiting : dict of str to list of (scope, str)
        Scopes and descriptions of functions that share the costs of a later function.
    """

    def __init__(self, tokens, variables, sign):
        self.tokens, self.variables, self.sign = tokens, variables, sign
        self.terms, self.waiting, self.n_functions = TermList(variables.n_labels), {}, 0
        tokens.tag("functions")
        for _ in tokens.items("the functions"):
            self._read()
            self.n_functions += 1
        for name, users in self.waiting.items():
            raise tokens.error(
                f"{users[0][1]} has the costs of the function {name[:40]!r}, which does not follow"
            )

    def _read(self):
        tokens, name, what = self.tokens, None, f"function {self.n_functions}"
        if _is_name(tokens.peek()):
            name = tokens.word(what)
            what = f"function {name[:40]!r}"
        tokens.open(what)
        scope = self.variables.read_scope(tokens, what)
        shape = tuple(self.variables.n_labels[v] for v in scope)
        word = tokens.peek()
        if tokens.tag("defaultcost") or not (_is_name(word) or word in _OPEN):
            default = self._numbers(1, f"the default cost of {what}")[0]
            tokens.tag("costs")
            costs = self._read_sparse(scope, shape, default, what)
        else:
            if not tokens.tag("costs") and word not in _OPEN:
                raise tokens.error(
                    f"{what} has {word[:40]!r}, expected costs or defaultcost; functions with a "
                    "type are not supported"
                )
            costs = self._read_dense(shape, what)
        tokens.close(what)
        if isinstance(costs, str):
            self.waiting.setdefault(costs, []).append((scope, what))
            return
        self.terms.add(scope, self.sign * costs)
        for user, user_what in self.waiting.pop(name, []):
            sizes = tuple(self.variables.n_labels[v] for v in user)
            if sizes != shape:
                raise tokens.error(f"{user_what} has the shape {sizes}, but its costs have {shape}")
            if self.terms.has_pair(user):
                # The sum is a table that no function shares.
                tokens.declare(costs.size, user_what)
            self.terms.add(user, self.sign * costs)

    def _numbers(self, count, what):
        """Return costs: finite, or infinite with the sign of forbidden entries."""
        values = self.tokens.numbers(count, what)
        wrong = ~(np.abs(values) <= LARGEST) & (self.sign * values != np.inf)
        if wrong.any():
            raise self.tokens.error(
                f"{what}, which ends here, has the entry {values[wrong.argmax()]}, expected a cost "
                f"of at most {LARGEST:g} in absolute value, or {self.sign * np.inf} (forbidden)"
            )
        return values

    def _declared_size(self, shape, what):
        size = math.prod(shape)
        self.tokens.declare(16 + size, what)
        return size

    def _read_dense(self, shape, what):
        """Return a table, or the name of the function that has it."""
        tokens = self.tokens
        if _is_name(tokens.peek()):
            tokens.declare(16, what)
            return tokens.word(f"the costs of {what}")
        tokens.open(f"the costs of {what}")
        size = self._declared_size(shape, what)
        costs = self._numbers(size, f"the costs of {what}").reshape(shape)
        tokens.close(f"the {size} costs of {what}")
        return costs

    def _read_sparse(self, scope, shape, default, what):
        """Return the table of a default cost and of tuples with other costs."""
        self._declared_size(shape, what)
        costs, given = np.full(shape, default), set()
        for _ in self.tokens.items(f"the costs of {what}"):
            place = tuple(self.variables.read_value(self.tokens, v, what) for v in scope)
            if place in given:
                raise self.tokens.error(f"{what} has two costs for the values {list(place)}")
            given.add(place)
            costs[place] = self._numbers(1, f"a cost of {what}")[0]
        return costs


def _forbid(arguments, bound):
    """Forbid entries that occur only in labelings with at least the energy `bound`.

    arguments : of MRF, without weights; the same object may be the table of several terms
    """
    if bound == math.inf:
        return arguments
    node, edges, tables, _, factors = arguments
    terms = [*node, *tables, *(table for _, table in factors)]
    least = [float(costs.min()) for costs in terms]
    if np.inf in least:
        return arguments
    total = math.fsum(least)
    size = math.fsum(map(abs, least)) + abs(bound)
    known = {}

    def limited(costs):
        if id(costs) not in known:
            most = bound - total + float(costs.min())
            is_beyond = costs >= most - _ROUNDING * (size + abs(most))
            known[id(costs)] = np.where(is_beyond, np.inf, costs)
        return known[id(costs)]

    factors = [(scope, limited(table)) for scope, table in factors]
    return [limited(costs) for costs in node], edges, list(map(limited, tables)), None, factors


def read_cfn(path: str | os.PathLike[str], *, max_entries: int = 2**27) -> MRF:
    """Read a model from a cfn file of toulbar2.

    Parameters
    ----------
    path : str or path-like
        A text file, plain or compressed (gzip, bzip2 or xz): a JSON object with the fields
        ``problem``, ``variables`` and ``functions``, in this order. Quotes, commas, colons and the
        tags of fields may be missing. ``#`` starts a comment up to the end of the line.
    max_entries : int, default=2**27
        Limit on the total number of entries: all labels and table entries, plus 16 for each
        variable and function. An entry takes about 16 bytes of memory. Words of more than 2^21
        characters are rejected (those of more than 2^20 may be).

    Returns
    -------
    mrf : MRF
        The variables and their values are numbered in the order of the file. Functions of one and
        two variables become node and edge costs; repeated ones are summed, and functions without
        variables are added to the costs of node 0. Equal tables are stored once. Costs are not
        rounded.

    Raises
    ------
    ValueError
        If the file is truncated, has text after its end, declares more than `max_entries`, has a
        function with a type (global and arithmetic functions) or of more than 31 variables, an
        interval variable, a cost that is NaN, beyond 1e100 or an infinity other than that of
        forbidden entries, two costs for the same tuple, or is not a valid cfn file. The message
        gives the line number.

    See Also
    --------
    map_mrf : Minimize the energy.
    read_uai : Read a model from a UAI file.

    Notes
    -----
    ``mustbe: "<b"`` minimizes the sum of the costs, and forbids sums of b or more. An entry of a
    table is ``+inf`` if its cost plus the least costs of all other tables is at least b. Other
    labelings with an energy of b or more are not forbidden: compare the energy of the result with
    b. ``mustbe: ">b"`` maximizes the sum and forbids sums of b or less: energies are then negated
    sums.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sstruct.inference import map_mrf, read_cfn
    >>> text = '''{"problem": {"name": "two", "mustbe": "<5.0"},
    ...  "variables": {"x": ["a", "b"], "y": 2},
    ...  "functions": {"f": {"scope": ["x", "y"], "costs": [0.5, 5, 1, 0]},
    ...                "g": {"scope": ["y"], "defaultcost": 0, "costs": [1, 2.5]}}}'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.cfn"
    ...     _ = path.write_text(text)
    ...     model = read_cfn(path)
    >>> model.edge_cost(0)
    array([[0.5, inf],
           [1. , 0. ]])
    >>> map_mrf(model).labels
    array([0, 0], dtype=int32)
    """
    with _CfnTokens(path, max_entries, comments=b"#") as tokens:
        tokens.open("the model")
        sign, bound = _read_problem(tokens)
        variables = _Variables(tokens)
        terms = _Functions(tokens, variables, sign).terms
        tokens.close("the model")
        if not tokens.at_end():
            raise tokens.error(f"{tokens.word('')[:40]!r} found after the end of the model")
    return MRF(*_forbid(terms.arguments(), bound))
