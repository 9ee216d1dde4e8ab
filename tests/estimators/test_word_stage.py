import math

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

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


def learn(made, *, n_steps=5, counts=COUNTS, **options):
    return learn_words(made, PROJECTIONS, NUMBERS, TARGETS, counts, n_steps=n_steps, **options)


def vectors_of(made):
    with torch.inference_mode():
        return made.word_vectors(torch.from_numpy(PROJECTIONS.rows(NUMBERS))).numpy()


def weights_of(made):
    return {name: value.numpy().tobytes() for name, value in made.state_dict().items()}


def by_hand(counts=COUNTS, *, tables):
    """Solve both least squares by the normal equations, in full."""
    rows = PROJECTIONS.rows(NUMBERS).astype(np.float64)
    weights = np.diag((counts**0.25) / (counts**0.25).mean())
    matrix = np.linalg.solve(rows.T @ weights @ rows + np.eye(96), rows.T @ weights @ TARGETS)
    rest = TARGETS - rows @ matrix
    if not tables:
        return rows @ matrix
    design = np.zeros((len(rows), 4 << 6))
    for word, row in enumerate(rows):
        for table in range(4):
            bits = "".join("1" if value > 0 else "0" for value in row[6 * table : 6 * table + 6])
            design[word, table * 64 + int(bits, 2)] = 1
    table = np.linalg.solve(design.T @ weights @ design + np.eye(4 << 6), design.T @ weights @ rest)
    return rows @ matrix + design @ table


@pytest.mark.parametrize("n_tables", [0, 4])
def test_words_learn_the_vectors_of_both_regressions(n_tables):
    made = transformer(n_tables)
    distances = learn(made, n_steps=60)
    assert len(distances) == (61 if n_tables else 1)
    # At the length that normalised layers expect.
    np.testing.assert_allclose(vectors_of(made) / math.sqrt(16), by_hand(tables=n_tables), atol=2e-4)


def test_each_step_comes_nearer():
    distances = learn(transformer(), n_steps=5)
    assert distances == sorted(distances, reverse=True)
    assert distances[0] < 1
    assert distances[-1] < 0.6 * distances[0]


def test_the_distance_is_that_of_the_weights():
    made = transformer()
    distances = learn(made, n_steps=3)
    off = np.square(vectors_of(made) / 4 - TARGETS).sum(axis=1)
    assert distances[-1] == pytest.approx(np.average(off, weights=COUNTS**0.25), rel=1e-4)


def test_nothing_else_is_changed_and_tables_do_not_learn_of_sentences():
    made = transformer()
    before = weights_of(made)
    learn(made, n_steps=2)
    after = weights_of(made)
    assert {name for name in after if after[name] != before[name]} == {"linear.weight", "tables.tables.weight"}
    assert made.linear.weight.requires_grad
    assert not made.tables.tables.weight.requires_grad


def test_the_same_bytes_come_at_any_number_of_threads():
    found = []
    for n_threads in (1, 2):
        made = transformer()
        with threadpool_limits(limits=n_threads):
            learn(made)
        found.append(weights_of(made))
    assert found[0] == found[1]


def test_frequent_words_count_more():
    often = np.ones(33, dtype=np.int64)
    often[:3] = 10**9
    made = transformer()
    learn(made, n_steps=20, counts=often)
    off = np.square(vectors_of(made) / 4 - TARGETS).sum(axis=1)
    assert off[:3].max() < 0.2
    assert off[3:].mean() > 2 * off[:3].mean()


def test_targets_of_zeros_stay_zeros():
    made = transformer()
    assert learn_words(made, PROJECTIONS, NUMBERS, np.zeros_like(TARGETS), COUNTS, n_steps=3) == [0.0] * 4
    assert not vectors_of(made).any()


def test_steps_are_told(capsys):
    learn(transformer(), n_steps=2, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:15] for line in lines] == ["words, step 0: ", "words, step 1: ", "words, step 2: "]
    learn(transformer(), n_steps=1)
    assert not capsys.readouterr().out
