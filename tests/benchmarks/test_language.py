"""The benchmarks of sentence encoders and of word vectors, on tiny data."""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.commands.docs import DOCS
from benchmarks.common import benchmark
from benchmarks.common.data import DataFolder
from benchmarks.language import (
    bench_sentence_encoder,
    bench_sentence_teacher,
    bench_teacher_index,
    bench_word_vectors,
    sentence_left_out,
    sentence_models,
    sentence_tasks,
    sentence_teacher,
    word_vector_models,
    word_vector_tasks,
)
from sklearn_hashnlp import HashingNgramVectorizer
from sklearn_hashnlp.nn import SGNNTransformer, _sentence_network
from sklearn_hashnlp.sentences import (
    DistilledSentenceEncoder,
    SGNNSentenceEncoder,
    _sentence_reader,
)
from tests.benchmarks.labeled_rows import run_script
from tests.trainings import assert_same_bits

SENTENCES = [
    f"The {animal} {verb} in the {place} all day long."
    for animal in ("cat", "dog", "cow", "owl")
    for verb in ("sleeps", "plays", "eats")
    for place in ("house", "garden", "barn")
]
WORDS = [
    "berlin",
    "germany",
    "paris",
    "france",
    "rome",
    "italy",
    "madrid",
    "spain",
    "wine",
    "beer",
    "red",
    "blue",
]
GENSIM = """
import numpy as np
from types import SimpleNamespace

def Word2Vec(sentences, vector_size, min_count, epochs, **settings):
    assert settings["hs"] == 1 and settings["sg"] == 1 and settings["negative"] == 0
    words = sorted({word for sentence in sentences for word in sentence})
    generator = np.random.default_rng(settings["seed"])
    vectors = generator.normal(size=(len(words), vector_size)).astype(np.float32)
    return SimpleNamespace(wv=SimpleNamespace(index_to_key=words, vectors=vectors))
"""


@pytest.fixture
def folder(tmp_path):
    """Write paragraphs, pairs of sentences, and labeled rows."""
    rows = "\n".join(["label,text", *(f"{i % 2},{text}" for i, text in enumerate(SENTENCES))])
    pairs = [f"{i % 6},{SENTENCES[i]},{SENTENCES[-i]}" for i in range(24)]
    files = {
        f"{name}/{part}.csv": rows for name in ("trec", "sst2") for part in ("train", "dev", "test")
    }
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
    lengths = SimpleNamespace(
        transform=lambda texts: np.array([[len(text), 1.0] for text in texts])
    )
    texts = ["One.<br /><br />Three and more. Two!", "", "Four"]
    results = sentence_tasks.text_vectors(lengths, texts, averaged=True)
    assert results == pytest.approx(np.array([[(4 + 15 + 4) / 3, 1], [0, 1], [4, 1]]))


@pytest.fixture
def encoded(monkeypatch):
    """Replace the source model by one that counts letters; return the list of encoded texts."""
    texts_seen = []

    @contextmanager
    def teacher(_package):
        def encode(texts):
            texts_seen.extend(texts)
            counts = np.array(
                [[text.count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts]
            )
            return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

        yield encode, {}

    monkeypatch.setattr(sentence_teacher, "teacher", teacher)
    monkeypatch.setattr(sentence_teacher, "CHUNK", 16)
    return texts_seen


def test_the_vectors_of_the_source_model_are_cached(folder, encoded):
    def read():
        return sentence_teacher.TeacherVectors(
            folder / "vectors", DataFolder(folder), None, {"windows": 20}
        )

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
    arguments = [
        "bench_sentence_teacher",
        folder,
        "--rounds",
        "1",
        "--teacher-vectors",
        str(folder / "vectors"),
    ]
    arguments += ["--sets", "trec", "--models", "vectors alone", own, "teacher"]
    results = run_script(*arguments)["models"]
    assert 0.9 < results[own]["held-out cosine"] <= 1
    assert results["vectors alone"]["int8"]["bytes"] < results["vectors alone"]["float32"]["bytes"]
    assert results["teacher"]["trec"]["C chosen"] >= 0
    assert (folder / "results.png").stat().st_size > 1000
    assert "| vectors alone | 26 |" in capsys.readouterr().out
    assert_same_bits(run_script(*arguments)["models"], results)


def test_the_share_of_neighbors_ignores_their_order_and_counts_the_first_k(monkeypatch):
    monkeypatch.setattr(bench_teacher_index, "KS", (1, 2, 4))
    found, wanted = np.array([[3, 1, 7, 9], [0, 1, 2, 3]]), np.array([[1, 3, 9, 8], [0, 5, 6, 7]])
    assert bench_teacher_index.share(found, wanted) == {"1": 50.0, "2": 75.0, "4": 50.0}


def test_the_nearest_texts_of_many_queries_are_those_of_a_sort(monkeypatch):
    monkeypatch.setattr(bench_teacher_index, "KS", (1, 40))
    rng = np.random.default_rng(0)
    queries, index = rng.normal(size=(450, 4)), rng.normal(size=(5000, 4))
    results = bench_teacher_index.nearest(lambda some: some @ index.T, queries)
    np.testing.assert_array_equal(results, np.argsort(-(queries @ index.T), axis=1)[:, :40])


def test_an_index_of_the_source_model_is_searched_by_students(folder, encoded, monkeypatch, capsys):
    monkeypatch.setattr(bench_teacher_index, "KS", (1, 10, 20))
    monkeypatch.setattr(bench_teacher_index, "AUGMENTED_FEATURES", 64)
    learned = []

    def fit(self, texts, vectors):
        learned.append(texts)
        return original(self, texts, vectors)

    original = DistilledSentenceEncoder.fit
    monkeypatch.setattr(DistilledSentenceEncoder, "fit", fit)
    arguments = ["bench_teacher_index", folder, "--n-features", "64", "1024", "--index", "32"]
    arguments += ["--teacher-vectors", str(folder / "vectors")]
    result = run_script(*arguments)
    models = result["models"]
    assert result["index"] == 32
    assert list(models) == ["teacher", "TF-IDF, characters", "64", "1024", "augmented"]
    assert (
        models["64"]["int8"]["bytes"]
        < models["64"]["float32"]["bytes"]
        < models["1024"]["float32"]["bytes"]
    )
    assert models["1024"]["float32"]["student"]["queries"]["10"] > 50
    assert "queries" not in models["teacher"]["teacher"]
    plain, n_texts = learned[0], len(learned[0])
    assert [len(texts) for texts in learned] == [n_texts, n_texts, 2 * n_texts]
    assert learned[2][:n_texts] == plain
    assert (
        sum(copy == text for copy, text in zip(learned[2][n_texts:], plain, strict=True))
        < n_texts / 2
    )
    assert "| both, 1,024 n-grams |" in capsys.readouterr().out
    assert (folder / "results.png").stat().st_size > 1000
    n_encoded = len(encoded)
    assert_same_bits(run_script(*arguments), result)
    assert len(encoded) == n_encoded


def test_queries_and_their_words_are_in_no_training_text(folder, encoded):
    vectors = sentence_teacher.TeacherVectors(
        folder / "vectors", DataFolder(folder), None, {"sentences": 20}
    )
    queries = vectors.read("queries")[0]
    assert queries == vectors._make("sentences")[-2:]
    assert not set(queries) & set(vectors.training()[0])
    assert all(
        any(short in query for query in queries) for short in vectors.read("short queries")[0]
    )
    misspelled = vectors.read("queries, 10% errors")[0]
    assert len(misspelled) == len(queries)
    assert not set(misspelled) & set(queries)


def test_the_default_of_a_task_is_chosen_by_the_other_tasks():
    figures = {
        "stsb": 80.0,
        "ag_news": 70.0,
        "imdb": 70.0,
        "swda": 70.0,
        "trec": 75.0,
        "sst2": 75.0,
    }
    models = {
        "defaults": {"0": figures, "1": figures},
        "good for search": {
            "0": figures | {"ag_news": 76.0},
            "1": figures | {"imdb": 79.0, "swda": 67.0},
        },
        "good for classification": {"0": figures | {"trec": 80.0, "stsb": 79.0}},
        "bad": {"0": {name: value - 1 for name, value in figures.items()}},
    }
    gains = sentence_left_out.gains({"models": models})
    assert gains["good for search"] == {"similarity": 0.0, "search": 2.0, "classification": 0.0}
    assert sentence_left_out.left_out(gains) == {
        "similarity": ("good for classification", 1.25, -1.0),
        "search": ("good for classification", 0.75, 0.0),
        "classification": ("good for search", 1.0, 0.0),
    }
    equal = dict.fromkeys(models, gains["defaults"])
    assert sentence_left_out.left_out(equal)["search"] == ("defaults", 0.0, 0.0)
    assert "| search | good for classification | +0.75 | +0.00 |" in sentence_left_out.tables(
        {"models": models}
    )


def test_changes_of_the_defaults_hold_for_one_encoder_and_end(folder, monkeypatch):
    names = (
        "defaults",
        "equal parts at 30 words",
        "idf to the power 1",
        "no training on paragraphs",
    )
    monkeypatch.setattr(
        sentence_left_out, "CHANGES", {name: sentence_left_out.CHANGES[name] for name in names}
    )
    monkeypatch.setattr(
        sentence_left_out, "FITTED_ON", {"wikipedia": ("stsb", "trec"), "sst2": ("sst2",)}
    )
    monkeypatch.setattr(
        sentence_left_out,
        "TASKS",
        {"similarity": ("stsb",), "search": ("sst2",), "rest": ("trec",)},
    )
    seen, figure = {}, sentence_left_out.figure

    def constants():
        return _sentence_network._EQUAL_PARTS_WORDS, _sentence_reader._IDF_POWER

    def measure(encoder, task, *others):
        seen.setdefault(task, []).append((*constants(), encoder))
        return figure(encoder, task, *others)

    monkeypatch.setattr(sentence_left_out, "figure", measure)
    before = constants()
    models = run_script("bench_sentence_encoder", folder, "--part", "defaults", "--seeds", "1")[
        "defaults"
    ]["models"]
    assert list(models) == list(names)
    assert set(models["defaults"]["0"]) == {"stsb", "trec", "sst2"}
    assert constants() == before
    assert set(seen) == {"stsb", "trec", "sst2"}
    for measured in seen.values():
        assert [found[:2] for found in measured] == [
            before,
            (30, before[1]),
            (before[0], 1.0),
            before,
        ]
        encoders = [encoder for *_, encoder in measured]
        assert encoders[1] is encoders[0]  # not fitted again
        assert len(set(map(id, encoders))) == 3
        assert [encoder.max_epochs for encoder in encoders[1:]] == [encoders[0].max_epochs] * 2 + [
            0
        ]


def test_ablations_that_the_benchmark_cannot_repeat_are_marked():
    result = benchmark.read_result(benchmark.FOLDER / "sentence_encoder.json")
    page = (DOCS / bench_sentence_encoder.PAGE).read_text(encoding="utf-8")
    gone = set(result["ablation"]["models"]) - set(sentence_models.ABLATIONS)
    assert gone
    assert all(f"| {name} \\* |" in page for name in gone)
    note = next(line for line in page.splitlines() if line.startswith("\\* "))
    parameters = set(re.findall("`([a-z_]+)`", note))
    assert parameters <= set(inspect.signature(SGNNTransformer).parameters)
    assert not parameters & set(SGNNSentenceEncoder().get_params())


def test_analogies_are_right_if_the_relation_is_a_direction(monkeypatch):
    monkeypatch.setattr(
        word_vector_tasks,
        "RELATIONS",
        {"capital": "berlin-germany paris-france rome-italy madrid-spain"},
    )
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(WORDS), 60)).astype(np.float32)
    vectors[1:8:2] = vectors[0:8:2] + rng.normal(size=60)
    assert word_vector_tasks.analogies(WORDS, vectors, "test") == {"capital": 100.0}
    # france: of the two questions of paris and madrid one has another answer
    vectors[3] = -vectors[3]
    assert word_vector_tasks.analogies(WORDS, vectors, "test")["capital"] < 100


def test_windows_have_the_word_in_the_last_column():
    paragraphs = [np.array([1, 2, 3]), np.array([4])]
    assert word_vector_models.before(paragraphs, 9, 2).tolist() == [
        [9, 9, 1],
        [9, 1, 2],
        [1, 2, 3],
        [9, 9, 4],
    ]
    assert word_vector_models.both_sides(paragraphs, 9, 1).tolist() == [
        [9, 2, 1],
        [1, 3, 2],
        [2, 9, 3],
        [9, 9, 4],
    ]


def test_word_vectors_are_compared_with_gensim(folder, monkeypatch):
    (folder / "wikipedia" / "paragraphs.txt").write_text(
        (" ".join(WORDS) + " \n") * 12, encoding="utf-8"
    )
    pairs = "score,sentence1,sentence2\n5,red wine,wine\n1,blue,beer\n2,red,rome paris\n"
    (folder / "stsb" / "dev.csv").write_text(pairs, encoding="utf-8")
    (folder / "gensim" / "models").mkdir(parents=True)
    (folder / "gensim" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "gensim" / "models" / "__init__.py").write_text(GENSIM, encoding="utf-8")
    (folder / "gensim-0.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("gensim", "gensim.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(
        bench_word_vectors, "at_least_as_long", lambda train, seconds: (train(1), 1)
    )
    relations = {"capital": "x-y berlin-germany x-y rome-italy x-y madrid-spain"}
    monkeypatch.setattr(word_vector_tasks, "RELATIONS", relations)
    result = run_script("bench_word_vectors", folder, "--gensim", str(folder), "--epochs", "1")
    assert result["versions"]["gensim"] == "0.0"
    assert result["text"]["vocabulary"] == 12
    assert [len(model["runs"]) for model in result["models"].values()] == [1] * 7
    assert result["models"]["gensim, skip-gram"]["runs"]["0"]["columns"] == 100
