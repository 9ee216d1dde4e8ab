"""``hashnlp lm predict`` and ``continue``: next words and whole sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model

LINES = ["the cat", "", "a dog saw", "zebra"]


def test_each_line_has_its_next_word(hashnlp: Any, lm: Path, tmp_path: Path) -> None:
    model = load_model(lm)
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    for search in ("exact", "greedy"):
        expected = "".join(f"{word}\n" for word in model.predict(LINES, search).tolist())
        arguments = ["lm", "predict", "-m", lm, "--search", search]
        for source, stdin in (([tmp_path / "lines.txt"], None), ([], "\n".join(LINES))):
            result = hashnlp(*arguments, *source, stdin=stdin)
            assert (result.code, result.out, result.err) == (0, expected, "")


def test_top_probabilities_and_json(hashnlp: Any, lm: Path) -> None:
    [row] = load_model(lm).predict_topk(["the cat"], 2)
    fields = [field for word, probability in row for field in (word, f"{probability:.4f}")]
    assert hashnlp("lm", "predict", "-m", lm, "--top", 2, "--proba", stdin="the cat").out == "\t".join(fields) + "\n"
    assert hashnlp("lm", "predict", "-m", lm, "-k", 2, stdin="the cat").out == f"{row[0][0]}\t{row[1][0]}\n"
    entries = [{"word": word, "probability": pytest.approx(probability)} for word, probability in row]
    assert hashnlp("lm", "predict", "-m", lm, "--json", stdin="the cat").json == entries[0]
    out = hashnlp("lm", "predict", "-m", lm, "--json", "--top", 2, stdin="the cat").json
    assert out == entries[0] | {"top": entries}


@pytest.mark.parametrize("arguments", [["--top", 0], ["--top", 2, "--search", "greedy"], ["-p", "--search", "greedy"]])
def test_wrong_usage(hashnlp: Any, lm: Path, arguments: list[Any]) -> None:
    assert hashnlp("lm", "predict", "-m", lm, *arguments, stdin="a b").code == 2


def test_sentences_continue_their_lines(hashnlp: Any, lm: Path) -> None:
    arguments = ["lm", "continue", "-m", lm, "--seed", 0, "--samples", 2]
    out = hashnlp(*arguments, stdin="the cat\na dog\n").out
    assert [
        line.startswith(start) for line, start in zip(out.splitlines(), ["the cat"] * 2 + ["a dog"] * 2, strict=True)
    ]
    assert out == hashnlp(*arguments, stdin="the cat\na dog\n").out
    words = hashnlp(*arguments, "--json", "--max-length", 3, stdin="the cat\n").out.splitlines()
    assert [json.loads(line)[:2] for line in words] == [["the", "cat"]] * 2
    assert max(len(json.loads(line)) for line in words) <= 3
