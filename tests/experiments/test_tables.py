"""Tables and figures say what the rows say, to the byte."""

import csv
import io
import re

import numpy as np
import pytest
from experiments.conftest import HEAD

from sagdiv.experiments import Row, format_table, summarise

ERRORS = {  # scenario, method: four repetitions; None failed
    ("step", "a"): [0.5, 0.1, 0.3, 0.7],
    ("step", "b_1"): [0.4, 0.2, None, 0.6],
    ("sin", "a"): [None, None, None, None],
    ("sin", "b_1"): [1.0, 2.0, 3.0, 4.0],
}
METHODS = "".join(
    f'[methods."{name}"]\nestimator = "experiments.misbehaving.Mean"\n' for name in ("a", "b_1")
)


@pytest.fixture
def design(open_design):
    return open_design(METHODS, head=HEAD.replace("repetitions = 2", "repetitions = 4"))[0]


@pytest.fixture
def rows(design):
    found = []
    for cell in design.cells():
        for method in design.methods:
            mse = ERRORS[cell.scenario, method.name][cell.repetition]
            found.append(
                Row(
                    *(cell.scenario, cell.samples, cell.repetition, method.name),
                    fingerprint=design.fingerprint(cell, method),
                    mse=mse,
                    error=None if mse else "ValueError: no",
                    fit_seconds=0.1 * (1 + cell.repetition) if mse else None,
                    curve=list(np.linspace(-1, 1, 61)) if mse and not cell.repetition else None,
                )
            )
    return found


def test_the_numbers_are_those_of_the_rows(design, rows):
    step_a, step_b, sin_a, sin_b = summarise(design, rows)
    np.testing.assert_allclose(
        [step_a.mean, step_a.median, step_a.spread, step_a.worst, step_a.fit_seconds],
        [0.4, 0.4, np.std([0.5, 0.1, 0.3, 0.7], ddof=1), 0.7, 0.25],
    )
    assert (step_a.n, step_a.failed) == (4, 0)
    assert (step_b.n, step_b.failed) == (3, 1)
    np.testing.assert_allclose(step_b.mean, 0.4)
    assert (sin_a.n, sin_a.failed) == (0, 4)
    assert np.isnan(sin_a.mean)
    # a is second, first, first (the other failed), second of the four draws
    assert (step_a.rank, step_b.rank) == (1.5, 1.5)
    assert (sin_a.rank, sin_b.rank) == (2.0, 1.0)


def test_rows_of_other_settings_do_not_count(design, rows):
    alien = [Row("step", 150, 0, "a", "0123", mse=99.0), Row("cos", 150, 0, "a", "0123", mse=9.0)]
    assert repr(summarise(design, rows + alien)) == repr(summarise(design, rows))


def test_the_order_of_the_rows_does_not_matter(design, rows):
    for style in ("markdown", "latex", "csv"):
        table = format_table(summarise(design, rows), style)
        assert format_table(summarise(design, rows[::-1]), style) == table


def test_the_table_in_markdown(design, rows):
    lines = format_table(summarise(design, rows)).splitlines()
    assert lines[0].startswith("150 random variables")
    assert lines[2:] == [
        "| method | step | sin | rank | fit, s |",
        "|---|---:|---:|---:|---:|",
        "| a | **0.4** ± 0.26 (0.4) | – 4 failed | 1.8 | 0.25 |",
        "| b_1 | 0.4 ± 0.2 (0.4) 1 failed | **2.5** ± 1.3 (2.5) | 1.2 | 0.23 |",
    ]


def test_the_table_in_latex(design, rows):
    text = format_table(summarise(design, rows), "latex")
    assert r"b\_1 & 0.4 $\pm$ 0.2 (0.4) 1 failed & \textbf{2.5} $\pm$ 1.3 (2.5) & 1.2" in text
    assert text.count(r"\\") == 3
    assert text.count("{") == text.count("}")


def test_the_table_as_csv(design, rows):
    summaries = summarise(design, rows)
    lines = list(csv.DictReader(io.StringIO(format_table(summaries, "csv"))))
    assert len(lines) == 4
    for line, summary in zip(lines, summaries, strict=True):
        assert (line["scenario"], line["method"]) == (summary.scenario, summary.method)
        np.testing.assert_allclose(float(line["mean"]), summary.mean, rtol=1e-5)


# A mean over fewer draws says so, and is not the best one beside means over all.
def test_draws_that_are_missing_are_mentioned(design, rows):
    fewer = [row for row in rows if (row.method, row.scenario) != ("a", "step")] + rows[:1]
    (step_a, *_) = summarise(design, fewer)
    assert (step_a.n, step_a.failed, step_a.missing) == (1, 0, 3)
    line = format_table(summarise(design, fewer)).splitlines()[4]
    assert line.startswith("| a | 0.5 (0.5) 1 of 4 draws | – 4 failed |")


def test_names_that_mean_something_to_markdown_and_latex(open_design, rows):
    raw = r"a|b^2_{k}~\x & 5%"
    methods = f"[methods.'{raw}']\n" + 'estimator = "experiments.misbehaving.Mean"\n'
    design, _ = open_design(methods)
    (name,) = (method.name for method in design.methods)
    assert name == raw
    found = [
        Row("sin", 150, k, name, design.fingerprint(cell, design.methods[0]), 0.5, fit_seconds=1.0)
        for k, cell in enumerate(c for c in design.cells() if c.scenario == "sin")
    ]
    line = format_table(summarise(design, found)).splitlines()[-1]
    assert line.startswith("| a\\|b^2_{k}~\\x & 5% | **0.5**")
    latex = format_table(summarise(design, found), "latex")
    assert (
        r"a|b\textasciicircum{}2\_\{k\}\textasciitilde{}\textbackslash{}x \& 5\% & \textbf" in latex
    )


def test_an_unknown_format(design, rows):
    with pytest.raises(ValueError, match="a table is one of markdown, latex, csv, not 'html'"):
        format_table(summarise(design, rows), "html")


def test_nothing_run_yet(design):
    assert summarise(design, []) == []
    assert format_table([], "markdown") == ""


def texts(panel):
    return {text.get_text() for text in panel.texts} - {""}


@pytest.mark.parametrize("n_rows", [16, 5])
def test_figures(design, rows, tmp_path, n_rows):
    pytest.importorskip("matplotlib")
    from sagdiv.experiments.figures import draw_all

    names = [f"design-{kind}.{end}" for kind in ("errors", "curves") for end in ("png", "pdf")]
    contents = []
    for folder in ("one", "two"):
        paths = list(draw_all(design, rows[:n_rows], tmp_path / folder))
        assert [path.name for path in paths] == names
        contents.append([path.read_bytes() for path in paths])
    for png, pdf in (contents[0][:2], contents[0][2:]):
        assert png.startswith(b"\x89PNG")
        assert pdf.startswith(b"%PDF")
    assert contents[0] == contents[1]


def test_boxes_say_what_they_do_not_show(design, rows):
    pytest.importorskip("matplotlib")
    from sagdiv.experiments.figures import box_plots

    step, sin = box_plots(design, rows, 150).axes
    assert texts(step) == {"1 failed"}
    assert texts(sin) == {"4 failed"}
    # Two draws of a, one of b_1, and nothing on sin but a failure.
    some = [r for r in rows if r.repetition < 2 and (r.scenario, r.method) != ("sin", "b_1")]
    some = [r for r in some if (r.scenario, r.method, r.repetition) != ("step", "b_1", 1)]
    figure = box_plots(design, some, 150)
    step, sin = figure.axes
    assert texts(step) == {"1 of 2 run"}
    assert texts(sin) == {"2 failed", "not run"}
    assert "2 of 4 draws" in figure.get_suptitle()


# Six panels in a row, the data among them; a legend, and names that do not run into each other.
@pytest.mark.parametrize(("n_methods", "shape"), [(1, (1, 2)), (5, (1, 6)), (10, (2, 6))])
def test_curves_in_rows(open_design, n_methods, shape):
    pytest.importorskip("matplotlib")
    from sagdiv.experiments.figures import curve_grid_figure

    design, _ = open_design(
        "".join(
            f'[methods."a method with a long name {k}"]\nestimator = "sagdiv.baselines.TSLS"\n'
            for k in range(n_methods)
        )
    )
    figure = curve_grid_figure(design, [], 150)
    assert len(figure.axes) == 2 * (1 + n_methods)
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["estimate", "data", "truth"]
    assert {axes.get_xlabel() for axes in figure.axes} <= {"", "x"}
    assert figure.axes[-1].get_xlabel() == "x"
    assert all(texts(axes) == {"not run"} for axes in figure.axes[1 : 1 + n_methods])
    figure.canvas.draw()
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])


def test_a_box_is_drawn_at_the_errors(design, rows):
    pytest.importorskip("matplotlib")
    from sagdiv.experiments.figures import box_plots

    step, sin = box_plots(design, rows, 150).axes
    assert [label.get_text() for label in step.get_yticklabels()] == ["a", "b_1"]
    medians = [line for line in step.lines if len(set(line.get_xdata())) == 1]
    assert any(np.allclose(line.get_xdata(), np.log10(0.4)) for line in medians)
    assert re.search("150 random variables, 4 draws", step.figure.get_suptitle())
    assert sin.get_title() == "sin"
