"""Calls of user terms, with validation of their results."""

from collections import OrderedDict

import numpy as np

from sstruct._checks.parameters import is_real
from sstruct._checks.shown import shortened
from sstruct._oracles.core.incidence import checked_nodes

METHODS = ("minimize", "cost")
# Number of results of each term that are kept for comparison.
KEPT = 8
# Relative differences of values below this are rounding.
ROUNDING = 1e-9


class TermCalls:
    """User terms over the nodes of a model.

    Parameters
    ----------
    terms : list of objects
        Each with `nodes` and the methods ``minimize`` and ``cost``, see `map_mrf`.
    model : MRF

    Attributes
    ----------
    start, node : ndarray of dtype int64 (n_terms + 1,) and int32
        The nodes of term t are ``node[start[t]:start[t + 1]]``.

    Raises
    ------
    TypeError
        If a term lacks an attribute or method.
    ValueError
        If nodes are out of range or duplicates.
    """

    def __init__(self, terms, model):
        self.terms, self.model = list(terms), model
        nodes = [self._nodes(t) for t in range(len(self.terms))]
        self.start = np.r_[0, np.cumsum([len(n) for n in nodes], dtype=np.int64)]
        self.node = np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int32)
        self.answers = [OrderedDict() for _ in self.terms]

    def __len__(self):
        return len(self.terms)

    def _nodes(self, t):
        term = self.terms[t]
        for name in ("nodes", *METHODS):
            if not hasattr(term, name) or (name in METHODS and not callable(getattr(term, name))):
                raise TypeError(
                    f"terms[{t}] has no {'method ' if name in METHODS else ''}{name}: expected an "
                    "object with nodes, minimize(costs) and cost(labels)"
                )
        return checked_nodes(term.nodes, self.model.n_nodes, f"terms[{t}].nodes")

    def nodes(self, t):
        """Return the nodes of a term."""
        return self.node[self.start[t] : self.start[t + 1]]

    def _call(self, t, name, argument):
        """Call a method; add a note to its exceptions."""
        try:
            return getattr(self.terms[t], name)(argument)
        except Exception as error:
            error.add_note(f"raised by {name} of terms[{t}]")
            raise

    def cost(self, t, labels):
        """Return a term's own cost of labels (n,), finite or +inf."""
        found = self._call(t, "cost", np.array(labels))
        if isinstance(found, np.ndarray) and found.ndim == 0:
            found = found[()]
        if not (is_real(found) or isinstance(found, bool | np.bool_)):
            raise TypeError(
                f"terms[{t}]: cost returned {type(found).__name__}, expected a real number"
            )
        found = float(found)
        if not found > -np.inf:
            raise ValueError(f"terms[{t}]: cost returned {found}, expected a finite number or +inf")
        return found

    def minimize(self, t, costs):
        """Return labels (n,) int32 of a term's nodes, and their own cost.

        costs : (n, K) float64, where K is the largest number of labels of its nodes; +inf forbids
        """
        found = self._call(t, "minimize", costs.copy())
        try:
            found = np.asarray(found)
        except ValueError:
            raise TypeError(
                f"terms[{t}]: minimize returned {shortened(found)}, expected a vector of labels"
            ) from None
        if found.shape != (len(costs),) or found.dtype.kind not in "iu":
            raise ValueError(
                f"terms[{t}]: minimize returned dtype {found.dtype} and shape {found.shape}, "
                f"expected integer labels of shape {(len(costs),)}"
            )
        n_labels = self.model.n_labels[self.nodes(t)]
        wrong = (found < 0) | (found >= n_labels)
        if wrong.any():
            p = int(wrong.argmax())
            raise ValueError(
                f"terms[{t}]: minimize returned label {found[p]} at position {p}, expected 0 to "
                f"{n_labels[p] - 1}"
            )
        labels = found.astype(np.int32)
        own = self.cost(t, labels)
        at = costs[np.arange(len(labels)), labels]
        if own == np.inf:
            raise ValueError(
                f"terms[{t}]: minimize returned labels that its cost forbids, {_shown(labels)}"
            )
        if not np.isfinite(at).all():
            p = int((~np.isfinite(at)).argmax())
            raise ValueError(
                f"terms[{t}]: minimize returned label {labels[p]} at position {p}, which is "
                "forbidden there"
            )
        self._compare(t, costs, labels, own, own + float(at.sum()))
        return labels, own

    def _compare(self, t, costs, labels, own, value):
        """Raise ValueError if an earlier result is better, or has a different cost now."""
        answers, key = self.answers[t], labels.tobytes()
        if key in answers and answers[key] != own:
            raise ValueError(
                f"terms[{t}]: cost returned {own} for labels that cost {answers[key]} before, "
                f"{_shown(labels)}"
            )
        place = np.arange(len(labels))
        for other_key, other_own in answers.items():
            other = np.frombuffer(other_key, dtype=np.int32)
            other_value = other_own + float(costs[place, other].sum())
            if other_value < value - ROUNDING * (1 + abs(own) + np.abs(costs[place, labels]).sum()):
                raise ValueError(
                    f"terms[{t}]: minimize returned labels of value {value:g}, but "
                    f"{_shown(other)}, an earlier result, has {other_value:g}: it must find "
                    "a minimum"
                )
        answers[key] = own
        answers.move_to_end(key)
        if len(answers) > KEPT:
            answers.popitem(last=False)


def _shown(labels):
    """Return the first labels as a string for errors."""
    text = ", ".join(map(str, labels[:8].tolist()))
    return f"[{text}, ...]" if len(labels) > 8 else f"[{text}]"
