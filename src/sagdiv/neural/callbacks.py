"""Callbacks belong to whoever gave them: copies of an estimator share them, files have none."""

from __future__ import annotations

import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["SharesCallback"]


class SharesCallback(BaseEstimator):
    """An estimator with a parameter ``callback`` that `sklearn.base.clone` does not copy.

    A copy of a progress bar, or of a list that epochs are appended to, would be told what the
    original is waiting for. What is pickled or saved has no callback at all: it may hold anything.
    """

    callback: Any

    def __sklearn_clone__(self) -> Self:
        silent = copy.copy(self)  # which goes the way of pickle
        return super(SharesCallback, silent).__sklearn_clone__().set_params(callback=self.callback)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"callback": None}
