"""`analyse`: one call that says how sure the curve is, and whether to believe it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_array

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.feature_maps import default_x_features
from sagdiv.features import KernelFeatures
from sagdiv.inference.clusters import cluster_codes
from sagdiv.inference.condition import condition
from sagdiv.inference.derivatives import feature_slopes
from sagdiv.inference.intervals import Band, Interval, band_from_draws, check_level
from sagdiv.inference.linearisation import Linearisation
from sagdiv.inference.moment_tests import MomentTest, exogeneity_test, specification_test
from sagdiv.inference.partialling import control_basis, products
from sagdiv.inference.strength import InstrumentStrength, instrument_strength
from sagdiv.inference.summary import Summary, summarise
from sagdiv.inference.support import Sensitivity, Support, sensitivity, support
from sagdiv.kernel_sagdiv import KernelSAGDIV
from sagdiv.losses import SquaredLoss
from sagdiv.validation import check_integer, check_outcome, check_positive

__all__ = ["Analysis", "analyse"]

_MOST_ROWS = 50_000  # for permutations, tests and quantiles, which are sharp enough by then
_BLOCK_ROWS = 8192
_FEW_VALUES = 10
_WINDOW = 0.2  # of a standard deviation, to either side


def analyse(
    model: KernelSAGDIV,
    X: Data,
    y: Data,
    Z: Data,
    *,
    cluster: Data = None,
    n_draws: int = 1000,
    random_state: Seed = 0,
) -> Analysis:
    """Fit a copy of a model and return everything that can be said about its uncertainty.

    Parameters
    ----------
    model : KernelSAGDIV
        Fitted or not: a copy is fitted on the data that follow. For other estimators there is
        `bootstrap`.
    X, y, Z : arrays of shape (n, dx), (n,) and (n, dz)
    cluster : array of shape (n,), default=None
        Labels of groups of rows within which disturbances may be correlated (a school, a
        household). None: rows are independent, of unequal variance if need be.
    n_draws : int, default=1000
        Simulated errors and null statistics. Raising it steadies the last digits.
    random_state : int, RandomState instance or None, default=0
        The same seed gives the same numbers.

    Examples
    --------
    >>> from sagdiv import KernelSAGDIV
    >>> from sagdiv.datasets import make_continuous
    >>> from sagdiv.inference import analyse
    >>> data = make_continuous("sin", 1000, random_state=0)
    >>> result = analyse(KernelSAGDIV(), data.X, data.y, data.Z)
    >>> band = result.bands()
    >>> truth = data.h_star(band.X)
    >>> bool(((band.uniform_lower < truth) & (truth < band.uniform_upper)).all())
    True
    >>> result.strength.verdict
    'strong'
    """
    if not isinstance(model, KernelSAGDIV):
        raise TypeError(
            f"analyse follows the algebra of KernelSAGDIV; for {type(model).__name__} use "
            "sagdiv.inference.bootstrap, which fits any estimator again and again."
        )
    if Z is None:
        raise ValueError("analyse needs Z: without an instrument there is nothing to diagnose.")
    check_integer(n_draws, "n_draws", at_least=100)
    return Analysis(model, X, y, Z, cluster, n_draws, random_state)


class Analysis:
    """Uncertainty and diagnostics of one fit; made by `analyse`.

    The estimate is the model's, except that no noise is shrunk away from it: its bands need an
    estimate that is linear in y. Standard errors are root mean squared errors. To the sandwich
    variance they add what stopping the descent leaves out, for a function as rough in the RKHS of
    the features of x as the data leave open (`plausible_norm`). A jump is rougher than any such
    function, and bands do not cover it; nor do they cover wiggles that the instrument cannot see.

    Attributes
    ----------
    model : KernelSAGDIV
        The fitted copy.
    X, y, Z : arrays
        The data, Z with the exogenous columns of X appended.
    linearisation : Linearisation
        The estimate as a sum over rows.

    References
    ----------
    Chen and Christensen (2018), Optimal Sup-Norm Rates and Uniform Inference on Nonlinear
    Functionals of Nonparametric IV Regression. Armstrong and Kolesar (2020), Simple and Honest
    Confidence Intervals in Nonparametric Regression. Nychka (1988), Bayesian Confidence Intervals
    for Smoothing Splines.
    """

    def __init__(
        self,
        model: KernelSAGDIV,
        X: Data,
        y: Data,
        Z: Data,
        cluster: Data,
        n_draws: int,
        random_state: Seed,
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakInstrumentWarning)  # `strength` says more
            self.model = clone(model).fit(X, y, Z)
        self.X = self.model._check_predict_input(X)
        self.y = check_outcome(y, "analyse")
        self.Z = self.model._all_instruments(self.X, self.model._check_instruments(Z))
        self._codes = cluster_codes(cluster, len(self.y))
        self._n_draws = n_draws
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self.linearisation = Linearisation(self.model, self.X, self.y, self.Z, self._codes)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters, None if rows are independent."""
        return None if self._codes is None else int(self._codes.max()) + 1

    def grid(self, column: int = 0, n_points: int = 100, coverage: float = 0.98) -> Array:
        """Return points along one column of X, the others at their medians, shape (k, dx).

        A column with few values is visited at these.

        Parameters
        ----------
        column : int, default=0
        n_points : int, default=100
        coverage : float, default=0.98
            Central share of the rows that the points span.
        """
        check_integer(n_points, "n_points", at_least=2)
        self._check_column(column)
        along = np.unique(self.X[:, column])
        if len(along) > _FEW_VALUES:
            low, high = np.quantile(self.X[:, column], [(1 - coverage) / 2, (1 + coverage) / 2])
            along = np.linspace(low, high, n_points)
        points = np.repeat(np.median(self.X, axis=0)[None], len(along), axis=0)
        points[:, column] = along
        return points

    def predict(self, X: Data) -> Array:
        """Return the estimate at the rows of X, shape (n,)."""
        return self._features(self._points(X)) @ self.linearisation.coef

    def weights(self, X: Data = None) -> Array:
        """Return w with estimate = w @ y, shape (k, n); the squared loss only."""
        if not isinstance(self.model._loss, SquaredLoss):
            raise ValueError("with this loss the estimate is not linear in y; it has no weights.")
        return self.linearisation.weights(self._features(self._points(X)))

    def bands(self, X: Data = None, *, level: float = 0.95) -> Band:
        """Return the curve with pointwise intervals and a uniform band.

        Parameters
        ----------
        X : array of shape (k, dx), default=None
            None is `grid`.
        level : float, default=0.95
        """
        points = self._points(X)
        return self._band(points, self._features(points), level)

    def derivative(
        self, X: Data = None, *, column: int = 0, step: float | None = None, level: float = 0.95
    ) -> Band:
        """Return the slope of the curve in one column of X, with intervals.

        Parameters
        ----------
        X : array of shape (k, dx), default=None
            None is `grid`.
        column : int, default=0
        step : float, default=None
            Slopes are taken between x - step and x + step; None is a fifth of a standard
            deviation. Raising it gives a steadier, blunter curve.
        level : float, default=0.95
        """
        points = self.grid(column) if X is None else self._points(X)
        window = self._window(column, step)
        return self._band(points, feature_slopes(self.model.maps_.x, points, column, window), level)

    def contrast(self, x1: Data, x0: Data, *, level: float = 0.95) -> Interval:
        """Return h(x1) - h(x0), the effect of moving X from x0 to x1, with its interval."""
        check_level(level)
        L = self._features(self._point(x1, "x1")) - self._features(self._point(x0, "x0"))
        error = self.linearisation.errors(L).standard_error
        return Interval(float((L @ self.linearisation.coef)[0]), float(error[0]), level)

    def average_derivative(
        self, *, column: int = 0, step: float | None = None, level: float = 0.95
    ) -> Interval:
        """Return the average slope over the population of X, with its interval.

        The interval accounts for the rows being a sample of that population.
        """
        check_level(level)
        n, coef = len(self.y), self.linearisation.coef
        step = self._window(column, step)
        L, slope = np.zeros((1, len(coef))), np.empty(n)
        for block in gen_batches(n, _BLOCK_ROWS):
            slopes = feature_slopes(self.model.maps_.x, self.X[block], column, step)
            L += slopes.sum(axis=0) / n
            slope[block] = slopes @ coef
        rows = self.linearisation.row_influence(L)[0] + (slope - slope.mean()) / n
        if self._codes is not None:
            rows = np.bincount(self._codes, weights=rows)
        noise = np.sqrt(rows @ rows * len(rows) / (len(rows) - 1))
        bias = np.linalg.norm(self.linearisation.errors(L).bias)
        return Interval(float(slope.mean()), float(np.hypot(noise, bias)), level)

    @cached_property
    def strength(self) -> InstrumentStrength:
        """How strongly the instrument moves X, direction by direction."""
        rows, codes = self._some_rows()
        X, Z, controls, maps = self.X[rows], self._excluded[rows], self._controls, self.model.maps_
        if controls is None:
            phi, psi = maps.x.transform(X), maps.z.transform(Z)
            return instrument_strength(phi, psi, X, Z, self._rng(1), codes=codes)
        # With controls, what counts is what the excluded instruments do to endogenous columns.
        X = np.delete(X, self.model._exogenous, axis=1)
        phi = default_x_features(X.shape[1]).fit(X).transform(X)
        psi = self._instrument_features
        return instrument_strength(phi, psi, X, Z, self._rng(1), controls=controls, codes=codes)

    @cached_property
    def specification(self) -> MomentTest:
        """Test that some h solves the model's condition: whether instrument and model agree."""
        rows, codes = self._some_rows()
        line, maps = self.linearisation, self.model.maps_
        u, curvature, phi, _ = line.residual_parts(self.X[rows], self.y[rows], self.Z[rows])
        controls = np.ones((len(rows), 1)) if self._controls is None else self._controls
        psi = self._instrument_features
        test = specification_test(
            u, curvature, phi, maps.x.n_affine_, line.coef, psi, controls, codes
        )
        return replace(test, hypothesis=condition(self.model._loss))

    @cached_property
    def exogeneity(self) -> MomentTest:
        """Test of E[Y - E[Y|X]|Z] = 0: whether an ordinary regression would have done."""
        rows, codes = self._some_rows()
        X, psi = self.X[rows], self._instrument_features
        phi = np.hstack([self._features(X), products(X)])
        return exogeneity_test(phi, psi, self.y[rows], self._n_draws, self._rng(3), codes)

    @property
    def _excluded(self) -> Array:
        # Instruments that are not regressors too, all of them if there are no others.
        exogenous = self.model._exogenous
        return self.Z[:, : -len(exogenous)] if self._has_controls else self.Z

    @property
    def _has_controls(self) -> bool:
        return 0 < len(self.model._exogenous) < self.X.shape[1]

    @cached_property
    def _controls(self) -> Array | None:
        if not self._has_controls:
            return None
        rows, exogenous = self._some_rows()[0], self.model._exogenous
        X = self.X[rows]
        others = np.hstack([np.delete(X, exogenous, axis=1), self._excluded[rows]])
        return control_basis(X[:, exogenous], others)

    @cached_property
    def _instrument_features(self) -> Array:
        Z = self._excluded[self._some_rows()[0]]
        if self._has_controls:
            return KernelFeatures().fit(Z).transform(Z)
        return np.asarray(self.model.maps_.z.transform(Z))

    def support(self, X: Data = None) -> Support:
        """Return where the curve rests on data and where on assumption."""
        points, (rows, _) = self._points(X), self._some_rows()
        phi = self._features(self.X[rows])
        return support(self.linearisation, phi, points, self._features(points))

    def sensitivity(self, X: Data = None) -> Sensitivity:
        """Return the curve at a quarter to four times the total step."""
        points = self._points(X)
        return sensitivity(self.linearisation, points, self._features(points))

    def residuals(self) -> Array:
        """Return y - h(X) (for other losses its generalisation), shape (n,)."""
        return self.linearisation.residuals()

    def summary(self, *, level: float = 0.95) -> Summary:
        """Gather everything and say whether to believe it.

        Parameters
        ----------
        level : float, default=0.95
            Of intervals and bands.
        """
        return summarise(self, level)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def _band(self, points: Array, L: Array, level: float) -> Band:
        check_level(level)
        errors = self.linearisation.errors(L)
        draws = errors.draw(self._n_draws, self._rng(0))
        estimate = L @ self.linearisation.coef
        names = getattr(self.model, "feature_names_in_", None)
        names = None if names is None else list(names)
        return band_from_draws(points, estimate, draws, level, errors.standard_error, names)

    def _features(self, X: Array) -> Array:
        return np.asarray(self.model.maps_.x.transform(X))

    def _window(self, column: int, step: float | None) -> float:
        self._check_column(column)
        if step is None:
            return _WINDOW * float(self.X[:, column].std())
        check_positive(step, "step")
        return step

    def _points(self, X: Data) -> Array:
        if X is None:
            return self.grid()
        with warnings.catch_warnings():
            # Points may be an array, as those of `grid` are, where the data had names.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return self.model._check_predict_input(X)

    def _point(self, x: Any, name: str) -> Array:
        x = check_array(np.atleast_1d(x).reshape(1, -1), dtype=np.float64, input_name=name)
        if x.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"{name} must be one point, a number for each of the {self.X.shape[1]} columns of "
                f"X, got {x.shape[1]}."
            )
        return x

    def _check_column(self, column: int) -> None:
        check_integer(column, "column", at_least=0)
        if column >= self.X.shape[1]:
            raise ValueError(f"column is {column}, but X has {self.X.shape[1]} columns.")

    def _some_rows(self) -> tuple[Rows, Rows | None]:
        n = len(self.y)
        if n <= _MOST_ROWS:
            return np.arange(n), self._codes
        rows = np.sort(self._rng(4).choice(n, _MOST_ROWS, replace=False))
        if self._codes is None:
            return rows, None
        return rows, np.unique(self._codes[rows], return_inverse=True)[1]

    def _rng(self, purpose: int) -> np.random.RandomState:
        # A stream for each purpose: an answer does not depend on what was asked before it.
        return np.random.RandomState([self._seed, purpose])
