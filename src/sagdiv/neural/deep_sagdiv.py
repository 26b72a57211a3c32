"""`DeepSAGDIV`: features learned by networks, and the same descent behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.binary import is_binary, paper_start
from sagdiv.dask_rows import DaskRows
from sagdiv.estimator import SAGDIV
from sagdiv.feature_maps import FeatureMaps, default_x_features, with_extra
from sagdiv.features import KernelFeatures
from sagdiv.kernel_sagdiv import KernelSAGDIV, pilot_sketch
from sagdiv.neural.callbacks import SharesCallback
from sagdiv.neural.cross_fitting import CrossFittedFeatures
from sagdiv.neural.density_ratio import NeuralDensityRatio
from sagdiv.neural.features import DEFAULT_TRAINING, CanonicalFeatures
from sagdiv.neural.networks import MLP
from sagdiv.neural.outcome import NeuralOutcome
from sagdiv.neural.regressor import ImageInputs
from sagdiv.neural.training import Epoch, Training
from sagdiv.operators import MeanEmbeddingOperator
from sagdiv.protocols import Loss
from sagdiv.rows import RowBlocks
from sagdiv.sets import SupNormBall

__all__ = ["DeepSAGDIV", "LearnedMap"]

_X_SCALE = 0.2  # of learned features of x, where kernel features have about one


class DeepSAGDIV(SharesCallback, ImageInputs, KernelSAGDIV):
    r"""`KernelSAGDIV` on features that networks have learned from the data.

    Two networks learn the functions of x and of z that are most correlated, by the least-squares
    loss of the density ratio (`CanonicalFeatures`). The descent is that of `KernelSAGDIV`,

    .. math:: \dot h_t = -\, T\, \hat P^* \partial_2 \ell( Y, \hat P[h_t](Z) ), \qquad
              h_t = \phi' a_t ,

    on phi = (kernel features, s_j^2 u_j(x) / 5) and psi = (kernel features, v_j(z)) with canonical
    variates u, v and correlations s: a direction is easier to learn the better the instrument
    moves it. Images have no kernel features. `paper` is the paper's own algorithm.

    Parameters
    ----------
    loss : Loss, default=None
        None is `SquaredLoss`; `LogisticLoss` and `ProbitLoss` are for a 0/1 outcome.
    features : CanonicalFeatures, default=None
        How features are learned: networks, their number of outputs, training. None is
        `CanonicalFeatures` as it comes. What it leaves open (seed, shapes) is filled in.
    n_folds : int, default=4
        Networks are cross-fitted over so many folds: raising it leaves more rows for each and
        takes longer. 1 trains one pair on all rows, which then fits their noise.
    total_step : float, default=None
        t, the sum of all step sizes: raising it follows the data more closely. None is the rule
        of `KernelSAGDIV`.
    exogenous : sequence of str or int, default=()
        Names or positions of the columns of X that are exogenous; not for images.
    batch_size : int, default=None
        None follows the flow exactly. A number descends by stochastic gradients of so many rows.
    device : str, default=None
        Where networks are trained ("cpu", "cuda", "mps", ...), whatever else the training does;
        None is the device of ``features.training``, the CPU unless it says otherwise. A fitted
        model is always on the CPU.
    callback : callable, default=None
        Called with an `Epoch` after each epoch of each of the ``n_folds`` trainings; None is the
        callback of ``features.training``. Clones share it, files and pickles have none.
    n_jobs : int, default=None
        Threads that visit blocks of rows. The answer does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Initial weights and batches. None is a fixed choice.

    Attributes
    ----------
    features_ : CrossFittedFeatures
        Fitted, with the networks and the history of every fold.
    x_shape_, z_shape_ : tuple of int
        Shape of one row of X and of Z.
    coef_, Phi_, P_, r_, path_, singular_values_, maps_, ... : as in `KernelSAGDIV`

    Notes
    -----
    X and Z are tables of shape (n, d), or images of shape (n, height, width) or (n, height, width,
    channels), at least 4 x 4, each as it likes. `predict` takes images of the same shape, or their
    rows of pixels.

    A row of the fit is judged by the one network that has not seen it, a new row by the average of
    all: `predict` at rows of the fit is therefore a little noisier than close by.

    Networks see at most 20 000 rows, the moments behind them all. Nothing can be learned of h in
    directions that the instrument does not move; and with few rows of many columns the features
    fit noise, which draws the answer towards the confounded one.

    References
    ----------
    Fonseca, Peixoto and Saporito (2024), Nonparametric Instrumental Variable Regression through
    Stochastic Approximate Gradients.

    Examples
    --------
    >>> from sagdiv import DeepSAGDIV
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("sin", 1000, random_state=0)
    >>> model = DeepSAGDIV().fit(data.X, data.y, data.Z)
    >>> X_new = data.sample_X(1000, random_state=1)
    >>> bool(((model.predict(X_new) - data.h_star(X_new)) ** 2).mean() < 0.1)
    True
    """

    def __init__(
        self,
        loss: Loss | None = None,
        *,
        features: CanonicalFeatures | None = None,
        n_folds: int = 4,
        total_step: float | None = None,
        exogenous: Sequence[str | int] = (),
        batch_size: int | None = None,
        device: str | None = None,
        callback: Callable[[Epoch], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.features = features
        self.n_folds = n_folds
        self.total_step = total_step
        self.exogenous = exogenous
        self.batch_size = batch_size
        self.device = device
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def paper(**overrides: Any) -> SAGDIV:
        """Return the paper's deep variant: a `SAGDIV` with its settings as published, but for few.

        As published: networks with rectified linear units in hidden layers of 64 and 32 for the
        density ratio (dropout 0.01, L2 0.005) and the outcome (L2 0.003); Adam with learning rate
        0.01 and batches of 512 for 150 000 / N epochs; the kernel operator and the descent of
        `KernelSAGDIV.paper`. For tables, not images.

        What deviates, and why:

        * There is no early stopping. An epoch of so few rows is a batch or two, and stopping threw
          away a fifth of them and ended before the regression of y had found its shape: mean
          squared errors on the continuous design were up to three times as large.
        * For a binary loss the paper has "sigmoid activation". Here that is the last layer of the
          outcome network, behind the cross-entropy; with sigmoid hidden units, too, a ratio network
          under this L2 is the constant 1, and an outcome network nearly a straight line.
        * For a binary loss start and step are those of `KernelSAGDIV.paper`.

        A curved h of a binary outcome remains hard for it: the kernel operator is smoother than
        both networks, and what it smooths away of h comes back too large.

        Parameters
        ----------
        **overrides
            Any parameter of `SAGDIV`, for example ``loss=LogisticLoss()``. Give the loss here
            rather than by ``set_params``: networks and start depend on it.
        """
        binary = is_binary(overrides.get("loss"))
        training = partial(
            Training,
            batch_size=512,
            learning_rate=1e-2,
            row_visits=150_000,
            validation_fraction=0.0,
        )
        settings: dict[str, Any] = {
            "density_ratio": NeuralDensityRatio(
                MLP((64, 32), "relu", dropout=0.01), training(weight_decay=5e-3)
            ),
            "operator": MeanEmbeddingOperator(),
            "outcome": NeuralOutcome(
                MLP((64, 32), "relu"),
                training(weight_decay=3e-3),
                loss="cross_entropy" if binary else "squared",
            ),
            "convex_set": SupNormBall(10.0),
            "warm_up": 100,
            "init": paper_start(overrides.get("loss")),
        }
        return SAGDIV(**(settings | overrides))

    def _check_extra(self, Z_extra: Data) -> Array:
        if len(self.z_shape_) > 1:
            raise ValueError("Z_extra helps to place kernel features, which images have none of.")
        return super()._check_extra(Z_extra)

    def _fit_maps(self, rows: RowBlocks | DaskRows, Z_extra: Array | None = None) -> FeatureMaps:
        sample = rows.total(partial(pilot_sketch, self._seed()))
        X, Z = sample.rows[:, : self.n_features_in_], sample.rows[:, self.n_features_in_ :]
        x_image, z_image = len(self.x_shape_) > 1, len(self.z_shape_) > 1
        if self._exogenous.size and (x_image or z_image):
            raise ValueError(
                "exogenous names columns, and images have none; give X and Z as tables."
            )
        learner = self._learner()
        if learner.x_shape is None and x_image:
            learner.set_params(x_shape=self.x_shape_)
        if learner.z_shape is None and z_image:
            learner.set_params(z_shape=self.z_shape_)
        self.features_ = CrossFittedFeatures(
            learner, n_folds=self.n_folds, random_state=self._seed()
        ).fit(X, Z, sample.weights)
        s = self.features_.correlations_
        x_known = None if x_image else default_x_features(X.shape[1]).fit(X, sample.weights)
        z_rows = with_extra(Z, sample.weights, Z_extra)
        z_known = None if z_image else KernelFeatures().fit(*z_rows)
        return FeatureMaps(
            LearnedMap(self.features_.x_map_, _X_SCALE * s**2, X.shape[1], x_known),
            LearnedMap(self.features_.z_map_, np.ones_like(s), Z.shape[1], z_known),
        )

    def _learner(self) -> CanonicalFeatures:
        """Return the features as asked for, trained where and watched by whom this model says."""
        learner = CanonicalFeatures() if self.features is None else clone(self.features)
        asked = {"device": self.device, "callback": self.callback}
        training = clone(learner.training or DEFAULT_TRAINING)
        training.set_params(**{name: value for name, value in asked.items() if value is not None})
        return learner.set_params(training=training)


class LearnedMap:
    """Features that are known already, and scaled canonical variates behind them.

    Parameters
    ----------
    variates : callable
        Rows to canonical variates, shape (n, k).
    scale : array of shape (k,)
        Raising it makes a variate cheaper to use.
    width : int
        Number of columns of the rows.
    known : fitted feature map, default=None
        None is the constant alone.
    """

    def __init__(
        self,
        variates: Callable[[Array], Array],
        scale: Array,
        width: int,
        known: KernelFeatures | None = None,
    ) -> None:
        self.variates = variates
        self.scale = scale
        self.known = known
        self.n_features_in_ = width
        n_known = self._known(np.zeros((1, width))).shape[1]
        learned = np.arange(n_known, n_known + len(scale))
        self.n_affine_ = 1 if known is None else known.n_affine_
        self.groups_: list[Rows] = [*([] if known is None else known.groups_), learned]

    def transform(self, A: Array) -> Array:
        """Return the features of the rows of A, shape (n, b)."""
        return np.column_stack([self._known(A), self.variates(A) * self.scale])

    def _known(self, A: Array) -> Array:
        return np.ones((len(A), 1)) if self.known is None else self.known.transform(A)
