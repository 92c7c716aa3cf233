"""Variants of GDMM for comparison with [Y16]."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """Options that reproduce the variants with which [Y16] compares GDMM.

    Attributes
    ----------
    multiplier_step : float
        With 0, the multipliers stay zero: Soft-BCFW, which uses only a quadratic penalty.
    exhaustive : bool
        Whether searches for pairs or edges scan all of them, unlike the sublinear oracle.
    """

    multiplier_step: float = 1.0
    exhaustive: bool = False
