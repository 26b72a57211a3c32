"""Displays: numbers kept, ``plot(ax=None)``, matplotlib imported when first needed."""

from sagdiv.plotting.calibration import ProjectedCalibrationDisplay
from sagdiv.plotting.derivative import DerivativeDisplay
from sagdiv.plotting.instrument_strength import StrengthDisplay
from sagdiv.plotting.residual_moments import ResidualMomentsDisplay
from sagdiv.plotting.risk_path import RiskPathDisplay
from sagdiv.plotting.scale import ScaleSensitivityDisplay
from sagdiv.plotting.structural import StructuralDisplay

__all__ = [
    "StructuralDisplay",
    "DerivativeDisplay",
    "RiskPathDisplay",
    "StrengthDisplay",
    "ResidualMomentsDisplay",
    "ProjectedCalibrationDisplay",
    "ScaleSensitivityDisplay",
]
