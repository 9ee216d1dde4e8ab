"""The recipe ``nplm``, on a tiny corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes import nplm
from benchmarks.runner import run_recipe
from sklearn_hashnlp import HsigmoidLanguageModel

RECIPE = get_recipe("nplm")
TRAIN = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat saw the dog",
    "a dog",
    "a dog saw the cat",
] * 5
VALID = ["the cat sat on the rug", "no dog saw the zebra", "a cat"]
TEST = ["a dog sat on the mat", "a dog saw a dog"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, sentences in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (tmp_path / f"{name}.txt").write_text("".join(f" {sentence} \n" for sentence in sentences))
    return tmp_path


def test_the_first_of_four_networks_has_the_settings_of_the_post(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: list[HsigmoidLanguageModel] = []
    make = nplm._model
    monkeypatch.setattr(nplm, "_model", lambda *args: models.append(make(*args)) or models[-1])
    settings: Any = replace(RECIPE.quick, data=str(data), batch_size=8, log_every=5)
    results = list(run_recipe(RECIPE, settings=settings))
    assert [result["network"] for result in results] == list(nplm._NETWORKS)
    # words, sizes and context of the post
    n = 11
    m = settings.embed_dim
    h = settings.hidden_dim
    k = settings.num_steps
    first, with_w, small, tree = models
    assert results[0]["n_vocabulary"] == n
    # embed_matrix has a row for <s>, too; then H and d, U and b, and W.
    assert (
        results[0]["n_parameters"]
        == (n + 1) * m + (k * m + 1) * h + (h + 1) * n
        == results[2]["n_parameters"]
    )
    assert results[1]["n_parameters"] == results[0]["n_parameters"] + k * m * n
    expected = {
        "output": "softmax",
        "init": "uniform",
        "optimizer": "sgd",
        "hidden_layer": "tanh",
    } | {
        "schedule": None,
        "regularization": None,
        "direct_connections": False,
        "learning_rate": settings.lr,
    }
    parameters = first.get_params()
    assert {name: parameters[name] for name in expected} == expected
    assert with_w.direct_connections is True
    assert (small.init, small.optimizer, small.output) == ("default", "sgd", "softmax")
    assert (tree.output, tree.optimizer) == ("hsigmoid", "adagrad")
    for model, result in zip(models, results, strict=True):
        assert result["test_perplexity"] == model.perplexity(TEST)
        assert result["valid_perplexity"] == pytest.approx(model.perplexity(VALID), rel=1e-6)
        assert [epoch["epoch"] for epoch in result["epochs"]] == [1, 2]
        assert result["log"][0][:2] == [1, 5]
    assert RECIPE.plot is not None
    RECIPE.plot(results, Figure())
    table, translations = RECIPE.report(results)
    ranked = {row[0]: [float(score) for score in row[2:]] for row in translations.rows}
    assert list(ranked) == [*nplm._NETWORKS, "counts", "counts and tree"]
    indices, scores = tree.rank(list(nplm.CANDIDATES))
    assert [ranked["tree and AdaGrad"][i] for i in indices] == pytest.approx(scores, abs=0.01)
    assert len(set(ranked["counts"])) == 3
    assert [row[0] for row in table.rows] == list(nplm._NETWORKS)
    assert "states no figures" in table.notes[0]
