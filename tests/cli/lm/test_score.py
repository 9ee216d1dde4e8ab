"""``hashnlp lm score``: log-probabilities and perplexity."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model

LINES = ["the cat sat on the mat", "mat the on sat cat the", "a zebra"]


def test_each_sentence_has_its_log_probability(hashnlp: Any, lm: Path, tmp_path: Path) -> None:
    scores = load_model(lm).score_samples(LINES)
    expected = "".join(f"{score:.4f}\t{line}\n" for score, line in zip(scores, LINES, strict=True))
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    for arguments, stdin in (([], "\n".join(LINES)), ([tmp_path / "lines.txt"], None), (["-"], "\n".join(LINES))):
        result = hashnlp("lm", "score", "--model", lm, *arguments, stdin=stdin)
        assert (result.code, result.out, result.err) == (0, expected, "")
    assert scores[0] > scores[1]
    out = hashnlp("lm", "score", "-m", lm, "--json", stdin="\n".join(LINES)).out
    for line, score, text in zip(out.splitlines(), scores, LINES, strict=True):
        assert json.loads(line) == {"log_probability": pytest.approx(score, abs=1e-5), "sentence": text}


def test_a_blank_line_gives_a_blank_line(hashnlp: Any, lm: Path) -> None:
    out = hashnlp("lm", "score", "-m", lm, stdin="\na cat\n \na dog\n").out.split("\n")
    assert [line.split("\t")[-1] for line in out] == ["", "a cat", "", "a dog", ""]
    out = hashnlp("lm", "score", "-m", lm, "--json", stdin="\n").json
    assert out == {"log_probability": None, "sentence": ""}


def test_perplexity_of_all_lines(hashnlp: Any, lm: Path, sentences: Path) -> None:
    expected = load_model(lm).perplexity(sentences)
    result = hashnlp("lm", "score", "-m", lm, sentences, "--perplexity", "--quiet")
    assert (result.code, result.out) == (0, f"{expected:.4f}\n")
    report = hashnlp("lm", "score", "-m", lm, "--perplexity", "--json", stdin=sentences.read_text()).json
    assert report["perplexity"] == expected
    assert report["mean_log_probability"] == pytest.approx(-math.log(expected))


def test_a_sentence_too_short_to_be_scored_has_nan(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(order=5, embedding_dim=2, hidden_size=2, max_epochs=1, padding="reference")
    save_model(model.fit(["I have a dream that one day"]), tmp_path / "m")
    assert hashnlp("lm", "score", "-m", tmp_path / "m", stdin="I have").out == "nan\tI have\n"
    assert hashnlp("lm", "score", "-m", tmp_path / "m", "--json", stdin="I have").json["log_probability"] is None
    result = hashnlp("lm", "score", "-m", tmp_path / "m", "--perplexity", stdin="I have")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert "too short" in result.err


@pytest.mark.parametrize("stdin", ["", "\n\n"])
def test_perplexity_of_no_sentence_is_an_error(hashnlp: Any, lm: Path, stdin: str) -> None:
    result = hashnlp("lm", "score", "-m", lm, "--perplexity", stdin=stdin)
    message = "hashnlp: stdin has no sentences; expected one per line, words separated by spaces.\n"
    assert (result.code, result.out, result.err) == (1, "", message)
    assert hashnlp("lm", "score", "-m", lm, stdin=stdin).out == stdin


def test_a_model_that_reads_across_sentences_reads_all_lines_as_one_text(hashnlp: Any, tmp_path: Path) -> None:
    sizes = {"embedding_dim": 4, "hidden_size": 4, "max_epochs": 3, "batch_size": 8, "random_state": 0}
    model = HsigmoidLanguageModel(**sizes, far_context=9, across_sentences=True).fit(LINES * 9)
    save_model(model, tmp_path / "m")
    lines = LINES * 670  # of which the command reads 2000 at a time
    out = hashnlp("lm", "score", "-m", tmp_path / "m", stdin="\n".join(lines)).out
    scores = [line.split("\t")[0] for line in out.splitlines()]
    assert scores == [f"{score:.4f}" for score in model.score_samples(lines)]
    assert scores[2000] != f"{model.score_samples([lines[2000]])[0]:.4f}"
