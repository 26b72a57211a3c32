"""What every estimator of the package shares: the door, the names of columns, and the score."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sagdiv._types import Array, Data
from sagdiv.dask_rows import in_memory
from sagdiv.exceptions import NoInstrumentWarning
from sagdiv.losses import SquaredLoss
from sagdiv.protocols import Loss
from sagdiv.risk import projected_risk
from sagdiv.user_warning import warn
from sagdiv.validation import (
    check_instruments,
    check_labels,
    check_no_images,
    check_outcome,
    check_same_length,
    check_varies,
    check_weights,
    column_names,
)

__all__ = ["IVRegressor"]


class IVRegressor(RegressorMixin, BaseEstimator):
    """Base of the estimators: ``fit(X, y, Z)``, ``predict(X)``, ``score(X, y, Z)``."""

    # With metadata routing on, searches and pipelines slice and pass these by themselves.
    __metadata_request__fit: ClassVar = {"Z": True}
    __metadata_request__score: ClassVar = {"Z": True, "sample_weight": True}

    _min_rows = 9
    _instrumented: bool
    classes_: Any  # the two labels of a binary outcome
    _loss: Loss = SquaredLoss()  # what loss=None stands for; once fitted, the loss in use

    @property
    def loss_(self) -> Loss:
        """The loss in use, with whatever it learnt from the data."""
        check_is_fitted(self)
        return self._loss

    def score(
        self,
        X: Data,
        y: Data,
        Z: Data = None,
        sample_weight: Data = None,
    ) -> float:
        """Return minus the projected risk on the given rows; higher is better.

        Not R^2 of y on h(X), which rewards the confounded answer: h(X) is first projected on
        the instrument (across folds of the given rows) and only then compared with y.

        Parameters
        ----------
        X : array of shape (n, dx)
        y : array of shape (n,)
        Z : array of shape (n, dz)
            Required if the model was fitted with an instrument.
        sample_weight : array of shape (n,), default=None
            An integer weight is a repeated row.
        """
        check_is_fitted(self)
        if self._instrumented and Z is None:
            raise ValueError(
                "score needs Z: the model was fitted with an instrument, and without one only "
                "the fit of the confounded regression could be measured."
            )
        X, y, Z, sample_weight = map(in_memory, (X, y, Z, sample_weight))
        h = self.predict(X)
        y = self._check_outcome(y, reset=False)
        weights = check_weights(sample_weight, len(h))
        loss = self._loss
        if not self._instrumented:
            check_same_length(X=h, y=y)
            return -float(np.average(loss.value(y, h), weights=weights))
        Z = self._check_instruments(Z)
        check_same_length(X=h, y=y, Z=Z)
        X = self._check_predict_input(X)
        return -projected_risk(loss, X, y, h, self._all_instruments(X, Z), weights)

    def _check_fit_input(
        self, X: Data, y: Data, Z: Data, *, reset: bool = True
    ) -> tuple[Array, Array, Array]:
        """Validate the data of a fit and note widths and names of the columns.

        With ``reset=False`` they are compared with those noted before.
        """
        X, y, Z = map(in_memory, (X, y, Z))
        if y is None:
            check_outcome(y, type(self).__name__)
        check_no_images(X, type(self).__name__)
        min_rows = self._min_rows if reset else 1
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=min_rows, reset=reset)
        y = self._check_outcome(y, reset)
        if Z is None:
            self._note_missing_instruments(reset)
            Z = X
            check_same_length(X=X, y=y)
        else:
            Z = self._note_instruments(Z, reset)
            check_same_length(X=X, y=y, Z=Z)
            if reset:
                check_varies(Z, "Z", "an instrument that never moves cannot identify anything")
        if reset:
            check_varies(X, "X", "its effect cannot be learnt from data in which it never changes")
        return X, y, Z

    def _check_outcome(self, y: Data, reset: bool) -> Array:
        """Validate y; with a binary loss its two labels become 0 and 1, noted in ``classes_``."""
        loss = getattr(self, "loss", None)
        loss = type(self)._loss if loss is None else loss
        if not getattr(loss, "binary", False):
            if reset and hasattr(self, "classes_"):
                del self.classes_
            return check_outcome(y, type(self).__name__)
        y, classes = check_labels(y, loss, None if reset else self.classes_)
        self.classes_ = classes
        return y

    def _note_missing_instruments(self, reset: bool) -> None:
        if not reset and self._instrumented:
            raise ValueError("Z is missing, but the blocks before this one had instruments.")
        self._instrumented = False
        if reset:
            self.n_instruments_in_ = self.n_features_in_
            warn(
                "Z was not given: X is its own instrument, and the answer is an ordinary "
                "regression, confounded if X is.",
                NoInstrumentWarning,
            )

    def _note_instruments(self, Z: Data, reset: bool) -> Array:
        if not reset:
            if not self._instrumented:
                raise ValueError("Z was given, but the blocks before this one had none.")
            return self._check_instruments(Z)
        names, Z = column_names(Z), check_instruments(Z)
        self._instrumented = True
        self.n_instruments_in_ = Z.shape[1]
        if names is not None:
            self.instrument_names_in_ = names
        elif hasattr(self, "instrument_names_in_"):
            del self.instrument_names_in_
        return Z

    def _all_instruments(self, X: Array, Z: Array) -> Array:
        """Return everything that E[. | Z] conditions on; exogenous regressors may join Z."""
        return Z

    def _check_predict_input(self, X: Data) -> Array:
        check_is_fitted(self)
        return validate_data(self, in_memory(X), dtype=np.float64, reset=False)

    def _check_instruments(self, Z: Any, name: str = "Z") -> Array:
        """Validate instrument values given after or besides the rows of the fit."""
        Z = in_memory(Z)
        names, expected = column_names(Z), getattr(self, "instrument_names_in_", None)
        Z = check_instruments(Z, name)
        if Z.shape[1] != self.n_instruments_in_:
            raise ValueError(
                f"{name} has {Z.shape[1]} columns, but the instruments of the fit had "
                f"{self.n_instruments_in_}."
            )
        if names is not None and expected is not None and list(names) != list(expected):
            raise ValueError(
                f"the columns of {name} are {list(names)}, but the instruments of the fit were "
                f"{list(expected)}, in this order."
            )
        return Z

    def _check_extra(self, Z_extra: Data) -> Array:
        """Validate instrument values that were observed without X and y."""
        Z_extra = in_memory(Z_extra)
        if np.shape(Z_extra)[:1] == (0,):
            raise ValueError("Z_extra has no rows; leave it out.")
        return self._check_instruments(Z_extra, "Z_extra")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the score is not R^2
        return tags
