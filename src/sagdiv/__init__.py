"""Nonparametric instrumental variable regression by stochastic approximate gradients."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sagdiv._lazy import deep_names, names_found

if TYPE_CHECKING:
    from sagdiv.estimator import SAGDIV
    from sagdiv.feature_maps import FeatureMaps
    from sagdiv.formula import from_formula
    from sagdiv.kernel_sagdiv import KernelSAGDIV
    from sagdiv.moments import Moments
    from sagdiv.neural.deep_sagdiv import DeepSAGDIV as DeepSAGDIV
    from sagdiv.persistence import load, save
    from sagdiv.sensitivity import scale_sensitivity

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
# Imported when first asked for: scikit-learn takes a second, which `sagdiv --help` need not wait.
_HOMES = {
    "SAGDIV": "sagdiv.estimator",
    "KernelSAGDIV": "sagdiv.kernel_sagdiv",
    "FeatureMaps": "sagdiv.feature_maps",
    "Moments": "sagdiv.moments",
    "from_formula": "sagdiv.formula",
    "scale_sensitivity": "sagdiv.sensitivity",
    "load": "sagdiv.persistence",
    "save": "sagdiv.persistence",
}
# Not by a star either, which would fail without torch.
_DEEP = {"DeepSAGDIV": "sagdiv.neural.deep_sagdiv"}
_find = deep_names(__name__, _HOMES | _DEEP)


def __getattr__(name: str) -> Any:
    is_public = not name.startswith("_") and name not in _HOMES | _DEEP
    if is_public and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")  # so that `sagdiv.losses` needs no import
    return _find(name)


def __dir__() -> list[str]:
    return names_found(__all__, _DEEP)
