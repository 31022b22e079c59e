"""Draws pictures with matplotlib, as SVG that takes its colours from the page around it.

Every picture comes in two widths, for desktops and phones. No text of authors is drawn: a plotting
library has neither all scripts nor their shapes. Needs the extra `report`; knows nothing of
projects and files.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from lxml import etree
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from narrator.report.sound import QUIETEST, Curve, mel
from narrator.sound.clock import format_clock

DRAWING = 1
"""Version of the drawings, which are cached: raised when a picture of the same curve would
change."""
INK, WAVE, ACCENT, RULE, WARN = "#010101", "#020202", "#030303", "#040404", "#050505"
"""Placeholders for the page's colours while a picture is drawn."""
_COLOURS = {INK: "muted", WAVE: "wave", ACCENT: "accent", RULE: "rule", WARN: "warn"}


@dataclass(frozen=True, slots=True)
class PlotSize:
    """Size of a picture in pixels of the page."""

    name: str
    width: int
    height: int
    ticks: int
    """Most ticks on the time axis."""
    points: int
    """Points of a waveform."""
    dots: int
    """Dots of a scatter plot, without outliers."""
    columns: int
    """Columns of a spectrogram."""


WIDE = PlotSize("wide", 960, 250, 12, 1500, 4000, 640)
NARROW = PlotSize("narrow", 400, 240, 5, 400, 1200, 320)
SIZES = (WIDE, NARROW)
LEFT, RIGHT, ABOVE, BELOW = 44, 12, 8, 26
"""Pixels around the axes."""
LEVELS = 10
"""Levels of 255 that share a colour in a spectrogram: 3 dB."""


# -- pictures --------------------------------------------------------------------------------------


def chapter(curve: Curve, target: float | None, size: PlotSize, name: str) -> str:
    """Draws waveform and short-term loudness on one time axis; `target` in LUFS is a line."""
    figure = _new_figure(size)
    wave_axes, loudness_axes = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.25))
    low = _group_rows(curve.low, size.points).min(axis=1)
    high = _group_rows(curve.high, size.points).max(axis=1)
    wave_times = (np.arange(len(low)) + 0.5) * curve.seconds / max(1, len(low))
    wave_axes.fill_between(wave_times, low, high, color=WAVE, linewidth=0.3)
    peak = max(0.1, float(np.abs([*low, *high]).max(initial=0.0)))
    wave_axes.set_ylim(-peak, peak)
    _style_axes(wave_axes)
    wave_axes.yaxis.set_major_locator(NullLocator())
    wave_axes.tick_params(bottom=False, labelbottom=False)
    wave_axes.spines["bottom"].set_visible(False)
    stride = max(1, 2 * len(curve.loudness) // size.points)
    readings = curve.loudness[stride // 2 :: stride]
    reading_times = (np.arange(len(readings)) + 0.5) * curve.seconds / max(1, len(readings))
    loudness_axes.plot(reading_times, readings, color=ACCENT, linewidth=1.3)
    audible_readings = readings[~np.isnan(readings)]
    top = max(-5.0, float(audible_readings.max(initial=QUIETEST)) + 2, (target or QUIETEST) + 2)
    bottom = min(-43.0, (target or -20.0) - 15)  # keeps its lowest tick clear of the time axis
    loudness_axes.set_ylim(bottom, top)
    _style_axes(loudness_axes)
    loudness_axes.yaxis.set_major_locator(FixedLocator([-60, -50, -40, -30, -20, -10, 0]))
    loudness_axes.grid(axis="y", color=RULE, linewidth=0.7)
    if target is not None:
        loudness_axes.axhline(target, color=INK, linewidth=1, dashes=(4, 3))
    _time_axis(loudness_axes, curve.seconds, size)
    figure.subplots_adjust(hspace=0.1)
    return _svg(figure, f"{name}-{size.name}")


def spectrogram(curve: Curve, size: PlotSize, name: str) -> str:
    """Draws strength by time and pitch; the curve must have its spectrum."""
    assert curve.spectrum is not None
    columns = curve.spectrum.shape[1]
    column_count = min(columns, size.columns)
    edges = np.linspace(0, columns, column_count + 1).astype(np.intp)[:-1]
    image = np.maximum.reduceat(curve.spectrum, edges, axis=1)
    image = image // LEVELS * LEVELS  # invisible steps, half the bytes
    figure = _new_figure(size)
    axes = figure.subplots()
    axes.imshow(
        image, cmap="magma", vmin=0, vmax=255, origin="lower", aspect="auto",
        interpolation="none", extent=(0, curve.seconds, 0, mel(curve.top)),
    )  # fmt: skip
    _style_axes(axes)
    marks = [hertz for hertz in (250, 500, 1000, 2000, 4000, 8000) if hertz <= curve.top]
    axes.yaxis.set_major_locator(FixedLocator([mel(hertz) for hertz in marks]))
    names = [f"{hertz / 1000:g}" for hertz in marks]
    axes.yaxis.set_major_formatter(FuncFormatter(lambda hertz, index: names[index or 0]))
    _time_axis(axes, curve.seconds, size)
    return _svg(figure, f"{name}-{size.name}")


def paces(
    times: Sequence[float],
    ratios: Sequence[float],
    outliers: Sequence[bool],
    total_seconds: float,
    size: PlotSize,
) -> str:
    """Draws the lengths of chunks as `ratios` to what is usual for their speakers, over all seconds
    of speech."""
    x, is_outlier = np.array(times), np.array(outliers, bool)
    y = np.clip(np.array(ratios), 0.3, 3.3)
    figure = _new_figure(size)
    axes = figure.subplots()
    usual_indices = np.flatnonzero(~is_outlier)
    if len(usual_indices) > size.dots:
        drawn = np.linspace(0, len(usual_indices) - 1, size.dots).astype(np.intp)
        usual_indices = usual_indices[drawn]
    axes.set_yscale("log")
    axes.axhline(1, color=RULE, linewidth=1)
    marker_size = 4.5 if len(usual_indices) < 1000 else 2.5
    axes.plot(
        x[usual_indices], y[usual_indices], "o",
        color=WAVE, markersize=marker_size, markeredgewidth=0,
    )  # fmt: skip
    axes.plot(
        x[is_outlier], y[is_outlier], "o",
        color=WARN, markersize=8, fillstyle="none", markeredgewidth=1.6,
    )  # fmt: skip
    axis_span = max(1.6, float(np.exp(np.abs(np.log(y)).max(initial=0.0))) * 1.1)
    axes.set_ylim(1 / axis_span, axis_span)
    ticks = [0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3]
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if 1 / axis_span < t < axis_span]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ratio, index: f"{ratio:g}"))
    _style_axes(axes)
    axes.grid(axis="y", color=RULE, linewidth=0.5)
    _time_axis(axes, total_seconds, size)
    return _svg(figure, f"paces-{size.name}")


def pauses(seconds: Sequence[float], size: PlotSize) -> str:
    """Draws a histogram of the lengths of pauses."""
    max_seconds = min(6.0, max(1.0, max(seconds, default=0.0)))
    counts, edges = np.histogram(np.minimum(seconds, max_seconds), bins=30, range=(0, max_seconds))
    figure = _new_figure(size, height_share=0.7)
    axes = figure.subplots()
    axes.bar(edges[:-1], counts, width=np.diff(edges) * 0.86, align="edge", color=WAVE)
    _style_axes(axes)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlim(0, max_seconds)
    axes.xaxis.set_major_locator(MaxNLocator(size.ticks, steps=[1, 2, 5, 10], prune="both"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, index: f"{seconds:g} s"))
    return _svg(figure, f"pauses-{size.name}")


def _group_rows(curve: NDArray[np.float32], max_rows: int) -> NDArray[np.float32]:
    """Groups neighbours into at most `max_rows` rows, (rows, row length)."""
    row_length = max(1, -(-len(curve) // max_rows))
    padded = np.concatenate([curve, np.repeat(curve[-1:], -len(curve) % row_length)])
    return padded.reshape(-1, row_length)


# -- axes ------------------------------------------------------------------------------------------


def _new_figure(size: PlotSize, *, height_share: float = 1.0) -> Figure:
    """Returns a transparent figure with margins around its axes, of a share of the height."""
    height = size.height * height_share
    figure = Figure(figsize=(size.width / 72, height / 72))
    figure.subplots_adjust(
        left=LEFT / size.width,
        right=1 - RIGHT / size.width,
        top=1 - ABOVE / height,
        bottom=BELOW / height,
    )
    figure.patch.set_visible(False)
    return figure


def _style_axes(axes: Axes) -> None:
    """Leaves only the time axis, in the page's colours."""
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.tick_params(colors=INK, labelsize=12, length=0, pad=5)


_TICK_SECONDS = (
    5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200
)  # fmt: skip
"""Steps of the time axis."""


def _time_axis(axes: Axes, total_seconds: float, size: PlotSize) -> None:
    """Labels the time axis at round times."""
    length = max(total_seconds, 1.0)
    step = next((step for step in _TICK_SECONDS if length / step <= size.ticks), 86400)
    axes.set_xlim(0, length)
    axes.xaxis.set_major_locator(FixedLocator(list(np.arange(0, length, step))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, index: format_clock(seconds)))


# -- SVG -------------------------------------------------------------------------------------------

_LONG_DECIMALS = re.compile(r"(\d+\.\d)\d+")
_FONT = re.compile(r"font-family:[^;\"]*;?|font:[^;\"]*;?")


def _svg(figure: Figure, name: str) -> str:
    """Returns the picture as an element of a page: no addresses, no fonts, unique ids."""
    FigureCanvasSVG(figure)
    svg_buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(svg_buffer, format="svg", metadata={"Date": None})
    root = etree.fromstring(svg_buffer.getvalue(), etree.XMLParser(resolve_entities=False))
    used_ids = set(re.findall(rb"#([\w-]+)", svg_buffer.getvalue()))
    for element in list(root.iter()):
        tag = element.tag if isinstance(element.tag, str) else ""
        parent = element.getparent()
        if parent is not None and (not tag or tag.endswith(("}metadata", "}style"))):
            parent.remove(element)
            continue
        _clean_element(element, used_ids, name)
    for attribute in ("width", "height"):
        root.attrib.pop(attribute, None)
    text = str(etree.tostring(root, encoding="unicode"))
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r"\bxlink:href", "href", text)
    for colour, variable in _COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    return re.sub(r">\s+<", "><", text)


def _clean_element(element: etree._Element, used_ids: set[bytes], name: str) -> None:
    """Shortens an element's numbers, and makes its ids unique to the picture."""
    attributes = element.attrib
    if "id" in attributes:
        if attributes["id"].encode() in used_ids:
            attributes["id"] = f"{name}-{attributes['id']}"
        else:
            del attributes["id"]
    for key, content in attributes.items():
        if key.endswith("href") and content.startswith("#"):
            attributes[key] = f"#{name}-{content[1:]}"
        elif content.startswith("url(#"):
            attributes[key] = f"url(#{name}-{content[5:]}"
        elif key in ("d", "transform", "x", "y"):
            short = _LONG_DECIMALS.sub(r"\1", " ".join(content.split()))
            # points after a move are lines without a command
            attributes[key] = short if "C" in short else short.replace(" L ", " ")
        elif key == "style":
            attributes[key] = _FONT.sub(_plain_font, content).strip()


def _plain_font(match: re.Match[str]) -> str:
    size = re.search(r"[\d.]+px", match[0])
    return f"font-size: {size[0]};" if size else ""
