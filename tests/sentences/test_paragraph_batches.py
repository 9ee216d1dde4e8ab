import time
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.sentences import _paragraph_batches
from sklearn_hashnlp.sentences._paragraph_batches import ParagraphBatches, TrainingText, take_rows
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections, Paragraphs
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS = [f"word{number}" for number in range(60)]
WEIGHTS = np.linspace(1, 2, 60, dtype=np.float32)
N_FEATURES = 21


def projections_of(max_bytes=10**6):
    projector = SGNNProjector(n_projections=3, n_bits=7, output="float")
    return CachedProjections(
        WORDS, np.arange(60), CharNgramFeaturizer(), projector, max_bytes=max_bytes
    )


PROJECTIONS = projections_of()


def random_paragraphs(n_paragraphs=60, seed=0, max_sentences=5):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, max_sentences + 1, n_paragraphs)
    # As in a text, sentences have many lengths.
    lengths = 1 + generator.geometric(0.2, sizes.sum())
    values = generator.integers(0, len(WORDS), lengths.sum()).astype(np.int32)
    return Paragraphs(WORDS, Ragged(values, np.cumsum([0, *lengths])), np.cumsum([0, *sizes]))


PARAGRAPHS = random_paragraphs()
DEFAULTS = {"batch_size": 12, "seed": 3, "epoch": 1, "mask_probability": 0.15}


def batches_of(paragraphs=PARAGRAPHS, projections=PROJECTIONS, **changes):
    return ParagraphBatches(TrainingText(paragraphs, WEIGHTS, projections), **DEFAULTS | changes)


def as_bytes(batch):
    """Return what is equal only for batches that are equal bit for bit."""
    tensors = [*batch.batch, batch.blocks, batch.hidden]
    kinds = [None if tensor is None else (tensor.dtype, tuple(tensor.shape)) for tensor in tensors]
    return (
        batch.number,
        kinds,
        [None if tensor is None else tensor.numpy().tobytes() for tensor in tensors],
    )


EPOCH = [as_bytes(batch) for batch in batches_of()]
ID_OF = {
    row.tobytes(): word_id for word_id, row in enumerate(PROJECTIONS.rows(np.arange(len(WORDS))))
}


def paragraphs_in(batch):
    """Return the paragraphs of a batch as tuples of sentences, which are tuples of word ids."""
    ids = np.array([ID_OF[row.tobytes()] for row in batch.batch.projections.numpy()])
    paragraphs = [[] for _ in range(int(batch.blocks.max()) + 1)]
    for block, row in zip(batch.blocks.tolist(), batch.batch.words.numpy(), strict=True):
        paragraphs[block].append(tuple(ids[row[row >= 0]].tolist()))
    return [tuple(paragraph) for paragraph in paragraphs]


def all_paragraphs(paragraphs):
    sentences = np.split(paragraphs.sentences.values, paragraphs.sentences.offsets[1:-1])
    sentences = [tuple(sentence.tolist()) for sentence in sentences]
    offsets = paragraphs.offsets.tolist()
    return [
        tuple(sentences[offsets[index] : offsets[index + 1]]) for index in range(len(paragraphs))
    ]


@given(st.integers(1, 40), st.integers(0, 20), st.integers(1, 30), st.integers(1, 3))
def test_an_epoch_has_each_paragraph_once_and_whole(n_paragraphs, seed, batch_size, window):
    paragraphs = random_paragraphs(n_paragraphs, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_paragraph_batches, "_WINDOW", window)
        batches = batches_of(paragraphs, batch_size=batch_size, seed=seed)
    epoch = list(batches)
    assert [batch.number for batch in epoch] == list(range(len(epoch)))
    assert (len(batches), batches.n_batches) == (paragraphs.n_sentences, len(epoch))
    in_batches = [paragraphs_in(batch) for batch in epoch]
    assert sorted(chain.from_iterable(in_batches)) == sorted(all_paragraphs(paragraphs))
    for batch, own in zip(epoch, in_batches, strict=True):
        assert len(batch.blocks) <= batch_size or len(own) == 1
        assert batch.blocks.dtype == torch.int64
        assert batch.blocks.tolist() == [
            index for index, paragraph in enumerate(own) for _ in paragraph
        ]


@pytest.mark.parametrize("first", [*range(len(EPOCH) + 1), len(EPOCH) + 5])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_are_the_same_bit_for_bit_from_any_first_one(first, n_jobs):
    batches = batches_of(first=first, n_jobs=n_jobs)
    assert [as_bytes(batch) for batch in batches] == EPOCH[first:]


@pytest.mark.parametrize(("n_cached", "n_jobs"), [(0, 2), (1, 3), (31, -1), (60, None)])
def test_batches_have_the_same_bits_with_any_cache_and_threads(n_cached, n_jobs):
    projections = projections_of(n_cached * 4 * N_FEATURES)
    assert projections.n_cached == n_cached
    assert [
        as_bytes(batch) for batch in batches_of(projections=projections, n_jobs=n_jobs)
    ] == EPOCH


def test_batches_are_the_same_bit_for_bit_in_any_order():
    batches = batches_of()
    next(iter(batches))
    assert [as_bytes(batches.make(number)) for number in reversed(range(len(EPOCH)))] == EPOCH[::-1]
    assert [as_bytes(batch) for batch in batches] == EPOCH


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_epochs_follow_one_another(n_jobs):
    batches = batches_of(epoch=2, first=1, n_epochs=4, n_jobs=n_jobs)
    n_batches = batches.n_batches
    epoch = list(batches)
    assert [(batch.epoch, batch.number) for batch in epoch] == [
        (2, number) for number in range(1, n_batches)
    ]
    assert [batch.progress for batch in epoch] == [
        (2 + number / n_batches) / 4 for number in range(1, n_batches)
    ]
    # of the last epoch
    assert (batches.epoch, batches.first, batches.n_batches) == (3, 0, n_batches)
    for _ in batches:
        break  # the time is over
    assert batches.epoch == 3
    assert [as_bytes(batch) for batch in batches] == [
        as_bytes(batch) for batch in batches_of(epoch=3)
    ]
    assert [batch.progress for batch in batches] == [1.0] * batches.n_batches
    assert batches_of().make(0).progress == 1.0


def test_a_finished_epoch_has_no_batches_left():
    batches = batches_of(first=len(EPOCH))
    assert list(batches) == []
    assert (batches.epoch, batches.first) == (2, 0)


def test_hiding_words_changes_nothing_else():
    epoch = list(batches_of(mask_probability=0.0))
    assert all(batch.hidden is None for batch in epoch)
    assert [as_bytes(batch)[2][:-1] for batch in epoch] == [expected[2][:-1] for expected in EPOCH]


@pytest.mark.parametrize("change", [{"seed": 4}, {"epoch": 0}])
def test_each_seed_and_epoch_has_its_own_order(change):
    others = [paragraphs_in(batch) for batch in batches_of(**change)]
    own = [paragraphs_in(batch) for batch in batches_of()]
    assert sorted(chain.from_iterable(others)) == sorted(chain.from_iterable(own))
    assert others != own
    assert {frozenset(batch) for batch in others} != {frozenset(batch) for batch in own}


def test_words_are_hidden_with_the_mask_probability():
    paragraphs = random_paragraphs(2000, max_sentences=8)
    epoch = list(batches_of(paragraphs, batch_size=500))
    n_words = sum(int((batch.batch.words >= 0).sum()) for batch in epoch)
    assert not any((batch.hidden & (batch.batch.words < 0)).any() for batch in epoch)
    assert n_words > 20_000
    assert sum(int(batch.hidden.sum()) for batch in epoch) / n_words == pytest.approx(
        0.15, abs=0.01
    )


def test_each_batch_and_epoch_has_its_own_hidden_words():
    long = Paragraphs(
        WORDS, Ragged(np.zeros(400, dtype=np.int32), np.array([0, 200, 400])), np.array([0, 1, 2])
    )
    masks = [
        batch.hidden for epoch in range(3) for batch in batches_of(long, batch_size=1, epoch=epoch)
    ]
    assert len({mask.numpy().tobytes() for mask in masks}) == 6


def test_sentences_of_similar_length_share_a_batch():
    paragraphs = random_paragraphs(4000)
    sizes = [batch.batch.words.numel() for batch in batches_of(paragraphs, batch_size=64)]
    n_words = len(paragraphs.sentences.values)
    longest = np.maximum.reduceat(np.diff(paragraphs.sentences.offsets), paragraphs.offsets[:-1])
    # A paragraph is whole: its sentences are padded at least to its longest.
    minimum = int((longest * np.diff(paragraphs.offsets)).sum())
    assert n_words < minimum < sum(sizes) < 1.1 * minimum


def test_batches_of_two_windows_have_similar_lengths_too(monkeypatch):
    monkeypatch.setattr(_paragraph_batches, "_WINDOW", 2.5)  # every other batch is of two windows
    lengths = np.tile([1, 9], 800)
    sentences = Ragged(np.zeros(lengths.sum(), dtype=np.int32), np.cumsum([0, *lengths]))
    batches = list(batches_of(Paragraphs(WORDS, sentences, np.arange(1601)), batch_size=16))
    distinct_lengths = [(batch.batch.words >= 0).sum(dim=1).unique() for batch in batches]
    assert len(batches) == 100
    # In each window, one batch at most holds the boundary of short and long sentences.
    assert sum(len(distinct) > 1 for distinct in distinct_lengths) <= 1600 // 40


def test_batches_are_not_ordered_by_length():
    paragraphs = random_paragraphs(4000)
    longest = np.array(
        [batch.batch.words.shape[1] for batch in batches_of(paragraphs, batch_size=64)], dtype=float
    )
    assert abs(np.corrcoef(longest[1:], longest[:-1])[0, 1]) < 0.3
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3


def test_the_last_two_batches_are_of_similar_size():
    sentences = Ragged(np.zeros(101, dtype=np.int32), np.arange(102))
    paragraphs = Paragraphs(WORDS, sentences, np.arange(102))
    sizes = sorted(len(batch.blocks) for batch in batches_of(paragraphs, batch_size=25))
    assert sizes == [13, 13, 25, 25, 25]


def test_a_paragraph_larger_than_a_batch_is_a_batch():
    sentences = Ragged(np.zeros(12, dtype=np.int32), np.arange(13))
    paragraphs = Paragraphs(WORDS, sentences, np.array([0, 10, 11, 12]))
    assert sorted(len(batch.blocks) for batch in batches_of(paragraphs, batch_size=3)) in (
        [2, 10],
        [1, 1, 10],
    )


def test_no_paragraphs_no_batches():
    nothing = Paragraphs([], Ragged(np.empty(0, dtype=np.int32), np.array([0])), np.array([0]))
    projector = SGNNProjector(output="float")
    projections = CachedProjections([], np.empty(0), CharNgramFeaturizer(), projector)
    text = TrainingText(nothing, np.empty(0, dtype=np.float32), projections)
    batches = ParagraphBatches(text, batch_size=3, seed=0, epoch=0)
    assert (batches.n_batches, list(batches)) == (0, [])


def test_all_tensors_of_a_batch_are_moved():
    batch = batches_of().make(0)
    moved = batch.to("meta")
    assert {tensor.device.type for tensor in (*moved.batch, moved.blocks, moved.hidden)} == {"meta"}
    assert moved.number == batch.number
    assert batches_of(mask_probability=0.0).make(0).to("cpu").hidden is None


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


class Slow:
    """Projections that take some time."""

    n_done = 0

    def rows(self, word_ids):
        time.sleep(0.01)
        rows = PROJECTIONS.rows(word_ids)
        self.n_done += 1
        return rows


def test_waiting_time_is_measured():
    slow = Slow()
    batches = batches_of(projections=slow)
    assert batches.waited == 0
    for _ in batches:
        pass
    waited = batches.waited
    assert batches.total >= waited > 0.007 * len(EPOCH)
    for batch in batches:  # each batch but the first is ready before it is requested
        n_ready = len(EPOCH) + min(batch.number + 3, len(EPOCH))
        wait_for(lambda n_ready=n_ready: slow.n_done >= n_ready)
    assert 0.009 < batches.waited - waited < 0.5 * waited


# The words of a batch

FEW = CachedProjections(
    WORDS[:9],
    np.ones(9),
    CharNgramFeaturizer(),
    SGNNProjector(n_projections=5, output="float"),
    max_bytes=4 * 70 * 4,
)
SENTENCES = st.lists(st.lists(st.integers(0, 8), max_size=7), max_size=6)


def ragged(sentences, dtype=np.int32):
    values = np.array([word for sentence in sentences for word in sentence], dtype=dtype)
    return Ragged(values, np.cumsum([0, *map(len, sentences)]))


def word_batch_of(sentences, dtype=np.int32):
    paragraphs = Paragraphs(WORDS[:9], ragged(sentences, dtype), np.array([0, len(sentences)]))
    return TrainingText(paragraphs, np.arange(1, 10, dtype=np.float32), FEW).batch(
        np.arange(len(sentences))
    )


@given(SENTENCES)
def test_repeated_words_share_their_weight(sentences):
    batch = word_batch_of(sentences)
    longest = max(map(len, sentences), default=0)
    assert batch.words.shape == batch.weights.shape == (len(sentences), longest)
    assert [part.dtype for part in batch] == [torch.float32, torch.int64, torch.float32]
    for row, sentence in enumerate(sentences):
        repetitions = Counter(sentence)
        for column in range(longest):
            if column >= len(sentence):
                assert (batch.words[row, column], batch.weights[row, column]) == (-1, 0)
                continue
            word = sentence[column]
            expected = FEW.rows(np.array([word]))[0]
            assert (
                batch.projections[batch.words[row, column]].numpy().tobytes() == expected.tobytes()
            )
            assert batch.weights[row, column] == np.float32(
                (word + 1) / np.float32(repetitions[word])
            )


@given(SENTENCES)
def test_each_distinct_word_is_projected_once(sentences):
    distinct = sorted({word for sentence in sentences for word in sentence})
    expected = FEW.rows(np.array(distinct, dtype=np.int64))
    assert word_batch_of(sentences).projections.numpy().tobytes() == expected.tobytes()


@given(SENTENCES.filter(len), st.data())
def test_rows_are_taken_in_any_order(sentences, data):
    indices = data.draw(st.lists(st.integers(0, len(sentences) - 1), max_size=5))
    expected = ragged([sentences[index] for index in indices])
    result = take_rows(ragged(sentences), np.array(indices, dtype=np.int64))
    assert result.values.tolist() == expected.values.tolist()
    assert result.offsets.tolist() == expected.offsets.tolist()
