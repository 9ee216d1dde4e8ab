"""Tests of the sentence benchmark: each model is evaluated once, and the page shows the results."""

import importlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

FILMS = {"good": ["a fine funny film", "funny and fine acting"], "bad": ["dull and far too long", "too dull to see"]}

TINY = {
    "n_projections": 8,
    "projection_dim": 32,
    "n_components_removed": 2,
    "network__embedding_dim": 16,
    "network__n_heads": 2,
    "network__feedforward_size": 16,
}
TINY |= {"n_tables": 0, "word_steps": 1, "batch_size": 16}


@pytest.fixture
def sentence_bench(tmp_path, monkeypatch):
    """Return the sentence benchmark with tiny encoders, and write its data sets."""
    module, generator = importlib.import_module("benchmarks.language.bench_sentence_encoder"), np.random.default_rng(0)
    texts = [text for one in FILMS.values() for text in one]

    def sentence():
        return " ".join(generator.choice(" ".join(texts).split(), 6)) + "."

    rows = [f"{label},{text} {i}" for i in range(10) for label, texts in FILMS.items() for text in texts]
    for name in ("trec", "sst2", "imdb"):
        (tmp_path / name).mkdir()
        for file in ("train.csv", "dev.csv", "test.csv"):
            (tmp_path / name / file).write_text("label,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    pairs = [f"{score % 6},{sentence()},{sentence()}" for score in range(24)]
    paragraphs = [f"{sentence()} {sentence().title()}" for _ in range(40)]
    for path, lines in (
        ("stsb/dev.csv", ["score,sentence1,sentence2", *pairs]),
        ("wikipedia/paragraphs.txt", paragraphs),
    ):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    encoders = {name: TINY | settings for name, settings in module.ENCODERS.items()}
    for name, settings in (
        ("SMALL", TINY),
        ("ENCODERS", encoders),
        ("ABLATIONS", {"1 layer": {"network__n_layers": 0}}),
    ):
        monkeypatch.setattr(module, name, settings)
    searching = {name: TINY | settings for name, settings in module.sentence_search.MODELS.items()}
    monkeypatch.setattr(module.sentence_search, "MODELS", searching)
    monkeypatch.setattr(module.sentence_search, "MIN_SENTENCES", 2)
    return module


@pytest.mark.slow
def test_models_are_evaluated_once_and_monitored_on_the_first_half(sentence_bench, tmp_path, monkeypatch):
    arguments = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--output", str(tmp_path / "results.json")]
    arguments += ["--seeds", "2", "--ablation-seeds", "1", "--ablations", "1 layer", "--rounds", "1"]
    arguments += ["--search-sets", "imdb", "wikipedia"]
    sentence_bench.main(arguments)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert list(results) == ["similarity", "classification", "training", "retrieval", "speed", "ablation"]
    models = results["similarity"]["models"]
    assert list(models) == list(results["classification"]["models"]) == list(sentence_bench.MODELS)
    assert [len(runs) for runs in models.values()] == [1] * len(sentence_bench.BASELINES) + [2] * 3
    for name in sentence_bench.ENCODERS:
        run = results["training"]["models"][name]["1"]
        stages = [entry["stage"] for entry in run["log"]]
        assert stages == ["untrained", "words", *["sentences"] * (name == "trained encoder")]
        # The monitored score is that of the first half; the best weights are restored.
        last = max(entry["score"] for entry in run["log"][1 if len(stages) == 2 else 2 :])
        assert models[name]["1"]["first half"] == pytest.approx(last, abs=1e-3)
    assert results["classification"]["models"]["TF-IDF, words"]["0"]["trec"]["C chosen"] == 100
    assert all(rate > 0 for rate in results["speed"]["models"]["trained encoder"]["0"]["sentences/s"].values())
    found = results["retrieval"]["models"]
    assert list(found) == list(sentence_bench.SEARCH_MODELS)
    assert found["TF-IDF, words, sublinear"]["0"]["imdb"] == 100  # texts of a label share their words
    assert all(
        0 < run[name] <= 100 for runs in found.values() for run in runs.values() for name in ("imdb", "wikipedia")
    )
    ablated = results["ablation"]["models"]["1 layer"]["0"]
    assert (ablated["settings"]["network__n_layers"], ablated["sst2"] > 50) == (0, True)

    def stop(*_arguments):
        raise AssertionError("measured twice")

    for module, name in ((sentence_bench, "train_encoder"), (sentence_bench.sentence_tasks, "cosines")):
        monkeypatch.setattr(module, name, stop)
    sentence_bench.main(arguments)
    with pytest.raises(AssertionError, match="measured twice"):
        sentence_bench.main([*arguments, "--again"])


def test_a_trial_writes_no_json(sentence_bench, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.import_module("benchmarks.common.benchmark"), "FOLDER", tmp_path / "results")
    arguments = ["--data", str(tmp_path), "--rows", "30", "--part", "similarity", "--sets", "sst2"]
    sentence_bench.main([*arguments, "--models", "hashed words"])
    assert not (tmp_path / "results").exists()
    assert "| hashed words | 1,024 |" in capsys.readouterr().out


@pytest.mark.parametrize("n_grams", ["words", "characters"])
def test_folded_columns_are_those_of_hashing_into_few(n_grams):
    module = importlib.import_module("benchmarks.language.sentence_models")
    vectorizer = importlib.import_module("sklearn_hashnlp").HashingNgramVectorizer
    texts = [f"fine films {i} and {i} dull ones, {'too' * i}" for i in range(50)]
    wide, narrow = (
        vectorizer(**module.N_GRAMS[n_grams], n_features=n_features, norm=None).transform(texts)
        for n_features in (2**20, module.DIM)
    )
    assert (module.fold(wide) == narrow.toarray()).all()


def test_a_reviews_vector_is_the_mean_of_those_of_its_sentences():
    tasks = importlib.import_module("benchmarks.language.sentence_tasks")
    lengths = SimpleNamespace(transform=lambda texts: np.array([[len(text), 1.0] for text in texts]))
    results = tasks.text_vectors(lengths, ["One.<br /><br />Three and more. Two!", "", "Four"], averaged=True)
    assert results == pytest.approx(np.array([[(4 + 15 + 4) / 3, 1], [0, 1], [4, 1]]))
