"""``hashnlp lm nearest``: similar words and analogies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model


def test_similar_words(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).most_similar("cat", n=3)
    result = hashnlp("lm", "nearest", "--model", lm, "cat", "--top", 3)
    assert (result.code, result.err) == (0, "")
    assert result.out == "".join(f"{word}\t{similarity:.4f}\n" for word, similarity in expected)
    similar = hashnlp("lm", "nearest", "-m", lm, "cat", "-k", 3, "--json").json
    assert [(entry["word"], entry["similarity"]) for entry in similar] == expected


def test_analogies(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).analogy("cat", "mat", "dog", n=2)
    result = hashnlp("lm", "nearest", "-m", lm, "--analogy", "cat", "mat", "dog", "-k", 2)
    assert result.out == "".join(f"{word}\t{similarity:.4f}\n" for word, similarity in expected)


@pytest.mark.parametrize("arguments", [["catt"], ["--analogy", "cat", "catt", "dog"]])
def test_an_unknown_word_is_an_error_of_one_line(hashnlp: Any, lm: Path, arguments: list[str]) -> None:
    result = hashnlp("lm", "nearest", "-m", lm, *arguments)
    message = "hashnlp: The word 'catt' is not in the vocabulary of the model. Did you mean 'cat'"
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) == 1
    result = hashnlp("lm", "nearest", "-m", lm, "xyz")
    assert result.err == "hashnlp: The word 'xyz' is not in the vocabulary of the model.\n"


@pytest.mark.parametrize("embedding", [("hash", 100, 10), "sgnn"])
def test_embeddings_without_a_vocabulary_have_vectors_of_all_words(
    hashnlp: Any, tmp_path: Path, embedding: Any
) -> None:
    model = HsigmoidLanguageModel(embedding=embedding, embedding_dim=4, max_epochs=1)
    save_model(model.fit(["the cat sat on the mat"]), tmp_path / "m")
    assert len(hashnlp("lm", "nearest", "-m", tmp_path / "m", "zebra", "-k", 2).out.splitlines()) == 2


@pytest.mark.parametrize("arguments", [[], ["cat", "--analogy", "cat", "mat", "dog"], ["cat", "--top", 0]])
def test_wrong_usage(hashnlp: Any, lm: Path, arguments: list[Any]) -> None:
    assert hashnlp("lm", "nearest", "-m", lm, *arguments).code == 2
