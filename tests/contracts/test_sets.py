"""Laws of the projection onto a closed convex set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from registry import SETS

from sagdiv.protocols import ConvexSet
from sagdiv.sets import Interval, SupNormBall

functions = arrays(np.float64, 5, elements=st.floats(-1e6, 1e6))


@pytest.mark.parametrize("case", SETS)
def test_offers_the_contract(case):
    assert isinstance(case.component, ConvexSet)


@pytest.mark.parametrize("case", SETS)
@given(h=functions)
def test_projection_lands_in_the_set_and_stays(case, h):
    projected = case.component.project(h)
    assert case.component.contains(projected)
    np.testing.assert_array_equal(case.component.project(projected), projected)


@pytest.mark.parametrize("case", SETS)
@given(h=functions)
def test_members_are_left_alone(case, h):
    unchanged = np.array_equal(case.component.project(h), h)
    assert unchanged == case.component.contains(h)


@pytest.mark.parametrize("case", SETS)
@given(g=functions, h=functions)
def test_non_expansive(case, g, h):
    project = case.component.project
    assert np.linalg.norm(project(g) - project(h)) <= np.linalg.norm(g - h) * (1 + 1e-12)


@pytest.mark.parametrize("case", SETS)
@given(h=functions, member=functions)
def test_projection_is_the_nearest_member(case, h, member):
    member = case.component.project(member)
    projected = case.component.project(h)
    # The variational inequality <h - proj h, member - proj h> <= 0.
    assert (h - projected) @ (member - projected) <= 1e-6


@pytest.mark.parametrize("case", SETS)
def test_leaves_its_argument_alone_and_takes_empty_functions(case):
    h = np.array([-20.0, 0.3, 20.0])
    case.component.project(h)
    np.testing.assert_array_equal(h, [-20.0, 0.3, 20.0])
    assert case.component.contains(np.empty(0))


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan])
def test_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match="radius must be positive"):
        SupNormBall(radius)


def test_bounds_must_be_numbers():
    with pytest.raises(ValueError, match="radius must be a number, got 'a'"):
        SupNormBall("a")
    with pytest.raises(ValueError, match="high must be a number, got 'b'"):
        Interval(1, "b")


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0)])
def test_interval_must_not_be_empty(low, high):
    with pytest.raises(ValueError, match="low must be less than high"):
        Interval(low, high)


def test_ball_is_the_symmetric_interval():
    ball = SupNormBall(2.0)
    assert (ball.low, ball.high, ball.radius) == (-2.0, 2.0, 2.0)
    assert repr(ball) == "SupNormBall(radius=2.0)"
    assert ball == SupNormBall(2.0) != SupNormBall(3.0)
