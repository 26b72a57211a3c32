"""Deep IV: a mixture density network, then a network fitted through it."""

from __future__ import annotations

from sklearn.base import clone
from sklearn.utils import check_random_state
from torch import Tensor

from sagdiv._types import Array, Data, Seed
from sagdiv.neural.mixture import MixtureDensity, draw_mixture
from sagdiv.neural.networks import MLP, Factory, Network
from sagdiv.neural.regressor import NetworkRegressor
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_integer

__all__ = ["DeepIV"]

# The paper drops every second unit up to a thousand rows, in both stages. Fewer of them leave the
# density its shape and h its slope; chosen on draws of the continuous design from seed 10000 on.
_SHARE_OF_DROPOUT = 0.2


class DeepIV(NetworkRegressor):
    r"""Two stages of networks: the distribution of X given Z, then h through its draws.

    .. math:: \min_h\ E\left[ \left( Y - \int h(x)\, d\hat p(x|Z) \right)^2 \right]

    The square of an expectation needs two independent draws for an unbiased gradient: the loss
    of one row is the average of (y - h(x_s)) (y - h(x_t)) over pairs of draws s != t.

    Parameters
    ----------
    density : MixtureDensity, default=None
        The first stage; None is ten components on hidden layers of 128, 64 and 32, with a fifth
        of the dropout of the paper, min(1000 / (1000 + n), 1/2).
    network : callable, default=None
        ``network(shape, 1)`` returns the module of h; None is `MLP` with hidden layers of 64 and
        32 rectified units, without dropout.
    training : Training, default=None
        The second stage; None is 300 000 row visits with a patience of 100 epochs, as the loss
        rests on a plateau for a while where h bends more than once.
    n_draws : int, default=2
        Draws of X per row and step; raising it has less noise and costs more. 1 minimises the
        upper bound E (Y - h(X~))^2 instead, whose gradient is biased towards flat h.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    density_ : the fitted first stage
    network_ : Network
    history_ : History

    Notes
    -----
    When it fails: where the first stage misses the shape of p(x|z) the second one inherits the
    error in full, and small samples suffer most. X must be a table; Z may be images.

    References
    ----------
    Hartford, Lewis, Leyton-Brown and Taddy (2017), Deep IV: A Flexible Approach for
    Counterfactual Prediction.
    """

    def __init__(
        self,
        density: MixtureDensity | None = None,
        network: Factory | None = None,
        training: Training | None = None,
        *,
        n_draws: int = 2,
        random_state: Seed = None,
    ) -> None:
        self.density = density
        self.network = network
        self.training = training
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> DeepIV:
        """Fit both stages.

        Parameters
        ----------
        X : array of shape (n, dx)
        y : array of shape (n,)
        Z : array of shape (n, dz), or images of shape (n, height, width[, channels])
        """
        check_integer(self.n_draws, "n_draws", at_least=1)
        X, y, Z = self._check_fit_input(X, y, Z)
        if len(self.x_shape_) > 1:
            raise ValueError(
                f"X has rows of shape {self.x_shape_}, and DeepIV would need the density of whole "
                "images; give X as a table."
            )
        rng = check_random_state(self.random_state)
        density = default_density(len(X)) if self.density is None else clone(self.density)
        if density.shape is None:
            density.set_params(shape=self.z_shape_)
        if density.random_state is None:
            density.set_params(random_state=rng.randint(2**31 - 1))
        self.density_ = density.fit(X, Z)

        seed = rng.randint(2**31 - 1)
        training = default_training() if self.training is None else clone(self.training)
        y = self._standardize_outcome(y)
        with reproducible(seed, training.device):
            factory = self.network or MLP((64, 32), "relu")
            self.network_ = Network(factory, self.x_shape_, 1, X)
            h = self.network_.module

            def losses(parameters: Tensor, y: Tensor) -> tuple[Tensor]:
                draws = draw_mixture(parameters, self.n_draws if h.training else 64)
                values = h(draws.flatten(0, 1)).reshape(len(draws), -1)
                return (squared_projected_residual(y - values),)

            parameters = self._parameters(Z)
            self.history_ = training.minimize([h], losses, [parameters, y], seed)
        return self

    def _parameters(self, Z: Array) -> Array:
        """Return the parameters of p^(.|z) for draws in the units of the second network."""
        parameters, width = self.density_.sampler(Z), self.n_features_in_
        parameters[..., 1 : 1 + width] = self.network_.standardized(parameters[..., 1 : 1 + width])
        parameters[..., 1 + width :] /= self.network_.scale
        return parameters


def default_density(n_rows: int) -> MixtureDensity:
    network = MLP((128, 64, 32), dropout=_SHARE_OF_DROPOUT * paper_dropout(n_rows))
    return MixtureDensity(10, network, Training(weight_decay=1e-4))


def default_training() -> Training:
    return Training(row_visits=300_000, weight_decay=1e-4, patience=100)


def squared_projected_residual(residuals: Tensor) -> Tensor:
    """Return an unbiased estimate of the mean of E[residual|z]^2, differentiable as such.

    Parameters
    ----------
    residuals : tensor of shape (S, n)
        S independent draws for each of n rows. A single draw gives the mean of its square, an
        upper bound.
    """
    n_draws = len(residuals)
    if n_draws == 1:
        return residuals.square().mean()
    squared_sum, sum_of_squares = residuals.sum(0).square(), residuals.square().sum(0)
    return ((squared_sum - sum_of_squares) / (n_draws * (n_draws - 1))).mean()


def paper_dropout(n_rows: int) -> float:
    """Return the share that the paper's authors drop: less as data grow."""
    return min(1000 / (1000 + n_rows), 0.5)
