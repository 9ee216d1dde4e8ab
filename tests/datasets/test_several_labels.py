"""Files with several labels per text, and labels in other forms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_labelled

COOKING = (
    "__label__sauce __label__cheese How much does potato starch affect a cheese sauce recipe?\n"
    "__label__food-safety __label__acidity Dangerous pathogens capable of growing in acidic environments\n"
    "__label__restaurant Michelin Three Star Restaurant; but if the chef is not there\n"
)


def test_several_labels_of_csv_and_json_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,tags\nx,"sauce; cheese"\ny,bread\nz,\n', encoding="utf-8")
    expected = [["sauce", "cheese"], ["bread"], []]
    assert load_labelled(tmp_path / "a.csv", label_separator=";") == (["x", "y", "z"], expected)
    rows = [{"text": text, "tags": tags} for text, tags in zip("xyz", expected, strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert load_labelled(tmp_path / "a.jsonl") == (["x", "y", "z"], expected)


def test_lists_of_labels_can_be_asked_for_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("__label__a x\n__label__b y\n", encoding="utf-8")
    assert load_labelled(path)[1].tolist() == ["a", "b"]  # type: ignore[union-attr]
    assert load_labelled(path, multilabel=True)[1] == [["a"], ["b"]]
    path.write_text(COOKING, encoding="utf-8")
    texts, labels = load_labelled(path)
    assert labels == [["sauce", "cheese"], ["food-safety", "acidity"], ["restaurant"]]
    assert texts[0] == "How much does potato starch affect a cheese sauce recipe?"
    with pytest.raises(ValueError, match=r"line 1: expected one label, got '__label__sauce' and '__label__cheese'"):
        load_labelled(path, multilabel=False)


def test_labels_have_another_prefix(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("#good nice film\n#bad dull\n", encoding="utf-8")
    texts, labels = load_labelled(path, label_prefix="#")
    assert (texts, np.asarray(labels).tolist()) == (["nice film", "dull"], ["good", "bad"])
    with pytest.raises(ValueError, match=r"line 1: expected __label__LABEL, .*label_prefix"):
        load_labelled(path)


def test_a_table_has_another_delimiter_and_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("label;text\na;caf\xe9, noir\n".encode("latin1"))
    texts, labels = load_labelled(path, delimiter=";", errors="replace")
    assert (texts, np.asarray(labels).tolist()) == (["caf\ufffd, noir"], ["a"])
