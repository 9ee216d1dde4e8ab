"""Tables and JSON files that something is wrong with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_empty_texts_of_a_table_are_counted(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "mails.csv"
    rows = ["spam,win a prize", "ham,see you", "ham,thanks", "spam,"]
    path.write_text("\n".join(["label,text", *rows, ""]), encoding="utf-8")
    arguments = ["--model", tmp_path / "m", "--epochs", 1, "--buckets", 1000, "--set", "embedding_dim=4"]
    result = hashnlp("train", path, *arguments)
    assert result.code == 0, result.err
    assert f"Read 4 texts (1 empty) with 2 labels from columns text, label of {path}" in result.err
    path.write_text("\n".join(["label,text", *rows[:3], ""]), encoding="utf-8")
    assert "Read 3 texts with 2 labels from columns text, label" in hashnlp("train", path, *arguments).err


@pytest.mark.parametrize(
    ("text", "found"),
    [('[{"text": "a", "label": "b"}]', "got a list"), ('[\n{"text": "a", "label": "b"}\n]', "got invalid JSON")],
    ids=["one line", "indented"],
)
def test_a_json_array_is_an_error_with_its_remedy(hashnlp: Any, tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "rec.json"
    path.write_text(text, encoding="utf-8")
    result = hashnlp("train", path, "--model", tmp_path / "m")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert f"{path}, line 1: expected one JSON object on each line, {found}" in result.err
    assert 'df.to_json(path, orient="records", lines=True)' in result.err


def test_a_line_of_json_that_is_no_array_has_no_word_of_arrays(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "rec.jsonl"
    path.write_text("3\n", encoding="utf-8")
    assert hashnlp("train", path, "--model", tmp_path / "m").err.endswith("on each line, got a number.\n")
