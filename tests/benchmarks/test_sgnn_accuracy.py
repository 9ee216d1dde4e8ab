"""Tests of the benchmark of projections: its recipes, the changes of the paper's classifier, and the quoted figures."""

import importlib
import json

import numpy as np
import pytest

from tests.benchmarks.labeled_rows import FOLDER


def test_projections_are_measured_beside_a_linear_model_and_with_one_thing_changed(data, monkeypatch, capsys):
    module, recipes = (
        importlib.import_module("benchmarks.accuracy.bench_sgnn_accuracy"),
        importlib.import_module("benchmarks.common.sgnn_recipes"),
    )
    path = data / "results.json"
    small = recipes.Recipe((1, 2, 40), (1, 3, 40), (8,), max_epochs=30)
    monkeypatch.setitem(module.RECIPES, "trec", small)
    changed = {"level": "document", "n_projections": 4}
    monkeypatch.setattr(module, "ABLATIONS", {"documents": changed})
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--seeds", "2", "--ablation-seeds", "2"]
    module.main(arguments)
    results = json.loads(path.read_text(encoding="utf-8"))
    assert results["accuracy"]["trec"]["linear"]["accuracy"] == 100
    sgnn = results["accuracy"]["trec"]["sgnn"]
    assert sgnn["accuracy"] == 100
    assert len(sgnn["runs"]) == 2
    assert sgnn["recipe"]["words"] == [1, 2, 40]
    assert results["ablations"]["trec"]["documents"]["changed"] == changed
    assert len(results["ablations"]["trec"]["documents"]["runs"]) == 2
    monkeypatch.setattr(module, "train_and_test", None)  # nothing is measured twice
    capsys.readouterr()
    module.main(arguments)
    assert "documents" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["binary", "float"])
def test_a_recipe_has_the_views_and_the_classifier_that_it_names(output):
    recipe = importlib.import_module("benchmarks.common.sgnn_recipes").Recipe(
        (1, 2, 3), (2, 4, 5), (8,), max_epochs=1, output=output
    )
    model = recipe.pipeline(seed=7)
    words = model["views"].transform(["good film", "Good  film", "film good"])
    assert words.shape == (3, 14 * 8)
    assert (words[0] == words[1]).all()
    assert (words[0, : 14 * 3] != words[2, : 14 * 3]).any()  # pairs of words have an order
    assert (words[0, 14 * 3 :] == words[2, 14 * 3 :]).all()  # characters are of one word
    if output == "float":
        assert (words[:, : 14 * 3] ** 2).sum(axis=1) == pytest.approx(1, rel=1e-5)
    else:
        assert set(np.unique(words)) == {0, 1}
    assert model["classifier"].random_state == 7
    assert model["classifier"].hidden_layer_sizes == (8,)
    other = recipe.pipeline(seed=8)["views"].transform(["good film"])
    assert (words[0] != other[0]).any()


def test_a_recipe_may_have_a_second_view_of_characters():
    module = importlib.import_module("benchmarks.common.sgnn_recipes")
    one = module.Recipe((1, 1, 2), (1, 3, 5), (8,), max_epochs=1)
    both = module.Recipe((1, 1, 2), (1, 3, 5), (8,), max_epochs=1, longer=(4, 4, 3))
    texts = ["good film", "gold farm"]
    rows, longer = (recipe.pipeline(0)["views"].transform(texts) for recipe in (one, both))
    assert (longer[:, : rows.shape[1]] == rows).all()
    alone = module.Recipe(None, (4, 4, 3), (8,), max_epochs=1).pipeline(0)["views"].transform(texts)
    assert (longer[:, rows.shape[1] :] == alone).all()


def test_every_change_of_the_papers_classifier_changes_its_rows():
    recipes = importlib.import_module("benchmarks.common.sgnn_recipes")
    texts = ["who wrote this fine film", "how long is it ?"]
    rows = {
        name: recipes.paper_pipeline(0, **changed)[:-1].transform(texts) for name, changed in recipes.ABLATIONS.items()
    }
    assert {row.shape[1] for row in rows.values()} == {20 * 14, 40 * 14, 80 * 14, 160 * 14}
    digests = {row.astype(np.float64).tobytes() for row in rows.values()}
    assert len(digests) == len(rows)


def test_the_page_on_projections_quotes_what_was_measured():
    results = FOLDER / "results" / "sgnn_accuracy.json"
    results = json.loads(results.read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / "sgnn_reproduction.md").read_text(encoding="utf-8")
    for cells in results["accuracy"].values():
        assert f"| {cells['sgnn']['accuracy']:.1f} ± {cells['sgnn']['spread']:.1f} |" in page
        assert f"| {cells['linear']['accuracy']:.1f} |" in page
    for cells in results["ablations"].values():
        for variant, cell in cells.items():
            assert f"| {variant} |" in page
            assert f"| {cell['accuracy']:.1f} ± {cell['spread']:.1f} |" in page
