"""Every option of the source's command line has its place here, and the guide's table names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.ensemble import VotingClassifier

from benchmarks.commands.registry import get_recipe
from benchmarks.runner.run import plan_runs
from sklearn_hashnlp._sklearn import validate_parameter_constraints
from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.text import FrequentNgramVectorizer, HashingNgramVectorizer
from sklearn_hashnlp.training import EarlyStopping, Schedule

GUIDE = Path(__file__).parents[3] / "docs" / "experiments.md"
OPTIONS = [
    "-x",
    "-d",
    "--no-shuffle",
    "--no-checkpoint",
    "--val-loss-callback",
    "-e",
    "-b",
    "-v",
    "-s",
    "-p",
    "-V",
    "-P",
    "--no-cuda",
    "-w",
    "--dictionnary",
    "-g",
    "-f",
    "--no-hashembed",
    "--no-append-weight",
    "--old-hashembed",
    "-D",
    "-B",
    "-N",
    "-H",
    "-m",
]
SOURCE_CHOICES = {
    "-x": [
        "custom",
        "std-embed-dict",
        "hash-embed-dict",
        "hash-embed-nodict",
        "std-embed-nodict",
        "ensemble-hash-embed-dict",
    ],
    "-d": ["ag", "amazon", "amazon-polarity", "dbpedia", "sogou", "yahoo", "yelp", "yelp-polarity"],
}
CLASSES = {
    cls.__name__: cls
    for cls in (
        EarlyStopping,
        EmbeddingTables,
        FrequentNgramVectorizer,
        HashEmbeddingClassifier,
        HashingNgramVectorizer,
        Schedule,
        VotingClassifier,
    )
}


def rows_of_the_table():
    section = GUIDE.read_text(encoding="utf-8").split("## Options of the reference implementation")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {re.match(r" *`([^`]+)`", option)[1]: here.strip() for option, _, here in rows}


TABLE = rows_of_the_table()


def test_every_option_is_in_the_table():
    assert len(OPTIONS) == 25
    assert list(TABLE) == OPTIONS


@pytest.mark.parametrize("option", SOURCE_CHOICES)
def test_every_choice_of_the_source_is_named(option):
    commands = re.findall(r"`python -m benchmarks run ([^`]+)`", TABLE[option])
    assert [command.split()[-1] for command in commands] == SOURCE_CHOICES[option]


@pytest.mark.parametrize("option", OPTIONS)
def test_what_stands_in_the_table_exists(option):
    here = TABLE[option]
    if option in ("-x", "-d"):
        for command in re.findall(r"`python -m benchmarks run ([^`]+)`", here):
            name, _, dataset = command.partition(" -d ")
            (run,) = plan_runs([get_recipe(name)], datasets=[dataset] if dataset else [])
            assert run.settings.dataset in SOURCE_CHOICES["-d"]
            assert dataset in ("", run.settings.dataset)
    elif option == "-w":
        assert here.startswith("not needed: ")
    else:
        spans = re.findall(r"`([^`]+)`", here)
        assert spans
        for span in spans:  # each constructs what it names, with parameters of which fit would approve
            estimator = eval(span, CLASSES | {"ten_seeds": []})
            validate_parameter_constraints(
                estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
            )


def test_a_parameter_that_does_not_exist_is_noticed(monkeypatch):
    monkeypatch.setitem(TABLE, "-e", "`HashEmbeddingClassifier(epochs=300)`")
    with pytest.raises(TypeError, match="epochs"):
        test_what_stands_in_the_table_exists("-e")
