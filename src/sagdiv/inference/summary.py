"""What a person should read before believing a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Data
from sagdiv.binary import is_binary

if TYPE_CHECKING:
    from sagdiv.inference.analysis import Analysis

__all__ = ["FEW_VALUES", "Line", "Summary", "summarise"]

_REJECT, _CERTAIN = 0.05, 0.01
_UNSTEADY = 1.0  # standard errors
_MOSTLY_ASSUMED = 0.5
_TOO_MANY = 1 / 3
_TEXT_WIDTH = 100

FEW_VALUES = 10
"""Of a regressor: h is then that many numbers rather than a curve."""


@dataclass(frozen=True)
class Summary:
    """A verdict, its reasons and the numbers behind it; prints as text or as HTML.

    Attributes
    ----------
    verdict : {"believe", "with care", "do not believe"}
    headline : str
    reasons : list of str
        Against believing, the gravest first.
    numbers : list of (str, str)
        What was computed, and its plain reading.
    """

    verdict: str
    headline: str
    reasons: list[str]
    numbers: list[tuple[str, str]]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.numbers) + 2
        lines = [self.headline, *(_hanging(f"  - {reason}", 4) for reason in self.reasons), ""]
        lines += [_hanging(f"{name:<{width}}{text}", width) for name, text in self.numbers]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        reasons = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons)
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;vertical-align:top">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.numbers
        )
        listed = f"<ul>{reasons}</ul>" if reasons else ""
        headline = f"<p><strong>{escape(self.headline)}</strong></p>"
        return f"<div>{headline}{listed}<table>{rows}</table></div>"


_HOPELESS = ("useless", "weak")
_HEADLINES = {
    "believe": "Nothing speaks against this curve.",
    "with care": "Read this curve with care.",
    "do not believe": "Do not believe this curve.",
}


@dataclass(frozen=True)
class Line:
    """Points along which one regressor moves.

    Attributes
    ----------
    name : str
    values : array of shape (k,)
        Of the regressor, numbers or text.
    points : array of shape (k, dx)
    column : int or None
        Where the regressor stands in X; None if X holds functions of it.
    """

    name: str
    values: NDArray[Any]
    points: Data
    column: int | None

    @property
    def is_contrast(self) -> bool:
        """Whether there are two points, so that h is two numbers and no curve."""
        return len(self.values) == 2

    @property
    def has_slope(self) -> bool:
        """Whether a slope in x has a meaning at the values between those that were seen."""
        return self.column is not None and len(self.values) > FEW_VALUES


def summarise(
    result: Analysis, level: float = 0.95, lines: Sequence[Line] | None = None
) -> Summary:
    """Gather the diagnostics of an analysis and weigh them.

    Parameters
    ----------
    result : Analysis
    level : float, default=0.95
        Of intervals and bands.
    lines : sequence of Line, default=None
        The curves to speak of; None is one for each endogenous column of X.
    """
    readings = [_Reading(result, line) for line in (_lines(result) if lines is None else lines)]
    strength, specification = result.strength, result.specification
    fatal, doubts = [], []
    if strength.verdict in _HOPELESS:
        fatal.append(strength.sentence)
    elif strength.verdict == "linear only":
        doubts.append(strength.sentence)
    if specification.p_value < _REJECT:
        certain = specification.p_value < _CERTAIN
        left = "Y" if is_binary(result.model._loss) else "Y - h(X)"
        rest = " beyond E[h(X) | Z]" if is_binary(result.model._loss) else ""
        (fatal if certain else doubts).append(
            f"The instrument still predicts {left}{rest}: it reaches the outcome by another way "
            f"than X (specification test, p = {specification.p_value:.2g})."
        )
    for reading in readings:
        doubts += reading.doubts(several=len(readings) > 1)
    verdict = "do not believe" if fatal else "with care" if doubts else "believe"
    numbers = _of_the_data(result)
    for reading in readings:
        ending = f" ({reading.line.name})" if len(readings) > 1 else ""
        numbers += [(title + ending, text) for title, text in reading.numbers(level)]
    return Summary(verdict, _HEADLINES[verdict], fatal + doubts, numbers)


def _lines(result: Analysis) -> list[Line]:
    width, exogenous = result.X.shape[1], set(result.model._exogenous)
    columns = [j for j in range(width) if j not in exogenous] or [0]
    fallback = [f"column {j + 1} of X" for j in range(width)] if width > 1 else ["x"]
    names = getattr(result.model, "feature_names_in_", fallback)
    grids = {j: result.grid(j) for j in columns}
    return [Line(str(names[j]), grid[:, j], grid, j) for j, grid in grids.items()]


def _of_the_data(result: Analysis) -> list[tuple[str, str]]:
    model, strength = result.model, result.strength
    specification, exogeneity = result.specification, result.exogeneity
    groups = "" if result.n_clusters is None else f" in {result.n_clusters} clusters"
    return [
        (
            "Data",
            f"{_count(len(result.y), 'row')}{groups}, "
            f"{_count(model.n_features_in_, 'regressor')}, "
            f"{_count(model.n_instruments_in_, 'instrument')}.",
        ),
        ("Instrument", strength.sentence),
        (
            "Is the model wrong?",
            # The statistic is exactly zero where the fit has used up all that the instrument says.
            "That cannot be tested: there are as many instruments as slopes, and nothing is left "
            "over to test with."
            if specification.statistic == 0
            else f"{specification}. Rejected."
            if specification.p_value < _REJECT
            else f"{specification}. No sign of it, as far as the instrument can tell.",
        ),
        (
            "Is IV needed?",
            f"{exogeneity}. "
            + (
                "Yes: an ordinary regression would give a different, confounded answer."
                if exogeneity.p_value < _REJECT
                else "No sign of it, but with such an instrument there would hardly be one."
                if strength.verdict in _HOPELESS
                else "No sign of it: an ordinary regression may do, and would be more precise."
            ),
        ),
    ]


class _Reading:
    """What there is to say about the curve along one line."""

    def __init__(self, result: Analysis, line: Line) -> None:
        self.result, self.line = result, line
        self.steady = result.sensitivity(line.points)
        self.support = result.support(line.points)

    def doubts(self, *, several: bool) -> list[str]:
        """Return reasons against believing this curve."""
        where = f" of {self.line.name}" if several else ""
        doubts = []
        if self.steady.largest_move > _UNSTEADY:
            doubts.append(
                f"Smoothing half or twice as much moves the curve{where} by up to "
                f"{self.steady.largest_move:.1f} standard errors."
            )
        n_assumed, n_points = (
            int((self.support.learnt < _MOSTLY_ASSUMED).sum()),
            len(self.support.X),
        )
        if n_assumed > _TOO_MANY * n_points and not self.line.is_contrast:
            doubts.append(
                f"On {n_assumed} of {n_points} points of the curve{where} its shape rests on the "
                "smoothness assumed more than on the instrument."
            )
        return doubts

    def numbers(self, level: float) -> list[tuple[str, str]]:
        """Return diagnostics with their readings."""
        inside = self.support.extrapolated
        support = f"{inside.sum()} of {len(inside)} points of the curve are extrapolation"
        if self.line.is_contrast:
            support = f"{inside.sum()} of the two points are extrapolation"
        elif self.result.strength.verdict == "strong":
            support += (
                f"; the instrument settled {100 * self.support.learnt.mean():.0f} % of what was "
                "open beyond a straight line"
            )
        move = f"{self.steady.largest_move:.2f}"
        return [
            *self._effect(level),
            ("Support", f"{support}."),
            (
                "Smoothing",
                f"Half or twice as much moves the curve by at most {move} standard errors.",
            ),
        ]

    def _effect(self, level: float) -> list[tuple[str, str]]:
        result, line = self.result, self.line
        what = "the index h" if is_binary(result.model._loss) else "h"
        first, last = _shown(line.values[0]), _shown(line.values[-1])
        if line.has_slope:
            slope = result.average_derivative(column=line.column or 0, level=level)
            of_h = f" of {what}" if is_binary(result.model._loss) else ""
            numbers = [("Average slope", f"{slope}{of_h} in {line.name}.")]
        else:
            points = result._points(line.points)
            change = float(np.subtract(*result.model._function.predict(points[[-1, 0]])))
            interval = result.contrast(points[-1], points[0], level=level)
            words = (
                f"{line.name} from {first} to {last} changes {what} by {change:.3g}; before noise "
                f"is shrunk away from it, by {interval}."
            )
            numbers = [("Effect", words)]
        if line.is_contrast:
            return numbers
        band = result.bands(line.points, level=level)
        half = (band.critical_value * band.standard_error).mean()
        uniform = f"Uniform {100 * band.level:g} % band of mean half width {half:.3g}"
        over = f"{line.name} from {first} to {last}"
        jumps = " Jumps are not covered." if line.has_slope else ""
        return [*numbers, ("Curve", f"{uniform}, over {over}.{jumps}")]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def _hanging(text: str, indent: int) -> str:
    return fill(text, _TEXT_WIDTH, subsequent_indent=" " * indent)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
