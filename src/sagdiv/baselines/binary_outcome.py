"""What the baselines for binary outcomes share: the loss that says how eta is distributed."""

from __future__ import annotations

from typing import Any

from sagdiv._types import Array, Data
from sagdiv.base import IVRegressor
from sagdiv.losses import LogisticLoss
from sagdiv.protocols import BinaryLoss

__all__ = ["BinaryOutcome"]


class BinaryOutcome(IVRegressor):
    """An estimator of h in Y = 1{E[h(X)|Z] + eta > 0}, with a parameter ``loss``."""

    loss: Any
    _loss: Any = LogisticLoss()

    def _check_fit_input(
        self, X: Data, y: Data, Z: Data, *, reset: bool = True
    ) -> tuple[Array, Array, Array]:
        loss = type(self)._loss if self.loss is None else self.loss
        if isinstance(loss, type) or not isinstance(loss, BinaryLoss) or not loss.binary:
            raise TypeError(
                "loss must be the loss of a binary outcome, such as LogisticLoss() or "
                f"ProbitLoss(); got {loss!r}."
            )
        self._loss = loss
        return super()._check_fit_input(X, y, Z, reset=reset)
