"""Features of x and of z that networks learn together: a density ratio of low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from torch import Tensor

from sagdiv._types import Array, Seed
from sagdiv.neural.networks import Factory, Network, Shape, default_network
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_integer

__all__ = ["CanonicalFeatures", "Rotation", "Variates", "canonical_rotations"]

DEFAULT_TRAINING = Training(row_visits=300_000, learning_rate=5e-3, patience=15)
_RANK_TOLERANCE = 1e-6


class CanonicalFeatures(BaseEstimator):
    r"""The functions of x and of z that are most correlated, by two networks and one loss.

    .. math:: \Phi(x, z) = 1 + f(x)' g(z), \qquad
              \min_{f, g}\ \tfrac12 \mathrm{tr}(F G) - \mathrm{tr}(C)

    with F, G the covariances of f(X) and g(Z) and C the one between them: half the squared error
    of the ratio against the truth, so that no pairs are formed and the value on held-out rows can
    be compared as it is. What the networks span is then rotated to canonical variates.

    Parameters
    ----------
    n_features : int, default=64
        Outputs of each network, the largest rank of the ratio; raising it reaches directions in
        which the instrument is weaker.
    x_network, z_network : callable, default=None
        ``network(shape, n_features)`` returns a module; None is `MLP` for tables, `ConvNet` for
        images.
    training : Training, default=None
        None is `Training` with learning rate 0.005, patience 15 and 300 000 row visits.
    x_shape, z_shape : tuple of int, default=None
        Shape of one row of X and of Z before it was flattened; None is a table.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    correlations_ : array of shape (k,)
        Canonical correlations on the training rows, decreasing.
    x_network_, z_network_ : Network
    x_map_, z_map_ : Variates
        The canonical variates of x and of z as functions of rows.
    history_ : History

    Notes
    -----
    Only what the instrument moves is learnt: a function of x that no function of z predicts has
    no feature, as it has no gradient either.

    References
    ----------
    HaoChen, Wei, Gaidon and Ma (2021), Provable Guarantees for Self-Supervised Deep Learning with
    Spectral Contrastive Loss, for the loss.
    """

    def __init__(
        self,
        n_features: int = 64,
        *,
        x_network: Factory | None = None,
        z_network: Factory | None = None,
        training: Training | None = None,
        x_shape: Shape | None = None,
        z_shape: Shape | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_features = n_features
        self.x_network = x_network
        self.z_network = z_network
        self.training = training
        self.x_shape = x_shape
        self.z_shape = z_shape
        self.random_state = random_state

    def fit(self, X: Array, Z: Array, weights: Array | None = None) -> CanonicalFeatures:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz), that may have weights."""
        check_integer(self.n_features, "n_features", at_least=1)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        training = self.training or DEFAULT_TRAINING
        weights = np.ones(len(X)) if weights is None else weights / weights.mean()
        with reproducible(seed, training.device):
            self.x_network_ = self._network(self.x_network, self.x_shape, X)
            self.z_network_ = self._network(self.z_network, self.z_shape, Z)
            self.history_ = training.minimize(
                [self.x_network_.module, self.z_network_.module],
                self._losses,
                [self.x_network_.standardized(X), self.z_network_.standardized(Z), weights],
                seed,
                rates=(1.0, 1.0),
            )
        f, g = self.x_network_(X), self.z_network_(Z)
        self.correlations_, to_x, to_z = canonical_rotations(f, g, weights)
        self.x_map_, self.z_map_ = Variates(self.x_network_, to_x), Variates(self.z_network_, to_z)
        return self

    def transform_x(self, X: Array) -> Array:
        """Return the canonical variates of x, shape (n, k): mean zero, variance one."""
        return self.x_map_(X)

    def transform_z(self, Z: Array) -> Array:
        """Return the canonical variates of z, shape (n, k)."""
        return self.z_map_(Z)

    def _network(self, factory: Factory | None, shape: Shape | None, rows: Array) -> Network:
        shape = (rows.shape[1],) if shape is None else shape
        return Network(factory or default_network, shape, self.n_features, rows)

    def _losses(self, x: Tensor, z: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        loss = low_rank_loss(self.x_network_.module(x), self.z_network_.module(z), weights)
        return loss, loss


@dataclass(frozen=True)
class Rotation:
    """An affine map of features to canonical variates."""

    center: Array
    directions: Array

    def __call__(self, features: Array) -> Array:
        """Return the variates, shape (n, k)."""
        return (features - self.center) @ self.directions


@dataclass(frozen=True)
class Variates:
    """A network and the rotation of its outputs: canonical variates as a function of rows."""

    network: Network
    rotation: Rotation

    def __call__(self, rows: Array) -> Array:
        """Return the variates, shape (n, k)."""
        return self.rotation(self.network(rows))


def canonical_rotations(f: Array, g: Array, weights: Array) -> tuple[Array, Rotation, Rotation]:
    """Return the canonical correlations of f and g, decreasing, and the maps to the variates.

    Parameters
    ----------
    f, g : arrays of shape (n, b)
    weights : array of shape (n,)
    """
    share = weights / weights.sum()
    x_center, z_center = share @ f, share @ g
    f, g = f - x_center, g - z_center
    Wx, Wz = _whitener((f.T * share) @ f), _whitener((g.T * share) @ g)
    U, correlations, Vt = svd(Wx.T @ ((f.T * share) @ g) @ Wz, full_matrices=False)
    return correlations, Rotation(x_center, Wx @ U), Rotation(z_center, Wz @ Vt.T)


def low_rank_loss(f: Tensor, g: Tensor, weights: Tensor) -> Tensor:
    """Return 1/2 tr(F G) - tr(C) from the covariances of features f and g.

    Parameters
    ----------
    f, g : tensors of shape (n, k)
    weights : tensor of shape (n,)
    """
    share = (weights / weights.sum())[:, None]
    f, g = f - (share * f).sum(0), g - (share * g).sum(0)
    weighted_f, weighted_g = share * f, share * g
    return 0.5 * ((weighted_f.T @ f) * (weighted_g.T @ g)).sum() - (weighted_f * g).sum()


def _whitener(G: Array) -> Array:
    values, vectors = eigh(G)
    seen = values > _RANK_TOLERANCE * values.max(initial=0.0)
    return vectors[:, seen] / np.sqrt(values[seen])
