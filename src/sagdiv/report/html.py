"""One self-contained page from findings: no network, no scripts but the one beside this file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from sagdiv.inference.condition import condition
from sagdiv.report.charts import Chart
from sagdiv.report.citation import citation
from sagdiv.report.curve import SIZES, curve_figure
from sagdiv.report.findings import Curve, Findings

__all__ = ["report_html"]

_TABLE_ROWS = 9


def report_html(found: Findings, run: Mapping[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    found : Findings
    run : mapping
        What ``run.json`` notes: ``command``, ``version``, ``settings`` and so on; only ``version``
        must be there.
    """
    page = Template(_resource("page.html"))
    return page.substitute(
        title=escape(_title(found)),
        question=escape(_question(found)),
        style=_resource("style.css"),
        script=_resource("hover.js"),
        verdict=found.verdict,
        reading=_reading(found),
        curves="".join(_curve_section(found, curve) for curve in found.curves),
        checks="".join(_card(*number) for number in found.numbers),
        diagnostic_charts=_strength_figure(found) + _risk_figure(found),
        data=_data_section(found, run),
        method=_definitions(_method(found, run)),
        reproduce=_reproduce(run),
        citation=escape(citation(str(run["version"]), str(run.get("date", "")))),
        version=escape(str(run["version"])),
    )


def _title(found: Findings) -> str:
    treatments = found.fit.treatment_columns
    verb = "does" if len(treatments) == 1 else "do"
    return f"What {_and(treatments)} {verb} to {found.fit.outcome}"


def _question(found: Findings) -> str:
    fit = found.fit
    treatments, instruments = fit.treatment_columns, fit.instrument_columns
    controls = [name for name in fit.regressor_columns if name not in treatments]
    given = f", given {_and(controls)}" if controls else ""
    return (
        f"How {fit.outcome} would respond if {_and(treatments)} were changed{given}; learnt from "
        f"how {_and(instruments)} {'moves' if len(instruments) == 1 else 'move'} "
        f"{'them' if len(treatments) > 1 else 'it'}, in {fit.n_rows} rows."
    )


def _curve_section(found: Findings, curve: Curve) -> str:
    what = "The curve" if curve.labels is None else "The effect"
    title = f"{what}: {escape(found.fit.outcome)} against {escape(curve.treatment)}"
    numbers = dict(found.numbers)
    effect = numbers.get("Effect", numbers.get(f"Effect ({curve.treatment})"))
    answer = f"<p>{escape(effect)}</p>" if effect else ""
    figure = curve_figure(found, curve)
    return f"<section><h2>{title}</h2>{answer}{figure}{_curve_table(curve)}</section>"


def _curve_table(curve: Curve) -> str:
    rows = np.unique(np.linspace(0, len(curve.x) - 1, _TABLE_ROWS).astype(int))
    columns = curve.as_dict()
    if curve.labels is not None:
        columns[curve.treatment] = np.array(curve.labels, dtype=object)
    header = [curve.treatment, *(name.replace("_", " ") for name in list(columns)[1:])]
    cells = [[_aligned(column[i]) for column in columns.values()] for i in rows]
    return _table(header, cells)


def _reading(found: Findings) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in found.reasons)
    return f"<p>{escape(found.headline)}</p>" + (f"<ul>{reasons}</ul>" if reasons else "")


def _card(title: str, text: str) -> str:
    return f'<div class="card"><h3>{escape(title)}</h3><p>{escape(text)}</p></div>'


def _strength_figure(found: Findings) -> str:
    strength = found.analysis.strength

    def chart(size: tuple[float, float]) -> Chart:
        s = np.asarray(strength.correlations)[:12]
        order = np.arange(1.0, len(s) + 1)
        ends = (0.4, len(s) + 0.6)
        axes = Chart(ends, (0.0, 1.05), "direction", "correlation of X and Z", *size, counts=True)
        useful = ["useful" if value > strength.threshold else "" for value in s]
        axes.bars(order, s, useful)
        axes.line(np.array(ends), np.full(2, strength.threshold), "threshold")
        return axes

    return _figure(
        chart,
        "Strength of the instrument",
        "How strongly the instrument moves the treatment, direction by direction. Below the dotted "
        "line is what an irrelevant instrument would reach by chance.",
    )


def _risk_figure(found: Findings) -> str:
    path = getattr(found.fit.estimator, "path_", None)
    risk = getattr(path, "risk", None)
    if path is None or risk is None or not hasattr(path, "total_step") or not risk[-1] < 0:
        return ""

    def chart(size: tuple[float, float]) -> Chart:
        x, fall = np.log10(path.steps / path.total_step), 100 * risk / risk[-1]
        ends, percent = (float(x[0]), float(x[-1])), (0.0, 105.0)
        axes = Chart(ends, percent, "log10 of total step / chosen", "fall of the risk, %", *size)
        axes.line(x, fall, "structural")
        axes.line(np.zeros(2), np.array(percent), "threshold")
        return axes

    return _figure(
        chart,
        "Risk along the descent",
        "The longer the descent, the closer it follows the data; the dotted line is where it was "
        "stopped. 100 % is what ten times as long would reach.",
    )


def _figure(chart: Callable[[tuple[float, float]], Chart], title: str, caption: str) -> str:
    svg = "".join(chart(size).svg(title, name) for name, size in SIZES.items())
    return f"<figure><h3>{title}</h3>{svg}<figcaption>{caption}</figcaption></figure>"


def _data_section(found: Findings, run: Mapping[str, Any]) -> str:
    fit = found.fit
    roles = {"outcome": [fit.outcome], "treatment": fit.treatments}
    roles |= {"control": fit.controls, "instrument": fit.instruments}
    X, Z = fit.X, fit.Z
    rows = []
    for role, names in roles.items():
        for name in names:
            values = fit.y if role == "outcome" else (Z if role == "instrument" else X)[name]
            values = np.asarray(values)
            numbers = (values.mean(), values.std(), values.min(), values.max())
            rows.append([name, role, *map(_number, numbers)])
    left_out = ""
    if fit.n_dropped:
        left_out = (
            f"{fit.n_dropped} rows were left out because values are missing "
            f"({_listed(fit.missing)})."
        )
    source = f"From {run['data']}. " if "data" in run else ""
    return f"<p>{escape(source)}{fit.n_rows} rows. {escape(left_out)}</p>" + _table(
        ["column", "role", "mean", "deviation", "least", "greatest"], rows, n_text=2
    )


def _method(found: Findings, run: Mapping[str, Any]) -> dict[str, str]:
    fit = found.fit
    method = {
        "formula": fit.formula,
        "estimator": " ".join(repr(fit.estimator).split()),
        "condition": condition(fit.estimator._loss),
    }
    if found.of_the_fit:
        method["condition"] += ", solved by descending the projected risk"
    if isinstance(total_step := getattr(fit.estimator, "total_step_", None), float):
        method["smoothing"] = (
            f"a descent of total step {_number(total_step)}; the longer, the rougher the curve"
        )
    method["uncertainty"] = found.uncertainty
    if run.get("notes"):
        method["warnings"] = " ".join(run["notes"])
    for key in ("seconds", "date", "version", "python"):
        if key in run:
            method[key] = str(run[key])
    return method


def _reproduce(run: Mapping[str, Any]) -> str:
    command = f"<pre>{escape(str(run['command']))}</pre>" if "command" in run else ""
    digest = f"<p>SHA-256 of the data: {escape(run['sha256'])}.</p>" if "sha256" in run else ""
    return f'{command}<div class="note">{digest}</div>'


def _definitions(entries: Mapping[str, str]) -> str:
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entries.items())
    return f"<dl>{listed}</dl>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], n_text: int = 1) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=text' if j < n_text else ''}>{escape(cell)}</{tag}>"
            for j, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', header)}</tr></thead>"
    return f'<div class="scroll" tabindex="0"><table>{head}<tbody>{body}</tbody></table></div>'


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {_number(value) if isinstance(value, float) else value}"
        for name, value in values.items()
    )


def _number(value: float) -> str:
    return f"{value:.4g}"


def _aligned(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:#.4g}".removesuffix(".")  # with its zeros, so that a column can be read down


def _resource(name: str) -> str:
    return files("sagdiv.report").joinpath(name).read_text(encoding="utf-8")
