"""A network regressed directly of y on X: what ignoring endogeneity gives."""

from __future__ import annotations

from sklearn.base import clone
from sklearn.utils import check_random_state

from sagdiv._types import Data, Seed
from sagdiv.neural.networks import Factory, Network, default_network
from sagdiv.neural.regressor import NetworkRegressor
from sagdiv.neural.training import Training, reproducible

__all__ = ["DirectNetwork"]


class DirectNetwork(NetworkRegressor):
    r"""The confounded answer of a network.

    .. math:: \min_h\ E[(Y - h(X))^2]

    Parameters
    ----------
    network : callable, default=None
        ``network(shape, 1)`` returns a module; None is `MLP` for tables, `ConvNet` for images.
    training : Training, default=None
        None is `Training` as it comes.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    network_ : Network
    history_ : History

    Notes
    -----
    When it fails: whenever X is confounded. It estimates E[Y|X], and stands in tables to show what
    endogeneity costs. The instrument is not used, other than by ``score``.

    References
    ----------
    Goodfellow, Bengio and Courville (2016), Deep Learning, chapter 6.
    """

    def __init__(
        self,
        network: Factory | None = None,
        training: Training | None = None,
        *,
        random_state: Seed = None,
    ) -> None:
        self.network = network
        self.training = training
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> DirectNetwork:
        """Fit the regression of y on X.

        Parameters
        ----------
        X : array of shape (n, dx), or images of shape (n, height, width[, channels])
        y : array of shape (n,)
        Z : array of shape (n, dz), default=None
            Not used.
        """
        X, y, _ = self._check_fit_input(X, y, Z)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        training = Training() if self.training is None else clone(self.training)
        y = self._standardize_outcome(y)
        with reproducible(seed, training.device):
            self.network_ = Network(self.network or default_network, self.x_shape_, 1, X)
            h = self.network_.module
            self.history_ = training.minimize(
                [h],
                lambda x, y: ((h(x)[:, 0] - y).square().mean(),),
                [self.network_.standardized(X), y],
                seed,
            )
        return self
