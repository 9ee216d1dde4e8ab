"""Parameters of SGNNSentenceEncoder, its bundles, and searches over both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp.sentences import Network, Objectives, SGNNSentenceEncoder
from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.sentence_texts import PARAGRAPHS, QUERIES, bytes_of, make
from tests.trainings import assert_same_bits

Y = [number % 4 for number in range(40)]
WRONG = {
    "ngram_range": [3, (3, 2), (0, 2), (1, 2, 3), ("a", "b"), (1.0, 2.0)],
    "n_components_removed": [16],
    "network__embedding_dim": [0, 9],
    "network__n_layers": [-1],
    "network__n_heads": [0],
    "network__feedforward_size": [0],
    "network__pooling": ["sum", None],
    "network__depths": [0, 3],
    "objectives__loss": ["hinge"],
    "objectives__temperature": [0.0],
    "objectives__sentence_weight": [-1.0, "1", (1,), (1, -1), (1, "a"), math.inf, (1, math.nan)],
    "objectives__word_weight": [-1.0, (0, 1, 2), (math.inf, 0)],
    "objectives__masked_weight": [-1.0, [1.0]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_an_error_names_the_parameter(name, value):
    encoder = make(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name.rpartition('__')[2]}' parameter of .* must"):
        encoder.fit(PARAGRAPHS)
    assert not hasattr(encoder, "net_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"network__depths": 2},
            r"Network\(depths=2\) needs n_layers of at least 2. Got n_layers=1",
        ),
        (
            {"n_tables": 13},
            r"\(n_tables=13, table_bits=4\) needs projections of 52 columns .* is 48. Take fewer",
        ),
        ({"resume": True}, r"SGNNSentenceEncoder\(resume=True\) needs checkpoint_dir"),
        (
            {"objectives__sentence_weight": 0.0},
            "one of sentence_weight, .*, masked_weight must be more",
        ),
        (
            {"objectives__sentence_weight": (0, 0), "objectives__word_weight": [0, 0.0]},
            "must be more than 0",
        ),
        (
            {"network__n_layers": 0, "objectives__masked_weight": (0, 1)},
            r"masked_weight=\(0, 1\).* needs layers",
        ),
        ({"callbacks": [StepLog(0)]}, "StepLog needs an integer of at least 1 step"),
        ({"callbacks": [TimeLimit(0)]}, "TimeLimit needs a number of more than 0 seconds"),
    ],
)
def test_an_error_names_parameters_that_contradict_each_other(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(PARAGRAPHS)


@pytest.mark.parametrize("callback", [TimeLimit(-1), ("log", StepLog(0))], ids=str)
def test_callbacks_are_checked_before_the_texts(callback):
    with pytest.raises(ValueError, match=r"(TimeLimit|StepLog) needs a"):
        make(callbacks=[callback]).fit(None)


def test_auto_is_the_default_bundle_and_fit_changes_none():
    small = {"n_projections": 6, "n_tables": 0, "projection_dim": 16, "random_state": 0}
    network, objectives = Network(), Objectives()
    encoder = SGNNSentenceEncoder(**small, network=network, objectives=objectives).fit(PARAGRAPHS)
    assert_same_bits(bytes_of(encoder), bytes_of(SGNNSentenceEncoder(**small).fit(PARAGRAPHS)))
    assert encoder.network is network
    assert (network, objectives) == (Network(), Objectives())


def test_the_encoder_of_the_report():
    encoder = SGNNSentenceEncoder.report()
    given = {
        name: value
        for name, value in encoder.get_params().items()
        if "__" in name or name in REPORT
    }
    assert {name: given[name] for name in REPORT} == REPORT
    changed = {
        name
        for name, value in encoder.get_params().items()
        if value != SGNNSentenceEncoder().get_params().get(name)
    }
    assert {name for name in changed if "__" not in name} == {
        name for name in REPORT if "__" not in name
    } | {
        "network",
        "objectives",
    }
    small = {"network__embedding_dim": 8, "network__n_layers": 2, "network__feedforward_size": 16}
    vectors = (
        encoder.set_params(**small, n_projections=6, random_state=0)
        .fit(PARAGRAPHS)
        .transform(QUERIES)
    )
    assert vectors.shape == (6, 8)  # no part from the spelling
    state = encoder.net_.module_.network.state_dict()
    assert not any("tables" in name or "spelling" in name for name in state)


REPORT = {
    "ngram_range": (1, 3),
    "context_weight": 1.0,
    "n_components_removed": 0,
    "network__embedding_dim": 512,
    "network__n_layers": 6,
    "network__feedforward_size": 2048,
    "network__pooling": "max",
    "n_tables": 0,
    "init": "random",
    "word_steps": 0,
    "objectives__loss": "bxent",
    "learning_rate": 5e-4,
}


@pytest.mark.parametrize(
    "options",
    [
        {
            "n_projections": np.int64(6),
            "context_weight": np.float32(0.2),
            "objectives__masked_weight": np.int64(1),
        },
        {
            "objectives__masked_weight": np.float32(0.5),
            "objectives__sentence_weight": np.float32(1),
        },
        {"objectives__masked_weight": [0, 1], "objectives__sentence_weight": (1, 0)},
        {
            "context_weight": 1,
            "network__n_layers": 0,
            "ngram_range": [1, 3],
            "n_components_removed": 16,
        },
        {"context_weight": 0, "n_components_removed": 0},
        {"n_tables": 0, "word_steps": 0, "network__pooling": "attention", "max_epochs": 0},
        {"network__n_layers": 2, "network__depths": 2, "init": "random", "network__pooling": "max"},
        {
            "network__pooling": "mean",
            "max_sentences": 2,
            "callbacks": [TimeLimit(5.0), ("log", StepLog(3))],
        },
        {"objectives__loss": "proximity", "n_jobs": None, "device": "auto", "random_state": None},
    ],
    ids=str,
)
def test_numpy_scalars_lists_and_limits_are_valid(options, tmp_path):
    encoder = make(**{"max_epochs": 1} | options, checkpoint_dir=tmp_path).fit(PARAGRAPHS)
    vectors = encoder.transform(PARAGRAPHS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (tmp_path / "weights.safetensors").exists()


def test_searches_over_parameters_and_fields():
    pipeline = make_pipeline(make(max_epochs=1), LogisticRegression())
    grid = {"sgnnsentenceencoder__context_weight": [np.float32(0.5), 1]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(PARAGRAPHS, Y)
    assert search.best_score_ > 0.5  # chance is a quarter

    def scorer(encoder, X, y=None):
        return float(encoder.similarity(X[:-1], X[1:]).mean())

    grid = {"network__n_layers": np.array([0, 1]), "objectives__word_weight": [0.0, (1.0, 0.0)]}
    search = GridSearchCV(make(max_epochs=1), grid, scoring=scorer, cv=2, error_score="raise").fit(
        PARAGRAPHS
    )
    assert len(set(search.cv_results_["mean_test_score"])) == 4
