"""Network factories, and the wrapper that makes a trained network a plain picklable value.

A factory is any callable ``factory(shape, n_outputs)`` that returns a `torch.nn.Module`, where
``shape`` is ``(d,)`` for tables and ``(height, width[, channels])`` for images. Modules are always
handed rows: images arrive flattened, as everywhere in the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.utils import gen_batches
from torch import Tensor, nn

from sagdiv._types import Array
from sagdiv.kernels import column_scales

__all__ = ["MLP", "ConvNet", "Factory", "Network", "Shape", "default_network", "tensor"]

Shape: TypeAlias = tuple[int, ...]
Factory: TypeAlias = Callable[[Shape, int], nn.Module]

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}
_GRID = 4  # rows and columns of what the dense layers see of an image
_BLOCK_ELEMENTS = 4_000_000  # numbers handed to a network at once: 16 MB


@dataclass(frozen=True)
class MLP:
    """Factory of dense networks.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 32)
        Widths of the hidden layers.
    activation : {"relu", "leaky_relu", "sigmoid", "silu", "tanh"}, default="silu"
    dropout : float, default=0.0
        Share of hidden units left out at each training step; raising it smooths the function.
    """

    hidden: tuple[int, ...] = (64, 32)
    activation: str = "silu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.activation not in _ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(map(repr, _ACTIVATIONS))}, "
                f"got {self.activation!r}."
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout!r}.")

    def __call__(self, shape: Shape, n_outputs: int) -> nn.Module:
        """Return a fresh network on rows of ``prod(shape)`` numbers."""
        layers: list[nn.Module] = []
        width = prod(shape)
        for units in self.hidden:
            layers += [nn.Linear(width, units), _ACTIVATIONS[self.activation]()]
            if self.dropout:
                layers.append(nn.Dropout(self.dropout))
            width = units
        return nn.Sequential(*layers, nn.Linear(width, n_outputs))


@dataclass(frozen=True)
class ConvNet:
    """Factory of small convolutional networks for images of any size from 4 x 4 upwards.

    Parameters
    ----------
    channels : tuple of int, default=(16, 32)
        Filters of each 3 x 3 convolution; each is followed by a 2 x 2 maximum, unless the image is
        down to 4 x 4.
    hidden : tuple of int, default=(64,)
        Widths of the dense layers behind them.
    dropout : float, default=0.5
        Share of what the convolutions found that is left out at each training step; raising it
        keeps the network from learning images by heart.
    """

    channels: tuple[int, ...] = (16, 32)
    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.5

    def __call__(self, shape: Shape, n_outputs: int) -> nn.Module:
        """Return a fresh network on flattened images of the given shape."""
        if len(shape) not in (2, 3) or min(shape[:2]) < 4:
            raise ValueError(
                "ConvNet needs images of shape (height, width[, channels]), at least 4 x 4, "
                f"got rows of shape {shape}; use MLP for tables."
            )
        height, width, n_channels = (*shape, 1)[:3]
        layers: list[nn.Module] = [_ToImage(height, width, n_channels)]
        for filters in self.channels:
            layers += [nn.Conv2d(n_channels, filters, 3, padding=1), nn.ReLU()]
            n_channels = filters
            if min(height, width) > _GRID:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
                height, width = -(-height // 2), -(-width // 2)
        # Large images are averaged down, so that the dense layers do not grow with them.
        grid = min(height, _GRID), min(width, _GRID)
        layers += [nn.AdaptiveAvgPool2d(grid), nn.Flatten(), nn.Dropout(self.dropout)]
        dense = MLP(self.hidden)
        return nn.Sequential(*layers, dense((n_channels * prod(grid),), n_outputs))


def default_network(shape: Shape, n_outputs: int) -> nn.Module:
    """Return `ConvNet` for images and `MLP` for tables."""
    factory: Factory = MLP() if len(shape) == 1 else ConvNet()
    return factory(shape, n_outputs)


class Network:
    """A module and its factory; it pickles as the factory and plain arrays.

    Trained in single precision, it answers in double, so that an answer does not depend on the
    rows it was asked for together with. Its module sees standardised rows: each column of a table
    by itself, all pixels of an image alike.

    The constructor tries the module on two rows, and refuses one that breaks the contract.

    Parameters
    ----------
    factory : callable
    shape : tuple of int
        Shape of one row before it was flattened.
    n_outputs : int
    rows : array of shape (n, prod(shape))
        Training rows, from which location and spread are taken.
    """

    def __init__(self, factory: Factory, shape: Shape, n_outputs: int, rows: Array) -> None:
        if isinstance(factory, nn.Module) or not callable(factory):
            raise TypeError(
                "network must be a function (shape, n_outputs) that returns a fresh "
                f"torch.nn.Module, such as MLP(), not {_kind(factory)}: every fit starts anew."
            )
        self.factory, self.shape, self.n_outputs = factory, shape, n_outputs
        self.module = factory(shape, n_outputs)
        columns = rows if len(shape) == 1 else rows.reshape(-1, 1)
        self.location, self.scale = columns.mean(axis=0), column_scales(columns)
        _check_module(self.module, self.standardized(rows[:2]), n_outputs)

    def standardized(self, rows: Array) -> Array:
        """Return rows in the units of the module; in double precision, as offsets may be large."""
        return (rows - self.location) / self.scale

    def __call__(self, rows: Array) -> Array:
        """Return the outputs of the trained network at the given rows, shape (n, n_outputs)."""
        outputs = np.empty((len(rows), self.n_outputs))
        with torch.no_grad():
            for block in gen_batches(len(rows), max(1, _BLOCK_ELEMENTS // rows.shape[1])):
                inputs = tensor(self.standardized(rows[block]), torch.float64)
                outputs[block] = self.module(inputs).numpy()
        return outputs

    def __getstate__(self) -> dict[str, Any]:
        """Return the factory and the weights as arrays: no torch object, no device."""
        weights = {name: t.float().numpy() for name, t in self.module.state_dict().items()}
        return {
            "factory": self.factory,
            "shape": self.shape,
            "n_outputs": self.n_outputs,
            "location": self.location,
            "scale": self.scale,
            "weights": weights,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the module on the CPU, with factories of this library only.

        This is the way of a file that promised to run nothing it brings along, and a factory is a
        function that is called.
        """
        factory = state["factory"]
        if type(factory) not in (MLP, ConvNet) and factory is not default_network:
            raise ValueError(f"{_kind(factory)} is not a network of this library.")
        self._rebuild(state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Tell pickle, which trusts what it reads, how to bring back networks of one's own too."""
        return _rebuilt, (self.__getstate__(),)

    def _rebuild(self, state: dict[str, Any]) -> None:
        self.factory, self.n_outputs = state["factory"], state["n_outputs"]
        self.shape = tuple(state["shape"])
        self.location, self.scale = state["location"], state["scale"]
        with torch.random.fork_rng(devices=[]):  # the weights drawn here are overwritten
            self.module = self.factory(self.shape, self.n_outputs)
        weights = {name: torch.as_tensor(a) for name, a in state["weights"].items()}
        self.module.load_state_dict(weights)
        self.module.double().eval()


def _rebuilt(state: dict[str, Any]) -> Network:
    network = Network.__new__(Network)
    network._rebuild(state)
    return network


def _kind(thing: Any) -> str:
    name = getattr(thing, "__qualname__", None)
    return f"an instance of {type(thing).__name__}" if name is None else name


def _check_module(module: Any, rows: Array, n_outputs: int) -> None:
    """Check that a module maps rows to ``(n_rows, n_outputs)`` in single and double precision."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"network must return a torch.nn.Module, got {_kind(module)}.")
    module.eval()
    for dtype, words in ((torch.float32, "single"), (torch.float64, "double")):
        try:
            with torch.no_grad():
                outputs = module.to(dtype)(tensor(rows, dtype))
        except RuntimeError as error:
            raise ValueError(
                f"network fails on {len(rows)} rows of {rows.shape[1]} numbers in {words} "
                f"precision, in which it is {'trained' if words == 'single' else 'evaluated'}: "
                f"{str(error).splitlines()[0]}. Make tensors in forward with the dtype and the "
                "device of its input."
            ) from error
        shape = tuple(getattr(outputs, "shape", ()))
        if shape != (len(rows), n_outputs):
            raise ValueError(
                f"network returns a module with outputs of shape {shape} for {len(rows)} rows; "
                f"they must have shape (n_rows, n_outputs), here {(len(rows), n_outputs)}."
            )
    module.float()


def tensor(array: Array, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a copy of an array as a tensor: single precision for training, double for answers."""
    return torch.tensor(array, dtype=dtype)


class _ToImage(nn.Module):
    def __init__(self, height: int, width: int, n_channels: int) -> None:
        super().__init__()
        self.shape = (height, width, n_channels)

    def forward(self, rows: Tensor) -> Tensor:
        return rows.reshape(-1, *self.shape).permute(0, 3, 1, 2)
