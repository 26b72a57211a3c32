"""Deep GMM: a game between the answer and a critic that looks for violated moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from torch import Tensor, nn

from sagdiv._types import Array, Data, Seed
from sagdiv.neural.networks import MLP, Factory, Network, Shape, default_network
from sagdiv.neural.optim import OptimisticAdam
from sagdiv.neural.regressor import NetworkRegressor
from sagdiv.neural.training import Training, reproducible
from sagdiv.validation import check_positive

__all__ = ["DeepGMM", "Selection"]


@dataclass(frozen=True)
class Selection:
    """What model selection saw.

    Attributes
    ----------
    learning_rates : array of shape (C,)
    violation : array of shape (C, K)
        Worst moment violation of each of K iterates of each of C runs, on the validation rows.
    run, iterate : int
        The smallest of them.
    """

    learning_rates: Array
    violation: Array
    run: int
    iterate: int


class DeepGMM(NetworkRegressor):
    r"""The optimally weighted generalised method of moments, its instruments chosen by a network.

    .. math:: \min_h \max_f\ E_n[f(Z) (Y - h(X))]
              - \tfrac14 E_n[f(Z)^2 (Y - \tilde h(X))^2]

    with h~ the previous iterate, solved as a game by optimistic Adam. Runs at several learning
    rates are compared at many of their iterates: the one is kept whose worst violation, over the
    critics of *all* runs, is smallest on rows that no run has trained on. This is early stopping
    and model selection in one.

    Parameters
    ----------
    network : callable, default=None
        ``network(shape, 1)`` returns the module of h; None is a small `MLP` of 20 and 3 units
        for tables, `ConvNet` for images.
    critic : callable, default=None
        The same for f; None has hidden layers of 64 and 32 for tables. A critic larger than the
        answer is what keeps the game honest.
    training : Training, default=None
        Its ``learning_rate`` is replaced by each candidate in turn, and each run has all of its
        ``row_visits``.
    learning_rates : sequence of float, default=(0.0005, 0.0002)
        Candidates.
    critic_rate : float, default=5.0
        Learning rate of f relative to that of h; raising it keeps f nearer to its maximum.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    network_ : Network
    selection_ : Selection
    histories_ : list of History
        One for each candidate; their ``validation`` is the violation that the run's own critic
        sees.

    Notes
    -----
    When it fails: the game has no guarantee to settle, and the choice of iterate is only as good as
    the critics that were met; results vary more between seeds than those of closed forms.

    References
    ----------
    Bennett, Kallus and Schnabel (2019), Deep Generalized Method of Moments for Instrumental
    Variable Analysis.
    """

    def __init__(
        self,
        network: Factory | None = None,
        critic: Factory | None = None,
        training: Training | None = None,
        *,
        learning_rates: Sequence[float] = (0.0005, 0.0002),
        critic_rate: float = 5.0,
        random_state: Seed = None,
    ) -> None:
        self.network = network
        self.critic = critic
        self.training = training
        self.learning_rates = learning_rates
        self.critic_rate = critic_rate
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> DeepGMM:
        """Play the game.

        Parameters
        ----------
        X : array of shape (n, dx), or images of shape (n, height, width[, channels])
        y : array of shape (n,)
        Z : array of shape (n, dz), or images
        """
        self._check_parameters()
        X, y, Z = self._check_fit_input(X, y, Z)
        training = default_training() if self.training is None else clone(self.training)
        if not training.validation_fraction > 0:
            raise ValueError("DeepGMM selects on validation rows: validation_fraction must be > 0.")
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        y = self._standardize_outcome(y)
        runs: list[Run] = []
        self.histories_ = []
        for learning_rate in self.learning_rates:
            training.set_params(learning_rate=learning_rate)
            with reproducible(seed, training.device):
                self.network_ = Network(self.network or default_answer, self.x_shape_, 1, X)
                critic = Network(self.critic or default_critic, self.z_shape_, 1, Z)
                run = Run(self.network_.module, critic.module)
                self.histories_.append(
                    training.minimize(
                        [run.h, run.f],
                        run.losses,
                        [self.network_.standardized(X), y, critic.standardized(Z)],
                        seed,
                        score=run.record,
                        rates=(1.0, self.critic_rate),
                    )
                )
            runs.append(run)
        violation = worst_violation(
            np.stack([run.residuals for run in runs]), np.stack([run.critics for run in runs])
        )
        best = np.unravel_index(np.argmin(violation), violation.shape)
        self.selection_ = Selection(
            np.asarray(self.learning_rates, dtype=float), violation, int(best[0]), int(best[1])
        )
        self.network_.module.load_state_dict(runs[best[0]].weights[best[1]])
        return self

    def _check_parameters(self) -> None:
        rates = self.learning_rates
        if np.ndim(rates) != 1 or not len(rates):
            raise ValueError(
                f"learning_rates must be a sequence of one or more numbers, got {rates!r}."
            )
        for rate in rates:
            check_positive(rate, "each of learning_rates")
        check_positive(self.critic_rate, "critic_rate")


class Run:
    """One game, and the record of its iterates on the validation rows."""

    def __init__(self, h: nn.Module, f: nn.Module) -> None:
        self.h, self.f = h, f
        self.weights: list[dict[str, Tensor]] = []
        self.residuals: list[NDArray[np.float32]] = []
        self.critics: list[NDArray[np.float32]] = []

    def losses(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return what h minimises and what f minimises."""
        residual, f = y - self.h(x)[:, 0], self.f(z)[:, 0]
        moment = (f * residual).mean()
        return moment, 0.25 * (f * residual.detach()).square().mean() - moment

    def record(self, x: Tensor, y: Tensor, z: Tensor) -> float:
        """Note residuals, critic and weights of this iterate; return minus the game's value.

        Seen by early stopping, which must not end a game: every value counts as progress.
        """
        self.residuals.append((y - self.h(x)[:, 0]).cpu().numpy())
        self.critics.append(self.f(z)[:, 0].cpu().numpy())
        self.weights.append({k: w.detach().cpu().clone() for k, w in self.h.state_dict().items()})
        return -float(len(self.weights))


def worst_violation(residuals: Array, critics: Array) -> Array:
    """Return max over all critics f of E[f e] - E[f^2 e~^2] / 4, for every iterate.

    e~ is the average residual over all iterates, so that all are measured by one yardstick.

    Parameters
    ----------
    residuals, critics : arrays of shape (C, K, n)
    """
    n = residuals.shape[2]
    f = critics.reshape(-1, n)
    penalty = np.square(f) @ np.square(residuals.mean(axis=(0, 1))) / (4 * n)
    moments = residuals.reshape(-1, n) @ f.T / n
    return np.asarray((moments - penalty).max(axis=1).reshape(residuals.shape[:2]))


def default_answer(shape: Shape, n_outputs: int) -> nn.Module:
    factory: Factory = MLP((20, 3), "leaky_relu") if len(shape) == 1 else default_network
    return factory(shape, n_outputs)


def default_critic(shape: Shape, n_outputs: int) -> nn.Module:
    factory: Factory = MLP((64, 32), "leaky_relu") if len(shape) == 1 else default_network
    return factory(shape, n_outputs)


def default_training() -> Training:
    return Training(
        row_visits=2_000_000,
        batch_size=1024,
        optimizer=OptimisticAdam,
        validation_fraction=0.2,
        check_every=20,
        patience=10**9,
    )
