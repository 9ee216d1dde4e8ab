"""Every command that reads texts has ``--encoding`` and ``--errors``, and looks at labels before it
trains.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from sklearn_hashnlp.cli import app
from sklearn_hashnlp.language import KneserNeyLanguageModel
from sklearn_hashnlp.persistence import load_model

NO_TEXTS = {"convert", "demo", "export", "info", "lm nearest", "lm sample"}


def commands(group: Any, prefix: str = "") -> dict[str, Any]:
    found = {}
    for name, command in group.commands.items():
        found |= (
            commands(command, f"{prefix}{name} ")
            if hasattr(command, "commands")
            else {f"{prefix}{name}": command}
        )
    return found


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_reads_texts_has_the_options(name: str) -> None:
    options = [option for parameter in COMMANDS[name].params for option in parameter.opts]
    if name in NO_TEXTS:
        assert "--encoding" not in options
    else:
        assert options[options.index("--encoding") + 1] == "--errors"


CONTENT = "a fine film\nwarm, très dull\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_texts_are_predicted_in_any_encoding(
    hashnlp: Any, model: Path, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "a.txt").write_bytes(CONTENT.encode(encoding))
    expected = hashnlp("predict", "-m", model, "--proba", stdin=CONTENT).out
    options = ["-m", model, "--proba", "--encoding", encoding]
    assert hashnlp("predict", tmp_path / "a.txt", *options).out == expected
    assert hashnlp("predict", *options, stdin=CONTENT.encode(encoding)).out == expected
    (tmp_path / "a.csv").write_bytes("label,text\ngood,très\nbad,long\n".encode(encoding))
    result = hashnlp("test", tmp_path / "a.csv", "-m", model, "--encoding", encoding)
    assert (result.code, "Read 2 texts" in result.err) == (0, True)


def test_errors_name_the_option(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("label,text\ngood,“très” – 5 €\n".encode("cp1252"))
    for command in ("predict", "test"):
        result = hashnlp(command, tmp_path / "a.csv", "-m", model)
        assert (result.code, result.err.count("\n")) == (1, 1)
        assert "a.csv, line 2: expected UTF-8" in result.err
        assert "--encoding cp1252" in result.err
        result = hashnlp(command, tmp_path / "a.csv", "-m", model, "--encoding", "latin-99")
        assert result.code == 2
        assert "hashnlp: --encoding: encoding must be the name of a text encoding" in result.err


def test_sentences_in_another_encoding(hashnlp: Any, tmp_path: Path) -> None:
    path, folder = tmp_path / "a.txt", tmp_path / "lm"
    path.write_bytes("the café\nthe café is\n".encode("cp1252"))
    command = [
        "lm",
        "train",
        path,
        "-m",
        folder,
        "--model-type",
        "kneser-ney",
        "--order",
        2,
        "--valid",
        path,
    ]
    result = hashnlp(*command)
    assert (result.code, "line 1: expected UTF-8" in result.err) == (1, True)
    assert hashnlp(*command, "--encoding", "cp1252").code == 0
    loaded: Any = load_model(folder)
    assert isinstance(loaded, KneserNeyLanguageModel)
    assert "café" in loaded.vocabulary_
    for name in ("score", "rank", "predict", "test"):
        result = hashnlp("lm", name, path, "-m", folder, "--encoding", "cp1252")
        assert (result.code, result.err) == (0, "")
        assert hashnlp("lm", name, path, "-m", folder).code == 1
        assert hashnlp("lm", name, path, "-m", folder, "--errors", "replace").code == 0


@pytest.mark.parametrize("command", [["sentences", "train"], ["lm", "train"]])
def test_a_dump_of_wikipedia_is_an_error(hashnlp: Any, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "dump.txt").write_text("<mediawiki>\n<page>\n", encoding="utf-8")
    result = hashnlp(*command, tmp_path / "dump.txt", "-m", tmp_path / "m")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "stream_wikipedia" in result.err


def test_escaped_rows_are_written_as_they_were_read(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    rows = "2,a\\, b C:\\\\new\n3,first\\\nsecond\n"
    quoted, plain = '1,"say \\"hi\\", you"\n', '1,say \\"hi\\"\\, you\n'
    for options, first, quoting in (
        ([], quoted, csv.QUOTE_MINIMAL),
        (["--no-quotes"], plain, csv.QUOTE_NONE),
    ):
        (tmp_path / "a.csv").write_text(f"id,text\n{first}{rows}", encoding="utf-8")
        names = [tmp_path / "a.csv", tmp_path / "out.csv"]
        result = hashnlp(
            "predict", names[0], "-m", model, "--escapechar", "\\", *options, "-o", names[1]
        )
        assert (result.code, "Read 3 texts" in result.err) == (0, True)
        files = [io.StringIO(name.read_text(encoding="utf-8"), newline="") for name in names]
        before, after = (list(csv.reader(file, escapechar="\\", quoting=quoting)) for file in files)
        assert [row[:2] for row in after] == before
        assert before[1:] == [["1", 'say "hi", you'], ["2", "a, b C:\\new"], ["3", "first\nsecond"]]


LABELS = {
    "id,text\n"
    + "".join(f"{i},text {i}\n" for i in range(30)): "no column has a usual name of a label column",
    "tweet,text\n"
    + "".join(f"{i},text {i}\n" for i in range(30)): "labels are different in the column 'tweet'",
    "label,text\n" + "\"['a', 'b']\",x\na,y\n": "is a list or an object written as text",
}


@pytest.mark.parametrize("content", LABELS)
@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_files_without_labels_are_errors(
    hashnlp: Any, small: Any, tmp_path: Path, content: str, options: list[str]
) -> None:
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    result = hashnlp("train", tmp_path / "a.csv", "-m", tmp_path / "m", *options)
    assert (result.code, LABELS[content] in result.err, "(--label" in result.err) == (1, True, True)


def test_labels_that_look_the_same_and_rejected_rows_are_noted_once(
    hashnlp: Any, small: Any, tmp_path: Path
) -> None:
    labels = ["spam", "ham", "sp\xadam", "ham"] * 3
    rows = [json.dumps({"text": "a b", "label": label, "answer": "accept"}) for label in labels]
    rows += [json.dumps({"text": "c", "label": "spam", "answer": "reject"})]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    for options in ([], ["--stream"]):
        result = hashnlp("train", tmp_path / "a.jsonl", "-m", tmp_path / "m", *options)
        assert result.code == 0
        assert result.err.count("labels that look the same") == 1
        assert result.err.count('skipped 1 rows with "answer": "reject"') == 1


def test_a_file_to_test_may_have_a_row_per_label(hashnlp: Any, small: Any, tmp_path: Path) -> None:
    for name, n_rows in (("train", 120), ("test", 30)):
        rows = "".join(f"word{i % 30} {i},topic{i % 30}\n" for i in range(n_rows))
        (tmp_path / f"{name}.csv").write_text(f"text,topic\n{rows}")
    assert hashnlp("train", tmp_path / "train.csv", "-m", tmp_path / "m").code == 0
    assert hashnlp("test", tmp_path / "test.csv", "-m", tmp_path / "m").code == 0
