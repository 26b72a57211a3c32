"""A table on the disk, and a way to run the command line in this process."""

from types import SimpleNamespace

import numpy as np
import pytest

from sagdiv.datasets import make_continuous

pytest.importorskip("formulaic")
pytest.importorskip("skops")
pytest.importorskip("matplotlib")
testing = pytest.importorskip("typer.testing", reason="needs the extra cli")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="session")
def frame():
    draw = make_continuous("sin", 400, random_state=0)
    return pd.DataFrame(
        {
            "y": draw.y,
            "x": draw.X[:, 0],
            "z": draw.Z[:, 0],
            "w": draw.Z[:, 1],
            "works": (draw.y > 0).astype(int),
            "region": np.where(np.arange(400) % 3, "north", "south"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(frame, folder):
    frame.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


@pytest.fixture(scope="session")
def run():
    """Run a command; exceptions that reach the top are errors of the test."""
    from sagdiv.cli.commands import commands

    def run(*arguments):
        result = testing.CliRunner().invoke(
            commands, [str(argument) for argument in arguments], catch_exceptions=False
        )
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return run


@pytest.fixture
def refused(run, folder):
    """Run a command that must fail with one clear line and leave nothing behind."""

    def refused(*arguments, code=1):
        before = sorted(folder.rglob("*"))
        result = run(*arguments)
        assert result.code == code, (result.out, result.err)
        assert "Traceback" not in result.err
        assert sorted(folder.rglob("*")) == before
        line = result.err.strip().splitlines()[-1]
        assert line.startswith("sagdiv: ")
        return line

    return refused
