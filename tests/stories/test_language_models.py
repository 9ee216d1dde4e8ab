"""Stories of people who train language models."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from sklearn_hashnlp.persistence._values import ModelFormatError
from sklearn_hashnlp.training import StepLog
from tests.language.bigram_model import BigramModel

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", ""] * 5
SMALL = {"order": 3, "embedding_dim": 4, "hidden_size": 8, "max_epochs": 1, "random_state": 0}


def test_the_score_of_a_sentence_does_not_depend_on_those_before_it():
    model = BigramModel().fit(SENTENCES)  # its log-probabilities have more digits than those of a network
    alone = model.score_samples(["the dog saw a cat", ""])
    behind = model.score_samples([*SENTENCES * 50, "the dog saw a cat", ""])[-2:]
    assert behind.tobytes() == alone.tobytes()


@pytest.mark.parametrize("embedding", ["table", ("hash", 99, 9), "sgnn"])
def test_a_number_in_place_of_a_word_gets_a_clear_error(embedding):
    model = HsigmoidLanguageModel(**SMALL, embedding=embedding).fit(SENTENCES)
    with pytest.raises(TypeError, match="has vectors of words: strings, got 5"):
        model.most_similar(5)


def test_word_vectors_with_a_damaged_header_get_a_clear_error(tmp_path):
    (tmp_path / "vectors.bin").write_bytes(b"2 99999999999999\na " + np.ones(2, dtype=np.float32).tobytes())
    with pytest.raises(ModelFormatError, match="damaged"):
        load_word_vectors(tmp_path / "vectors.bin", binary=True)


def test_the_perplexities_of_a_default_training_are_below_the_number_of_words_from_the_first_on():
    random = np.random.default_rng(0)
    words = (random.zipf(1.3, size=(1500, 10)) % 2000).astype(str).tolist()
    model = HsigmoidLanguageModel(max_epochs=2, callbacks=[StepLog(15)], embedding_dim=32, random_state=0).fit(words)
    n_words = len(model.vocabulary_) - 1
    assert model.log_[0]["step"] == 15
    assert np.exp(max(entry["train_loss"] for entry in model.log_)) < n_words
    assert max(entry["train_perplexity"] for entry in model.history_) < n_words


def test_a_language_model_that_diverges_is_an_error_and_the_old_one_stays(hashnlp, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    command = (
        "lm",
        "train",
        tmp_path / "text.txt",
        "--model",
        tmp_path / "lm",
        "--set",
        "hidden_size=8",
        "--set",
        "batch_size=8",
    )
    assert hashnlp(*command, "--epochs", 1).code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "lm").iterdir()}
    result = hashnlp(
        *command, "--epochs", 1, "--learning-rate", 1e5, "--log-every", 1, "--valid", tmp_path / "text.txt"
    )
    assert result.code == 1
    assert "diverged" in result.err
    assert "learning_rate" in result.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "lm").iterdir()} == before
    assert max(map(len, re.findall(r"\d+", result.out + result.err))) < 20


def test_no_perplexity_of_300_digits_is_printed(capsys):
    model = HsigmoidLanguageModel(**SMALL, batch_size=8, learning_rate=1e5, callbacks=[StepLog(1)], verbose=2)
    with pytest.raises(ValueError, match=r"diverged\. Set a smaller learning_rate"):
        model.fit(SENTENCES)
    printed = capsys.readouterr().out
    assert "train_perplexity" in printed
    assert max(map(len, re.findall(r"\d+", printed))) < 20
