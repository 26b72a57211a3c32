"""Other people's estimators, one paper a file, with the same fit(X, y, Z) and predict(X).

`KernelRegression`, `KernelLogisticRegression` and `DirectNetwork` ignore the instrument: the
confounded answers, for comparison. The three that need torch are imported when they are first
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagdiv._lazy import deep_names, names_found
from sagdiv.baselines.boost_iv import BoostIV
from sagdiv.baselines.control_function_probit import ControlFunctionProbit
from sagdiv.baselines.dualiv import DualIV
from sagdiv.baselines.kernel_logistic_regression import KernelLogisticRegression
from sagdiv.baselines.kernel_regression import KernelRegression
from sagdiv.baselines.kernel_tikhonov import KernelTikhonov
from sagdiv.baselines.kiv import KIV
from sagdiv.baselines.linear_probability import LinearProbability
from sagdiv.baselines.link_tikhonov import LinkTikhonov
from sagdiv.baselines.logistic_kiv import LogisticKIV
from sagdiv.baselines.mmriv import MMRIV
from sagdiv.baselines.rkhs_minimax import RKHSMinimax
from sagdiv.baselines.sieve_iv import SieveIV
from sagdiv.baselines.tsls import TSLS

if TYPE_CHECKING:
    from sagdiv.baselines.deep_gmm import DeepGMM as DeepGMM
    from sagdiv.baselines.deep_iv import DeepIV as DeepIV
    from sagdiv.baselines.direct_network import DirectNetwork as DirectNetwork

__all__ = [
    "TSLS",
    "SieveIV",
    "KernelTikhonov",
    "KIV",
    "DualIV",
    "MMRIV",
    "RKHSMinimax",
    "BoostIV",
    "LogisticKIV",
    "LinkTikhonov",
    "LinearProbability",
    "ControlFunctionProbit",
    "KernelRegression",
    "KernelLogisticRegression",
]

_DEEP = {
    "DeepIV": "sagdiv.baselines.deep_iv",
    "DeepGMM": "sagdiv.baselines.deep_gmm",
    "DirectNetwork": "sagdiv.baselines.direct_network",
}


__getattr__ = deep_names(__name__, _DEEP)


def __dir__() -> list[str]:
    return names_found(__all__, _DEEP)
