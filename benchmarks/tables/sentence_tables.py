"""Tables of docs/sentence_encoder.md, from the JSON of bench_sentence_encoder.py."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.language import sentence_search
from benchmarks.language.sentence_models import ABLATIONS, BASELINES, ENCODERS
from benchmarks.tables import sentence_teacher_tables

PAGE = Path(__file__).parents[2] / "docs" / "sentence_encoder.md"
BLOCK = re.compile(r"(<!-- table: ([a-z]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
ORDER = (*BASELINES, *ENCODERS, *ABLATIONS)
HALVES = ("first half", "second half", "whole")
SETS = ("trec", "sst2", "imdb")
CS = ("C of the report", "C chosen")


def tables(result: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the measured parts, in Markdown.

    Parameters
    ----------
    result : dict
        The JSON of bench_sentence_encoder.py.

    Returns
    -------
    dict of str to str
        The tables by part.
    """
    return {name: make(result) for name, make in TABLES.items() if name in result}


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the tables on the page; the table of a part that was not measured becomes empty."""
    filled = tables(result)
    return BLOCK.sub(
        lambda block: block[1] + (f"\n{filled[block[2]]}\n\n" if block[2] in filled else "") + block[3], page
    )


def in_order(models: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return models in the order of the settings, not of the measurements."""
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


def retrieval(result: dict[str, Any]) -> str:
    models = result["retrieval"]["models"]
    measured = {one for runs in models.values() for run in runs.values() for one in run}
    sets = [one for one in sentence_search.SETS if one in measured]
    return table(
        ("", *sets),
        (
            (name, *(number(models[name], one, 1) for one in sets))
            for name in (sentence_search.BASELINE, *sentence_search.MODELS)
            if name in models
        ),
    )


def training(result: dict[str, Any]) -> str:
    return table(
        ("", "minutes", "waiting, %", "parameters", "untrained", "after word pretraining", "at the end"),
        (
            (
                name,
                cell(runs, lambda run: run["seconds"] / 60, 1),
                cell(runs, lambda run: 100 * run["waiting share"], 1),
                f"{next(iter(runs.values()))['parameters']:,}",
                *(cell(runs, lambda run, stage=stage: score(run, stage), 2) for stage in STAGES),
            )
            for name, runs in in_order(result["training"]["models"])
        ),
    )


STAGES = ("untrained", "words", "sentences")


def score(run: dict[str, Any], stage: str) -> float:
    """Return the best score of a stage, whose weights are restored."""
    return max(entry["score"] for entry in run["log"] if entry["stage"] == stage)


def speed(result: dict[str, Any]) -> str:
    (runs,) = result["speed"]["models"].values()
    measured = runs["0"]
    return table(
        ("projected", "sentences/s"),
        ((method, f"{rate:,.0f}") for method, rate in measured["sentences/s"].items()),
    )


def ablation(result: dict[str, Any]) -> str:
    return table(
        ("", "seeds", *HALVES, "sst2, validation"),
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
    "retrieval": retrieval,
    "training": training,
    "speed": speed,
    "ablation": ablation,
    "report": report,
    "teacher": lambda result: sentence_teacher_tables.section(result["teacher"]),
}


def number(runs: dict[str, Any], name: str, digits: int) -> str:
    return cell(runs, lambda run: run[name], digits)


def cell(runs: dict[str, Any], value: Callable[[dict[str, Any]], float], digits: int) -> str:
    """Format mean and spread over the seeds; empty if not measured."""
    measured = []
    for run in runs.values():
        try:
            measured.append(value(run))
        except (KeyError, ValueError):
            continue
    if not measured:
        return ""
    mean = f"{statistics.mean(measured):.{digits}f}"
    return mean if len(measured) == 1 else f"{mean} ± {statistics.pstdev(measured):.{digits}f}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, *rows]
    shown = [f"|{'|'.join(f' {part} ' if part else ' ' for part in line)}|" for line in lines]
    return "\n".join([shown[0], "|---" * len(heads) + "|", *shown[1:]])


def read_results() -> dict[str, Any]:
    """Read the JSON of both sentence benchmarks."""
    result, of_teacher = (read_result(FOLDER / f"sentence_{name}.json") for name in ("encoder", "teacher"))
    return result | ({"teacher": of_teacher} if of_teacher else {})


def update_page() -> None:
    """Write the tables into the page."""
    result = read_results()
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
