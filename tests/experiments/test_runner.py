"""Runs can be repeated, divided, resumed and killed; methods may fail in any way."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.conftest import HEAD, METHODS, misbehaving

from sagdiv.experiments import Store, of_mixed_code, plan, run, runner, share_out, summarise
from sagdiv.experiments.lanes import JobLostError, Lane

N_KILLS = 10


def outcomes(rows):
    return sorted((row.outcome for row in rows), key=repr)


def do(design, store, **settings):
    run(plan(design, store).jobs, store, **settings)
    return store.rows()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_seed_gives_the_same_rows(open_design, n_jobs):
    design, store = open_design()
    rows = do(design, store)
    again = do(design, Store(store.path.with_name("again.jsonl")), n_jobs=n_jobs)
    assert len(rows) == 12
    assert all(row.error is None for row in rows)
    assert outcomes(rows) == outcomes(again)


def test_a_row_says_how_it_was_made(open_design):
    design, store = open_design()
    row = do(design, store)[0]
    assert row.key == (next(design.cells()), "default")
    assert 0 < row.mse < 1
    assert row.fit_seconds > 0
    assert row.predict_seconds >= 0
    assert row.peak_mib >= 0
    assert set(row.versions) >= {"python", "numpy", "sagdiv"}
    assert row.revision
    assert row.tuning["total_step_"] > 0
    assert len(row.curve) == 61


def test_curves_are_kept_of_the_first_draw_only(open_design):
    design, store = open_design()
    for row in do(design, store):
        assert (row.curve is None) == (row.repetition > 0)


def test_the_error_is_that_of_the_method_on_the_data_of_the_cell(open_design):
    design, store = open_design(misbehaving("Mean"))
    for row in do(design, store):
        cell, _ = row.key
        method = design.method("Mean")
        data = design.sample(cell, share_out(cell.samples, method.budget))
        X = design.test_X(cell, data)
        assert row.mse == np.mean((data.y.mean() - data.h_star(X)) ** 2)
        assert row.tuning["seed_"] == design.method_seed(cell, method)


def test_a_resumed_run_does_only_what_is_missing(open_design):
    design, store = open_design()
    jobs = plan(design, store).jobs
    run(jobs[:5], store)
    first = store.path.read_bytes()
    todo = plan(design, store)
    assert todo.n_kept == 5
    assert todo.jobs == jobs[5:]
    run(todo.jobs, store)
    assert store.path.read_bytes().startswith(first)
    assert plan(design, store).jobs == ()
    assert len(store.rows()) == len(jobs)


def test_single_methods(open_design):
    design, store = open_design()
    todo = plan(design, store, methods=["2SLS"])
    assert {job.method.name for job in todo.jobs} == {"2SLS"}
    assert len(todo.jobs) == 4


def test_a_changed_design_is_noticed(open_design):
    design, store = open_design()
    do(design, store)
    changed, _ = open_design(METHODS.replace("TSLS", 'TSLS"\nparams.basis = "spline'))
    todo = plan(changed, store)
    assert {job.method.name for job in todo.jobs} == {"2SLS"}
    assert (todo.n_kept, todo.n_other_settings) == (8, 4)
    run(todo.jobs, store)
    # Both sets of rows are in the file; each design sees its own.
    assert len(store.rows()) == 16
    means = [
        [s.mean for s in summarise(d, store.rows()) if s.method == "2SLS"]
        for d in (design, changed)
    ]
    assert not np.isclose(*means).any()
    assert plan(changed, store).jobs == plan(design, store).jobs == ()


def test_changed_code_is_noticed(open_design, monkeypatch):
    design, store = open_design(misbehaving("Mean"))
    do(design, store)
    assert plan(design, store).n_other_revisions == 0
    monkeypatch.setattr(runner, "revision", lambda design, method: "another")
    todo = plan(design, store)
    assert todo.jobs == ()
    assert todo.n_other_revisions == 4
    todo = plan(design, store, renew=True)
    assert len(todo.jobs) == 4
    assert not of_mixed_code(design, store.rows())
    run(todo.jobs[:2], store)
    assert of_mixed_code(design, store.rows())
    run(todo.jobs[2:], store)
    assert not of_mixed_code(design, store.rows())
    assert plan(design, store).n_other_revisions == 0
    (step, sin) = summarise(design, store.rows())
    assert (step.n, sin.n) == (2, 2)  # renewed, not doubled


# What ran out of three seconds is missing once there are six, and not where there are two.
def test_more_time_is_another_chance(open_design):
    head = HEAD.replace('"step", ', "").replace("repetitions = 2", "repetitions = 1")

    def with_limit(seconds):
        return open_design(
            misbehaving("Sleeps", "Mean"),
            head=head.replace("time_limit = 60", f"time_limit = {seconds}"),
        )

    design, store = with_limit(3)
    do(design, store)
    assert {row.method: row.time_limit for row in store.rows()} == {"Sleeps": 3, "Mean": None}
    assert plan(design, store).jobs == plan(with_limit(2)[0], store).jobs == ()
    longer = with_limit(6)[0]
    todo = plan(longer, store)
    assert [job.method.name for job in todo.jobs] == ["Sleeps"]
    assert [s.method for s in summarise(longer, store.rows())] == ["Mean"]


def test_fewer_repetitions_are_no_other_settings(open_design):
    design, store = open_design(misbehaving("Mean"))
    do(design, store)
    fewer, _ = open_design(
        misbehaving("Mean"), head=HEAD.replace("repetitions = 2", "repetitions = 1")
    )
    todo = plan(fewer, store)
    assert (todo.jobs, todo.n_kept, todo.n_other_settings, todo.n_outside) == ((), 2, 0, 2)


def test_whatever_a_method_does_the_rest_goes_on(open_design):
    methods = misbehaving(
        *("Raises", "PredictsNaN", "PredictsHuge", "PredictsAColumn", "Sleeps", "Crashes"),
        *("Exits", "CurveIsNaN", "CurveRaises", "Prints", "Slots", "Mean"),
    )
    head = HEAD.replace("time_limit = 60", "time_limit = 3").replace('"step", ', "")
    head = head.replace("repetitions = 2", "repetitions = 1")
    design, store = open_design(methods, head=head)
    rows = {row.method: row for row in do(design, store)}
    assert list(rows) == [method.name for method in design.methods]
    reasons = {name: row.error for name, row in rows.items()}
    assert reasons == {
        "Raises": "RuntimeError: out of patience",
        "PredictsNaN": "ValueError: 1 predictions are not finite",
        "PredictsHuge": "ValueError: predictions as large as 1e+200 have no finite squared error",
        "PredictsAColumn": "ValueError: predict returned the shape (50, 1), not (50,)",
        "Sleeps": "time limit: killed after 3 s",
        "Crashes": "its process died: SIGSEGV",
        "Exits": "its process died: exit code 3",
        "CurveIsNaN": None,
        "CurveRaises": None,
        "Prints": None,
        "Slots": None,
        "Mean": None,
    }
    for name, row in rows.items():
        assert (row.mse is None) == (reasons[name] is not None)
        assert (row.curve is None) == (name not in ("Prints", "Slots", "Mean"))
    # Its constructor takes a random_state, though it has no get_params.
    method = design.method("Slots")
    assert rows["Slots"].tuning == {"seed_": design.method_seed(next(design.cells()), method)}


# Progress is shown on stderr: what methods print has to come by there, whole lines at a time.
def test_what_methods_print_is_passed_on(open_design, capsys):
    design, store = open_design(misbehaving("Prints"))
    do(design, store)
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("a line that must not be taken for an answer") == 4
    assert lines.count("nor this one") == 4


def test_failures_are_run_again_when_asked(open_design):
    design, store = open_design(misbehaving("Raises", "Mean"))
    do(design, store)
    assert plan(design, store).jobs == ()
    assert {j.method.name for j in plan(design, store, retry_failed=True).jobs} == {"Raises"}


def test_a_lane_that_was_killed_takes_no_more_calls():
    lane = Lane()
    assert lane.call(abs, -3, limit=60) == 3
    with pytest.raises(JobLostError, match=r"killed after 0\.2 s"):
        lane.call(time.sleep, 60, limit=0.2)
    assert not lane.alive
    with pytest.raises(JobLostError, match="died"):
        lane.call(abs, -3, limit=60)


def is_running(pid):
    try:
        os.kill(int(pid), 0)
        state = Path(f"/proc/{int(pid)}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


# A child holds the pipe on which answers come: it must neither block the run nor outlive its fit.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_a_method_has_started_goes_with_it(open_design, tmp_path, monkeypatch):
    children = tmp_path / "children"
    monkeypatch.setenv("CHILDREN", str(children))
    head = HEAD.replace("time_limit = 60", "time_limit = 3").replace('"step", ', "")
    head = head.replace("repetitions = 2", "repetitions = 1")
    design, store = open_design(misbehaving("Forks", "ForksAndCrashes", "Mean"), head=head)
    start = time.monotonic()
    reasons = {row.method: row.error for row in do(design, store)}
    assert reasons == {
        "Forks": "time limit: killed after 3 s",
        "ForksAndCrashes": "its process died: SIGSEGV",
        "Mean": None,
    }
    assert time.monotonic() - start < 120  # and not the ten minutes for which the children sleep
    pids = children.read_text().split()
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_running, pids)))


# A guard that is killed cannot end its lane: the lane has to notice, in the middle of a fit.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_lane_does_not_outlive_its_guard(tmp_path):
    children = tmp_path / "children"
    script = (
        "from sagdiv.experiments.lanes import Lane; from experiments import misbehaving; "
        "lane = Lane(); print(lane._process.pid, flush=True); "
        "lane.call(misbehaving.sleep_with_child, limit=600)"
    )
    paths = os.pathsep.join(filter(None, sys.path))
    guard = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "CHILDREN": str(children)},
    )
    lane = guard.stdout.readline()
    wait_until(lambda: children.exists() and children.read_text().endswith("\n"))
    assert is_running(lane)
    guard.kill()
    guard.communicate()
    wait_until(lambda: not is_running(lane) and not is_running(children.read_text()))


def test_a_cluster_of_dask(open_design):
    distributed = pytest.importorskip("distributed")
    joblib = pytest.importorskip("joblib")
    design, store = open_design(misbehaving("Mean"))
    with (
        distributed.Client(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
        ),
        joblib.parallel_config("dask"),
    ):
        rows = do(design, store, n_jobs=2)
    alone = do(design, Store(store.path.with_name("alone.jsonl")))
    assert outcomes(rows) == outcomes(alone)


@pytest.mark.slow
# Killed at ten random moments and resumed: no row lost or doubled, the table is the same. A gate
# lets a few rows pass between two kills, so that there are ten however fast the machine is.
def test_killed_and_resumed(write, tmp_path, open_design):
    head = HEAD.replace("repetitions = 2", "repetitions = 10")
    design, uninterrupted = open_design(METHODS + misbehaving("Gated"), head=head)
    do(design, uninterrupted)
    store, gate = Store(tmp_path / "killed.jsonl"), tmp_path / "gate"
    gate.mkdir()
    command = [
        *(sys.executable, "-c", "from sagdiv.cli import app; app()", "bench", "run"),
        *(write(METHODS + misbehaving("Gated"), head=head), "--resume", "--results", store.path),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    rng, most = np.random.RandomState(0), 0
    for _ in range(N_KILLS):
        before = len(store.rows())
        (gate / "token").touch()
        process = subprocess.Popen(
            list(map(str, command)), env=environment | {"GATE": str(gate)}, **quiet
        )
        # Once rows come in, at some moment on the way to the next few.
        wait_until(lambda: len(store.rows()) > before, seconds=240)  # noqa: B023
        time.sleep(rng.uniform(0, 0.25))
        assert process.poll() is None
        process.kill()
        process.wait()
        most = max(most, len(store.rows()) - before)
    assert most < 2 * len(design.methods)
    assert len(store.rows()) < len(uninterrupted.rows())
    subprocess.run(list(map(str, command)), env=environment, check=True, **quiet)
    assert outcomes(store.rows()) == outcomes(uninterrupted.rows())
    tables = [
        [replace(s, fit_seconds=0.0) for s in summarise(design, rows.rows())]
        for rows in (store, uninterrupted)
    ]
    assert tables[0] == tables[1]
