"""Further training, by default settings: some sentences of another kind do not ruin a model."""

from __future__ import annotations

import copy
import inspect
import re
import textwrap

import numpy as np
import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text import split_sentences


def words_of(text):
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


@pytest.fixture(scope="module")
def sentences():
    """Return sentences of docstrings, shuffled."""
    docstrings = load_stdlib_docstrings().data[::10]
    found = [words_of(sentence) for docstring in docstrings for sentence in split_sentences(docstring)]
    np.random.default_rng(0).shuffle(found)
    return found


@pytest.fixture(scope="module")
def kinds(sentences):
    """Return sentences of other kinds: 20 to learn from, and some to test with."""
    code = [words_of(line) for line in inspect.getsource(textwrap).splitlines() if "=" in line or "(" in line]
    reversed_words = [" ".join(word[::-1] for word in sentence.split()) for sentence in sentences[-60:]]
    backwards = [" ".join(sentence.split()[::-1]) for sentence in sentences[-60:]]
    return {"code": code, "reversed words": reversed_words, "backwards": backwards}


@pytest.fixture(scope="module")
def model(sentences):
    return HsigmoidLanguageModel(min_count=2, random_state=0).fit(sentences[:600])


@pytest.fixture
def ways(model, tmp_path):
    """Return a function that gets a model in some way, and the name of the method that continues its training."""
    save_model(model, tmp_path / "saved")
    save_model(model, tmp_path / "with_state", training_state=True)
    return {
        "as fitted": lambda: copy.deepcopy(model),
        "loaded": lambda: load_model(tmp_path / "saved"),
        "loaded with its training state": lambda: load_model(tmp_path / "with_state"),
    }


@pytest.mark.parametrize(
    ("kind", "way", "method"),
    [
        ("code", "as fitted", "partial_fit"),
        ("code", "loaded", "fit"),
        ("reversed words", "loaded", "partial_fit"),
        ("reversed words", "loaded with its training state", "fit"),
        ("backwards", "loaded with its training state", "partial_fit"),
        ("backwards", "as fitted", "fit"),
    ],
)
def test_twenty_sentences_of_another_kind_cost_three_percent(sentences, kinds, model, ways, kind, way, method):
    learn, other = kinds[kind][:20], kinds[kind][20:60]
    further = ways[way]().set_params(warm_start=True)
    getattr(further, method)(learn)
    for old in (sentences[:100], sentences[600:800]):
        assert further.perplexity(old) < 1.03 * model.perplexity(old)
    for new in (learn, other):
        assert further.perplexity(new) < 0.985 * model.perplexity(new)


def test_learning_rates_of_a_further_training():
    model = HsigmoidLanguageModel(order=3, embedding_dim=4, hidden_size=4, max_epochs=1, random_state=0)
    some = ["the first line of a text"] * 10
    assert model.partial_fit(some).learning_rate_ == model.partial_fit(some).learning_rate_ == 0.5
    model.set_params(warm_start=True)
    assert model.fit(some).learning_rate_ == 0.5  # the first fit
    assert model.partial_fit(some).learning_rate_ == 0.5 / 12
    assert model.fit(some * 2).learning_rate_ == 0.5 / 4
    assert model.fit(some).learning_rate_ == 0.5 / 16
    assert model.fit(some[:1]).learning_rate_ == 0.5 / 32
    assert model.fit(some * 4).learning_rate_ == 0.5
    assert model.set_params(learning_rate=0.3).partial_fit(some).learning_rate_ == 0.3
