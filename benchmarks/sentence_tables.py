"""The tables of the page on sentence vectors, made from the JSON."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

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


def similarity(result: dict[str, Any]) -> str:
    return table(
        ("", "columns", *HALVES),
        (
            (name, f"{next(iter(runs.values()))['columns']:,}", *(number(runs, half, 2) for half in HALVES))
            for name, runs in result["similarity"]["models"].items()
        ),
    )


def classification(result: dict[str, Any]) -> str:
    return table(
        ("", *(f"{one}, {C}" for one in SETS for C in ("C = 1000", "C chosen"))),
        (
            (name, *(cell(runs, lambda run, one=one, C=C: run[one][C], 1) for one in SETS for C in CS))
            for name, runs in result["classification"]["models"].items()
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
            for name, runs in result["training"]["models"].items()
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
            for name, runs in result["ablation"]["models"].items()
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
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)
