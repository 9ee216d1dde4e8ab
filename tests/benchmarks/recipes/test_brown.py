"""The recipe ``brown``, on a tiny corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.commands.registry import get_recipe
from benchmarks.runner import run_recipe
from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel

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


LINES = [line for line in PARAGRAPHS.splitlines() if line]


def run(folder: Path, text: str = PARAGRAPHS, **changes: Any) -> list[dict[str, Any]]:
    (folder / "brown.txt").write_text(text)
    return list(run_recipe(RECIPE, settings=replace(SETTINGS, data=str(folder / "brown.txt"), **changes)))


def split() -> list[list[str]]:
    """The parts of the corpus: a sentence belongs to that of its first token."""
    ends = np.cumsum([len(line.split()) for line in LINES])
    starts = np.concatenate(([0], ends[:-1]))
    return [
        [line for line, start in zip(LINES, starts, strict=True) if low <= start < high]
        for low, high in ((0, 120), (120, 160), (160, 10**9))
    ]


def test_words_are_counted_in_the_whole_corpus(tmp_path: Path) -> None:
    train, _, test = split()
    words = KneserNeyLanguageModel(min_count=6).fit(LINES).vocabulary_
    assert "," in words  # eight times in the corpus, five times in the training text
    counts = KneserNeyLanguageModel(vocabulary=words).fit(train)
    first = run(tmp_path)[0]
    assert first["n_vocabulary"] == len(words) - 1
    assert first["test_perplexity"] == counts.perplexity(test)


def test_rows_are_of_the_parts_of_the_corpus(tmp_path: Path) -> None:
    results = run(tmp_path, vocabulary="train")
    train, valid, test = split()
    assert test[-1] == "A zebu ."
    counts = KneserNeyLanguageModel(min_count=6).fit(train)
    assert "," not in counts.vocabulary_
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
        ("Kneser-Ney + cache", False),
        ("network", False),
        ("network + Kneser-Ney", False),
        ("network + Kneser-Ney", True),
    ]
    weights = [np.array(result["weights"]) for result in results]
    assert weights[3].shape == (2,)
    assert weights[4].shape[1] == 2
    assert results[3]["valid_perplexity"] <= min(row["valid_perplexity"] for row in (results[0], results[2])) + 1e-6
    cache = CacheLanguageModel(vocabulary=counts.vocabulary_).fit(train)
    mixed = InterpolatedLanguageModel([counts, cache], prefit=True).fit(X_valid=valid)
    assert results[1]["test_perplexity"] == mixed.perplexity(test)
    alone = InterpolatedLanguageModel([counts], prefit=True).fit(X_valid=valid)
    assert results[0]["weights"] == alone.weights_.tolist()
    [table] = RECIPE.report(results)
    assert f"{len(words)} test words" in table.notes[0]


def test_published_figures_are_printed_beside_runs_of_their_text_alone(tmp_path: Path) -> None:
    results = run(tmp_path)
    [table] = RECIPE.report(results)
    assert table.header[-1] == "test, per token"
    assert len(table.notes) == 1
    defaults = {"n_train": 800_000, "n_valid": 200_000, "min_count": 4, "vocabulary": "corpus"}
    whole = [result | {"settings": result["settings"] | defaults} for result in results]
    [table] = RECIPE.report(whole)
    assert [row[-1] for row in table.rows] == ["321", "", "268", "", "252 (with a trigram model)"]
    assert table.notes[-1].startswith("Published: ")
    train = [result | {"settings": result["settings"] | {"vocabulary": "train"}} for result in whole]
    assert RECIPE.report(train)[0].header[-1] == "test, per token"


def test_a_short_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 7 tokens, and brown needs more than n_train \+ n_valid = 160"):
        run(tmp_path, "The cat sat on a mat .\n")


def test_a_corpus_that_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    with pytest.raises(ValueError, match="brown needs the Brown corpus as a text file"):
        list(run_recipe(RECIPE, settings=SETTINGS))
