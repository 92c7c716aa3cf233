"""Constants of the Frank-Wolfe solvers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Constants that the papers choose by hand, with the values that fits use.

    Attributes
    ----------
    cache_lifetime : int
        T of [S15], which uses 10: number of passes that an unused labeling survives in the cache of
        ``"mp-bcfw"``, or with `cache`. On the data sets of benchmarks/defaults_data.py, fits to a
        gap of 0.01 took 0.70 to 1.02 of the time with 2 instead of 10 (median 0.89), and 0.73 to
        1.09 of the passes: every approximate visit scores unused labelings too.
    max_working_set : int
        N of [S15]: a block with this number of labelings replaces unused ones by new ones.
    max_approximate_passes : int
        M of [S15]: largest number of approximate passes between two exact ones.
    full_pass_every : int
        One of this many approximate passes visits all blocks; the others visit blocks whose last
        gap was above the mean. 1 in [S15].
    cache_gap_share, cache_mean_gap_share : float
        F and nu of [O16], section 3.3: a cached labeling replaces an oracle call if its gap is at
        least these shares of the last gap of the block and of the mean gap.
    gap_refresh_every : int
        Gap sampling and caching use the block gaps of the last certificate, which is computed after
        at most this many passes.
    sequential_visits : bool
        Whether each visit sees the steps of all visits before it. Oracle calls are then made one at
        a time, and no two visits are concurrent.
    """

    cache_lifetime: int = 2
    max_working_set: int = 1000
    max_approximate_passes: int = 1000
    full_pass_every: int = 4
    cache_gap_share: float = 0.25
    cache_mean_gap_share: float = 0.01
    gap_refresh_every: int = 10
    sequential_visits: bool = False
