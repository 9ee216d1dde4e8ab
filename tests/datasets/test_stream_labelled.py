"""Labeled files in batches: the rows of ``load_labelled``, lazily, over several files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_labelled, stream_labelled

ROWS = [("a", "one"), ("b", "two, three"), ("a", ""), ("c", "🎈 four"), ("b", "five")]


def write(folder: Path, extension: str) -> Path:
    lines = {
        "csv": "label,text\n" + "".join(f'{label},"{text}"\n' for label, text in ROWS),
        "tsv": "label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in ROWS),
        "jsonl": "".join(f'{{"label": "{label}", "text": "{text}"}}\n' for label, text in ROWS),
        "txt": "".join(f"__label__{label} {text}\n" for label, text in ROWS),
        "csv.gz": "label,text\n" + "".join(f'{label},"{text}"\n' for label, text in ROWS),
    }
    content = lines[extension].encode()
    path = folder / f"rows.{extension}"
    path.write_bytes(gzip.compress(content) if extension.endswith(".gz") else content)
    return path


def joined(paths: Any, **options: Any) -> tuple[list[str], list[Any]]:
    batches = list(stream_labelled(paths, **options))
    return [text for texts, _ in batches for text in texts], [label for _, labels in batches for label in labels]


@pytest.mark.parametrize("extension", ["csv", "tsv", "jsonl", "txt", "csv.gz"])
@pytest.mark.parametrize("batch_size", [1, 2, 5, 99])
def test_batches_joined_are_the_rows_of_the_file(tmp_path: Path, extension: str, batch_size: int) -> None:
    path = write(tmp_path, extension)
    texts, labels = load_labelled(path)
    sizes = [len(texts) for texts, _ in stream_labelled(path, batch_size=batch_size)]
    assert sizes == [min(batch_size, len(ROWS) - start) for start in range(0, len(ROWS), batch_size)]
    assert joined(path, batch_size=batch_size) == (texts, labels.tolist())


def test_several_files_are_one_stream_whatever_their_formats(tmp_path: Path) -> None:
    paths = [write(tmp_path, "csv"), str(write(tmp_path, "jsonl"))]
    texts, labels = joined(iter(paths), batch_size=4)
    assert list(zip(labels, texts, strict=True)) == ROWS * 2
    sizes = [len(labels) for _, labels in stream_labelled(paths, batch_size=4)]
    assert sizes == [4, 4, 2]  # a batch has rows of both files
    assert joined(paths, batch_size=3, multilabel=True)[1] == [[label] for label, _ in ROWS * 2]


def test_a_missing_file_is_an_error_before_the_first_batch(tmp_path: Path) -> None:
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
        file.write("a row of one field\n")
    batches = stream_labelled(path, batch_size=2)
    assert np.asarray(next(batches)[1]).tolist() == ["a", "b"]
    assert next(batches)[0] == ["", "🎈 four"]
    with pytest.raises(ValueError, match=r"rows\.csv, line 7: expected 2 fields"):
        next(batches)
