"""``hashnlp predict`` with a linear model: no heavy imports, and the output of the whole model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.cli import _predict
from sklearn_hashnlp.persistence import load_model, save_model

from .conftest import GOOD, ROWS, hidden_layers, small_model

PROGRAM = """
import io, json, sys, time
from sklearn_hashnlp.cli import main
for arguments, stdin in json.loads(sys.argv[1]):
    sys.argv, sys.stdin = ["hashnlp", *arguments], io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        main()
    except SystemExit as end:
        assert not end.code
heavy = {"torch", "sklearn", "scipy", "skorch", "joblib"}
loaded = heavy & {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded), time.process_time(), file=sys.stderr)
"""


def in_process(*commands: tuple[list[str], str]) -> tuple[list[str], str, float]:
    """Run commands in a new process; return their output, the heavy modules they loaded and the
    processor time.
    """
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    modules, _, seconds = result.stderr.splitlines()[-1].rpartition(" ")
    return result.stdout.splitlines(), modules, float(seconds)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("light") / "model"
    texts, labels = [text for _, text in ROWS], [label for label, _ in ROWS]
    save_model(small_model(features="words+characters").fit(texts, labels), folder)
    return folder


def test_a_linear_model_loads_neither_torch_nor_scikit_learn(folder: Path, tmp_path: Path) -> None:
    predict, texts = ["predict", "--model", str(folder)], "\n".join(GOOD) + "\n"
    out, modules, seconds = in_process(([*predict, "--top", "2", "--json"], texts))
    assert modules == "[]"
    assert seconds < 1.2
    assert [json.loads(line)["probability"] for line in out] == load_model(folder).predict_proba(
        GOOD
    ).max(1).tolist()
    contents = {
        "a.csv": "text\na fine film\n",
        "a.jsonl": '{"text": "a fine film"}\n',
        "a.txt": "a fine film\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    files = [([*predict, str(tmp_path / name)], "") for name in contents]
    out, modules, _ = in_process(*files, ([*predict, "--threshold", "0.4", "--proba"], texts))
    assert modules == "[]"
    assert len([line for line in out if "good" in line]) == 3 + len(GOOD)


def test_help_and_the_package_itself_are_light() -> None:
    commands = [["--help"], ["predict", "--help"], ["train", "--help"], ["export", "--help"]]
    _, modules, seconds = in_process(*((command, "") for command in commands))
    assert modules == "[]"
    assert seconds < 1.0
    code = (
        "import sys, time, sklearn_hashnlp; print(time.process_time()); from sklearn_hashnlp.cli "
        "import app; print(sorted({'torch', 'sklearn', 'numpy', 'scipy', 'matplotlib'} & "
        "set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert float(result.stdout.split()[0]) < 0.3
    assert result.stdout.endswith("\n[]\n")


def test_few_texts_are_trained_without_torch(data: Path, tmp_path: Path) -> None:
    out, modules, _ = in_process(
        (["train", str(data), "--model", str(tmp_path / "m"), "--holdout", "0.25"], "")
    )
    assert any(line.startswith("Validation accuracy") for line in out)
    assert "scipy" in modules
    assert "torch" not in modules


def test_many_texts_are_predicted_by_the_whole_model(
    hashnlp: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = "\n".join([text for _, text in ROWS] * 200)
    before = hashnlp("predict", "--model", folder, "--json", stdin=lines).out
    monkeypatch.setattr(_predict, "_MANY_TEXTS", 3000)
    loaded = []
    load = _predict.load_classifier
    monkeypatch.setattr(
        _predict, "load_classifier", lambda *path, **how: loaded.append(how) or load(*path, **how)
    )
    assert hashnlp("predict", "--model", folder, "--json", stdin=lines).out == before
    assert loaded == [{"predict_only": True}, {}]


def test_several_labels_and_other_models(hashnlp: Any, tmp_path: Path) -> None:
    texts = [text for _, text in ROWS]
    several = TextClassifier(max_epochs=20, random_state=0).fit(
        texts, [[label, "film"] for label, _ in ROWS]
    )
    save_model(several, tmp_path / "several")
    labels = hashnlp("predict", "-m", tmp_path / "several", stdin="a fine film\n").out
    assert sorted(labels.split()) == ["film", "good"]
    hidden = hidden_layers().fit(texts, [label for label, _ in ROWS])
    save_model(hidden, tmp_path / "hidden")
    expected = hidden.predict(GOOD).tolist()
    assert (
        hashnlp("predict", "-m", tmp_path / "hidden", stdin="\n".join(GOOD)).out.splitlines()
        == expected
    )


def test_a_model_with_the_vectors_of_an_encoder_is_as_light(tmp_path: Path) -> None:
    texts, labels = [text for _, text in ROWS], [label for label, _ in ROWS]
    model = small_model().fit(texts, labels, unlabeled=texts)
    save_model(model, tmp_path / "model")
    predict = ["predict", "--model", str(tmp_path / "model")]
    out, modules, seconds = in_process((predict, "\n".join(GOOD) + "\n"))
    assert modules == "[]"
    assert seconds < 1.2
    assert out == model.predict(GOOD).tolist()
