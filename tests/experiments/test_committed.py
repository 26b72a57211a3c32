"""The tables in the repository are those of its rows, byte for byte."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def publish():
    spec = importlib.util.spec_from_file_location("publish", ROOT / "experiments" / "publish.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables(publish):
    return publish.tables()


def test_tables_are_those_of_the_rows(tables):
    for path, content in tables.items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: run `make results`"


def test_pages_show_every_table(publish):
    shown = publish._PLACE.findall((ROOT / "docs" / "experiments.md").read_text(encoding="utf-8"))
    assert {name for _, name, _ in shown} == set(publish.DESIGNS)


@pytest.mark.parametrize("name", ["continuous", "half", "binary"])
def test_every_fit_is_there_once(publish, name):
    from sagdiv.experiments import plan

    design, store = publish._open(name)
    assert plan(design, store).jobs == ()
    assert len({row.key for row in store.rows()}) == len(store.rows())
