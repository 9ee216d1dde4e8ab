"""``hashnlp test``: metrics and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import classification_report

from sklearn_hashnlp.cli._fit_classifier import scores_at
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli._test import compute_metrics, show_report
from sklearn_hashnlp.persistence import save_model
from tests.cli.conftest import small_pipeline


def test_metrics_equal_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    true, predicted = rng.choice(["a", "b", "c"], 50), rng.choice(["a", "b", "d"], 50)
    report = compute_metrics(true[:, None].tolist(), predicted[:, None].tolist(), multilabel=False)
    expected = classification_report(true, predicted, output_dict=True, zero_division=0.0)
    assert report["accuracy"] == expected["accuracy"]
    assert report["macro_f1"] == pytest.approx(expected["macro avg"]["f1-score"])
    for label in "abcd":
        scores = report["labels"][label]
        assert scores["precision"] == expected[label]["precision"]
        assert scores["recall"] == expected[label]["recall"]
        assert scores["f1"] == expected[label]["f1-score"]
        assert scores["support"] == expected[label]["support"]
    counts = np.array(report["confusion_matrix"]["counts"])
    assert counts.sum() == 50
    assert counts[2, 3] == ((true == "c") & (predicted == "d")).sum()


def test_metrics_of_several_labels_equal_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c", "d"])
    true, predicted = rng.random((40, 4)) < 0.4, rng.random((40, 4)) < 0.4
    true[0], predicted[0] = False, True
    lists = [[names[row].tolist() for row in rows] for rows in (true, predicted)]
    report = compute_metrics(*lists, multilabel=True)
    expected = classification_report(
        true, predicted, target_names=names, output_dict=True, zero_division=0.0
    )
    assert report["micro_f1"] == pytest.approx(expected["micro avg"]["f1-score"])
    assert report["macro_f1"] == pytest.approx(expected["macro avg"]["f1-score"])
    assert report["accuracy"] == (true == predicted).all(axis=1).mean()
    assert report["n_labeled"] == true.any(axis=1).sum()
    for label in names.tolist():
        scores = report["labels"][label]
        assert scores == {
            "precision": expected[label]["precision"],
            "recall": expected[label]["recall"],
            "f1": expected[label]["f1-score"],
            "support": expected[label]["support"],
        }


def test_metrics_of_one_label_and_of_none() -> None:
    report = compute_metrics([["a"], [], ["a"]], [["a"], ["a"], []], multilabel=True)
    assert report["labels"] == {"a": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}}
    assert (report["accuracy"], report["micro_f1"], report["macro_f1"]) == (1 / 3, 0.5, 0.5)
    nothing = compute_metrics([[], []], [[], []], multilabel=True)
    assert (nothing["accuracy"], nothing["micro_f1"], nothing["macro_f1"], nothing["labels"]) == (
        1,
        0,
        0,
        {},
    )


def test_precision_and_recall_at_k_count_texts_with_labels() -> None:
    probabilities = np.array([[0.1, 0.9, 0.5], [0.8, 0.7, 0.2], [0.3, 0.2, 0.1]])
    true = [["b", "unknown"], ["a", "c"], []]
    names = np.array(["a", "b", "c"])
    assert scores_at(true, probabilities, names, 1) == {"precision": 1.0, "recall": 0.5}
    assert scores_at(true, probabilities, names, 2) == {"precision": 0.5, "recall": 0.5}
    assert scores_at(true, probabilities, names, 3) == {"precision": 0.5, "recall": 0.75}


def test_tables_and_json(hashnlp: Any, model: Path, data: Path) -> None:
    result = hashnlp("test", data, "--model", model)
    assert result.code == 0, result.err
    assert "Read 24 texts with 2 labels from columns text, label of" in result.err
    assert "Accuracy 1.0000 on 24 texts" in result.out
    assert "Confusion matrix" in result.out
    report = hashnlp("test", data, "--model", model, "--json").json
    assert report["accuracy"] == 1.0
    assert report["confusion_matrix"] == {"labels": ["bad", "good"], "counts": [[12, 0], [0, 12]]}
    assert hashnlp("test", data, "--model", model, "--quiet").out == "1.0000\n"


def test_an_unknown_label_is_reported_and_counts_as_wrong(
    hashnlp: Any, model: Path, data: Path
) -> None:
    with data.open("a", encoding="utf-8") as file:
        file.write("[bold]odd :smile:,a fine film\n")
    result = hashnlp("test", data, "--model", model)
    assert "Accuracy 0.9600 on 25 texts" in result.out
    assert "[bold]odd :smile:" in result.out
    assert "was not trained on and never predicts" in result.err


def test_an_unknown_label_that_looks_like_a_known_one_is_a_warning(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,text\ngood\u200b,a fine film\nschön,dull\n", encoding="utf-8")
    err = hashnlp("test", path, "--model", model).err
    assert r"never predicts: 'good\u200b', schön" in err
    twins = r"labels that look the same are different classes: 'good' and 'good\u200b'."
    assert f"Warning: {path}: {twins}" in err
    path.write_text("label,text\ngood,a fine film\nbad,dull\n", encoding="utf-8")
    assert "look the same" not in hashnlp("test", path, "--model", model).err


def test_the_table_has_integer_supports_if_every_label_is_unknown(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("label,text\nodd,a fine film\n", encoding="utf-8")
    out = hashnlp("test", path, "--model", model).out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("good ", "odd "))][
        :2
    ] == ["0", "1"]


def test_many_labels_show_the_most_frequent_confusions(capsys: pytest.CaptureFixture[str]) -> None:
    true = np.array([f"label{number}" for number in range(20)] * 3)
    predicted = true.copy()
    predicted[[0, 20]] = "label7"
    report = compute_metrics(true[:, None].tolist(), predicted[:, None].tolist(), multilabel=False)
    show_report(Screen(as_json=False, quiet=False), report)
    out = capsys.readouterr().out
    assert "Confusion matrix" not in out
    assert [line.split() for line in out.splitlines()][-1] == ["label0", "label7", "2"]


def test_labels_are_whole_in_a_pipe(hashnlp: Any, tmp_path: Path) -> None:
    labels = [f"a long name of the label {number}" for number in range(9)]
    save_model(small_pipeline().fit(labels, labels), tmp_path / "m")
    (tmp_path / "data.csv").write_text(
        "label,text\n" + "".join(f"{label},{label}\n" for label in labels)
    )
    out = hashnlp("test", tmp_path / "data.csv", "-m", tmp_path / "m").out
    assert "\u2026" not in out
    assert all(out.count(label) >= 3 for label in labels)


def test_several_labels_have_precision_and_recall_at_k_as_of_fasttext(
    hashnlp: Any, tags: Path, tagger: Path
) -> None:
    result = hashnlp("test", tags, "-m", tagger, "--top", 2)
    assert result.out.splitlines()[:5] == [
        "N\t12",
        "P@1\t1.0000",
        "R@1\t0.8000",
        "P@2\t0.6250",
        "R@2\t1.0000",
    ]
    assert "Labels are separated by ',', as in training" in result.err
    assert "never predicts" not in result.err
    given = hashnlp("test", tags, "-m", tagger, "--top", 2, "--label-separator", ",")
    assert (given.out, "as in training" in given.err) == (result.out, False)
    quiet = hashnlp("test", tags, "-m", tagger, "--top", 2, "-q")
    assert (quiet.out.splitlines(), quiet.err) == (result.out.splitlines()[:5], "")
    report = hashnlp("test", tags, "--model", tagger, "--json").json
    assert (report["precision_at_1"], report["labels"]["cheese"]["support"]) == (1.0, 6)


def test_labels_that_are_all_unknown_get_a_hint(hashnlp: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        'label,text\n"good,bad",fine\n"bad,good",dull\n', encoding="utf-8"
    )
    result = hashnlp("test", tmp_path / "a.csv", "-m", model)
    assert "The model knows none of the labels" in result.err
    assert "--label-separator" in result.err


def test_rows_that_are_not_utf8_are_skipped_if_asked(
    hashnlp: Any, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(b"label,text\ngood,fine\ngood,caf\xe9\nbad,dull\n")
    (tmp_path / "a.txt").write_bytes(
        b"__label__good fine\n__label__good caf\xe9\n__label__bad dull\n"
    )
    for name, line in (("a.csv", 3), ("a.txt", 2)):
        result = hashnlp("test", tmp_path / name, "-m", model, "--errors", "skip")
        assert "Read 2 texts" in result.err
        assert f"line {line}: the row has bytes that are not in the encoding" in result.err
        assert "Skipped 1 row" in result.err


def test_a_folder_without_a_model_is_an_error(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = hashnlp("test", data, "--model", tmp_path / "empty")
    assert result.code == 1
    assert "expected parameters.json and weights.safetensors there" in result.err
