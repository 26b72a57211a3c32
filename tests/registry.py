"""Every component of the core and what it claims to be able to do: one table drives the contracts.

A new component is tested by adding a row.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from nearest_neighbours import NearestNeighbours
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sagdiv.datasets import GaussianDesign
from sagdiv.density_ratio import (
    ClassifierDensityRatio,
    ExactDensityRatio,
    KernelDensityRatio,
    TensorDensityRatio,
)
from sagdiv.losses import LogisticLoss, ProbitLoss, PseudoHuberLoss, SquaredLoss
from sagdiv.operators import (
    ExactOperator,
    ForestOperator,
    MeanEmbeddingOperator,
    NadarayaWatsonOperator,
    RatioOperator,
)
from sagdiv.outcome import ClassProbability, ExactOutcome
from sagdiv.sets import Interval, SupNormBall, WholeSpace
from sagdiv.steps import inverse_sqrt

DESIGN = GaussianDesign()
GRID = np.linspace(-6, 6, 400)[:, None]


@dataclass(frozen=True)
class Case:
    """A component and its capabilities.

    finite_rank : offers factors and loadings
    non_negative : says that its values (or weights) are never negative
    sums_to_one : weights of each row sum to one exactly, not only nearly
    order_free : the order of the rows in fit does not matter
    seeded : has a random_state
    """

    component: Any
    finite_rank: bool = False
    non_negative: bool = False
    sums_to_one: bool = False
    order_free: bool = False
    seeded: bool = False


def table(**cases):
    return [pytest.param(case, id=name) for name, case in cases.items()]


def select(cases, capability):
    return [param for param in cases if getattr(param.values[0], capability)]


DENSITY_RATIOS = table(
    exact=Case(ExactDensityRatio(DESIGN.Phi), non_negative=True, order_free=True),
    kernel=Case(KernelDensityRatio(random_state=0), finite_rank=True, seeded=True),
    kernel_given=Case(
        # With every row a centre and a given ridge, nothing is drawn.
        KernelDensityRatio(1000, penalty="ridge", ridge=1e-3, random_state=0),
        finite_rank=True,
        order_free=True,
    ),
    tensor=Case(TensorDensityRatio(random_state=0), finite_rank=True, seeded=True),
    classifier=Case(ClassifierDensityRatio(random_state=0), non_negative=True, seeded=True),
    classifier_logistic=Case(
        # Well specified: the log density ratio of normal variables is quadratic.
        ClassifierDensityRatio(
            make_pipeline(PolynomialFeatures(2), LogisticRegression()), random_state=0
        ),
        non_negative=True,
        seeded=True,
    ),
)

OPERATORS = table(
    exact=Case(
        ExactOperator(DESIGN.conditional_density, GRID), non_negative=True, sums_to_one=True
    ),
    mean_embedding=Case(MeanEmbeddingOperator(), order_free=True),
    nadaraya_watson=Case(
        NadarayaWatsonOperator(), non_negative=True, sums_to_one=True, order_free=True
    ),
    forest=Case(
        ForestOperator(RandomForestRegressor(20, min_samples_leaf=10, random_state=0)),
        non_negative=True,
        sums_to_one=True,
    ),
    forest_default=Case(
        ForestOperator(random_state=0), non_negative=True, sums_to_one=True, seeded=True
    ),
    ratio=Case(
        RatioOperator(KernelDensityRatio(random_state=0)), non_negative=True, sums_to_one=True
    ),
    ratio_default=Case(
        RatioOperator(random_state=0), non_negative=True, sums_to_one=True, seeded=True
    ),
    nearest_neighbours=Case(
        NearestNeighbours(), non_negative=True, sums_to_one=True, order_free=True
    ),
)


OUTCOMES = table(
    exact=Case(ExactOutcome(DESIGN.r)),
    regressor=Case(LinearRegression()),
    classifier=Case(ClassProbability(LogisticRegression())),
)

LOSSES = table(
    squared=Case(SquaredLoss()),
    pseudo_huber=Case(PseudoHuberLoss(1.0)),
    pseudo_huber_narrow=Case(PseudoHuberLoss(0.01)),
    logistic=Case(LogisticLoss()),
    logistic_narrow=Case(LogisticLoss(scale=0.1**0.5)),
    probit=Case(ProbitLoss()),
    probit_wide=Case(ProbitLoss(scale=3.0)),
)

SETS = table(
    whole_space=Case(WholeSpace()),
    ball=Case(SupNormBall()),
    small_ball=Case(SupNormBall(0.1)),
    interval=Case(Interval(-1.0, 0.5)),
    half_line=Case(Interval(0.0, np.inf)),
)

STEPS = table(
    paper=Case(None),
    constant=Case(0.25),
    decreasing=Case(inverse_sqrt),
)


def neural():
    """Return density ratios, operators and outcomes that need torch, on short trainings."""
    from sagdiv.neural import (
        MLP,
        MixtureDensity,
        NeuralDensityRatio,
        NeuralOperator,
        NeuralOutcome,
        Training,
    )

    def short(**parameters):
        settings = {"row_visits": 15_000, "batch_size": 80, "learning_rate": 1e-2, "check_every": 5}
        return Training(**(settings | parameters))

    network = MLP((16,))
    density = MixtureDensity(2, network, short())
    ratio = NeuralDensityRatio(network, short(), n_pairings=8, random_state=0)
    return (
        table(neural=Case(ratio, non_negative=True, seeded=True)),
        table(
            neural=Case(
                NeuralOperator(density, n_nodes=200, random_state=0),
                non_negative=True,
                sums_to_one=True,
                seeded=True,
            )
        ),
        table(
            neural=Case(NeuralOutcome(network, short(), random_state=0)),
            neural_probability=Case(
                NeuralOutcome(network, short(), loss="cross_entropy", random_state=0)
            ),
        ),
    )


if find_spec("torch") is not None:
    for cases, further in zip((DENSITY_RATIOS, OPERATORS, OUTCOMES), neural(), strict=True):
        cases += further
