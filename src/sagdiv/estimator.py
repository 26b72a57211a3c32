"""`SAGDIV`, the open door: components in, a fitted function out."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sagdiv._types import Array, Data, Seed
from sagdiv.base import IVRegressor
from sagdiv.binary import ProjectedProbability, is_binary
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.exceptions import BoundReachedWarning
from sagdiv.kernels import column_scales
from sagdiv.losses import SquaredLoss
from sagdiv.nuisances import (
    factors_at,
    fitted_operator,
    loadings_at,
    outcome_at,
    ratio_at,
    weights_at,
)
from sagdiv.operators import MeanEmbeddingOperator, RatioOperator
from sagdiv.outcome import SmoothedOutcome, as_regressor, is_classifier
from sagdiv.path import DescentPath, PathFunction, Run, walk
from sagdiv.protocols import (
    LOSS_MEMBERS,
    AdaptiveLoss,
    ConvexSet,
    DensityRatio,
    FiniteRankRatio,
    Loss,
    Operator,
    Outcome,
    claims,
    steepness,
)
from sagdiv.sets import SupNormBall, WholeSpace
from sagdiv.splitting import nuisance_split
from sagdiv.steps import step_sizes
from sagdiv.user_warning import warn
from sagdiv.validation import check_both, check_component, check_integer, check_positive

__all__ = ["SAGDIV"]

_OUT_OF_REACH = 0.1  # standard deviations of y

# What each component must offer, and the words that may stand for one.
_CONTRACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "density_ratio": (("fit", "ratio"), ()),
    "operator": (("fit", "weights"), ("ratio",)),
    "outcome": (("fit", "predict"), ("observed",)),
    "loss": (LOSS_MEMBERS, ()),
    "convex_set": (("project", "contains"), ()),
}


class SAGDIV(ProjectedProbability, IVRegressor):
    r"""Stochastic approximate gradient descent for instrumental variable regression.

    Finds h with E[Y - h(X) | Z] = 0 by descending the projected risk in function space,

    .. math:: h_m = \mathrm{proj}_H\left[ h_{m-1} - \alpha_m\, \hat\Phi(\cdot, z_m)\,
              \partial_2 \ell\left( \hat r(z_m), \hat P[h_{m-1}](z_m) \right) \right],

    one instrument value at a time, and averaging. Every part can be replaced by one of your
    own; the contracts are in `sagdiv.protocols`. The defaults are the paper's kernel variant.

    Parameters
    ----------
    density_ratio : density ratio, default=None
        Phi^; None is `KernelDensityRatio`.
    operator : operator or "ratio", default=None
        P^; None is `MeanEmbeddingOperator`, "ratio" is the operator that Phi^ already contains.
    outcome : scikit-learn regressor or classifier, or "observed", default=None
        r^; None is the operator's own smoother applied to y. "observed" puts y_i itself in place
        of r^(z_i), which needs no regression but has more noise.
    loss : Loss, default=None
        None is `SquaredLoss`; `LogisticLoss` and `ProbitLoss` are for a 0/1 outcome.
    convex_set : ConvexSet, default=None
        H; None is ``SupNormBall(10)``. With the squared loss it is in units of the standard
        deviation of y.
    step : float or callable, default=None
        Learning rate: a constant, or a function m -> alpha_m; None is 1 / sqrt(M), over the
        largest curvature of the loss. Larger or more steps follow the data more closely.
    warm_up : int, default=100
        First iterates left out of the average (never more than half of them).
    init : callable, estimator or "linear", default=None
        h_0: a function of X, or an estimator with fit(X, y, Z) and predict(X), fitted on the rows
        of the nuisances and projected onto the search set. "linear" is two-stage least squares,
        for a 0/1 outcome the control function probit; None is zero. Where the instrument is
        silent the answer is h_0.
    nuisance_fraction : float, default=1/3
        Share of the rows that fit the nuisances when no ``Z_extra`` is given; the Z of the others
        feed the descent. 1 lets every row serve both, which the theory does not cover.
    representation : {"auto", "values", "coefficients"}, default="auto"
        How iterates are stored; the function is the same. Coefficients (fast) need a density
        ratio of finite rank and a set that never binds; "auto" takes them where they are exact.
    random_state : int, RandomState instance or None, default=None
        Seeds the split of the rows and every component that has no seed of its own.

    Attributes
    ----------
    Phi_, P_, r_ : the fitted nuisances
        ``r_`` is None for ``outcome="observed"``.
    path_ : DescentPath
        Slopes, step sizes, projected risk along the path, whether the bound was ever reached.
    y_scale_ : float
        The unit in which the descent worked.
    n_features_in_, feature_names_in_ : width and names of X
    n_instruments_in_, instrument_names_in_ : width and names of Z

    Notes
    -----
    When it fails: the rows are shared out between the nuisances and the descent, so that few of
    them make a noisy answer; and with the squared loss an h that is not within the search set, ten
    standard deviations of y around zero by default, is out of reach.

    References
    ----------
    Fonseca, Peixoto and Saporito (2024), Nonparametric Instrumental Variable Regression through
    Stochastic Approximate Gradients, Algorithm 1.

    Examples
    --------
    >>> from sagdiv import SAGDIV
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("sin", 600, n_extra=1200, random_state=0)
    >>> model = SAGDIV(random_state=0).fit(data.X, data.y, data.Z, Z_extra=data.Z_extra)
    >>> X_new = data.sample_X(1000, random_state=1)
    >>> bool(((model.predict(X_new) - data.h_star(X_new)) ** 2).mean() < 0.2)
    True
    """

    __metadata_request__fit: ClassVar = {"Z_extra": True}

    def __init__(
        self,
        density_ratio: DensityRatio | None = None,
        operator: Operator | Literal["ratio"] | None = None,
        outcome: Outcome | Literal["observed"] | None = None,
        loss: Loss | None = None,
        *,
        convex_set: ConvexSet | None = None,
        step: float | Callable[[int], float] | None = None,
        warm_up: int = 100,
        init: Any = None,
        nuisance_fraction: float = 1 / 3,
        representation: Literal["auto", "values", "coefficients"] = "auto",
        random_state: Seed = None,
    ) -> None:
        self.density_ratio = density_ratio
        self.operator = operator
        self.outcome = outcome
        self.loss = loss
        self.convex_set = convex_set
        self.step = step
        self.warm_up = warm_up
        self.init = init
        self.nuisance_fraction = nuisance_fraction
        self.representation = representation
        self.random_state = random_state

    def fit(
        self,
        X: Data,
        y: Data,
        Z: Data = None,
        Z_extra: Data = None,
    ) -> SAGDIV:
        """Estimate the nuisances and descend.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments. Without them X is its own instrument.
        Z_extra : array of shape (M, dz), default=None
            Instrument values observed without X and y: all rows then fit the nuisances, and the
            descent runs on these. None splits the rows, see ``nuisance_fraction``.
        """
        loss = self._check_parameters()
        X, y, Z = self._check_fit_input(X, y, Z)
        rng = check_random_state(self.random_state)
        if Z_extra is None:
            nuisance, descent = nuisance_split(len(X), self.nuisance_fraction, rng)
            z = Z[descent]
        else:
            nuisance, descent = np.arange(len(X)), np.arange(0)
            z = self._check_extra(Z_extra)

        self._set: ConvexSet = SupNormBall() if self.convex_set is None else self.convex_set
        in_units_of_y = claims(loss, "scales_with_outcome")
        self.y_scale_ = float(column_scales(y[:, None])[0]) if in_units_of_y else 1.0
        self._loss: Loss = loss
        if is_binary(loss):
            check_both(y[nuisance], loss, "every row that fits the nuisances")
        self._fit_nuisances(X[nuisance], y[nuisance], Z[nuisance], loss, rng)
        W = weights_at(self.P_, z)
        r = y[descent] if self.r_ is None else self._outcome_at(z, W)
        self._walk(z, W, r / self.y_scale_)
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return self.y_scale_ * self._function(X, self._start(X))

    def predict_projected(self, Z: Data, X: Data = None) -> Array:
        """Return P^[h^](z), the estimate of E[h(X)|Z = z], at the rows of Z, shape (n,).

        Parameters
        ----------
        Z : array of shape (n, dz)
        X : array of shape (n, dx), default=None
            Not used: no column of X is exogenous here. `KernelSAGDIV` has a use for it.
        """
        check_is_fitted(self)
        nodes = self.P_.nodes_
        h = self._function(nodes, self._start(nodes))
        return self.y_scale_ * (weights_at(self.P_, self._check_instruments(Z)) @ h)

    def _check_parameters(self) -> Loss:
        for name, (members, words) in _CONTRACTS.items():
            check_component(getattr(self, name), name, members, words)
        if is_binary(self.loss):
            check_component(self.loss, "loss", (*LOSS_MEMBERS, "mean"))
        if is_classifier(self.outcome):
            check_component(self.outcome, "outcome", ("fit", "predict_proba"))
        _check_init(self.init)
        loss: Loss = SquaredLoss() if self.loss is None else self.loss
        of_observed = claims(loss, "linear_in_outcome") or claims(loss, "symmetric")
        if self.outcome == "observed" and not of_observed:
            raise ValueError(
                f'outcome="observed" needs a loss whose slope is linear in y, which {loss!r} is '
                "not: the gradient would be that of another risk."
            )
        check_positive(self.nuisance_fraction, "nuisance_fraction")
        if self.nuisance_fraction > 1:
            raise ValueError(
                f"nuisance_fraction must lie in (0, 1], got {self.nuisance_fraction!r}."
            )
        check_integer(self.warm_up, "warm_up", at_least=0)
        if self.representation not in ("auto", "values", "coefficients"):
            raise ValueError(
                "representation must be 'auto', 'values' or 'coefficients', "
                f"got {self.representation!r}."
            )
        return loss

    def _check_extra(self, Z_extra: Data) -> Array:
        z = super()._check_extra(Z_extra)
        if self.outcome == "observed":
            raise ValueError(
                'outcome="observed" needs the y of every z in the descent, which Z_extra does '
                "not have; leave Z_extra out or choose another outcome."
            )
        return z

    def _fit_nuisances(
        self, X: Array, y: Array, Z: Array, loss: Loss, rng: np.random.RandomState
    ) -> None:
        density_ratio = KernelDensityRatio() if self.density_ratio is None else self.density_ratio
        self.Phi_ = _seeded(density_ratio, rng).fit(X, Z)
        if self.operator == "ratio":
            self.P_: Operator = RatioOperator.of(self.Phi_, X)
        else:
            operator = MeanEmbeddingOperator() if self.operator is None else self.operator
            self.P_ = fitted_operator(_seeded(operator, rng), X, Z)
        if self.outcome is None:
            # Where P^ overshoots its smoother of y does too, and clipping one alone is a bias. A
            # bounded slope cannot run away after a target that no h attains.
            domain = (-np.inf, np.inf) if claims(loss, "lipschitz") else loss.domain
            self.r_: Any = SmoothedOutcome(self.P_, domain).fit(Z, y)
        elif self.outcome == "observed":
            self.r_ = None
        else:
            self.r_ = _seeded(as_regressor(self.outcome), rng).fit(Z, y)
        init = _straight_line(loss) if self.init == "linear" else self.init
        self._start_is_fitted = hasattr(init, "fit")
        if self._start_is_fitted:
            self.init_ = _seeded(init, rng).fit(X, y, Z=Z).predict
        else:
            self.init_ = init
        if isinstance(loss, AdaptiveLoss):
            smoother = SmoothedOutcome(self.P_).fit(Z, y) if self.r_ is None else self.r_
            self._loss = loss.adapted(y - smoother.predict(Z))

    def _outcome_at(self, z: Array, W: Array) -> Array:
        """Return r^(z); the shared smoother need not compute its weights twice."""
        if isinstance(self.r_, SmoothedOutcome):
            return self.r_.smooth(W)
        return outcome_at(self.r_, z, self._loss)

    def _start(self, X: Array) -> Array:
        """Return h_0 at the rows of X, in the units of the descent."""
        if self.init_ is None:
            return np.zeros(len(X))
        start = np.asarray(self.init_(X), dtype=float)
        if start.shape not in ((len(X),), (len(X), 1)) or not np.isfinite(start).all():
            raise ValueError(
                f"init must give one finite number for each of {len(X)} rows of X, got "
                + (f"an array of shape {start.shape}." if len(X) != start.size else "others.")
            )
        start = start.reshape(len(X)) / self.y_scale_
        # Nobody knows in advance where a fitted start leads: it is brought into the set.
        return self._set.project(start) if self._start_is_fitted else start

    def _walk(self, z: Array, W: Array, r: Array) -> None:
        """Reduce everything to arrays and run Algorithm 1 on them."""
        convex_set = self._set
        loss = self._loss
        if isinstance(loss, AdaptiveLoss):
            loss = loss.in_units(self.y_scale_)
        alphas = step_sizes(self.step, len(z), steepness(loss))
        nodes = self.P_.nodes_
        start = self._start(nodes)
        if not convex_set.contains(start):
            raise ValueError(
                f"init leaves the search set {convex_set!r} (in units of {self.y_scale_:.4g}); "
                "start inside it or choose a larger convex_set."
            )
        if claims(loss, "scales_with_outcome"):
            _check_reach(r, convex_set)
        representation = self._first_representation()
        in_coefficients = representation == "coefficients"
        walk_there = self._walk_coefficients if in_coefficients else self._walk_values
        with np.errstate(over="ignore", invalid="ignore"):  # `_check_converged` speaks of it
            run, moves = walk_there(start, z, W, r, alphas, loss, convex_set)
            bound_reached = not convex_set.contains(start[:, None] - moves)
            if bound_reached and in_coefficients:
                self._warn_if_asked(convex_set)
                representation = "values"
                run, _ = self._walk_values(start, z, W, r, alphas, loss, convex_set)
        _check_converged(run)
        self.path_ = DescentPath(
            instruments=z,
            slopes=run.slopes,
            step_sizes=alphas,
            warm_up=min(self.warm_up, len(z) // 2),
            representation=representation,
            bound_reached=bound_reached,
            checkpoints=run.checkpoints,
            risk=run.risk * self.y_scale_**2,
        )
        self._function = PathFunction(self.path_, self.Phi_, convex_set)

    def _walk_coefficients(
        self, start: Array, z: Array, W: Array, r: Array, alphas: Array, loss: Loss, _: ConvexSet
    ) -> tuple[Run, Array]:
        """Run Algorithm 1 at O(b) a step; also return h_0 - h_m at the nodes, shape (n, M)."""
        factors = factors_at(self.Phi_, self.P_.nodes_)
        loadings = loadings_at(self.Phi_, z)
        # h = h_0 + sum_j a_j f_j, as the array (1, a): the same lines as for values.
        h = np.concatenate([[1.0], np.zeros(len(loadings))])
        directions = np.vstack([np.zeros(len(z)), loadings])
        rows = np.column_stack([W @ start, W @ factors])
        run = walk(h, directions, rows, r, alphas, loss, WholeSpace())
        return run, factors @ np.cumsum(loadings * (alphas * run.slopes), axis=1)

    def _walk_values(
        self, start: Array, z: Array, W: Array, r: Array, alphas: Array, loss: Loss, H: ConvexSet
    ) -> tuple[Run, Array]:
        """Run Algorithm 1 on values at the nodes; also return h_0 - h_m, had nothing bound."""
        Phi = ratio_at(self.Phi_, self.P_.nodes_, z)
        run = walk(start, Phi, W, r, alphas, loss, H)
        return run, np.cumsum(Phi * (alphas * run.slopes), axis=1)

    def _first_representation(self) -> str:
        finite_rank = isinstance(self.Phi_, FiniteRankRatio)
        if self.representation == "coefficients" and not finite_rank:
            raise ValueError(
                'representation="coefficients" needs a density ratio with factors(X) and '
                f"loadings(Z), which {type(self.Phi_).__name__} does not have."
            )
        return "coefficients" if finite_rank and self.representation != "values" else "values"

    def _warn_if_asked(self, convex_set: ConvexSet) -> None:
        if self.representation == "coefficients":
            warn(
                f"an iterate left the search set {convex_set!r}; the descent was repeated on "
                "values at the nodes, which can be projected.",
                BoundReachedWarning,
            )


def _straight_line(loss: Loss) -> Any:
    """Return what fits the best affine h under a loss."""
    from sagdiv.baselines import TSLS, ControlFunctionProbit  # costs time, and is rarely needed

    return ControlFunctionProbit(loss) if is_binary(loss) else TSLS()


def _seeded(component: Any, rng: np.random.RandomState) -> Any:
    """Return a fresh copy of a component, every missing seed in it drawn from ``rng``."""
    component = clone(component, safe=False)
    if hasattr(component, "get_params"):
        params = component.get_params(deep=True)
        missing = [
            name
            for name in sorted(params)
            if (name == "random_state" or name.endswith("__random_state")) and params[name] is None
        ]
        component.set_params(**{name: rng.randint(2**31 - 1) for name in missing})
    return component


def _check_init(init: Any) -> None:
    if callable(init) and not isinstance(init, type):
        return
    check_component(init, "init", ("fit", "predict"), ("linear",))
    if not hasattr(init, "fit"):
        return
    parameters = signature(init.fit).parameters.values()
    if not any(p.name == "Z" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise TypeError(
            f"init={init!r} has a fit that takes no Z, and would start at the confounded "
            "regression; pass an estimator with fit(X, y, Z), such as sagdiv.baselines.TSLS(), or "
            "a function of X, such as the predict of one that is fitted."
        )


def _check_reach(r: Array, convex_set: ConvexSet) -> None:
    # E[h(X)] lies in the set with h. A mean of r outside by less than its own noise is no sign, and
    # by less than a tenth of a standard deviation no matter.
    mean = r.mean(keepdims=True)
    outside = float(np.abs(mean - convex_set.project(mean))[0])
    if outside > max(_OUT_OF_REACH, 3 / np.sqrt(len(r))):
        warn(
            f"y is {mean[0]:.3g} of its standard deviations from zero on average, outside of "
            f"the search set {convex_set!r}, where no h follows it; subtract its mean, or "
            "choose a larger convex_set.",
            BoundReachedWarning,
        )


def _check_converged(run: Run) -> None:
    if not (np.isfinite(run.slopes).all() and np.isfinite(run.risk).all()):
        raise ValueError(
            "the descent diverged: its iterates overflow; use a smaller step, or a convex_set "
            "that bounds them."
        )
