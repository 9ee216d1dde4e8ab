"""Training in programs that have changed the default device of torch, have no standard output, or
never end.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from skorch.history import History

from sklearn_hashnlp.persistence import load_model, save_model
from tests.contract.estimators import CASES, answers, fit, fitted, kind, part_fit
from tests.trainings import assert_same_bits

ESTIMATORS = [
    "HashEmbeddingClassifier",
    "SGNNClassifier",
    "HsigmoidLanguageModel",
    "SGNNSentenceEncoder",
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_default_device_changes_no_model(name: str, tmp_path: Path) -> None:
    torch.set_default_device("meta")
    try:
        model = fit(name)
        answers(name, model)
        save_model(model, tmp_path, training_state=True)
        loaded = load_model(tmp_path)
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert_same_bits(answers(name, model), answers(name, loaded), answers(name, fitted(name)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_loaded_in_inference_mode_learns_on(name: str, tmp_path: Path) -> None:
    model, expected = fitted(name), fitted(name)
    save_model(model, tmp_path, training_state=True)
    with torch.inference_mode():
        copies = [load_model(tmp_path), pickle.loads(pickle.dumps(model))]
    part_fit(name, expected, slice(0, 40))
    for copy in copies:
        part_fit(name, copy, slice(0, 40))
        assert_same_bits(answers(name, copy), answers(name, expected))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_program_without_standard_output_trains(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    models = [fit(name), fit(name, verbose=2)]
    assert_same_bits(
        answers(name, models[0]), answers(name, models[1]), answers(name, fitted(name))
    )


HUGE = [
    ("HashEmbeddingClassifier", "embedding_dim", 2**62),
    ("HashEmbeddingClassifier", "batch_size", 2**63),
    ("HashEmbeddingClassifier", "ngram_dropout", (2**63, 2**63)),
    ("HashEmbeddingClassifier", "learning_rate", 1e300),
    ("SGNNClassifier", "hidden_layer_sizes", (2**63,)),
    ("SGNNClassifier", "batch_size", 2**70),
    ("HsigmoidLanguageModel", "order", 2**64),
    ("HsigmoidLanguageModel", "hidden_size", 2**62),
    ("HsigmoidLanguageModel", "learning_rate", 1e300),
    ("SGNNSentenceEncoder", "max_sentences", 2**63),
    ("SGNNSentenceEncoder", "network__n_layers", 2**31 - 1),
    ("SGNNSentenceEncoder", "learning_rate", 1e300),
    ("SGNNSentenceEncoder", "n_bits", 2**62),
]


@pytest.mark.parametrize(("name", "parameter", "value"), HUGE, ids=lambda value: str(value)[:40])
def test_a_huge_value_is_refused_with_the_name_of_its_parameter(
    name: str, parameter: str, value: Any
) -> None:
    bundle, _, field = parameter.rpartition("__")
    owner = bundle.title() or kind(name)
    with pytest.raises(ValueError, match=f"The '{field}' parameter of {owner} must"):
        fit(name, **{parameter: value})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_partial_fit_does_not_read_the_history_of_all_calls(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CASES[name].make()
    for _ in range(3):
        part_fit(name, model, slice(0, 40))
    lengths = []
    monkeypatch.setattr(History, "to_list", lambda self: lengths.append(len(self)) or list(self))
    part_fit(name, model, slice(0, 40))
    assert max(lengths, default=0) <= 1
    assert np.isfinite(model.history_[-1]["train_loss"])
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4]
