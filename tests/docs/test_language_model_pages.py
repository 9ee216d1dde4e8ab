"""The pages about Paddle and TensorFlow build the networks of their sources, and run on the
sources' text.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model
from tests.docs.page_blocks import DOCS, blocks, run_shell

# The sources: train.py and network_conf.py of Paddle's hsigmoid; the post, which names no sizes and
# no learning rate.
NETWORKS: dict[str, dict[str, Any]] = {
    "coming_from_paddle": {
        "order": 5,
        "embedding_dim": 32,
        "hidden_size": 256,
        "output": "hsigmoid",
        "tree": "complete",
        "direct_connections": False,
        "hidden_layer": "sigmoid",
        "regularization__dropout": 0.5,
        "regularization__embedding_dropout": 0.0,
        "regularization__word_dropout": 0.0,
        "init": "reference",
        "padding": "reference",
        "optimizer": "adam",
        "learning_rate": 3e-3,
        "schedule__bias_learning_rate": 2.0,
        "schedule__decay": "constant",
        "schedule__warmup_steps": 0,
        "regularization__weight_decay": 8e-4,
        "regularization__max_grad_norm": None,
        "batch_size": 64,
    },
    "coming_from_tensorflow": {
        "output": "softmax",
        "direct_connections": True,
        "hidden_layer": "tanh",
        "regularization": None,
        "init": "uniform",
        "optimizer": "sgd",
        "schedule": None,
    },
}
PAGES = sorted(NETWORKS)


def parse(page: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples((DOCS / f"{page}.md").read_text(encoding="utf-8"))


def parameters_of(model: Any, names: dict[str, Any]) -> dict[str, Any]:
    parameters = model.get_params()
    return {name: parameters[name] for name in names}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_builds_the_network_of_its_source(page: str) -> None:
    names: dict[str, Any] = {}
    for example in parse(page):
        exec(example.source, names)  # up to the model, before it is fitted
        if "model" in names:
            break
    assert parameters_of(names["model"], NETWORKS[page]) == NETWORKS[page]


def test_the_command_trains_the_network_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [commands] = [
        block.text for block in blocks(DOCS / "coming_from_paddle.md") if block.language == "sh"
    ]
    run_shell(commands)
    network = NETWORKS["coming_from_paddle"]
    assert parameters_of(load_model(tmp_path / "lm"), network) == network
