"""``hashnlp predict``: one line of output for each line of input."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model

TEXTS = "a fine film\n\nlong and dull\r\nfunny"


def test_labels_from_stdin_and_file_agree(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    expected = load_model(model).predict(["a fine film", "", "long and dull", "funny"]).tolist()
    (tmp_path / "texts.txt").write_bytes(TEXTS.encode())
    (tmp_path / "texts.gz").write_bytes(gzip.compress(TEXTS.encode()))
    for arguments in (["-"], [], [tmp_path / "texts.txt"], [tmp_path / "texts.gz"]):
        result = hashnlp("predict", "--model", model, *arguments, stdin=TEXTS.encode())
        assert result.code == 0, result.err
        assert result.out.splitlines() == expected
        assert result.err == ""
    result = hashnlp("predict", "--model", model, stdin="")
    assert (result.code, result.out) == (0, "")


def test_top_and_proba(hashnlp: Any, model: Path) -> None:
    [row] = load_model(model).predict_proba(["a fine film"]).tolist()
    bad, good = row
    out = hashnlp("predict", "--model", model, "--proba", stdin="a fine film").out
    assert out == f"good\t{good:.4f}\n"
    out = hashnlp("predict", "--model", model, "--top", 9, "--proba", stdin="a fine film").out
    assert out == f"good\t{good:.4f}\tbad\t{bad:.4f}\n"
    assert (
        hashnlp("predict", "--model", model, "--top", 2, stdin="a fine film").out == "good\tbad\n"
    )
    answer = hashnlp("predict", "--model", model, "--json", stdin="a fine film").json
    assert answer == {"label": "good", "probability": good}
    answer = hashnlp("predict", "--model", model, "--json", "--top", 2, stdin="a fine film").json
    assert [entry["label"] for entry in answer["top"]] == ["good", "bad"]


def test_a_threshold_omits_labels_but_no_lines(hashnlp: Any, model: Path) -> None:
    texts = ["a fine film", "nothing known here", "so warm, so dull"]
    probabilities = load_model(model).predict_proba(texts)
    for threshold in (0.0, float(probabilities[0].max()), 0.3, 1.0):
        for top in (None, 1, 2):
            options = ["--threshold", repr(threshold), *([] if top is None else ["--top", top])]
            expected = []
            for bad, good in probabilities.tolist():
                both = sorted([("bad", bad), ("good", good)], key=lambda pair: -pair[1])
                expected.append(
                    [(label, share) for label, share in both[: top or 2] if share >= threshold]
                )
            out = hashnlp("predict", "--model", model, *options, stdin="\n".join(texts)).out
            assert out == "".join("\t".join(label for label, _ in line) + "\n" for line in expected)
            out = hashnlp(
                "predict", "--model", model, *options, "--json", stdin="\n".join(texts)
            ).out
            for line, predicted in zip(map(json.loads, out.splitlines()), expected, strict=True):
                assert (line["label"], line["probability"]) == (
                    predicted[0] if predicted else (None, None)
                )
                assert line["top"] == [
                    {"label": label, "probability": share} for label, share in predicted
                ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["--model", "nowhere"], b"", "No model in 'nowhere': the folder does not exist."),
        (["--model", "file"], b"", "No model in 'file': it is a file, not a folder."),
        (["nothing.txt"], b"", "nothing.txt does not exist."),
        (["."], b"", ". is a folder; expected a text file."),
        (["texts.csv"], b"first,second\na,b\n", "--text-column"),
        (["texts.csv"], b"text,predicted_label\nwin,?\n", "has a column 'predicted_label' already"),
        (["texts.csv"], b"text,id\nwin a pr\xefze,1\n", "--errors replace"),
        (["texts.jsonl", "-o", "texts.jsonl"], b"{}", "is the file of the texts"),
        (["-o", "no/a.txt"], b"win\n", "there is no folder no."),
    ],
)
def test_errors_are_one_line(
    hashnlp: Any,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: Any,
    content: bytes,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("file", "texts.csv", "texts.jsonl"):
        Path(name).write_bytes(content)
    arguments = arguments if "--model" in arguments else ["--model", model, *arguments]
    result = hashnlp("predict", *arguments, stdin=content)
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert message in result.err
    assert result.err.startswith("hashnlp: ")


@pytest.mark.parametrize("where", ["stdin", "file"])
def test_lines_before_an_invalid_one_are_predicted(
    hashnlp: Any, model: Path, tmp_path: Path, where: str
) -> None:
    content = b"a fine film\ndull and long\nb\xe9d\nfunny\n"
    path = tmp_path / "texts.txt"
    path.write_bytes(content)
    result = hashnlp(
        "predict", "--model", model, *([path] if where == "file" else []), stdin=content
    )
    assert (result.code, result.out) == (1, "good\nbad\n")
    assert "line 3: expected UTF-8, " in result.err
    assert "--errors replace" in result.err
    assert result.err.count("\n") == 1


def read_rows(text: str, name: str, delimiter: str) -> list[dict[str, Any]]:
    if name.endswith(("jsonl", "json")):
        return [json.loads(line) for line in text.splitlines()]
    return list(
        csv.DictReader(io.StringIO(text), delimiter="\t" if name.endswith("tsv") else delimiter)
    )


SEMICOLONS = "id;text\n1;fine, warm\n2;dull\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "output"),
    [
        ("a.csv", 'id,body\n1,"a ""fine"",\nfilm"\n2,dull\n', ["--text-column", "body"], "out.csv"),
        ("a.tsv", "label\ttext\ngood\tfine film\n?\tdull\n", [], None),
        ("a.csv", SEMICOLONS, ["--delimiter", ";"], None),
        (
            "a.jsonl",
            '{"id": 1, "message": "a fine film, Zoë", "x": [null]}\n{"message": "dull"}\n',
            [],
            None,
        ),
    ],
    ids=["csv", "tsv", "semicolons", "jsonl"],
)
def test_a_table_keeps_its_rows_and_gets_two_columns(
    hashnlp: Any,
    model: Path,
    tmp_path: Path,
    name: str,
    content: str,
    options: list[Any],
    output: str | None,
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    to_file = [] if output is None else ["--output", tmp_path / output]
    result = hashnlp("predict", "-m", model, tmp_path / name, *options, *to_file)
    assert result.code == 0, result.err
    assert "Read 2 texts from column " in result.err
    written = result.out if output is None else (tmp_path / output).read_text(encoding="utf-8")
    delimiter = options[-1] if "--delimiter" in options else ","
    rows = read_rows(written, output or name, delimiter)
    assert [row.pop("predicted_label") for row in rows] == ["good", "bad"]
    assert all(float(row.pop("probability")) > 0.5 for row in rows)
    assert rows == read_rows(content, name, delimiter)


def test_rows_are_written_with_the_delimiter_of_a_first_line(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f"sep=;\n{SEMICOLONS}", encoding="utf-8")
    assert (
        hashnlp("predict", "-m", model, tmp_path / "a.csv", "--output", tmp_path / "out.csv").code
        == 0
    )
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split(";") == ["id", "text", "predicted_label", "probability"]
    assert lines[1].split(";")[:3] == ["1", "fine, warm", "good"]


def test_compressed_json_lines_are_read_and_written(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a fine film"}'))
    assert (
        hashnlp(
            "predict", "-m", model, tmp_path / "a.jsonl.gz", "--output", tmp_path / "out.jsonl.gz"
        ).code
        == 0
    )
    assert (
        json.loads(gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()))["predicted_label"]
        == "good"
    )


def test_several_labels_of_a_row_are_in_one_field(hashnlp: Any, model: Path) -> None:
    table = 'text\n"fine, warm"\ndull\n'
    out = hashnlp("predict", "-m", model, "--top", 2, "--format", "csv", stdin=table).out
    rows = read_rows(out, "csv", ",")
    assert [(row["text"], row["predicted_label"]) for row in rows] == [
        ("fine, warm", "good|bad"),
        ("dull", "bad|good"),
    ]
    assert [len(row["probability"].split("|")) for row in rows] == [2, 2]


def test_several_labels_are_separated_by_tabs(hashnlp: Any, tagger: Path) -> None:
    out = hashnlp(
        "predict", "--model", tagger, stdin="a cheese sauce\nfresh bread\n"
    ).out.splitlines()
    assert [set(line.split("\t")) for line in out] == [{"sauce", "cheese"}, {"bread"}]


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("label,text\nspam,win\n", "--format csv"),
        ('id\t"text"\n1\twin\n', "--format tsv"),
        ('{"text": "win a prize"}\n', "--format jsonl"),
    ],
)
def test_a_header_or_json_is_not_taken_for_a_text(
    hashnlp: Any, model: Path, tmp_path: Path, content: str, advice: str
) -> None:
    (tmp_path / "texts.txt").write_text(content, encoding="utf-8")
    for arguments, stdin in (([tmp_path / "texts.txt"], None), ([], content)):
        result = hashnlp("predict", "-m", model, *arguments, stdin=stdin)
        assert (result.code, result.out) == (1, "")
        assert advice in result.err
        assert (
            hashnlp("predict", "-m", model, *arguments, "--format", "lines", stdin=stdin).code == 0
        )


def test_lines_that_look_like_headers_or_labels_are_noted(hashnlp: Any, model: Path) -> None:
    result = hashnlp("predict", "-m", model, stdin="text\na fine film\n")
    assert (
        "The first line, 'text', is read as a text; --format csv reads it as a header" in result.err
    )
    assert len(result.out.splitlines()) == 2
    assert hashnlp("predict", "-m", model, "--format", "lines", stdin="text\nfine\n").err == ""
    plain = hashnlp("predict", "-m", model, "--proba", stdin="fine\n").out
    result = hashnlp("predict", "-m", model, "--proba", stdin="__label__good fine\n")
    assert (result.code, result.out) == (0, plain)
    assert "has labels (__label__...)" in result.err


def test_bad_rows_are_replaced_or_skipped_if_asked(hashnlp: Any, model: Path) -> None:
    result = hashnlp(
        "predict", "-m", model, "--errors", "replace", stdin=b"a fine film\nd\xefll\nlong\n"
    )
    assert (result.code, result.out.splitlines()[::2]) == (0, ["good", "bad"])
    table = b"text,id\na fine film,1\nwarm\xef,2\ndull,3\n"
    out = hashnlp("predict", "-m", model, "--format", "csv", "--errors", "replace", stdin=table).out
    assert [row["text"] for row in read_rows(out, "csv", ",")] == [
        "a fine film",
        "warm\ufffd",
        "dull",
    ]
    result = hashnlp("predict", "-m", model, "--format", "csv", "--errors", "skip", stdin=table)
    assert [line.split(",")[0] for line in result.out.splitlines()] == [
        "text",
        "a fine film",
        "dull",
    ]
    assert "Skipped 1 row" in result.err
    stream = '{"text": "a fine film"}\nnot json\n{"text": 3}\n{"text": "dull"}\n'
    result = hashnlp("predict", "-m", model, "--format", "jsonl", "--errors", "skip", stdin=stream)
    assert [json.loads(line)["predicted_label"] for line in result.out.splitlines()] == [
        "good",
        "bad",
    ]
    assert "the first of them: stdin, line 2: expected one JSON object on each line" in result.err
    assert "Skipped 2 rows" in result.err


def test_the_output_is_written_whole(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "fine"}\nbad\n', encoding="utf-8")
    out.write_text("old", encoding="utf-8")
    result = hashnlp("predict", "-m", model, source, "--output", out)
    assert (result.code, out.read_text(encoding="utf-8")) == (1, "old")
    assert json.loads((tmp_path / "out.jsonl.part").read_text(encoding="utf-8"))["text"] == "fine"
    assert "out.jsonl.part" in result.err


@pytest.mark.skipif(os.name == "nt", reason="a POSIX pipe")
def test_the_file_may_be_a_pipe(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"a fine film\n"])
    writer.start()
    result = hashnlp("predict", "--model", model, path)
    assert (result.code, result.out) == (0, "good\n"), result.err
    writer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX pipe")
def test_a_process_predicts_line_by_line_until_its_output_is_closed(
    model: Path,
) -> None:
    program = "import sys; sys.argv[0] = 'hashnlp'; from sklearn_hashnlp.cli import main; main()"
    command = [sys.executable, "-c", program, "predict", "--model", str(model), "--json"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    classifier = load_model(model)
    with subprocess.Popen(command, env=os.environ | {"PYTHONUTF8": "1"}, **pipes) as process:  # type: ignore[call-overload]
        for text, label in (("a fine film\n", "good"), ("dull and long\n", "bad")):
            process.stdin.write(text.encode())
            process.stdin.flush()
            report = json.loads(process.stdout.readline())
            assert report["label"] == label
            # bit for bit
            assert report["probability"] == classifier.predict_proba([text.rstrip()]).max()
        process.stdout.close()
        process.stdin.write(b"a fine film\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("source", "output", "options", "message"),
    [
        ("a.csv", "out.jsonl", [], "a CSV table. Choose a name that ends with .csv, or use --json"),
        ("a.csv", "out.json", [], "a CSV table. Choose a name that ends with .csv, or use --json"),
        ("a.csv", "out.tsv.gz", [], "a CSV table. Choose a name that ends with .csv."),
        ("a.csv", "out.csv", ["--json"], "JSON lines. Choose a name that ends with .jsonl."),
        ("a.tsv", "out.csv", [], "a TSV table. Choose a name that ends with .tsv."),
        ("a.txt", "out.csv", [], "a line for each text. Choose a name that ends with .txt."),
        ("a.txt", "out.jsonl", [], "Choose a name that ends with .txt, or use --json."),
        ("a.csv", "out.CSV", [], None),
        ("a.csv", "out", [], None),
        ("a.csv", "out.json.gz", ["--json"], None),
        ("a.csv", "out.tsv", ["--delimiter", "tab"], None),
        ("a.txt", "out.tsv", [], None),
        ("a.txt", "out.jsonl", ["--json"], None),
    ],
)
def test_the_name_of_an_output_has_the_suffix_of_its_format(
    hashnlp: Any,
    model: Path,
    tmp_path: Path,
    source: str,
    output: str,
    options: list[str],
    message: str | None,
) -> None:
    (tmp_path / source).write_text("text\na fine film\n", encoding="utf-8")
    result = hashnlp(
        "predict", tmp_path / source, "-m", model, "-o", tmp_path / output, *options, "-q"
    )
    assert result.code == (0 if message is None else 2), result.err
    assert (tmp_path / output).exists() == (message is None)
    assert f"--output {tmp_path / output}: the output is" in result.err or message is None
    assert (message or "") in result.err
