"""Fuzz cases, with reproducible random draws and a log of the calls."""

import random
from collections import Counter

import numpy as np

from sstruct._checks.shown import shortened
from tests.hostile.judge import judge
from tests.hostile.values import damaged

# Returned by `attempt` if the call raised an error that is allowed.
REJECTED = object()


class Case:
    """A test case, whose random draws depend only on its domain, seed and number.

    Parameters
    ----------
    domain : str
        Name of a part of the package with its own attacks, a key of ``DOMAINS``.
    seed, number : int
    without : collection of int
        Numbers of damaged values to replace by the valid ones, to find out which of them are
        necessary to reproduce a finding.
    log : list of str, optional
        List to which the log is appended.

    Attributes
    ----------
    random : random.Random
    log : list of str
        Called functions and damaged values.
    counts : Counter
        Number of calls by outcome, "accepted" or "rejected".
    """

    def __init__(self, domain, seed, number, without=(), log=None):
        self.name, self.without = f"{domain}:{seed}:{number}", without
        self.random = random.Random(self.name)
        self.log = [] if log is None else log
        self.counts, self.n_damages = Counter(), 0

    def generator(self):
        """Return a NumPy generator whose seed depends only on the case."""
        return np.random.default_rng(self.random.getrandbits(32))

    def damaged(self, name, value):
        """Return a damaged copy of a value, or the value itself if its number is in `without`."""
        number = self.n_damages
        self.n_damages += 1
        if number in self.without:
            return value
        out = damaged(random.Random(f"{self.name}:{number}"), value)
        self.log.append(f"damage {number}: {name} = {shown(out)}")
        return out

    def arguments(self, valid, least=0, most=2):
        """Return a copy of keyword arguments in which up to `most` of them are damaged."""
        out = dict(valid)
        for _ in range(self.random.randint(least, most)):
            name = self.random.choice(list(out))
            out[name] = self.damaged(name, out[name])
        return out

    def attempt(self, name, function, *args, **keywords):
        """Call a function; return its result, or REJECTED if it raised an allowed error."""
        self.log.append(name)
        try:
            result = function(*args, **keywords)
        except Exception as error:
            judge(error)
            self.log.append(f"  rejected: {shown(error, 170)}")
            self.counts["rejected"] += 1
            return REJECTED
        self.counts["accepted"] += 1
        return result


def shown(value, most=160):
    """Return a short representation of any object, including hostile ones."""
    try:
        text = " ".join(f"{type(value).__name__} {shortened(value)}".split())
    except Exception:
        text = f"{type(value).__name__} without repr"
    return text if len(text) <= most else f"{text[:most]}..."
