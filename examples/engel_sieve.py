"""The Engel curve by the B-spline sieve of moderndid, an independent package, at its defaults.

    pip install moderndid
    sagdiv datasets engel -o engel.csv
    python examples/engel_sieve.py engel.csv docs/tutorials/engel_sieve.csv

It was run once, and what it wrote is in the repository: moderndid is no dependency of sagdiv, and
this script does not need sagdiv. The dimension of the sieve is chosen from the data by its
bootstrap version of Lepski's method (Chen, Christensen and Kankanala, 2024).
"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
from moderndid import npiv

N_POINTS, CENTRAL = 101, 0.9


def main(table: str, output: str) -> None:
    frame = pd.read_csv(table)
    x, z = frame[["logexp"]].to_numpy(), frame[["logincome"]].to_numpy()
    ends = np.quantile(x, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    grid = np.linspace(*ends, N_POINTS)[:, None]
    found = npiv(frame["food"].to_numpy(), x, z, x_eval=grid, boot_num=999, seed=0, ucb_deriv=False)
    columns = {"logexp": grid[:, 0], "h": found.h, "lower": found.h_lower, "upper": found.h_upper}
    how = ", ".join(
        [
            f"moderndid {version('moderndid')} npiv at its defaults with 999 draws and seed 0",
            f"segments chosen: {found.j_x_segments} for x and {found.k_w_segments} for z",
            f"numpy {np.__version__}",
            f"Python {platform.python_version()}",
        ]
    )
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"# {how}\n")
        pd.DataFrame(columns).round(6).to_csv(file, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
