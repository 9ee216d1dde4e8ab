"""Loading labeled files of every format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_labelled

TEXTS = ["Naïve, ja?", "🎈\tx", ""]
LABELS = ["a", "b", "a"]
CONTENT = {
    "csv": 'label,text\na,"Naïve, ja?"\nb,🎈\tx\na,\n',
    "tsv": 'label\ttext\na\tNaïve, ja?\nb\t"🎈\tx"\na\t\n',
    "jsonl": '{"label":"a","text":"Na\\u00efve, ja?"}\n{"label":"b","text":"🎈\\tx"}\n{"label":"a","text":""}\n',
    "txt": "__label__a Naïve, ja?\n__label__b 🎈\tx\n__label__a\n",
}


@pytest.mark.parametrize("extension", sorted(CONTENT))
@pytest.mark.parametrize("compressed", [False, True])
def test_every_format_gives_the_same_rows(tmp_path: Path, extension: str, compressed: bool) -> None:
    content = CONTENT[extension].encode()
    path = tmp_path / (f"Data.{extension.upper()}" + (".gz" if compressed else ""))
    path.write_bytes(gzip.compress(content) if compressed else content)
    texts, labels = load_labelled(str(path))
    assert texts == TEXTS
    assert labels.tolist() == LABELS
    assert isinstance(labels, np.ndarray)
    assert labels.dtype.kind == "U"


def test_file_format_replaces_the_extension(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_text(CONTENT["csv"], encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"data\.bin: the format cannot be inferred from the file extension\. .*file_format"
    ):
        load_labelled(path)
    assert load_labelled(path, file_format="csv")[0] == TEXTS
    with pytest.raises(ValueError, match=r"file_format must be one of csv, tsv, jsonl, fasttext\. Got 'xml'"):
        load_labelled(path, file_format="xml")


def test_columns_and_quotes_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('kind\tsaid\tlabel\tx\nk\t"Oh" my\t0\t1\n', encoding="utf-8")
    texts, labels = load_labelled(path, text_column="said", label_column="kind", quoted=False)
    assert texts == ['"Oh" my']
    assert labels.tolist() == ["k"]


def test_fasttext_has_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(CONTENT["txt"], encoding="utf-8")
    with pytest.raises(ValueError, match="a fastText file has no columns"):
        load_labelled(path, text_column="text")


@pytest.mark.parametrize("content", ["", "\n\n", "label,text\n"])
def test_a_file_without_rows(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.csv: expected labeled texts, got a file without rows"):
        load_labelled(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv does not exist"):
        load_labelled(tmp_path / "nothing.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_labelled(tmp_path)


def test_progress_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "a,b\n" * 3000, encoding="utf-8")
    seen: list[int] = []
    load_labelled(path, progress=lambda done, size: seen.append(done))
    assert seen[-1] == path.stat().st_size
    assert len(seen) == 4
