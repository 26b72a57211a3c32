"""What fitted models of a binary outcome offer besides h."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if

from sagdiv._types import Array, Data
from sagdiv.protocols import BinaryLoss, claims

__all__ = ["ProjectedProbability", "is_binary", "paper_start"]


def is_binary(loss: Any) -> bool:
    """Return whether a ``loss=`` argument is that of a 0/1 outcome; None is the squared loss."""
    return claims(loss, "binary")


def paper_start(loss: Any) -> str | None:
    """Return the ``init`` of the paper's variants: zero, for a known disturbance a straight line.

    From zero the flat tails of F take more than M steps.
    """
    return "linear" if is_binary(loss) and isinstance(loss, BinaryLoss) else None


def _has_binary_loss(estimator: Any) -> bool:
    if is_binary(estimator.loss):
        return True
    raise AttributeError(
        f"predict_projected_proba needs the loss of a binary outcome, for example "
        f"LogisticLoss(), not loss={estimator.loss!r}."
    )


class ProjectedProbability:
    """Adds `predict_projected_proba` to an estimator with ``loss`` and `predict_projected`."""

    @available_if(_has_binary_loss)
    def predict_projected_proba(self: Any, Z: Data, X: Data = None) -> Array:
        """Return F(P^[h](z)), the estimate of P(Y = 1|Z = z), at the rows of Z, shape (n,).

        The probability of ``classes_[1]`` given the instrument, which can be compared with data;
        not the effect of X, for which E[h(X)|Z] would have to be h(X).

        Parameters
        ----------
        Z : array of shape (n, dz)
        X : array of shape (n, dx), default=None
            Needed for its exogenous columns, if there are any.
        """
        return self.loss_.mean(self.predict_projected(Z, X))
