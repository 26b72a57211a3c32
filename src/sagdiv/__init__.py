"""Nonparametric instrumental variable regression by stochastic approximate gradients."""

from typing import TYPE_CHECKING

from sagdiv._lazy import deep_names, names_found
from sagdiv.estimator import SAGDIV
from sagdiv.feature_maps import FeatureMaps
from sagdiv.formula import from_formula
from sagdiv.kernel_sagdiv import KernelSAGDIV
from sagdiv.moments import Moments
from sagdiv.persistence import load, save
from sagdiv.sensitivity import scale_sensitivity

if TYPE_CHECKING:
    from sagdiv.neural.deep_sagdiv import DeepSAGDIV as DeepSAGDIV

__version__ = "0.1.0.dev0"

__all__ = [
    "SAGDIV",
    "KernelSAGDIV",
    "FeatureMaps",
    "Moments",
    "from_formula",
    "scale_sensitivity",
    "load",
    "save",
]
# Imported when first asked for, and not by a star, which would fail without torch.
_DEEP = {"DeepSAGDIV": "sagdiv.neural.deep_sagdiv"}
__getattr__ = deep_names(__name__, _DEEP)


def __dir__() -> list[str]:
    return names_found(__all__, _DEEP)
