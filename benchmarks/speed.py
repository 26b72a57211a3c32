"""Speed of the paper's kernel variant, against a loop that evaluates kernels at every step.

Both do the whole job: tuning, nuisances, descent, predictions. On one thread, in seconds of
processor time: what the clock shows on an idle machine.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from scipy.linalg import lstsq
from threadpoolctl import threadpool_limits

from benchmarks.common import best_time, parse, table
from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.kernels import gaussian_kernel, median_bandwidth
from sagdiv.ridge import refine_search
from sagdiv.splitting import random_folds


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__)
    with threadpool_limits(limits=1):
        _fit_and_predict(quick=options.quick)
    _imports(repeats=2 if options.quick else 10)


def _fit_and_predict(*, quick: bool) -> None:
    n, n_extra, n_new = (60, 120, 1000) if quick else (600, 1200, 1_000_000)
    data = make_continuous("sin", n, n_extra=n_extra, random_state=0)
    X_test = data.sample_X(1000, random_state=1)

    def ours() -> np.ndarray:
        model = KernelSAGDIV.paper(random_state=0)
        return model.fit(data.X, data.y, data.Z, Z_extra=data.Z_extra).predict(X_test)

    seconds = best_time(ours, repeats=5, clock=time.process_time)
    model = KernelSAGDIV.paper(random_state=0).fit(data.X, data.y, data.Z, Z_extra=data.Z_extra)
    start = time.process_time()
    ridges = _tuned_by_refitting(model, data.X, data.Z)
    tuning_seconds = time.process_time() - start
    naive = _kernel_at_every_step(model, X_test, data.y)
    naive_seconds = time.process_time() - start
    gap = np.abs(naive - model.predict(X_test)).max()
    ridge_gap = np.abs(np.divide(ridges, (model.Phi_.ridge_, model.P_.ridge_)) - 1).max()

    X_many = data.sample_X(n_new, random_state=2)
    rate = n_new / best_time(lambda: model.predict(X_many), 2, time.process_time)
    rows = [
        ["fit with all cross-validation + 1000 predictions, s", seconds, "< 0.5"],
        ["the same job, kernels anew at every step, s", naive_seconds, ""],
        ["of it tuning, s", tuning_seconds, ""],
        ["ratio", naive_seconds / seconds, ">= 100"],
        ["largest difference between predictions", float(gap), ""],
        ["and between ridge parameters, relative", float(ridge_gap), ""],
        ["predictions per second", rate, ">= 5e5"],
    ]
    print(f"One thread, {n} triplets + {n_extra} instrument values")
    table(["what", "measured", "bar"], rows)


def _tuned_by_refitting(model, X: np.ndarray, Z: np.ndarray) -> tuple[float, float]:
    """Return the ridges of Phi^ and P^, tuned the way the formulas are written.

    A fit of its own for every candidate (and every fold), with kernels evaluated for it.
    """
    Phi, P, n = model.Phi_, model.P_, len(X)
    rng = np.random.RandomState(Phi.random_state)
    rng.permutation(n)  # the centres were drawn first
    folds = random_folds(n, Phi.n_folds, rng)
    R = gaussian_kernel(Phi.x_centers_, Phi.x_centers_, Phi.x_bandwidth_)
    R *= gaussian_kernel(Phi.z_centers_, Phi.z_centers_, Phi.z_bandwidth_)

    def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kx = gaussian_kernel(X[rows], Phi.x_centers_, Phi.x_bandwidth_)
        kz = gaussian_kernel(Z[rows], Phi.z_centers_, Phi.z_bandwidth_)
        return (kx.T @ kx) * (kz.T @ kz) / len(kx) ** 2, (kx * kz).mean(axis=0)

    def held_out_error(log_ridge: float) -> float:
        total = 0.0
        for fold in range(Phi.n_folds):
            (H, h), (H_test, h_test) = moments(folds != fold), moments(folds == fold)
            theta = lstsq(H + 10.0**log_ridge * R, h, cond=1e-12)[0]
            total += theta @ H_test @ theta / 2 - h_test @ theta
        return total / Phi.n_folds

    def leave_one_out_error(log_ridge: float) -> float:
        K = gaussian_kernel(Z, Z, P.z_bandwidth_)
        left = np.eye(n) - K @ np.linalg.inv(K + n * 10.0**log_ridge * np.eye(n))
        Kx = gaussian_kernel(X, X, P.bandwidth * median_bandwidth(X))
        return float(np.mean(np.einsum("ij,ij->i", left @ Kx, left) / np.diag(left) ** 2))

    decades = np.arange(-9.0, 2.0)
    scores = held_out_error, leave_one_out_error
    best_Phi, best_P = (refine_search(s, decades, offset=0.2, n_rounds=2).best for s in scores)
    return 10.0**best_Phi, 10.0**best_P


def _kernel_at_every_step(model, X_test: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Run Algorithm 1 the way it is written, with the tuned nuisances of ``model``.

    Phi^(., z_m) and P^[.](z_m) are computed from the kernels when step m needs them, on the
    training and the test points, as a direct transcription would; the regularised Gram matrix
    of the operator is solved anew for each z_m.
    """
    Phi, P, path = model.Phi_, model.P_, model.path_
    nodes, scale = P.nodes_, model.y_scale_
    points = np.vstack([nodes, X_test])
    h = np.zeros(len(points))
    mean, count = np.zeros(len(points)), 0
    for m, z in enumerate(path.instruments):
        z = z[None]
        K = gaussian_kernel(P._Z, P._Z, P.z_bandwidth_)
        k = gaussian_kernel(P._Z, z, P.z_bandwidth_)[:, 0]
        w = np.linalg.solve(K + len(nodes) * P.ridge_ * np.eye(len(nodes)), k)
        slope = w @ h[: len(nodes)] - w @ y / scale
        kx = gaussian_kernel(points, Phi.x_centers_, Phi.x_bandwidth_)
        kz = gaussian_kernel(Phi.z_centers_, z, Phi.z_bandwidth_)
        h = (h - path.step_sizes[m] * slope * ((kx * Phi.theta_) @ kz)[:, 0]).clip(-10, 10)
        if m >= path.warm_up:
            count += 1
            mean += (h - mean) / count
    return scale * mean[len(nodes) :]


def _imports(repeats: int) -> None:
    def seconds(statement: str) -> float:
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(repeats)]
        return min(float(run.stdout) for run in runs)

    theirs = seconds("import sklearn.linear_model")
    print()
    rows = [["import sklearn.linear_model", theirs, "", ""]]
    for statement in ("import sagdiv", "from sagdiv import KernelSAGDIV"):
        ours = seconds(statement)
        rows.append([statement, ours, ours / theirs, "< 1.5"])
    table(["what", "s", "over scikit-learn's", "bar"], rows)


if __name__ == "__main__":
    main()
