"""``--set`` and ``--parameters`` of the commands that train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from sklearn_hashnlp import HsigmoidLanguageModel, SGNNSentenceEncoder, TextClassifier, load_model
from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.cli._parameters import parameters_of, set_parameters
from sklearn_hashnlp.cli.lm import _train_language_model
from sklearn_hashnlp.language import LanguageSchedule, Regularization
from sklearn_hashnlp.training import EarlyStopping

BUNDLES = {
    "classifier": make_text_classifier()["classifier"],
    "early_stopping": EarlyStopping("valid_loss", 2, 0.1),
    "regularization": Regularization(),
    "schedule": LanguageSchedule(),
}
COMMANDS: dict[tuple[str, ...], type] = {
    ("train",): TextClassifier,
    ("lm", "train"): HsigmoidLanguageModel,
    ("sentences", "train"): SGNNSentenceEncoder,
}


def configured(estimator: Any, *settings: str) -> Any:
    set_parameters(estimator, settings, BUNDLES)
    return estimator


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        (["order=3"], "order", 3),
        (["learning_rate=1e-2"], "learning_rate", 0.01),
        (["tree=cluster"], "tree", "cluster"),
        (["tree='cluster'"], "tree", "cluster"),
        (["max_features=None"], "max_features", None),
        (["across_sentences=True"], "across_sentences", True),
        (["direct_connections=('hashed', 1000)"], "direct_connections", ("hashed", 1000)),
        (["vocabulary={'a': 0}"], "vocabulary", {"a": 0}),
        (["order=3", "order=4"], "order", 4),
        (["regularization__dropout=0.5"], "regularization", Regularization(dropout=0.5)),
        (
            ["schedule__direct_learning_rate=2"],
            "schedule",
            LanguageSchedule(direct_learning_rate=2),
        ),
        (["early_stopping=valid_loss"], "early_stopping", "valid_loss"),
        (["early_stopping__patience=3"], "early_stopping", EarlyStopping("valid_loss", 3, 0.1)),
        # The field of a bundle is set last.
        (
            ["early_stopping__patience=3", "early_stopping=valid_loss"],
            "early_stopping__patience",
            3,
        ),
    ],
)
def test_values_are_python_literals_or_strings(settings: list[str], name: str, value: Any) -> None:
    model = configured(HsigmoidLanguageModel(), *settings)
    assert model.get_params()[name] == value
    assert type(model.get_params()[name]) is type(value)


def test_inner_parameters_are_reached_without_the_estimators_around_them() -> None:
    settings = [
        "classifier__variant=standard",
        "classifier__schedule__decay=linear",
        "classifier__n_buckets=50",
    ]
    model = configured(TextClassifier(), *settings)
    inner = make_text_classifier()["classifier"].set_params(variant="standard", n_buckets=50)
    assert model.classifier.schedule.decay == "linear"
    assert repr(model.classifier.set_params(schedule="auto")) == repr(inner)
    assert BUNDLES["classifier"].variant != "standard"  # the bundle itself is not changed
    pipeline = configured(
        make_text_classifier(), "vectorizer__lowercase=False", "classifier__n_hashes=2"
    )
    assert (pipeline["vectorizer"].lowercase, pipeline["classifier"].n_hashes) == (False, 2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("order", "--set: expected NAME=VALUE, such as verbose=1, got 'order'"),
        ("=3", "expected NAME=VALUE"),
        ("ordre=3", "HsigmoidLanguageModel has no parameter 'ordre'. Did you mean order?"),
        ("patience=3", "Did you mean early_stopping__patience?"),
        ("schedule__decai=linear", "Did you mean schedule__decay?"),
        ("xyz=3", "has no parameter 'xyz'. --parameters lists all of them."),
        ("special_tokens=<s>,</s>,?", "Got '<s>,</s>,?' instead"),  # a string
        ("special_tokens=('a', ", "The 'special_tokens' parameter"),
        ("across_sentences=true", "The 'across_sentences' parameter"),
        (
            "order=1",
            "The 'order' parameter of HsigmoidLanguageModel must be an int in the range [2",
        ),
        ("order=three", "Got 'three' instead"),
        ("tree=oak", "The 'tree' parameter"),
        ("regularization__dropout=2", "The 'dropout' parameter of Regularization"),
        ("early_stopping__monitor=valid_acc", "has no accuracy to monitor"),
        ("resume=True", "needs checkpoint_dir"),
    ],
)
def test_an_error_names_the_parameter_and_what_is_expected(setting: str, message: str) -> None:
    with pytest.raises(typer.BadParameter) as error:
        configured(HsigmoidLanguageModel(), setting)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("resume=True", "needs checkpoint_dir"),
        ("n_tables=99", "Take fewer or smaller"),
        ("ngram_range=(3, 2)", "a pair"),
    ],
)
def test_parameters_of_the_sentence_encoder_are_checked_with_each_other(
    setting: str, message: str
) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        configured(SGNNSentenceEncoder(), setting)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("nonsense=3", "--set: "),
        ("device=tpu", "The 'device' parameter"),
        ("max_epochs=-1", "The 'max_epochs' p"),
    ],
)
def test_a_wrong_value_is_wrong_usage_before_anything_is_read(
    hashnlp: Any, tmp_path: Path, command: tuple[str, ...], setting: str, message: str
) -> None:
    (tmp_path / "data.csv").write_text("")
    result = hashnlp(*command, tmp_path / "data.csv", "-m", tmp_path / "m", "--set", setting)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["train", "--dim", 5],
            "; parameters are set by --set NAME=VALUE, and listed by --parameters.",
        ),
        (
            ["lm", "train", "--model-type", "kneser-ney", "--seed", 4],
            "--model-type kneser-ney has no --seed.",
        ),
        (["lm", "train", "--model-type", "kneser-ney", "--device", "cuda"], "has no --device."),
    ],
    ids=["removed", "seed", "device"],
)
def test_an_option_without_effect_is_wrong_usage(
    hashnlp: Any, tmp_path: Path, options: list[Any], message: str
) -> None:
    (tmp_path / "data.csv").write_text("text")
    result = hashnlp(*options, tmp_path / "data.csv", "-m", tmp_path / "m")
    assert (result.code, message in result.err) == (2, True), result.err


def test_options_reach_a_classifier_with_settings(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    flipped = (
        data.read_text(encoding="utf-8")
        .replace("good,", "x,")
        .replace("bad,", "good,")
        .replace("x,", "bad,")
    )
    (tmp_path / "flipped.csv").write_text(flipped, encoding="utf-8")
    options = [
        "--set",
        "classifier__max_epochs=30",
        "--set",
        "classifier__n_buckets=1000",
        "--json",
    ]
    options += ["--set", "classifier__early_stopping=valid_acc"]
    result = hashnlp(
        "train", data, "-m", tmp_path / "m", *options, "--valid", tmp_path / "flipped.csv"
    )
    assert result.code == 0, result.err
    # no epoch is better than the first, by the texts of the user
    assert len(result.json["history"]) == 11
    assert load_model(tmp_path / "m").classifier.n_buckets == 1000
    monitored = [
        "--set",
        "early_stopping=valid_loss",
        "--set",
        "early_stopping__patience=2",
        "--holdout",
        0.25,
    ]
    result = hashnlp("train", data, "-m", tmp_path / "m", *monitored, "--json")
    losses = [entry["valid_loss"] for entry in result.json["history"]]
    assert result.json["best_epoch"] == losses.index(min(losses)) + 1


@pytest.mark.parametrize(("command", "estimator"), COMMANDS.items())
def test_the_list_has_every_parameter_with_its_default_and_a_sentence(
    hashnlp: Any, command: tuple[str, ...], estimator: type
) -> None:
    result = hashnlp(*command, "--parameters")
    assert (result.code, result.err) == (0, "")
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.strip()}
    for name, default, description in parameters_of(estimator(), {}):
        assert description, name
        assert "__" in name or name == "random_state" or repr(default) in rows[name]
    names = {*estimator().get_params(deep=False)} - {
        "callbacks",
        "pretrained",
        "scoring",
        "sentence_splitter",
    }
    assert names <= set(rows)
    assert ("early_stopping__patience" in rows) == ("early_stopping" in names)


def test_fields_of_early_stopping_change_that_of_the_name() -> None:
    named = HsigmoidLanguageModel(early_stopping="valid_loss")._stopping()
    assert repr(_train_language_model._bundles()["early_stopping"]) == repr(named)


def test_descriptions_are_plain_text(hashnlp: Any) -> None:
    out = hashnlp("train", "--parameters").out + hashnlp("lm", "train", "--parameters").out
    assert not any(markup in out for markup in ("``", ":class:", "]_"))
