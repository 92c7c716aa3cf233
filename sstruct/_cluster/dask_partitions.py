"""Stateful partitions on a Dask cluster, which are recreated if a worker is lost."""

import sstruct
from sstruct._cluster.answers import Pinged, sendable
from sstruct._cluster.dask_cluster import Losses, PlacedParts, WorkerGroup, WorkerLost

SUSPECT = "do the partitions fit in memory?"


class PartitionActor(Pinged):
    """Actor for an object that represents a partition; errors are returned, not raised.

    Raised exceptions therefore always come from the cluster.

    Parameters
    ----------
    make : callable
        ``make(samples, truths, *given)`` returns the object.
    pair : tuple of (list, list)
        Samples and labelings.
    given : tuple
    version : str
        The caller's version of sstruct.
    """

    def __init__(self, make, pair, given, version):
        self.make, self.pair, self.given, self.part = make, pair, given, None
        self.version = version

    def ask(self, name, arguments):
        """Return True and the result of a method, or False and its error."""
        try:
            if self.version != sstruct.__version__:
                raise RuntimeError(
                    f"the worker has version {sstruct.__version__} of sstruct and the caller "
                    f"{self.version}; install the same version"
                )
            if self.part is None:
                self.part = self.make(*self.pair, *self.given)
                self.pair = None
            return True, getattr(self.part, name)(*arguments)
        except Exception as error:
            return False, sendable(error)


class RemotePartition:
    """A partition, its location, and the calls that recreate its state."""

    def __init__(self, part, given):
        self.number, self.source, self.given = part.number, part.source, given
        self.group, self.first, self.since = None, [], []

    @property
    def calls(self):
        """Calls to replay, in order, when the partition is recreated."""
        return self.first + self.since


class DaskPartitions(PlacedParts):
    """Partitions on a Dask cluster that answer calls, each in an actor.

    The state of a partition depends only on its calls. For each partition, the caller stores the
    last copy of its state (``secure``) and the calls since then. If a worker is lost, another one
    creates the object again, restores the copy and replays these calls, so results are
    bitwise identical.

    Parameters
    ----------
    client : distributed.Client
    make : callable
        See `PartitionActor`.
    parts : list of (Partition, tuple)
        Partitions on the cluster, and further arguments of `make`.
    size_of : callable
        Returns the bytes of a message.

    Attributes
    ----------
    sent, received, copied : int
        Bytes so far of calls of ``ask``, of their answers, and of copies of states. Calls that are
        repeated after the loss of a worker are not counted again.
    failure : Exception or None
        The error that made the partitions unusable; later calls raise it too.
    """

    def __init__(self, client, make, parts, size_of):
        self.client, self.make, self.size_of = client, make, size_of
        self.parts = [RemotePartition(part, given) for part, given in parts]
        self.sent = self.received = self.copied = 0
        self.losses, self.failure = Losses(SUSPECT), None
        self._place(self.parts)

    def __len__(self):
        return len(self.parts)

    def keep_only(self, kept):
        """Release all partitions except those at the given positions."""
        self.parts = [self.parts[k] for k in kept]

    def begin(self, name, arguments):
        """Call a method whose call is always replayed first in a new worker; return the results."""
        for part, part_argument in zip(self.parts, arguments, strict=True):
            part.first.append((name, part_argument))
        return self._results(name, arguments)

    def start(self, setups):
        """Create the dual states of the partitions."""
        self.begin("start", setups)

    def ask(self, name, arguments):
        """Call a method of each partition; return the results in the order of the partitions."""
        self.sent += self.size_of(arguments)
        for part, part_argument in zip(self.parts, arguments, strict=True):
            part.since.append((name, part_argument))
        replies = self._results(name, arguments)
        self.received += self.size_of(replies)
        return replies

    def secure(self, arguments, v):
        """Return copies of the partitions' states; previous calls are no longer needed.

        v : ndarray
            The current v, which the copies do not include.
        """
        for part, part_argument in zip(self.parts, arguments, strict=True):
            part.since.append(("keep", part_argument))
        replies = self._results("keep", arguments)
        self.copied += self.size_of(replies)
        for part, kept in zip(self.parts, replies):
            part.since = [("restore_state", (kept, v))]
        return replies

    def restore_state(self, states, v):
        """Restore the partitions from copies of their states."""
        calls = [(state, v) for state in states]
        for part, call in zip(self.parts, calls, strict=True):
            part.since = [("restore_state", call)]
        self._results("restore_state", calls)

    def _results(self, name, arguments):
        """Call a method, recreating the partitions of lost workers, until all have answered."""
        if self.failure is not None:
            raise self.failure
        try:
            replies = self._answers(name, arguments)
        except Exception as error:
            # Other information about a cluster that cannot be reached is unreliable.
            gone = self.client.status != "running" or isinstance(error, OSError)
            if not gone:
                self.failure = error
                raise
            self.failure = RuntimeError(
                "the scheduler of the cluster is not available; fit again with a client that is "
                "connected"
            )
            raise self.failure from error
        for succeeded, result in replies:
            if not succeeded:
                self.failure = result
                raise result
        return [result for _, result in replies]

    def _answers(self, name, arguments):
        """Return, for each partition, whether the call succeeded, and its result or error."""
        calls = [part.group.call("ask", name, some) for part, some in zip(self.parts, arguments)]
        replies, lost = {}, []
        for part, call in zip(self.parts, calls):
            try:
                replies[part.number] = part.group.result(call)
            except WorkerLost:
                self._count_loss(part)
                lost.append(part)
        replies.update(self._place(lost))
        self.losses.clear()
        return [replies[part.number] for part in self.parts]

    def _place(self, parts):
        """Create partitions on workers and replay their calls; return the last answers."""
        answers = {}
        while parts:
            self._check_sources(parts)
            placed = [part.group for part in self.parts if part not in parts and part.group]
            addresses, _ = self._addresses(parts, placed)
            for part, address in zip(parts, addresses):
                future = self.client.submit(
                    PartitionActor, self.make, part.source, part.given, sstruct.__version__,
                    actor=True, workers=[address], pure=False,
                )  # fmt: skip
                part.group = WorkerGroup([part], future, address)
            lost = []
            for part in parts:
                try:
                    part.group.wait(self.client)
                    for name, arguments in part.calls:
                        succeeded, result = answers[part.number] = part.group.result(
                            part.group.call("ask", name, arguments)
                        )
                        if not succeeded:
                            result.add_note(f"while partition {part.number} was rebuilt")
                            break
                except WorkerLost:
                    self._count_loss(part)
                    lost.append(part)
            parts = lost
        return answers

    def _load(self, part, n_threads):
        return 1

    def _count_loss(self, part):
        self.losses.add([part], part.group.address, part.group.made)
