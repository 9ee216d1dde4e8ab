"""Default trainings on small texts, beside the frequencies of words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sklearn_hashnlp import HsigmoidLanguageModel, KneserNeyLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
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
def texts():
    """Return sentences to train on and to test with."""
    docstrings = load_stdlib_docstrings().data[::20]
    sentences = [sentence.lower() for docstring in docstrings for sentence in split_sentences(docstring)]
    return sentences[:600:2], sentences[1:600:2]


def add_one_perplexity(model, train, test):
    """Compute the perplexity of the words' frequencies, each increased by one."""
    words = list(model.vocabulary_)[:-1]  # without <s>

    def tokens(sentences):
        for sentence in sentences:
            yield from (word if word in model.vocabulary_ else "<unk>" for word in [*sentence.split(), "</s>"])

    counts = Counter(tokens(train))
    total = sum(counts[word] + 1 for word in words)
    return np.exp(-np.mean([np.log((counts[word] + 1) / total) for word in tokens(test)]))


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_default_training_is_better_than_smoothed_frequencies_of_words(texts, output):
    train, test = (part[:100] for part in texts)
    model = HsigmoidLanguageModel(**OUTPUTS[output], min_count=2, random_state=0)
    assert model.partial_fit(train).perplexity(test) < add_one_perplexity(model, train, test)
    model.fit(train)
    frequencies = KneserNeyLanguageModel(order=1, vocabulary=model.vocabulary_).fit(train)
    assert model.perplexity(test) < 0.95 * frequencies.perplexity(test)


def test_the_first_epoch_of_a_modern_network_is_better_than_the_frequencies_of_words(texts):
    train, test = texts
    model = HsigmoidLanguageModel(hidden_layer="residual", min_count=2, random_state=0).fit(train, X_valid=test)
    assert model.history_[0]["valid_perplexity"] < add_one_perplexity(model, train, test)


def test_the_perplexities_of_a_default_training_are_below_the_number_of_words_from_the_first_on():
    random = np.random.default_rng(0)
    words = (random.zipf(1.3, size=(1500, 10)) % 2000).astype(str).tolist()
    model = HsigmoidLanguageModel(max_epochs=2, callbacks=[StepLog(15)], embedding_dim=32, random_state=0).fit(words)
    n_words = len(model.vocabulary_) - 1
    assert model.log_[0]["step"] == 15
    assert np.exp(max(entry["train_loss"] for entry in model.log_)) < n_words
    assert max(entry["train_perplexity"] for entry in model.history_) < n_words
