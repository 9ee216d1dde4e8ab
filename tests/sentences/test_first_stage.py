import numpy as np
import torch

from sklearn_hashnlp.nn import SentenceNetwork, SGNNTransformer
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.sentences._reader import SentenceReader, WordFrequencies
from sklearn_hashnlp.sentences._word_pretraining import pretrain, principal_components
from tests.sentence_texts import LISTS, read

READ = read(LISTS)


def learn(paragraphs=READ, share=0.5, *, word_steps=2, n_components_removed=3):
    reader = SentenceReader(6, 8, (2, 5), 0, WordFrequencies.count(paragraphs))
    counts = np.ones(len(paragraphs.words))
    projections = CachedProjections(paragraphs.words, counts, reader.featurizer, reader.projector)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformer = SGNNTransformer(48, 8, 1, 2, 16, n_tables=2, table_bits=4)
        transformer.tables.requires_grad_(False)
        network = SentenceNetwork(transformer, 16, share)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    pretrain(
        network,
        paragraphs,
        reader,
        projections,
        word_steps=word_steps,
        n_components_removed=n_components_removed,
        seed=1,
    )
    after = network.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    return network, {name.removeprefix("transformer.") for name in changed}, (reader, projections)


WORDS = {"linear.weight", "tables.tables.weight"}


def test_words_and_common_directions_are_learned():
    network, changed, (reader, projections) = learn()
    assert changed == {*WORDS, "common"}
    weights = reader.weights(READ.words)
    expected = principal_components(network, READ.sentences, weights, projections, 3)
    assert torch.equal(network.common, expected)


def test_either_may_be_left_out():
    assert learn(word_steps=0)[1] == {"common"}
    assert learn(n_components_removed=0)[1] == WORDS
    assert learn(share=0.0)[1] == {"common"}
    assert learn(share=1.0)[1] == WORDS


def test_where_no_word_comes_three_times_words_stay_as_they_are():
    assert learn(read([["bar carn", "belm fel"], ["time"]]))[1] == {"common"}
    assert learn(read([["bar"]]))[1] == set()


def test_the_most_frequent_words_are_learned(monkeypatch):
    monkeypatch.setattr("sklearn_hashnlp.sentences._word_pretraining._MAX_WORDS", 2)
    asked = []

    def fit_word_vectors(transformer, projections, numbers, targets, counts, **options):
        asked.append((numbers.tolist(), len(targets), counts.tolist(), options["n_steps"]))

    monkeypatch.setattr("sklearn_hashnlp.sentences._word_pretraining.fit_word_vectors", fit_word_vectors)
    learn(read([["b a b a c", "a b a c", "c d d d"], ["b a b a c"]]))
    assert asked == [([0, 1], 2, [5, 6], 2)]
