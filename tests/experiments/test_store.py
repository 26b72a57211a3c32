"""Rows survive whatever happens to the process that writes them."""

import json

import pytest

from sagdiv.experiments import Row, Store

ROW = Row("sin", 150, 0, "2SLS", "abc", mse=0.1 + 0.2, tuning={"ridge_": 0.5}, curve=[1.0])


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "new folder" / "rows.jsonl")


def test_rows_come_back_to_the_last_bit(store):
    failed = Row("sin", 150, 1, "2SLS", "abc", error="time limit: “60 s”")
    assert store.rows() == []
    with store.writer() as write:
        write(ROW)
        write(failed)
    assert store.rows() == [ROW, failed]


# Every prefix of the file is what a killed process may have left.
def test_a_torn_last_line_is_no_row_and_is_cut_off(store):
    with store.writer() as write:
        write(ROW)
    whole = store.path.read_bytes()
    for length in range(len(whole)):
        store.path.write_bytes(whole + whole[:length])
        assert store.rows() == [ROW]
        with store.writer() as write:
            write(ROW)
        assert store.path.read_bytes() == 2 * whole


def test_a_row_is_one_line_of_plain_text(store):
    with store.writer() as write:
        write(Row("sin", 150, 0, "two\nlines", "abc"))
    (line,) = store.path.read_text(encoding="ascii").splitlines()
    assert json.loads(line)["method"] == "two\nlines"


def test_only_one_run_writes(store):
    pytest.importorskip("fcntl")
    with (
        store.writer(),
        pytest.raises(BlockingIOError, match="another run is writing these results"),
        Store(store.path).writer(),
    ):
        pass


@pytest.mark.parametrize("line", ["{}", '{"x": 1}', "3", "not json"])
def test_lines_that_are_no_rows(store, line):
    with store.writer() as write:
        write(ROW)
    with store.path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=r"rows.jsonl, line 2 is no row of results .* scenario"):
        store.rows()
