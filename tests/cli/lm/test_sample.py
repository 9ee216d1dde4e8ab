"""``hashnlp lm sample``: generated sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn_hashnlp.persistence import load_model


def test_sentences_are_those_of_the_model(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).sample(3, random_state=1, start="the dog")
    arguments = ["lm", "sample", "--model", lm, "--samples", 3, "--seed", 1, "--start", "the dog"]
    result = hashnlp(*arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [" ".join(words) for words in expected]
    assert [json.loads(line) for line in hashnlp(*arguments, "--json").out.splitlines()] == expected
    assert all(line.startswith("the dog") for line in result.out.splitlines())


def test_sentences_have_at_most_max_length_words(hashnlp: Any, lm: Path) -> None:
    arguments = ["lm", "sample", "-m", lm, "-n", 9, "--seed", 0]
    assert max(len(line.split()) for line in hashnlp(*arguments).out.splitlines()) > 2
    assert max(len(line.split()) for line in hashnlp(*arguments, "--max-length", 2).out.splitlines()) == 2


def test_without_a_seed_the_sentences_differ(hashnlp: Any, lm: Path) -> None:
    one, other = (hashnlp("lm", "sample", "-m", lm, "-n", 30).out for _ in range(2))
    assert len(one.splitlines()) == 30
    assert one != other


def test_an_unknown_word_of_the_start_is_reported(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("lm", "sample", "-m", lm, "--start", "the zebra")
    assert result.code == 0
    assert result.err == "Not in the vocabulary of the model, and replaced by <unk>: 'zebra'\n"
    assert result.out.startswith("the zebra")
