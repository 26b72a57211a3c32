"""The figure of a curve: a line in its band, or for few values points with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from sagdiv._types import Array
from sagdiv.report.charts import Chart
from sagdiv.report.findings import Curve, Findings

__all__ = ["SIZES", "curve_figure"]

SIZES = {"wide": (760.0, 400.0), "narrow": (380.0, 330.0)}

_MOST_POINTS = 1500
_SHOWN, _SHOWN_AT_POINTS = (0.02, 0.98), (0.1, 0.9)  # quantiles of the outcome on the axis
# Where things stand beside a single value, in distances between values: data, h, ordinary.
_DATA, _SPREAD, _OURS, _OTHER = -0.17, 0.24, 0.08, 0.22
_OFF_CENTRE = 0.5  # of half an interval, from where on a reader wonders
_LINES = {
    "structural": ('<path class="line" d="M0 6H28"/>', "structural function h"),
    # One above the other, as they are drawn.
    "pointwise": (
        '<rect class="band" width="28" height="12"/>'
        '<rect class="band pointwise" width="28" height="12"/>',
        "{level} intervals",
    ),
    "uniform": ('<rect class="band" width="28" height="12"/>', "{level} band for the whole curve"),
    "confounded": ('<path class="line other" d="M0 6H28"/>', "ordinary regression, confounded"),
    "data": ('<path class="points" d="M5 6h0M14 3h0M23 9h0"/>', "data"),
}
_POINTS = {
    "structural": ('<circle class="circle" cx="14" cy="6" r="5"/>', "structural function h"),
    "pointwise": ('<path class="span pointwise" d="M14 0V12"/>', "{level} intervals"),
    "uniform": ('<path class="span" d="M14 0V12"/>', "{level} band for all of them"),
    "confounded": (
        '<circle class="circle other" cx="14" cy="6" r="5"/>',
        "ordinary regression, confounded",
    ),
    "data": _LINES["data"],
}


def curve_figure(found: Findings, curve: Curve) -> str:
    """Return the charts of a curve, one for each width, with legend and caption."""
    charts = {name: _chart(found, curve, size) for name, size in SIZES.items()}
    svg = "".join(
        chart.svg(f"{found.fit.outcome} against {curve.treatment}", name)
        for name, chart in charts.items()
    )
    hover = escape(json.dumps(_hover(curve, charts)), quote=True)
    return (
        f'<figure data-curve="{hover}" tabindex="0">{_legend(found, curve)}{svg}'
        f'<p class="readout" role="status"></p><figcaption>{escape(_caption(found, curve))} '
        '<span class="hint">Move over the chart, or use the arrow keys, for values.</span>'
        "</figcaption></figure>"
    )


def _legend(found: Findings, curve: Curve) -> str:
    shown = ["structural", "confounded"]
    if curve.band is not None:
        shown[1:1] = ["pointwise", "uniform"]
    if len(found.observed(curve.treatment, 1)[0]):
        shown.append("data")
    marks = _LINES if curve.labels is None else _POINTS
    level = f"{100 * curve.level:g} %"
    items = "".join(
        f'<li><svg viewBox="0 0 28 12" aria-hidden="true">{mark}</svg>{words.format(level=level)}'
        "</li>"
        for mark, words in (marks[name] for name in shown)
    )
    return f'<ul class="legend">{items}</ul>'


def _caption(found: Findings, curve: Curve) -> str:
    words = []
    if curve.held:
        held = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:.4g}'}"
            for name, value in curve.held.items()
        )
        words.append(f"The other regressors have their middle values: {held}.")
    x, y = found.observed(curve.treatment, found.fit.n_rows)
    low, high = _x_range(curve)
    bottom, top = _y_range(found, curve)
    n_outside = int(((x < low) | (x > high) | (y < bottom) | (y > top)).sum())
    if n_outside:
        words.append(f"{n_outside} of {len(x)} rows lie beyond the edges of the chart.")
    if curve.band is not None:
        half = np.maximum(curve.band.upper - curve.band.lower, 1e-300) / 2
        if (np.abs(curve.estimate - curve.band.estimate) > _OFF_CENTRE * half).any():
            words.append(
                "h is drawn with noise shrunk away from it, and the intervals are around the "
                "estimate before that, so that h may run near their edge."
            )
    return " ".join(words)


def _chart(found: Findings, curve: Curve, size: tuple[float, float]) -> Chart:
    axes = _x_range(curve), _y_range(found, curve)
    names = None
    if curve.labels is not None:
        names = dict(zip(curve.x.tolist(), curve.labels, strict=True))
    chart = Chart(*axes, curve.treatment, found.outcome_label, *size, names=names)
    x, y = found.observed(curve.treatment, _MOST_POINTS)
    if curve.labels is None:
        chart.points(x, y, "data")
        _draw_lines(chart, curve)
    else:
        scatter = (np.arange(len(x)) * 0.618034) % 1 - 0.5  # even, and the same every time
        chart.points(x + _gap(curve) * (_DATA + _SPREAD * scatter), y, "data")
        _draw_points(chart, curve)
    return chart


def _draw_lines(chart: Chart, curve: Curve) -> None:
    if curve.band is not None:
        chart.band(curve.x, curve.band.uniform_lower, curve.band.uniform_upper, "uniform")
        chart.band(curve.x, curve.band.lower, curve.band.upper, "pointwise")
    chart.line(curve.x, curve.confounded, "other")
    chart.line(curve.x, curve.estimate, "structural")


def _draw_points(chart: Chart, curve: Curve) -> None:
    ours, other = curve.x + _OURS * _gap(curve), curve.x + _OTHER * _gap(curve)
    if curve.band is not None:
        chart.spans(ours, curve.band.uniform_lower, curve.band.uniform_upper, "uniform")
        chart.spans(ours, curve.band.lower, curve.band.upper, "pointwise")
    chart.circles(other, curve.confounded, "other")
    chart.circles(ours, curve.estimate, "structural")


def _gap(curve: Curve) -> float:
    return float(np.diff(curve.x).min()) if len(curve.x) > 1 else 1.0


def _x_range(curve: Curve) -> tuple[float, float]:
    beyond = 0.0 if curve.labels is None else 0.6 * _gap(curve)
    return float(curve.x[0]) - beyond, float(curve.x[-1]) + beyond


def _y_range(found: Findings, curve: Curve) -> tuple[float, float]:
    low, high = _x_range(curve)
    x, y = found.observed(curve.treatment, _MOST_POINTS)
    seen = y[(x >= low) & (x <= high)]
    shown = _SHOWN if curve.labels is None else _SHOWN_AT_POINTS
    drawn = [curve.estimate, curve.confounded, *curve.edges.values()]
    values = np.concatenate([*drawn, np.quantile(seen, shown) if len(seen) else []])
    bottom, top = float(values.min()), float(values.max())
    margin = 0.05 * (top - bottom) or 0.5
    return bottom - margin, top + margin


def _hover(curve: Curve, charts: Mapping[str, Chart]) -> dict[str, Any]:
    at = curve.x if curve.labels is None else curve.x + _OURS * _gap(curve)
    data: dict[str, Any] = {
        "name": curve.treatment,
        "x": _short(curve.x) if curve.labels is None else curve.labels,
        "y": _short(curve.estimate),
        "pixels": {
            name: {
                "x": _short(chart.at_x(at)),
                "y": _short(chart.at_y(curve.estimate)),
            }
            for name, chart in charts.items()
        },
    }
    return data | {name: _short(edge) for name, edge in curve.edges.items()}


def _short(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
