"""Recover sin(x) from confounded data, and draw it beside what an ordinary regression finds.

    python examples/simulated.py docs/figures/demo.png

draws the figure of the README.
"""

from __future__ import annotations

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.exceptions import NoInstrumentWarning


def main(output: str = "simulated.png") -> None:
    data = make_continuous("sin", 1000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoInstrumentWarning)  # the mistake is the point
        confounded = KernelSAGDIV().fit(data.X, data.y)

    grid = np.linspace(*np.quantile(data.X, [0.01, 0.99]), 300)[:, None]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharex=True, sharey=True)
    curves = {
        "sagdiv, with the instrument": model.predict(grid),
        "the truth": data.h_star(grid),
        "ordinary regression": confounded.predict(grid),
    }
    colors = ["#0072B2", "#000000", "#D55E00"]  # told apart by colour-blind readers too
    for ax, (name, curve), color in zip(axes, curves.items(), colors, strict=True):
        ax.plot(data.X[:, 0], data.y, ".", color="0.8", markersize=3, zorder=0)
        ax.plot(grid, curve, color=color, linewidth=2.5)
        ax.set_title(name)
        ax.set_xlabel("x")
    axes[0].set_ylabel("h(x)")
    axes[0].set_xlim(grid[0, 0], grid[-1, 0])
    figure.tight_layout()
    figure.savefig(output, dpi=150)

    X_new = data.sample_X(10_000, random_state=1)
    for name, fitted in {"sagdiv": model, "ordinary regression": confounded}.items():
        error = np.mean((fitted.predict(X_new) - data.h_star(X_new)) ** 2)
        print(f"{name:>20}: mean squared error against the truth {error:.3f}")
    print(f"wrote {output}")


if __name__ == "__main__":
    main(*sys.argv[1:])
