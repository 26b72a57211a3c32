"""`sagdiv bench`, as a researcher would use it."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from experiments.conftest import HEAD, METHODS, misbehaving

from sagdiv.experiments import Store, read_design

DOCS = Path(__file__).parents[2] / "docs"
TWO = METHODS.split("[methods.", 1)[0] + misbehaving("Mean", "Raises")


@pytest.fixture
def design(folder):
    path = folder / "tiny.toml"
    path.write_text(HEAD + TWO)
    return path


@pytest.fixture
def store(folder):
    return Store(folder / "results" / "tiny.jsonl")


def test_run_table_and_plot(run, design, store, folder):
    found = run("bench", "run", design, "--jobs", 2)
    assert found.code == 0, found.err
    assert "8 fits to do, 0 rows kept" in found.out
    lines = found.err.strip().splitlines()
    assert len(lines) == 8
    assert sum("RuntimeError: out of patience" in line for line in lines) == 4
    assert re.search(r"Mean, sin, 150 variables, draw 1: MSE 0\.\d+ in ", found.err)
    assert len(store.rows()) == 8

    table = run("bench", "table", design)
    assert "| Raises | – 2 failed | – 2 failed |" in table.out
    assert run("bench", "table", design, "-o", "table.tex", "--format", "latex").code == 0
    assert (folder / "table.tex").read_text().startswith("% 150 random variables")

    drawn = run("bench", "plot", design, "-o", "figures")
    assert drawn.code == 0, drawn.err
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        *("tiny-curves.pdf", "tiny-curves.png", "tiny-errors.pdf", "tiny-errors.png")
    ]


def test_an_earlier_run_is_not_touched_unless_asked(run, refused, design, store):
    assert run("bench", "run", design, "--quiet", "--method", "Mean").code == 0
    content = store.path.read_bytes()
    assert "holds rows already; pass --resume" in refused("bench", "run", design)
    resumed = run("bench", "run", design, "--resume")
    assert "4 fits to do, 4 rows kept" in resumed.out
    assert store.path.read_bytes().startswith(content)
    assert "0 fits to do, 8 rows kept" in run("bench", "run", design, "--resume").out
    assert "4 fits to do, 4 rows kept" in run("bench", "run", design, "--retry-failed").out


def test_quiet_is_quiet(run, design):
    found = run("bench", "run", design, "--quiet", "--method", "Mean")
    assert (found.code, found.out, found.err) == (0, "", "")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_keeps_what_is_done(run, design, store):
    head = HEAD.replace("time_limit = 60", "time_limit = 600")
    design.write_text(head + misbehaving("Sleeps", "Mean"))
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from sagdiv.cli import app; app()"),
            *("bench", "run", str(design), "--jobs", "2"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    for line in process.stderr:
        if "Mean" in line:  # while the other sleeps
            process.send_signal(signal.SIGINT)
            break
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "interrupted; what is done is in" in error
    assert "go on with --resume" in error
    assert "Traceback" not in error
    assert {row.method for row in store.rows()} == {"Mean"}


def test_rows_under_other_settings_are_mentioned(run, design):
    run("bench", "run", design, "--quiet", "--method", "Mean")
    design.write_text(design.read_text().replace("test_points = 50", "test_points = 60"))
    found = run("bench", "run", design, "--resume", "--method", "Mean")
    assert "4 fits are in that file under other settings" in found.out
    assert "4 fits to do, 0 rows kept" in found.out


def test_a_method_is_added(run, design):
    run("bench", "run", design, "--quiet", "--method", "Mean")
    found = run(
        *("bench", "add", design, "My mean, 2", "experiments.misbehaving.Mean"),
        *("--param", "shift=0.5", "--param", "random_state=None"),
    )
    assert found.code == 0, found.err
    method = read_design(design).method("My mean, 2")
    assert method.params == {"shift": 0.5, "random_state": {"object": "None"}}
    assert method.build(3).random_state is None
    resumed = run("bench", "run", design, "--resume", "--method", "My mean, 2")
    assert "4 fits to do" in resumed.out


def test_adding_keeps_the_file_as_it_was_but_for_its_end(run, design):
    before = design.read_text()
    design.chmod(0o640)
    arguments = ("--budget", "triplets and instruments")
    found = run("bench", "add", design, "méthode", "sagdiv.KernelSAGDIV.paper", *arguments)
    assert found.code == 0, found.err
    assert design.stat().st_mode & 0o777 == 0o640
    text = design.read_text(encoding="utf-8")
    assert text.startswith(before.rstrip())
    assert '[methods."méthode"]' in text
    assert read_design(design).method("méthode").budget == "triplets and instruments"


def test_rows_of_different_code_are_mentioned(run, design, store):
    run("bench", "run", design, "--quiet", "--method", "Mean")
    assert run("bench", "table", design).err == ""
    first = store.rows()[0]
    with store.writer() as write:
        write(replace(first, revision="edited"))
    found = run("bench", "table", design)
    assert "computed by several versions of the code" in found.err
    assert "note" not in found.out
    resumed = run("bench", "run", design, "--resume", "--method", "Mean")
    assert "1 of the rows kept were computed by other code than this" in resumed.out


def test_fits_that_the_design_no_longer_has_are_mentioned(run, design):
    run("bench", "run", design, "--quiet", "--method", "Mean")
    design.write_text(design.read_text().replace("repetitions = 2", "repetitions = 1"))
    found = run("bench", "run", design, "--resume", "--method", "Mean")
    assert "other settings" not in found.out
    assert "2 fits in that file are not part of the design as it is now" in found.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "experiments.misbehaving.Mean", "--budget", "all"), "tiny.toml stays as it is: met"),
        (("Mean", "experiments.misbehaving.Mean"), "has a method 'Mean' already"),
        (("new", "experiments.misbehaving.Gone"), "there is no 'experiments.misbehaving.Gone'"),
        (("new", "experiments.misbehaving.not_an_estimator"), "which has no fit and no predict"),
        (("new", "sagdiv.baselines.TSLS", "--param", "basis"), "--param must be NAME=VALUE"),
        (("new", "sagdiv.baselines.TSLS", "--param", "bases=spline"), "unexpected keyword"),
    ],
)
def test_a_method_that_cannot_be_added_leaves_the_design_alone(refused, design, arguments, message):
    before = design.read_bytes()
    assert message in refused("bench", "add", design, *arguments)
    assert design.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "missing.toml"), "missing.toml: No such file or directory"),
        (("run", "tiny.toml", "--method", "OLS"), "tiny has no method 'OLS'; there are: Mean"),
        (("table", "tiny.toml"), "has no rows yet; run the design tiny first"),
        (("plot", "tiny.toml"), "has no rows yet"),
    ],
)
@pytest.mark.usefixtures("design")
def test_mistakes(refused, arguments, message):
    assert message in refused("bench", *arguments)


# The page on adding a method runs as it is written.
def test_the_fifteen_lines_of_the_documentation(run, folder, design, monkeypatch):
    page = (DOCS / "experiments.md").read_text()
    module = re.search(r"```python\n# nearest\.py\n(.*?)```", page, re.DOTALL).group(1)
    assert sum(bool(line.strip()) for line in module.splitlines()) <= 15
    (folder / "nearest.py").write_text(module)
    command = re.search(r"sagdiv (bench add .*)", page).group(1)
    _, _, _, name, estimator, option, param = (
        part.strip("'") for part in re.findall(r"'[^']+'|\S+", command)
    )
    monkeypatch.syspath_prepend(folder)
    assert run("bench", "add", design, name, estimator, option, param).code == 0
    found = run("bench", "run", design, "--method", name)
    assert found.code == 0, found.err
    assert len(re.findall(r"MSE \d", found.err)) == 4
