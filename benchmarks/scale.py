"""The default estimator on many rows: time, memory, prediction, Dask and a lost worker."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

from benchmarks.common import best_time, parse, table
from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous

SIZES = (10_000, 100_000, 1_000_000)
PARTITION_ROWS = 250_000

_PEAK = """
import sys, time
import numpy as np
from sagdiv import KernelSAGDIV
from sagdiv.experiments.memory import peak_memory

X, y, Z = (np.load(f"{sys.argv[1]}/{name}.npy") for name in "XyZ")
KernelSAGDIV(n_jobs=2).fit(X[:1000], y[:1000], Z[:1000])  # libraries and thread pools
before, start = peak_memory(reset=True), time.perf_counter()
KernelSAGDIV(n_jobs=2).fit(X, y, Z)
print(time.perf_counter() - start, peak_memory() - before)
"""


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, rows=10_000_000)
    sizes, n_dask = SIZES, options.rows
    if options.quick:
        sizes, n_dask = (1000, 2000, 4000), 20_000
    _growth(sizes)
    _memory(sizes[-1])
    _predict(sizes[-1])
    _cluster(n_dask)


def _growth(sizes: Sequence[int]) -> None:
    seconds = []
    for n in sizes:
        data = make_continuous("sin", n, random_state=0)
        fit = KernelSAGDIV().fit
        seconds.append(best_time(lambda: fit(data.X, data.y, data.Z), repeats=3))  # noqa: B023
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    table(["rows", "fit, s"], zip(sizes, seconds, strict=True))
    print()
    table(["log-log slope of the fit time", "must", "aim"], [[float(slope), 1.1, 1.0]])


def _memory(n: int) -> None:
    # In a process of its own: the peak of a process never falls.
    data = make_continuous("sin", n, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        for name in "XyZ":
            np.save(f"{folder}/{name}.npy", getattr(data, name))
        command = [sys.executable, "-c", _PEAK, folder]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    seconds, mebibytes = map(float, output.split())
    print(f"\n{n} rows, n_jobs=2")
    table(
        ["what", "measured", "must", "aim"],
        [
            ["fit, s", seconds, 60, 20],
            ["peak memory beyond the data, MiB", mebibytes, 1024, 400],
        ],
    )


def _predict(n: int) -> None:
    data = make_continuous("sin", 1000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    X = data.sample_X(n, random_state=1)
    seconds = best_time(lambda: model.predict(X), repeats=5)
    print(f"\nPrediction of {n} points, one process")
    table(["predict, s", "must", "aim"], [[seconds, 2, 0.5]])


def _cluster(n: int) -> None:
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        _write_parquet(Path(folder), n)
        table_ = dd.read_parquet(folder)
        data = table_[["x"]], table_["y"], table_[["z1", "z2"]]
        start = time.perf_counter()
        whole = KernelSAGDIV().fit(*data)
        seconds = time.perf_counter() - start
        X = pd.DataFrame(make_continuous("sin", 1000, random_state=1).X, columns=["x"])
        mse = float(np.mean((whole.predict(X) - np.sin(X["x"])) ** 2))

        victim = next(iter(client.run(os.getpid).values()))
        killer = ThreadPool(1).apply_async(_kill_later, (victim, seconds / 2))
        again = KernelSAGDIV().fit(*data)
        killer.get()
        gap = float(np.abs(again.predict(X) - whole.predict(X)).max())
    print(f"\n{n} rows from Parquet, LocalCluster of two single-thread workers, 1 GiB each")
    table(
        ["what", "measured", "must", "aim"],
        [
            ["fit, s", seconds, 600, 300],
            ["MSE of h (sin)", mse, "", ""],
            ["a worker killed half-way: largest difference of predictions", gap, 1e-8, 0],
        ],
    )


def _write_parquet(folder: Path, n: int) -> None:
    import pandas as pd

    for part in range(math.ceil(n / PARTITION_ROWS)):
        data = make_continuous("sin", min(PARTITION_ROWS, n), random_state=part)
        columns = {"x": data.X[:, 0], "y": data.y, "z1": data.Z[:, 0], "z2": data.Z[:, 1]}
        pd.DataFrame(columns).to_parquet(folder / f"part-{part:04d}.parquet")


def _kill_later(pid: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(pid, 9)


if __name__ == "__main__":
    main()
