import math

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.nn import SGNNTransformer
from sklearn_hashnlp.nn._sentence_network import SentenceNetwork
from sklearn_hashnlp.sentences import _word_pretraining
from sklearn_hashnlp.sentences._paragraph_batches import TrainingText
from sklearn_hashnlp.sentences._sentence_reader import (
    CachedProjections,
    SentenceReader,
    WordFrequencies,
)
from sklearn_hashnlp.sentences._word_pretraining import (
    fit_word_vectors,
    pretrain,
    principal_components,
    whiten_spelling,
)
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from tests.oracles import sentences as oracle
from tests.sentence_texts import LISTS, read
from tests.trainings import assert_near

READ = read(LISTS)


def projections_of(words, n_projections):
    projector = SGNNProjector(n_projections=n_projections, n_bits=8, output="float")
    return CachedProjections(words, np.ones(len(words)), CharNgramFeaturizer(), projector)


# The whole of word pretraining


def run_pretraining(paragraphs=READ, context_weight=0.5, *, word_steps=2, n_components_removed=3):
    """Return the network, the names of what has changed, and what it was trained with."""
    reader = SentenceReader(6, 8, (2, 5), 0, WordFrequencies.count(paragraphs))
    text = TrainingText.of(paragraphs, reader)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformer = SGNNTransformer(48, 8, 1, 2, 16, n_tables=2, table_bits=4)
        transformer.tables.requires_grad_(False)
        network = SentenceNetwork(transformer, 16, context_weight)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    options = {"word_steps": word_steps, "n_components_removed": n_components_removed, "seed": 1}
    pretrain(network, text, **options)
    after = network.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    return network, {name.removeprefix("transformer.") for name in changed}, text


FITTED = {"linear.weight", "tables.tables.weight"}


def test_word_vectors_are_fitted_and_components_set():
    network, changed, text = run_pretraining()
    assert changed == {*FITTED, "common"}
    expected = principal_components(network, text, 3)
    assert torch.equal(network.common, expected)


def test_either_may_be_skipped():
    assert run_pretraining(word_steps=0)[1] == {"common"}
    assert run_pretraining(n_components_removed=0)[1] == FITTED
    assert run_pretraining(context_weight=0.0)[1] == {"common"}
    assert run_pretraining(context_weight=1.0)[1] == FITTED


def test_without_frequent_words_word_vectors_do_not_change():
    assert run_pretraining(read([["bar carn", "belm fel"], ["time"]]))[1] == {"common"}
    assert run_pretraining(read([["bar"]]))[1] == set()


def test_the_most_frequent_words_are_fitted(monkeypatch):
    calls = []

    def record(transformer, projections, word_ids, targets, counts, **options):
        calls.append((word_ids.tolist(), len(targets), counts.tolist(), options["n_steps"]))

    monkeypatch.setattr(_word_pretraining, "_MAX_WORDS", 2)
    monkeypatch.setattr(_word_pretraining, "fit_word_vectors", record)
    run_pretraining(read([["b a b a c", "a b a c", "c d d d"], ["b a b a c"]]))
    assert calls == [([0, 1], 2, [5, 6], 2)]


# Word vectors

WORDS = [
    f"{begin}{middle}{end}"
    for begin in "bcdf"
    for middle in ("ar", "el", "imi")
    for end in ("t", "x", "ng")
]
PROJECTIONS = projections_of(WORDS, 12)
WORD_IDS = np.arange(3, 36)  # the first words of the text have no target
TARGETS = np.random.default_rng(0).normal(size=(33, 16)).astype(np.float32)
TARGETS /= np.linalg.norm(TARGETS, axis=1, keepdims=True)
COUNTS = np.arange(33, 0, -1) ** 3


def make_transformer(n_tables=4):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformer = SGNNTransformer(96, 16, 1, 2, 16, n_tables=n_tables, table_bits=6)
    if n_tables:
        transformer.tables.requires_grad_(False)
    return transformer


def fit(transformer, *, n_steps=3, counts=COUNTS, **options):
    return fit_word_vectors(
        transformer, PROJECTIONS, WORD_IDS, TARGETS, counts, n_steps=n_steps, **options
    )


def vectors_of(transformer):
    """Return the word vectors at unit length: layers expect them at length sqrt(width)."""
    with torch.inference_mode():
        rows = torch.from_numpy(PROJECTIONS.rows(WORD_IDS))
        return transformer.word_vectors(rows).double().numpy() / math.sqrt(16)


def weights_of(transformer):
    return {name: value.numpy().tobytes() for name, value in transformer.state_dict().items()}


@pytest.mark.parametrize(("n_tables", "n_steps"), [(0, 1), (4, 1), (4, 2), (4, 6)])
@pytest.mark.parametrize("block", [5, 2**13])
def test_word_vectors_solve_the_ridge_regression(n_tables, n_steps, block, monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_WORD_BLOCK", block)
    transformer = make_transformer(n_tables)
    losses = fit(transformer, n_steps=n_steps)
    rows, weights = PROJECTIONS.rows(WORD_IDS), COUNTS**0.25 / (COUNTS**0.25).mean()
    buckets = transformer.tables.buckets(torch.from_numpy(rows)).numpy() if n_tables else None
    expected = oracle.fitted_word_vectors(
        rows.astype(np.float64), TARGETS, weights, COUNTS, buckets, 256, n_steps
    )
    np.testing.assert_allclose(vectors_of(transformer), expected, atol=1e-4)
    errors = np.square(vectors_of(transformer) - TARGETS).sum(axis=1)
    assert losses[-1] == pytest.approx(np.average(errors, weights=weights), rel=1e-4)
    assert len(losses) == 1 + n_steps * (n_tables > 0)
    assert losses[0] < 1
    assert losses[-1] <= losses[0]


def test_many_steps_converge():
    vectors = []
    for n_steps in (60, 200):
        transformer = make_transformer()
        fit(transformer, n_steps=n_steps)
        vectors.append(vectors_of(transformer))
    assert np.isfinite(vectors).all()
    assert_near(vectors[0], vectors[1], atol=1e-3)


def test_nothing_else_changes_and_tables_are_not_trained_later():
    transformer = make_transformer()
    before = weights_of(transformer)
    fit(transformer)
    after = weights_of(transformer)
    assert {name for name in after if after[name] != before[name]} == FITTED
    assert transformer.linear.weight.requires_grad
    assert not transformer.tables.tables.weight.requires_grad
    rows = transformer.tables.tables.weight.any(dim=1).nonzero().flatten().tolist()
    buckets = transformer.tables.buckets(torch.from_numpy(PROJECTIONS.rows(WORD_IDS)))
    assert set(rows) <= set(buckets.flatten().tolist())


def test_a_single_word():
    transformer = make_transformer()
    fit_word_vectors(transformer, PROJECTIONS, WORD_IDS[:1], TARGETS[:1], COUNTS[:1], n_steps=5)
    assert np.isfinite(vectors_of(transformer)).all()
    assert vectors_of(transformer)[0] @ TARGETS[0] > 0


def test_word_vectors_are_the_same_bit_for_bit_at_any_number_of_threads():
    results = set()
    projections = projections_of([f"word{number}" for number in range(700)], 60)
    targets = np.random.default_rng(0).normal(size=(700, 64)).astype(np.float32)
    for n_threads in (1, 2):
        transformer = SGNNTransformer(480, 64, 0, 2, 16, n_tables=2, table_bits=4, positions=False)
        with threadpool_limits(n_threads):
            fit_word_vectors(
                transformer, projections, np.arange(700), targets, np.arange(1, 701), n_steps=2
            )
        results.add(frozenset(weights_of(transformer).items()))
    assert len(results) == 1


# Principal components


def make_network(width=16, n_features=48):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SentenceNetwork(SGNNTransformer(n_features, 8, 0, 2, 16), width, 0.0)


def components_of(paragraphs, n_components, network=None, n_projections=6):
    weights = np.linspace(1, 3, len(paragraphs.words), dtype=np.float32)
    projections = projections_of(paragraphs.words, n_projections)
    return principal_components(
        network or make_network(), TrainingText(paragraphs, weights, projections), n_components
    )


def eigenvectors_of(paragraphs, network, sample=slice(None)):
    """Return the eigenvectors of the second moment of spelling parts, those of the largest
    eigenvalues first.
    """
    values, offsets = paragraphs.sentences
    sentences = [part.tolist() for part in np.split(values, offsets[1:-1])]
    rows = projections_of(paragraphs.words, 6).rows(np.arange(len(paragraphs.words)))
    weights = np.linspace(1, 3, len(paragraphs.words))
    parts = oracle.spelling_parts(sentences, network.spelling, rows, weights)[sample]
    return np.linalg.eigh(parts.T @ parts)[1][:, ::-1].T


@pytest.mark.parametrize("n_components", [1, 3, 15])
@pytest.mark.parametrize("block", [7, 512])
def test_components_are_eigenvectors_of_the_second_moment(n_components, block, monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_SENTENCE_BLOCK", block)
    network = make_network()
    components = components_of(READ, n_components, network).numpy()
    assert components.dtype == np.float32
    assert components.shape == (n_components, 16)
    np.testing.assert_allclose(components @ components.T, np.eye(n_components), atol=1e-5)
    oracle.same_space(components, eigenvectors_of(READ, network)[1 : 1 + n_components])


# The map of the first part of larger texts

MANY = read(
    [[f"w{number}ord{number * 7 % 40} b{number % 13} c{number % 29}"] for number in range(60)]
)


def whitened(width, n_removed=3, paragraphs=MANY):
    spelling = make_network(width).spelling
    weights = np.linspace(1, 3, len(paragraphs.words), dtype=np.float32)
    projections = projections_of(paragraphs.words, 6)
    whiten_spelling(spelling, TrainingText(paragraphs, weights, projections), n_removed)
    return (
        spelling.weight.double().numpy(),
        projections.rows(np.arange(len(paragraphs.words))),
        weights,
    )


@pytest.mark.parametrize("width", [4, 20, 48])
@pytest.mark.parametrize("block", [7, 512])
def test_the_map_holds_the_axes_divided_by_a_power_of_their_eigenvalues(width, block, monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_SENTENCE_BLOCK", block)
    matrix, rows, weights = whitened(width)
    values, offsets = MANY.sentences
    identity = torch.nn.Linear(48, 48, bias=False).requires_grad_(False)
    identity.weight.copy_(torch.eye(48))
    sentences = [part.tolist() for part in np.split(values, offsets[1:-1])]
    parts = oracle.spelling_parts(sentences, identity, rows, weights)
    eigenvalues, vectors = np.linalg.eigh(parts.T @ parts)
    eigenvalues, vectors = eigenvalues[::-1], vectors[:, ::-1]
    least = eigenvalues.mean() / 3
    scales = (np.maximum(eigenvalues, least) / max(eigenvalues[4], least)) ** -0.2
    kept = [0, *range(4, 48)][:width]
    expected = [vectors[:, axis] * (scales[axis] if axis else 1) for axis in kept]
    for row, axis in zip(matrix, expected, strict=False):
        np.testing.assert_allclose(row * np.sign(row @ axis), axis, atol=2e-3)
    assert not matrix[len(expected) :].any()


def test_without_removed_axes_sentences_do_not_change_in_them(monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_SENTENCES_PER_COMPONENT", 20)
    network, changed, _ = run_pretraining(MANY, n_components_removed="auto")
    assert changed == {*FITTED, "spelling.weight", "context_common"}
    assert not len(network.common)
    monkeypatch.setattr(_word_pretraining, "_SENTENCES_PER_COMPONENT", 61)
    network, changed, _ = run_pretraining(MANY, n_components_removed="auto")
    assert changed == {*FITTED, "context_common"}


def test_components_are_those_of_a_sample_of_many_sentences(monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_MAX_SENTENCES", 20)
    network = make_network()
    sample = np.linspace(0, READ.n_sentences - 1, 20).astype(int)
    oracle.same_space(
        components_of(READ, 2, network).numpy(), eigenvectors_of(READ, network, sample)[1:3]
    )


def test_few_sentences_have_few_components():
    three = read([["bar carn", "belm"], ["time"]])
    assert components_of(three, 10).shape == (2, 16)
    assert components_of(read([["bar carn"], ["bar carn"]]), 10).shape == (0, 16)
    assert components_of(read([["bar"]]), 1).shape == (0, 16)


def test_components_do_not_depend_on_those_removed_before():
    network = make_network()
    network.common = torch.eye(16)[:4]  # of an earlier fit
    oracle.same_space(components_of(READ, 3, network).numpy(), components_of(READ, 3).numpy())


def test_components_are_the_same_bit_for_bit_at_any_number_of_threads():
    network, n_threads = make_network(480, 480), torch.get_num_threads()
    paragraphs = read([[f"w{number}ord{number * 7 % 600}"] for number in range(600)])
    torch.set_num_threads(1)  # as every estimator does
    try:
        results = set()
        for n_blas in (1, 2):
            with threadpool_limits(n_blas, user_api="blas"):
                results.add(components_of(paragraphs, 300, network, 60).numpy().tobytes())
    finally:
        torch.set_num_threads(n_threads)
    assert len(results) == 1
