"""``hashnlp predict``: one line of output for each line of input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model

NOT_UTF8 = (
    "stdin, line 2: expected UTF-8, got byte 0xe9 at position 2. To replace such bytes by U+FFFD, add --errors replace."
)
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


def test_top_and_proba(hashnlp: Any, model: Path) -> None:
    [row] = load_model(model).predict_proba(["a fine film"]).tolist()
    bad, good = row
    out = hashnlp("predict", "--model", model, "--proba", stdin="a fine film").out
    assert out == f"good\t{good:.4f}\n"
    out = hashnlp("predict", "--model", model, "--top", 9, "--proba", stdin="a fine film").out
    assert out == f"good\t{good:.4f}\tbad\t{bad:.4f}\n"
    assert hashnlp("predict", "--model", model, "--top", 2, stdin="a fine film").out == "good\tbad\n"
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
                expected.append([(label, share) for label, share in both[: top or 2] if share >= threshold])
            out = hashnlp("predict", "--model", model, *options, stdin="\n".join(texts)).out
            assert out == "".join("\t".join(label for label, _ in line) + "\n" for line in expected)
            out = hashnlp("predict", "--model", model, *options, "--json", stdin="\n".join(texts)).out
            for line, predicted in zip(map(json.loads, out.splitlines()), expected, strict=True):
                assert (line["label"], line["probability"]) == (predicted[0] if predicted else (None, None))
                assert line["top"] == [{"label": label, "probability": share} for label, share in predicted]


def test_a_threshold_is_a_probability(hashnlp: Any, model: Path) -> None:
    assert hashnlp("predict", "--model", model, "--threshold", 1.5, stdin="a").code == 2


def test_empty_input_gives_empty_output(hashnlp: Any, model: Path) -> None:
    result = hashnlp("predict", "--model", model, stdin="")
    assert (result.code, result.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--model", "nowhere"], b"", "No model in 'nowhere': the folder does not exist."),
        (["--model", "MODEL", "nothing.txt"], b"", "nothing.txt does not exist."),
        (["--model", "MODEL", "."], b"", ". is a folder; expected a text file."),
        (
            ["--model", "MODEL"],
            b"good\nb\xe9d\n",
            NOT_UTF8,
        ),
    ],
)
def test_errors_are_one_line(
    hashnlp: Any,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: Any,
    stdin: bytes,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [str(model) if argument == "MODEL" else argument for argument in arguments]
    result = hashnlp("predict", *arguments, stdin=stdin)
    assert (result.code, result.err) == (1, f"hashnlp: {message}\n")


@pytest.mark.parametrize("where", ["stdin", "file"])
def test_lines_before_an_invalid_one_are_predicted(hashnlp: Any, model: Path, tmp_path: Path, where: str) -> None:
    content = b"a fine film\ndull and long\nb\xe9d\nfunny\n"
    path = tmp_path / "texts.txt"
    path.write_bytes(content)
    result = hashnlp("predict", "--model", model, *([path] if where == "file" else []), stdin=content)
    assert (result.code, result.out) == (1, "good\nbad\n")
    assert "line 3: expected UTF-8" in result.err


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
def test_a_process_predicts_line_by_line_and_ends_silently_when_its_output_is_closed(model: Path) -> None:
    program = "import sys; sys.argv[0] = 'hashnlp'; from sklearn_hashnlp.cli import main; main()"
    command = [sys.executable, "-c", program, "predict", "--model", str(model), "--json"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    classifier = load_model(model)
    classifier.predict_proba(["what the command needs is compiled now"])  # otherwise it says so
    with subprocess.Popen(command, env=os.environ | {"PYTHONUTF8": "1"}, **pipes) as process:  # type: ignore[call-overload]
        for text, label in (("a fine film\n", "good"), ("dull and long\n", "bad")):
            process.stdin.write(text.encode())
            process.stdin.flush()
            report = json.loads(process.stdout.readline())
            assert report["label"] == label
            assert report["probability"] == classifier.predict_proba([text.rstrip()]).max()  # bit for bit
        process.stdout.close()
        process.stdin.write(b"a fine film\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""
