"""The picture of the README, docs/images/readme.svg, from the JSON of the benchmarks; readable on white and on black.

On the left test accuracy against training time, on the right the ratios of times to other programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.benchmark import FOLDER, read_result

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "readme.svg"

# Of about the same contrast with white and with black.
_TEXT, _LINE, _OURS, _OTHERS = "#6e7781", "#8c959f", "#2f81f7", "#bf8700"
_WIDTH, _HEIGHT = 860, 300
_STYLE = f"text {{ font: 13px sans-serif; fill: {_TEXT} }} .title {{ font-weight: bold }} .axis {{ stroke: {_LINE} }}"


class Point(NamedTuple):
    """A model: its training time in seconds and its accuracy in percent."""

    name: str
    seconds: float
    accuracy: float


class Ratio(NamedTuple):
    """A task, the program that it is compared with, and how many times as fast this package is."""

    task: str
    other: str
    ratio: float


def points(classifiers: dict[str, Any]) -> list[Point]:
    """Return the models of bench_classifiers.py, this package's first."""
    models = classifiers["speed"]["models"]
    names = {
        "TextClassifier": "TextClassifier",
        "fastText": "fastText, 3 epochs",
        "fastText, 5 epochs as published": "fastText, 5 epochs",
        "fastText, bucket 2,000,000": "fastText, 10 epochs",
    }
    return [Point(title, models[name]["seconds"], models[name]["accuracy"]) for name, title in names.items()]


def ratios(classifiers: dict[str, Any], vectorizers: dict[str, Any], serving: dict[str, Any]) -> list[Ratio]:
    """Return the comparisons of speed, the one that this package loses included."""
    hashing = [Ratio(f"n-grams, {name}", "scikit-learn", case["ratio"]) for name, case in vectorizers["cases"].items()]
    single = {name: serving["models"][name]["single ms"] for name in ("process", "fasttext")}
    return [
        *hashing,
        Ratio("training", "fastText", classifiers["speed"]["models"]["fastText"]["times ours"]),
        Ratio("predicting many texts", "fastText", classifiers["prediction"]["times fastText"]),
        Ratio("predicting one text", "fastText", single["fasttext"] / single["process"]),
    ]


def draw(models: list[Point], comparisons: list[Ratio]) -> str:
    """Return the picture as SVG."""
    parts = [*_scatter(models, 60, 330), *_bars(comparisons, 585, 850)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img">'
        "<title>Accuracy and speed of text classifiers on AG News</title>"
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>\n"])


def update_picture() -> None:
    """Draw the picture from the stored results."""
    classifiers, vectorizers, serving = (
        read_result(FOLDER / f"{name}.json") for name in ("classifiers", "vectorizers", "serving")
    )
    PICTURE.write_text(draw(points(classifiers), ratios(classifiers, vectorizers, serving)), encoding="utf-8")


def _scatter(models: list[Point], left: float, right: float) -> Iterator[str]:
    """Draw accuracies against training times."""
    top, bottom = 50.0, 245.0
    low, high = math.floor(min(one.accuracy for one in models)) - 0.5, math.ceil(max(one.accuracy for one in models))
    longest = math.ceil(max(one.seconds for one in models))
    yield _text(left, 22, "Test accuracy in % by training time", "title")
    yield _rule(left, bottom, right, bottom)
    yield _rule(left, top, left, bottom)
    for second in range(longest + 1):
        x = left + second / longest * (right - left)
        yield _text(x, bottom + 20, f"{second} s", anchor="middle")
    for percent in range(math.ceil(low), math.floor(high) + 1):
        y = bottom - (percent - low) / (high - low) * (bottom - top)
        yield _text(left - 8, y + 4, str(percent), anchor="end")
    for index, one in enumerate(models):
        x = left + one.seconds / longest * (right - left)
        y = bottom - (one.accuracy - low) / (high - low) * (bottom - top)
        below = index % 2 == 1  # names of neighbors are on different sides
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{_OURS if index == 0 else _OTHERS}"/>'
        if index == 0:
            yield _text(x + 12, y + 4, one.name)
        else:
            yield _text(x, y + (22 if below else -12), one.name, anchor="middle")
    yield _text(left, bottom + 42, "AG News, 36,476 texts, two cores; fastText: dim 10, bigrams")


def _bars(comparisons: list[Ratio], left: float, right: float) -> Iterator[str]:
    """Draw ratios as bars from 1, on a logarithmic axis."""
    logs = [math.log10(one.ratio) for one in comparisons]
    low, high = min(0.0, *logs), max(logs)
    x_of = {value: left + (value - low) / (high - low) * (right - left - 45) for value in (0.0, *logs)}
    yield _text(390, 22, "Times as fast as another program (logarithmic)", "title")
    for row, (one, log) in enumerate(zip(comparisons, logs, strict=True)):
        y = 42 + 35 * row
        start, end = sorted((x_of[0.0], x_of[log]))
        color = _OURS if log > 0 else _OTHERS
        yield f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="20" fill="{color}"/>'
        yield _text(left - 12, y + 9, one.task, anchor="end")
        yield _text(left - 12, y + 24, f"vs. {one.other}", anchor="end", size=11)
        yield _text(max(end, x_of[0.0]) + 6, y + 15, f"{one.ratio:.2g}")
    yield _rule(x_of[0.0], 38, x_of[0.0], 42 + 35 * len(comparisons))


def _text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "start", size: int = 13) -> str:
    attributes = f"{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}"
    style = f' style="font-size: {size}px"' if size != 13 else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{attributes}{style}>{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="axis" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
