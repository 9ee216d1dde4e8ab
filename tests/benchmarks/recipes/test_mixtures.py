"""The recipes ``brown`` and ``ptb-table`` on tiny texts: rows are models and mixtures fitted by
hand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.commands.registry import get_recipe
from benchmarks.runner import run_recipe
from sklearn_hashnlp import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
)

TRAIN = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat saw the dog",
    "a dog",
    "a dog saw the cat",
] * 5
VALID = ["the cat sat on the rug", "no dog saw the zebra", "a cat"]
TEST = ["a dog sat on the mat", "a dog saw a dog"]
BROWN = (
    "The cat sat on a mat .\nA dog , too .\n\nThe dog saw the cat .\nA cat saw the mat .\n\n" * 8
    + "A zebu .\n"
)
LINES = [line for line in BROWN.splitlines() if line]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, sentences in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (tmp_path / f"{name}.txt").write_text("".join(f" {sentence} \n" for sentence in sentences))
    return tmp_path


def run(name: str, data: Path, **changes: Any) -> list[dict[str, Any]]:
    recipe: Any = get_recipe(name)
    return list(
        run_recipe(recipe, settings=replace(recipe.quick, data=str(data), batch_size=8, **changes))
    )


def brown(folder: Path, text: str = BROWN, **changes: Any) -> list[dict[str, Any]]:
    (folder / "brown.txt").write_text(text)
    sizes = {
        "n_train": 120,
        "n_valid": 40,
        "min_count": 6,
        "embedding_dim": 4,
        "hidden_size": 4,
        "epochs": 1,
    }
    return run("brown", folder / "brown.txt", **sizes, tree="huffman", **changes)


def split() -> list[list[str]]:
    """Return the parts of the corpus: a sentence belongs to that of its first token."""
    ends = np.cumsum([len(line.split()) for line in LINES])
    starts = np.concatenate(([0], ends[:-1]))
    return [
        [line for line, start in zip(LINES, starts, strict=True) if low <= start < high]
        for low, high in ((0, 120), (120, 160), (160, 10**9))
    ]


def test_the_words_of_brown_are_counted_in_the_whole_corpus(tmp_path: Path) -> None:
    train, _, test = split()
    words = KneserNeyLanguageModel(min_count=6).fit(LINES).vocabulary_
    assert "," in words  # eight times in the corpus, five times in the training text
    first = brown(tmp_path)[0]
    assert first["n_vocabulary"] == len(words) - 1
    assert first["test_perplexity"] == KneserNeyLanguageModel(vocabulary=words).fit(
        train
    ).perplexity(test)


def test_rows_of_brown_are_of_the_parts_of_the_corpus(tmp_path: Path) -> None:
    results = brown(tmp_path, vocabulary="train")
    train, valid, test = split()
    assert test[-1] == "A zebu ."
    counts = KneserNeyLanguageModel(min_count=6).fit(train)
    assert ("," in counts.vocabulary_, "The" in counts.vocabulary_) == (False, True)
    words = [word for line in test for word in [*line.split(), "</s>"]]
    per_token = np.exp(-counts.score_samples(test).sum() / len(" ".join(test).split()))
    assert results[0]["test_perplexity"] == counts.perplexity(test)
    assert results[0]["valid_perplexity"] == counts.perplexity(valid)
    assert np.isclose(results[0]["test_perplexity_per_token"], per_token)
    assert results[0]["test_unknown_share"] == np.mean(
        [word not in counts.vocabulary_ for word in words]
    )
    sizes = {(result["n_words"], result["n_vocabulary"]) for result in results}
    assert sizes == {(len(words), len(counts.vocabulary_) - 1)}
    assert [(" + ".join(result["models"]), result["frequency_bins"]) for result in results] == [
        ("Kneser-Ney", False),
        ("Kneser-Ney + cache", False),
        ("network", False),
        ("network + Kneser-Ney", False),
        ("network + Kneser-Ney", True),
    ]
    weights = [np.array(result["weights"]) for result in results]
    assert (weights[3].shape, weights[4].shape[1]) == ((2,), 2)
    assert (
        results[3]["valid_perplexity"] <= min(results[i]["valid_perplexity"] for i in (0, 2)) + 1e-6
    )
    cache = CacheLanguageModel(vocabulary=counts.vocabulary_).fit(train)
    mixed = InterpolatedLanguageModel([counts, cache], prefit=True).fit(X_valid=valid)
    assert results[1]["test_perplexity"] == mixed.perplexity(test)
    [table] = get_recipe("brown").report(results)
    assert f"{len(words)} test words" in table.notes[0]


def test_a_missing_or_short_corpus_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        ValueError, match=r"has 7 tokens, and brown needs more than n_train \+ n_valid = 160"
    ):
        brown(tmp_path, "The cat sat on a mat .\n")
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    with pytest.raises(ValueError, match="brown needs the Brown corpus as a text file"):
        list(run_recipe(get_recipe("brown")))


def test_rows_are_models_and_mixtures_weighted_on_validation_text(data: Path) -> None:
    results = run("ptb-table", data, hidden_size=4)
    counts = KneserNeyLanguageModel().fit(TRAIN)
    cache = CacheLanguageModel(vocabulary=counts.vocabulary_).fit(TRAIN)
    mixture = InterpolatedLanguageModel([counts, cache], prefit=True).fit(X_valid=VALID)
    assert results[0]["test_perplexity"] == counts.perplexity(TEST)
    assert results[2]["weights"] == mixture.weights_.tolist()
    assert results[2]["valid_perplexity"] == mixture.perplexity(VALID)
    assert results[2]["test_perplexity"] == mixture.perplexity(TEST)
    assert (
        results[5]["valid_perplexity"]
        <= min(result["valid_perplexity"] for result in results) + 1e-6
    )
    assert {(result["n_words"], result["n_vocabulary"]) for result in results} == {(13, 11)}
    published = {"n_train": 0, "n_valid": 0, "n_test": 0, "epochs": 1}  # only beside the whole text
    whole = [result | {"settings": result["settings"] | published} for result in results]
    [table] = get_recipe("ptb-table").report(whole)
    assert [row[-1] for row in table.rows] == ["141.2", "140.2", "125.7", "", "116.7", "106.6"]
    [table] = get_recipe("ptb-table").report(results)
    assert table.header[-1] == "test"
