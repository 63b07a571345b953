"""Charts as SVG elements. Colours are names of the page's style, so that dark pages work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.report.html import Child, Element, h
from zoo.report.measures import Calibration, Share

_WIDTH, _HEIGHT = 340, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 30  # margins around the plotted part
_MOST_POINTS = 300  # of a line; more are averaged in groups


@dataclass(frozen=True)
class Line:
    """One line of a chart. `look` is a class of the style: train, val, rate, faint."""

    name: str  # for the legend; "" for none
    look: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]  # NaN leaves a gap
    dots: bool = False


def percent(value: float) -> str:
    """A fraction as a percentage.

    >>> percent(0.5), percent(0.987)
    ('50%', '98.7%')
    """
    return "–" if math.isnan(value) else f"{100 * value:.3g}%"


def plain(value: float) -> str:
    """A number in a few digits."""
    return f"{value:.3g}"


def ticks(low: float, high: float, wanted: int = 4, least: float = 0.0) -> list[float]:
    """About `wanted` round numbers from `low` to `high`, at least `least` apart.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = max((high - low) / wanted, least)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.8)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def line_chart(
    title: str,
    lines: Sequence[Line],
    *,
    x_name: str,
    y_text: Callable[[float], str] = plain,
    y_range: tuple[float | None, float | None] = (0.0, None),
    mark: tuple[float, float, str] | None = None,
) -> Element:
    """Lines over one axis.

    Args:
        title: above it.
        lines: to draw; points that are not finite leave gaps.
        x_name: of the horizontal axis.
        y_text: how values are written.
        y_range: least and greatest; None takes the data's.
        mark: (x, y, text) of a point to point out.
    """
    values = np.concatenate([line.y[np.isfinite(line.y)] for line in lines] or [np.zeros(0)])
    along = np.concatenate([line.x for line in lines] or [np.zeros(0)])
    low, high = (
        given if given is not None else float(pick(values)) if len(values) else fallback
        for given, pick, fallback in zip(y_range, (np.min, np.max), (0.0, 1.0), strict=True)
    )
    if high <= low:
        high = low + 1.0
    axes = _Axes(0.0, max(float(along.max(initial=0.0)), 1e-9), low, high)
    drawn: list[Child] = axes.frame(y_text, apart=1.0)
    for line in lines:
        drawn += axes.line(line)
    if mark is not None:
        x, y = axes.at(mark[0], mark[1])
        drawn.append(h("circle", h("title", mark[2]), cx=x, cy=y, r=5, class_="mark"))
    legend = [
        h("span", h("i", class_=f"key {line.look}"), line.name, class_="legend")
        for line in lines
        if line.name
    ]
    if mark is not None:
        legend.append(h("span", h("i", class_="key kept"), mark[2], class_="legend"))
    return h(
        "figure",
        h("figcaption", h("b", title), " ", legend),
        _svg(drawn, f"{title} over {x_name}", axes.name(x_name)),
    )


def reliability_chart(found: Calibration, what: str = "pictures") -> Element:
    """Accuracy over confidence in bins, the diagonal of a calibrated model, and bars of how many
    pictures there were, or whatever `what` says."""
    axes = _Axes(0.0, 1.0, 0.0, 1.0)
    drawn = axes.frame(percent)
    x0, y0 = axes.at(0, 0)
    x1, y1 = axes.at(1, 1)
    drawn.append(h("line", x1=x0, y1=y0, x2=x1, y2=y1, class_="ideal"))
    most = max(int(found.counts.max(initial=0)), 1)
    for i, count in enumerate(found.counts.tolist()):
        if count == 0:
            continue
        left, right = found.edges[i], found.edges[i + 1]
        text = (
            f"confidence {percent(left)} to {percent(right)}: {count} {what}, "
            f"{percent(found.accuracy[i])} right"
        )
        drawn += [
            axes.bar(left, right, count / most * 0.25, "count"),
            axes.bar(left, right, float(found.accuracy[i]), "hit", text),
        ]
        cx, cy = axes.at(float(found.confidence[i]), float(found.accuracy[i]))
        drawn.append(h("circle", cx=cx, cy=cy, r=3, class_="dot val"))
    legend = [
        h("span", h("i", class_=f"key {look}"), name, class_="legend")
        for look, name in (("val", "accuracy"), ("count", what), ("ideal", "ideal"))
    ]
    return h(
        "figure",
        h("figcaption", h("b", "reliability"), " ", legend),
        _svg(drawn, "accuracy over confidence", axes.name("confidence")),
    )


def interval(share: Share) -> Element:
    """A small line from the low to the high end of an interval, with its value."""
    if math.isnan(share.value):
        return h("svg", viewBox="0 0 100 10", class_="interval")
    return h(
        "svg",
        h("line", x1=0, x2=100, y1=5, y2=5, class_="track"),
        h("line", x1=_short(100 * share.low), x2=_short(100 * share.high), y1=5, y2=5),
        h("circle", cx=_short(100 * share.value), cy=5, r=3),
        viewBox="-3 0 106 10",
        class_="interval",
        role="img",
        aria_label=f"{percent(share.low)} to {percent(share.high)}",
    )


class _Axes:
    """From values to places in the picture."""

    def __init__(self, x0: float, x1: float, y0: float, y1: float) -> None:
        self.x0, self.x1, self.y0, self.y1 = x0, x1, y0, y1

    def at(self, x: float, y: float) -> tuple[float, float]:
        wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        along = (x - self.x0) / (self.x1 - self.x0)
        up = (min(max(y, self.y0), self.y1) - self.y0) / (self.y1 - self.y0)
        return _short(_LEFT + wide * along), _short(_HEIGHT - _BOTTOM - tall * up)

    def frame(self, y_text: Callable[[float], str], apart: float = 0.0) -> list[Child]:
        drawn: list[Child] = []
        for value in ticks(self.y0, self.y1):
            x, y = self.at(self.x0, value)
            drawn.append(h("line", x1=x, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
            drawn.append(h("text", y_text(value), x=x - 6, y=y + 4, class_="left"))
        for value in ticks(self.x0, self.x1, least=apart):
            x, y = self.at(value, self.y0)
            drawn.append(h("line", x1=x, x2=x, y1=y, y2=y + 4, class_="tick"))
            drawn.append(h("text", plain(value), x=x, y=y + 15, class_="below"))
        return drawn

    def name(self, text: str) -> Element:
        return h("text", text, x=_WIDTH - _RIGHT, y=_HEIGHT - 3, class_="left")

    def line(self, line: Line) -> list[Child]:
        x, y = _thinned(line.x, line.y)
        places = [
            self.at(float(a), float(b)) if math.isfinite(b) else None
            for a, b in zip(x, y, strict=True)
        ]
        path, pen = [], "M"
        for place in places:
            if place is None:
                pen = "M"
                continue
            path.append(f"{pen}{place[0]:g} {place[1]:g}")
            pen = "L"
        drawn: list[Child] = [h("path", d="".join(path), class_=f"line {line.look}")]
        if line.dots:
            drawn += [
                h("circle", cx=place[0], cy=place[1], r=2.5, class_=f"dot {line.look}")
                for place in places
                if place is not None
            ]
        return drawn

    def bar(self, left: float, right: float, top: float, look: str, text: str = "") -> Element:
        x0, y1 = self.at(left, top)
        x1, y0 = self.at(right, 0)
        inner = h("title", text) if text else None
        return h(
            "rect", inner, x=x0 + 0.5, y=y1, width=_short(x1 - x0 - 1), height=_short(y0 - y1),
            class_=look,
        )  # fmt: skip


def _svg(drawn: Sequence[Child], label: str, *more: Child) -> Element:
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    return h("svg", *drawn, *more, viewBox=box, class_="chart", role="img", aria_label=label)


def _short(value: float) -> float:
    return round(value, 2)


def _thinned(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most about `_MOST_POINTS` points: means of groups."""
    size = -(-len(x) // _MOST_POINTS)
    if size <= 1:
        return x, y
    starts = np.arange(0, len(x), size)
    counts = np.diff(np.append(starts, len(x)))
    return np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts
