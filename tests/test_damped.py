"""Damped steps: to the minimum where bare steps overshoot, and no claim of a rest without one."""

from dataclasses import dataclass

import numpy as np
import pytest

from sagdiv.damped import settle


@dataclass(frozen=True)
class Point:
    a: np.ndarray


def walk(target, height, start, rounds=50):
    here, settled = settle(
        Point(np.array([start])),
        Point,
        lambda here: target(here.a),
        lambda _: lambda there: float(height(there.a)[0]),
        lambda move: float(np.abs(move[0])),
        rounds=rounds,
        standstill=1e-6,
        reach=10.0,
    )
    return here.a[0], settled


@pytest.mark.parametrize("start", [0.5, 1.5, 3.0, 1000.0])
def test_newton_on_a_loss_with_linear_tails(start):
    # f = sqrt(1 + x^2): the bare step leads from x to -x^3, away from the minimum if |x| > 1.
    at, settled = walk(lambda x: -(x**3), lambda x: np.sqrt(1 + x**2), start, 200)
    assert settled
    assert at == pytest.approx(0, abs=1e-5)


def test_targets_that_lie_on_the_other_side_ever_again():
    # The map x -> -1.2 x has its fixed point at zero, and its iterates grow.
    at, settled = walk(lambda x: -1.2 * x, lambda x: 0 * x, 1.0)
    assert settled
    assert at == pytest.approx(0, abs=1e-5)


def test_what_has_no_minimum_does_not_settle():
    assert walk(lambda x: x + 1, lambda x: -x, 0.0) == (50.0, False)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite_end_the_walk(value):
    assert walk(lambda x: x + value, lambda x: -x, 3.0) == (3.0, False)
