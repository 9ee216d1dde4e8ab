"""Labeled files of every format, with one label or several a text, loaded whole or streamed in
batches.
"""

from __future__ import annotations

import gzip
import json
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
    "jsonl": (
        '{"label":"a","text":"Na\\u00efve, ja?"}\n{"label":"b","text":"🎈\\tx"}\n'
        '{"label":"a","text":""}\n'
    ),
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
        ValueError,
        match=r"data\.bin: the format cannot be inferred from the file extension\. .*file_format",
    ):
        load_labelled(path)
    assert load_labelled(path, file_format="csv")[0] == TEXTS
    with pytest.raises(
        ValueError, match=r"file_format must be one of csv, tsv, jsonl, fasttext\. Got 'xml'"
    ):
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
    return [text for texts, _ in batches for text in texts], [
        label for _, labels in batches for label in labels
    ]


@pytest.mark.parametrize(
    ("extension", "batch_size"), [("csv", 1), ("tsv", 2), ("jsonl", 3), ("txt", 99)]
)
def test_batches_joined_are_the_rows_of_the_file(
    tmp_path: Path, extension: str, batch_size: int
) -> None:
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
        with pytest.raises(
            ValueError, match=f"batch_size must be an integer of at least 1\\. Got {wrong!r}"
        ):
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


COOKING = (
    "__label__sauce __label__cheese How much does potato starch affect a cheese sauce "
    "recipe?\n__label__food-safety __label__acidity Dangerous pathogens capable of growing in "
    "acidic environments\n__label__restaurant Michelin Three Star Restaurant; but if the chef is "
    "not there\n"
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
    with pytest.raises(
        ValueError, match=r"line 1: expected one label, got '__label__sauce' and '__label__cheese'"
    ):
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


def test_a_bunch_has_lines_and_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text,kind\n1,"two\nlines",a\n2,one,b\n', encoding="utf-8")
    data: Any = load_labelled(tmp_path / "a.csv", label_column="kind", return_X_y=False)
    assert (data.data, data.target.tolist(), data.lines) == (
        ["two\nlines", "one"],
        ["a", "b"],
        [2, 4],
    )
    assert (data.text_column, data.label_column) == ("text", "kind")
    (tmp_path / "a.txt").write_text(CONTENT["txt"], encoding="utf-8")
    data = load_labelled(tmp_path / "a.txt", return_X_y=False)
    assert data.text_column is None


def test_a_file_to_test_a_model_may_have_a_row_per_label(tmp_path: Path) -> None:
    rows = "".join(f"word {i},topic{i}\n" for i in range(30))
    (tmp_path / "a.csv").write_text(f"text,topic\n{rows}", encoding="utf-8")
    with pytest.raises(ValueError, match="30 of 30 labels are different"):
        load_labelled(tmp_path / "a.csv")
    assert len(load_labelled(tmp_path / "a.csv", classes=["topic0"])[0]) == 30
    with pytest.warns(UserWarning, match=r"'topic0' and 'topic0\\u200b'"):
        load_labelled(tmp_path / "a.csv", classes=np.array(["topic0\u200b"]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("label,text\n", "got a file without rows"),
        (
            "tweet,text\n" + "".join(f"{i},x\n" for i in range(30)),
            "labels are different in the column 'tweet'",
        ),
        ("label,text\n,x\n,y\n", "got no label in 2 rows"),
    ],
)
def test_a_stream_without_rows_or_labels_and_one_of_ids_are_errors(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        list(stream_labelled(tmp_path / "a.csv", label_separator=",", multilabel=True))


def test_the_progress_of_a_stream_is_that_of_each_file(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text(CONTENT["csv"], encoding="utf-8")
    list(stream_labelled(files, progress=lambda *call: calls.append(call)))
    size = files[0].stat().st_size
    assert calls == [(size, size)] * 2


def test_batches_of_fasttext_have_a_label_in_each_line_or_any_number(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("__label__a __label__b fine\n__label__a dull\n", encoding="utf-8")
    assert list(stream_labelled(path, multilabel=None)) == [
        (["fine", "dull"], [["a", "b"], ["a"]]),
    ]
    path.write_text("__label__a fine\ndull\n", encoding="utf-8")
    assert list(stream_labelled(path, multilabel=True)) == [(["fine", "dull"], [["a"], []])]
    with pytest.raises(ValueError, match="line 2: expected __label__LABEL, got 'dull' without"):
        list(stream_labelled(path, multilabel=None))
