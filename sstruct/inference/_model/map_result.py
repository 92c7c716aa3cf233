"""What map_mrf returns, and how it comes about."""

import time
from dataclasses import dataclass

import numpy as np

from sstruct._solvers.core.status import Status
from sstruct.inference._model.terms import ModelWithTerms


@dataclass(frozen=True, eq=False)
class MapResult:
    """A labeling of low energy, and a lower bound on the energy of every labeling.

    Parameters
    ----------
    labels : ndarray of shape (V,), dtype int32
        The best labeling found.
    energy : float
        Its energy; ``+inf`` if no allowed labeling was found.
    lower_bound : float
        No labeling has less energy; ``-inf`` from methods without a bound.
    gap : float
        ``energy - lower_bound``, not negative: the labels are at most this far from the optimum.
    status : str
        ``CONVERGED``: the gap is at most ``tol * (1 + abs(energy))``. ``UNPROVEN``: the method has
        finished with a larger gap; the labeling may be optimal, but this is not proven.
        ``INFEASIBLE``: every labeling is proven to be forbidden; energy and bound are ``+inf``.
        ``MAX_ITER``, ``TIME_LIMIT``, ``INTERRUPTED`` (Ctrl-C): what stopped the search.
        ``STALLED``: neither energy nor bound improved for many iterations.
    history : dict of ndarray
        ``seconds`` since the call, and the best ``lower_bound`` and ``energy`` so far: one entry at
        the start and one for each iteration. ``A`` and ``B`` are the quantities of equation (10)
        of [1], for iterations of ``"fwmap"`` that evaluate them (every fifth), otherwise NaN. Both
        are 0 if and only if the multipliers are optimal: other multipliers have a bound that is
        higher by at most ``A + B * d``, where d is the largest sum over the copies of a label of
        the absolute differences of the multipliers.
    method : str
        The method that ran last: ``"auto"`` names the one that proved the optimum, if any.

    See Also
    --------
    map_mrf : Makes results.

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

    __module__ = "sstruct.inference"  # where pickles look for it

    labels: np.ndarray
    energy: float
    lower_bound: float
    gap: float
    status: str
    history: dict[str, np.ndarray]
    method: str

    def __repr__(self):
        labels = np.array2string(self.labels, threshold=50, separator=", ").replace("\n", "")
        return (
            f"MapResult(labels={labels}, energy={self.energy}, lower_bound={self.lower_bound}, "
            f"gap={self.gap}, status={self.status!r}, method={self.method!r})"
        )


# Labelings that a last local search begins at. Side chain fmj (minimum 978.046): from the best
# alone to 980.138 with each of four seeds, from 8 to 979.115, from 24 to 978.566; and these
# combined to the minimum.
OFFERED = 24


class Record:
    """The best labeling and bound so far, their history, and the clock.

    Parameters
    ----------
    mrf : MRF or ModelWithTerms
    labels : ndarray of shape (V,), dtype int32
        A first labeling.
    tol, max_time : as of `map_mrf`
    began : float, default=None
        The ``time.monotonic()`` from which time counts; None: now.
    """

    def __init__(self, mrf, labels, tol, max_time, began=None):
        self.mrf, self.tol = mrf, tol
        self.start = time.monotonic() if began is None else began
        self.deadline = np.inf if max_time is None else self.start + max_time
        self.labels, self.energy, self.lower_bound = labels.copy(), mrf.energy(labels), -np.inf
        self.ceiling, self.rows, self.offered = None, [], {}
        self.row()

    def offer(self, labels, energy):
        """Keep a labeling if it is better than the best; `energy` is right up to rounding."""
        self.offered[labels.tobytes()] = energy
        if len(self.offered) > 2 * OFFERED:
            self.offered = dict(sorted(self.offered.items(), key=lambda item: item[1])[:OFFERED])
        if energy < self.energy or self.energy == np.inf:
            energy = self.mrf.energy(labels)
            if energy < self.energy or self.energy == np.inf:
                self.labels, self.energy = labels.copy(), energy

    def best_offered(self, most):
        """Return different labelings that were offered, the best first."""
        keys = sorted(self.offered, key=self.offered.get)[: min(most, OFFERED)]
        return [np.frombuffer(key, dtype=np.int32).copy() for key in keys]

    def bound(self, value):
        """Keep a bound if it is better than the best."""
        self.lower_bound = max(self.lower_bound, value)

    def row(self, gap_quantities=(np.nan, np.nan)):
        """Write a row of the history; gap_quantities: A and B of FWMAP."""
        seconds = time.monotonic() - self.start
        self.rows.append((seconds, self.lower_bound, self.energy, *gap_quantities))

    def is_closed(self):
        """Whether the gap is closed to the tolerance."""
        gap = self.energy - self.lower_bound
        return self.energy < np.inf and gap <= self.tol * (1 + abs(self.energy))

    def is_infeasible(self):
        """Whether the bound is above all energies there can be, so that nothing is allowed."""
        if self.energy < np.inf:
            return False
        if self.ceiling is None:
            self.ceiling = energy_ceiling(self.mrf)
        return self.lower_bound > self.ceiling + 1e-9 * abs(self.ceiling)

    def is_late(self):
        """Whether the time is over."""
        return time.monotonic() >= self.deadline

    def has_stalled(self, window, begin=0):
        """Whether neither energy nor bound moved in the last `window` rows, by the tolerance.

        begin : rows that do not count
        """
        if len(self.rows) - begin <= window:
            return False
        bound, energy = self.rows[-1 - window][1:3]
        gain = self.lower_bound - bound if self.lower_bound > -np.inf else 0.0
        return self.energy >= energy and gain <= 0.1 * self.tol * (1 + abs(self.lower_bound))

    def result(self, status, method):
        """Return the MapResult; its status is CONVERGED if and only if the gap is closed."""
        energy = self.energy
        if status == Status.INFEASIBLE:
            self.lower_bound = np.inf
        # A bound that rounding lifts above an energy is not better than the energy.
        self.lower_bound = min(self.lower_bound, energy)
        if self.is_closed():
            status = Status.CONVERGED
        elif status == Status.CONVERGED:
            status = Status.UNPROVEN
        self.row()
        table = np.array(self.rows)
        # Infinite from infinite is no number.
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
        )


def energy_ceiling(mrf):
    """The sum of all terms' largest finite costs: no labeling that is allowed has more energy.

    +inf where there are terms beside the model of which it is not known what they may cost.
    """
    if isinstance(mrf, ModelWithTerms):
        return energy_ceiling(mrf.model) if mrf.only_forbid else np.inf

    def largest(costs, start):
        return np.maximum.reduceat(np.where(np.isfinite(costs), costs, -np.inf), start[:-1])

    ceiling = largest(mrf.node_costs, mrf.node_start).sum()
    if mrf.n_edges:
        most = largest(mrf.tables, mrf.table_start)[mrf.edge_table]
        least = np.minimum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        # A negative weight turns a table round; such tables forbid nothing.
        negative = mrf.weights < 0
        ceiling += (mrf.weights * np.where(negative, least, most))[mrf.weights != 0].sum()
    if mrf.n_factors:
        ceiling += largest(mrf.factor_tables, mrf.factor_table_start)[mrf.factor_table].sum()
    return float(ceiling)
