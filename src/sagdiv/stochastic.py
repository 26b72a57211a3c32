"""The genuinely stochastic descent on feature maps: a few rows at a time."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array
from sagdiv.feature_maps import FeatureMaps
from sagdiv.flow import Flow, FlowPath
from sagdiv.rows import RowBlocks

__all__ = ["stochastic_flow"]

_SHARE_OF_STEEPEST = 0.5


def stochastic_flow(
    flow: Flow,
    rows: RowBlocks,
    maps: FeatureMaps,
    B: Array,
    path: FlowPath,
    batch_size: int,
    seed: int,
) -> Array:
    """Return the coefficients after stochastic steps of total length ``path.total_step``.

    By the tower rule a row (x, z, y) is by itself an unbiased gradient of the projected squared
    risk, with no estimate of E[Y|Z] and none of E[h(X)|Z]: in the directions of the flow,
    directions' B' psi(z) (h(x) - y). The constant step is half of what the steepest direction
    allows, and the second half of the iterates is averaged. In expectation this is the same
    descent with full gradients. Each step costs as much as a block of ``batch_size`` rows.

    Parameters
    ----------
    flow : Flow
    rows : RowBlocks
    maps : FeatureMaps
    B : array of shape (bz, bx)
        The operator in coefficients.
    path : FlowPath
        Where the exact flow stops, and what it keeps of each direction.
    batch_size : int
    seed : int
    """
    if not flow.values.size:  # with a binary x nothing is left to learn after the start
        return flow.start
    rng = np.random.RandomState(seed)
    outward = B @ flow.directions  # psi(z)' outward: the gradient direction of one row
    n_steps = int(np.ceil(path.total_step * flow.values[0] / _SHARE_OF_STEEPEST))
    step = path.total_step / n_steps
    cumulated = np.cumsum(rows.weights) / rows.weights.sum()
    beta, mean = np.zeros(len(flow.values)), np.zeros(len(flow.values))
    for m in range(n_steps):
        batch = np.searchsorted(cumulated, rng.uniform(size=batch_size))
        phi, psi = maps.x.transform(rows.X[batch]), maps.z.transform(rows.Z[batch])
        residual = phi @ (flow.start + flow.directions @ beta) - rows.y[batch]
        beta = beta - step * (psi @ outward).T @ residual / batch_size
        if 2 * m >= n_steps:
            mean += (beta - mean) / (m + 1 - (n_steps + 1) // 2)
    return flow.start + flow.directions @ (path.kept * mean)
