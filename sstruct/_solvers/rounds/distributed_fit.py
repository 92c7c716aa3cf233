"""Distributed fits, in which all partitions start each pass from the same weights."""

from functools import partial

import numpy as np
from scipy import sparse

from sstruct._cluster.weight_changes import WeightChanges
from sstruct._kernels._clock import seconds
from sstruct._kernels.compact import compact
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array, kept_sizes
from sstruct._solvers.core._state import aligned_zeros, dual_value, squared_norm
from sstruct._solvers.core.checkpoint import note
from sstruct._solvers.core.solver import EXHAUSTED, Solver, relative
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe.block_coordinate import EXACT_WEIGHT
from sstruct._solvers.frank_wolfe.constants import Constants
from sstruct._solvers.rounds.line_search import share_within_bounds, shares_of_moves
from sstruct._solvers.rounds.partitioned_blocks import setups_of

# If the best common share of all moves is at least this, they are applied in full, which gains at
# least 0.89 of the gain at that share: no dual weights have to be scaled back.
ENOUGH = 0.75
# Values in a checkpoint of a distributed fit, in addition to the common record and the states.
COUNTS = ("n_rounds", "n_calls")
TRAFFIC = ("sent", "received", "copied")
MAX_BYTES = 2**60
# Largest relative difference, due to rounding errors of about ten passes, between v and the linear
# part of the dual in a checkpoint and the values computed from its dual weights.
ROUNDED = 1e-9
# Arrays returned by ``DualState.export``.
EXPORTED = {
    "size": np.int64, "alpha": np.float64, "loss": np.float64, "last_active": np.int32,
    "code": np.int32,
}  # fmt: skip


class DistributedFit(Solver):
    """One fit: rounds over partitions until the certificate is good enough.

    In a round, as in CoCoA [1]_, every partition makes an exact or approximate pass over its own
    blocks, starting from the same w. The changes of w are added: in full, or if that gains too
    little, multiplied by the shares in [0, 1] that raise the dual most. Dual weights are then
    convex combinations of those before and after the pass, so that the dual never decreases.

    Parameters
    ----------
    setup : Setup
        Its problem is a ``PartitionedBlocks``.

    References
    ----------
    .. [1] C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtarik, M. Takac. Adding vs. Averaging in
       Distributed Primal-Dual Optimization. ICML 2015.
    """

    runs_oracles = False

    def __init__(self, setup):
        super().__init__(setup)
        problem = self.problem
        self.parts = problem.parts
        self.parts.start(setups_of(setup))
        self.v = np.asarray(self._start())
        self.linear = 0.0
        self.changes = WeightChanges(problem.n_weights)
        self.n_calls = self.n_rounds = 0
        self.least_share = 1.0
        self._reset_shares()
        self.estimated_gap = np.inf
        if setup.warm is None:
            self._update_dual()
        else:
            self._rebuild()

    def _reset_shares(self):
        n_parts = len(self.parts)
        self.versions = [0] * n_parts
        self.share = np.ones(n_parts)

    def _update_dual(self):
        """Compute w and the dual value from v."""
        self.last, self.averaged = self._clip(self.v), None
        moved = self._from_prior(self.v)
        self.dual = self._checked(dual_value(self.linear, self.last, moved, self.prior, self.lam))

    def _clip(self, v):
        return v if self.bounds is None else np.clip(v, *self.bounds)

    @property
    def w(self):
        """The last iterate, or the average if its primal was smaller."""
        return self.last if self.averaged is None else self.averaged

    def _primal(self, w, hinges):
        """Return P(w) from the hinge losses of the partitions, and whether they are exact."""
        primal = self._objective(w, sum(hinge for hinge, _ in hinges))
        return primal, all(exact for _, exact in hinges)

    @property
    def n_oracle_calls(self):
        """Number of oracle calls, excluding certificates."""
        return self.n_calls

    def _updates(self):
        """Return the arguments for a call of every partition, and record them as received."""
        version, changes, arguments = self.changes.update(self.v), {}, []
        for k, since in enumerate(self.versions):
            if since not in changes:
                changes[since] = self.changes.since(since)
            news = (version, since, *changes[since])
            arguments.append((float(self.share[k]), news, self.dual))
        self.versions = [version] * len(self.versions)
        self.share = np.ones(len(self.versions))
        return arguments

    def _iterate(self):
        """Make an exact pass and approximate ones; return the status, None if the fit continues."""
        options, dual = self.options, self.dual
        if self.n_passes >= options.max_iter:  # resumed after the last pass
            self._certify_unscheduled()
            return Status.CONVERGED if self._converged() else Status.MAX_ITER
        self.least_share = 1.0
        n_steps, in_time = self._passes()
        self.n_passes += 1
        if self.pass_average is not None:
            self.pass_average.add(self.v)
        gap = self.estimated_gap
        stalled = n_steps == 0 or (self.dual <= dual and gap <= EXHAUSTED * options.tol * dual)
        last = stalled or not in_time or self.n_passes >= options.max_iter
        scheduled = self.n_passes % options.certificate_every == 0
        due = stalled or scheduled or self._estimate() * self.gap_ratio <= options.tol
        if due:
            self._rebuild()
            self._certify()
        self._record(due)
        if last and not due:
            self._certify_unscheduled()
        if (due or last) and self._converged():
            return Status.CONVERGED
        if not in_time:
            return Status.TIME_LIMIT
        if stalled:
            return Status.STALLED
        if last:
            return Status.MAX_ITER
        if scheduled:
            self._save_states()
        return None

    def _passes(self):
        """Make a round of exact passes, and approximate ones while their gain per work is larger.

        Return the number of steps, and whether they ended before the deadline.
        """
        dual = self.dual
        work, n_steps = self._round(0)
        spent = EXACT_WEIGHT * work
        if not self.options.multi_plane:
            return n_steps, seconds() < self.deadline
        constants = self.options.constants or Constants()
        for turn in range(1, constants.max_approximate_passes + 1):
            if seconds() >= self.deadline:
                return n_steps, False
            before = self.dual
            work, more = self._round(turn)
            n_steps, spent = n_steps + more, spent + work
            self.n_approximate += 1
            if (self.dual - before) * spent <= (self.dual - dual) * work:
                break
        return n_steps, seconds() < self.deadline

    def _round(self, turn):
        """Make a pass in all partitions, see `PartitionFit.advance`; return its work and steps."""
        news = [(*update, turn) for update in self._updates()]
        moves = self._ask("advance", news, partial(_is_move, n_numbers=5))
        numbers = np.array([numbers for _, _, numbers in moves])
        self._move(moves, numbers[:, 0])
        self.n_rounds += 1
        _, work, n_steps, n_calls, gap = numbers.sum(axis=0)
        self.n_calls += int(n_calls)
        if turn == 0:
            self.estimated_gap = float(gap)
        return float(work), int(n_steps)

    def _ask(self, name, arguments, is_answer):
        """Call a method of all partitions and validate the replies, which come from workers."""
        replies = self.parts.ask(name, arguments)
        for number, answer in enumerate(replies):
            if not is_answer(answer, len(self.v)):
                self.parts.failure = RuntimeError(
                    f"partition {number} returned an invalid reply to {name!r} (expected "
                    f"{len(self.v)} weights); is the worker running another version of sstruct?"
                )
                raise self.parts.failure
        return replies

    def _move(self, moves, linear):
        """Add the moves of the partitions, in full or with the shares that raise the dual most."""
        total = _added(moves, len(self.v))
        alone = len(self.parts) == 1  # each of its steps has raised the dual
        if alone or self._best_share(total, linear.sum()) >= ENOUGH:
            self.v, self.linear = self.v + total, self.linear + float(linear.sum())
        elif self.bounds is None:
            moves = _rows(moves, len(self.v))
            self.share = shares_of_moves(moves, linear, self.v, self.lam)
            self.v = self.v + moves.T @ self.share
            self.linear += float(linear @ self.share)
        else:
            share = share_within_bounds(total, linear.sum(), self.v, self.lam, self._clip)
            self.share = np.full(len(self.parts), share)
            self.v, self.linear = self.v + share * total, self.linear + share * linear.sum()
        self.least_share = min(self.least_share, float(self.share.min()))
        self._update_dual()

    def _best_share(self, total, linear):
        """Return the common share of all moves that raises the dual most, at most 1."""
        if self.bounds is not None:
            return share_within_bounds(total, linear, self.v, self.lam, self._clip)
        slope = linear - self.lam * float(total @ self.v)
        curvature = self.lam * squared_norm(total)
        return min(slope / curvature, 1.0) if curvature > 0 else 1.0

    def _certify_unscheduled(self):
        # Rebuild against drift, as for scheduled certificates.
        self._save_now()
        self._rebuild()
        self._certify()
        self._record()

    def _rebuild(self):
        """Compute v and the dual value from the dual weights of the partitions, against drift."""
        shares = [(float(share),) for share in self.share]
        moves = self._ask("rebuild", shares, partial(_is_move, n_numbers=1))
        self.v = _added(moves, len(self.v))
        if self.prior is not None:
            self.v = self.v + self.prior
        self.linear = float(sum(numbers[0] for _, _, numbers in moves))
        self._reset_shares()
        self._update_dual()

    def _evaluate(self, last):
        """Compute the primal at w and, if averages are used, at the average over rounds."""
        arguments, average = self._updates(), None
        if self.pass_average is not None:
            average = self._clip(self.pass_average.weights())
            arguments = [(*part_arguments, compact(average)) for part_arguments in arguments]
        measures = self._ask(
            "measure", arguments, partial(_is_measure, points=1 + (average is not None))
        )
        self.working_set_size = sum(size for _, size in measures) / self.problem.n_blocks
        self.averaged = None
        self.primal, self.exact = self._primal(self.last, [points[0] for points, _ in measures])
        if average is not None:
            primal, exact = self._primal(average, [points[1] for points, _ in measures])
            if primal < self.primal:
                self.primal, self.exact, self.averaged = primal, exact, average
        estimate = self._estimate()
        if 0 < estimate < np.inf:
            self.gap_ratio = relative(self._gap(), self.primal) / estimate
        return True

    def export(self):
        """Return the state for a later fit, as ``FrankWolfeFit`` does; None if workers are lost.

        `failure` of the problem is then the reason.
        """
        try:
            exports = self._ask("export_state", self._updates(), _is_export)
        except Exception as error:
            if error is not self.problem.failure:
                raise
            return None
        arrays = {name: np.concatenate([part[name] for part in exports]) for name in EXPORTED}
        return {"lam": self.lam, "block_weight": self.block_weight, **arrays}

    def _save_states(self):
        """Copy the states of the partitions, for lost workers and, if due, for the checkpoint."""
        states = self.parts.secure(self._updates(), self.v)
        if self.checkpoint is not None and self.checkpoint.due():
            self._save(states)

    def _save(self, states=None):
        if states is None:
            states = self.parts.secure(self._updates(), self.v)
        columns, notes = self._record_kept()
        ours = {"v": self.v, "linear": np.array([self.linear])}
        self.checkpoint.save(
            {**joined(states), **columns, **ours},
            {
                **notes,
                **{name: getattr(self, name) for name in COUNTS},
                **{name: getattr(self.parts, name) for name in TRAFFIC},
            },
        )

    def _resume(self, arrays, notes):
        self._restore_record(arrays, notes)
        for name in COUNTS:
            setattr(self, name, note(notes, name, int, MAX_COUNT))
        states = separated(arrays, len(self.parts))
        v = kept_array(arrays, "v", np.float64, len(self.v))
        linear = kept_array(arrays, "linear", np.float64, 1).item()
        self.parts.restore_state(states, v)
        self._rebuild()
        # At most rounding errors are taken from the file: certificates must not depend on a v from
        # a file.
        within = np.abs(v - self.v).max() <= ROUNDED * np.abs(self.v).max()
        if within and abs(linear - self.linear) <= ROUNDED * abs(self.linear):
            self.parts.restore_state(states, v)
            self.v, self.linear = v, linear
            self._update_dual()
        for name in TRAFFIC:
            setattr(self.parts, name, note(notes, name, int, MAX_BYTES))

    def _end_early(self):
        # It is unknown which partitions received the last call, and the primal may be outdated.
        self._reset_shares()
        self.primal = self.unknown
        super()._end_early()

    def _estimate(self):
        return relative(self.estimated_gap, self.dual + self.estimated_gap)

    def _rounding(self, w, primal, dual):
        return self.rounding.bound(self.lam, primal, dual, w, self.v)

    def _measures(self):
        return {
            "rounds": float(self.n_rounds),
            "bytes_sent": float(self.parts.sent),
            "bytes_received": float(self.parts.received),
            "bytes_copied": float(self.parts.copied),
            "least_share": self.least_share,
        }


def _is_move(answer, n_weights, n_numbers):
    """Whether a reply has changes of weights, as `compact`, and an array of `n_numbers` numbers."""
    if not isinstance(answer, tuple) or len(answer) != 3:
        return False
    index, value, numbers = answer
    if index is not None:
        fits = isinstance(index, np.ndarray) and index.dtype == np.int32 and index.ndim == 1
        if not fits or (len(index) and not 0 <= index[0] <= index[-1] < n_weights):
            return False
        if not (index[1:] > index[:-1]).all():
            return False
    return (
        isinstance(value, np.ndarray)
        and isinstance(numbers, np.ndarray)
        and value.dtype == numbers.dtype == np.float64
        and value.shape == (n_weights if index is None else len(index),)
        and numbers.shape == (n_numbers,)
    )


def _is_measure(answer, n_weights, points):
    """Whether a reply is the result of `PartitionFit.measure` for `points` points."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], list):
        return False
    hinges, size = answer
    pairs = all(isinstance(pair, tuple) and len(pair) == 2 for pair in hinges)
    return (
        len(hinges) == points
        and isinstance(size, int)
        and pairs
        and all(isinstance(hinge, float) for hinge, _ in hinges)
    )


def _is_export(answer, n_weights):
    """Whether a reply is the result of `export_state`; values are validated when a fit resumes."""
    if not isinstance(answer, dict) or answer.keys() != EXPORTED.keys():
        return False
    arrays = all(isinstance(array, np.ndarray) and array.ndim == 1 for array in answer.values())
    return arrays and all(answer[name].dtype == dtype for name, dtype in EXPORTED.items())


def _added(moves, n_weights):
    """Add the moves (index, value, ...) of the partitions; index None means all entries."""
    total = aligned_zeros(n_weights)
    for index, value, _ in moves:
        total[slice(None) if index is None else index] += value
    return total


def joined(states):
    """Concatenate copies of the states of all partitions, for a file."""
    out = {}
    for name in states[0]:
        out[f"parts_{name}"] = np.concatenate([state[name] for state in states])
        out[f"length_{name}"] = np.array([len(state[name]) for state in states], dtype=np.int64)
    return out


def separated(arrays, n_parts):
    """Split the arrays of `joined`.

    Raises
    ------
    ValueError
        If arrays do not fit `n_parts` partitions; names the field.
    """
    states = [{} for _ in range(n_parts)]
    for field in arrays:
        name = field.removeprefix("parts_")
        if name == field:
            continue
        total, length = len(arrays[field]), f"length_{name}"
        size, start = kept_sizes(arrays, length, n_parts, total, field)
        for state, first, many in zip(states, start.tolist(), size.tolist()):
            state[name] = arrays[field][first : first + many]
    return states


def _rows(changes, n_weights):
    """Return the moves (index, value, ...) of the partitions as the rows of a CSR matrix."""
    columns = [np.arange(n_weights) if index is None else index for index, _, _ in changes]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([value for _, value, _ in changes])
    return sparse.csr_matrix(
        (values, np.concatenate(columns), ends), shape=(len(changes), n_weights)
    )
