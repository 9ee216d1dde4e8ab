"""Predicting the labels of texts in tables and in streams with the command line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest


def read_csv(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def test_predict_keeps_the_rows_of_a_csv_file_and_adds_columns(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "mails.csv").write_text('id,body\n1,"win a ""prize"",\nnow"\n2,thanks\n', encoding="utf-8")
    out = tmp_path / "out.csv"
    result = hashnlp("predict", "-m", spam, tmp_path / "mails.csv", "--text-column", "body", "--output", out)
    assert result.code == 0, result.err
    rows = read_csv(out.read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == ["1", "2"]
    assert [row["body"] for row in rows] == ['win a "prize",\nnow', "thanks"]
    assert [row["predicted_label"] for row in rows] == ["spam", "ham"]
    assert all(float(row["probability"]) > 0.5 for row in rows)
    assert "Read 2 texts from column body of" in result.err


def test_predict_reads_tsv_and_writes_tsv(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "mails.tsv").write_text("text\tlabel\nwin a prize\tspam\n", encoding="utf-8")
    result = hashnlp("predict", "-m", spam, tmp_path / "mails.tsv")
    assert result.code == 0, result.err
    [row] = read_csv(result.out, "\t")
    assert (row["text"], row["label"], row["predicted_label"]) == ("win a prize", "spam", "spam")


def test_predict_reads_json_lines_and_keeps_every_key(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    rows = [{"id": 7, "message": "win a prize, Zoë", "more": [1, None]}, {"message": "see you", "id": 8, "new": {}}]
    path = tmp_path / "mails.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    result = hashnlp("predict", "-m", spam, path, "--output", tmp_path / "out.jsonl.gz")
    assert result.code == 0, result.err
    written = [json.loads(line) for line in gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).splitlines()]
    assert [{key: row[key] for key in old} for row, old in zip(written, rows, strict=True)] == rows
    assert [row["predicted_label"] for row in written] == ["spam", "ham"]


def test_a_table_with_another_delimiter_is_predicted(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "mails.csv").write_text("id;text\n1;win a prize, now\n", encoding="utf-8")
    result = hashnlp("predict", "-m", spam, tmp_path / "mails.csv", "--delimiter", ";")
    assert result.code == 0, result.err
    assert read_csv(result.out, ";")[0]["predicted_label"] == "spam"
    assert result.out.splitlines()[1].startswith("1;win a prize, now;spam;")


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("label,text\nspam,win\n", "--format csv"),
        ('id\t"text"\n1\twin\n', "--format tsv"),
        ('{"text": "win a prize"}\n', "--format jsonl"),
    ],
)
def test_a_header_or_json_is_not_taken_for_a_text(
    hashnlp: Any, spam: Path, tmp_path: Path, content: str, advice: str
) -> None:
    (tmp_path / "texts.txt").write_text(content, encoding="utf-8")
    for arguments, stdin in (([tmp_path / "texts.txt"], None), ([], content)):
        result = hashnlp("predict", "-m", spam, *arguments, stdin=stdin)
        assert (result.code, result.out) == (1, "")
        assert advice in result.err
        assert hashnlp("predict", "-m", spam, *arguments, "--format", "lines", stdin=stdin).code == 0


def test_a_csv_file_without_a_text_column_is_an_error(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("first,second\na,b\n", encoding="utf-8")
    result = hashnlp("predict", "-m", spam, tmp_path / "a.csv")
    assert (result.code, result.out) == (1, "")
    assert "--text-column" in result.err


def test_the_labels_of_a_fasttext_file_are_no_words_of_its_texts(hashnlp: Any, spam: Path) -> None:
    plain = hashnlp("predict", "-m", spam, "--proba", stdin="see you\n").out
    result = hashnlp("predict", "-m", spam, "--proba", stdin="__label__spam see you\n")
    assert (result.code, result.out) == (0, plain)
    assert "has labels (__label__...)" in result.err


def test_undecodable_bytes_are_replaced_if_asked(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    content = b"text,id\nwin a pr\xefze,1\nthanks,2\n"
    (tmp_path / "a.csv").write_bytes(content)
    result = hashnlp("predict", "-m", spam, tmp_path / "a.csv")
    assert result.code == 1
    assert "--errors replace" in result.err
    result = hashnlp("predict", "-m", spam, tmp_path / "a.csv", "--errors", "replace")
    assert [row["text"] for row in read_csv(result.out)] == ["win a pr\ufffdze", "thanks"]


def test_a_stream_goes_on_after_a_bad_line_if_asked(hashnlp: Any, spam: Path) -> None:
    result = hashnlp("predict", "-m", spam, "--errors", "replace", stdin=b"win a prize\nth\xe9nks\nsee you\n")
    assert (result.code, result.out) == (0, "spam\nham\nham\n")
    stream = '{"text": "win a prize"}\nnot json\n{"text": 3}\n{"text": "see you"}\n'
    result = hashnlp("predict", "-m", spam, "--format", "jsonl", "--errors", "skip", stdin=stream)
    assert [json.loads(line)["predicted_label"] for line in result.out.splitlines()] == ["spam", "ham"]
    assert "Skipped: stdin, line 2: expected one JSON object on each line" in result.err
    assert "Skipped 2 rows" in result.err


def test_the_output_is_written_whole_and_never_over_the_texts(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "win"}\nbad\n', encoding="utf-8")
    out.write_text("old", encoding="utf-8")
    result = hashnlp("predict", "-m", spam, source, "--output", out)
    assert (result.code, out.read_text(encoding="utf-8")) == (1, "old")
    assert json.loads((tmp_path / "out.jsonl.part").read_text(encoding="utf-8"))["text"] == "win"
    assert "out.jsonl.part" in result.err
    result = hashnlp("predict", "-m", spam, source, "--output", source)
    assert "is the file of the texts" in result.err


def test_lines_become_a_table_if_the_output_is_one(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    result = hashnlp("predict", "-m", spam, "--top", 2, "--output", tmp_path / "out.csv", stdin="win, win\nthanks\n")
    assert result.code == 0, result.err
    rows = read_csv((tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert [(row["text"], row["predicted_label"]) for row in rows] == [("win, win", "spam|ham"), ("thanks", "ham|spam")]
    assert [len(row["probability"].split("|")) for row in rows] == [2, 2]


def test_a_column_is_never_replaced_by_a_prediction(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,predicted_label\nwin,?\n", encoding="utf-8")
    result = hashnlp("predict", "-m", spam, tmp_path / "a.csv")
    assert (result.code, result.out) == (1, "")
    assert "has a column 'predicted_label' already" in result.err


def test_a_table_is_written_in_the_format_of_the_output(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;text\n1;win, win\n", encoding="utf-8")
    for name in ("out.tsv", "out.jsonl"):
        result = hashnlp("predict", "-m", spam, tmp_path / "a.csv", "--delimiter", ";", "-o", tmp_path / name)
        assert result.code == 0, result.err
    [row] = read_csv((tmp_path / "out.tsv").read_text(encoding="utf-8"), "\t")
    assert (row["id"], row["text"], row["predicted_label"]) == ("1", "win, win", "spam")
    row = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert (row["id"], row["text"], row["predicted_label"]) == ("1", "win, win", "spam")
