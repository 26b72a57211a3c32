"""What a run shows: never more than two lines at a terminal, each fit in a log."""

import io
import re
import sys

import pytest

pytest.importorskip("rich")

from rich.console import Console

from sagdiv.cli.bench_progress import bench_progress
from sagdiv.experiments import Row

ROWS = [
    Row("sin", 600, k, "Kernel SAGD-IV (paper)", "abc", mse=0.1, fit_seconds=0.5) for k in range(3)
]
FAILED = Row("sin", 600, 3, "Raises", "abc", error="ValueError: a long\nmessage " * 10)


def shown(rows, width=80, **settings):
    """Return what is left on the screen after some of four rows, control codes removed."""
    console = Console(file=io.StringIO(), width=width, **settings)
    with bench_progress(4, quiet=False, console=console) as on_row:
        for row in rows:
            on_row(row)
    return console.file.getvalue()


# On eighty columns, whatever the last fit was called, the bar, the count and the time are there.
@pytest.mark.parametrize("rows", [ROWS, [*ROWS, FAILED]])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_bar_count_and_time_left_are_always_there(rows, width):
    text = shown(rows, width, force_terminal=True, color_system=None)
    lines = re.sub(r"\x1b\[\??\d*[A-Za-z]", "", text.replace("\r", "\n")).splitlines()
    *_, bar, last = filter(None, map(str.strip, lines))
    assert f"{len(rows)}/4" in bar
    assert "left:" in bar
    assert bar.count("━") + bar.count("╸") + bar.count("╺") >= 10
    assert rows[-1].method in last
    assert max(len(bar), len(last)) <= width


# What methods print goes above the two lines, on lines of its own.
def test_words_of_methods_are_not_glued_to_the_bar(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    console = Console(stderr=True, width=80, force_terminal=True, color_system=None)
    with bench_progress(4, quiet=False, console=console) as on_row:
        on_row(ROWS[0])
        sys.stderr.write("hello from a method\n")
        on_row(ROWS[1])
    lines = file.getvalue().replace("\r", "\n").replace("\x1b[2K", "").splitlines()
    assert "hello from a method" in [line.replace("\x1b[1A", "").strip() for line in lines]


def test_a_log_has_a_line_for_every_fit():
    lines = shown([*ROWS, FAILED]).splitlines()
    assert len(lines) == 4
    assert lines[0] == ("1/4 Kernel SAGD-IV (paper), sin, 600 variables, draw 1: MSE 0.1 in 0.5 s")
    assert lines[3].startswith("4/4 Raises, sin, 600 variables, draw 4: ValueError: a long message")
