"""Tests of the benchmark of ``hashnlp tune``, and of the page that quotes it."""

from __future__ import annotations

import importlib
import json
from statistics import mean
from typing import Any

from tests.benchmarks.labeled_rows import FOLDER


def read() -> tuple[Any, dict[str, Any]]:
    """Return the benchmark, and what was measured."""
    module = importlib.import_module("benchmarks.accuracy.bench_tune")
    return module, json.loads((FOLDER / "results" / module.RESULT).read_text(encoding="utf-8"))


def test_the_page_on_tuning_quotes_what_was_measured() -> None:
    module, result = read()
    page = (FOLDER.parent / "docs" / module.PAGE).read_text(encoding="utf-8")
    trials = [one["trials"] for one in result["searches"]]
    assert f"{min(trials)} to {max(trials)} trials" in page


def test_a_minute_finds_a_model_as_good_as_the_default_and_a_small_one() -> None:
    table, result = read()
    held_out = {name: [one["held out"][name] for one in result["searches"]] for name in table.MODELS}
    assert len(held_out["best"]) == 5
    assert mean(held_out["best"]) >= mean(held_out["default"])
    assert mean(held_out["small"]) >= mean(held_out["default"]) - 1
    for one in result["searches"]:
        assert one["wall seconds"]["best"] < 1.05 * result["seconds of a search"]
        assert one["bytes"]["small"] <= 1e6
