"""Hash embeddings vs. standard embeddings, with the defaults of this package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.text_sets import read_text_set
from benchmarks.runner import run_recipe
from sklearn_hashnlp import make_text_classifier

from ...labelled_words import write_text_set

RECIPE = get_recipe("fewer-parameters")


def test_both_are_the_default_pipeline_with_other_tables(tmp_path: Path) -> None:
    write_text_set(tmp_path / "words")
    settings = replace(RECIPE.quick, dataset="words", data=str(tmp_path), n_train=0, n_test=0)
    hashed, standard = run_recipe(RECIPE, settings=settings, seed=4)
    texts = read_text_set(tmp_path / "words")
    for result, variant, n_tables in (
        (hashed, "improved", 2000 * 2 + 200 * 20),
        (standard, "standard", 2000 * 20),
    ):
        model = make_text_classifier(
            n_embeddings=2000, n_buckets=200, n_hashes=2, embedding_dim=20, random_state=4
        ).set_params(classifier__variant=variant)
        model.fit(texts.train_texts, texts.train_labels)
        assert result["accuracy"] == model.score(texts.test_texts, texts.test_labels) > 0.5
        assert 0 < result["n_parameters"] - n_tables < 100
    assert (hashed["n_train"], hashed["n_test"], hashed["n_classes"]) == (240, 60, 3)
