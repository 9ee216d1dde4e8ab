"""``hashnlp lm sample``: sentences that the model makes up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn_hashnlp.persistence import load_model


def test_sentences_are_those_of_the_model(hashnlp: Any, lm: Path) -> None:
    expected = load_model(lm).sample(3, random_state=1, start="the dog")
    arguments = ["lm", "sample", "--model", lm, "--number", 3, "--seed", 1, "--start", "the dog"]
    result = hashnlp(*arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [" ".join(words) for words in expected]
    assert [json.loads(line) for line in hashnlp(*arguments, "--json").out.splitlines()] == expected
    assert all(line.startswith("the dog") for line in result.out.splitlines())


def test_a_sentence_is_cut_off(hashnlp: Any, lm: Path) -> None:
    arguments = ["lm", "sample", "-m", lm, "-n", 9, "--seed", 0]
    assert max(len(line.split()) for line in hashnlp(*arguments).out.splitlines()) > 2
    assert max(len(line.split()) for line in hashnlp(*arguments, "--max-length", 2).out.splitlines()) == 2


def test_without_a_seed_others_each_time(hashnlp: Any, lm: Path) -> None:
    one, other = (hashnlp("lm", "sample", "-m", lm, "-n", 30).out for _ in range(2))
    assert len(one.splitlines()) == 30
    assert one != other


def test_a_start_that_is_not_known_is_told(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("lm", "sample", "-m", lm, "--start", "the zebra")
    assert result.code == 0
    assert result.err == "The model does not know 'zebra' and takes it for <unk>.\n"
    assert result.out.startswith("the zebra")
