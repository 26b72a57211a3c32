"""Mixture density networks: the distribution of X given Z = z."""

from __future__ import annotations

import math

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, gen_batches
from torch import Tensor

from sagdiv._types import Array, Seed
from sagdiv.kernels import column_scales
from sagdiv.neural.networks import Factory, Network, Shape, default_network
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_integer

__all__ = ["MixtureDensity"]

_PAIRS_PER_BLOCK = 1_000_000
_MIN_LOG_SCALE = -5.0  # in standard deviations of X: a component never becomes a spike
_LOG_SQRT_TWO_PI = 0.5 * math.log(2 * math.pi)


class MixtureDensity(BaseEstimator):
    r"""A mixture of normals whose weights, means and spreads are functions of z.

    .. math:: \hat p(x|z) = \sum_k \pi_k(z) \prod_j N(x_j;\, \mu_{kj}(z), \sigma_{kj}(z)^2),
              \qquad \min\ -E[\log \hat p(X|Z)]

    Parameters
    ----------
    n_components : int, default=10
        Raising it allows more shapes of the distribution, and needs more data.
    network : callable, default=None
        ``network(shape, n_outputs)`` returns a module; None is `MLP` for tables, `ConvNet` for
        images.
    training : Training, default=None
        None is `Training` as it comes.
    shape : tuple of int, default=None
        Shape of one row of Z before it was flattened; None is a table.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    network_ : Network
    location_, scale_ : arrays of shape (dx,)
        The units of X in which the network works.
    history_ : History

    Notes
    -----
    Densities need far more data as X gets wider; not for X that is an image.

    References
    ----------
    Bishop (1994), Mixture Density Networks.
    """

    def __init__(
        self,
        n_components: int = 10,
        network: Factory | None = None,
        training: Training | None = None,
        *,
        shape: Shape | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.network = network
        self.training = training
        self.shape = shape
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> MixtureDensity:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        check_integer(self.n_components, "n_components", at_least=1)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        training = self.training or Training()
        self.location_, self.scale_ = X.mean(axis=0), column_scales(X)
        with reproducible(seed, training.device):
            shape = (Z.shape[1],) if self.shape is None else self.shape
            n_outputs = self.n_components * (1 + 2 * X.shape[1])
            self.network_ = Network(self.network or default_network, shape, n_outputs, Z)
            arrays = [self._standardized(X), self.network_.standardized(Z)]
            self.history_ = training.minimize([self.network_.module], self._losses, arrays, seed)
        return self

    def log_density(self, X: Array, Z: Array) -> Array:
        """Return log p^(x|z) for all pairs of rows, shape (len(X), len(Z))."""
        x, result = torch.from_numpy(self._standardized(X)), np.empty((len(X), len(Z)))
        width = self.n_components * X.shape[1]
        with torch.no_grad():
            parameters = self._parameters(torch.from_numpy(self.network_(Z)))
            for rows in gen_batches(len(X), max(1, _PAIRS_PER_BLOCK // max(1, len(Z) * width))):
                result[rows] = log_mixture(x[rows, None], *parameters).numpy()
        return result - np.log(self.scale_).sum()

    def sampler(self, Z: Array) -> Array:
        """Return the parameters of p^(.|z) in the units of X, for `draw_mixture`.

        Shape (len(Z), n_components, 1 + 2 dx): log weight, means, spreads of each component.
        """
        with torch.no_grad():
            log_weight, mean, log_scale = self._parameters(torch.from_numpy(self.network_(Z)))
        mean = self.location_ + self.scale_ * mean.numpy()
        scale = self.scale_ * log_scale.exp().numpy()
        return np.concatenate([log_weight.numpy()[..., None], mean, scale], axis=2)

    def _standardized(self, X: Array) -> Array:
        return (X - self.location_) / self.scale_

    def _parameters(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = outputs.reshape(len(outputs), self.n_components, -1)
        mean, log_scale = outputs[..., 1:].chunk(2, dim=2)
        return outputs[..., 0].log_softmax(1), mean, log_scale.clamp(min=_MIN_LOG_SCALE)

    def _losses(self, x: Tensor, z: Tensor) -> tuple[Tensor]:
        return (-log_mixture(x, *self._parameters(self.network_.module(z))).mean(),)


def log_mixture(x: Tensor, log_weight: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Return the log density of a mixture of normals; all but the last two axes broadcast.

    Parameters
    ----------
    x : tensor of shape (..., dx)
    log_weight : tensor of shape (m, K)
    mean, log_scale : tensors of shape (m, K, dx)
    """
    deviation = (x[..., None, :] - mean) * (-log_scale).exp()
    log_normal = -0.5 * deviation.square() - log_scale - _LOG_SQRT_TWO_PI
    return (log_weight + log_normal.sum(-1)).logsumexp(-1)


def draw_mixture(parameters: Tensor, n_draws: int) -> Tensor:
    """Draw from the mixtures that `MixtureDensity.sampler` describes.

    Parameters
    ----------
    parameters : tensor of shape (m, K, 1 + 2 dx)
    n_draws : int

    Returns
    -------
    tensor of shape (n_draws, m, dx)
    """
    component = torch.multinomial(parameters[..., 0].exp(), n_draws, replacement=True)
    rows = torch.arange(len(parameters), device=parameters.device)[:, None]
    mean, scale = parameters[rows, component][..., 1:].chunk(2, dim=2)
    return (mean + scale * torch.randn_like(mean)).transpose(0, 1)
