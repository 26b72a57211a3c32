"""The mistakes of a person: one clear line, an exit code that is not zero, and nothing written."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from without_torch import run_without_torch

import sagdiv.cli.fitting
import sagdiv.cli.tables

FORMULA = "y ~ w + [x ~ z]"


def test_a_missing_file(refused, data):
    assert "there is no file nothing.csv." in refused("fit", "nothing.csv", FORMULA)
    assert "did you mean data.csv?" in refused("fit", "dta.csv", FORMULA)


def test_a_folder(refused, folder):
    assert "is a folder" in refused("fit", folder, FORMULA)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n\n", "has no header line"),
        ("a.csv", b"y,x\0\n1,2\n", "is not a text table"),
        ("a.csv", b"y,x,z,w\n1,2,3\xe9,4\n", "not text in utf-8; try --encoding latin-1"),
        ("a.csv", b"y,x,z,w\n1,2,3,4\n1,2,3,4,5,6\n", "line 3, saw 6"),
        ("a.csv", b"y,x,z,w\n1,5,2,3,4\n", "4 names in its header, but 5 columns"),
        ("a.csv", b"y,x,x,z,w\n1,2,3,4,5\n", "there are 2 columns 'x'"),
        ("a.csv", b"y,x,z,w\n", "has 0 rows of data"),
        ("a.csv", b"y,x,z,w", "has 0 rows of data"),
        ("a.parquet", b"y,x,z,w\n1,2,3,4\n", "is damaged, or not what .parquet says"),
        ("a.feather", b"y,x,z,w\n1,2,3,4\n", "is damaged, or not what .feather says"),
        ("a.xlsx", b"PK", "Save the sheet as CSV"),
        ("a.sav", b"$FL2", "is not one of .csv"),
    ],
)
def test_a_file_that_is_no_table(refused, folder, name, content, message):
    (folder / name).write_bytes(content)
    assert message in refused("fit", name, FORMULA)


@pytest.mark.parametrize(("mark", "shown"), [(";", "';'"), ("\t", "'\\t'"), ("|", "'|'")])
def test_a_wrong_delimiter(refused, frame, folder, mark, shown):
    frame.to_csv(folder / "data.csv", sep=mark, index=False)
    line = refused("fit", "data.csv", FORMULA)
    assert f"pass --delimiter {shown}" in line


def test_a_decimal_comma(refused, frame, folder):
    frame.to_csv(folder / "data.csv", sep=";", decimal=",", index=False)
    line = refused("fit", "data.csv", FORMULA)
    assert line.endswith("it seems to be separated by ';'; pass --delimiter ';' --decimal ','.")
    line = refused("fit", "data.csv", FORMULA, "--delimiter", ";")
    assert "has text in 400 of 400 rows" in line
    assert "Is the decimal mark a comma? Say so when reading: --decimal ','." in line


def test_a_misspelt_column(refused, data):
    assert "no column 'regoin'; did you mean 'region'?" in refused(
        "fit", data, "y ~ regoin + [x ~ z]"
    )
    assert "did you mean 'works'?" in refused(
        "fit", data, "--outcome", "work", "--treatment", "x", "--instrument", "z"
    )


def test_text_in_a_numeric_column(refused, frame, folder):
    x = frame["x"].astype(object)
    x[[4, 17]] = ["n.a.", "?"]
    frame.assign(x=x).to_csv(folder / "data.csv", index=False)
    line = refused("fit", "data.csv", FORMULA)
    assert "'x' must be numeric, but has text in 2 of 400 rows: 5 ('n.a.'), 18 ('?')" in line
    assert "the first is on line 6 of data.csv)" in line


# Empty lines, and lines within a cell: an editor counts them, a table does not.
def test_rows_are_found_by_their_lines(refused, frame, folder):
    bad = frame.assign(x=frame["x"].where(frame.index != 6), note="two\nlines")
    text = bad.to_csv(index=False).splitlines(keepends=True)
    (folder / "data.csv").write_text("".join([*text[:1], "\n", *text[1:]]))
    line = refused("fit", "data.csv", FORMULA)
    assert "1 of 400 rows: 7 (counted from 1; it is on line 16 of data.csv)" in line
    assert refused("fit", "data.csv", "y ~ [log(x) ~ z]", "--na-action", "drop").endswith(
        "(counted from 1); look at the values there."
    )


def test_missing_values(refused, frame, folder):
    frame.assign(x=frame["x"].where(frame.index != 6)).to_csv("data.csv", index=False)
    line = refused("fit", "data.csv", FORMULA)
    assert "missing in 1 of 400 rows: 7" in line
    assert "--na-action drop" in line


def test_one_value_of_the_instrument(refused, frame):
    frame.assign(z=3).to_csv("data.csv", index=False)
    assert "z is 3 in every row: an instrument that never moves" in refused(
        "fit", "data.csv", FORMULA
    )


def test_twenty_rows(refused, frame):
    frame.head(20).to_csv("data.csv", index=False)
    assert "has 20 rows of data; a curve needs at least 50" in refused("fit", "data.csv", FORMULA)


def test_twenty_rows_without_missing_values(refused, frame):
    frame.assign(x=frame["x"].where(frame.index < 20)).to_csv("data.csv", index=False)
    assert "20 rows are left after 380" in refused(
        "fit", "data.csv", FORMULA, "--na-action", "drop"
    )


def test_two_gigabytes(refused, folder, monkeypatch):
    with (folder / "data.csv").open("wb") as file:
        file.write(b"y,x,z,w\n" + b"1,2,3,4\n" * 200_000)
        file.truncate(2 << 30)  # a hole, not a single block on the disk
    monkeypatch.setattr(sagdiv.cli.tables, "_available_memory", lambda: float(4 << 30))
    line = refused("fit", "data.csv", FORMULA)
    assert "would take about 24.0 GB in memory, and 4.0 GB are free" in line


def test_no_permission_to_write(refused, data, folder, monkeypatch):
    def deny(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("tempfile.mkdtemp", deny)
    path = folder / "result"
    assert refused("fit", data, FORMULA) == f"sagdiv: cannot write {path}: Permission denied."


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody may write")
def test_a_place_that_even_root_may_not_write(run, refused, data):
    for more in (("fit", data, FORMULA, "-o"), ("datasets", "engel", "-o")):
        assert refused(*more, "/proc/self/x").startswith("sagdiv: cannot write /proc/self/x: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(refused, data, folder):
    (folder / "locked").mkdir(mode=0o500)
    assert "Permission denied" in refused("fit", data, FORMULA, "-o", "locked/result")


def test_a_result_where_something_else_is(refused, data, folder):
    assert "is a file; name another folder" in refused("fit", data, FORMULA, "-o", "data.csv")
    (folder / "photos").mkdir()
    (folder / "photos" / "cat.jpg").write_bytes(b"")
    for more in ((), ("--replace",)):
        assert "no result of sagdiv" in refused("fit", data, FORMULA, "-o", "photos", *more)


# A file of the same name does not make a folder ours.
@pytest.mark.parametrize("noted", ["{}", '{"epochs": 3}', "[1]", "not json"])
def test_a_foreign_run_json_protects_its_folder(refused, data, folder, noted):
    (folder / "thesis").mkdir()
    (folder / "thesis" / "run.json").write_text(noted)
    (folder / "thesis" / "thesis.tex").write_text("chapter 1")
    line = refused("fit", data, FORMULA, "-o", "thesis", "--replace")
    assert "no result of sagdiv" in line
    assert (folder / "thesis" / "run.json").read_text() == noted


def test_replacing_leaves_the_files_of_others(run, data, folder):
    run("fit", data, "y ~ [x + w ~ z + I(z * z) + region]", "-q")
    (folder / "result" / "notes.txt").write_text("mine")
    (folder / "result" / "plots").mkdir()
    assert run("fit", data, FORMULA, "-q", "--replace").code == 0
    names = {path.name for path in (folder / "result").iterdir()}
    assert {"notes.txt", "plots", "curve.csv"} <= names
    assert "curve-2.csv" not in names  # of the earlier result
    assert (folder / "result" / "notes.txt").read_text() == "mine"


def test_files_are_replaced_only_when_asked(run, refused, data, folder):
    run("fit", data, FORMULA, "-q")
    table = data.read_bytes()
    for command in (("predict", "result", data), ("report", "result"), ("datasets", "engel")):
        line = refused(*command, "-o", "data.csv")
        assert "data.csv exists already; pass --replace" in line
        assert data.read_bytes() == table
    assert run("predict", "result", data, "-o", "data.csv", "--replace", "-q").code == 0
    assert data.read_bytes() != table


def test_a_failure_takes_away_the_folders_that_it_made(refused, data):
    for place in ("aa/bb/cc", "aa"):
        assert "no column 'v'" in refused("fit", data, "y ~ [v ~ z]", "-o", place)


# A shell that is in the folder would otherwise be left in one that is gone.
def test_the_folder_under_the_shell_stays(run, data, folder, monkeypatch):
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    number = os.stat(".").st_ino
    assert run("fit", data, FORMULA, "-o", ".", "-q").code == 0
    assert os.stat(folder / "here").st_ino == number
    assert os.path.exists("report.html")


def test_nothing_to_fit(refused, data):
    assert "say what to fit" in refused("fit", data)
    assert "not both" in refused("fit", data, FORMULA, "--outcome", "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--refits", "1", "--method", "tsls"), "--refits must be 0, for no bands, or at least 2"),
        (("--level", "95"), "--level must lie between 0 and 1"),
        (("--loss", "logistic"), "y must be 0 or 1"),
        (("--loss", "logistic", "--method", "tsls"), "has the squared loss only"),
        (("--delimiter", "::"), "must be one character each"),
        (("--encoding", "klingon"), "is not known"),
    ],
)
def test_options_that_do_not_fit(refused, data, options, message):
    assert message in refused("fit", data, FORMULA, *options)


def test_options_that_do_not_exist(run, data):
    for options in (("--method", "magic"), ("--frobnicate",), ("--seed", "-1")):
        result = run("fit", data, FORMULA, *options)
        assert result.code == 2
        assert "Traceback" not in result.err


def test_an_interrupt_leaves_nothing(refused, data, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    for place in ("from_formula", "findings", "save_figures"):
        with monkeypatch.context() as patch:
            patch.setattr(sagdiv.cli.fitting, place, interrupt)
            assert "interrupted; nothing was written" in refused("fit", data, FORMULA, code=130)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_real_interrupt(data, folder, sent, code, words):
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from sagdiv.cli import app; app()"),
            *("fit", str(data), FORMULA, "--method", "kiv", "--refits", "100000"),
            *("-o", "results/new"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("computing"):  # which with so many refits would take days
            process.send_signal(sent)
            break
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == code, error
    assert f"sagdiv: {words}; nothing was written." in error
    assert "Traceback" not in error
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


# While NumPy and scikit-learn are being imported there is nothing of ours on the stack yet.
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("module", ["numpy", "scipy.linalg", "typer", "sagdiv.cli.bench"])
def test_an_interrupt_in_the_first_second(module):
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from sagdiv.cli import app
app()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 130
    assert result.stderr == "sagdiv: interrupted; nothing was written.\n"


def test_an_interrupt_while_replacing_keeps_the_old_result(run, data, folder, monkeypatch):
    assert run("fit", data, FORMULA, "-q").code == 0
    before = {path.name: path.read_bytes() for path in (folder / "result").iterdir()}

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(sagdiv.cli.fitting, "report_html", interrupt)
    assert run("fit", data, FORMULA, "-q", "--replace").code == 130
    assert {path.name: path.read_bytes() for path in (folder / "result").iterdir()} == before


# The sentence of the training, which names what to lower; no mistake of the library.
def test_a_training_that_diverges(refused, data, monkeypatch):
    def diverge(*_, **__):
        raise FloatingPointError("training diverged: lower learning_rate.")

    monkeypatch.setattr(sagdiv.cli.fitting, "from_formula", diverge)
    line = refused("fit", data, FORMULA, "--method", "tsls")
    assert line == "sagdiv: training diverged: lower learning_rate."


WITHOUT_TORCH = """
from sagdiv.cli.commands import commands
commands(["fit", "data.csv", "y ~ w + [x ~ z]", "--method", "deep"])
"""


def test_without_torch(data):
    result = run_without_torch(WITHOUT_TORCH, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.strip() == (
        'sagdiv: DeepSAGDIV needs torch, which is not installed: pip install "sagdiv[deep]".'
    )


def test_out_of_memory(refused, data, monkeypatch):
    def exhaust(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(sagdiv.cli.fitting, "from_formula", exhaust)
    assert "out of memory" in refused("fit", data, FORMULA)


@pytest.mark.parametrize("error", [ZeroDivisionError("1/0"), np.linalg.LinAlgError("singular")])
def test_our_own_mistakes_are_called_ours(refused, data, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(sagdiv.cli.fitting, "from_formula", fail)
    line = refused("fit", data, FORMULA, code=70)
    assert f"internal error, {type(error).__name__}" in line
    assert "SAGDIV_DEBUG=1" in line


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_reader_that_has_seen_enough(run, data, folder):
    run("fit", data, FORMULA, "-q")
    process = subprocess.Popen(
        [sys.executable, "-c", "from sagdiv.cli import app; app()", "predict", "result", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()  # before it has written anything
    lines = process.stderr.read().splitlines()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert lines == ["loading the model", f"reading {data}"]


def test_a_folder_that_is_no_result(refused, data, folder):
    for command in (("predict", folder, data), ("report", folder)):
        assert "is no result of `sagdiv fit`" in refused(*command)


def test_new_rows_that_do_not_fit(run, refused, data, frame, folder):
    run("fit", data, "y ~ region + [x ~ z]", "-q")
    frame.drop(columns="x").to_csv("new.csv", index=False)
    assert "no column 'x'" in refused("predict", "result", "new.csv", "-q")
    frame.assign(region="west").to_csv("new.csv", index=False)
    assert "a category that the fit did not know" in refused("predict", "result", "new.csv", "-q")
    (folder / "new.csv").write_text("x,region\n1,north\n,south\n")
    assert "missing in 1 of 2 rows: 2" in refused("predict", "result", "new.csv", "-q")


def test_a_tampered_result(run, refused, data, folder):
    run("fit", data, FORMULA, "-q")
    model = folder / "result" / "model.skops"
    model.write_bytes(model.read_bytes()[:5000])
    assert "is damaged" in refused("predict", "result", data, "-q")
    (folder / "result" / "run.json").write_text("{")
    assert "run.json is damaged" in refused("report", "result")


def test_a_result_of_an_earlier_version(run, refused, data, folder):
    run("fit", data, FORMULA, "-q")
    model = sagdiv.load(folder / "result" / "model.skops")
    del model._typical  # which the first versions did not keep
    sagdiv.save(model, folder / "result" / "model.skops")
    assert "was written by an earlier version; fit again" in refused("report", "result")


@pytest.mark.parametrize(
    ("name", "value"),
    [("level", "high"), ("level", 95.0), ("seed", -1), ("refits", None), ("notes", "none")],
)
def test_a_damaged_note(run, refused, data, folder, name, value):
    run("fit", data, FORMULA, "-q")
    path = folder / "result" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    assert f"run.json is damaged: {name} cannot be right" in refused("report", "result")


def test_an_unknown_table(refused):
    assert "no table 'engle'; did you mean 'engel'?" in refused("datasets", "engle")


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_says_what_to_install(package):
    code = f"import sys; sys.modules[{package!r}] = None; from sagdiv.cli import app; app()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr == f'sagdiv: this needs {package}: pip install "sagdiv[cli]"\n'
