"""``hashnlp tune``: the saved model, its limits, and continuing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.classifiers import tune_text_classifier
from sklearn_hashnlp.cli import _tune
from sklearn_hashnlp.persistence import load_model


@pytest.fixture(autouse=True)
def _small_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search among two models."""
    module = sys.modules[tune_text_classifier.__module__]
    draw = {"n_buckets": lambda trial: trial.suggest_categorical("n_buckets", [10])}
    monkeypatch.setattr(module, "_FIRST", ())
    monkeypatch.setattr(
        module, "_draw", lambda trial, **_: {name: of(trial) for name, of in draw.items()}
    )


def test_the_best_model_is_saved_with_a_report(
    hashnlp: Any, data: Path, rows: Any, tmp_path: Path
) -> None:
    folder, two = tmp_path / "m", ("--max-trials", 2)
    result = hashnlp("tune", data, "--model", folder, "--seed", 3, "--time", 1000, *two)
    assert result.code == 0, result.err
    assert "Trial 1: score" in result.err
    assert "Finished 2 trials" in result.err
    assert "Only the default parameters were tried" not in result.err
    assert f"Saved in {folder}" in result.out
    assert "default parameters" in result.out
    model = load_model(folder)
    assert model.random_state == 3
    assert model.n_buckets in (10, 2**20)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert all(row in card for row in ("| file | films\\.csv |", "| texts | 24 |", "| good | 12 |"))
    assert "| method | cross-validation, the best of 2 trials |" in card
    info = hashnlp("info", folder, "--json").json
    assert info["validation"]["data"] == f"cross-validation of {data}"
    assert (info["validation"]["n_texts"], info["n_texts"]) == (24, 24)
    assert info["tuning"]["params"] == ({} if model.n_buckets == 2**20 else {"n_buckets": 10})

    # continues where all is done
    again = hashnlp("tune", data, "--model", folder, "--seed", 3, "--json", *two)
    assert again.code == 0, again.err
    report = again.json
    assert (report["n_trials"], report["n_failed"]) == (2, 0)
    assert report["score"] == info["validation"]["accuracy"]
    assert report["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    small = hashnlp(
        "tune", data, "--model", folder, "--seed", 3, "--json", "--max-size", "1MB", *two
    ).json
    assert (small["n_trials"], small["precision"], small["bytes"] <= 10**6) == (2, "int8", True)


def test_limits_of_size_and_validation_texts(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    options = ["tune", data, "-m", tmp_path / "m", "--valid", data, "--max-trials", 1]
    report = hashnlp(*options, "--json", "--max-size", "1.5MB").json
    assert report["bytes"] <= 1_500_000
    assert report["trials"] == str(tmp_path / "m.trials.jsonl")
    assert hashnlp("info", tmp_path / "m", "--json").json["validation"]["data"] == str(data)
    assert hashnlp(*options, "--quiet").out == f"{report['score']:.4f}\n"
    result = hashnlp(*options, "--max-size", "5k")
    assert (result.code, "No model has at most" in result.err) == (1, True)


def test_the_metric_is_the_figure_of_the_model(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    options = ["--metric", "macro-f1", "--max-trials", 1]
    result = hashnlp("tune", data, "-m", tmp_path / "m", *options, "--json")
    score = result.json["score"]
    assert "Only the default parameters were tried: for a search set a longer --time" in " ".join(
        result.err.split()
    )
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert "cross-validation, the best of 1 trial |" in card
    assert f"| macro\\_f1 | {score:.6g} |" in card
    assert f"macro f1 {score:.4f} on 24 texts" in hashnlp("info", tmp_path / "m").out.replace(
        "\n", " "
    )


def test_without_optuna_the_install_command_is_printed(
    hashnlp: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = hashnlp("tune", data, "-m", tmp_path / "m")
    assert (result.code, "pip install optuna" in result.err) == (2, True)
    assert hashnlp("tune", "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--max-size", size], 2, "expected a size such as 1MB or 500kB")
        for size in ("", "large", "1TB", "-1MB", "0")
    ],
)
def test_arguments_are_checked_before_the_search(
    hashnlp: Any, data: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    result = hashnlp("tune", data, "-m", tmp_path / "m", *arguments)
    assert (result.code, message in result.err) == (code, True)
    assert not (tmp_path / "m").exists()


def test_several_labels_per_text(hashnlp: Any, rows: Any, tmp_path: Path) -> None:
    data = tmp_path / "several.csv"
    lines = [f'"{label},film","{text}"' for label, text in rows]
    data.write_text("\n".join(["label,text", *lines]), encoding="utf-8")
    options = ["tune", data, "-m", tmp_path / "m", "--label-separator", ",", "--max-trials", 1]
    result = hashnlp(*options)
    assert result.code == 0, result.err
    assert "Best score 1.0000" in result.out
    assert hashnlp("info", tmp_path / "m", "--json").json["validation"]["precision_at_1"] == 1
    refused = hashnlp(*options, "--metric", "macro-f1")
    assert (refused.code, "--metric macro-f1 is for one label per text" in refused.err) == (1, True)


def test_an_interruption_says_how_to_continue(
    hashnlp: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optuna.Study.optimize", interrupted)
    result = hashnlp("tune", data, "-m", tmp_path / "m")
    assert result.code == 130
    assert "the same command continues there" in result.err
    assert not (tmp_path / "m").exists()


def test_sizes_in_decimal_units() -> None:
    assert [_tune._read_size(text) for text in ("300", "1.5MB", "500 kB", "2g")] == [
        300,
        1_500_000,
        500_000,
        2 * 10**9,
    ]


def test_a_file_that_is_no_journal_is_refused(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    trials = tmp_path / "m.trials.jsonl"
    trials.write_text("notes\n", encoding="utf-8")
    result = hashnlp("tune", data, "-m", tmp_path / "m")
    assert (result.code, f"{trials} is not a journal of optuna" in result.err) == (1, True)
    assert trials.read_text(encoding="utf-8") == "notes\n"
