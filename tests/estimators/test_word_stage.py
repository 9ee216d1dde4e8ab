import math

import numpy as np
import pytest
import torch

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.estimators._word_stage import learn_words
from sklearn_hashnlp.nn import SGNNTransformer
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS = [f"{begin}{middle}{end}" for begin in "bcdf" for middle in ("ar", "el", "imi") for end in ("t", "x", "ng")]
PROJECTIONS = CachedProjections(
    WORDS, np.ones(36), CharNgramFeaturizer(), SGNNProjector(n_projections=12, n_bits=8, output="float")
)
NUMBERS = np.arange(3, 36)  # some words are in the text, and have no target
TARGETS = np.random.default_rng(0).normal(size=(33, 16)).astype(np.float32)
TARGETS /= np.linalg.norm(TARGETS, axis=1, keepdims=True)
COUNTS = np.arange(33, 0, -1)


def transformer(n_tables=4, **options):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = SGNNTransformer(96, 16, 1, 2, 16, n_tables=n_tables, table_bits=6, **options)
    if n_tables:
        made.tables.requires_grad_(False)
    return made


def learn(made, *, n_epochs=30, seed=0, counts=COUNTS, **options):
    return learn_words(made, PROJECTIONS, NUMBERS, TARGETS, counts, n_epochs=n_epochs, seed=seed, **options)


def vectors_of(made):
    with torch.inference_mode():
        return made.word_vectors(torch.from_numpy(PROJECTIONS.rows(NUMBERS))).numpy()


def weights_of(made):
    return {name: value.numpy().tobytes() for name, value in made.state_dict().items()}


@pytest.mark.parametrize(("n_tables", "left"), [(0, 0.65), (4, 0.25)])  # a linear layer alone has too few numbers
def test_words_learn_their_vectors(n_tables, left):
    made = transformer(n_tables)
    distances = learn(made, n_epochs=200)
    assert len(distances) == 200
    assert distances[-1] < left * distances[0]
    # At the length that normalised layers expect.
    off = np.square(vectors_of(made) / math.sqrt(16) - TARGETS).sum(axis=1)
    assert off[:20].mean() < left


def test_spelling_starts_as_nothing_and_the_distance_is_the_mean_of_what_was_drawn():
    made = transformer()
    (first,) = learn(made, n_epochs=1)
    assert first == pytest.approx(1.0, abs=1e-6)  # of 33 words there is one batch, measured before its step
    assert made.tables.tables.weight.any()


def test_nothing_else_is_changed_and_tables_do_not_learn_of_sentences():
    made = transformer()
    before = weights_of(made)
    learn(made, n_epochs=2)
    after = weights_of(made)
    assert {name for name in after if after[name] != before[name]} == {"linear.weight", "tables.tables.weight"}
    assert made.linear.weight.requires_grad
    assert not made.tables.tables.weight.requires_grad


def test_the_same_seed_draws_the_same_words():
    found = []
    for seed in (0, 0, 1):
        made = transformer()
        learn(made, n_epochs=3, seed=seed)
        found.append(weights_of(made))
    assert found[0] == found[1] != found[2]


def test_frequent_words_are_learned_more_often(monkeypatch):
    often = np.ones(33, dtype=np.int64)
    often[:3] = 10**6
    made = transformer()
    learn(made, n_epochs=40, counts=often)
    off = np.square(vectors_of(made) / 4 - TARGETS).sum(axis=1)
    assert off[:3].max() < 0.1
    assert off[3:].mean() > 0.5


def test_epochs_are_told(capsys):
    learn(transformer(), n_epochs=2, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:21] for line in lines] == ["words, epoch 1 of 2: ", "words, epoch 2 of 2: "]
    learn(transformer(), n_epochs=1)
    assert not capsys.readouterr().out
