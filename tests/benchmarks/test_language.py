"""The benchmarks of sentence encoders and of word vectors, on tiny data."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.common import benchmark
from benchmarks.common.data import DataFolder
from benchmarks.language import (
    bench_sentence_encoder,
    bench_sentence_teacher,
    bench_word_vectors,
    sentence_models,
    sentence_tasks,
    sentence_teacher,
    word_vector_models,
    word_vector_tasks,
)
from sklearn_hashnlp import HashingNgramVectorizer
from tests.benchmarks.labeled_rows import run_script

SENTENCES = [
    f"The {animal} {verb} in the {place} all day long."
    for animal in ("cat", "dog", "cow", "owl")
    for verb in ("sleeps", "plays", "eats")
    for place in ("house", "garden", "barn")
]
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
def folder(tmp_path):
    """Write paragraphs, pairs of sentences, and labeled rows."""
    rows = "\n".join(["label,text", *(f"{i % 2},{text}" for i, text in enumerate(SENTENCES))])
    pairs = [f"{i % 6},{SENTENCES[i]},{SENTENCES[-i]}" for i in range(24)]
    files = {f"{name}/{part}.csv": rows for name in ("trec", "sst2") for part in ("train", "dev", "test")}
    files["stsb/dev.csv"] = "\n".join(["score,sentence1,sentence2", *pairs])
    files["wikipedia/paragraphs.txt"] = "\n".join(SENTENCES)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text + "\n", encoding="utf-8")
    return tmp_path


def test_a_trial_of_encoders_writes_no_json(folder, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "FOLDER", folder / "results")
    pairs = [" ".join(pair) for pair in pairwise(SENTENCES)]
    (folder / "wikipedia" / "paragraphs.txt").write_text("\n".join(pairs), encoding="utf-8")
    arguments = ["--data", str(folder), "--rows", "30", "--part", "similarity", "--sets", "sst2"]
    bench_sentence_encoder.main([*arguments, "--models", "hashed words"])
    assert not (folder / "results").exists()
    assert "| hashed words | 1,024 |" in capsys.readouterr().out


@pytest.mark.parametrize("n_grams", ["words", "characters"])
def test_folding_columns_equals_hashing_into_fewer_columns(n_grams):
    texts = [f"fine films {i} and {i} dull ones, {'too' * i}" for i in range(50)]
    options = sentence_models.N_GRAMS[n_grams]
    wide, narrow = (
        HashingNgramVectorizer(**options, n_features=n_features, norm=None).transform(texts)
        for n_features in (2**20, sentence_models.DIM)
    )
    assert (sentence_models.fold(wide) == narrow.toarray()).all()


def test_the_vector_of_a_review_is_the_mean_over_its_sentences():
    lengths = SimpleNamespace(transform=lambda texts: np.array([[len(text), 1.0] for text in texts]))
    texts = ["One.<br /><br />Three and more. Two!", "", "Four"]
    results = sentence_tasks.text_vectors(lengths, texts, averaged=True)
    assert results == pytest.approx(np.array([[(4 + 15 + 4) / 3, 1], [0, 1], [4, 1]]))


@pytest.fixture
def encoded(monkeypatch):
    """Replace the source model by one that counts letters; return the list of the texts it encodes."""
    texts_seen = []

    @contextmanager
    def teacher(_package):
        def encode(texts):
            texts_seen.extend(texts)
            counts = np.array([[text.count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts])
            return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

        yield encode, {}

    monkeypatch.setattr(sentence_teacher, "teacher", teacher)
    monkeypatch.setattr(sentence_teacher, "CHUNK", 16)
    return texts_seen


def test_the_vectors_of_the_source_model_are_cached(folder, encoded):
    def read():
        return sentence_teacher.TeacherVectors(folder / "vectors", DataFolder(folder), None, {"windows": 20})

    vectors = read()
    texts, rows = vectors.training()
    held_out, of_held_out = vectors.held_out()
    assert (len(texts), len(held_out), of_held_out.shape) == (len(rows), 2, (2, 26))
    assert not set(held_out) & set(texts)
    assert set(texts[:34]) | set(held_out) == set(SENTENCES)
    some, _ = vectors.read("windows")
    assert len(some) == 20
    assert all(any(window in sentence for sentence in texts[:34]) for window in some)
    words, of_words = vectors.read("words")
    assert "cat" in words
    assert of_words.shape == (len(words), 26)
    assert all(text.startswith(sentence_teacher.QUESTIONS) for text in vectors.read("questions")[0])
    n_encoded = len(encoded)
    np.testing.assert_array_equal(read().training()[1], rows)
    assert len(encoded) == n_encoded


def test_students_are_compared_with_the_source_model_once(folder, encoded, monkeypatch, capsys):
    own = bench_sentence_teacher.OWN
    few = {name: bench_sentence_teacher.STUDENTS[name] for name in ("vectors alone", own)}
    monkeypatch.setattr(bench_sentence_teacher, "STUDENTS", few)
    arguments = ["bench_sentence_teacher", folder, "--rounds", "1", "--teacher-vectors", str(folder / "vectors")]
    arguments += ["--sets", "trec", "--models", "vectors alone", own, "teacher"]
    results = run_script(*arguments)["models"]
    assert 0.9 < results[own]["held-out cosine"] <= 1
    assert results["vectors alone"]["int8"]["bytes"] < results["vectors alone"]["float32"]["bytes"]
    assert results["teacher"]["trec"]["C chosen"] >= 0
    assert (folder / "results.png").stat().st_size > 1000
    assert "| vectors alone | 26 |" in capsys.readouterr().out
    assert run_script(*arguments)["models"] == results


def test_analogies_are_right_if_the_relation_is_a_direction(monkeypatch):
    monkeypatch.setattr(
        word_vector_tasks, "RELATIONS", {"capital": "berlin-germany paris-france rome-italy madrid-spain"}
    )
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(WORDS), 60)).astype(np.float32)
    vectors[1:8:2] = vectors[0:8:2] + rng.normal(size=60)
    assert word_vector_tasks.analogies(WORDS, vectors, "test") == {"capital": 100.0}
    vectors[3] = -vectors[3]  # france: of the two questions of paris and madrid one has another answer
    assert word_vector_tasks.analogies(WORDS, vectors, "test")["capital"] < 100


def test_windows_have_the_word_in_the_last_column():
    paragraphs = [np.array([1, 2, 3]), np.array([4])]
    assert word_vector_models.before(paragraphs, 9, 2).tolist() == [[9, 9, 1], [9, 1, 2], [1, 2, 3], [9, 9, 4]]
    assert word_vector_models.both_sides(paragraphs, 9, 1).tolist() == [[9, 2, 1], [1, 3, 2], [2, 9, 3], [9, 9, 4]]


def test_word_vectors_are_compared_with_gensim(folder, monkeypatch):
    (folder / "wikipedia" / "paragraphs.txt").write_text((" ".join(WORDS) + " \n") * 12, encoding="utf-8")
    pairs = "score,sentence1,sentence2\n5,red wine,wine\n1,blue,beer\n2,red,rome paris\n"
    (folder / "stsb" / "dev.csv").write_text(pairs, encoding="utf-8")
    (folder / "gensim" / "models").mkdir(parents=True)
    (folder / "gensim" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "gensim" / "models" / "__init__.py").write_text(GENSIM, encoding="utf-8")
    (folder / "gensim-0.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("gensim", "gensim.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(bench_word_vectors, "at_least_as_long", lambda train, seconds: (train(1), 1))
    relations = {"capital": "x-y berlin-germany x-y rome-italy x-y madrid-spain"}
    monkeypatch.setattr(word_vector_tasks, "RELATIONS", relations)
    result = run_script("bench_word_vectors", folder, "--gensim", str(folder), "--epochs", "1")
    assert result["versions"]["gensim"] == "0.0"
    assert result["text"]["vocabulary"] == 12
    assert [len(model["runs"]) for model in result["models"].values()] == [1] * 7
    assert result["models"]["gensim, skip-gram"]["runs"]["0"]["columns"] == 100
