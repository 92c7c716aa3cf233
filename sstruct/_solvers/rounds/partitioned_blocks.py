"""Parts in this process, and what the caller knows of all blocks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import EACH_ONCE
from sstruct._solvers.rounds.partition_fit import PartitionFit

# A part sees its own changes half as many times as large as there are parts, and this more. With
# less than half, moves that are alike raise the dual no more when they are added up: OCR letters in
# 4 parts count 1.79, 1.71, 1.51 and 1.55 times the work of one place with 1.6, 2, 2.3 and 2.5. Of
# 0.2, 0.3 and 0.5 the work in 2 parts is 1.19, 1.19, 1.25 there; 1.30, 1.24, 1.28 of 20,000 made
# sequences; 1.06, 1.07, 1.24 of 60,000; 2.11, 2.16, 2.21 of CoNLL-2000. In 4 to 16 parts 0.3 and
# 0.5 differ by a tenth at most, and 0.2 is now and then too near to half.
BEYOND_HALF = 0.3


class LocalPartitions:
    """Parts in this process, one after another.

    Parameters
    ----------
    problems : list of (BlockProblem, ndarray)
        With the weights of their blocks, as shares of the sum of all parts.

    Attributes
    ----------
    sent, received, copied : int
        Bytes of arrays and numbers so far: what there would be to send.
    """

    def __init__(self, problems):
        self.problems, self.parts = problems, []
        self.sent = self.received = self.copied = 0
        self.failure = None

    def __len__(self):
        return len(self.problems)

    def start(self, setups):
        """Make the parts' dual states.

        setups : list of (float, Options, ndarray or None, float, dict or None)
            lam, options, bounds, caution, and what an earlier fit left of each part.
        """
        self.parts = [
            part_of(problem, weight, *setup)
            for (problem, weight), setup in zip(self.problems, setups, strict=True)
        ]

    def ask(self, name, arguments):
        """Call a method of each part; return the results, in the order of the parts."""
        self.sent += size_of(arguments)
        found = [getattr(part, name)(*some) for part, some in zip(self.parts, arguments)]
        self.received += size_of(found)
        return found

    def secure(self, arguments, v):
        """Return copies of the parts' states, as `PartitionFit.keep` does; v: that of now."""
        found = [part.keep(*some) for part, some in zip(self.parts, arguments)]
        self.copied += size_of(found)
        return found

    def take_up(self, states, v):
        """Have the parts go on from copies of their states."""
        for part, state in zip(self.parts, states, strict=True):
            part.take_up(state, v)


def part_of(problem, block_weight, lam, options, bounds, caution, warm):
    """Return the PartitionFit of a part."""
    return PartitionFit(Setup(problem, lam, block_weight, options, bounds, warm=warm), caution)


def setups_of(setup):
    """Return what ``start`` of parts takes: each has a random generator of its own."""
    # Drawing by gaps, and caching, would go by gaps at weights that others have moved since.
    sampling = setup.options.sampling
    options = replace(
        setup.options, n_jobs=1, max_time=None, average=False, pass_average=False, cache=False,
        sampling=sampling if sampling in EACH_ONCE else "permutation",
    )  # fmt: skip
    left = setup.problem.cut(setup.warm)
    caution = max(1.0, len(left) / 2 + BEYOND_HALF)
    return [
        (setup.lam, replace(options, seed=options.seed + k), setup.bounds, caution, of_part)
        for k, of_part in enumerate(left)
    ]


def size_of(message):
    """Return the bytes of all arrays in a message, and 8 for each number."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, dict):
        message = message.values()
    elif not isinstance(message, list | tuple):
        return 0 if message is None else 8
    return sum(map(size_of, message))


class PartitionedBlocks:
    """What the caller knows of a problem whose blocks are in parts elsewhere.

    As far as a ``Solver`` asks a ``BlockProblem``.

    Parameters
    ----------
    parts : object
        With ``ask`` and ``failure``, as `LocalPartitions`.
    facts : list of dict
        `facts_of` each part.

    Attributes
    ----------
    ends : ndarray of shape (n_parts,)
        Numbers of blocks up to the end of each part.
    padding : ndarray or None
        `padding_of` the problem, where the fit may go on from a file.
    """

    keeps_planes = False
    n_choices = 0  # the scores that oracles compute stay with the parts

    def __init__(self, parts, facts):
        self.parts = parts
        self.n_weights = facts[0]["n_weights"]
        self.n_feature_weights = facts[0]["n_feature_weights"]
        self.bounded = all(fact["bounded"] for fact in facts)
        self.ends = np.cumsum([len(fact["norms"]) for fact in facts])
        self.n_blocks = int(self.ends[-1])
        self.code_sizes = np.concatenate([fact["code_sizes"] for fact in facts])
        self.max_code_size = int(self.code_sizes.max())
        self.oracle_work = float(np.mean([fact["oracle_work"] for fact in facts]))
        self._norms = np.concatenate([fact["norms"] for fact in facts])
        self._fixed_scores = np.concatenate([fact["fixed_scores"] for fact in facts])
        self.padding = facts[0].get("padding")

    @property
    def failure(self):
        """The error that has ended the parts, between two rounds of the caller; None: none has."""
        return self.parts.failure

    def feature_rows(self):
        """Return the tables of features that are here: none."""
        return []

    def norms(self):
        """Bounds of ``|phi(x_i, y)|``."""
        return self._norms

    def fixed_scores(self):
        """Bounds of what scores have beside ``<w, phi>``."""
        return self._fixed_scores

    def counts(self):
        """Return what the problem adds to a row of the history."""
        return {}

    def cut(self, warm):
        """Return what an earlier fit left of each part's blocks, None where that had none of them.

        warm : dict, what ``export`` gave, checked by `kept_warm_start`; or None
        """
        if warm is None:
            return [None] * len(self.ends)
        size = warm["size"]
        entries = size * self.code_sizes[: len(size)]
        if entries.sum() != len(warm["code"]):
            raise ValueError(
                "what the last fit left to go on from: code: "
                f"{len(warm['code'])} entries, expected {entries.sum()}"
            )
        # Where each block begins in each array.
        starts = {"size": range(len(size) + 1)}
        starts |= {"alpha": np.append(0, size.cumsum()), "code": np.append(0, entries.cumsum())}
        last = np.minimum(self.ends, len(size))
        return [
            {name: warm[name][at[a] : at[b]] for name, at in starts.items()} if a < b else None
            for a, b in pairwise([0, *last.tolist()])
        ]


def padding_of(problem):
    """Return the places in w of those that are none of the model's weights."""
    return np.flatnonzero(problem.without_padding(np.ones(problem.n_weights)) == 0)


def facts_of(problem):
    """Return what `PartitionedBlocks` has to know of a part's problem."""
    return {
        "n_weights": problem.n_weights,
        "n_feature_weights": problem.n_feature_weights,
        "bounded": bool(problem.bounded),
        "code_sizes": problem.code_sizes(),
        "oracle_work": float(problem.oracle_work),
        "norms": np.asarray(problem.norms(), dtype=np.float64),
        "fixed_scores": np.broadcast_to(problem.fixed_scores(), problem.n_blocks).astype(float),
    }
