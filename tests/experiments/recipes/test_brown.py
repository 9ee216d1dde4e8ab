"""The recipe ``brown``, on a tiny corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import InterpolatedLanguageModel, KneserNeyLanguageModel
from sklearn_hashnlp.experiments import get_recipe, run_recipe

RECIPE = get_recipe("brown")
PARAGRAPHS = (
    "The cat sat on a mat .\nA dog , too .\n\nThe dog saw the cat .\nA cat saw the mat .\n\n" * 8 + "A zebu .\n"
)
SETTINGS = replace(
    RECIPE.quick,
    n_train=120,
    n_valid=40,
    min_count=6,
    embedding_dim=4,
    hidden_size=4,
    epochs=1,
    tree="huffman",
    batch_size=8,
)


def run(folder: Path, text: str = PARAGRAPHS) -> list[dict[str, Any]]:
    (folder / "brown.txt").write_text(text)
    return list(run_recipe(RECIPE, settings=replace(SETTINGS, data=str(folder / "brown.txt"))))


def test_rows_are_of_the_parts_of_the_corpus(tmp_path: Path) -> None:
    results = run(tmp_path)
    lines = [line for line in PARAGRAPHS.splitlines() if line]
    ends = np.cumsum([len(line.split()) for line in lines])
    starts = np.concatenate(([0], ends[:-1]))
    train, valid, test = (
        [line for line, start in zip(lines, starts, strict=True) if low <= start < high]
        for low, high in ((0, 120), (120, 160), (160, 10**9))
    )
    assert test[-1] == "A zebu ."
    counts = KneserNeyLanguageModel(min_count=6).fit(train)
    assert "," not in counts.vocabulary_  # five times in the training text
    assert "The" in counts.vocabulary_
    assert results[0]["test_perplexity"] == counts.perplexity(test)
    assert results[0]["valid_perplexity"] == counts.perplexity(valid)
    total = counts.score_samples(test).sum()
    assert np.isclose(results[0]["test_perplexity_per_token"], np.exp(-total / len(" ".join(test).split())))
    words = [word for line in test for word in [*line.split(), "</s>"]]
    assert results[0]["test_unknown_share"] == np.mean([word not in counts.vocabulary_ for word in words])
    assert {(result["n_words"], result["n_vocabulary"]) for result in results} == {
        (len(words), len(counts.vocabulary_) - 1)
    }
    assert [(" + ".join(result["models"]), result["frequency_bins"]) for result in results] == [
        ("Kneser-Ney", False),
        ("network", False),
        ("network + Kneser-Ney", False),
        ("network + Kneser-Ney", True),
    ]
    weights = [np.array(result["weights"]) for result in results]
    assert weights[2].shape == (2,)
    assert weights[3].shape[1] == 2
    assert results[2]["valid_perplexity"] <= min(row["valid_perplexity"] for row in results[:2]) + 1e-6
    alone = InterpolatedLanguageModel([counts], prefit=True).fit(X_valid=valid)
    assert results[0]["weights"] == alone.weights_.tolist()
    [table] = RECIPE.report(results)
    assert [row[-1] for row in table.rows] == ["321", "268", "", "252 (with a trigram model)"]
    assert f"{len(words)} test words" in table.notes[0]


def test_a_short_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 7 tokens, and brown needs more than n_train \+ n_valid = 160"):
        run(tmp_path, "The cat sat on a mat .\n")


def test_a_corpus_that_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    with pytest.raises(ValueError, match="brown needs the Brown corpus as a text file"):
        list(run_recipe(RECIPE, settings=SETTINGS))
