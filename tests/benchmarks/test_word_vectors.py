"""Tests of the benchmark of word vectors: questions, accuracy, neighbors, windows, and both trainings."""

import importlib
import json
import sys

import numpy as np
import pytest

WORDS = ["berlin", "germany", "paris", "france", "rome", "italy", "madrid", "spain", "wine", "beer", "red", "blue"]
GENSIM = """
import numpy as np
from types import SimpleNamespace

def Word2Vec(sentences, vector_size, min_count, epochs, **settings):
    assert settings["hs"] == 1 and settings["sg"] == 1 and settings["negative"] == 0
    words = sorted({word for sentence in sentences for word in sentence})
    vectors = np.random.default_rng(settings["seed"]).normal(size=(len(words), vector_size)).astype(np.float32)
    return SimpleNamespace(wv=SimpleNamespace(index_to_key=words, vectors=vectors))
"""


@pytest.fixture
def tasks():
    return importlib.import_module("benchmarks.language.word_vector_tasks")


@pytest.fixture
def models():
    return importlib.import_module("benchmarks.language.word_vector_models")


def test_word_lists_have_no_empty_relation_and_no_word_without_partner():
    lists = importlib.import_module("benchmarks.language.word_lists")
    for relation, text in lists.RELATIONS.items():
        pairs = text.split()
        assert len(pairs) == len(set(pairs)) > 20, relation
        assert all(len(pair.split("-")) == 2 for pair in pairs)
    for group, text in lists.GROUPS.items():
        assert len(text.split()) == len(set(text.split())) > 4, group


def test_no_pair_is_in_both_halves(tasks):
    words = [word for text in tasks.RELATIONS.values() for pair in text.split() for word in pair.split("-")]
    halves = [
        {(one.relation, *pair) for one in tasks.questions(words, half) for pair in (one[1:3], one[3:5])}
        for half in tasks.HALVES
    ]
    assert not halves[0] & halves[1]
    assert len(list(tasks.questions(words, "test"))) > 1000
    assert list(tasks.questions(["berlin", "paris"], "test")) == []


def test_analogies_are_right_where_the_relation_is_a_direction(tasks, monkeypatch):
    monkeypatch.setattr(tasks, "RELATIONS", {"capital": "berlin-germany paris-france rome-italy madrid-spain"})
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(WORDS), 60)).astype(np.float32)
    countries = rng.normal(size=60)
    for capital in range(0, 8, 2):
        vectors[capital + 1] = vectors[capital] + countries
    assert tasks.analogies(WORDS, vectors, "test") == {"capital": 100.0}
    vectors[3] = -vectors[3]  # france: of the two questions of paris and madrid one has another answer
    assert tasks.analogies(WORDS, vectors, "test")["capital"] < 100


def test_neighbors_are_ranked_within_the_groups(tasks, monkeypatch):
    monkeypatch.setattr(tasks, "GROUPS", {"drink": "wine beer tea", "color": "red blue", "city": "berlin paris"})
    vectors = np.zeros((len(WORDS), 3), dtype=np.float32)
    for group, words in enumerate((["wine", "beer"], ["red", "blue"], ["berlin", "paris"])):
        for word in words:
            vectors[WORDS.index(word), group] = 1 + len(word)
    assert tasks.neighbors(WORDS, vectors) == {"nearest of the same group": 100.0, "average precision": 100.0}
    vectors[WORDS.index("wine")] = [0.1, 1, 0]  # red and blue are nearer to wine than beer, and wine to beer is nearest
    result = tasks.neighbors(WORDS, vectors)
    assert result["nearest of the same group"] == pytest.approx(100 * 5 / 6)
    assert result["average precision"] == pytest.approx(100 * (5 + 1 / 3) / 6)


def test_the_nearest_words(tasks):
    vectors = np.eye(3, dtype=np.float32)
    vectors[2] = [0.9, 0.1, 0]
    assert tasks.nearest(["a", "b", "c"], vectors, "a", 1) == ["c"]


def test_sentences_are_compared_by_their_mean_vectors(tasks):
    pairs = importlib.import_module("benchmarks.language.sentence_tasks").Pairs(
        ["A berlin wine.", "Blue", "red"], ["wine berlin", "paris", "unknown"], np.array([5.0, 1.0, 0.0])
    )
    assert tasks.sentence_similarity(WORDS, np.eye(len(WORDS), dtype=np.float32), pairs) == pytest.approx(86.6, abs=0.1)


def test_windows_have_the_word_in_the_last_column(models):
    paragraphs = [np.array([1, 2, 3]), np.array([4])]
    assert models.before(paragraphs, 9, 2).tolist() == [[9, 9, 1], [9, 1, 2], [1, 2, 3], [9, 9, 4]]
    assert models.both_sides(paragraphs, 9, 1).tolist() == [[9, 2, 1], [1, 3, 2], [2, 9, 3], [9, 9, 4]]


def test_frequent_words_are_dropped_as_by_word2vec_and_rare_ones_always(models, monkeypatch):
    monkeypatch.setattr(models, "MIN_COUNT", 2)
    monkeypatch.setattr(models, "SAMPLE", 0.1)
    text = models.tokenize(["The the " + "the " * 7998 + "cat " * 2000 + "once"])
    assert text.counts == {"the": 8000, "cat": 2000}
    (ids,) = models.subsample(text, {"the": 0, "cat": 1, "</s>": 2}, seed=0)
    assert ids[-1] == 2
    shares = np.bincount(ids, minlength=3)[:2] / [8000, 2000]
    assert shares == pytest.approx([(8**0.5 + 1) / 8, 1.0], abs=0.02)  # the second formula is above 1


def test_both_are_trained_and_compared(tmp_path, monkeypatch):
    (tmp_path / "wikipedia").mkdir()
    (tmp_path / "wikipedia" / "paragraphs.txt").write_text(
        "berlin germany paris france rome italy madrid spain red blue wine beer \n" * 12, encoding="utf-8"
    )
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb" / "dev.csv").write_text(
        "score,sentence1,sentence2\n5,red wine,wine\n1,blue,beer\n2,red,rome paris\n", encoding="utf-8"
    )
    (tmp_path / "gensim" / "models").mkdir(parents=True)
    (tmp_path / "gensim" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "gensim" / "models" / "__init__.py").write_text(GENSIM, encoding="utf-8")
    (tmp_path / "gensim-0.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("gensim", "gensim.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("benchmarks.language.bench_word_vectors")
    monkeypatch.setattr(module, "at_least_as_long", lambda train, seconds: (train(1), 1))
    monkeypatch.setattr(
        importlib.import_module("benchmarks.language.word_vector_tasks"),
        "RELATIONS",
        {"capital": "x-y berlin-germany x-y rome-italy x-y madrid-spain"},
    )
    path = tmp_path / "results.json"
    module.main(["--data", str(tmp_path), "--output", str(path), "--gensim", str(tmp_path), "--epochs", "1"])
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["versions"]["gensim"] == "0.0"
    assert result["text"]["vocabulary"] == 12
    assert {len(model["runs"]) for model in result["models"].values()} == {1}
    assert len(result["models"]) == 7
    assert result["models"]["gensim, skip-gram"]["runs"]["0"]["columns"] == 100


def test_gensim_gets_the_epochs_that_take_at_least_as_long():
    module = importlib.import_module("benchmarks.language.bench_word_vectors")
    asked = []

    def train(epochs):
        asked.append(epochs)
        return importlib.import_module("benchmarks.language.word_vector_models").Trained([], {}, 1 + 2 * epochs, 0.0)

    trained, epochs = module.at_least_as_long(train, 14.0)
    assert trained.cpu_seconds >= 14
    assert epochs == 7
    assert asked[0] == 1
