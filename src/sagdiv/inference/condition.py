"""The condition that h solves, in letters: another one for every kind of loss."""

from __future__ import annotations

from sagdiv.binary import is_binary
from sagdiv.protocols import Loss

__all__ = ["condition"]

_DISTRIBUTIONS = {"LogisticLoss": ", F logistic", "ProbitLoss": ", F normal"}


def condition(loss: Loss) -> str:
    """Return what holds at the truth, such as ``E[Y - h(X) | Z] = 0``."""
    if is_binary(loss):  # h is an index: no residual Y - h(X) is zero on average
        return f"P(Y = 1 | Z) = F(E[h(X) | Z]){_DISTRIBUTIONS.get(type(loss).__name__, '')}"
    return "E[Y - h(X) | Z] = 0"
