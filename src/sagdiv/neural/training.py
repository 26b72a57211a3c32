"""The one training loop of the package, for single networks and for games between several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from sagdiv._types import Array
from sagdiv.neural.callbacks import SharesCallback
from sagdiv.neural.networks import tensor
from sagdiv.validation import check_integer, check_positive

__all__ = ["Epoch", "History", "Training", "reproducible", "split_rows"]

Tensors: TypeAlias = tuple[Tensor, ...]


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after an epoch.

    Attributes
    ----------
    number, n_epochs : int
        Counted from one; training may stop before ``n_epochs``.
    loss : float
        Mean training loss of the first network.
    validation : float
        The latest validation score; nan before the first, or without a validation split.
    """

    number: int
    n_epochs: int
    loss: float
    validation: float


@dataclass(frozen=True)
class History:
    """The record of a training.

    Attributes
    ----------
    loss, validation : arrays of shape (n_epochs,)
        Epoch by epoch; ``validation`` is nan where it was not measured.
    best_epoch : int
        The epoch, counted from one, whose weights were kept.
    """

    loss: Array
    validation: Array
    best_epoch: int


class Training(SharesCallback):
    """Mini-batches, Adam, and early stopping that brings back the best weights.

    Parameters
    ----------
    row_visits : int, default=150_000
        Training rows read in total, so that there are row_visits / n epochs: more data does not
        mean more work. Raising it follows the data more closely, until early stopping ends it.
    batch_size : int, default=256
        Rows of a gradient step; a larger batch has less noise and fewer steps.
    learning_rate : float, default=1e-3
        Raising it is faster, and diverges at some point.
    weight_decay : float, default=0.0
        L2 penalty; raising it smooths the function.
    optimizer : callable, default=None
        ``optimizer(parameters, lr=..., weight_decay=...)``; None is Adam.
    validation_fraction : float, default=0.2
        Share of rows kept from training to decide when to stop; 0 trains to the end.
    patience : int, default=30
        Epochs without improvement after which training stops, at the next look at the validation
        rows.
    check_every : int, default=1
        Epochs between two looks at the validation rows.
    max_gradient_norm : float, default=10.0
        Gradients longer than this are shortened to it.
    device : str, default="cpu"
        Where to train ("cuda", "mps", ...); the trained network comes back to the CPU.
    callback : callable, default=None
        Called with an `Epoch` after each epoch. Clones share it; what is pickled or saved to a
        file has none.
    """

    def __init__(
        self,
        *,
        row_visits: int = 150_000,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        optimizer: Callable[..., torch.optim.Optimizer] | None = None,
        validation_fraction: float = 0.2,
        patience: int = 30,
        check_every: int = 1,
        max_gradient_norm: float = 10.0,
        device: str = "cpu",
        callback: Callable[[Epoch], Any] | None = None,
    ) -> None:
        self.row_visits = row_visits
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.check_every = check_every
        self.max_gradient_norm = max_gradient_norm
        self.device = device
        self.callback = callback

    def minimize(
        self,
        networks: Sequence[nn.Module],
        losses: Callable[..., Tensors],
        arrays: Sequence[Array],
        seed: int,
        *,
        score: Callable[..., float] | None = None,
        rates: Sequence[float] = (1.0,),
    ) -> History:
        """Train every network on its own loss, all of them simultaneously, in place.

        Parameters
        ----------
        networks : sequence of modules
            One, or the players of a game.
        losses : callable
            ``losses(*batch)`` returns one loss for each network.
        arrays : sequence of arrays
            Each has a row for every observation; batches take the same rows of all.
        seed : int
            Draws the validation rows and the batches.
        score : callable, default=None
            ``score(*validation)``, to be minimised by early stopping; None is the first loss.
        rates : sequence of float, default=(1.0,)
            Learning rate of each network relative to ``learning_rate``.
        """
        self._check()
        device = usable_device(self.device)
        rows, held_out = split_rows(len(arrays[0]), self.validation_fraction, seed)
        tensors = [tensor(a).to(device) for a in arrays]
        training = tuple(t[rows.to(device)] for t in tensors)
        validation = tuple(t[held_out.to(device)] for t in tensors) if len(held_out) else None
        for network in networks:
            network.float().to(device)
        try:
            return self._run(networks, losses, training, validation, score, rates, seed)
        finally:
            for network in networks:
                network.cpu().double().eval()  # in this order: not every device has doubles

    def _run(
        self,
        networks: Sequence[nn.Module],
        losses: Callable[..., Tensors],
        training: Tensors,
        validation: Tensors | None,
        score: Callable[..., float] | None,
        rates: Sequence[float],
        seed: int,
    ) -> History:
        make = self.optimizer or torch.optim.Adam
        optimizers = [
            make(network.parameters(), lr=rate * self.learning_rate, weight_decay=self.weight_decay)
            for network, rate in zip(networks, rates, strict=True)
        ]
        order = torch.Generator().manual_seed(seed)
        n_epochs = max(1, round(self.row_visits / len(training[0])))
        history = np.full((2, n_epochs), np.nan)
        best, best_epoch, kept = math.inf, n_epochs, None
        latest = math.nan
        for epoch in range(1, n_epochs + 1):
            history[0, epoch - 1] = self._epoch(networks, optimizers, losses, training, order)
            if validation is not None and (epoch % self.check_every == 0 or epoch == n_epochs):
                latest = _validate(networks, losses, score, validation)
                history[1, epoch - 1] = latest
                if not math.isfinite(latest):
                    raise self._diverged("validation score", latest, epoch)
                if latest < best or kept is None:
                    best, best_epoch = latest, epoch
                    kept = [_copy_weights(network) for network in networks]
            if self.callback is not None:
                self.callback(Epoch(epoch, n_epochs, history[0, epoch - 1], latest))
            looked = not math.isnan(history[1, epoch - 1])
            if looked and epoch - best_epoch >= self.patience:
                break
        if kept is not None:
            for network, weights in zip(networks, kept, strict=True):
                network.load_state_dict(weights)
        loss, scores = history[:, :epoch]
        return History(loss, scores, best_epoch)

    def _epoch(
        self,
        networks: Sequence[nn.Module],
        optimizers: Sequence[torch.optim.Optimizer],
        losses: Callable[..., Tensors],
        training: Tensors,
        order: torch.Generator,
    ) -> float:
        for network in networks:
            network.train()
        shuffled = torch.randperm(len(training[0]), generator=order).to(training[0].device)
        # Batches as equal as possible: a tiny last one would be mostly noise.
        batches = shuffled.tensor_split(max(1, math.ceil(len(shuffled) / self.batch_size)))
        total = 0.0
        for batch in batches:
            values = losses(*(t.index_select(0, batch) for t in training))
            # All gradients are taken before anyone moves.
            for i, (network, value) in enumerate(zip(networks, values, strict=True)):
                parameters = [p for p in network.parameters() if p.requires_grad]
                gradients = torch.autograd.grad(
                    value, parameters, retain_graph=i + 1 < len(values), allow_unused=True
                )
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.grad = gradient
            for network, optimizer in zip(networks, optimizers, strict=True):
                norm = nn.utils.clip_grad_norm_(network.parameters(), self.max_gradient_norm)
                if not math.isfinite(norm):
                    raise self._diverged("gradient", float(norm))
                optimizer.step()
            total += float(values[0].detach()) * len(batch)
        return total / len(shuffled)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters: an optimizer of torch by its name, which every machine knows."""
        state = super().__getstate__()
        name = getattr(self.optimizer, "__name__", "")
        if name and getattr(torch.optim, name, None) is self.optimizer:
            state["optimizer"] = name
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        name = state["optimizer"]
        if isinstance(name, str):
            optimizer = getattr(torch.optim, name, None)
            if not (isinstance(optimizer, type) and issubclass(optimizer, torch.optim.Optimizer)):
                raise ValueError(f"torch.optim has no optimizer of the name {name!r}.")
            state = state | {"optimizer": optimizer}
        super().__setstate__(state)

    def _diverged(self, what: str, value: float, epoch: int | None = None) -> FloatingPointError:
        where = "" if epoch is None else f" in epoch {epoch}"
        return FloatingPointError(
            f"training diverged: the {what} became {value}{where}. Lower learning_rate (now "
            f"{self.learning_rate:g}) or max_gradient_norm (now {self.max_gradient_norm:g}), or "
            "look for extreme values in the data."
        )

    def _check(self) -> None:
        for name in ("row_visits", "batch_size", "patience", "check_every"):
            check_integer(getattr(self, name), name, at_least=1)
        for name in ("learning_rate", "max_gradient_norm"):
            check_positive(getattr(self, name), name)
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay must not be negative, got {self.weight_decay!r}.")
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction must lie in [0, 1), got {self.validation_fraction!r}."
            )


def split_rows(n_rows: int, validation_fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the rows for training and for validation, drawn by ``seed`` alone."""
    rows = torch.randperm(n_rows, generator=torch.Generator().manual_seed(seed))
    n_validation = min(math.ceil(validation_fraction * n_rows), n_rows - 1)
    return rows[n_validation:], rows[:n_validation]


def usable_device(name: str) -> torch.device:
    """Return the device of that name, if this machine has it."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device={name!r} cannot be used on this machine: {str(error).splitlines()[0]}"
        ) from error


@contextmanager
def reproducible(seed: int, device: str = "cpu") -> Iterator[None]:
    """Run a block (initial weights, dropout) under its own seed, and restore torch's state."""
    kind = usable_device(device).type
    devices = [] if kind == "cpu" else list(range(torch.get_device_module(kind).device_count()))
    with torch.random.fork_rng(devices, device_type=kind if devices else "cuda"):
        torch.manual_seed(seed)
        yield


def _validate(
    networks: Sequence[nn.Module],
    losses: Callable[..., Tensors],
    score: Callable[..., float] | None,
    validation: Tensors,
) -> float:
    for network in networks:
        network.eval()
    with torch.no_grad():
        return float(losses(*validation)[0] if score is None else score(*validation))


def _copy_weights(network: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in network.state_dict().items()}
