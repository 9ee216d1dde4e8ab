"""Tests of the benchmark of a teacher: texts, cached vectors, and each result measured once."""

import importlib
import json
from contextlib import contextmanager

import numpy as np
import pytest

SENTENCES = [f"The {animal} {verb} in the {place} all day long." for animal in ("cat", "dog", "cow", "owl")
             for verb in ("sleeps", "plays", "eats") for place in ("house", "garden", "barn")]  # fmt: skip


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Return the benchmark, with a teacher that counts letters, and its data."""
    module = importlib.import_module("benchmarks.language.bench_sentence_teacher")
    (tmp_path / "wikipedia").mkdir()
    (tmp_path / "wikipedia" / "paragraphs.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    (tmp_path / "stsb").mkdir()
    pairs = [f"{i % 6},{SENTENCES[i]},{SENTENCES[-i]}" for i in range(20)]
    (tmp_path / "stsb" / "dev.csv").write_text("\n".join(["score,sentence1,sentence2", *pairs]), encoding="utf-8")
    (tmp_path / "trec").mkdir()
    rows = "\n".join(["label,text", *(f"{i % 2},{text}" for i, text in enumerate(SENTENCES))])
    for file in ("train.csv", "test.csv"):
        (tmp_path / "trec" / file).write_text(rows, encoding="utf-8")
    encoded = []

    @contextmanager
    def teacher(_package):
        def encode(texts):
            encoded.extend(texts)
            counts = np.array([[text.count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts])
            return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

        yield encode, {}

    monkeypatch.setattr(module.sentence_teacher, "teacher", teacher)
    monkeypatch.setattr(module.sentence_teacher, "CHUNK", 16)
    few = {name: module.STUDENTS[name] for name in (module.DEFAULT, "vectors alone", module.OWN)}
    monkeypatch.setattr(module, "STUDENTS", few)
    return module, encoded


def test_the_texts_of_the_teacher(bench, tmp_path):
    module, encoded = bench
    data = module.DataFolder(tmp_path)
    vectors = module.sentence_teacher.TeacherVectors(tmp_path / "vectors", data, None, {"windows": 20})
    texts, rows = vectors.training()
    assert len(texts) == len(rows)
    held_out, of_held_out = vectors.held_out()
    assert (len(held_out), of_held_out.shape) == (2, (2, 26))
    assert not set(held_out) & set(texts)
    assert set(texts[:34]) | set(held_out) == set(SENTENCES)
    some, _ = vectors.read("windows")
    assert len(some) == 20
    assert all(any(window in sentence for sentence in texts[:34]) for window in some)
    words, of_words = vectors.read("words")
    assert "cat" in words
    assert of_words.shape == (len(words), 26)
    assert all(text.startswith(module.sentence_teacher.QUESTIONS) for text in vectors.read("questions")[0])
    n_encoded = len(encoded)
    again = module.sentence_teacher.TeacherVectors(tmp_path / "vectors", data, None, {"windows": 20})
    np.testing.assert_array_equal(again.training()[1], rows)
    assert len(encoded) == n_encoded


def test_each_result_is_measured_once(bench, tmp_path, capsys):
    module, _ = bench
    arguments = ["--data", str(tmp_path), "--output", str(tmp_path / "results.json"), "--rounds", "1"]
    arguments += ["--teacher-vectors", str(tmp_path / "vectors"), "--sets", "trec"]
    arguments += ["--models", "default", "vectors alone", module.OWN, "teacher"]
    module.main(arguments)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["models"]
    assert 0.9 < results[module.OWN]["held-out cosine"] <= 1
    assert results["vectors alone"]["int8"]["bytes"] < results["vectors alone"]["float32"]["bytes"]
    assert results["teacher"]["trec"]["C chosen"] >= 0
    assert (tmp_path / "results.png").stat().st_size > 1000
    assert results["default"]["columns"] == 26 + 1152
    assert "| vectors alone | 26 |" in capsys.readouterr().out
    module.main(arguments)
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["models"] == results
