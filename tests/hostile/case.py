"""A case: a function of a domain, a seed and a number, and of nothing else."""

import random
from collections import Counter

import numpy as np

from sstruct._checks.shown import shortened
from tests.hostile.judge import judge
from tests.hostile.values import damaged

# What `attempt` returns where a call was refused.
REFUSED = object()


class Case:
    """What an attack draws from, and what it has done.

    Parameters
    ----------
    domain : str
    seed, number : int
    without : collection of int
        Numbers of damages that are left out, to find the ones that matter.

    Attributes
    ----------
    random : random.Random
    log : list of str
        What was called, and what was damaged.
    counts : Counter
        What came of it.
    """

    def __init__(self, domain, seed, number, without=(), log=None):
        self.name, self.without = f"{domain}:{seed}:{number}", without
        self.random = random.Random(self.name)
        self.log = [] if log is None else log
        self.counts, self.n_damages = Counter(), 0

    def generator(self):
        """Return a NumPy generator of the case's own."""
        return np.random.default_rng(self.random.getrandbits(32))

    def damaged(self, name, value):
        """Return a value, damaged unless this damage is left out."""
        number = self.n_damages
        self.n_damages += 1
        if number in self.without:
            return value
        out = damaged(random.Random(f"{self.name}:{number}"), value)
        self.log.append(f"damage {number}: {name} = {shown(out)}")
        return out

    def arguments(self, sound, least=0, most=2):
        """Return arguments by name, some of them damaged."""
        out = dict(sound)
        for _ in range(self.random.randint(least, most)):
            name = self.random.choice(list(out))
            out[name] = self.damaged(name, out[name])
        return out

    def attempt(self, name, function, *args, **keywords):
        """Call a function; return what it returns, or REFUSED where it refuses."""
        self.log.append(name)
        try:
            result = function(*args, **keywords)
        except Exception as error:
            judge(error)
            self.log.append(f"  refused: {shown(error, 170)}")
            self.counts["refused"] += 1
            return REFUSED
        self.counts["accepted"] += 1
        return result


def shown(value, most=160):
    """Return a short text of anything, hostile objects too."""
    try:
        text = " ".join(f"{type(value).__name__} {shortened(value)}".split())
    except Exception:
        text = f"{type(value).__name__} without repr"
    return text if len(text) <= most else f"{text[:most]}..."
