"""Optimistic Adam, for games in which plain gradient steps would circle the equilibrium."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn import Parameter

__all__ = ["OptimisticAdam"]


class OptimisticAdam(torch.optim.Optimizer):
    r"""Adam that extrapolates: twice the present direction minus the previous one.

    .. math:: \theta_t = \theta_{t-1} - 2 \eta\, d_t + \eta\, d_{t-1}, \qquad
              d_t = \hat m_t / (\sqrt{\hat v_t} + \epsilon), \quad d_0 = 0

    with the bias-corrected moments of Adam.

    Parameters
    ----------
    params : iterable of parameters
    lr : float, default=1e-3
        eta; raising it moves faster and, in a game, less steadily.
    betas : tuple of float, default=(0.5, 0.9)
        Decay of the first and second moments.
    eps : float, default=1e-8
    weight_decay : float, default=0.0
        L2 penalty added to the gradient.

    References
    ----------
    Daskalakis, Ilyas, Syrgkanis and Zeng (2018), Training GANs with Optimism, Algorithm 1.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.5, 0.9),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            for theta in group["params"]:
                if theta.grad is not None:
                    self._move(theta, theta.grad, group)

    def _move(self, theta: Parameter, gradient: torch.Tensor, group: dict) -> None:
        state, (beta1, beta2) = self.state[theta], group["betas"]
        if not state:
            state["t"] = 0
            for name in ("m", "v", "d"):
                state[name] = torch.zeros_like(theta)
        if group["weight_decay"]:
            gradient = gradient.add(theta, alpha=group["weight_decay"])
        state["t"] += 1
        m = state["m"].lerp_(gradient, 1 - beta1)
        v = state["v"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (v / (1 - beta2 ** state["t"])).sqrt_().add_(group["eps"])
        d = (m / (1 - beta1 ** state["t"])).div_(root)
        theta.add_(state["d"] - 2 * d, alpha=group["lr"])
        state["d"] = d
