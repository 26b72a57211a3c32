"""How rough h may be: the size of the random functions by which smoothing bias is simulated."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array
from sagdiv.flow import Flow

__all__ = ["plausible_norm"]

# The estimate understates the norm of h by about a quarter; nobody can tell from the data that
# the norm is below ten standard deviations of the noise, unless the scores say so. Chosen on
# simulated draws that no reported figure uses.
_FACTOR = 1.25
_UNTOLD = 10.0
_LIKELIHOOD_DROP = 0.5  # one standard error of the likelihood
_GRID = np.logspace(-3, 3, 200)


def plausible_norm(
    flow: Flow, t: float, dispersion: float, noise: float, n_functions: int
) -> float:
    r"""Return an RKHS norm of h beyond its affine part that the data do not rule out.

    The larger of 1.25 times the norm of the estimate and of what the scores c_j leave open: if h
    has independent coefficients of variance tau^2, these are

    .. math:: c_j \sim N( 0, e_j^2 \tau^2 + \mathrm{var}\, c_j ),

    and the largest tau within half a unit of the maximum of the likelihood is plausible. Where an
    instrument says little or nothing every tau is, and ten standard deviations of the noise
    are taken.

    Parameters
    ----------
    flow : Flow
    t : float
        Total step.
    dispersion : float
        What the variances of scores are multiplied by.
    noise : float
        Standard deviation of the disturbance, in the units of h.
    n_functions : int
        Number of directions over which the norm is spread.
    """
    root = np.sqrt(max(n_functions, 1))
    estimate = np.linalg.norm(-np.expm1(-flow.values * t) * flow.scores / flow.values)
    tau = _GRID * _UNTOLD * noise / root
    variances = np.outer(tau**2, flow.values**2) + max(dispersion, 1e-300) * flow.score_variances
    likelihood: Array = -0.5 * (np.log(variances) + flow.scores**2 / variances).sum(axis=1)
    left_open = tau[likelihood >= likelihood.max() - _LIKELIHOOD_DROP].max() * root
    return float(max(_FACTOR * estimate, min(left_open, _UNTOLD * noise)))
