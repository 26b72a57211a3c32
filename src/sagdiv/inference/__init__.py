"""How sure the curve is, and whether to believe it.

`analyse` answers both for `KernelSAGDIV`; `bootstrap` gives bands to any estimator.
"""

from sagdiv.inference.analysis import Analysis, analyse
from sagdiv.inference.bootstrap import Bootstrap, bootstrap
from sagdiv.inference.intervals import Band, Interval
from sagdiv.inference.moment_tests import MomentTest
from sagdiv.inference.strength import InstrumentStrength
from sagdiv.inference.summary import Summary
from sagdiv.inference.support import Sensitivity, Support

__all__ = [
    "analyse",
    "bootstrap",
    "Analysis",
    "Band",
    "Bootstrap",
    "InstrumentStrength",
    "Interval",
    "MomentTest",
    "Sensitivity",
    "Summary",
    "Support",
]
