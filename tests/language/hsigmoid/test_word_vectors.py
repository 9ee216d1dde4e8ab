"""Word vectors, similar words and analogies."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from tests.language.hsigmoid.small_models import NAMES, THINGS, VERBS, fitted


def cosine_of(model, a, b):
    one, two = (model.embeddings_[model.vocabulary_[word]].astype(float) for word in (a, b))
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def test_similar_words():
    model = fitted(max_epochs=40)
    assert model.embeddings_.shape == (10, 6)
    [(word, similarity)] = model.most_similar("sees", n=1)
    assert word == "hears"
    assert similarity == pytest.approx(cosine_of(model, "sees", "hears"), abs=1e-6)
    assert len(model.most_similar("ann", n=100)) == 6
    units = model.embeddings_ / np.linalg.norm(model.embeddings_, axis=1, keepdims=True)
    one, two, three = (units[model.vocabulary_[word]] for word in ("ann", "sees", "birds"))
    goal = two - one + three
    result = dict(model.analogy("ann", "sees", "birds", n=100))
    assert set(result) == {*NAMES, *VERBS, *THINGS} - {"ann", "sees", "birds"}
    for word, similarity in result.items():
        assert similarity == pytest.approx(units[model.vocabulary_[word]] @ goal / np.linalg.norm(goal), abs=1e-5)
    assert list(result.values()) == sorted(result.values(), reverse=True)
    with pytest.raises(ValueError, match="has no vector of 'zebra'"):
        model.most_similar("zebra")
    with pytest.raises(ValueError, match="most_similar needs n of at least 1, got 0"):
        model.most_similar("ann", n=0)


def test_words_of_equal_vectors_keep_their_order(monkeypatch):
    model = HsigmoidLanguageModel(max_epochs=1, min_count=1).fit([" ".join(f"w{i}" for i in range(100))])
    words = [word for word in model.vocabulary_ if word.startswith("w") and word != "w0"]
    vectors = np.random.default_rng(0).normal(size=(50, 2, model.embedding_dim)).astype(np.float32)
    for same, query in vectors:
        monkeypatch.setattr(model, "_vectors", partial(_vectors_of, same, query))
        assert [word for word, _ in model.most_similar("w0", n=99)] == words


def _vectors_of(same, query, words):
    return np.array([query if word == "w0" else same for word in words])


@pytest.mark.parametrize("options", [{"embedding": ("hash", 500, 100)}, {"embedding": "sgnn"}], ids=str)
def test_words_that_were_never_seen_have_vectors(options):
    model = fitted(**options)
    assert model.embeddings_.shape == (10, 6)
    assert len(model.most_similar("zebra", n=3)) == 3
    assert model.predict_proba(["zebra"])[0] != pytest.approx(model.predict_proba(["giraffe"])[0])


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_in_a_file(tmp_path, model, binary):
    model.save_word2vec(tmp_path / "vectors", binary=binary)
    words, vectors = load_word_vectors(tmp_path / "vectors", binary=binary)
    assert words == list(model.vocabulary_)
    assert vectors.tobytes() == model.embeddings_.tobytes()


@pytest.mark.parametrize("use", [lambda m: m.sample(), lambda m: m.embeddings_, lambda m: m.most_similar("a")])
def test_not_fitted(use):
    with pytest.raises(NotFittedError):
        use(HsigmoidLanguageModel())
