"""Test gaps and breakpoints of the segments of a regularization path."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sstruct._solvers.path.segment import Segment


@st.composite
def segments(draw):
    """Draw a segment with w = c z / lam. h is at least 0 and at least l - <w, z>."""
    lam, linear = draw(st.floats(1e-4, 1e3)), draw(st.floats(1e-2, 10))
    square = draw(st.floats(0, 1.5)) * lam * linear
    c = draw(st.floats(0.5, 1.5))
    hinge = max(linear - c * square / lam, 0) + draw(st.floats(0, 0.3)) * linear
    primal, dual = 0.5 * c**2 * square / lam + hinge, linear - square / (2 * lam)
    return Segment(lam=lam, hinge=hinge, dual=dual, gap=primal - dual, linear=linear, square=square)


def gap_at(segment, lam):
    """Return the duality gap of the segment at a smaller lambda."""
    return segment.primal_at(lam) - segment.dual_at(lam)


@given(segments(), st.floats(0.05, 0.95))
def test_gap_is_at_most_eps_above_the_breakpoint(segment, fraction):
    assume(segment.gap < 0.99 * segment.hinge)
    assume(segment.hinge > 1e-6 * segment.linear)  # otherwise rounding errors are too large
    eps = segment.gap + fraction * (segment.hinge - segment.gap)
    end = segment.breakpoint(eps)
    assert 0 <= end < segment.lam
    for lam in end + (segment.lam - end) * np.array([1e-6, 1e-3, 0.1, 0.5, 1.0]):
        assert gap_at(segment, lam) <= eps * (1 + 1e-9)
    if end > 0:
        assert gap_at(segment, end * (1 - 1e-3)) > eps * (1 - 1e-8)


@given(segments(), st.floats(1e-3, 1.0), st.floats(0, 1))
def test_scaling_of_dual_weights_is_optimal(segment, ratio, share):
    lam = ratio * segment.lam
    other = share * segment.linear - share**2 * segment.square / (2 * lam)
    assert segment.dual_at(lam) >= other - 1e-12 * (1 + abs(other))


def test_gap_grows_quadratically():
    # The optimum of lam/2 w^2 + max(0, 1 - w) at lam = 2 is w = 1/2, alpha = 1.
    segment = Segment(lam=2.0, hinge=0.5, dual=0.75, gap=0.0, linear=1.0, square=1.0)
    for ratio in (0.9, 0.99, 0.999):
        distance = 1 - ratio
        assert gap_at(segment, 2 * ratio) == pytest.approx(distance**2 / (4 * ratio))


def test_zero_planes():
    segment = Segment(lam=1.0, hinge=0.7, dual=0.7, gap=0.0, linear=0.7, square=0.0)
    assert segment.breakpoint(0.1) == 0
    assert gap_at(segment, 1e-12) == 0
