"""A training that diverges is an error, and the old model stays."""

from __future__ import annotations

import re

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", ""] * 5


def test_a_language_model_that_diverges_is_an_error_and_the_old_one_stays(hashnlp, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    sizes = ("--set", "hidden_size=8", "--set", "batch_size=8")
    command = ("lm", "train", tmp_path / "text.txt", "--model", tmp_path / "lm", *sizes)
    assert hashnlp(*command, "--epochs", 1).code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "lm").iterdir()}
    result = hashnlp(
        *command, "--epochs", 1, "--learning-rate", 1e5, "--log-every", 1, "--valid", tmp_path / "text.txt"
    )
    assert result.code == 1
    assert "diverged" in result.err
    assert "learning_rate" in result.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "lm").iterdir()} == before
    assert max(map(len, re.findall(r"\d+", result.out + result.err))) < 20
