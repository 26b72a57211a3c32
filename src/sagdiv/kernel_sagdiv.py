"""`KernelSAGDIV`, the front door: one pass over the data, then a descent on its moments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.base import IVRegressor
from sagdiv.binary import ProjectedProbability, is_binary, paper_start
from sagdiv.dask_rows import DaskRows, is_dask
from sagdiv.default_descent import Answer, descend_on_moments, descend_on_rows
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.estimator import SAGDIV
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.exogenous import exogenous_columns, other_labels
from sagdiv.feature_maps import FeatureFunction, FeatureMaps, FeatureOperator, FeatureRatio
from sagdiv.first_stage import FirstStage, canonical_correlations, evidence_ridge
from sagdiv.flow import FlowPath
from sagdiv.losses import SquaredLoss
from sagdiv.moments import Moments
from sagdiv.operators import MeanEmbeddingOperator
from sagdiv.protocols import LOCAL_LOSS_MEMBERS, Loss
from sagdiv.rows import RowBlocks, weighing_rows
from sagdiv.sets import SupNormBall
from sagdiv.sketch import Sketch
from sagdiv.stochastic import stochastic_flow
from sagdiv.user_warning import warn
from sagdiv.validation import (
    check_component,
    check_integer,
    check_positive,
)

__all__ = ["KernelSAGDIV"]

_PILOT_ROWS = 20_000
_PREDICT_ROWS = 1000  # kernel values of a block stay in the cache

_NOISE_LEVEL = 10.0  # of n s^2: an irrelevant direction has about one


def _known_from_moments(estimator: Any) -> bool:
    squared = estimator.loss is None or isinstance(estimator.loss, SquaredLoss)
    if squared and estimator.batch_size is None:
        return True
    raise AttributeError(
        "moments determine the answer for the squared loss without batch_size only; use fit."
    )


class KernelSAGDIV(ProjectedProbability, IVRegressor):
    r"""Nonparametric instrumental variable regression in one pass over the data.

    Finds h with E[Y - h(X) | Z] = 0 by gradient flow on the projected risk,

    .. math:: \dot h_t = -\, T_k\, \hat P^* \partial_2 \ell( Y, \hat P[h_t](Z) ), \qquad
              h_0 = \text{linear two-stage least squares},

    the functional gradient of SAGD-IV smoothed by the kernel of an RKHS, until the total step t.
    Time is linear in the number of rows, memory constant. `paper` is the paper's own algorithm.

    Parameters
    ----------
    loss : Loss, default=None
        None is `SquaredLoss`; `LogisticLoss` and `ProbitLoss` are for a 0/1 outcome.
    total_step : float, default=None
        t, the sum of all step sizes and the one regularisation parameter: raising it follows the
        data more closely. None is 500 n^(1/4), from ten thousand rows on n / 2, over the curvature
        of the loss, and longer where there is clearly more to learn.
    exogenous : sequence of str or int, default=()
        Names or positions of the columns of X that are exogenous. They are their own instruments.
    x_features, z_features : feature map or scikit-learn transformer, default=None
        Functions of x and of z; None is `KernelFeatures` with automatic centres. A transformer
        adds its columns to the constant and the coordinates. A fitted map in a
        `sklearn.frozen.FrozenEstimator` is used as it is.
    batch_size : int, default=None
        None follows the flow exactly. A number descends by stochastic gradients of so many rows
        at a time, with the same expectation; squared loss only.
    n_jobs : int, default=None
        Threads that visit blocks of rows. The answer does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows on which feature maps are placed, and the order of stochastic gradients.
        None is a fixed choice: fits are reproducible without a seed.

    Attributes
    ----------
    coef_ : array of shape (b,)
        Coefficients of h in the features of x.
    Phi_, P_, r_ : density ratio, operator and outcome regression on the same features
    path_ : FlowPath
        The descent, direction by direction.
    total_step_ : float
    dispersion_ : float
        Variance of the disturbance.
    nonparametric_share_ : float
        Binary losses only: how much of the answer is nonparametric, between 0 and 1. The rest is
        a control function probit, which is affine; 0 says that the data do not object to it.
    singular_values_ : array
        Strength of the instrument, direction by direction: estimated canonical correlations of
        functions of X and functions of Z, the constant left out.
    n_directions_ : int
        How many of them stand above noise.
    x_ridge_, z_ridge_ : arrays of shape (bx,), (bz,)
        Ridge of each feature of x in Phi_, and of each feature of z in Phi_ and P_; features of a
        group share one. Chosen by the evidence, with `total_step_` all that is tuned.
    moments_ : Moments
        All that was kept of the data.
    maps_ : FeatureMaps
    n_features_in_, feature_names_in_ : width and names of X
    n_instruments_in_, instrument_names_in_ : width and names of Z

    Notes
    -----
    When it fails: the answer is smooth, and where the instrument is silent it is the straight line
    of two-stage least squares, so that jumps are rounded off and fast wiggles are not seen.

    References
    ----------
    Fonseca, Peixoto and Saporito (2024), Nonparametric Instrumental Variable Regression through
    Stochastic Approximate Gradients.

    Examples
    --------
    >>> from sagdiv import KernelSAGDIV
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("sin", 1000, random_state=0)
    >>> model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    >>> X_new = data.sample_X(1000, random_state=1)
    >>> bool(((model.predict(X_new) - data.h_star(X_new)) ** 2).mean() < 0.1)
    True
    """

    __metadata_request__fit: ClassVar = {"Z_extra": True, "sample_weight": True}
    __metadata_request__partial_fit: ClassVar = {"Z": True, "sample_weight": True}
    path_: FlowPath

    def __init__(
        self,
        loss: Loss | None = None,
        *,
        total_step: float | None = None,
        exogenous: Sequence[str | int] = (),
        x_features: Any = None,
        z_features: Any = None,
        batch_size: int | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.total_step = total_step
        self.exogenous = exogenous
        self.x_features = x_features
        self.z_features = z_features
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def paper(**overrides: Any) -> SAGDIV:
        """Return the paper's kernel variant: for the squared loss, every setting as published.

        Kernel least-squares density ratio and kernel mean embedding with the median heuristic
        and cross-validated ridges, the outcome by the same smoother, the sup-norm ball of radius
        10, the learning rate 1/sqrt(M), the first 100 iterates discarded.

        For a binary loss two things deviate, without which the flat tails of F take more than
        M steps: the step is divided by the curvature of the loss, and the descent begins at a
        straight line. ``init=None, step=M**-0.5`` is the paper to the letter.

        Parameters
        ----------
        **overrides
            Any parameter of `SAGDIV`, for example ``loss=LogisticLoss()``. Give the loss here
            rather than by ``set_params``: the start depends on it.
        """
        settings: dict[str, Any] = {
            "density_ratio": KernelDensityRatio(),
            "operator": MeanEmbeddingOperator(),
            "convex_set": SupNormBall(10.0),
            "warm_up": 100,
            "init": paper_start(overrides.get("loss")),
        }
        return SAGDIV(**(settings | overrides))

    def fit(
        self,
        X: Data,
        y: Data,
        Z: Data = None,
        Z_extra: Data = None,
        sample_weight: Data = None,
    ) -> KernelSAGDIV:
        """Estimate h from all rows at once.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments. Without them X is its own instrument.
        Z_extra : array of shape (M, dz), default=None
            Instrument values observed without X and y. They help to place the features of z, and
            change the answer very little: unlike the paper's algorithm, this one descends on the
            triplets themselves.
        sample_weight : array of shape (n,), default=None
            An integer weight is a repeated row.

        X, y, Z and weights may be Dask arrays, data frames or series with the same partitions.
        """
        rows = self._rows(X, y, Z, sample_weight)
        self.maps_ = self._fit_maps(rows, None if Z_extra is None else self._check_extra(Z_extra))
        self.moments_ = rows.total(self.maps_.block_moments)
        self._descend(rows)
        return self

    @available_if(_known_from_moments)
    def partial_fit(
        self, X: Data, y: Data, Z: Data = None, sample_weight: Data = None
    ) -> KernelSAGDIV:
        """Add a block of rows; the same function as one fit on all blocks together.

        The first block places the feature maps and should be large enough to be typical. For the
        squared loss without ``batch_size``, whose answer moments determine.
        """
        first = not hasattr(self, "moments_")
        if not (first or isinstance(self._loss, SquaredLoss)):
            raise ValueError(
                f"partial_fit cannot add to a fit with {self._loss!r}: this loss has an outcome of "
                "its own; begin with a fresh estimator, or call fit."
            )
        rows = self._rows(X, y, Z, sample_weight, reset=first)
        if first:
            self.maps_ = self._fit_maps(rows)
        block = rows.total(self.maps_.block_moments)
        self.moments_ = block if first else self.moments_ + block
        self._descend(rows)
        return self

    @available_if(_known_from_moments)
    def fit_moments(self, moments: Moments, maps: FeatureMaps) -> KernelSAGDIV:
        """Estimate h from sums over rows, wherever they were taken, for the same loss.

        Parameters
        ----------
        moments : Moments
            A sum of results of ``maps.moments(X, y, Z)``.
        maps : FeatureMaps
            The maps of all of them, for example ``maps_`` of a fit on a typical sample.
        """
        maps.check_taken(moments)
        self._loss = self._check_loss()
        self.maps_, self.moments_ = maps, moments
        self.n_features_in_ = maps.x.n_features_in_
        for name in ("feature_names_in_", "instrument_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self._exogenous, self._instrumented = self._exogenous_columns(), True
        self.n_instruments_in_ = maps.z.n_features_in_ - len(self._exogenous)
        self._descend(None)
        return self

    def predict(self, X: Data) -> Array:
        """Return h at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        h = np.empty(len(X))
        for rows in gen_batches(len(X), _PREDICT_ROWS):
            h[rows] = self._function.predict(X[rows])
        return h

    def predict_projected(self, Z: Data, X: Data = None) -> Array:
        """Return P^[h](z), the estimate of E[h(X)|Z = z], at the rows of Z, shape (n,).

        Parameters
        ----------
        Z : array of shape (n, dz)
        X : array of shape (n, dx), default=None
            Needed for its exogenous columns, if there are any.
        """
        check_is_fitted(self)
        Z = self._check_instruments(Z)
        if self._exogenous.size:
            if X is None:
                raise ValueError("predict_projected needs X for its exogenous columns.")
            Z = self._all_instruments(self._check_predict_input(X), Z)
        return self.P_.project(self.coef_, Z)

    def _rows(
        self, X: Data, y: Data, Z: Data, sample_weight: Data, *, reset: bool = True
    ) -> RowBlocks | DaskRows:
        self._loss = self._check_loss()
        partitions, weights = None, None
        if is_dask(X, y, Z, sample_weight):
            if self.batch_size is not None:
                raise ValueError("batch_size draws single rows and needs them in memory.")
            partitions = DaskRows.of(X, y, Z, sample_weight)
            X, y, Z, total = partitions.overview()
        else:
            X, y, Z, weights = weighing_rows(X, y, Z, sample_weight)
            total = np.inf if weights is None else weights.sum()
        labels = other_labels(X)
        X, y, Z = self._check_fit_input(X, y, Z, reset=reset)
        if reset:
            _check_total(total, self._min_rows)
            columns = self._exogenous_columns(labels)
            self._exogenous = columns if self._instrumented else columns[:0]  # X is in Z already
        if partitions is not None:
            return partitions.with_exogenous(self._exogenous)
        weights = np.ones(len(X)) if weights is None else weights
        return RowBlocks.of(X, y, Z, weights, self._exogenous, self.n_jobs)

    def _check_loss(self) -> Loss:
        if self.total_step is not None:
            check_positive(self.total_step, "total_step")
        if self.batch_size is not None:
            check_integer(self.batch_size, "batch_size", at_least=1)
        check_component(self.loss, "loss", LOCAL_LOSS_MEMBERS)
        if is_binary(self.loss):
            check_component(self.loss, "loss", (*LOCAL_LOSS_MEMBERS, "mean"))
        loss = SquaredLoss() if self.loss is None else self.loss
        if self.batch_size is not None and not isinstance(loss, SquaredLoss):
            raise ValueError(
                "batch_size needs the squared loss; KernelSAGDIV.paper(loss=...) descends any "
                "loss by stochastic gradients."
            )
        return loss

    def _exogenous_columns(self, labels: list[Any] | None = None) -> Rows:
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        return exogenous_columns(self.exogenous, names, self.n_features_in_, labels)

    def _all_instruments(self, X: Array, Z: Array) -> Array:
        return np.column_stack([Z, X[:, self._exogenous]]) if self._exogenous.size else Z

    def _exogenous_features(self) -> Rows:
        # Columns of psi that move with exogenous regressors alone.
        if not (self._exogenous.size and hasattr(self.maps_.z, "columns_of")):
            return self._exogenous[:0]
        positions = self.n_instruments_in_ + np.arange(len(self._exogenous))
        return self.maps_.z.columns_of(positions)

    def _check_extra(self, Z_extra: Data) -> Array:
        if self._exogenous.size:
            raise ValueError(
                "Z_extra cannot be used together with exogenous: these columns of X are "
                "instruments too, and it lacks them."
            )
        return super()._check_extra(Z_extra)

    def _fit_maps(self, rows: RowBlocks | DaskRows, Z_extra: Array | None = None) -> FeatureMaps:
        sample = rows.total(partial(pilot_sketch, self._seed()))
        maps = self.x_features, self.z_features
        return FeatureMaps.fit(sample, self.n_features_in_, *maps, Z_extra)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _descend(self, rows: Any) -> None:
        mean, n = self.moments_.averages, self.moments_.n
        stage = FirstStage.fit(mean, n, self.maps_.z.groups_, self.maps_.x.n_affine_)
        if not np.isfinite(self.moments_.gram).all():
            raise ValueError(
                "sums of squares of y, or of the features of X and Z, are not finite; give y in "
                "larger units, or bounded features."
            )
        n_free, loss, t = self.maps_.x.n_affine_, self._loss, self.total_step
        if isinstance(loss, SquaredLoss):
            answer = descend_on_moments(mean, n, stage, n_free, loss, t)
        else:
            seed = self._seed()
            answer = descend_on_rows(rows.total, self.maps_, n, stage, n_free, loss, t, seed)
        self._note_answer(answer)
        if self.batch_size is not None:
            self.coef_ = stochastic_flow(
                answer.flow, rows, self.maps_, stage.B, self.path_, self.batch_size, self._seed()
            )
        self._function = FeatureFunction(self.maps_.x, self.coef_)
        self.P_ = FeatureOperator(self.maps_.z, stage.B)
        self.r_ = FeatureFunction(self.maps_.z, stage.regress(mean.cz))
        self.x_ridge_ = evidence_ridge(mean.swapped, n, self.maps_.x.groups_)
        self.z_ridge_ = stage.ridge
        self.Phi_ = FeatureRatio(self.maps_, mean, self.x_ridge_, stage.B)
        given = self._exogenous_features()
        self._note_strength(canonical_correlations(mean, self.x_ridge_, self.z_ridge_, given), n)

    def _note_answer(self, answer: Answer) -> None:
        self.coef_, self._loss = answer.coef, answer.loss
        self.total_step_, self.dispersion_ = answer.total_step, answer.dispersion
        self._flow = answer.flow  # what `sagdiv.inference` needs to follow the noise of y into h
        self.path_ = FlowPath.of(answer.flow, answer.total_step, answer.dispersion)
        if answer.nonparametric_share is not None:
            self.nonparametric_share_ = answer.nonparametric_share
        elif hasattr(self, "nonparametric_share_"):
            del self.nonparametric_share_

    def _note_strength(self, correlations: Array, n: float) -> None:
        self.singular_values_ = correlations
        self.n_directions_ = int((n * correlations**2 > _NOISE_LEVEL).sum())
        n_endogenous = self.n_features_in_ - len(self._exogenous)
        if n_endogenous and self.n_directions_ <= n_endogenous:  # enough for a linear h at most
            warn(
                f"the instrument moves X in {self.n_directions_} direction"
                f"{'' if self.n_directions_ == 1 else 's'} only: beyond them h is not identified, "
                "and the answer there is linear two-stage least squares.",
                WeakInstrumentWarning,
            )


def _check_total(weight: float, n_rows: int) -> None:
    if weight < n_rows:
        warn(
            f"sample_weight adds up to {weight:.3g}, and an integer weight is a repeated row: this "
            "is a tiny sample. If only their proportions matter, divide the weights by their mean."
        )


def pilot_sketch(seed: int, X: Array, y: Array, Z: Array, weights: Array) -> Sketch:
    """Return the sample of rows [X, Z] from which feature maps are made."""
    return Sketch.of(np.column_stack([X, Z]), weights, _PILOT_ROWS, seed)
