"""The recipe of the report's sentence model, on a few paragraphs and reviews."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.commands.registry import get_recipe
from benchmarks.runner.recipe import Run
from tests.sentence_texts import PARAGRAPHS


def test_it_trains_and_evaluates(tmp_path: Path) -> None:
    recipe = get_recipe("sentence-report")
    (tmp_path / "text.txt").write_text("\n\n".join(PARAGRAPHS), encoding="utf-8")
    (tmp_path / "reviews").mkdir()
    rows = "\n".join(f"{number % 2},{text}" for number, text in enumerate(PARAGRAPHS))
    for part in ("train", "test"):
        (tmp_path / "reviews" / f"{part}.csv").write_text(f"label,text\n{rows}\n", encoding="utf-8")
    settings = replace(
        recipe.quick,
        paragraphs=str(tmp_path / "text.txt"),
        data=str(tmp_path),
        dataset="reviews",
        device="cpu",
    )
    (result,) = recipe.run(settings, Run(seed=0, folder=tmp_path))
    assert 0.5 <= result["accuracy"] <= 1
    assert result["n_parameters"] > 1120 * 512
