"""Nonparametric instrumental variable regression by stochastic approximate gradients."""

from sagdiv.estimator import SAGDIV
from sagdiv.kernel_sagdiv import KernelSAGDIV

__version__ = "0.1.0.dev0"

__all__ = ["SAGDIV", "KernelSAGDIV"]
