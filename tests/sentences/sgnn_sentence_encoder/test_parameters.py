import math

import numpy as np
import pytest

from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from tests.sentence_texts import PARAGRAPHS, make

WRONG = {
    "n_projections": [0, 1.5],
    "n_bits": [0, "14"],
    "ngram_range": [3, (3, 2), (0, 2), (1, 2, 3), ("a", "b"), (1.0, 2.0)],
    "projection_dim": [0, None],
    "context_weight": [-0.1, 1.1, math.nan],
    "n_components_removed": [-1, 16, 2.0],
    "width": [0, 9],
    "n_layers": [-1],
    "n_heads": [0],
    "feedforward_size": [0],
    "pooling": ["sum", None],
    "pooling_width": [0],
    "depths": [0, 3],
    "positions": ["yes"],
    "n_tables": [-1],
    "table_bits": [0, 25],
    "dropout": [-0.1, 1.0],
    "start": ["zero"],
    "word_steps": [-1],
    "loss": ["hinge"],
    "temperature": [0.0],
    "sentence_weight": [-1.0, "1", (1,), (1, -1), (1, "a"), math.inf, (1, math.nan)],
    "word_weight": [-1.0, (0, 1, 2), (math.inf, 0)],
    "masked_weight": [-1.0, [1.0]],
    "n_features": [0, 2.0],
    "n_components": [0, "all"],
    "alpha": [0.0, -1.0],
    "vector_weight": [-0.1, 1.1, None],
    "sentence_splitter": ["."],
    "max_sentences": [0],
    "max_words": [0],
    "max_epochs": [-1, 1.5],
    "max_time": [0, -1.0],
    "batch_size": [0],
    "learning_rate": [0.0, -1.0],
    "monitor": ["loss"],
    "log_every": [0],
    "checkpoint_dir": [3],
    "checkpoint_every": [-1.0],
    "resume": ["yes"],
    "n_jobs": ["2", 1.5],
    "device": ["gpu"],
    "callbacks": [3, ["print"], [("a", 3)]],
    "random_state": ["seed", -1],
    "verbose": [-1, 3],
}


def test_each_parameter_has_constraints():
    assert set(SGNNSentenceEncoder._parameter_constraints) == set(WRONG) == set(SGNNSentenceEncoder().get_params())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_error_names_the_parameter(name, value, method):
    encoder = make(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of SGNNSentenceEncoder must"):
        getattr(encoder, method)(PARAGRAPHS)
    assert not hasattr(encoder, "net_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depths": 2}, r"SGNNSentenceEncoder\(depths=2\) needs n_layers of at least 2. Got n_layers=1"),
        ({"n_tables": 13}, r"\(n_tables=13, table_bits=4\) needs projections of 52 columns .* is 48. Take fewer"),
        ({"resume": True}, r"SGNNSentenceEncoder\(resume=True\) needs checkpoint_dir"),
        ({"sentence_weight": 0.0}, "needs a head: one of sentence_weight, word_weight, masked_weight must be more"),
        ({"sentence_weight": (0, 0), "word_weight": [0, 0.0]}, "needs a head"),
    ],
)
def test_an_error_names_parameters_that_contradict_each_other(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(PARAGRAPHS)


@pytest.mark.parametrize(
    "options",
    [
        {"n_projections": np.int64(6), "context_weight": np.float32(0.2), "masked_weight": np.int64(1)},
        {"masked_weight": np.float32(0.5), "sentence_weight": np.float32(1)},
        {"masked_weight": [0, 1], "sentence_weight": (1, 0), "word_weight": (0.5, 0.5)},
        {"sentence_weight": 0, "masked_weight": (0, 1)},
        {"context_weight": 1, "n_layers": 0, "ngram_range": [1, 3], "n_components_removed": 16},
        {"context_weight": 0, "n_components_removed": 0},
        {"n_tables": 0, "word_steps": 0, "pooling": "attention", "pooling_width": 5},
        {"max_epochs": 0, "sentence_splitter": str.split, "positions": False},
        {"n_layers": 2, "depths": 2, "start": "random", "dropout": 0.5, "pooling": "max", "loss": "bxent"},
        {"pooling": "mean", "loss": "vmf", "max_sentences": 2, "max_time": 5.0},
        {"loss": "proximity", "n_jobs": None, "device": "auto", "random_state": None},
    ],
    ids=str,
)
def test_numpy_scalars_lists_and_limits_are_valid(options, tmp_path):
    encoder = make(**{"max_epochs": 1} | options, checkpoint_dir=tmp_path).fit(PARAGRAPHS)
    vectors = encoder.transform(PARAGRAPHS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (tmp_path / "weights.safetensors").exists()
