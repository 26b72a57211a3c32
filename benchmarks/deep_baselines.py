"""DeepIV, DeepGMM and the direct network: the continuous design, and the one DeepGMM came with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.common import SCENARIOS, errors, parse, table
from sagdiv._types import Array
from sagdiv.baselines import DeepGMM, DeepIV, DirectNetwork
from sagdiv.datasets import IVSample, make_continuous
from sagdiv.neural import MixtureDensity, OptimisticAdam, Training

# Largest mean MSE by scenario, and largest time of a fit. DeepGMM's are for its own design.
DEEPIV_BARS, DEEPIV_SECONDS = (0.16, 0.18, 0.38, 0.43), 15
DEEPGMM_BARS, DEEPGMM_SECONDS = (0.05, 0.05, 0.03, 0.04), 60


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, draws=20, gmm_draws=5, first_seed=0)
    draws, gmm_draws = (1, 1) if options.quick else (options.draws, options.gmm_draws)
    seeds, gmm_seeds = (
        range(options.first_seed, options.first_seed + count) for count in (draws, gmm_draws)
    )
    deep_iv, direct, deep_gmm = (
        _quick() if options.quick else (DeepIV(), DirectNetwork(), DeepGMM())
    )
    torch.set_num_threads(1)
    header = ["method", *SCENARIOS, "fit, s", "bars"]
    with threadpool_limits(1):
        print(
            f"Continuous design, n = 1000, from seed {seeds[0]}, one thread: {draws} draws "
            f"({gmm_draws} of DeepGMM); mean / median (worst : median) of the MSE\n"
        )
        rows = (
            _row("DeepIV", deep_iv, _continuous, seeds, DEEPIV_BARS, DEEPIV_SECONDS),
            _row("DeepIV, one draw", clone(deep_iv).set_params(n_draws=1), _continuous, seeds),
            _row("DirectNetwork", direct, _continuous, seeds),
            _row("DeepGMM", deep_gmm, _continuous, gmm_seeds),
        )
        table(header, rows)
        print(f"\nDeepGMM's own design, n = 2000, {gmm_draws} draws; MSE / var(y)\n")
        rows = (
            _row("DeepGMM", deep_gmm, _own, gmm_seeds, DEEPGMM_BARS, DEEPGMM_SECONDS),
            _row("DirectNetwork", direct, _own, gmm_seeds),
        )
        table(header, rows)


def _quick():
    """Return the methods with the smallest training that shows that everything runs."""
    training = Training(row_visits=10_000)
    density = MixtureDensity(training=training)
    return (
        DeepIV(density, training=training),
        DirectNetwork(training=training),
        DeepGMM(training=clone(training).set_params(optimizer=OptimisticAdam)),
    )


@dataclass(frozen=True)
class OwnDesign:
    """X = Z1 + c + N(0, 0.1^2), Y = g(X) + 2c + N(0, 0.1^2), Z ~ U[-3, 3]^2, c ~ N(0, 1)."""

    scenario: str

    def h_star(self, X: Array) -> Array:
        x = np.asarray(X)[:, 0]
        functions = {"abs": np.abs(x), "linear": x, "sin": np.sin(x)}
        return np.where(x < 0, 1.0, 2.5) if self.scenario == "step" else functions[self.scenario]

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        Z, c = rng.uniform(-3, 3, (n, 2)), rng.normal(size=n)
        X = (Z[:, 0] + c + rng.normal(scale=0.1, size=n))[:, None]
        return X, self.h_star(X) + 2 * c + rng.normal(scale=0.1, size=n), Z


@dataclass(frozen=True)
class InUnitsOfOutcome:
    """The same draw with Y divided by its standard deviation, and h* with it."""

    design: OwnDesign
    scale: float

    def h_star(self, X: Array) -> Array:
        return self.design.h_star(X) / self.scale

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        X, y, Z = self.design.draw(n, rng)
        return X, y / self.scale, Z


def _continuous(scenario: str, seed: int) -> IVSample:
    return make_continuous(scenario, 1000, random_state=seed)


def _own(scenario: str, seed: int) -> IVSample:
    design = OwnDesign(scenario)
    X, y, Z = design.draw(2000, np.random.RandomState(seed))
    scale = float(y.std())
    return IVSample(X, y / scale, Z, None, InUnitsOfOutcome(design, scale))


def _row(name, model, draw, seeds, bars=(), limit=np.inf) -> list[object]:
    """Return the cells of a table: errors by scenario, seconds of a fit, and what is missed."""
    found, seconds = zip(*(errors(model, partial(draw, s), seeds) for s in SCENARIOS), strict=True)
    missed = [
        f"{scenario} > {bar}"
        for scenario, e, bar in zip(SCENARIOS, found, bars, strict=False)
        if np.mean(e) > bar
    ]
    if np.max(seconds) > limit:
        missed.append(f"time > {limit} s")
    verdict = "missed: " + ", ".join(missed) if missed else "met"
    cells = [f"{np.mean(e):.3g} / {np.median(e):.3g} ({max(e) / np.median(e):.1f})" for e in found]
    return [name, *cells, float(np.median(seconds)), verdict if bars else ""]


if __name__ == "__main__":
    main()
