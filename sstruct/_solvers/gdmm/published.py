"""What GDMM is compared with in the papers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """How a comparison differs from GDMM as fits use it; for comparison with the papers.

    Attributes
    ----------
    multiplier_step : float
        0 leaves the multipliers at zero: Soft-BCFW, a quadratic penalty alone.
    exhaustive : bool
        Searches for pairs, or edges, look at all of them: what the sublinear oracle is compared
        with.
    """

    multiplier_step: float = 1.0
    exhaustive: bool = False
