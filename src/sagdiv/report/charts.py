"""Charts as SVG text: numbers in, markup out; colours come from the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Array

__all__ = ["Chart", "ticks"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 12.0, 46.0
_LABEL_WIDTH = 70.0  # pixels between two labels of the x axis, at least


def ticks(low: float, high: float, at_most: int) -> list[float]:
    """Return round numbers between two values: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / at_most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1) + 0.0]


@dataclass
class Chart:
    """Axes that marks are added to.

    Parameters
    ----------
    x_range, y_range : pair of float
    x_label, y_label : str
    width, height : float
        In pixels.
    counts : bool
        Whether x counts something, so that labels are whole numbers.
    names : mapping from numbers to str, default=None
        Labels of x, where they stand for values of their own rather than for a scale.
    """

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_label: str
    y_label: str
    width: float = 760.0
    height: float = 400.0
    counts: bool = False
    names: Mapping[float, str] | None = None
    marks: list[str] = field(default_factory=list)

    def line(self, x: Array, y: Array, kind: str) -> None:
        """Add a line; ``kind`` is its class in the style sheet."""
        self.marks.append(f'<path class="line {kind}" d="M{self._points(x, y)}"/>')

    def band(self, x: Array, lower: Array, upper: Array, kind: str) -> None:
        """Add the area between two lines."""
        edge = self._points(np.r_[x, x[::-1]], np.r_[lower, upper[::-1]])
        self.marks.append(f'<path class="band {kind}" d="M{edge}Z"/>')

    def spans(self, x: Array, lower: Array, upper: Array, kind: str) -> None:
        """Add an upright line from ``lower`` to ``upper`` at each x."""
        ends = zip(self.at_x(x), self._clipped(lower), self._clipped(upper), strict=True)
        lines = " ".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in ends)
        self.marks.append(f'<path class="span {kind}" d="{lines}"/>')

    def circles(self, x: Array, y: Array, kind: str) -> None:
        """Add a circle at each point."""
        for a, b in zip(self.at_x(x), self._clipped(y), strict=True):
            self.marks.append(f'<circle class="circle {kind}" cx="{a:.1f}" cy="{b:.1f}" r="5.5"/>')

    def points(self, x: Array, y: Array, kind: str) -> None:
        """Add dots, as one path to keep the page small; those outside are left out."""
        inside = self._inside(x, y)
        if not inside.any():
            return
        pixels = zip(self.at_x(x[inside]), self.at_y(y[inside]), strict=True)
        dots = " ".join(f"M{a:.1f} {b:.1f}h0" for a, b in pixels)
        self.marks.append(f'<path class="points {kind}" d="{dots}"/>')

    def bars(self, x: Array, y: Array, kinds: Sequence[str], width: float = 0.7) -> None:
        """Add a bar from zero to each y."""
        left, right = self.at_x(x - width / 2), self.at_x(x + width / 2)
        top, bottom = self.at_y(y), self.at_y(np.zeros(len(x)))
        for a, b, c, d, kind in zip(left, right, top, bottom, kinds, strict=True):
            self.marks.append(
                f'<rect class="bar {kind}" x="{a:.1f}" y="{c:.1f}" '
                f'width="{b - a:.1f}" height="{max(d - c, 0):.1f}"/>'
            )

    def at_x(self, x: Array) -> Array:
        """Return horizontal pixels."""
        return _scale(x, self.x_range, _LEFT, self.width - _RIGHT)

    def at_y(self, y: Array) -> Array:
        """Return vertical pixels, which grow downwards."""
        return _scale(y, self.y_range, self.height - _BOTTOM, _TOP)

    def svg(self, title: str, kind: str = "") -> str:
        """Return the chart; ``title`` is what a screen reader says."""
        return (
            f'<svg class="chart {kind}" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(title)}">{self._grid()}'
            f"{self._inner()}{self._cursor()}</svg>"
        )

    def _grid(self) -> str:
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        parts = []
        n_labels = int((right - _LEFT) / (_LABEL_WIDTH / 2 if self.counts else _LABEL_WIDTH))
        for x, words in self._x_labels(n_labels):
            at = f"{self.at_x(np.array(x)):.1f}"
            parts.append(f'<text class="tick x" x="{at}" y="{bottom + 18:g}">{words}</text>')
        for y in ticks(*self.y_range, 6):
            at = f"{self.at_y(np.array(y)):.1f}"
            parts.append(f'<path class="grid" d="M{_LEFT:g} {at}H{right:g}"/>')
            parts.append(f'<text class="tick y" x="{_LEFT - 8:g}" y="{at}">{_number(y)}</text>')
        parts.append(f'<path class="axis" d="M{_LEFT:g} {bottom:g}H{right:g}"/>')
        middle_x, middle_y = (_LEFT + right) / 2, (_TOP + bottom) / 2
        parts.append(
            f'<text class="label x" x="{middle_x:g}" y="{self.height - 6:g}">'
            f"{escape(self.x_label)}</text>"
            f'<text class="label y" transform="translate(14 {middle_y:g}) rotate(-90)">'
            f"{escape(self.y_label)}</text>"
        )
        return "".join(parts)

    def _x_labels(self, at_most: int) -> list[tuple[float, str]]:
        if self.names is not None:
            every = -(-len(self.names) // at_most)
            return [(x, escape(name)) for x, name in list(self.names.items())[::every]]
        at = ticks(*self.x_range, at_most)
        return [(x, _number(x)) for x in at if not self.counts or x == round(x)]

    def _inner(self) -> str:
        # An inner svg cuts off what leaves the axes.
        x, y = _LEFT, _TOP
        width, height = self.width - _RIGHT - x, self.height - _BOTTOM - y
        box = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        view = f'viewBox="{x:g} {y:g} {width:g} {height:g}"'
        return f"<svg {box} {view}>{''.join(self.marks)}</svg>"

    def _cursor(self) -> str:
        bottom = self.height - _BOTTOM
        return (
            f'<g class="cursor" visibility="hidden"><path d="M0 {_TOP:g}V{bottom:g}"/>'
            '<circle r="5"/></g>'
        )

    def _points(self, x: Array, y: Array) -> str:
        pixels = zip(self.at_x(x), self._clipped(y), strict=True)
        return "L".join(f"{a:.1f} {b:.1f}" for a, b in pixels)

    def _clipped(self, y: Array) -> Array:
        return np.clip(self.at_y(y), -1e4, 1e4)  # far outside is as good as infinitely far

    def _inside(self, x: Array, y: Array) -> NDArray[np.bool_]:
        low, high = self.x_range
        bottom, top = self.y_range
        return (x >= low) & (x <= high) & (y >= bottom) & (y <= top)


def _scale(values: Array, data: tuple[float, float], start: float, end: float) -> Array:
    low, high = data
    return start + (np.asarray(values) - low) / ((high - low) or 1.0) * (end - start)


def _number(value: float) -> str:
    return f"{value + 0.0:.6g}".replace("-", "\N{MINUS SIGN}")
