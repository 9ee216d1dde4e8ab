"""The guide's table has every option of the reference's command line, with equivalents that do the
same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import VotingClassifier

from benchmarks.commands.main import _parser
from benchmarks.commands.registry import RECIPES
from benchmarks.recipes.hash_embedding_pipeline import make_classifier, make_ngram_counter
from benchmarks.runner.run import plan_runs
from sklearn_hashnlp import classifiers, text, training

GUIDE = Path(__file__).parents[3] / "docs" / "experiments.md"
SECTION = (
    GUIDE.read_text(encoding="utf-8")
    .split("## Options of the reference implementation")[1]
    .split("\n## ")[0]
)
ROWS = [
    line.strip("| ").split(" | ")
    for line in SECTION.replace("| |", "|  |").splitlines()
    if line[:3] == "| `"
]
OPTIONS = (
    "-x -d --no-shuffle --no-checkpoint --val-loss-callback -e -b -v -s -p -V -P --no-cuda -w "
    "--dictionnary -g -f --no-hashembed --no-append-weight --old-hashembed -D -B -N -H -m"
)
CHOICES = {
    "-x": (
        "custom std-embed-dict hash-embed-dict hash-embed-nodict std-embed-nodict "
        "ensemble-hash-embed-dict"
    ),
    "-d": "ag amazon amazon-polarity dbpedia sogou yahoo yelp yelp-polarity",
}
SEEDS = [(str(seed), classifiers.HashEmbeddingClassifier(random_state=seed)) for seed in range(10)]
NAMES = {"VotingClassifier": VotingClassifier, "ten_seeds": SEEDS}
NAMES |= {
    name: getattr(module, name)
    for module in (classifiers, text, training)
    for name in module.__all__
}
ESTIMATORS = re.findall(r"`([A-Z]\w+\([^`]*\))`", SECTION)


def option_of(row: list[str]) -> str:
    return row[0].split("`")[1]


def test_every_option_and_every_choice_of_the_reference_is_in_the_table() -> None:
    assert " ".join(map(option_of, ROWS)) == OPTIONS
    for row in ROWS:
        if (option := option_of(row)) in CHOICES:
            commands = re.findall(r"`([^`]+)`", " ".join(row[2:]))
            assert " ".join(command.split()[-1] for command in commands) == CHOICES[option]
    assert set(CHOICES["-x"].split()) <= set(RECIPES)


@pytest.mark.parametrize("code", ESTIMATORS)
def test_an_estimator_accepts_what_the_guide_sets(code: str) -> None:
    estimator = eval(code, dict(NAMES))
    if hasattr(estimator, "check_parameters"):  # a group of parameters is checked by its estimator
        estimator.check_parameters()


def parameters(call: ast.Call, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the parameters that a call sets, those of nested estimators with two underscores."""
    assert not call.args
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Call):
            yield from parameters(keyword.value, f"{prefix}{keyword.arg}__")
        else:
            yield f"{prefix}{keyword.arg}", eval(ast.unparse(keyword.value))


def alternatives() -> Iterator[tuple[str, str]]:
    """Yield the cell of each equivalent in Python, and that of the experiment."""
    for row in ROWS:
        if len(row) > 3 and option_of(row) not in CHOICES:
            yield from zip(row[2].split("; "), row[3].split("; "), strict=True)


@pytest.mark.parametrize(("in_python", "in_shell"), list(alternatives()))
def test_an_option_of_the_experiment_sets_the_same_parameters(
    in_python: str, in_shell: str
) -> None:
    options = _parser().parse_args(["run", "custom", *in_shell.strip("`").split()])
    (run,) = plan_runs([RECIPES["custom"]], changes=options.changes, seeds=[options.seed])
    if "VotingClassifier" in in_python:
        assert run.settings.members == len(SEEDS)
        return
    made = [make_classifier(run.settings, run.seed), make_ngram_counter(run.settings)["counts"]]
    by_name = {type(estimator).__name__: estimator.get_params() for estimator in made}
    for code in re.findall(r"`([^`]+)`", in_python):
        call = ast.parse(code, mode="eval").body
        assert isinstance(call, ast.Call)
        for name, value in parameters(call):
            found = by_name[ast.unparse(call.func)][name]
            assert (tuple(found) if isinstance(found, list) else found) == value, name
