"""Linear models are trained on few texts, loaded, explained and exported by processes where torch is absent."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from sklearn_hashnlp import TextClassifier, load_model, save_model
from tests.text_classifiers import text_classifier

TEXTS = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through", "warm"] * 8
LABELS = ["good", "bad", "good", "bad", "good"] * 8
SEVERAL = [["good", "funny"], ["bad"], ["good"], [], ["bad", "long"]] * 8

MODELS = {
    "few texts": ({}, LABELS),
    "stochastic gradients": ({"solver": "sgd", "loss": "softmax", "n_hashes": 2}, LABELS),
    "one table": ({"variant": "standard", "n_embeddings": 2**12, "solver": "sgd"}, LABELS),
    "several labels": ({"features": "words+characters"}, SEVERAL),
    "two vectors": ({"variant": "paper", "aggregation": "concat", "n_hashes": 2, "loss": "hinge"}, LABELS),
}

BEGIN = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "skorch"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")

sys.meta_path.insert(0, Absent)
"""


def run(code: str, *arguments: str, text: str | None = None) -> str:
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", BEGIN + code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=root, input=text)
    assert result.returncode == 0, result.stderr
    return result.stdout


LOAD = """
import pickle
from pathlib import Path
import numpy as np
from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.inspection import NgramInverter, collision_report, explain

TEXTS = ["a fine and dull film", "long", "", "nothing known 123"]
for folder in map(Path, sys.argv[1:]):
    expected = np.load(folder / "expected.npy")
    models = [load_model(folder / "model"), load_model(folder / "full"), pickle.loads((folder / "pickle").read_bytes())]
    models.append(pickle.loads(pickle.dumps(models[1])))
    for model in models:
        assert np.array_equal(model.predict_proba(TEXTS), expected)
        model.predict(TEXTS), model.predict_topk(TEXTS), model.decision_function(TEXTS)
    save_model(model, folder / "again", training_state=True)
    explanation = explain(model, TEXTS[0])
    label = model.classes_[0]
    NgramInverter(model).fit(TEXTS).top_ngrams(model, label) if model.loss_ != "ova" else None
    collision_report(TEXTS, model), export_predictor(model, folder / "model.py")
    try:
        model.net_
    except ModuleNotFoundError as error:
        print(error.name)
"""


def test_models_are_loaded_and_used_where_torch_is_absent(tmp_path: Path) -> None:
    folders = []
    for name, (parameters, labels) in MODELS.items():
        model = text_classifier(random_state=0, **parameters).fit(TEXTS, labels)
        folder = tmp_path / name
        folder.mkdir()
        save_model(model, folder / "model")
        save_model(model, folder / "full", training_state=True)
        (folder / "pickle").write_bytes(pickle.dumps(model))
        np.save(folder / "expected.npy", model.predict_proba(["a fine and dull film", "long", "", "nothing known 123"]))
        folders.append(str(folder))
    assert run(LOAD, *folders).split() == ["torch"] * len(MODELS)


FURTHER = """
from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.cli import main
texts, labels = ["a fine film", "so dull", "fine acting", "dull and long"] * 3, ["good", "bad"] * 6
model = TextClassifier(random_state=0).fit(texts, labels)
print(model.solver_, model.predict(["a fine actor"])[0], len(model.history_))
first, second = sys.argv[1:]
save_model(load_model(first), second, training_state=True)
sys.stdout.reconfigure(line_buffering=True)
for command in (["predict", "--model", first, first + "/texts.txt"], ["info", first]):
    sys.argv = ["hashnlp", *command]
    try:
        main()
    except SystemExit as error:
        assert not error.code, error.code
"""


def test_few_texts_are_trained_on_and_commands_run_where_torch_is_absent(tmp_path: Path) -> None:
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    save_model(model, tmp_path / "first", training_state=True)
    (tmp_path / "first" / "texts.txt").write_text("a fine film\n", encoding="utf-8")
    fitted, predicted, *info = run(FURTHER, str(tmp_path / "first"), str(tmp_path / "second")).splitlines()
    assert (fitted, predicted) == ("dual good 1", "good")
    assert any("good" in line for line in info)
    again, new = load_model(tmp_path / "second"), ["dull but fine"]
    expected = model.partial_fit(new, ["good"]).predict_proba(TEXTS)
    assert np.array_equal(again.partial_fit(new, ["good"]).predict_proba(TEXTS), expected)
