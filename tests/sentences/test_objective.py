from typing import get_args

import numpy as np
import pytest
import torch
from torch.nn import functional

from sklearn_hashnlp.nn import (
    CosineProximityLoss,
    InfoNCELoss,
    SGNNTransformer,
    SimilarityBXENT,
    VonMisesFisherLoss,
)
from sklearn_hashnlp.nn._sentence_network import SentenceModule, SentenceNetwork
from sklearn_hashnlp.sentences import Objectives
from sklearn_hashnlp.sentences._paragraph_batches import ParagraphBatches, TrainingText
from sklearn_hashnlp.sentences._sentence_net import SentenceObjective
from sklearn_hashnlp.sentences._sentence_parameters import SentenceLoss
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from tests.sentence_texts import LISTS, read

LOSSES = get_args(SentenceLoss)
READ = read(LISTS)
PROJECTOR = SGNNProjector(n_projections=6, n_bits=8, output="float")
PROJECTIONS = CachedProjections(
    READ.words, np.ones(len(READ.words)), CharNgramFeaturizer(), PROJECTOR
)
WEIGHTS = np.linspace(1, 2, len(READ.words), dtype=np.float32)
TEXT = TrainingText(READ, WEIGHTS, PROJECTIONS)
BATCHES = list(ParagraphBatches(TEXT, batch_size=24, seed=0, mask_probability=0.3))
BATCH = BATCHES[1]
CRITERIA = {
    "infonce": InfoNCELoss(0.5),
    "bxent": SimilarityBXENT(),
    "proximity": CosineProximityLoss(),
    "vmf": VonMisesFisherLoss(),
}


def module_of(share=0.5, seed=0, *, masked=True):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = SentenceNetwork(SGNNTransformer(48, 8, 1, 2, 16), 6, share)
        return SentenceModule(network, masked_words=masked)


def objective(sentence=0.0, word=0.0, masked=0.0, loss="infonce", seed=5):
    return SentenceObjective(Objectives(loss, 0.5, sentence, word, masked), seed)


def compute(module, progress=0.5, batch=BATCH, epoch=0, **weights):
    return objective(**weights).compute(module, batch, epoch=epoch, progress=progress)


def test_weights_change_linearly():
    some = objective(sentence=(2.0, 0.5), word=[0, np.float32(1)], masked=0.3)
    assert [some.weight("sentence", progress) for progress in (0.0, 0.5, 1.0)] == [2.0, 1.25, 0.5]
    assert [some.weight("word", progress) for progress in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]
    assert {some.weight("masked", progress) for progress in (0.0, 0.7, 1.0)} == {0.3}


@pytest.mark.parametrize("loss", get_args(SentenceLoss))
def test_each_head_computes_its_loss(loss):
    module = module_of()
    transformer, words = module.network.transformer, BATCH.batch.words
    # of the trained part of the vectors
    sentences = CRITERIA[loss](transformer(BATCH.batch), BATCH.blocks)
    torch.testing.assert_close(compute(module, sentence=1.0, loss=loss), sentences)
    vectors = functional.normalize(transformer.word_vectors(BATCH.batch.projections), dim=1)
    sample, blocks = objective()._sample_words(BATCH, 0)
    torch.testing.assert_close(
        compute(module, word=1.0, loss=loss), CRITERIA[loss](vectors[sample], blocks)
    )
    # The hidden words, predicted one by one.
    encoded, losses = transformer.encode_words(BATCH.batch, hidden=BATCH.hidden), []
    for row, column in zip(*np.nonzero(BATCH.hidden.numpy()), strict=True):
        predicted = functional.normalize(module.masked_head.linear(encoded[row, column]), dim=0)
        scores = vectors @ predicted / module.masked_head.temperature
        losses.append(torch.logsumexp(scores, 0) - scores[words[row, column]])
    assert len(losses) > 3
    torch.testing.assert_close(compute(module, masked=1.0, loss=loss), torch.stack(losses).mean())


@pytest.mark.parametrize(
    ("progress", "weights"), [(0.0, (2, 0, 1)), (0.5, (1, 0.5, 0.75)), (1.0, (0, 1, 0.5))]
)
def test_the_sum_at_start_middle_and_end(progress, weights):
    module = module_of()
    alone = [compute(module, **{head: 1.0}) for head in ("sentence", "word", "masked")]
    assert len({round(loss.item(), 4) for loss in alone}) == 3
    together = compute(module, progress, sentence=(2.0, 0.0), word=(0.0, 1.0), masked=(1.0, 0.5))
    expected = sum(weight * loss for weight, loss in zip(weights, alone, strict=True))
    torch.testing.assert_close(together, expected)


def test_without_weights_there_is_no_gradient():
    module = module_of()
    loss = compute(module, 0.0, masked=(0.0, 1.0))
    loss.backward()
    assert loss.item() == 0
    assert not any(
        parameter.grad.any() for parameter in module.parameters() if parameter.grad is not None
    )
    assert compute(module, 0.1, masked=(0.0, 1.0)).item() > 0


def test_a_word_is_sampled_in_one_of_its_sentences():
    words, blocks = objective()._sample_words(BATCH, 0)
    assert sorted(words.tolist()) == sorted(set(BATCH.batch.words[BATCH.batch.words >= 0].tolist()))
    for word, block in zip(words.tolist(), blocks.tolist(), strict=True):
        assert word in BATCH.batch.words[block]
    again = objective()._sample_words(BATCH, 0)
    assert torch.equal(words, again[0])
    assert torch.equal(blocks, again[1])
    others = (objective()._sample_words(BATCH, 1), objective(seed=6)._sample_words(BATCH, 0))
    others = (*others, objective()._sample_words(BATCH._replace(number=9), 0))
    assert all(blocks.tolist() != other[1].tolist() for other in others)


def test_the_sample_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr("sklearn_hashnlp.sentences._sentence_net._MAX_WORDS", 5)
    words, blocks = objective()._sample_words(BATCH, 0)
    assert len(words) == len(blocks) == len(set(words.tolist())) == 5
