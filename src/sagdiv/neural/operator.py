"""A conditional expectation operator whose cost does not grow with the square of the data."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sagdiv._types import Array, Seed
from sagdiv.neural.mixture import MixtureDensity
from sagdiv.validation import check_integer

__all__ = ["NeuralOperator"]


class NeuralOperator(BaseEstimator):
    r"""Conditional expectations under a mixture density network, on a bounded set of nodes.

    .. math:: \hat P[h](z) = \sum_j w_j(z)\, h(x_j), \qquad
              w_j(z) \propto \hat p(x_j|z) / \hat p(x_j)

    The nodes x_j are rows of X, drawn from p(x), so that this is importance sampling; the
    marginal is the mean of p^(x_j|z) over a sample of Z.

    Parameters
    ----------
    density : MixtureDensity, default=None
        Its settings; None is `MixtureDensity` as it comes.
    n_nodes : int, default=500
        Raising it resolves finer functions; time and memory are linear in it.
    random_state : int, RandomState instance or None, default=None
        Draws the nodes, and seeds the density if that has no seed of its own.

    Attributes
    ----------
    density_ : the fitted density
    nodes_ : array of shape (min(n, n_nodes), dx)

    Notes
    -----
    For X of a few columns: with many, no bounded set of nodes covers the conditional
    distributions.

    References
    ----------
    Hartford, Lewis, Leyton-Brown and Taddy (2017), Deep IV, for the first stage.
    """

    def __init__(
        self,
        density: MixtureDensity | None = None,
        *,
        n_nodes: int = 500,
        random_state: Seed = None,
    ) -> None:
        self.density = density
        self.n_nodes = n_nodes
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> NeuralOperator:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        check_integer(self.n_nodes, "n_nodes", at_least=1)
        rng = check_random_state(self.random_state)
        density = MixtureDensity() if self.density is None else clone(self.density)
        if density.random_state is None:
            density.set_params(random_state=rng.randint(2**31 - 1))
        self.density_ = density.fit(X, Z)
        chosen = rng.permutation(len(X))[: self.n_nodes]
        self.nodes_ = X[chosen]
        joint = self.density_.log_density(self.nodes_, Z[chosen])
        self._log_marginal = np.logaddexp.reduce(joint, axis=1) - np.log(len(chosen))
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), k); non-negative, each row sums to one."""
        log_weights = self.density_.log_density(self.nodes_, Z) - self._log_marginal[:, None]
        return np.asarray(softmax(log_weights.T, axis=1))
