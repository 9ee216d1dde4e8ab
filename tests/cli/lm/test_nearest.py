"""``hashnlp lm nearest``: similar words and analogies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model


def test_similar_words(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).most_similar("cat", n=3)
    result = hashnlp("lm", "nearest", "--model", lm, "cat", "--number", 3)
    assert (result.code, result.err) == (0, "")
    assert result.out == "".join(f"{word}\t{cosine:.4f}\n" for word, cosine in expected)
    found = hashnlp("lm", "nearest", "-m", lm, "cat", "-n", 3, "--json").json
    assert [(entry["word"], entry["cosine"]) for entry in found] == expected


def test_analogies(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).analogy("cat", "mat", "dog", n=2)
    result = hashnlp("lm", "nearest", "-m", lm, "--analogy", "cat", "mat", "dog", "-n", 2)
    assert result.out == "".join(f"{word}\t{cosine:.4f}\n" for word, cosine in expected)


@pytest.mark.parametrize("arguments", [["catt"], ["--analogy", "cat", "catt", "dog"]])
def test_a_word_that_is_not_known_is_one_line(hashnlp: Any, lm: Path, arguments: list[str]) -> None:
    result = hashnlp("lm", "nearest", "-m", lm, *arguments)
    message = "hashnlp: The model does not know the word 'catt': it is none of its words. Did you mean 'cat'"
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) == 1
    result = hashnlp("lm", "nearest", "-m", lm, "xyz")
    assert result.err == "hashnlp: The model does not know the word 'xyz': it is none of its words.\n"


@pytest.mark.parametrize("embedding", ["hash", "sgnn"])
def test_vectors_of_every_word(hashnlp: Any, tmp_path: Path, embedding: str) -> None:
    model = HsigmoidLanguageModel(embedding=embedding, n_embeddings=100, n_buckets=10, embedding_dim=4, max_epochs=1)
    save_model(model.fit(["the cat sat on the mat"]), tmp_path / "m")
    assert len(hashnlp("lm", "nearest", "-m", tmp_path / "m", "zebra", "-n", 2).out.splitlines()) == 2


@pytest.mark.parametrize("arguments", [[], ["cat", "--analogy", "cat", "mat", "dog"], ["cat", "--number", 0]])
def test_wrong_usage(hashnlp: Any, lm: Path, arguments: list[Any]) -> None:
    assert hashnlp("lm", "nearest", "-m", lm, *arguments).code == 2
