"""Constants of the Frank-Wolfe solvers, with the names of the papers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Constants that the papers set by hand, as a fit uses them.

    Attributes
    ----------
    cache_lifetime : int
        T of paper 000, which uses 10: passes that an unused labeling survives in the cache of
        ``"mp-bcfw"``, or with `cache`. On the sets of benchmarks/defaults_data.py fits to a gap of
        0.01 took 0.70 to 1.02 of the time with 2 in place of 10 (median 0.89), and 0.73 to 1.09 of
        the passes: unused labelings cost their part of every approximate visit.
    max_working_set : int
        N of paper 000: with this many labelings of a block, unused ones make room for new ones.
    max_approximate_passes : int
        M of paper 000: largest number of approximate passes between two exact ones.
    full_pass_every : int
        One of this many approximate passes visits all blocks, the others visit blocks whose last
        gap was above the mean. 1 in paper 000.
    cache_gap_share, cache_mean_gap_share : float
        F and nu of paper 001, section 3.3: a cached labeling replaces an oracle call if its gap is
        at least these shares of the block's last gap, and of the mean gap.
    gap_refresh_every : int
        Gap sampling and caching use the block gaps of the last certificate. One is made after at
        most this many passes.
    sequential_visits : bool
        Whether each visit sees the steps of all visits before it. Oracle calls are then made one
        by one, and no two visits are under way at once.
    """

    cache_lifetime: int = 2
    max_working_set: int = 1000
    max_approximate_passes: int = 1000
    full_pass_every: int = 4
    cache_gap_share: float = 0.25
    cache_mean_gap_share: float = 0.01
    gap_refresh_every: int = 10
    sequential_visits: bool = False
