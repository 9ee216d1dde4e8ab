"""The recipe ``ptb-table``, on a tiny corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands.registry import get_recipe
from benchmarks.runner import run_recipe
from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel

RECIPE = get_recipe("ptb-table")
TRAIN = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", "a dog", "a dog saw the cat"] * 5
VALID = ["the cat sat on the rug", "no dog saw the zebra", "a cat"]
TEST = ["a dog sat on the mat", "a dog saw a dog"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, sentences in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (tmp_path / f"{name}.txt").write_text("".join(f" {sentence} \n" for sentence in sentences))
    return tmp_path


def run(data: Path, **changes: Any) -> list[dict[str, Any]]:
    settings = replace(RECIPE.quick, data=str(data), batch_size=8, hidden_size=4, **changes)
    return list(run_recipe(RECIPE, settings=settings))


def test_rows_are_models_and_mixtures_weighted_on_the_validation_text(data: Path) -> None:
    results = run(data)
    names = [" + ".join(result["models"]) for result in results]
    assert names == [
        "Kneser-Ney",
        "network",
        "Kneser-Ney + cache",
        "network + cache",
        "network + Kneser-Ney",
        "network + Kneser-Ney + cache",
    ]
    counts = KneserNeyLanguageModel().fit(TRAIN)
    cache = CacheLanguageModel(vocabulary=counts.vocabulary_).fit(TRAIN)
    mixture = InterpolatedLanguageModel([counts, cache], prefit=True).fit(X_valid=VALID)
    assert results[0]["test_perplexity"] == counts.perplexity(TEST)
    assert results[2]["weights"] == mixture.weights_.tolist()
    assert results[2]["valid_perplexity"] == mixture.perplexity(VALID)
    assert results[2]["test_perplexity"] == mixture.perplexity(TEST)
    assert results[5]["valid_perplexity"] <= min(result["valid_perplexity"] for result in results) + 1e-6
    assert {(result["n_words"], result["n_vocabulary"]) for result in results} == {(13, 11)}


def test_published_figures_are_printed_beside_runs_of_the_whole_text_alone(data: Path) -> None:
    results = run(data, tree="huffman", epochs=1, frequency_bins=True, n_train=0, n_valid=0, n_test=0)
    [table] = RECIPE.report(results)
    assert [row[-1] for row in table.rows] == ["141.2", "140.2", "125.7", "", "116.7", "106.6"]
    assert [row[2][:2] for row in table.rows] == ["in"] * 6
    assert "13 test words and ends" in table.notes[0]
    assert "AWD-LSTM" in table.notes[1]
    fewer = [result | {"settings": result["settings"] | {"n_train": 500}} for result in results]
    [table] = RECIPE.report(fewer)
    assert table.header[-1] == "test"
    assert len(table.notes) == 1
