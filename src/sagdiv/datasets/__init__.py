"""Simulated designs in which the answer, and often every nuisance, is known."""

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
    "GaussianDesign",
    "IVSample",
    "make_binary",
    "make_continuous",
    "make_gaussian",
]
