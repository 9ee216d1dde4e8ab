"""Texts, counted language models and linear models of few texts, in a process where torch is
absent.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp import TextClassifier, load_model, save_model
from tests.text_classifiers import text_classifier
from tests.trainings import assert_same_bits

TEXTS = [
    "a fine, funny film",
    "dull and far too long",
    "funny and fine acting",
    "too dull to sit through",
    "warm",
] * 8
LABELS = ["good", "bad", "good", "bad", "good"] * 8
SEVERAL = [["good", "funny"], ["bad"], ["good"], [], ["bad", "long"]] * 8

MODELS = {
    "few texts": ({}, LABELS),
    "stochastic gradients": ({"solver": "sgd", "loss": "softmax", "n_hashes": 2}, LABELS),
    "one table": ({"variant": "standard", "n_embeddings": 2**12, "solver": "sgd"}, LABELS),
    "several labels": ({"features": "words+characters"}, SEVERAL),
    "two vectors": (
        {"variant": "paper", "aggregation": "concat", "n_hashes": 2, "loss": "hinge"},
        LABELS,
    ),
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


LOAD = """
import pickle
from pathlib import Path
import numpy as np
from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.inspection import NgramInverter, explain

TEXTS = ["a fine and dull film", "long", "", "nothing known 123"]
first, second, *folders = sys.argv[1:]
for folder in map(Path, folders):
    expected = np.load(folder / "expected.npy")
    models = [load_model(folder / "model"), load_model(folder / "full")]
    models.append(pickle.loads((folder / "pickle").read_bytes()))
    models.append(pickle.loads(pickle.dumps(models[1])))
    for model in models:
        assert np.array_equal(model.predict_proba(TEXTS), expected)
        model.predict(TEXTS), model.predict_topk(TEXTS), model.decision_function(TEXTS)
    save_model(model, folder / "again", training_state=True)
    explanation = explain(model, TEXTS[0])
    label = model.classes_[0]
    NgramInverter(model).fit(TEXTS).top_ngrams(model, label) if model.loss_ != "ova" else None
    export_predictor(model, folder / "model.py")
    try:
        model.net_
    except ModuleNotFoundError as error:
        print(error.name)
"""


FURTHER = """
import sklearn_hashnlp
from sklearn_hashnlp import KneserNeyLanguageModel, TextClassifier
from sklearn_hashnlp.cli import main
from sklearn_hashnlp.text import CharNgramFeaturizer, HashingNgramVectorizer, SGNNProjector
vectorizer = HashingNgramVectorizer(n_features=8)
featurizer = sklearn_hashnlp.CharNgramFeaturizer(n_features=8)
print(vectorizer.transform(["a text"]).shape, featurizer.transform(["a text"]).shape)
print(SGNNProjector().transform(CharNgramFeaturizer().transform(["a text"])).shape)
from sklearn_hashnlp.language import _base_language_model, _corpus, _tokenizer
lm = KneserNeyLanguageModel(order=2).fit(["a b", "a b c"])
save_model(lm, second + "-lm")
print(lm.predict(["a"]), lm.score_samples(["a"]).shape, lm.sample(1, 0, max_length=0))
print(load_model(second + "-lm").predict(["a"]))

texts, labels = ["a fine film", "so dull", "fine acting", "dull and long"] * 3, ["good", "bad"] * 6
model = TextClassifier(random_state=0).fit(texts, labels)
print(model.solver_, model.predict(["a fine actor"])[0], len(model.history_))
save_model(load_model(first), second, training_state=True)
sys.stdout.reconfigure(line_buffering=True)
for command in (["predict", "--model", first, first + "/texts.txt"], ["info", first]):
    sys.argv = ["hashnlp", *command]
    try:
        main()
    except SystemExit as error:
        assert not error.code, error.code
"""


@pytest.fixture(scope="module")
def absent(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Return the lines that a process without torch prints, and the folder with the models it was
    given and made.
    """
    path = tmp_path_factory.mktemp("absent")
    folders = []
    for name, (parameters, labels) in MODELS.items():
        model = text_classifier(random_state=0, **parameters).fit(TEXTS, labels)
        folder = path / name
        folder.mkdir()
        save_model(model, folder / "model")
        save_model(model, folder / "full", training_state=True)
        (folder / "pickle").write_bytes(pickle.dumps(model))
        np.save(
            folder / "expected.npy",
            model.predict_proba(["a fine and dull film", "long", "", "nothing known 123"]),
        )
        folders.append(str(folder))
    save_model(
        TextClassifier(random_state=0).fit(TEXTS, LABELS), path / "first", training_state=True
    )
    (path / "first" / "texts.txt").write_text("a fine film\n", encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        BEGIN + LOAD + FURTHER,
        str(path / "first"),
        str(path / "second"),
        *folders,
    ]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines(), path


def test_models_are_loaded_and_used_where_torch_is_absent(absent: tuple[list[str], Path]) -> None:
    assert absent[0][: len(MODELS)] == ["torch"] * len(MODELS)


def test_texts_and_a_language_model_that_counts_work_where_torch_is_absent(
    absent: tuple[list[str], Path],
) -> None:
    lines = absent[0][len(MODELS) : len(MODELS) + 4]
    assert lines == ["(1, 8) (1, 8)", "(1, 1120)", "['b'] (1,) [[]]", "['b']"]


def test_few_texts_are_trained_on_and_commands_run_where_torch_is_absent(
    absent: tuple[list[str], Path],
) -> None:
    lines, path = absent
    fitted, predicted, *info = lines[len(MODELS) + 4 :]
    assert (fitted, predicted) == ("dual good 1", "good")
    assert any("good" in line for line in info)
    again = load_model(path / "second")
    model = load_model(path / "first")
    new = ["dull but fine"]
    expected = model.partial_fit(new, ["good"]).predict_proba(TEXTS)
    assert_same_bits(again.partial_fit(new, ["good"]).predict_proba(TEXTS), expected)
