from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import SGNNTransformer
from sklearn_hashnlp.sentences._batches import make_word_batch
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS = [f"word{number}" for number in range(9)]
WEIGHTS = np.arange(1, 10, dtype=np.float32)
PROJECTIONS = CachedProjections(
    WORDS, np.ones(9), CharNgramFeaturizer(), SGNNProjector(n_projections=5, output="float"), max_bytes=4 * 70 * 4
)
SENTENCES = st.lists(st.lists(st.integers(0, 8), max_size=7), max_size=6)


def batch_of(sentences, dtype=np.int32):
    values = np.array([number for sentence in sentences for number in sentence], dtype=dtype)
    return make_word_batch(Ragged(values, np.cumsum([0, *map(len, sentences)])), WEIGHTS, PROJECTIONS)


@given(SENTENCES)
def test_each_place_has_its_word_and_its_share_of_the_weight(sentences):
    batch = batch_of(sentences)
    longest = max(map(len, sentences), default=0)
    assert batch.words.shape == batch.weights.shape == (len(sentences), longest)
    assert (batch.projections.dtype, batch.words.dtype, batch.weights.dtype) == (
        torch.float32,
        torch.int64,
        torch.float32,
    )
    for row, sentence in enumerate(sentences):
        times = Counter(sentence)
        for column in range(longest):
            if column >= len(sentence):
                assert (batch.words[row, column], batch.weights[row, column]) == (-1, 0)
                continue
            number = sentence[column]
            wanted = PROJECTIONS.rows(np.array([number]))[0]
            assert batch.projections[batch.words[row, column]].numpy().tobytes() == wanted.tobytes()
            assert batch.weights[row, column] == np.float32(WEIGHTS[number] / np.float32(times[number]))


@given(SENTENCES)
def test_each_different_word_is_projected_once(sentences):
    batch = batch_of(sentences)
    different = sorted({number for sentence in sentences for number in sentence})
    assert batch.projections.numpy().tobytes() == PROJECTIONS.rows(np.array(different, dtype=np.int64)).tobytes()


def test_a_word_counts_once_however_often_it_comes():
    network = SGNNTransformer(n_features=70, width=16, n_layers=0, n_heads=2, pooling="weighted", positions=False)
    once, again = network(batch_of([[3, 5], [3, 5, 3, 3, 5]])).detach()
    torch.testing.assert_close(once, again)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_numbers_may_have_either_width(dtype):
    assert batch_of([[3, 1]], dtype).words.tolist() == [[1, 0]]
