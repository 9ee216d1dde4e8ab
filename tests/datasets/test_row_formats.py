"""Rows of CSV, TSV, JSON lines and fastText files, and the errors for invalid ones."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sklearn_hashnlp.datasets._row_formats import Columns, RowFormat
from sklearn_hashnlp.datasets._row_reader import Row, RowReader


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
    assert [row.text for row in read("tsv", content, quoted=False)] == [
        '"Oh" he said',
        'unclosed "',
    ]
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


@pytest.mark.parametrize(("kind", "separator"), [("csv", ","), ("tsv", "\t")])
def test_class_numbers_without_a_header(kind: str, separator: str) -> None:
    rows = [
        ['"3"', '"Wall St. ""Bears"""', '"Short, and"'],
        ['"1"', '""', '""'],
        ["4", "naïve", "two"],
    ]
    content = "\n".join(map(separator.join, rows))
    assert [(row.text, row.labels) for row in read(kind, content)] == [
        ('Wall St. "Bears" Short, and', ("3",)),
        (" ", ("1",)),
        ("naïve two", ("4",)),
    ]
    assert read("csv", "1,one field\n") == [Row(1, "one field", ("1",))]
    assert read("csv", "1,text\nspam,Win now\n") == [Row(2, "Win now", ("spam",))]  # a header


def test_json_takes_numbers_and_booleans_as_labels() -> None:
    rows = read(
        "jsonl",
        (
            '{"text": "a", "label": 1}\n\n{"label": true, "text": "", "more": []}\n'
            '{"label": 1.5, "text": "c"}'
        ),
    )
    assert rows == [Row(1, "a", ("1",)), Row(3, "", ("true",)), Row(4, "c", ("1.5",))]


def test_fasttext() -> None:
    rows = read(
        "fasttext",
        "__label__good  very nice \r\n\n\t__label__bad\n__label__c mind the x__label__x\n",
    )
    assert rows == [
        Row(1, "very nice ", ("good",)),
        Row(3, "", ("bad",)),
        Row(4, "mind the x__label__x", ("c",)),
    ]


@pytest.mark.parametrize("space", ["\xa0", "\u2003", "\x1c", "\x85"])
def test_fasttext_splits_at_ascii_whitespace_alone(space: str) -> None:
    [row] = read("fasttext", f"__label__a{space}b {space}c{space}__label__d\n")
    assert row == Row(1, f"{space}c{space}__label__d", (f"a{space}b",))


ERRORS = {
    "csv": {
        "label,text\na,b\na,b,c\n": r"a\.file, line 3: expected 2 fields \(label, text\), got 3",
        'label,text\na,"b\nc"\na\n': r"line 4: expected 2 fields .*, got 1",
        'label,text\na,b\na,"never\nclosed\n': r"line 3: .*quotes \(unexpected end of data\)",
        "label,text\n ,b\n": r"line 2: expected a label, got an empty one",
        "label,text\na\0,b\n": r"line 2: expected a label, got 'a\\x00', which has a NUL",
        f"label,text\n{'long ' * 300},b\n": r"line 2: .*label_column swapped",
        "l\0a\0,t\0\n": r"line 1: NUL bytes in the first line\. Is the file UTF-16",
        "three,Fears for pension\n": (
            r"line 1: no column has a usual name of a text column.*'Fears.*put one in front"
        ),
        "0,1\na,b\n": r"line 1: no column has a usual name of a text column",
        '"1","a","b"\n"2","a"\n': (
            r"line 2: expected 3 fields \(class number, text, text\), got 2\."
        ),
        '"1","a\nb"\n"World","a"\n': (
            r"line 3: expected a class number, as in the first row, got 'World'"
        ),
        '"1"\n': r"line 1: expected a text and a label column, got only the column '1'",
        "label;text\n": (
            r"line 1: expected a text and a label column, got only the column 'label;text'\. Is "
            r".*--del"
        ),
        "text,a,b\n": (
            r"no column has a usual name of a label column.*\['text', 'a', 'b'\].*label_column"
        ),
        "text,label,label\n": r"2 columns are named 'label'; the label column must be unique",
    },
    "jsonl": {
        '{"text": "a"': r"line 1: expected one JSON object on each line, got invalid JSON",
        "[1]": r"line 1: expected one JSON object on each line, got a list",
        '{"text": "a", "label": "b"}\n{"text": "a"}': (
            r"line 2: expected the key 'label', got \['text'\]"
        ),
        '{"text": 1, "label": "b"}': r"expected a string under 'text', got a number",
        '{"text": "a", "label": null}': (
            r"expected a label or a list of labels under 'label', got null"
        ),
        '{"text": "a", "label": ["b", "c"]}': r"expected one label under 'label', got a list of 2",
        '{"text": "a", "label": ["b", null]}': r"expected strings or .* in the list .*, got null",
        '{"text": "a", "label": ["b", "\\ud800"]}': r"character 1 of the label is",
        '{"text": "a\\ud800", "label": "b"}': r"line 1: character 2 of the text is \\ud800",
        '{"text": "a", "label": "\\ud800b"}': r"line 1: character 1 of the label is \\ud800",
        '{"text": "a", "label": "b\\u0000"}': r"line 1: expected a label, got 'b\\x00'",
    },
    "fasttext": {
        "__label__a b\nno label\n": (
            r"line 2: expected __label__LABEL, got 'no label' without a label.*label_prefix"
        ),
        "__label__a __label__b c\n": r"expected one label, got '__label__a' and '__label__b'",
        "__label__a b\n__label__a b c\t__label__d e\n": (
            r"line 2: .*'__label__a' and '__label__d'\..*multilabel=True"
        ),
        "__label__a b\0__label__c": r"line 1: expected one label, got .* '__label__c'",
        "__label__a\0b c": r"line 1: expected a label, got 'a\\x00b'",
        "__label__ c\n": r"line 1: expected a label, got an empty one",
    },
}


@pytest.mark.parametrize(
    ("kind", "content"), [(kind, content) for kind, errors in ERRORS.items() for content in errors]
)
def test_errors_name_the_file_the_line_and_what_was_expected(kind: str, content: str) -> None:
    with pytest.raises(ValueError, match=ERRORS[kind][content]):
        read(kind, content)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            Columns(text="body"),
            r"no column 'body' for the text; the columns are \['text', 'label'\]",
        ),
        (Columns(label="text"), r"the text and the label are the same column, 'text'"),
    ],
)
def test_columns_that_a_file_lacks_are_named(columns: Columns, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read("csv", "text,label\n", columns=columns)


def test_escape_characters() -> None:
    content = (
        'label,text\na,"say \\"hi\\", \\\\o/"\nb,one\\, two\nc,first\\\nsecond\n"d","x ""y"""\n'
    )
    rows = read("csv", content, escapechar="\\")
    assert rows == [
        Row(2, 'say "hi", \\o/', ("a",)),
        Row(3, "one, two", ("b",)),
        Row(4, "first\nsecond", ("c",)),
        Row(6, 'x "y"', ("d",)),
    ]
    assert (
        read("tsv", 'label\ttext\na\t"x\\\ty"\n', quoted=False, escapechar="\\")[0].text == '"x\ty"'
    )
    for wrong in ("", "ab", '"', ",", "\n", " "):
        with pytest.raises(ValueError, match="escapechar must be one character"):
            RowFormat("csv", escapechar=wrong)
    with pytest.raises(ValueError, match="escapechar is for CSV and TSV, not for jsonl"):
        RowFormat("jsonl", escapechar="\\")


@pytest.mark.parametrize("row", ['a,"say \\"hi\\", you"', "a,one\\, two", "a,first\\\nsecond"])
def test_the_advice_for_escaped_characters_reads_them(row: str) -> None:
    with pytest.raises(ValueError, match=r"pass escapechar='\\\\'") as caught:
        read("csv", f"label,text\n{row}\n")
    assert "quoted=False" not in str(caught.value)
    assert read("csv", f"label,text\n{row}\n", escapechar="\\")[0].text in (
        'say "hi", you',
        "one, two",
        "first\nsecond",
    )


def test_rows_joined_by_an_escape_character_are_an_error_with_advice() -> None:
    rows = "a,C:\\dir\\\nb,x\n"
    with pytest.raises(
        ValueError, match=r"line 2: expected 2 fields .*, got 3\..* may have joined two rows"
    ):
        read("csv", f"label,text\n{rows}", escapechar="\\")
    assert [row.text for row in read("csv", f"label,text\n{rows}")] == ["C:\\dir\\", "x"]
    with pytest.raises(ValueError, match=r"got 3\.$"):
        read("csv", "label,text\na,b,c\n", escapechar="\\")


def test_quotes_are_ordinary_only_if_no_field_is_quoted() -> None:
    with pytest.raises(
        ValueError, match=r"Only if no field .* is enclosed in quotes, pass quoted=False"
    ):
        read("csv", 'label,text\na,"x" y\n')


def test_a_carriage_return_is_a_character_of_a_field() -> None:
    rows = read("csv", 'label,text\r\na,b\rc\r\nb,"d\re\r\nf"\r\nc,g\n')
    assert [(row.line, row.text) for row in rows] == [(2, "b\rc"), (3, "d\re\r\nf"), (5, "g")]
    assert read("csv", "label,text\na\rb,c\n")[0].labels == ("a\rb",)


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n"])
def test_the_first_line_of_excel_is_the_delimiter(first: str) -> None:
    rows = read("csv", f"{first}label;text\na;b, c\n")
    assert rows == [Row(3, "b, c", ("a",))]
    assert read("csv", f"{first}label,text\na,b; c\n", delimiter=",") == [Row(3, "b; c", ("a",))]
    assert read("csv", "sep=\t\nlabel\ttext\na\tb\n")[0].text == "b"
    with pytest.raises(ValueError, match="line 4: expected 2 fields"):
        read("csv", f"{first}label;text\na;b\nc\n")
