"""Partitions in this process, and the problem of the caller that stands for all partitions."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import EACH_ONCE
from sstruct._solvers.rounds.partition_fit import PartitionFit

# A partition multiplies its own changes by a factor: half the number of partitions plus this. With
# a smaller factor than half, adding similar moves no longer raises the dual: OCR letters in 4
# partitions take 1.79, 1.71, 1.51 and 1.55 times the work of a single process with the factors 1.6,
# 2, 2.3 and 2.5. If 0.2, 0.3 and 0.5 are added to half, the work in 2 partitions is 1.19, 1.19 and
# 1.25 there; 1.30, 1.24 and 1.28 for 20,000 generated sequences; 1.06, 1.07 and 1.24 for 60,000;
# 2.11, 2.16 and 2.21 for CoNLL-2000. In 4 to 16 partitions, 0.3 and 0.5 differ by at most a tenth,
# and 0.2 is sometimes too close to half.
BEYOND_HALF = 0.3


class LocalPartitions:
    """Partitions in this process, which are called in sequence.

    Parameters
    ----------
    problems : list of (BlockProblem, ndarray)
        Each problem, with the weights of its blocks as shares of the sum over all partitions.

    Attributes
    ----------
    sent, received, copied : int
        Bytes of arrays and numbers that a cluster would have transferred so far.
    """

    def __init__(self, problems):
        self.problems, self.parts = problems, []
        self.sent = self.received = self.copied = 0
        self.failure = None

    def __len__(self):
        return len(self.problems)

    def start(self, setups):
        """Create the dual states of the partitions.

        setups : list of (float, Options, ndarray or None, float, dict or None)
            lam, options, bounds, caution (see `PartitionFit`), and the state of an earlier fit, for
            each partition.
        """
        self.parts = [
            part_of(problem, weight, *setup)
            for (problem, weight), setup in zip(self.problems, setups, strict=True)
        ]

    def ask(self, name, arguments):
        """Call a method of each partition; return the results in the order of the partitions."""
        self.sent += size_of(arguments)
        replies = [getattr(part, name)(*some) for part, some in zip(self.parts, arguments)]
        self.received += size_of(replies)
        return replies

    def secure(self, arguments, v):
        """Return copies of the partitions' states.

        v : ndarray
            The current v, which the copies do not include.
        """
        replies = [part.keep(*some) for part, some in zip(self.parts, arguments)]
        self.copied += size_of(replies)
        return replies

    def restore_state(self, states, v):
        """Restore the partitions from copies of their states."""
        for part, state in zip(self.parts, states, strict=True):
            part.restore_state(state, v)


def part_of(problem, block_weight, lam, options, bounds, caution, warm):
    """Return the PartitionFit of a partition."""
    return PartitionFit(Setup(problem, lam, block_weight, options, bounds, warm=warm), caution)


def setups_of(setup):
    """Return the argument of ``start`` for the partitions, each with its own random generator."""
    # Sampling by gaps and caching would use gaps at weights that other partitions have changed.
    sampling = setup.options.sampling
    options = replace(
        setup.options, n_jobs=1, max_time=None, average=False, pass_average=False, cache=False,
        sampling=sampling if sampling in EACH_ONCE else "permutation",
    )  # fmt: skip
    left = setup.problem.cut(setup.warm)
    caution = max(1.0, len(left) / 2 + BEYOND_HALF)
    return [
        (setup.lam, replace(options, seed=options.seed + k), setup.bounds, caution, part)
        for k, part in enumerate(left)
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
    """The problem of all partitions, as seen by the caller; the blocks are in the partitions.

    Implements the part of ``BlockProblem`` that ``Solver`` uses.

    Parameters
    ----------
    parts : object
        Partitions with ``ask`` and ``failure``, as `LocalPartitions`.
    facts : list of dict
        Result of `facts_of` for each partition.

    Attributes
    ----------
    ends : ndarray of shape (n_parts,)
        Number of blocks up to the end of each partition.
    padding : ndarray or None
        Result of `padding_of` for the problem, if the fit may resume from a file.
    """

    keeps_planes = False
    n_choices = 0  # scores computed by oracles stay in the partitions
    oracle_is_slow = False  # partitions make whole passes, whatever the oracle

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
        self.oracle_is_quick = all(fact["oracle_is_quick"] for fact in facts)
        self._norms = np.concatenate([fact["norms"] for fact in facts])
        self._fixed_scores = np.concatenate([fact["fixed_scores"] for fact in facts])
        self.padding = facts[0].get("padding")

    @property
    def failure(self):
        """The error that made the partitions unusable, or None."""
        return self.parts.failure

    def feature_rows(self):
        """Return the feature tables in this process: none."""
        return []

    def norms(self):
        """Return upper bounds on ``|phi(x_i, y)|``."""
        return self._norms

    def fixed_scores(self):
        """Return upper bounds on the magnitudes of score terms other than ``<w, phi>``."""
        return self._fixed_scores

    def without_padding(self, w):
        """Return a copy of weights with 0 in place of padding."""
        w = w.copy()
        w[self.padding] = 0
        return w

    def counts(self):
        """Return the problem's columns of the history."""
        return {}

    def cut(self, warm):
        """Split the state of an earlier fit by partition; None for partitions without blocks in it.

        warm : dict returned by ``export``, validated by `kept_warm_start`; or None
        """
        if warm is None:
            return [None] * len(self.ends)
        size = warm["size"]
        entries = size * self.code_sizes[: len(size)]
        if entries.sum() != len(warm["code"]):
            raise ValueError(
                "cannot continue from the previous fit: code: "
                f"{len(warm['code'])} entries, expected {entries.sum()}"
            )
        # First entry of each block in each array.
        starts = {"size": range(len(size) + 1)}
        starts |= {"alpha": np.append(0, size.cumsum()), "code": np.append(0, entries.cumsum())}
        last = np.minimum(self.ends, len(size))
        return [
            {name: warm[name][at[a] : at[b]] for name, at in starts.items()} if a < b else None
            for a, b in pairwise([0, *last.tolist()])
        ]


def padding_of(problem):
    """Return the positions in w that are padding and not weights of the model."""
    return np.flatnonzero(problem.without_padding(np.ones(problem.n_weights)) == 0)


def facts_of(problem):
    """Return the facts about a partition's problem that `PartitionedBlocks` needs."""
    return {
        "n_weights": problem.n_weights,
        "n_feature_weights": problem.n_feature_weights,
        "bounded": bool(problem.bounded),
        "code_sizes": problem.code_sizes(),
        "oracle_work": float(problem.oracle_work),
        "oracle_is_quick": bool(problem.oracle_is_quick),
        "norms": np.asarray(problem.norms(), dtype=np.float64),
        "fixed_scores": np.broadcast_to(problem.fixed_scores(), problem.n_blocks).astype(float),
    }
