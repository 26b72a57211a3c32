"""What the benchmarks share: draws, errors, clocks, tables, and a word on the machine."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.base import clone

import sagdiv
from sagdiv.datasets import IVSample

SCENARIOS = ("step", "abs", "linear", "sin")
N_TEST = 1000


def parse(
    argv: Sequence[str] | None, description: str | None, **options: int
) -> argparse.Namespace:
    """Read ``--quick`` and the given integer options, each ``name=default``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true")
    for name, default in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    return parser.parse_args(argv)


def squared_error(model: object, data: IVSample, seed: int) -> float:
    """Mean squared error against h* on fresh X, which every method shares."""
    X = data.sample_X(N_TEST, random_state=1_000_000 + seed)
    return float(np.mean((model.predict(X) - data.h_star(X)) ** 2))


def errors(
    model: object, draw: Callable[[int], IVSample], seeds: Iterable[int]
) -> tuple[list[float], list[float]]:
    """Fit a clone on the draw of every seed; return the errors and the seconds of each fit."""
    found, seconds = [], []
    for seed in seeds:
        data = draw(seed)
        fresh = clone(model)
        if "random_state" in fresh.get_params():
            fresh.set_params(random_state=seed)
        extra = {} if data.Z_extra is None else {"Z_extra": data.Z_extra}
        start = time.perf_counter()
        fresh.fit(data.X, data.y, data.Z, **extra)
        seconds.append(time.perf_counter() - start)
        found.append(squared_error(fresh, data, seed))
    return found, seconds


def best_time(
    work: Callable[[], object],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table; floats with three significant digits."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        cells = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        print("| " + " | ".join(cells) + " |", flush=True)


def describe_machine() -> str:
    """One line for the head of a report."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":")[1].strip() if models else cpu
    threads = os.environ.get("OMP_NUM_THREADS", "default")
    return (
        f"{cpu}, {os.cpu_count()} cores, OMP_NUM_THREADS={threads}; Python "
        f"{platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, sagdiv {sagdiv.__version__}"
    )
