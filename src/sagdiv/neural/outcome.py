"""The regression of y on Z by a network."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from sagdiv._types import Array, Seed
from sagdiv.kernels import column_scales
from sagdiv.neural.networks import Factory, Network, Shape, default_network
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_zero_one

__all__ = ["NeuralOutcome"]

DEFAULT_TRAINING = Training(batch_size=512, learning_rate=3e-3, weight_decay=3e-3)


class NeuralOutcome(RegressorMixin, BaseEstimator):
    r"""r(z) = E[Y|Z=z] as a network, by least squares or, for a 0/1 outcome, cross-entropy.

    .. math:: \min_r\ E[(Y - r(Z))^2] \quad\text{or}\quad
              \min_r\ -E[Y \log r(Z) + (1 - Y) \log(1 - r(Z))], \ r = 1 / (1 + e^{-\cdot})

    Parameters
    ----------
    network : callable, default=None
        ``network(shape, 1)`` returns a module; None is `MLP` for tables, `ConvNet` for images.
    training : Training, default=None
        None is `Training` with batches of 512, learning rate 0.003 and weight decay 0.003.
    loss : {"squared", "cross_entropy"}, default="squared"
    shape : tuple of int, default=None
        Shape of one row before it was flattened; None is a table.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    network_ : Network
    history_ : History

    Notes
    -----
    With little data a smoother that also serves the operator is the better choice: two different
    ones bias the fixed point of the descent.

    References
    ----------
    Fonseca, Peixoto and Saporito (2024), Nonparametric Instrumental Variable Regression through
    Stochastic Approximate Gradients, appendix on implementation.
    """

    def __init__(
        self,
        network: Factory | None = None,
        training: Training | None = None,
        *,
        loss: Literal["squared", "cross_entropy"] = "squared",
        shape: Shape | None = None,
        random_state: Seed = None,
    ) -> None:
        self.network = network
        self.training = training
        self.loss = loss
        self.shape = shape
        self.random_state = random_state

    def fit(self, Z: Array, y: Array) -> NeuralOutcome:
        """Learn the regression of y, shape (n,), on Z, shape (n, dz)."""
        if self.loss not in ("squared", "cross_entropy"):
            raise ValueError(f"loss must be 'squared' or 'cross_entropy', got {self.loss!r}.")
        if self.loss == "cross_entropy":
            check_zero_one(y, self.loss)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        training = self.training or DEFAULT_TRAINING
        if self.loss == "squared":
            self.location_, self.scale_ = float(y.mean()), float(column_scales(y[:, None])[0])
        else:
            self.location_, self.scale_ = 0.0, 1.0
        with reproducible(seed, training.device):
            shape = (Z.shape[1],) if self.shape is None else self.shape
            self.network_ = Network(self.network or default_network, shape, 1, Z)
            arrays = [self.network_.standardized(Z), (y - self.location_) / self.scale_]
            self.history_ = training.minimize([self.network_.module], self._losses, arrays, seed)
        return self

    def predict(self, Z: Array) -> Array:
        """Return r^(z), shape (len(Z),)."""
        outputs = self.network_(Z)[:, 0]
        if self.loss == "cross_entropy":
            return np.asarray(expit(outputs))
        return self.location_ + self.scale_ * outputs

    def _losses(self, z: Tensor, y: Tensor) -> tuple[Tensor]:
        outputs = self.network_.module(z)[:, 0]
        if self.loss == "cross_entropy":
            return (binary_cross_entropy_with_logits(outputs, y),)
        return ((outputs - y).square().mean(),)
