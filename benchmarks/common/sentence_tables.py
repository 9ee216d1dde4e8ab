"""The tables of the page on sentence vectors, made from the JSON.

cd benchmarks && python -m common.sentence_tables            (writes them into docs/sentence_encoder.md)
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .results_file import FOLDER, read_result
from .sentence_models import ABLATIONS, BASELINES, ENCODERS

PAGE = Path(__file__).parents[2] / "docs" / "sentence_encoder.md"
PLACE = re.compile(r"(<!-- table: ([a-z]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
ORDER = (*BASELINES, *ENCODERS, *ABLATIONS)
HALVES = ("first half", "second half", "whole")
SETS = ("trec", "sst2", "imdb")
CS = ("C of the report", "C chosen")


def tables(result: dict[str, Any]) -> dict[str, str]:
    """Give the tables, in Markdown, of what has been measured.

    Parameters
    ----------
    result : dict
        The JSON of bench_sentence_encoder.py.

    Returns
    -------
    dict of str to str
        By the part they show.
    """
    return {name: make(result) for name, make in TABLES.items() if name in result}


def fill(page: str, result: dict[str, Any]) -> str:
    """Put the tables in their places on the page; a place whose table has not been measured is left empty."""
    made = tables(result)
    return PLACE.sub(lambda place: place[1] + (f"\n{made[place[2]]}\n\n" if place[2] in made else "") + place[3], page)


def in_order(models: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give models in the order of the settings, whichever was measured first."""
    return ((name, models[name]) for name in ORDER if name in models)


def similarity(result: dict[str, Any]) -> str:
    return table(
        ("", "columns", *HALVES),
        (
            (name, f"{next(iter(runs.values()))['columns']:,}", *(number(runs, half, 2) for half in HALVES))
            for name, runs in in_order(result["similarity"]["models"])
        ),
    )


def classification(result: dict[str, Any]) -> str:
    return table(
        ("", *(f"{one}, {C}" for one in SETS for C in ("C = 1000", "C chosen"))),
        (
            (name, *(cell(runs, lambda run, one=one, C=C: run[one][C], 1) for one in SETS for C in CS))
            for name, runs in in_order(result["classification"]["models"])
        ),
    )


def training(result: dict[str, Any]) -> str:
    return table(
        ("", "minutes", "waiting, %", "parameters", "untrained", "after the words", "at the end"),
        (
            (
                name,
                cell(runs, lambda run: run["seconds"] / 60, 1),
                cell(runs, lambda run: 100 * run["waiting share"], 1),
                f"{next(iter(runs.values()))['parameters']:,}",
                *(cell(runs, lambda run, stage=stage: reached(run, stage), 2) for stage in STAGES),
            )
            for name, runs in in_order(result["training"]["models"])
        ),
    )


STAGES = ("untrained", "words", "sentences")


def reached(run: dict[str, Any], stage: str) -> float:
    """Give the best score of a stage: the weights of the best one are kept."""
    return max(entry["score"] for entry in run["log"] if entry["stage"] == stage)


def speed(result: dict[str, Any]) -> str:
    (runs,) = result["speed"]["models"].values()
    found = runs["0"]
    return table(
        ("words are projected", "sentences/s"),
        ((side, f"{rate:,.0f}") for side, rate in found["sentences/s"].items()),
    )


def ablation(result: dict[str, Any]) -> str:
    return table(
        ("", "seeds", *HALVES, "sst2, held out"),
        (
            (name, str(len(runs)), *(number(runs, half, 2) for half in HALVES), number(runs, "sst2", 1))
            for name, runs in in_order(result["ablation"]["models"])
        ),
    )


def report(result: dict[str, Any]) -> str:
    (runs,) = result["report"]["models"].values()
    rows = [("minutes", cell(runs, lambda run: run["seconds"] / 60, 1))]
    rows += [(f"STS, {half}", number(runs, half, 2)) for half in HALVES]
    rows += [(f"{one}, C chosen", cell(runs, lambda run, one=one: run[one]["C chosen"], 1)) for one in SETS]
    return table(("", ""), rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "similarity": similarity,
    "classification": classification,
    "training": training,
    "speed": speed,
    "ablation": ablation,
    "report": report,
}


def number(runs: dict[str, Any], name: str, digits: int) -> str:
    return cell(runs, lambda run: run[name], digits)


def cell(runs: dict[str, Any], value: Callable[[dict[str, Any]], float], digits: int) -> str:
    """Show the mean over seeds and their spread; nothing where it has not been measured."""
    found = []
    for run in runs.values():
        try:
            found.append(value(run))
        except (KeyError, ValueError):
            continue
    if not found:
        return ""
    mean = f"{statistics.mean(found):.{digits}f}"
    return mean if len(found) == 1 else f"{mean} ± {statistics.pstdev(found):.{digits}f}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, *rows]
    shown = [f"|{'|'.join(f' {part} ' if part else ' ' for part in line)}|" for line in lines]
    return "\n".join([shown[0], "|---" * len(heads) + "|", *shown[1:]])


if __name__ == "__main__":
    PAGE.write_text(
        fill(PAGE.read_text(encoding="utf-8"), read_result(FOLDER / "sentence_encoder.json")), encoding="utf-8"
    )
