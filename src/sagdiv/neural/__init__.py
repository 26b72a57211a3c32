"""Everything that needs PyTorch: ``pip install "sagdiv[deep]"``."""

from sagdiv._lazy import NEEDS_TORCH, torch_is_there

if not torch_is_there():
    raise ModuleNotFoundError(f"sagdiv.neural {NEEDS_TORCH}", name="torch")

from sagdiv.neural.cross_fitting import CrossFittedFeatures
from sagdiv.neural.deep_sagdiv import DeepSAGDIV
from sagdiv.neural.density_ratio import NeuralDensityRatio
from sagdiv.neural.features import CanonicalFeatures
from sagdiv.neural.mixture import MixtureDensity
from sagdiv.neural.networks import MLP, ConvNet
from sagdiv.neural.operator import NeuralOperator
from sagdiv.neural.optim import OptimisticAdam
from sagdiv.neural.outcome import NeuralOutcome
from sagdiv.neural.training import Epoch, History, Training

__all__ = [
    "MLP",
    "CanonicalFeatures",
    "ConvNet",
    "CrossFittedFeatures",
    "DeepSAGDIV",
    "Epoch",
    "History",
    "MixtureDensity",
    "NeuralDensityRatio",
    "NeuralOperator",
    "NeuralOutcome",
    "OptimisticAdam",
    "Training",
]
