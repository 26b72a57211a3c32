"""Least-squares density-ratio fitting with a network."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, gen_batches
from torch import Tensor
from torch.nn.functional import softplus

from sagdiv._types import Array, Seed
from sagdiv.neural.networks import MLP, Factory, Network, tensor
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_integer

__all__ = ["NeuralDensityRatio"]

DEFAULT_TRAINING = Training(batch_size=512, learning_rate=3e-3, weight_decay=5e-3)
_PAIRS_PER_BLOCK = 250_000


class NeuralDensityRatio(BaseEstimator):
    r"""Phi as a positive network of (x, z), trained on pairs *within* each batch.

    .. math:: \min_\Phi\ \tfrac12 E_{X \otimes Z}[\Phi^2] - E_{(X, Z)}[\Phi]

    which is half the squared error against the true ratio. The first mean runs over every x of a
    batch paired with ``n_pairings`` other z of it. The result is divided by its mean over
    independent pairs, which is one for the truth.

    Parameters
    ----------
    network : callable, default=None
        ``network((dx + dz,), 1)`` returns a module; None is `MLP` with dropout 0.01.
    training : Training, default=None
        None is `Training` with batches of 512, learning rate 0.003 and weight decay 0.005.
    n_pairings : int, default=16
        Raising it makes gradients steadier and slower; a batch never has more than all its pairs.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    network_ : Network
    mean_ : float
        Mean of the unnormalised network over independent pairs.
    history_ : History

    Notes
    -----
    A network sees no structure between x and z: where they are nearly functions of each other
    the ratio is a ridge that no small network can follow.

    References
    ----------
    Sugiyama, Suzuki and Kanamori (2012), Density Ratio Estimation in Machine Learning.
    """

    def __init__(
        self,
        network: Factory | None = None,
        training: Training | None = None,
        *,
        n_pairings: int = 16,
        random_state: Seed = None,
    ) -> None:
        self.network = network
        self.training = training
        self.n_pairings = n_pairings
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> NeuralDensityRatio:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        check_integer(self.n_pairings, "n_pairings", at_least=1)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        training = self.training or DEFAULT_TRAINING
        rows = np.column_stack([X, Z])
        with reproducible(seed, training.device):
            self.network_ = Network(self.network or MLP(dropout=0.01), (rows.shape[1],), 1, rows)
            self.history_ = training.minimize(
                [self.network_.module], self._losses, self._inputs(X, Z), seed, score=self._score
            )
        self.mean_ = 1.0
        self.mean_ = self._mean_over_pairs(X, Z, seed)
        return self

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^ for all pairs of rows, shape (len(X), len(Z)); positive."""
        ratio = np.empty((len(X), len(Z)))
        with torch.no_grad():
            x, z = (tensor(A, torch.float64) for A in self._inputs(X, Z))
            for rows in gen_batches(len(x), max(1, _PAIRS_PER_BLOCK // max(1, len(z)))):
                width = rows.stop - rows.start
                block = self._phi(x[rows].repeat_interleave(len(z), 0), z.repeat(width, 1))
                ratio[rows] = block.reshape(width, len(z)).numpy()
        return ratio / self.mean_

    def _inputs(self, X: Array, Z: Array) -> list[Array]:
        location, scale = self.network_.location, self.network_.scale
        dx = X.shape[1]
        return [(X - location[:dx]) / scale[:dx], (Z - location[dx:]) / scale[dx:]]

    def _phi(self, x: Tensor, z: Tensor) -> Tensor:
        return softplus(self.network_.module(torch.cat([x, z], 1))[:, 0])

    def _losses(self, x: Tensor, z: Tensor) -> tuple[Tensor]:
        return (self._loss(x, z, self.n_pairings),)

    def _score(self, x: Tensor, z: Tensor) -> float:
        return float(self._loss(x, z, max(1, _PAIRS_PER_BLOCK // len(x))))

    def _loss(self, x: Tensor, z: Tensor, n_pairings: int) -> Tensor:
        n_pairings = max(1, min(n_pairings, len(x) - 1))
        # Row i with the rows i + 1, ..., i + n_pairings: rows come in random order.
        apart = self._phi(
            x.repeat(n_pairings, 1), torch.cat([z.roll(-s, 0) for s in range(1, n_pairings + 1)])
        )
        return 0.5 * apart.square().mean() - self._phi(x, z).mean()

    def _mean_over_pairs(self, X: Array, Z: Array, seed: int) -> float:
        # Rows may come in any order, sorted for example: a sample of each, drawn apart.
        rng, size = check_random_state(seed), int(_PAIRS_PER_BLOCK**0.5)
        x, z = (A[rng.permutation(len(A))[:size]] for A in (X, Z))
        return float(self.ratio(x, z).mean())
