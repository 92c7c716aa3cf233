"""Results of map_mrf and the record of a search."""

import time
from dataclasses import dataclass

import numpy as np

from sstruct._compat.public_module import public_module
from sstruct._solvers.core.status import Status
from sstruct.inference._model.terms import ModelWithTerms


@public_module("sstruct.inference")
@dataclass(frozen=True, eq=False)
class MapResult:
    """Result of MAP inference: a labeling of low energy and a lower bound on the energy.

    Parameters
    ----------
    labels : ndarray of shape (V,), dtype int32
        The best labeling found.
    energy : float
        Its energy; ``+inf`` if no allowed labeling was found.
    lower_bound : float
        Lower bound on the energy of every labeling; ``-inf`` for methods without a bound.
    gap : float
        ``energy - lower_bound``, at least 0: a bound on the suboptimality of the labels. 0 if the
        status is ``INFEASIBLE``.
    status : str
        ``PROVEN``: the labeling is proven to be optimal, since the gap is at most
        ``tol * (1 + abs(energy))``. ``UNPROVEN``: the method finished with a larger gap; the
        labeling may be optimal, but this is not proven.
        ``INFEASIBLE``: every labeling is proven to be forbidden; energy and bound are ``+inf``.
        ``MAX_ITER``, ``TIME_LIMIT``, ``INTERRUPTED`` (Ctrl-C): the limit or the signal that stopped
        the search.
        ``STALLED``: neither energy nor bound improved for many iterations.
    history : dict of ndarray
        ``seconds`` since the call and the best ``lower_bound`` and ``energy`` so far, with one
        entry at the start, one after each iteration or run of another method, and one at the end.
        ``A`` and ``B`` are the quantities of
        equation (10) of [1] for the iterations of ``"fwmap"`` that evaluate them (every fifth), and
        NaN otherwise. Both are 0 if and only if the multipliers are optimal: the bound of other
        multipliers is higher by at most ``A + B * d``, where d is the largest sum, over the copies
        of a label, of the absolute differences of the multipliers.
    method : str
        The last method that ran. For ``"auto"``, the one that proved the optimum, if any.
    fixed : ndarray of shape (V,), dtype bool
        True for nodes whose labels are proven: some optimal labeling has all of these labels. All
        True if the status is ``PROVEN``, all False for methods that prove no labels.

    See Also
    --------
    map_mrf : Compute a result.

    References
    ----------
    [1] P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR
    2019.

    Examples
    --------
    >>> from sstruct.inference import MRF, map_mrf
    >>> result = map_mrf(MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [[0.0, 3.0], [3.0, 0.0]]))
    >>> result.labels, result.energy, result.gap, result.method
    (array([1, 1], dtype=int32), 1.0, 0.0, 'exact')
    """

    labels: np.ndarray
    energy: float
    lower_bound: float
    gap: float
    status: str
    history: dict[str, np.ndarray]
    method: str
    fixed: np.ndarray

    def __repr__(self):
        labels = np.array2string(self.labels, threshold=50, separator=", ").replace("\n", "")
        return (
            f"MapResult(labels={labels}, energy={self.energy}, lower_bound={self.lower_bound}, "
            f"gap={self.gap}, status={self.status!r}, method={self.method!r})"
        )


# Number of labelings from which the final local search starts. On the side chain model fmj (minimum
# 978.046) it reaches 980.138 from the best one with each of four seeds, 979.115 from 8, and 978.566
# from 24; combining these reaches the minimum.
OFFERED = 24


class Record:
    """The best labeling and bound so far, their history and the time.

    Parameters
    ----------
    mrf : MRF or ModelWithTerms
    labels : ndarray of shape (V,), dtype int32
        The first labeling.
    tol, max_time : as in `map_mrf`
    began : float, default=None
        Start on the clock of ``time.monotonic()``; default is the current time.
    """

    def __init__(self, mrf, labels, tol, max_time, began=None):
        self.mrf, self.tol = mrf, tol
        self.start = time.monotonic() if began is None else began
        self.deadline = np.inf if max_time is None else self.start + max_time
        self.labels, self.energy, self.lower_bound = labels.copy(), mrf.energy(labels), -np.inf
        self.ceiling, self.rows, self.offered = None, [], {}
        # Labels that an optimal labeling has if the best labeling is not optimal; -1 if unknown.
        self.only = np.full(len(labels), -1, dtype=np.int32)
        self.row()

    def offer(self, labels, energy):
        """Keep the labeling if it is the best so far, or if no allowed one is known.

        energy : energy of the labeling, accurate up to rounding, or a lower bound of it
        """
        self.offered[labels.tobytes()] = energy
        if len(self.offered) > 2 * OFFERED:
            self.offered = dict(sorted(self.offered.items(), key=lambda item: item[1])[:OFFERED])
        if energy < self.energy or self.energy == np.inf:
            energy = self.mrf.energy(labels)
            if energy < self.energy or self.energy == np.inf:
                self.labels, self.energy = labels.copy(), energy

    def best_offered(self, n_labelings):
        """Return up to `n_labelings` distinct labelings that were offered, best first."""
        keys = sorted(self.offered, key=self.offered.get)[: min(n_labelings, OFFERED)]
        return [np.frombuffer(key, dtype=np.int32).copy() for key in keys]

    def bound(self, value):
        """Keep the bound if it is the best so far."""
        self.lower_bound = max(self.lower_bound, value)

    def prove(self, labels):
        """Offer an optimal labeling, whose energy becomes the bound; return CONVERGED."""
        self.offer(labels, self.mrf.energy(labels))
        self.bound(self.energy)
        return Status.CONVERGED

    def row(self, gap_quantities=(np.nan, np.nan)):
        """Append a row to the history; `gap_quantities` are A and B of FWMAP."""
        seconds = time.monotonic() - self.start
        self.rows.append((seconds, self.lower_bound, self.energy, *gap_quantities))

    def is_closed(self):
        """Return True if the gap is within the tolerance."""
        gap = self.energy - self.lower_bound
        return self.energy < np.inf and gap <= self.tol * (1 + abs(self.energy))

    def is_infeasible(self):
        """Return True if the bound exceeds every possible energy: every labeling is forbidden."""
        if self.energy < np.inf:
            return False
        if self.ceiling is None:
            self.ceiling = energy_ceiling(self.mrf)
        return self.lower_bound > self.ceiling + 1e-9 * abs(self.ceiling)

    def is_late(self):
        """Return True if the time limit was reached."""
        return time.monotonic() >= self.deadline

    def status(self):
        """Return CONVERGED if the gap is closed, otherwise TIME_LIMIT if `is_late`, or STALLED."""
        if self.is_closed():
            return Status.CONVERGED
        return Status.TIME_LIMIT if self.is_late() else Status.STALLED

    def of_part(self, model, labels):
        """Return a Record of a part of the model with the same tolerance and time limit."""
        part = Record(model, labels, self.tol, None)
        part.deadline = self.deadline
        return part

    def has_stalled(self, window, begin=0):
        """Return True if neither energy nor bound improved in the last `window` rows.

        Increases of the bound up to a tenth of the tolerance do not count.

        begin : number of initial rows to ignore
        """
        if len(self.rows) - begin <= window:
            return False
        bound, energy = self.rows[-1 - window][1:3]
        gain = self.lower_bound - bound if self.lower_bound > -np.inf else 0.0
        return self.energy >= energy and gain <= 0.1 * self.tol * (1 + abs(self.lower_bound))

    def result(self, status, method):
        """Return the MapResult; its status is PROVEN if and only if the gap is closed."""
        energy = self.energy
        if status == Status.INFEASIBLE:
            self.lower_bound = np.inf
        # Rounding may raise the bound slightly above the energy.
        self.lower_bound = min(self.lower_bound, energy)
        if self.is_closed():
            status = Status.PROVEN
        elif status == Status.CONVERGED:
            status = Status.UNPROVEN
        self.row()
        table = np.array(self.rows)
        # inf - inf would be NaN.
        gap = 0.0 if self.lower_bound == np.inf else float(energy - self.lower_bound)
        return MapResult(
            labels=self.labels,
            energy=energy,
            lower_bound=float(self.lower_bound),
            gap=gap,
            status=str(status),
            history={
                "seconds": table[:, 0],
                "lower_bound": np.minimum(table[:, 1], self.lower_bound),
                "energy": table[:, 2],
                "A": table[:, 3],
                "B": table[:, 4],
            },
            method=method,
            fixed=(self.only == self.labels) | (status == Status.PROVEN),
        )


def energy_ceiling(mrf):
    """Return the sum of the largest finite costs of all terms, an upper bound on allowed energies.

    The result is +inf if the model has additional terms with unknown costs.
    """
    if isinstance(mrf, ModelWithTerms):
        return energy_ceiling(mrf.model) if mrf.only_forbid else np.inf

    def largest(costs, start):
        return np.maximum.reduceat(np.where(np.isfinite(costs), costs, -np.inf), start[:-1])

    ceiling = largest(mrf.node_costs, mrf.node_start).sum()
    if mrf.n_edges:
        highest = largest(mrf.tables, mrf.table_start)[mrf.edge_table]
        least = np.minimum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        # A negative weight swaps minimum and maximum; such tables forbid nothing.
        negative = mrf.weights < 0
        ceiling += (mrf.weights * np.where(negative, least, highest))[mrf.weights != 0].sum()
    if mrf.n_factors:
        ceiling += largest(mrf.factor_tables, mrf.factor_table_start)[mrf.factor_table].sum()
    return float(ceiling)
