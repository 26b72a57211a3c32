"""Estimators of the density ratio Phi(x, z) = p(x, z) / (p(x) p(z))."""

from sagdiv.density_ratio.classifier import ClassifierDensityRatio
from sagdiv.density_ratio.exact import ExactDensityRatio
from sagdiv.density_ratio.kernel import KernelDensityRatio
from sagdiv.density_ratio.tensor import TensorDensityRatio

__all__ = [
    "ClassifierDensityRatio",
    "ExactDensityRatio",
    "KernelDensityRatio",
    "TensorDensityRatio",
]
