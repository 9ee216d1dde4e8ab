"""``hashnlp lm rank``: the best of several sentences first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model

LINES = ["mat the on sat cat the", "the cat sat on the mat", "a zebra"]


def test_the_best_sentence_comes_first(hashnlp: Any, lm: Path, tmp_path: Path) -> None:
    indices, scores = load_model(lm).rank(LINES)
    expected = "".join(f"{score:.4f}\t{LINES[index]}\n" for index, score in zip(indices, scores, strict=True))
    assert expected.splitlines()[0].endswith("the cat sat on the mat")
    (tmp_path / "lines.txt").write_text("\n".join([LINES[0], " ", *LINES[1:]]))
    for arguments, stdin in (([], "\n".join(LINES)), ([tmp_path / "lines.txt"], None), (["-"], "\n".join(LINES))):
        result = hashnlp("lm", "rank", "--model", lm, *arguments, stdin=stdin)
        assert (result.code, result.out, result.err) == (0, expected, "")
    out = hashnlp("lm", "rank", "-m", lm, "--json", stdin="\n".join(LINES)).out
    for line, index, score in zip(out.splitlines(), indices, scores, strict=True):
        assert json.loads(line) == {"mean_log_probability": pytest.approx(score, abs=1e-5), "sentence": LINES[index]}


@pytest.mark.parametrize("stdin", ["", "\n\n"])
def test_no_sentences_are_an_error(hashnlp: Any, lm: Path, stdin: str) -> None:
    result = hashnlp("lm", "rank", "-m", lm, stdin=stdin)
    message = "hashnlp: stdin has no sentences; expected one per line, words separated by spaces.\n"
    assert (result.code, result.out, result.err) == (1, "", message)
