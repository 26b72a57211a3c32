"""The names that ``--method`` and ``--loss`` understand."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from sagdiv.cli.failures import UserError

__all__ = ["LossName", "Method", "NaAction", "make_estimator", "refits_of"]

_REFITS = 100


class Method(StrEnum):
    """Estimators by short names."""

    kernel = "kernel"
    paper = "paper"
    deep = "deep"
    tsls = "tsls"
    sieve = "sieve"
    kiv = "kiv"


class NaAction(StrEnum):
    """What to do where values are missing."""

    refuse = "raise"
    drop = "drop"


class LossName(StrEnum):
    """Losses by short names."""

    squared = "squared"
    logistic = "logistic"
    probit = "probit"


def make_estimator(
    method: Method,
    loss_name: LossName,
    seed: int,
    callback: Callable[[Any], None] | None = None,
) -> Any:
    """Return the estimator that the options name; a callback is told of the epochs of networks."""
    from sagdiv import KernelSAGDIV, baselines, losses

    loss = {
        LossName.squared: losses.SquaredLoss,
        LossName.logistic: losses.LogisticLoss,
        LossName.probit: losses.ProbitLoss,
    }[loss_name]()
    if method is Method.kernel:
        return KernelSAGDIV(loss, random_state=seed)
    if method is Method.paper:
        return KernelSAGDIV.paper(loss=loss, random_state=seed)
    if method is Method.deep:
        from sagdiv import DeepSAGDIV

        return DeepSAGDIV(loss=loss, callback=callback, random_state=seed)
    if loss_name is not LossName.squared:
        raise UserError(f"--method {method} has the squared loss only; use --method kernel.")
    if method is Method.tsls:
        return baselines.TSLS()
    baseline = {Method.sieve: baselines.SieveIV, Method.kiv: baselines.KIV}[method]
    return baseline(random_state=seed)


def refits_of(method: Method) -> int:
    """Return how many bootstrap fits the bands of a method are worth; a network learns too long."""
    return 0 if method is Method.deep else _REFITS
