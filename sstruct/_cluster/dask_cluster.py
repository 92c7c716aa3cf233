"""Oracle calls on a Dask cluster, which stores the data and receives changes of w."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import NamedTuple

import numpy as np

from sstruct._cluster.answers import OracleActor, unpacked
from sstruct._cluster.partition import changed, lost_for_good
from sstruct._cluster.processes import AT_ONCE, cloudpickle
from sstruct._cluster.weight_changes import WeightChanges
from sstruct._problems.custom.oracle_calls import Constraint, OracleCalls

# Time limits in seconds: for the first worker; for a replacement of a lost worker, before the other
# workers take its partitions; between checks whether a worker still exists; and for a message of
# any size, after which calls without a result are checked.
FIRST, REPLACEMENT, CHECK, TRANSFER = 60, 5, 1, 60
# Number of times that the worker of a partition may be lost in one round of calls.
MAX_LOSSES = 5
SUSPECT = "does the oracle end its process?"


def threads_there(client, suspect=None):
    """Return the threads of each worker by address; wait until there is a worker.

    suspect : a question about the reason for lost workers in this round; None if none was lost

    Raises
    ------
    RuntimeError
        If there is none within `FIRST` seconds.
    """
    try:
        client.wait_for_workers(1, timeout=FIRST)
    except TimeoutError:
        lost = "" if suspect is None else f", after workers were lost: {suspect}"
        raise RuntimeError(f"no worker was available within {FIRST} seconds{lost}") from None
    return client.nthreads()


class WorkerLost(Exception):
    """A worker was lost, with its data."""


class Losses:
    """Lost workers of each partition in one round of calls.

    A dead worker is counted once in `FIRST` seconds, although several calls notice it and the
    scheduler may list it for a while: it is chosen again only if no other worker appears within
    `REPLACEMENT` seconds.

    Parameters
    ----------
    suspect : str
        A question for error messages: a possible reason for repeated losses.
    """

    def __init__(self, suspect):
        self.suspect = suspect
        self.clear()

    def clear(self):
        """Start a new round."""
        self.last, self.counts = {}, {}

    def add(self, parts, address, made=None):
        """Count the loss of a worker for its partitions, unless it has been counted.

        Parameters
        ----------
        parts : list of Partition
        address : str
        made : float, optional
            Time when the worker created its actor, if it did.

        Raises
        ------
        RuntimeError
            If a partition has lost its worker more than `MAX_LOSSES` times.
        """
        now = time.monotonic()
        for part in parts:
            where, when = self.last.get(part.number, (None, 0.0))
            # A worker at the same address is a new one if it has worked since.
            if where == address and (made or 0.0) <= when and now - when <= FIRST:
                continue
            self.last[part.number] = address, now
            count = self.counts[part.number] = self.counts.get(part.number, 0) + 1
            if count > MAX_LOSSES:
                raise RuntimeError(
                    f"workers were lost {count} times with partition {part.number} in one "
                    f"round of calls: {self.suspect}"
                )

    def threads(self, client):
        """Return the threads of each worker by address, without lost workers if there are others.

        Waits for workers with increasing pauses.
        """
        lost = {address for address, _ in self.last.values()}
        pause, end = CHECK / 10, time.monotonic() + REPLACEMENT
        while True:
            there = threads_there(client, self.suspect if lost else None)
            others = {address: n for address, n in there.items() if address not in lost}
            if others or time.monotonic() > end:
                return others or there
            time.sleep(pause)
            pause = min(2 * pause, CHECK)


class Round(NamedTuple):
    """The arguments of a round of oracle calls: the version of w and further ones.

    known(block): hashes of the planes that the caller has.
    """

    version: int
    loss_weight: float
    known: Callable
    constraint: Constraint | None


class WorkerGroup:
    """Partitions that one worker serves, in an actor with base class `Pinged`."""

    def __init__(self, parts, future, address):
        self.parts, self.future, self.address = parts, future, address
        self.actor, self.version, self.lost, self.made = None, 0, False, None

    def wait(self, client):
        """Wait for the actor, which may take long if Dask must recompute the partitions.

        Raises
        ------
        WorkerLost
            If the worker has ended before.
        """
        while self.actor is None:
            try:
                self.actor = self.future.result(timeout=CHECK)
            except TimeoutError:
                if self.address not in client.nthreads():
                    raise WorkerLost from None
            except Exception:
                if self.future.status == "error" and self.address in client.nthreads():
                    raise
                raise WorkerLost from None
        self.made = time.monotonic()

    def call(self, name, *args):
        """Start a call of a method of the actor; return the argument of `result`."""
        try:
            return getattr(self.actor, name)(*args)
        except Exception:
            return None

    def result(self, call):
        """Wait for the result of a call; raise WorkerLost if the worker or the call is lost."""
        later, is_idle, end = None, False, time.monotonic() + TRANSFER
        while call is not None and not self.lost:
            try:
                return call.result(timeout=CHECK)
            except TimeoutError:
                if self.future.status != "finished":
                    break
                # Dask reports only an OSError of the connection. After other errors, such as a
                # MemoryError of a worker that reads a message, the call never ends. Since the actor
                # runs its calls in their order, a call that ends long after a later one is lost.
                if time.monotonic() > end:
                    if is_idle:
                        break
                    later = later or self.call("ping")
                    is_idle, end = later is None or later.done(), time.monotonic() + TRANSFER
            except Exception:
                # The methods themselves never raise.
                break
        raise WorkerLost


class PlacedParts:
    """Base class that chooses workers for partitions.

    Subclasses have the attributes `client` and `losses`, and the method ``_load(part, n_threads)``,
    which returns the load that a partition adds to a worker.
    """

    def _addresses(self, parts, groups):
        """Choose workers: those that have the data, or those with the least load.

        Parameters
        ----------
        parts : list of Partition or RemotePartition
        groups : list of WorkerGroup
            Groups of the other partitions, for the present load of the workers.

        Returns
        -------
        chosen : list of str
            Address for each partition.
        threads : dict
            Threads of each worker by address.
        """
        threads = self.losses.threads(self.client)
        load = dict.fromkeys(sorted(threads), 0.0)
        for group in groups:
            if group.address in load:
                for part in group.parts:
                    load[group.address] += self._load(part, threads[group.address])
        there = [part.source for part in parts if part.source is not None]
        try:
            homes = self.client.who_has(there) if there else {}
        except CancelledError:
            self._check_sources(parts)
            raise
        chosen = []
        for part in parts:
            at = [] if part.source is None else homes.get(part.source.key, ())
            least = min([a for a in at if a in load] or load, key=load.get)
            load[least] += self._load(part, threads[least])
            chosen.append(least)
        return chosen, threads

    def _check_sources(self, parts):
        """Raise an error if partitions are lost and cannot be recomputed."""
        for part in parts:
            if part.source is not None and part.source.status in ("cancelled", "error"):
                raise lost_for_good(part.number)


class Cluster(PlacedParts):
    """Workers of a Dask cluster that answer oracle calls about partitions of the data.

    Each worker holds its partitions in an actor. A call sends the changes of w since the last call
    to this worker, or all of w if that is smaller. The answers are planes, or hashes of planes that
    the caller has. If a worker is lost, other workers take its partitions, from the futures, which
    Dask recomputes if possible, or from the caller's lists, and its calls are repeated.

    Parameters
    ----------
    client : distributed.Client
    oracle : object
    parts : list of Partition

    Attributes
    ----------
    form : tuple of (int, bool)
        Number of weights, and whether features are sparse.
    n_workers : int
        Number of threads of all workers.
    at_once : int
        Number of blocks to ask about at the same time.
    sent, received : int
        Bytes so far of weights, block numbers and hashes of planes, and of answers.
    """

    def __init__(self, client, oracle, parts):
        self.client, self.parts, self.form = client, parts, None
        self.oracle = client.submit(_same, cloudpickle.dumps(oracle), pure=False)
        self.groups, self.lock = [], threading.RLock()
        self.sent, self.received, self.losses = 0, 0, Losses(SUSPECT)
        self.starts = np.array([part.start for part in parts])
        self.n_workers = sum(threads_there(client).values())
        self._place(parts)
        self.at_once = AT_ONCE * self.n_workers
        self.weights = WeightChanges(self.form[0])

    def _load(self, part, n_threads):
        return len(part.rows) / n_threads

    def _place(self, parts):
        """Assign partitions to workers, which validate their samples."""
        while parts:
            by_address = {}
            chosen, threads = self._addresses(parts, self.groups)
            for part, address in zip(parts, chosen):
                by_address.setdefault(address, []).append(part)
            new, parts = [], []
            for address, some in by_address.items():
                try:
                    new.append(self._group(some, address))
                except Exception:  # scattering failed
                    self._check_sources(some)
                    if address in self.client.nthreads():
                        raise
                    self.losses.add(some, address)
                    parts += some
            for group in new:
                try:
                    group.wait(self.client)
                    self.groups.append(group)
                except WorkerLost:
                    self.losses.add(group.parts, group.address)
                    self._check_sources(group.parts)
                    parts += group.parts
            parts += self._begin([g for g in new if g in self.groups], threads)

    def _group(self, parts, address):
        samples = [part.sent(self.client, address) for part in parts]
        places = [(p.start, p.number, p.n_samples, p.chosen, p.rows) for p in parts]
        future = self.client.submit(
            OracleActor, self.oracle, samples, places, actor=True, workers=[address], pure=False
        )
        return WorkerGroup(parts, future, address)

    def _begin(self, groups, threads):
        """Validate the partitions on the workers; return lost partitions.

        If the form of the features is not known yet, the first partition is validated before the
        others, which must have the same form.
        """
        asked = sorted(
            ((part, group, k) for group in groups for k, part in enumerate(group.parts)),
            key=lambda asked: asked[0].number,
        )
        lost = set()
        while asked:
            now, asked = (asked[:1], asked[1:]) if self.form is None else (asked, [])
            form = self.form or (None, False)
            calls = [group.call("begin", k, form, threads[group.address]) for _, group, k in now]
            for (part, group, _), call in zip(now, calls):
                try:
                    succeeded, form, found = group.result(call)
                except WorkerLost:
                    self.losses.add(group.parts, group.address, group.made)
                    lost.add(group)
                    continue
                if not succeeded:
                    raise found
                self.form = form
                if part.digests is not None:
                    _check_same_digests(part, found)
                part.digests = found
            if self.form is None:  # start again
                lost, asked = set(groups), []
        self.groups = [group for group in self.groups if group not in lost]
        return [part for group in lost for part in group.parts]

    def _replace(self):
        """Assign the partitions of lost workers to others."""
        with self.lock:
            gone = [group for group in self.groups if group.lost]
            if not gone:
                return
            self.groups = [group for group in self.groups if not group.lost]
            busy, end = {group.address for group in self.groups}, time.monotonic() + REPLACEMENT
            dead = {group.address for group in gone}
            while time.monotonic() < end and not set(self.client.nthreads()) - busy - dead:
                time.sleep(CHECK / 10)
            parts = [part for group in gone for part in group.parts]
            self._check_sources(parts)
            self._place(sorted(parts, key=lambda part: part.number))

    def _send(self, asking, blocks):
        """Start calls for some blocks on their workers; return groups, their blocks and calls."""
        part_of = {part.number: group for group in self.groups for part in group.parts}
        by_group = {}
        places = np.searchsorted(self.starts, blocks, side="right") - 1
        for i, place in zip(blocks, places.tolist()):
            by_group.setdefault(part_of[self.parts[place].number], []).append(i)
        asked, changes = [], {}
        for group, some in by_group.items():
            since = group.version
            if since not in changes:
                changes[since] = self.weights.since(since)
            hashes = [asking.known(i) for i in some]
            sizes = np.array([len(block_hashes) for block_hashes in hashes], dtype=np.int32)
            hashes = np.concatenate(hashes)
            index, values = changes[since]
            self.sent += values.nbytes + (0 if index is None else index.nbytes)
            self.sent += 4 * len(some) + sizes.nbytes + hashes.nbytes
            call = group.call(
                "ask", (asking.version, since, index, values), asking.loss_weight,
                np.array(some, dtype=np.int32), (sizes, hashes), asking.constraint,
            )  # fmt: skip
            asked.append((group, some, call))
        return asked

    def ask_all(self, blocks, w, loss_weight, known, constraint=None):
        """Return the value of `OracleCalls.ask` for each block.

        If the hash of a plane is in the array ``known(block)``, only the hash is returned, unless
        the oracle reported an upper bound above the score of its labeling.
        """
        with self.lock:
            asking = Round(self.weights.update(w), loss_weight, known, constraint)
            asked = self._send(asking, blocks)
        answers, errors = {}, []
        while asked:
            again = []
            for group, some, call in asked:
                try:
                    succeeded, place, found = group.result(call)
                except WorkerLost:
                    with self.lock:
                        group.lost = True
                        self.losses.add(group.parts, group.address, group.made)
                    again += some
                    continue
                if not succeeded:
                    errors.append((blocks.index(some[place]), found))
                    group.version = 0
                elif found is None:
                    group.version = 0
                    again += some
                else:
                    group.version = asking.version
                    self.received += sum(part.nbytes for part in found)
                    answers.update(zip(some, unpacked(*found)))
            if errors:
                raise min(errors, key=lambda pair: pair[0])[1]
            self._replace()
            with self.lock:
                asked = self._send(asking, again) if again else []
        self.losses.clear()
        return [answers[i] for i in blocks]

    def check_unchanged(self):
        """Raise an error if an oracle has changed a sample."""
        asked = [
            (group, group.call("check_unchanged", k))
            for group in self.groups
            for k in range(len(group.parts))
        ]
        for group, call in asked:
            try:
                succeeded, _, error = group.result(call)
            except WorkerLost:
                group.lost = True  # the worker's samples are lost, too
                continue
            if not succeeded:
                raise error


class ClusterCalls(OracleCalls):
    """`OracleCalls` for samples on a cluster."""

    def __init__(self, cluster, oracle):
        self.cluster, self.oracle = cluster, oracle
        self.rows = [row for part in cluster.parts for row in part.rows]
        self.n_weights, self.sparse = cluster.form

    def __len__(self):
        return len(self.rows)

    @property
    def digests(self):
        return self._digests(0)

    @property
    def truth_digests(self):
        return self._digests(1)

    def _digests(self, which):
        joined = b"".join(part.digests[which] for part in self.cluster.parts)
        return [joined[k : k + 8] for k in range(0, len(joined), 8)]

    def ask(self, i, w, loss_weight, constraint=None):
        return self.cluster.ask_all([i], w, loss_weight, _nothing, constraint)[0]

    def check_all_unchanged(self):
        self.cluster.check_unchanged()


def _check_same_digests(part, found):
    """Raise an error if samples of a partition have changed when it was computed again."""
    pairs = zip(found, part.digests, strict=True)
    differ = [np.frombuffer(new, np.int64) != np.frombuffer(old, np.int64) for new, old in pairs]
    if np.any(differ):
        i = int(np.argmax(differ[0] | differ[1]))
        raise changed(part.number, f"sample {part.chosen[i]} or its labeling is different")


def _nothing(i):
    return np.empty(0, dtype=np.uint64)


def _same(value):
    return value
