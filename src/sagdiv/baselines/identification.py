"""A word where the instrument identifies fewer functions than a basis has."""

from __future__ import annotations

import warnings

from sagdiv._types import Array
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.linear import second_stage

__all__ = ["LINE_ADVICE", "warn_if_short"]

LINE_ADVICE = "An affine h needs an instrument for every column of X."


def warn_if_short(B: Array, rank: int, advice: str) -> None:
    """Warn if the fit of the basis on the instruments has a smaller rank than the basis.

    Parameters
    ----------
    B : array of shape (n, k)
        The basis at the rows of X, with its constant.
    rank : int
        Of its fit on the instruments.
    advice : str
        What to do about it.
    """
    if rank == B.shape[1]:
        return
    independent = second_stage(B, B)[1]  # columns that repeat each other are not the fault of Z
    if rank < independent:
        warnings.warn(
            f"Z identifies {rank} of the {independent} functions of X that h is made of, the "
            f"constant included; of all h that fit, the coefficients of least norm are returned. "
            f"{advice}",
            WeakInstrumentWarning,
            stacklevel=3,
        )
