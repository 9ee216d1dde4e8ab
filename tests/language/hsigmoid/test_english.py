"""Default trainings on English text: better than the frequencies of words, and not ruined by
further training.
"""

from __future__ import annotations

import copy
import inspect
import re
import textwrap
from collections import Counter

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp import HsigmoidLanguageModel, KneserNeyLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text import split_sentences
from sklearn_hashnlp.training import StepLog

OUTPUTS = {
    "tree": {},
    "tree, direct": {"direct_connections": True},
    "tree, hashed": {"direct_connections": ("hashed", 2**16)},
    "softmax": {"output": "softmax"},
    "softmax, direct": {"output": "softmax", "direct_connections": True},
    "adaptive": {"output": "adaptive"},
}


@pytest.fixture(scope="module")
def docstrings():
    return load_stdlib_docstrings().data


@pytest.fixture(scope="module")
def texts(docstrings):
    """Return sentences to train on and to test with."""
    sentences = [
        sentence.lower()
        for docstring in docstrings[::20]
        for sentence in split_sentences(docstring)
    ]
    return sentences[:600:2], sentences[1:600:2]


def add_one_perplexity(model, train, test):
    """Compute the perplexity of the words' frequencies, each increased by one."""
    words = list(model.vocabulary_)[:-1]  # without <s>

    def tokens(sentences):
        for sentence in sentences:
            yield from (
                word if word in model.vocabulary_ else "<unk>"
                for word in [*sentence.split(), "</s>"]
            )

    counts = Counter(tokens(train))
    total = sum(counts[word] + 1 for word in words)
    return np.exp(-np.mean([np.log((counts[word] + 1) / total) for word in tokens(test)]))


_SLOW = ["tree, direct", "softmax, direct", "adaptive"]


@pytest.mark.parametrize(
    "output",
    [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in OUTPUTS],
)
def test_a_default_training_is_better_than_smoothed_frequencies_of_words(texts, output):
    train, test = (part[:100] for part in texts)
    model = HsigmoidLanguageModel(**OUTPUTS[output], min_count=2, random_state=0)
    assert model.partial_fit(train).perplexity(test) < add_one_perplexity(model, train, test)
    model.fit(train)
    frequencies = KneserNeyLanguageModel(order=1, vocabulary=model.vocabulary_).fit(train)
    assert model.perplexity(test) < 0.95 * frequencies.perplexity(test)


class OneEpoch(Callback):
    """End a training, whose learning rate is planned for more epochs, when the second begins."""

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) == 2:
            raise KeyboardInterrupt


def test_one_epoch_is_better_than_word_frequencies(texts):
    train, test = texts
    options = {
        "hidden_layer": "residual",
        "min_count": 2,
        "random_state": 0,
        "callbacks": [OneEpoch()],
    }
    model = HsigmoidLanguageModel(**options).fit(train, X_valid=test)
    [epoch] = model.history_
    assert epoch["valid_perplexity"] < add_one_perplexity(model, train, test)


def test_perplexities_are_below_the_vocabulary_size_from_epoch_one():
    random = np.random.default_rng(0)
    words = (random.zipf(1.3, size=(1500, 10)) % 2000).astype(str).tolist()
    model = HsigmoidLanguageModel(
        max_epochs=2, callbacks=[StepLog(15)], embedding_dim=32, random_state=0
    ).fit(words)
    n_words = len(model.vocabulary_) - 1
    assert model.log_[0]["step"] == 15
    assert np.exp(max(entry["train_loss"] for entry in model.log_)) < n_words
    assert max(entry["train_perplexity"] for entry in model.history_) < n_words


def words_of(text):
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


@pytest.fixture(scope="module")
def sentences(docstrings):
    """Return sentences of docstrings, shuffled."""
    found = [
        words_of(sentence)
        for docstring in docstrings[::10]
        for sentence in split_sentences(docstring)
    ]
    np.random.default_rng(0).shuffle(found)
    return found


@pytest.fixture(scope="module")
def kinds(sentences):
    """Return sentences of other kinds: 20 to learn from, and some to test with."""
    code = [
        words_of(line)
        for line in inspect.getsource(textwrap).splitlines()
        if "=" in line or "(" in line
    ]
    reversed_words = [
        " ".join(word[::-1] for word in sentence.split()) for sentence in sentences[-60:]
    ]
    backwards = [" ".join(sentence.split()[::-1]) for sentence in sentences[-60:]]
    return {"code": code, "reversed words": reversed_words, "backwards": backwards}


@pytest.fixture(scope="module")
def model(sentences):
    return HsigmoidLanguageModel(min_count=2, random_state=0).fit(sentences[:600])


@pytest.fixture
def ways(model, tmp_path):
    """Return a function that gets a model in some way, and the name of the method that continues
    its training.
    """
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
def test_twenty_sentences_of_another_kind_cost_three_percent(
    sentences, kinds, model, ways, kind, way, method
):
    learn, other = kinds[kind][:20], kinds[kind][20:60]
    further = ways[way]().set_params(warm_start=True)
    getattr(further, method)(learn)
    for old in (sentences[:100], sentences[600:800]):
        assert further.perplexity(old) < 1.03 * model.perplexity(old)
    for new in (learn, other):
        assert further.perplexity(new) < 0.985 * model.perplexity(new)


def test_learning_rates_of_a_further_training():
    model = HsigmoidLanguageModel(
        order=3, embedding_dim=4, hidden_size=4, max_epochs=1, random_state=0
    )
    some = ["the first line of a text"] * 10
    assert model.partial_fit(some).learning_rate_ == 0.5
    assert model.partial_fit(some).learning_rate_ == 0.5
    model.set_params(warm_start=True)
    assert model.fit(some).learning_rate_ == 0.5  # the first fit
    assert model.partial_fit(some).learning_rate_ == 0.5 / 12
    assert model.fit(some * 2).learning_rate_ == 0.5 / 4
    assert model.fit(some).learning_rate_ == 0.5 / 16
    assert model.fit(some[:1]).learning_rate_ == 0.5 / 32
    assert model.fit(some * 4).learning_rate_ == 0.5
    assert model.set_params(learning_rate=0.3).partial_fit(some).learning_rate_ == 0.3
