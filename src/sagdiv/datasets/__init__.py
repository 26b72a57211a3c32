"""Simulated designs in which the answer is known, and tables of real data."""

from sagdiv.datasets.digits import DigitsDesign, DigitsSample, make_digits_iv
from sagdiv.datasets.real import (
    IVTable,
    load_alcohol,
    load_birthweight,
    load_card,
    load_engel,
    load_meps,
)
from sagdiv.datasets.simulators import (
    BinaryDesign,
    ContinuousDesign,
    GaussianDesign,
    IVSample,
    make_binary,
    make_continuous,
    make_gaussian,
)

__all__ = [
    "BinaryDesign",
    "ContinuousDesign",
    "DigitsDesign",
    "DigitsSample",
    "GaussianDesign",
    "IVSample",
    "IVTable",
    "load_alcohol",
    "load_birthweight",
    "load_card",
    "load_engel",
    "load_meps",
    "make_binary",
    "make_continuous",
    "make_digits_iv",
    "make_gaussian",
]
