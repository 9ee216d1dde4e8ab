"""Labeled files of every format, loaded whole or streamed in batches."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_labelled, stream_labelled

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


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv does not exist"):
        load_labelled(tmp_path / "nothing.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_labelled(tmp_path)


def write(folder: Path, extension: str) -> Path:
    path = folder / f"rows.{extension}"
    path.write_text(CONTENT[extension], encoding="utf-8")
    return path


def joined(paths: Any, **options: Any) -> tuple[list[str], list[Any]]:
    batches = list(stream_labelled(paths, **options))
    return [text for texts, _ in batches for text in texts], [label for _, labels in batches for label in labels]


@pytest.mark.parametrize(("extension", "batch_size"), [("csv", 1), ("tsv", 2), ("jsonl", 3), ("txt", 99)])
def test_batches_joined_are_the_rows_of_the_file(tmp_path: Path, extension: str, batch_size: int) -> None:
    path = write(tmp_path, extension)
    sizes = [len(texts) for texts, _ in stream_labelled(path, batch_size=batch_size)]
    assert sizes == [min(batch_size, 3 - start) for start in range(0, 3, batch_size)]
    assert joined(path, batch_size=batch_size) == (TEXTS, LABELS)


def test_several_files_are_one_stream_whatever_their_formats(tmp_path: Path) -> None:
    paths = [write(tmp_path, "csv"), str(write(tmp_path, "jsonl"))]
    assert joined(iter(paths), batch_size=4) == (TEXTS * 2, LABELS * 2)
    sizes = [len(labels) for _, labels in stream_labelled(paths, batch_size=4)]
    assert sizes == [4, 2]  # a batch has rows of both files
    assert joined(paths, batch_size=3, multilabel=True)[1] == [[label] for label in LABELS * 2]


def test_wrong_arguments_are_an_error_before_the_first_batch(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv does not exist"):
        stream_labelled([write(tmp_path, "csv"), tmp_path / "nothing.csv"])
    with pytest.raises(ValueError, match=r"paths must be one file or several\. Got none"):
        stream_labelled([])
    for wrong in (0, -1, 2.5, "3", None):
        with pytest.raises(ValueError, match=f"batch_size must be an integer of at least 1\\. Got {wrong!r}"):
            stream_labelled(tmp_path, batch_size=wrong)  # type: ignore[arg-type]


def test_rows_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "csv")
    with path.open("a", encoding="utf-8") as file:
        file.write("c,d\na row of one field\n")
    batches = stream_labelled(path, batch_size=2)
    assert np.asarray(next(batches)[1]).tolist() == ["a", "b"]
    assert next(batches)[0] == ["", "d"]
    with pytest.raises(ValueError, match=r"rows\.csv, line 6: expected 2 fields"):
        next(batches)
