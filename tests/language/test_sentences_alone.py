"""The score of a sentence alone."""

from __future__ import annotations

from tests.language.bigram_model import BigramModel

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", ""] * 5


def test_the_score_of_a_sentence_does_not_depend_on_those_before_it():
    model = BigramModel().fit(SENTENCES)  # its log-probabilities have more digits than those of a network
    alone = model.score_samples(["the dog saw a cat", ""])
    behind = model.score_samples([*SENTENCES * 50, "the dog saw a cat", ""])[-2:]
    assert behind.tobytes() == alone.tobytes()
