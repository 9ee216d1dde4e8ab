import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.nn import SentenceNetwork, SGNNTransformer
from sklearn_hashnlp.sentences import _word_pretraining
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.sentences._word_pretraining import principal_components
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from tests.sentence_texts import LISTS, read

READ = read(LISTS)


def network_of(width=16, n_features=48):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SentenceNetwork(SGNNTransformer(n_features, 8, 0, 2, 16), width, 0.0)


def projections_of(paragraphs, n_projections=6):
    projector = SGNNProjector(n_projections=n_projections, n_bits=8, output="float")
    return CachedProjections(paragraphs.words, np.ones(len(paragraphs.words)), CharNgramFeaturizer(), projector)


def weights_of(paragraphs):
    return np.linspace(1, 3, len(paragraphs.words), dtype=np.float32)


def directions_of(paragraphs, n_components_removed, network=None):
    return principal_components(
        network or network_of(),
        paragraphs.sentences,
        weights_of(paragraphs),
        projections_of(paragraphs),
        n_components_removed,
    )


def slow_sentences(paragraphs, network):
    """Spell sentences one word at a time, each different word once."""
    projections, weights, rows = projections_of(paragraphs), weights_of(paragraphs), []
    for begin, end in zip(paragraphs.sentences.offsets[:-1], paragraphs.sentences.offsets[1:], strict=True):
        row = np.zeros(network.spelling.out_features)
        for word in set(paragraphs.sentences.values[begin:end].tolist()):
            row += weights[word] * (network.spelling.weight.double().numpy() @ projections.rows(np.array([word]))[0])
        rows.append(row / np.linalg.norm(row))
    return np.array(rows)


def same_space(found, expected):
    """Compare what two sets of orthonormal rows project to: single directions may have either sign."""
    np.testing.assert_allclose(found.T @ found, expected.T @ expected, atol=1e-4)


@pytest.mark.parametrize("n_components_removed", [1, 3, 15])
@pytest.mark.parametrize("at_once", [7, 512])
def test_they_are_the_eigenvectors_of_the_second_moment_but_the_first(n_components_removed, at_once, monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_SENTENCE_BLOCK", at_once)
    network = network_of()
    rows = slow_sentences(READ, network)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    found = directions_of(READ, n_components_removed, network).numpy()
    assert found.dtype == np.float32
    assert found.shape == (n_components_removed, 16)
    np.testing.assert_allclose(found @ found.T, np.eye(n_components_removed), atol=1e-5)
    same_space(found, vectors[:, ::-1].T[1 : 1 + n_components_removed])


def test_of_many_sentences_some_are_enough(monkeypatch):
    monkeypatch.setattr(_word_pretraining, "_MAX_SENTENCES", 20)
    network = network_of()
    n_sentences = READ.n_sentences
    rows = slow_sentences(READ, network)[np.linspace(0, n_sentences - 1, 20).astype(int)]
    _, vectors = np.linalg.eigh(rows.T @ rows)
    same_space(directions_of(READ, 2, network).numpy(), vectors[:, ::-1].T[1:3])


def test_few_sentences_have_few_directions():
    three = read([["bar carn", "belm"], ["time"]])
    assert directions_of(three, 10).shape == (2, 16)
    assert directions_of(read([["bar carn"], ["bar carn"]]), 10).shape == (0, 16)
    assert directions_of(read([["bar"]]), 1).shape == (0, 16)


def test_a_network_without_them_is_asked_alone():
    network = network_of()
    network.common = torch.eye(16)[:4]  # of a training before
    same_space(directions_of(READ, 3, network).numpy(), directions_of(READ, 3).numpy())


def test_they_are_the_same_bit_for_bit_at_any_number_of_threads():
    wide, n_threads = network_of(480, 480), torch.get_num_threads()
    many = read([[f"w{number}ord{number * 7 % 600}"] for number in range(600)])
    torch.set_num_threads(1)  # as every estimator does
    try:
        found = set()
        for n_blas in (1, 2):
            with threadpool_limits(n_blas, user_api="blas"):
                made = principal_components(wide, many.sentences, weights_of(many), projections_of(many, 60), 300)
            found.add(made.numpy().tobytes())
    finally:
        torch.set_num_threads(n_threads)
    assert len(found) == 1
