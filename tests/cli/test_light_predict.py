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

from .conftest import GOOD, ROWS, small_model

PROGRAM = """
import sys, time
sys.argv = ["hashnlp", *sys.argv[1:]]
from sklearn_hashnlp.cli import main
try:
    main()
finally:
    heavy = {"torch", "sklearn", "scipy", "numba", "skorch", "joblib"}
    print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}), time.process_time(), file=sys.stderr)
"""


def in_process(*arguments: Any, stdin: str = "") -> tuple[str, str, float]:
    """Run a command in a new process; return its output, the heavy modules it loaded and its processor time."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    modules, _, seconds = result.stderr.splitlines()[-1].rpartition(" ")
    return result.stdout, modules, float(seconds)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("light") / "model"
    texts, labels = [text for _, text in ROWS], [label for label, _ in ROWS]
    save_model(small_model(features="words+characters").fit(texts, labels), folder)
    return folder


@pytest.mark.parametrize("arguments", [["--proba"], ["--top", 2, "--json"], ["--threshold", 0.4, "--proba"]])
def test_a_linear_model_loads_neither_torch_nor_scikit_learn(folder: Path, arguments: list[Any]) -> None:
    out, modules, seconds = in_process("predict", "--model", folder, *arguments, stdin="\n".join(GOOD) + "\n")
    assert modules == "[]"
    assert seconds < 1.2
    assert len(out.splitlines()) == len(GOOD)
    if "--json" in arguments:
        probabilities = [json.loads(line)["probability"] for line in out.splitlines()]
        assert probabilities == load_model(folder).predict_proba(GOOD).max(axis=1).tolist()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_files_of_each_format(folder: Path, tmp_path: Path, name: str) -> None:
    content = {"a.csv": "text\na fine film\n", "a.jsonl": '{"text": "a fine film"}\n', "a.txt": "a fine film\n"}
    (tmp_path / name).write_text(content[name], encoding="utf-8")
    out, modules, _ = in_process("predict", "--model", folder, tmp_path / name)
    assert "good" in out
    assert modules == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["predict", "--help"], ["train", "--help"], ["export", "--help"]])
def test_help_and_the_package_itself_are_light(arguments: list[str]) -> None:
    _, modules, seconds = in_process(*arguments)
    assert modules == "[]"
    assert seconds < 0.6  # 0.3 where nothing else runs
    code = "import time, sklearn_hashnlp; print(time.process_time())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 0.3


def test_many_texts_are_predicted_by_the_whole_model(
    hashnlp: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = "\n".join([text for _, text in ROWS] * 200)
    before = hashnlp("predict", "--model", folder, "--json", stdin=lines).out
    monkeypatch.setattr(_predict, "_MANY_TEXTS", 3000)
    loaded = []
    load = _predict.Predictor._load
    monkeypatch.setattr(_predict.Predictor, "_load", lambda self: loaded.append(self._folder) or load(self))
    assert hashnlp("predict", "--model", folder, "--json", stdin=lines).out == before
    assert loaded == [folder]


def test_several_labels_and_other_models(hashnlp: Any, tmp_path: Path) -> None:
    texts = [text for _, text in ROWS]
    several = TextClassifier(max_epochs=20, random_state=0).fit(texts, [[label, "film"] for label, _ in ROWS])
    save_model(several, tmp_path / "several")
    assert hashnlp("predict", "-m", tmp_path / "several", stdin="a fine film\n").out.split() == ["film", "good"] or (
        set(hashnlp("predict", "-m", tmp_path / "several", stdin="a fine film\n").out.split()) == {"film", "good"}
    )
    hidden = small_model(hidden_layer_sizes=(4,)).fit(texts, [label for label, _ in ROWS])
    save_model(hidden, tmp_path / "hidden")
    expected = hidden.predict(GOOD).tolist()
    assert hashnlp("predict", "-m", tmp_path / "hidden", stdin="\n".join(GOOD)).out.splitlines() == expected
