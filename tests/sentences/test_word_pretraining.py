import math

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.nn import SGNNTransformer
from sklearn_hashnlp.sentences import _word_pretraining
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.sentences._word_pretraining import fit_word_vectors
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS = [f"{begin}{middle}{end}" for begin in "bcdf" for middle in ("ar", "el", "imi") for end in ("t", "x", "ng")]
PROJECTIONS = CachedProjections(
    WORDS, np.ones(36), CharNgramFeaturizer(), SGNNProjector(n_projections=12, n_bits=8, output="float")
)
NUMBERS = np.arange(3, 36)  # some words are in the text, and have no target
TARGETS = np.random.default_rng(0).normal(size=(33, 16)).astype(np.float32)
TARGETS /= np.linalg.norm(TARGETS, axis=1, keepdims=True)
COUNTS = np.arange(33, 0, -1) ** 3


def transformer(n_tables=4):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = SGNNTransformer(96, 16, 1, 2, 16, n_tables=n_tables, table_bits=6)
    if n_tables:
        made.tables.requires_grad_(False)
    return made


def learn(made, *, n_steps=3, counts=COUNTS, **options):
    return fit_word_vectors(made, PROJECTIONS, NUMBERS, TARGETS, counts, n_steps=n_steps, **options)


def vectors_of(made):
    with torch.inference_mode():
        return made.word_vectors(torch.from_numpy(PROJECTIONS.rows(NUMBERS))).double().numpy()


def weights_of(made):
    return {name: value.numpy().tobytes() for name, value in made.state_dict().items()}


def slow(made, n_steps):
    """Solve both problems in double precision, the second within the space that so many steps span."""
    weight = np.diag(COUNTS**0.25 / (COUNTS**0.25).mean())
    rows = PROJECTIONS.rows(NUMBERS).astype(np.float64)
    matrix = np.linalg.solve(rows.T @ weight @ rows + np.eye(96), rows.T @ weight @ TARGETS)
    found = rows @ matrix
    if made.tables is None:
        return found, weight
    design = np.zeros((33, 4 * 64))
    np.put_along_axis(design, made.tables.buckets(torch.from_numpy(PROJECTIONS.rows(NUMBERS))).numpy(), 1, axis=1)
    moment = design.T @ weight @ design + np.eye(256)
    for column, rest in enumerate((TARGETS - found).T):
        gradient = design.T @ weight @ rest
        space, _ = np.linalg.qr(np.transpose([np.linalg.matrix_power(moment, k) @ gradient for k in range(n_steps)]))
        table = space @ np.linalg.solve(space.T @ moment @ space, space.T @ gradient)
        found[:, column] += design @ table
    return found, weight


@pytest.mark.parametrize(("n_tables", "n_steps"), [(0, 1), (4, 1), (4, 2), (4, 6)])
@pytest.mark.parametrize("block", [5, 2**13])
def test_words_learn_by_ridge_regression_and_conjugate_gradients(n_tables, n_steps, block, monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_WORD_BLOCK", block)
    made = transformer(n_tables)
    distances = learn(made, n_steps=n_steps)
    expected, weight = slow(made, n_steps)
    # At the length that normalised layers expect.
    np.testing.assert_allclose(vectors_of(made) / math.sqrt(16), expected, atol=1e-4)
    off = np.square(vectors_of(made) / math.sqrt(16) - TARGETS).sum(axis=1)
    assert distances[-1] == pytest.approx(np.average(off, weights=np.diag(weight)), rel=1e-4)
    assert len(distances) == 1 + n_steps * (n_tables > 0)
    assert distances == sorted(distances, reverse=True)
    assert distances[0] < 1


def test_many_steps_stay_where_the_solution_is():
    assert vectors_of_steps(60) == pytest.approx(vectors_of_steps(200), abs=1e-3)


def vectors_of_steps(n_steps):
    made = transformer()
    learn(made, n_steps=n_steps)
    found = vectors_of(made)
    assert np.isfinite(found).all()
    return found


def test_nothing_else_is_changed_and_tables_do_not_learn_of_sentences():
    made = transformer()
    before = weights_of(made)
    learn(made)
    after = weights_of(made)
    assert {name for name in after if after[name] != before[name]} == {"linear.weight", "tables.tables.weight"}
    assert made.linear.weight.requires_grad
    assert not made.tables.tables.weight.requires_grad
    rows = made.tables.tables.weight.any(dim=1).nonzero().flatten().tolist()
    assert set(rows) <= set(made.tables.buckets(torch.from_numpy(PROJECTIONS.rows(NUMBERS))).flatten().tolist())


def test_frequent_words_count_for_more():
    counts = np.ones(33, dtype=np.int64)
    counts[:3] = 10**9
    made = transformer()
    learn(made, n_steps=5, counts=counts)
    off = np.square(vectors_of(made) / 4 - TARGETS).sum(axis=1)
    assert off[:3].max() < 0.05
    assert off[3:].mean() > 0.3


def test_a_single_word():
    made = transformer()
    fit_word_vectors(made, PROJECTIONS, NUMBERS[:1], TARGETS[:1], COUNTS[:1], n_steps=5)
    assert np.isfinite(vectors_of(made)).all()
    assert vectors_of(made)[0] @ TARGETS[0] > 0


def test_the_same_bytes_at_any_number_of_threads():
    found = set()
    words = [f"word{number}" for number in range(700)]
    projector = SGNNProjector(n_projections=60, n_bits=8, output="float")
    projections = CachedProjections(words, np.ones(700), CharNgramFeaturizer(), projector)
    targets = np.random.default_rng(0).normal(size=(700, 64)).astype(np.float32)
    for n_threads in (1, 2):
        made = SGNNTransformer(480, 64, 0, 2, 16, n_tables=2, table_bits=4, positions=False)
        with threadpool_limits(n_threads):
            fit_word_vectors(made, projections, np.arange(700), targets, np.arange(1, 701), n_steps=2)
        found.add(frozenset(weights_of(made).items()))
    assert len(found) == 1


def test_steps_are_told(capsys):
    learn(transformer(), n_steps=2, verbose=1)
    assert [line[:24] for line in capsys.readouterr().out.splitlines()] == [
        f"word pretraining, step {n}" for n in range(3)
    ]
    learn(transformer())
    assert not capsys.readouterr().out
