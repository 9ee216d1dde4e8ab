"""Labels of a file are looked at as a whole: ids, lists in text, labels that look the same,
rejected rows.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.datasets import load_labelled, stream_labelled


def write(path: Path, header: str, rows: Iterable[tuple[str, str]]) -> Path:
    path.write_text(
        "".join(f"{left}\t{right}\n" for left, right in [tuple(header.split()), *rows]),
        encoding="utf-8",
    )
    return path


def test_ids_are_no_labels(tmp_path: Path) -> None:
    for n_rows in (3, 1000):
        path = write(tmp_path / "a.tsv", "id text", [(str(i), f"text {i}") for i in range(n_rows)])
        with pytest.raises(
            ValueError,
            match=r"a\.tsv, line 1: no column has a usual name of a label .*\['id', 'text'\]",
        ):
            load_labelled(path)
    path = write(tmp_path / "a.tsv", "tweet_id text", [(str(i), f"text {i}") for i in range(1000)])
    with pytest.raises(
        ValueError,
        match=r"1,000 of 1,000 labels are different in the column 'tweet_id'.*label_column",
    ):
        load_labelled(path)
    with pytest.warns(UserWarning, match=r"a\.tsv: 1,000 of 1,000 labels are different") as record:
        load_labelled(path, label_column="tweet_id")
    assert [warning.filename for warning in record] == [__file__]


@pytest.mark.parametrize("header", ["kind text", "label text"])
def test_small_files_and_files_with_many_labels_are_read(tmp_path: Path, header: str) -> None:
    for labels in (
        ["a", "b", "c"],
        [str(i) for i in range(19)],
        [str(i // 2) for i in range(2000)],
    ):
        path = write(tmp_path / "a.tsv", header, [(label, "text") for label in labels])
        assert np.asarray(load_labelled(path)[1]).tolist() == labels


@pytest.mark.parametrize(
    "label", ["['a', 'b']", '["a"]', '{"choices": ["a"]}', "{'a'}", " [ 'a']", "[0]", '{"x": 1}']
)
def test_lists_in_text_are_an_error_with_advice(tmp_path: Path, label: str) -> None:
    rows = [(json.dumps("b"), "x"), (label, "y"), ("[1, 2]", "z")]
    path = write(tmp_path / "a.tsv", "label text", rows)
    match = r"the label .* is a list or an object written as text.*label_separator"
    with pytest.raises(ValueError, match=match) as caught:
        load_labelled(path, quoted=False)
    assert "a.tsv" in str(caught.value)
    with pytest.raises(ValueError, match=match):
        list(stream_labelled(path, quoted=False))


def test_labels_with_replaced_bytes_are_an_error_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("label,text\nCafé,x\nCafè,thé\n".encode("cp1252"))
    match = r"'Caf\\ufffd' has the replacement character U\+FFFD.*encoding='cp1252'"
    with pytest.raises(ValueError, match=rf"a\.csv: .*{match}"):
        load_labelled(path, errors="replace")
    with pytest.raises(ValueError, match=match):
        list(stream_labelled(path, errors="replace"))
    assert np.asarray(load_labelled(path, encoding="cp1252")[1]).tolist() == ["Café", "Cafè"]
    path.write_bytes("label,text\na,thé\nb,x\n".encode("cp1252"))
    assert load_labelled(path, errors="replace")[0] == ["th\ufffd", "x"]


def test_brackets_alone_are_no_list(tmp_path: Path) -> None:
    labels = ["[0, 10]", "[10, 20]", "[spam]", "{x}", "[", "a[1, 2]", "[-1.5, 3]"]
    path = write(tmp_path / "a.tsv", "label text", [(label, "text") for label in labels])
    assert np.asarray(load_labelled(path)[1]).tolist() == labels


@pytest.mark.parametrize("twin", ["\ufeffspam", "spam\u200b", "sp\xadam", "ｓｐａｍ", "sp\u2060am"])
def test_labels_that_look_the_same_are_one_warning(tmp_path: Path, twin: str) -> None:
    labels = ["ham", "spam", twin, "hám"] * 5
    path = write(tmp_path / "a.tsv", "label text", [(label, "text") for label in labels])
    with pytest.warns(
        UserWarning, match=r"a\.tsv: labels that look the same .*'spam' and '.*NFKC"
    ) as record:
        assert np.asarray(load_labelled(path)[1]).tolist() == labels
    assert len(record) == 1
    assert str(record[0].message).isascii()


def test_rows_that_an_annotator_rejected_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    answers = ["accept", "reject", "ignore", "accept"]
    rows = [{"text": f"t{i}", "label": "L", "answer": answer} for i, answer in enumerate(answers)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.warns(UserWarning, match=r'a\.jsonl: skipped 2 rows with "answer": "reject"'):
        texts, _ = load_labelled(path)
    assert texts == ["t0", "t3"]
    with pytest.warns(UserWarning, match="skipped 2 rows"):
        assert [texts for texts, _ in stream_labelled(path)] == [["t0", "t3"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.asarray(load_labelled(path, label_column="answer")[1]).tolist() == answers


def test_rows_that_cannot_be_read_are_skipped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'label,text\na,b\na\nb,caf\xe9\nb,"c" d\nb,e\n')
    with pytest.warns(
        UserWarning,
        match=r"Skipped 3 rows that cannot be read, .*a\.csv, line 3: expected 2 fields",
    ) as record:
        texts, labels = load_labelled(path, errors="skip")
    assert (texts, np.asarray(labels).tolist()) == (["b", "e"], ["a", "b"])
    assert len(record) == 1
    with pytest.warns(UserWarning, match="Skipped 3 rows"):
        assert [texts for texts, _ in stream_labelled(path, errors="skip", batch_size=1)] == [
            ["b"],
            ["e"],
        ]
    with pytest.warns(UserWarning, match="Skipped 2 rows"):
        assert load_labelled(path, errors="skip", encoding="cp1252")[0] == ["b", "café", "e"]


@pytest.mark.parametrize(
    "label", ["[UI, UX]", "['s Gravenhage]", "{a,b}", "[Fixed] Bug", "{[1]}", r"['\d]"]
)
def test_labels_in_brackets_are_no_lists(tmp_path: Path, label: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'label,text\n"{label}",x\nb,y\n')
    assert np.asarray(load_labelled(path)[1]).tolist() == [label, "b"]


def test_labels_of_rows_are_counted_one_by_one(tmp_path: Path) -> None:
    rows = [
        {"text": f"x {i}", "topics": [f"t{(5 * i + j) % 45}" for j in range(5)]} for i in range(40)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(load_labelled(path)[0]) == 40
