"""Tables of docs/sentence_encoder.md, from the JSON of bench_sentence_encoder.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.common.pages import cell, number, table
from benchmarks.language import sentence_left_out, sentence_search
from benchmarks.language.sentence_models import ABLATIONS, BASELINES, EARLIER_ABLATIONS, ENCODERS

ORDER = (*BASELINES, *ENCODERS, *ABLATIONS, *EARLIER_ABLATIONS)
_NOT_REPEATED = (
    "\\* Measured with an earlier encoder: `pooling_dim` and `positions` are now parameters of "
    "`nn.SGNNTransformer` alone, so the benchmark cannot repeat the row."
)
HALVES = ("first half", "second half", "whole")
SETS = ("trec", "sst2", "imdb")
CS = ("C of the report", "C chosen")


def in_order(models: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return models in the order of the settings, not of the measurements."""
    return ((name, models[name]) for name in ORDER if name in models)


def similarity(result: dict[str, Any]) -> str:
    return table(
        ("", "columns", *HALVES),
        (
            (
                name,
                f"{next(iter(runs.values()))['columns']:,}",
                *(number(runs, half, 2) for half in HALVES),
            )
            for name, runs in in_order(result["similarity"]["models"])
        ),
    )


def classification(result: dict[str, Any]) -> str:
    return table(
        ("", *(f"{one}, {C}" for one in SETS for C in ("C = 1000", "C chosen"))),
        (
            (
                name,
                *(cell(runs, lambda run, one=one, C=C: run[one][C], 1) for one in SETS for C in CS),
            )
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
        (
            "",
            "minutes",
            "waiting, %",
            "parameters",
            "untrained",
            "after word pretraining",
            "at the end",
        ),
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
    """Return the best score of a stage; the weights of that score are restored."""
    return max(entry["score"] for entry in run["log"] if entry["stage"] == stage)


def speed(result: dict[str, Any]) -> str:
    (runs,) = result["speed"]["models"].values()
    measured = runs["0"]
    return table(
        ("projected", "sentences/s"),
        ((method, f"{rate:,.0f}") for method, rate in measured["sentences/s"].items()),
    )


def ablation(result: dict[str, Any]) -> str:
    rows = table(
        ("", "seeds", *HALVES, "sst2, validation"),
        (
            (
                f"{name} \\*" if name in EARLIER_ABLATIONS else name,
                str(len(runs)),
                *(number(runs, half, 2) for half in HALVES),
                number(runs, "sst2", 1),
            )
            for name, runs in in_order(result["ablation"]["models"])
        ),
    )
    return f"{rows}\n\n{_NOT_REPEATED}"


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "similarity": similarity,
    "classification": classification,
    "retrieval": retrieval,
    "training": training,
    "speed": speed,
    "ablation": ablation,
    "defaults": lambda result: sentence_left_out.tables(result["defaults"]),
}
