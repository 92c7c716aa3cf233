"""Worker side of oracle calls on a cluster, with partitions of the data and cached results."""

import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sstruct._cluster.partition import check_length
from sstruct._cluster.processes import cloudpickle
from sstruct._cluster.weight_changes import ReceivedWeights
from sstruct._problems.custom._plane_table import plane_hash
from sstruct._problems.custom.oracle_calls import OracleCalls

# Kinds of answers: only the hash of a plane, a sparse plane (index and value), a dense plane, or no
# plane.
KNOWN, SPARSE, DENSE, NOTHING = range(4)


class Pinged:
    """Base class of actors, for `WorkerGroup`."""

    def ping(self):
        """Return after all earlier calls have ended."""


class OracleActor(Pinged):
    """Oracle calls about some partitions of the data, on the worker that holds them.

    A Dask actor, which runs one method at a time. Exceptions of the oracle are returned instead of
    raised, so that raised exceptions always come from the cluster.

    Parameters
    ----------
    oracle : bytes
        Pickled oracle.
    samples : list of (list, list)
        Samples and true labelings of each partition.
    places : list of (int, int, int, list, list)
        For each partition: the number of its first block, its own number, its number of samples,
        and the indices of the selected samples in the partition and in the user's data.
    """

    def __init__(self, oracle, samples, places):
        self.oracle = cloudpickle.loads(oracle)
        self.samples, self.places = samples, places
        self.calls, self.weights = {}, ReceivedWeights()
        self.starts = np.array([start for start, *_ in places])
        self.pool = None

    def begin(self, k, form, n_threads):
        """Validate partition k; return True, the form of its features, and digests of its samples.

        For invalid data, return False, 0 and the error. form : form of earlier partitions, or
        (None, False) for the first one
        """
        if n_threads > 1 and self.pool is None:
            self.pool = ThreadPoolExecutor(n_threads)
        (X, y), (_, number, n_samples, chosen, rows) = self.samples[k], self.places[k]
        try:
            check_length(X, n_samples, number)
            calls = OracleCalls(
                self.oracle, [X[i] for i in chosen], [y[i] for i in chosen], rows, form
            )
        except Exception as error:
            return False, 0, sendable(error)
        self.samples[k], self.calls[k] = None, calls
        digests = b"".join(calls.digests), b"".join(calls.truth_digests)
        return True, (calls.n_weights, calls.sparse), digests

    def check_unchanged(self, k):
        """Return (True, None, None), or (False, 0, error) if a sample has changed."""
        try:
            self.calls[k].check_all_unchanged()
        except Exception as error:
            return False, 0, sendable(error)
        return True, None, None

    def ask(self, weights, loss_weight, blocks, known, constraint):
        """Return (True, None, packed answers), or (False, position, error) for the first error.

        If the answers are None, the caller must send all weights.
        """
        if not self.weights.update(*weights):
            return True, None, None
        w, ends = self.weights.w, np.cumsum(known[0])
        failed = []

        def answer(place):
            if failed:
                return None
            try:
                k = int(np.searchsorted(self.starts, blocks[place], side="right")) - 1
                calls, i = self.calls[k], int(blocks[place]) - int(self.starts[k])
                plane = calls.ask(i, w, loss_weight, constraint)
                if plane is None:
                    return None
                index, value, loss, excess = plane
                if excess > 0:
                    return plane  # the hash does not include the excess
                hashed = plane_hash(loss, index, value)
                there = hashed in known[1][ends[place] - known[0][place] : ends[place]]
                return hashed if there else plane
            except Exception as error:
                failed.append((place, sendable(error)))

        run = map if self.pool is None else self.pool.map
        answers = list(run(answer, range(len(blocks))))
        if failed:
            return False, *min(failed, key=lambda pair: pair[0])
        return True, None, packed(answers)


def sendable(error):
    """Return an exception that can be pickled, with a note of where it was raised."""
    where = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    if where:
        error.add_note(f"on a worker:\n{where}")
    try:
        copy = cloudpickle.loads(cloudpickle.dumps(error))
        return copy.with_traceback(None)
    except Exception:
        stand_in = RuntimeError(f"{type(error).__name__}: {error}")
        stand_in.__notes__ = list(error.__notes__)
        return stand_in


def packed(answers):
    """Pack answers into a few arrays."""
    kinds, sizes, hashes, numbers, indices, values = [], [], [], [], [], []
    for answer in answers:
        if answer is None or isinstance(answer, int):
            kinds.append(NOTHING if answer is None else KNOWN)
            hashes.append(answer or 0)
            continue
        index, value, *loss_and_excess = answer
        kinds.append(DENSE if index is None else SPARSE)
        sizes.append(len(value))
        numbers += loss_and_excess
        indices += [] if index is None else [index]
        values.append(value)
    return (
        np.array(kinds, dtype=np.int8),
        np.array(sizes, dtype=np.int32),
        np.array(hashes, dtype=np.uint64),
        np.array(numbers),
        np.concatenate([np.empty(0, dtype=np.int32), *indices]),
        np.concatenate([np.empty(0), *values]),
    )


def unpacked(kinds, sizes, hashes, numbers, index, value):
    """Return the answers packed by `packed`."""
    answers, a, h, at, entry = [], 0, 0, 0, 0
    for kind in kinds.tolist():
        if kind in (KNOWN, NOTHING):
            answers.append(int(hashes[h]) if kind == KNOWN else None)
            h += 1
            continue
        size, where = int(sizes[a]), None
        if kind == SPARSE:
            where = index[at : at + size]
            at += size
        answers.append((where, value[entry : entry + size], *numbers[2 * a : 2 * a + 2].tolist()))
        entry += size
        a += 1
    return answers
