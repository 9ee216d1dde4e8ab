"""A far context within sentences, and across them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.language.hsigmoid.small_models import fitted

# The first word decides on the fifth, and a window of three words does not reach it.
FAR = [f"{word} said that she {verb}" for word, verb in [("ann", "sings"), ("eve", "reads")] * 40]
# A sentence decides on the next.
PAIRS = [
    sentence
    for color in ["red", "blue"] * 40
    for sentence in (f"a {color} door", f"paint it {color}")
]
OPTIONS = {"max_epochs": 8, "learning_rate": 0.5}


@pytest.mark.parametrize(
    ("hidden_layer", "embedding"),
    [
        ("tanh", ("hash", 99, 50)),
        ("residual", "table"),
    ],
)
def test_words_before_the_window_count(hidden_layer, embedding):
    options = {"hidden_layer": hidden_layer, "embedding": embedding, **OPTIONS}
    contexts = ["ann said that she", "eve said that she"]
    model = fitted(FAR, far_context=3, **options)
    assert model.predict(contexts).tolist() == ["sings", "reads"]
    assert model.perplexity(FAR) < 1.2  # 2^(1/6), 1.12, is that of the first words
    near = fitted(FAR, **options | {"max_epochs": 1})  # no number of epochs shows it the first word
    assert len(set(near.predict(contexts))) == 1
    text = np.array([model.score_samples([sentence])[0] for sentence in FAR[:4]])
    assert text.tobytes() == model.score_samples(FAR[:4]).tobytes()


def test_sentences_before_count():
    model = fitted(PAIRS, far_context=6, across_sentences=True, **OPTIONS)
    contexts = [["a", color, "door", "</s>", "paint", "it"] for color in ("red", "blue")]
    assert model.predict(contexts).tolist() == ["red", "blue"]
    starts = model.predict(
        [["a", "red", "door", "</s>"], ["a", "red", "door", "</s>", "paint", "it", "red", "</s>"]]
    )
    assert starts.tolist() == ["paint", "a"]
    samples = model.sample(9, 0, start="a red door </s>")
    assert all(
        words[:4] == ["a", "red", "door", "</s>"] and "</s>" not in words[4:] for words in samples
    )
    assert any(words[4:] == ["paint", "it", "red"] for words in samples)
    alone, behind = (
        model.score_samples([*before, "paint it red"])[-1] for before in ([], ["a red door"])
    )
    assert behind > alone + 0.1
    assert behind > model.score_samples(["a blue door", "paint it red"])[-1] + 1
    unaware = fitted(PAIRS, far_context=6, **OPTIONS | {"max_epochs": 1})
    assert (
        unaware.score_samples(["a blue door", "paint it red"])[-1]
        == unaware.score_samples(["paint it red"])[-1]
    )
