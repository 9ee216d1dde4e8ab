"""Rows of CSV, TSV, JSON lines and fastText files, and the errors for invalid ones."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sklearn_hashnlp.datasets._columns import Columns
from sklearn_hashnlp.datasets._row_formats import Row, RowFormat, RowReader


def read(kind: str, content: str, multilabel: bool | None = False, **options: Any) -> list[Row]:
    lines: Iterator[str] = iter(re.findall(r"[^\n]*\n|[^\n]+", content))
    return list(RowReader(lines, "a.file", RowFormat(kind, **options), multilabel=multilabel))


def test_csv_counts_the_lines_of_quoted_fields() -> None:
    rows = read("csv", 'label,text\r\na,"one\ntwo ""quoted""\n\nfour"\r\n\r\nb,\n')
    assert rows == [Row(2, 'one\ntwo "quoted"\n\nfour', ("a",)), Row(7, "", ("b",))]


def test_a_field_may_have_any_length() -> None:
    csv.field_size_limit(1000)
    [row] = read("csv", "label,text\na," + "x" * 2000)
    assert len(row.text) == 2000
    assert csv.field_size_limit() >= 2**31 - 1


def test_two_readers_at_once_share_the_raised_field_limit() -> None:
    csv.field_size_limit(1000)
    lines = ["label,text\n", "a,b\n", "a," + "x" * 2000 + "\n"]
    first, second = (iter(RowReader(lines, "a.file", RowFormat("csv"))) for _ in range(2))
    next(first)
    next(second)
    first.close()  # type: ignore[attr-defined]  # a generator
    assert len(next(second).text) == 2000


def test_a_nul_is_a_character_of_a_text() -> None:
    assert read("csv", "label,text\na,b\0c\n")[0].text == "b\0c"
    assert read("fasttext", "__label__a b\0c\n")[0].text == "b\0c"
    assert read("jsonl", json.dumps({"label": "a", "text": "b\0c"}))[0].text == "b\0c"


def test_tsv_with_quotes_as_characters() -> None:
    content = 'sentence\tlabel\n"Oh" he said\t1\nunclosed "\t0\n'
    assert [row.text for row in read("tsv", content, quoted=False)] == ['"Oh" he said', 'unclosed "']
    with pytest.raises(ValueError, match=r"line 2: .*pass quoted=False"):
        read("tsv", content)


@pytest.mark.parametrize(
    ("header", "columns", "text", "label"),
    [
        ("label,text,x,y", Columns(), "1", "0"),
        ("Sentence , LABEL", Columns(), "0", "1"),
        ("idx,kind,body", Columns(label="kind"), "2", "1"),
        ("what,kind", Columns(label="kind"), "0", "1"),
        ("kind,review", Columns(), "1", "0"),
        ("text,label,Text", Columns(text="Text"), "2", "1"),
    ],
)
def test_columns_are_chosen_by_name(header: str, columns: Columns, text: str, label: str) -> None:
    values = ",".join(str(index) for index in range(header.count(",") + 1))
    [row] = read("csv", f"{header}\n{values}\n", columns=columns)
    assert (row.text, row.labels) == (text, (label,))


def test_json_takes_numbers_and_booleans_as_labels() -> None:
    rows = read(
        "jsonl", '{"text": "a", "label": 1}\n\n{"label": true, "text": "", "more": []}\n{"label": 1.5, "text": "c"}'
    )
    assert rows == [Row(1, "a", ("1",)), Row(3, "", ("true",)), Row(4, "c", ("1.5",))]


def test_fasttext() -> None:
    rows = read("fasttext", "__label__good  very nice \r\n\n\t__label__bad\n__label__c mind the x__label__x\n")
    assert rows == [Row(1, "very nice ", ("good",)), Row(3, "", ("bad",)), Row(4, "mind the x__label__x", ("c",))]


@pytest.mark.parametrize("space", ["\xa0", "\u2003", "\x1c", "\x85"])
def test_fasttext_splits_at_ascii_whitespace_alone(space: str) -> None:
    [row] = read("fasttext", f"__label__a{space}b {space}c{space}__label__d\n")
    assert row == Row(1, f"{space}c{space}__label__d", (f"a{space}b",))


@pytest.mark.parametrize(
    ("kind", "content", "columns", "message"),
    [
        ("csv", "label,text\na,b\na,b,c\n", Columns(), r"a\.file, line 3: expected 2 fields \(label, text\), got 3"),
        ("csv", 'label,text\na,"b\nc"\na\n', Columns(), r"line 4: expected 2 fields .*, got 1"),
        ("csv", 'label,text\na,b\na,"never\nclosed\n', Columns(), r"line 3: .*quotes \(unexpected end of data\)"),
        ("csv", "label,text\n ,b\n", Columns(), r"line 2: expected a label, got an empty one"),
        ("csv", "label,text\na\rb,c\n", Columns(), r"line 2: the row .* carriage return \(\\r\).*tr '\\r' '\\n' <"),
        ("csv", "label,text\ra,b\rc,d\r", Columns(), r"line 1: the row .* carriage return \(\\r\)"),
        ("tsv", "label\ttext\ra\tb\r", Columns(), r"line 1: the row .* carriage return \(\\r\)"),
        ("csv", "label,text\na\0,b\n", Columns(), r"line 2: expected a label, got 'a\\x00', which has a NUL"),
        ("csv", f"label,text\n{'long ' * 300},b\n", Columns(), r"line 2: .*label_column swapped"),
        ("csv", "l\0a\0,t\0\n", Columns(), r"line 1: NUL bytes in the first line\. Is the file UTF-16"),
        (
            "csv",
            "3,Fears for pension\n",
            Columns(),
            r"line 1: no column has a usual name of a text column.*\['3', 'Fears.*first line.*put one in front",
        ),
        (
            "csv",
            "label;text\n",
            Columns(),
            r"line 1: expected a text and a label column, got only the column 'label;text'\. Is .*--del",
        ),
        (
            "csv",
            "text,a,b\n",
            Columns(),
            r"no column has a usual name of a label column.*\['text', 'a', 'b'\].*label_column",
        ),
        (
            "csv",
            "text,label\n",
            Columns(text="body"),
            r"no column 'body' for the text; the columns are \['text', 'label'\]",
        ),
        ("csv", "text,label,label\n", Columns(), r"2 columns are named 'label'; the label column must be unique"),
        ("csv", "text,a\n", Columns(label="text"), r"the text and the label are the same column, 'text'"),
        ("jsonl", '{"text": "a"', Columns(), r"line 1: expected one JSON object on each line, got invalid JSON"),
        ("jsonl", "[1]", Columns(), r"line 1: expected one JSON object on each line, got a list"),
        (
            "jsonl",
            '{"text": "a", "label": "b"}\n{"text": "a"}',
            Columns(),
            r"line 2: expected the key 'label', got \['text'\]",
        ),
        ("jsonl", '{"text": 1, "label": "b"}', Columns(), r"expected a string under 'text', got a number"),
        (
            "jsonl",
            '{"text": "a", "label": null}',
            Columns(),
            r"expected a label or a list of labels under 'label', got null",
        ),
        (
            "jsonl",
            '{"text": "a", "label": ["b", "c"]}',
            Columns(),
            r"expected one label under 'label', got a list of 2",
        ),
        ("jsonl", '{"text": "a", "label": ["b", null]}', Columns(), r"expected strings or .* in the list .*, got null"),
        ("jsonl", '{"text": "a", "label": ["b", "\\ud800"]}', Columns(), r"character 1 of the label is"),
        ("jsonl", '{"text": "a\\ud800", "label": "b"}', Columns(), r"line 1: character 2 of the text is \\ud800"),
        ("jsonl", '{"text": "a", "label": "\\ud800b"}', Columns(), r"line 1: character 1 of the label is \\ud800"),
        (
            "jsonl",
            '{"text": "a", "label": "b\\u0000"}',
            Columns(),
            r"line 1: expected a label, got 'b\\x00'",
        ),
        (
            "fasttext",
            "__label__a b\nno label\n",
            Columns(),
            r"line 2: expected __label__LABEL, got 'no label' without a label\. .*label_prefix",
        ),
        (
            "fasttext",
            "__label__a __label__b c\n",
            Columns(),
            r"expected one label, got '__label__a' and '__label__b'",
        ),
        (
            "fasttext",
            "__label__a b\n__label__a b c\t__label__d e\n",
            Columns(),
            r"line 2: expected one label, got '__label__a' and '__label__d'\. .* pass multilabel=True",
        ),
        ("fasttext", "__label__a b\0__label__c", Columns(), r"line 1: expected one label, got .* '__label__c'"),
        ("fasttext", "__label__a\0b c", Columns(), r"line 1: expected a label, got 'a\\x00b'"),
        ("fasttext", "__label__ c\n", Columns(), r"line 1: expected a label, got an empty one"),
    ],
)
def test_errors_name_the_file_the_line_and_what_was_expected(
    kind: str, content: str, columns: Columns, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(kind, content, columns=columns)
