"""What the displays share: axes, and colours that colour-blind readers tell apart."""

from __future__ import annotations

from typing import Any

__all__ = ["BLACK", "BLUE", "GREY", "ORANGE", "axes"]

BLUE, ORANGE, BLACK, GREY = "#0072B2", "#D55E00", "#000000", "0.72"


def axes(ax: Any) -> Any:
    """Return the given matplotlib axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ImportError(
            'plotting needs matplotlib, which is not installed: pip install "sagdiv[plot]".'
        ) from error
    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
