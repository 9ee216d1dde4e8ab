"""Embeddings of n-grams in the same network, one of the user's own among them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.embedding_training import make_network
from benchmarks.recipes.hash_embedding_trial import count_texts, make_ngram_counter, read_texts
from benchmarks.runner import run_recipe

from ...labelled_words import write_text_set

RECIPE = get_recipe("compare-embeddings")
MODULE = """
import torch
class Table(torch.nn.Embedding):
    def __init__(self, n, d):
        super().__init__(n, 2 * d, sparse=True)
def scalar(n, d):
    return torch.nn.Flatten(0)
def number(n, d):
    return 3
class Majority:
    def fit(self, X, y):
        self.label = max(set(y), key=list(y).count)
    def predict(self, X):
        return [self.label] * X.shape[0]
def nothing():
    return 3
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("sets")
    write_text_set(folder / "words")
    return replace(
        RECIPE.quick, dataset="words", data=str(folder), n_train=0, max_epochs=8, learning_rate=0.05
    )


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_embeddings", raising=False)
    Path("my_embeddings.py").write_text(MODULE)


def test_embeddings_learn_and_are_compared(settings: Any) -> None:
    settings = replace(
        settings, embeddings=("hash", "standard", "my_embeddings:Table", "torch.nn:Embedding")
    )
    results = [
        result for seed in (0, 1) for result in run_recipe(RECIPE, settings=settings, seed=seed)
    ]
    assert [result["embedding"] for result in results[:4]] == list(settings.embeddings)
    assert [result["n_parameters"] for result in results[:4]] == [
        4096 * 2 + 409 * 4,
        4096 * 4,
        4096 * 8,
        4096 * 4,
    ]
    assert [result["accuracy"] for result in results if result["accuracy"] < 0.6] == []
    means, test, training = RECIPE.report(results)
    assert [row[0] for row in means.rows] == list(settings.embeddings)
    assert [row[2] for row in means.rows] == ["2"] * 4
    for table, metric in ((test, "accuracy"), (training, "train_accuracy")):
        assert [row[0] for row in table.rows] == list(settings.embeddings)[1:]
        hashed, standard = ([result[metric] for result in results[start::4]] for start in (0, 1))
        assert table.rows[0][1] == f"{100 * np.mean(np.subtract(hashed, standard)):+.2f}"
    assert len(RECIPE.report(results[:4])) == 1  # no test of one seed


def test_a_custom_embedding_supports_all_options(settings: Any) -> None:
    own = replace(
        settings,
        embeddings=("my_embeddings:Table",),
        dictionary=True,
        n_embeddings=100,
        ngram_dropout=(),
    )
    [plain] = run_recipe(RECIPE, settings=own)
    assert plain["n_parameters"] == 100 * 8
    [pair] = run_recipe(
        RECIPE, settings=replace(own, members=2, hidden_layer_sizes=(8,), ngram_dropout=(2, 9))
    )
    assert pair["n_parameters"] == 2 * plain["n_parameters"]
    assert pair["epochs"] > plain["epochs"] / 2
    assert min(plain["accuracy"], pair["accuracy"]) > 0.6


def test_a_custom_classifier_is_fitted_on_the_same_rows(settings: Any) -> None:
    names = ("my_embeddings:Majority", "sklearn.svm:LinearSVC")
    own = replace(settings, embeddings=("standard",), classifiers=names)
    results = list(run_recipe(RECIPE, settings=own))
    assert [result["embedding"] for result in results] == ["standard", *names]
    counted = count_texts(own, read_texts(own, 0), own.n_embeddings)
    _, counts = np.unique(counted.train_labels, return_counts=True)
    assert results[1]["train_accuracy"] == counts.max() / counts.sum()
    model = LinearSVC(random_state=0).fit(counted.train, counted.train_labels)
    assert results[2]["accuracy"] == model.score(counted.test, counted.test_labels) > 0.6
    assert RECIPE.report(results)[0].rows[1][1] == ""


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("hahs", ValueError, "An embedding must be hash, standard or MODULE:NAME, got 'hahs'."),
        ("no_such:Table", ValueError, "There is no module 'no_such'"),
        (
            "my_embeddings:torch",
            TypeError,
            "must be a class or function that is called with num_embeddings and",
        ),
        ("my_embeddings:number", TypeError, "must return a torch.nn.Module, it returned 3"),
        (
            "my_embeddings:scalar",
            ValueError,
            "must return a vector for each of 2 ids, it returned (2,)",
        ),
    ],
)
def test_invalid_embeddings_are_refused(name: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        make_network(name, 8, 2, 3)


def test_a_preprocessing_without_lowercase_is_that_of_the_paper() -> None:
    texts = ["A cat's cat.", "a CAT"]
    reference, paper = (
        make_ngram_counter(
            replace(RECIPE.settings, preprocessing=name, ngram_range=(1, 1))
        ).transform(texts)
        for name in ("reference", "paper")
    )
    assert [row.nnz for row in (reference[[0]], reference[[1]])] == [1, 1]
    assert [row.nnz for row in (paper[[0]], paper[[1]])] == [3, 2]  # A cat s, a CAT
    assert len(set(paper.indices)) == 5
