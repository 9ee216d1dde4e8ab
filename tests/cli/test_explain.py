"""``hashnlp explain``: contributions of n-grams on the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector
from sklearn_hashnlp.inspection import _explain
from sklearn_hashnlp.inspection._contributions import contributions
from sklearn_hashnlp.persistence import load_model, save_model
from tests.persistence.fasttext_models import DATA

from .conftest import ROWS, hidden_layers

TEXTS = "a fine film\n\nlong and dull"


def test_a_text_from_stdin(hashnlp: Any, model: Path) -> None:
    result = hashnlp("explain", "--model", model, stdin="a fine film")
    assert result.code == 0, result.err
    first, text, *table = result.out.splitlines()
    [probability] = load_model(model).predict_proba(["a fine film"])[:, 1]
    [score] = load_model(model).decision_function(["a fine film"])
    assert first == f"good  score {score:+.3f}  probability {probability:.3f}"
    assert text == "a fine film"
    assert len(table) == 3  # "fine", "film" and the bias
    assert sum(float(line.split()[0]) for line in table) == pytest.approx(score, abs=2e-3)


def test_json_sums_to_the_scores(hashnlp: Any, model: Path) -> None:
    result = hashnlp("explain", "--model", model, "--json", "--label", "good", stdin=TEXTS)
    assert result.code == 0, result.err
    scores = load_model(model).decision_function(TEXTS.splitlines())
    for line, text, score in zip(result.out.splitlines(), TEXTS.splitlines(), scores, strict=True):
        answer = json.loads(line)
        assert answer["text"] == text
        [label] = answer["labels"]
        assert label["label"] == "good"
        total = label["bias"] + sum(ngram["contribution"] for ngram in label["ngrams"])
        np.testing.assert_allclose([label["score"], total], score, atol=1e-4)
    answer = hashnlp("explain", "--model", model, "--json", "--top", 1, stdin="long and dull").json
    assert answer["predicted"] == answer["labels"][0]["label"] == "bad"
    assert len(answer["labels"][0]["ngrams"]) == 1


def test_labels_that_are_not_shown_cost_no_time(
    hashnlp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [f"l{index % 8}" for index in range(24)]
    save_model(
        hidden_layers(max_epochs=1).fit([text for _, text in ROWS], labels),
        tmp_path,
    )
    counts = []

    def recorded(classifier: Any, row: Any, outputs: Any) -> Any:
        counts.append(len(outputs))
        return contributions(classifier, row, outputs)

    monkeypatch.setattr(_explain, "contributions", recorded)
    one = hashnlp("explain", "--model", tmp_path, stdin="a fine film")
    assert one.code == 0, one.err
    hashnlp("explain", "--model", tmp_path, "--label", "l5", stdin="a fine film\nlong")
    assert counts == [1, 1, 1]


def test_a_table(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(
        'title,body\nx,"a fine film"\ny,long and dull\n', encoding="utf-8"
    )
    arguments = [tmp_path / "films.csv", "--text-column", "body"]
    result = hashnlp("explain", "--model", model, *arguments)
    assert (result.code, result.out.splitlines()[1]) == (0, "a fine film")
    assert "Read 2 texts from column body of " in result.err
    result = hashnlp(
        "explain", "--model", model, *arguments, "--json", "--label", "good", "--label", "bad"
    )
    labels = [
        [label["label"] for label in json.loads(line)["labels"]] for line in result.out.splitlines()
    ]
    assert labels == [["good", "bad"]] * 2


def test_errors_are_one_line(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    result = hashnlp("explain", "--model", model, "--label", "ugly", stdin="a fine film")
    assert (result.code, result.out) == (2, "")
    assert "--label ugly: expected a label of the model, such as bad, good." in result.err
    pipeline = make_pipeline(
        CharNgramFeaturizer(), SGNNProjector(), SGNNClassifier(max_epochs=1, random_state=0)
    )
    save_model(
        pipeline.fit([text for _, text in ROWS], [label for label, _ in ROWS]), tmp_path / "sgnn"
    )
    result = hashnlp("explain", "--model", tmp_path / "sgnn", stdin="a fine film")
    assert (result.code, result.out) == (1, "")
    assert "signs of sums over all n-grams" in result.err
    assert "unexpected" not in result.err


def test_a_model_of_fasttext(hashnlp: Any, tmp_path: Path) -> None:
    hashnlp("convert", DATA / "softmax.bin", "--model", tmp_path / "m")
    result = hashnlp(
        "explain", "-m", tmp_path / "m", "--json", "--top", 1000, stdin="how to bake bread\n"
    )
    [label] = result.json["labels"]
    assert {"bake", "bread"} <= {
        ngram["ngram"] for ngram in label["ngrams"] if ngram["kind"] == "words"
    }
