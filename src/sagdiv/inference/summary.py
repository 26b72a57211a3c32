"""What a person should read before believing a curve."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sagdiv.inference.analysis import Analysis

__all__ = ["Summary", "summarise"]

_REJECT, _CERTAIN = 0.05, 0.01
_UNSTEADY = 1.0  # standard errors
_MOSTLY_ASSUMED = 0.5
_TOO_MANY = 1 / 3
_TEXT_WIDTH = 100


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


def summarise(result: Analysis) -> Summary:
    """Gather the diagnostics of an analysis and weigh them."""
    strength, specification = result.strength, result.specification
    steady, support = result.sensitivity(), result.support()
    fatal, doubts = [], []
    if strength.verdict in _HOPELESS:
        fatal.append(strength.sentence)
    elif strength.verdict == "linear only":
        doubts.append(strength.sentence)
    if specification.p_value < _REJECT:
        certain = specification.p_value < _CERTAIN
        (fatal if certain else doubts).append(
            "The instrument still predicts Y - h(X): it reaches the outcome by another way than X "
            f"(specification test, p = {specification.p_value:.2g})."
        )
    if steady.largest_move > _UNSTEADY:
        doubts.append(
            "Half or twice the total step moves the curve by up to "
            f"{steady.largest_move:.1f} standard errors."
        )
    assumed = support.X[support.learnt < _MOSTLY_ASSUMED]
    if len(assumed) > _TOO_MANY * len(support.X):
        doubts.append(
            f"On {len(assumed)} of {len(support.X)} points of the curve its shape rests on the "
            "smoothness assumed more than on the instrument."
        )
    verdict = "do not believe" if fatal else "with care" if doubts else "believe"
    return Summary(verdict, _HEADLINES[verdict], fatal + doubts, _numbers(result))


def _numbers(result: Analysis) -> list[tuple[str, str]]:
    model, strength = result.model, result.strength
    specification, exogeneity = result.specification, result.exogeneity
    band, inside = result.bands(), result.support().extrapolated
    groups = "" if result.n_clusters is None else f" in {result.n_clusters} clusters"
    edges = np.quantile(result.X[:, 0], [0.01, 0.99])
    hopeless = strength.verdict in _HOPELESS
    first = getattr(model, "feature_names_in_", ["the first column of X"])[0]
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
            f"{specification}. "
            + (
                "Rejected."
                if specification.p_value < _REJECT
                else "No sign of it, as far as the instrument can tell."
            ),
        ),
        (
            "Is IV needed?",
            f"{exogeneity}. "
            + (
                "Yes: an ordinary regression would give a different, confounded answer."
                if exogeneity.p_value < _REJECT
                else "No sign of it, but with such an instrument there would hardly be one."
                if hopeless
                else "No sign of it: an ordinary regression may do, and would be more precise."
            ),
        ),
        ("Average slope", f"{result.average_derivative()} in {first}."),
        (
            "Curve",
            f"Uniform {100 * band.level:g} % band of mean half width "
            f"{(band.critical_value * band.standard_error).mean():.3g}, over {first} from "
            f"{edges[0]:.3g} to {edges[1]:.3g}. Jumps are not covered.",
        ),
        (
            "Support",
            f"{inside.sum()} of {len(inside)} points of the curve are extrapolation"
            + (
                "."
                if hopeless
                else f"; the instrument settled {100 * result.support().learnt.mean():.0f} % of "
                "what was open beyond a straight line."
            ),
        ),
        (
            "Total step",
            f"{model.total_step_:.6g}; halving or doubling it moves the curve by at most "
            f"{result.sensitivity().largest_move:.2f} standard errors.",
        ),
    ]


def _hanging(text: str, indent: int) -> str:
    return fill(text, _TEXT_WIDTH, subsequent_indent=" " * indent)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
