"""Every baseline and what it claims to be able to do: one table drives the contracts.

A new baseline is tested by adding a row.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

from sagdiv.baselines import (
    KIV,
    MMRIV,
    TSLS,
    BoostIV,
    DualIV,
    KernelRegression,
    KernelTikhonov,
    RKHSMinimax,
    SieveIV,
)


@dataclass(frozen=True)
class Case:
    """A baseline and its capabilities.

    scale_free : c y gives c h
    shift_free : y + c gives h + c
    order_free : the order of the rows in fit does not matter
    uses_instrument : another Z gives another answer
    seeded : the answer depends on random_state
    units : how close the answers are in other units of x and z
    """

    estimator: Any
    scale_free: bool = True
    shift_free: bool = False
    order_free: bool = False
    uses_instrument: bool = True
    seeded: bool = False
    units: float = 1e-5


def table(**cases):
    return [pytest.param(case, id=name) for name, case in cases.items()]


BASELINES = table(
    tsls=Case(TSLS(), shift_free=True, order_free=True),
    tsls_polynomial=Case(TSLS("polynomial"), shift_free=True, order_free=True),
    tsls_spline=Case(TSLS("spline", random_state=0), shift_free=True),
    tsls_knots=Case(TSLS("spline", n_knots=4), shift_free=True, order_free=True),
    sieve=Case(SieveIV(random_state=0), shift_free=True),
    landweber=Case(KernelTikhonov(), shift_free=True, order_free=True),
    tikhonov=Case(KernelTikhonov("tikhonov"), shift_free=True, order_free=True),
    kiv=Case(KIV(random_state=0), shift_free=True, seeded=True),
    kiv_paper=Case(KIV(swap=False, random_state=0), shift_free=True, seeded=True),
    kiv_nystroem=Case(KIV(n_components=20, random_state=0), shift_free=True, seeded=True),
    dualiv=Case(DualIV(random_state=0), shift_free=True, seeded=True),
    mmriv=Case(MMRIV(n_folds=10, random_state=0), shift_free=True, seeded=True),
    minimax=Case(RKHSMinimax(random_state=0), shift_free=True, seeded=True),
    boost=Case(BoostIV(random_state=0), shift_free=True, seeded=True),
    kernel_regression=Case(
        KernelRegression(), shift_free=True, order_free=True, uses_instrument=False
    ),
)


def networks():
    """Return the networked baselines on trainings that only show that everything runs."""
    from sagdiv.baselines import DeepGMM, DeepIV, DirectNetwork
    from sagdiv.neural import MLP, MixtureDensity, OptimisticAdam, Training

    short = Training(row_visits=1500, batch_size=30, learning_rate=1e-2)
    game = Training(row_visits=1500, batch_size=60, optimizer=OptimisticAdam, check_every=5)
    small = MLP((8,))
    return table(
        direct=Case(
            DirectNetwork(small, short, random_state=0), uses_instrument=False, seeded=True
        ),
        deep_iv=Case(
            DeepIV(MixtureDensity(2, small, short), small, short, random_state=0), seeded=True
        ),
        deep_gmm=Case(
            DeepGMM(small, small, game, learning_rates=(0.01, 0.005), random_state=0), seeded=True
        ),
    )


if find_spec("torch") is not None:
    BASELINES += networks()
