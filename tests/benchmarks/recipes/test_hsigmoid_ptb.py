"""The recipe ``hsigmoid-ptb``, on a tiny corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.commands.registry import get_recipe
from benchmarks.runner import run_recipe
from sklearn_hashnlp.language._tokenizer import sentence_windows
from sklearn_hashnlp.persistence import load_model
from tests.language.tokenizers import encode

RECIPE = get_recipe("hsigmoid-ptb")
TRAIN = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat saw the dog",
    "a dog",
    "a dog saw the cat",
] * 5
VALID = ["the cat sat on the rug", "no dog saw the zebra", "a cat"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "ptb"
    folder.mkdir()
    (folder / "train.txt").write_text("".join(f" {sentence} \n" for sentence in TRAIN))
    (folder / "valid.txt").write_text("\n\n".join(VALID))
    return folder


def run(data: Path, seed: int = 0, **changes: Any) -> list[dict[str, Any]]:
    settings = replace(
        RECIPE.quick, data=str(data), batch_size=8, log_every=3, hidden_size=4, **changes
    )
    return list(run_recipe(RECIPE, settings=settings, seed=seed))


def decode_res(infer_res: Any, dict_size: int) -> list[int]:
    """The decoder of the reference implementation."""
    predict_lbls = []
    infer_res = infer_res > 0.5
    for probs in infer_res:
        idx = 0
        result = 1
        while idx < len(probs):
            result <<= 1
            if probs[idx]:
                result |= 1
            idx = idx * 2 + 2 if probs[idx] else idx * 2 + 1
        predict_lbls.append(result - dict_size)
    return predict_lbls


def test_every_epoch_is_saved_and_evaluated(data: Path, tmp_path: Path) -> None:
    results = run(data, epochs=3, checkpoint_dir=str(tmp_path / "checkpoints"))
    assert [result["epoch"] for result in results] == [1, 2, 3]
    (folder,) = (tmp_path / "checkpoints").iterdir()
    windows = [
        window for line in VALID for window in sentence_windows(line, order=5, padding="reference")
    ]
    assert len(windows) == 7  # of 8, 7 and 4 words with <s> and </s>
    n_steps = -(-sum(max(len(line.split()) + 2 - 4, 0) for line in TRAIN) // 8)
    for result in results:
        model = load_model(folder / f"epoch-0000{result['epoch']}")
        assert result["valid_perplexity"] == pytest.approx(model.perplexity(VALID), rel=1e-6)
        assert (result["n_words"], result["n_vocabulary"]) == (7, 11)
        contexts = [context for context, _ in windows]
        true = np.array([word if word in model.vocabulary_ else "<unk>" for _, word in windows])
        words = list(model.vocabulary_)
        with torch.inference_mode():
            x = model.net_.module_.hidden(torch.from_numpy(encode(model._tokenizer, contexts)))
            decoded = decode_res(model.net_.module_.output_layer.node_prob(x).numpy(), 11)
        assert result["hit_rate_greedy"] == np.mean(
            np.array([words[number] for number in decoded]) == true
        )
        best = np.array([words[number] for number in model.predict_proba(contexts).argmax(axis=1)])
        assert result["hit_rate_exact"] == np.mean(best == true)
        assert [entry[0] for entry in result["log"]] == list(range(3, n_steps + 1, 3))
    assert results[2]["train_loss"] < results[0]["train_loss"]


def test_the_network_equals_the_reference(data: Path, tmp_path: Path) -> None:
    run(data, epochs=1, checkpoint_dir=str(tmp_path / "checkpoints"))
    (folder,) = (tmp_path / "checkpoints").iterdir()
    parameters = load_model(folder / "epoch-00001").get_params()
    reference = {"embedding_dim": 32, "hidden_size": 256, "epochs": 30, "batch_size": 64}
    reference |= {
        "optimizer": "adam",
        "learning_rate": 3e-3,
        "schedule": "constant",
        "weight_decay": 8e-4,
    }
    assert {name: getattr(RECIPE.settings, name) for name in reference} == reference
    expected = {
        **{name: reference[name] for name in ("optimizer", "learning_rate")},
        "schedule__decay": "constant",
        "schedule__warmup_steps": 0,
        "regularization__weight_decay": reference["weight_decay"],
        "regularization__max_grad_norm": None,
        "order": 5,
        "output": "hsigmoid",
        "tree": "complete",
        "hidden_layer": "sigmoid",
        "regularization__dropout": 0.5,
        "regularization__embedding_dropout": 0.0,
        "init": "reference",
        "schedule__bias_learning_rate": 2.0,
        "padding": "reference",
        "direct_connections": False,
        "checkpoint_dir": (str(folder), "all"),
        "embedding": "table",
    }
    assert {name: parameters[name] for name in expected} == expected
    assert (RECIPE.settings.n_train, RECIPE.settings.n_valid) == (0, 0)


def test_no_run_resumes_from_the_checkpoints_of_another(data: Path, tmp_path: Path) -> None:
    def losses(folder: str, **changes: Any) -> list[float]:
        return [
            result["valid_loss"]
            for result in run(data, checkpoint_dir=folder and str(tmp_path / folder), **changes)
        ]

    for changes in ({"seed": 0}, {"seed": 1}, {"learning_rate": 0.01}):
        assert losses("checkpoints", **changes) == losses("", **changes)
    folders = sorted(path.name[:7] for path in (tmp_path / "checkpoints").iterdir())
    assert folders == ["seed-0-", "seed-0-", "seed-1-"]
    assert losses("checkpoints", seed=1) == losses("", seed=1)  # from its own checkpoints
    assert len(list((tmp_path / "checkpoints").iterdir())) == 3
