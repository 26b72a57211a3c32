"""Random tables and formulas through `sagdiv fit`: a result or one clear line, no traceback."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("formulaic")
pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import sagdiv.cli.fitting  # noqa: E402

NAMES = ["y", "x", "z", "w", "odd name", "Ü", "C", "log", "1", "a.b", "class"]
ATOMS = [
    *NAMES,
    "log(x)",
    "C(w)",
    "I(x**2)",
    "np.exp(z)",
    "`odd name`",
    "x:w",
    "C(`a.b`)",
    "0",
    "1",
]
PIECES = [*ATOMS, " ", "~", "+", "|", "[", "]", "(", ")", "*", "-", ".", "{", "}", "'", "^", "\\"]

NUMBERS = st.one_of(
    st.floats(-10, 10),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, 1]),
    st.none(),
)
TEXTS = st.one_of(st.sampled_from(["a", "b", "north", "", " ", "NA", "1e5", "1,5"]), st.text())


@st.composite
def tables(draw):
    """A table whose columns are numbers, categories, text or a mixture."""
    n_rows = draw(st.sampled_from([0, 1, 30, 60, 90]))
    seeds = st.integers(0, 10**6)
    columns = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)):
        kind = draw(st.sampled_from(["smooth", "smooth", "binary", "constant", "values", "texts"]))
        noise = pd.Series(range(n_rows), dtype=float).sample(frac=1, random_state=draw(seeds))
        if kind == "smooth":
            columns[name] = (noise / 10).to_list()
        elif kind == "binary":
            columns[name] = (noise % 2).to_list()
        elif kind == "constant":
            columns[name] = [draw(NUMBERS)] * n_rows
        else:
            cells = NUMBERS if kind == "values" else TEXTS
            few = draw(st.lists(cells, min_size=1, max_size=6))
            columns[name] = [few[int(i) % len(few)] for i in noise]
    return pd.DataFrame(columns)


@st.composite
def sensible_formulas(draw):
    """A formula of the right form, of whatever terms."""

    def terms():
        return " + ".join(draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3)))

    form = draw(
        st.sampled_from(["{0} ~ {1} + [{2} ~ {3}]", "{0} ~ [{2} ~ {3}]", "{0} ~ {2} | {3}"])
    )
    return form.format(draw(st.sampled_from(ATOMS)), terms(), terms(), terms())


FORMULAS = st.one_of(
    st.just("y ~ [x ~ z]"),
    st.just("y ~ w + [x ~ z]"),
    sensible_formulas(),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(max_size=30),
)


def fit(table, formula, binary, drop, run, folder):
    shutil.rmtree(folder / "result", ignore_errors=True)
    table.to_csv(folder / "data.csv", index=False)
    options = ["--loss", "logistic"] * binary + ["--na-action", "drop"] * drop
    # Two hyphens: what follows is no option, whatever it begins with.
    result = run("fit", "-o", folder / "result", *options, "--", folder / "data.csv", formula)
    left = {path.name for path in folder.iterdir()}
    if result.code == 0:
        assert (folder / "result" / "model.skops").is_file()
        assert left == {"data.csv", "result"}
    else:
        assert result.code == 1, result.err
        assert result.err.strip().splitlines()[-1].startswith("sagdiv: ")
        assert "Traceback" not in result.err
        assert left == {"data.csv"}
    return result.code


def fuzz(n_examples, run, folder):
    @settings(max_examples=n_examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tables(), FORMULAS, st.booleans(), st.booleans())
    def check(table, formula, binary, drop):
        fit(table, formula, binary, drop, run, folder)

    check()


@pytest.fixture
def place(tmp_path, monkeypatch):
    # Figures take most of the time, and depend on nothing that a person typed but names.
    monkeypatch.setattr(sagdiv.cli.fitting, "save_figures", lambda *_: None)
    return Path(tmp_path)


def test_a_few_random_tables_and_formulas(run, place):
    fuzz(60, run, place)


@pytest.mark.slow
def test_many_random_tables_and_formulas(run, place):
    fuzz(2000, run, place)
