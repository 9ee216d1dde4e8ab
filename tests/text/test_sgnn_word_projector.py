import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, SGNNWordProjector, _sgnn_word_projector

from ..strategies import TEXTS


def word_projector(**parameters):
    return SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector(n_projections=3, n_bits=5, **parameters))


def plain_means(texts, projector):
    """Project one word after the other."""
    means = []
    for text in texts:
        rows = [projector.transform(CharNgramFeaturizer().transform([word]))[0] for word in text.split()]
        means.append(np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(15))
    return np.array(means, dtype=np.float32)


@given(TEXTS.filter(len), st.sampled_from(["binary", "sign", "float"]))
def test_the_mean_of_the_words(texts, output):
    words = word_projector(output=output)
    result = words.transform(texts)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, plain_means(texts, words.projector), rtol=1e-6, atol=1e-6)


def test_parts_and_threads_do_not_show(monkeypatch):
    texts = load_stdlib_docstrings().data[:300]
    expected = word_projector().transform(texts)
    assert word_projector().transform(iter(texts)).tobytes() == expected.tobytes()
    threads = word_projector().set_params(featurizer__n_jobs=2, projector__n_jobs=2)
    assert threads.transform(texts).tobytes() == expected.tobytes()
    monkeypatch.setattr(_sgnn_word_projector, "_CHARACTERS", 1000)
    assert word_projector().transform(texts).tobytes() == expected.tobytes()
    with pytest.raises(TypeError, match="SGNNWordProjector expects documents of type str, but document 300 is None"):
        word_projector().transform([*texts, None])


def test_wrong_parameters_are_refused():
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=r"packed bits have no mean\..*set projector__output"):
            getattr(word_projector(output="packed"), method)(["a"])
        with pytest.raises(ValueError, match="The 'featurizer' parameter of SGNNWordProjector must be"):
            getattr(SGNNWordProjector("char", SGNNProjector()), method)(["a"])
        with pytest.raises(ValueError, match="string object received"):
            getattr(word_projector(), method)("a")
    with pytest.raises(ValueError, match="a single word has no skip-grams"):
        word_projector().set_params(featurizer__analyzer="skipgram").transform(["a"])
    with pytest.raises(ValueError, match="SGNNWordProjector: document 1 holds the lone surrogate"):
        word_projector().transform(["a", "\ud801"])


def test_the_means_are_never_there_twice(monkeypatch):
    monkeypatch.setattr(_sgnn_word_projector, "_CHARACTERS", 10_000)
    words = SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector())
    texts = [f"text number {number % 100}" for number in range(10_000)]
    words.transform(texts[:10])  # loads what is compiled
    tracemalloc.start()
    try:
        result = words.transform(texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * result.nbytes
