import threading
import time
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.sentences import _batches
from sklearn_hashnlp.sentences._batches import ParagraphBatches
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

WORDS = [f"word{number}" for number in range(60)]
WEIGHTS = np.linspace(1, 2, 60, dtype=np.float32)
N_FEATURES = 21


def projections_of(max_bytes=10**6):
    projector = SGNNProjector(n_projections=3, n_bits=7, output="float")
    return CachedProjections(WORDS, np.arange(60), CharNgramFeaturizer(), projector, max_bytes=max_bytes)


PROJECTIONS = projections_of()


def random_paragraphs(n_paragraphs=60, seed=0, max_sentences=5):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, max_sentences + 1, n_paragraphs)
    # Like in a text, sentences are of many lengths.
    lengths = 1 + generator.geometric(0.2, sizes.sum())
    values = generator.integers(0, len(WORDS), lengths.sum()).astype(np.int32)
    return Paragraphs(WORDS, Ragged(values, np.cumsum([0, *lengths])), np.cumsum([0, *sizes]))


PARAGRAPHS = random_paragraphs()
DEFAULTS = {"batch_size": 12, "seed": 3, "epoch": 1, "mask_probability": 0.15}


def batches_of(paragraphs=PARAGRAPHS, projections=PROJECTIONS, **changes):
    return ParagraphBatches(paragraphs, WEIGHTS, projections, **DEFAULTS | changes)


def as_bytes(made):
    """Make something that is equal only where two batches are, bit for bit."""
    tensors = [*made.batch, made.blocks, made.hidden]
    kinds = [None if tensor is None else (tensor.dtype, tuple(tensor.shape)) for tensor in tensors]
    return made.number, kinds, [None if tensor is None else tensor.numpy().tobytes() for tensor in tensors]


EPOCH = [as_bytes(made) for made in batches_of()]


def sentences_in(made):
    """Give the batch's paragraphs as tuples of sentences, which are tuples of words."""
    numbers = PROJECTIONS.rows(np.arange(len(WORDS)))
    row_of = {row.tobytes(): number for number, row in enumerate(numbers)}
    words = np.array([row_of[row.tobytes()] for row in made.batch.projections.numpy()])
    found = [[] for _ in range(int(made.blocks.max()) + 1)]
    for block, row in zip(made.blocks.tolist(), made.batch.words.numpy(), strict=True):
        found[block].append(tuple(words[row[row >= 0]].tolist()))
    return [tuple(paragraph) for paragraph in found]


def all_paragraphs(paragraphs):
    sentences = np.split(paragraphs.sentences.values, paragraphs.sentences.offsets[1:-1])
    sentences = [tuple(sentence.tolist()) for sentence in sentences]
    offsets = paragraphs.offsets.tolist()
    return [tuple(sentences[offsets[place] : offsets[place + 1]]) for place in range(len(paragraphs))]


@given(
    st.integers(1, 40),
    st.integers(0, 20),
    st.integers(1, 30),
    st.integers(1, 3),
)
def test_an_epoch_has_each_paragraph_once_and_whole(n_paragraphs, seed, batch_size, window):
    paragraphs = random_paragraphs(n_paragraphs, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_batches, "_WINDOW", window)
        batches = batches_of(paragraphs, batch_size=batch_size, seed=seed)
    made = list(batches)
    assert [batch.number for batch in made] == list(range(len(made)))
    assert len(batches) == len(made)
    found = [sentences_in(batch) for batch in made]
    assert sorted(chain.from_iterable(found)) == sorted(all_paragraphs(paragraphs))
    for batch, own in zip(made, found, strict=True):
        assert len(batch.blocks) <= batch_size or len(own) == 1
        assert batch.blocks.dtype == torch.int64
        assert batch.blocks.tolist() == [place for place, paragraph in enumerate(own) for _ in paragraph]


@pytest.mark.parametrize("n_jobs", [2, 3, -1, None])
def test_batches_are_the_same_bit_for_bit_at_any_number_of_threads(n_jobs):
    assert [as_bytes(made) for made in batches_of(n_jobs=n_jobs)] == EPOCH


@pytest.mark.parametrize("first", [*range(len(EPOCH) + 1), len(EPOCH) + 5])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_are_the_same_bit_for_bit_from_any_first_one(first, n_jobs):
    batches = batches_of(first=first, n_jobs=n_jobs)
    assert len(batches) == max(len(EPOCH) - first, 0)
    assert [as_bytes(made) for made in batches] == EPOCH[first:]


@pytest.mark.parametrize("n_cached", [0, 1, 31, 60])
def test_batches_are_the_same_bit_for_bit_whether_projections_are_kept_or_not(n_cached):
    projections = projections_of(n_cached * 4 * N_FEATURES)
    assert projections.n_cached == n_cached
    assert [as_bytes(made) for made in batches_of(projections=projections, n_jobs=2)] == EPOCH


def test_batches_are_the_same_bit_for_bit_when_gone_through_again():
    batches = batches_of()
    next(iter(batches))
    assert [as_bytes(made) for made in batches] == EPOCH
    assert [as_bytes(made) for made in batches] == EPOCH
    assert [as_bytes(batches.make(number)) for number in reversed(range(len(EPOCH)))] == EPOCH[::-1]


def test_hiding_words_changes_nothing_else():
    shown = list(batches_of(mask_probability=0.0))
    assert all(made.hidden is None for made in shown)
    assert [as_bytes(made)[2][:-1] for made in shown] == [made[2][:-1] for made in EPOCH]


@pytest.mark.parametrize("change", [{"seed": 4}, {"epoch": 0}])
def test_seeds_and_epochs_have_orders_of_their_own(change):
    others = [sentences_in(made) for made in batches_of(**change)]
    own = [sentences_in(made) for made in batches_of()]
    assert sorted(chain.from_iterable(others)) == sorted(chain.from_iterable(own))
    assert others != own
    assert {frozenset(batch) for batch in others} != {frozenset(batch) for batch in own}


def test_hidden_places_are_words_and_of_the_share_that_is_asked_for():
    paragraphs = random_paragraphs(2000, max_sentences=8)
    made = list(batches_of(paragraphs, batch_size=500))
    words = sum(int((batch.batch.words >= 0).sum()) for batch in made)
    assert not any((batch.hidden & (batch.batch.words < 0)).any() for batch in made)
    assert words > 20_000
    assert sum(int(batch.hidden.sum()) for batch in made) / words == pytest.approx(0.15, abs=0.01)


def test_hidden_places_are_drawn_anew_for_each_batch_and_epoch():
    one = random_paragraphs(1, max_sentences=1)
    long = Paragraphs(WORDS, Ragged(np.zeros(400, dtype=np.int32), np.array([0, 200, 400])), np.array([0, 1, 2]))
    drawn = [made.hidden for epoch in range(3) for made in batches_of(long, batch_size=1, epoch=epoch)]
    assert len({hidden.numpy().tobytes() for hidden in drawn}) == 6
    assert len(list(batches_of(one))) == 1


def test_sentences_of_like_length_share_a_batch():
    paragraphs = random_paragraphs(4000)
    sizes = [made.batch.words.numel() for made in batches_of(paragraphs, batch_size=64)]
    n_words = len(paragraphs.sentences.values)
    longest = np.maximum.reduceat(np.diff(paragraphs.sentences.offsets), paragraphs.offsets[:-1])
    # No paragraph is cut: its sentences are padded at least to its own longest one.
    least = int((longest * np.diff(paragraphs.offsets)).sum())
    assert n_words < least < sum(sizes) < 1.1 * least


def test_batches_of_two_neighbourhoods_have_like_lengths_too(monkeypatch):
    monkeypatch.setattr(_batches, "_WINDOW", 2.5)  # every other batch is of two neighbourhoods
    lengths = np.tile([1, 9], 800)
    sentences = Ragged(np.zeros(lengths.sum(), dtype=np.int32), np.cumsum([0, *lengths]))
    batches = list(batches_of(Paragraphs(WORDS, sentences, np.arange(1601)), batch_size=16))
    there = [(made.batch.words >= 0).sum(dim=1).unique() for made in batches]
    n_neighbourhoods = 1600 // 40
    assert len(batches) == 100
    # In each of them there is one place at most where short ones end and long ones begin, or the other way about.
    assert sum(len(found) > 1 for found in there) <= n_neighbourhoods


def test_batches_come_in_no_order_of_length():
    paragraphs = random_paragraphs(4000)
    longest = np.array([made.batch.words.shape[1] for made in batches_of(paragraphs, batch_size=64)], dtype=float)
    assert abs(np.corrcoef(longest[1:], longest[:-1])[0, 1]) < 0.3
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3


def test_the_last_two_batches_are_about_as_large():
    sentences = Ragged(np.zeros(101, dtype=np.int32), np.arange(102))
    paragraphs = Paragraphs(WORDS, sentences, np.arange(102))
    sizes = sorted(len(made.blocks) for made in batches_of(paragraphs, batch_size=25))
    assert sizes == [13, 13, 25, 25, 25]


def test_a_paragraph_larger_than_a_batch_is_one_by_itself():
    sentences = Ragged(np.zeros(12, dtype=np.int32), np.arange(13))
    paragraphs = Paragraphs(WORDS, sentences, np.array([0, 10, 11, 12]))
    assert sorted(len(made.blocks) for made in batches_of(paragraphs, batch_size=3)) in ([2, 10], [1, 1, 10])


def test_no_paragraphs_give_no_batches():
    nothing = Paragraphs([], Ragged(np.empty(0, dtype=np.int32), np.array([0])), np.array([0]))
    projector = SGNNProjector(output="float")
    projections = CachedProjections([], np.empty(0), CharNgramFeaturizer(), projector)
    batches = ParagraphBatches(nothing, np.empty(0, dtype=np.float32), projections, batch_size=3, seed=0, epoch=0)
    assert (len(batches), list(batches)) == (0, [])


def test_a_batch_moves_as_a_whole():
    made = batches_of().make(0)
    there = made.to("meta")
    assert {tensor.device.type for tensor in (*there.batch, there.blocks, there.hidden)} == {"meta"}
    assert there.number == made.number
    assert batches_of(mask_probability=0.0).make(0).to("cpu").hidden is None


class Counting:
    """Projections that tell which threads ask for them, and fail at one point."""

    def __init__(self, fails_at=None):
        self.n_asked = 0
        self.threads = set()
        self.fails_at = fails_at
        self.lock = threading.Lock()

    def rows(self, numbers):
        with self.lock:
            self.n_asked += 1
            fails = self.n_asked == self.fails_at
            self.threads.add(threading.current_thread())
        if fails:
            raise MemoryError("no room")
        return PROJECTIONS.rows(numbers)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_are_prepared_ahead_but_not_too_far(n_jobs):
    counting = Counting()
    batches = iter(batches_of(projections=counting, n_jobs=n_jobs))
    next(batches)
    deadline = time.monotonic() + 20
    while counting.n_asked < 1 + 2 * n_jobs and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    assert counting.n_asked == 1 + 2 * n_jobs
    batches.close()
    assert threading.current_thread() not in counting.threads
    assert len(counting.threads) <= n_jobs


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_goes_wrong_is_raised_where_the_batch_is_asked_for(n_jobs):
    counting = Counting(fails_at=5)
    made = []
    with pytest.raises(MemoryError, match="no room"):
        made.extend(batches_of(projections=counting, n_jobs=n_jobs))
    assert [as_bytes(batch) for batch in made] == EPOCH[: len(made)]
    if n_jobs == 1:
        assert len(made) == 4
    assert not any(thread.is_alive() for thread in counting.threads)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_end_when_the_batches_are_abandoned(n_jobs):
    counting = Counting()
    for made in batches_of(projections=counting, n_jobs=n_jobs):
        if made.number == 3:
            break
    assert 4 <= counting.n_asked <= 4 + 2 * n_jobs
    assert not any(thread.is_alive() for thread in counting.threads)


class Held(Counting):
    """The second and later ones are held up until they are let go."""

    def __init__(self):
        super().__init__()
        self.let_go = threading.Event()

    def rows(self, numbers):
        rows = super().rows(numbers)
        if self.n_asked > 1:
            self.let_go.wait(20)
        return rows


def test_batches_that_nobody_began_are_not_made_any_more():
    held = Held()
    batches = iter(batches_of(projections=held))
    next(batches)
    threading.Timer(0.2, held.let_go.set).start()
    batches.close()
    assert held.n_asked == 2
    assert not any(thread.is_alive() for thread in held.threads)


class Slow(Counting):
    n_made = 0

    def rows(self, numbers):
        time.sleep(0.01)
        rows = super().rows(numbers)
        self.n_made += 1
        return rows


def test_waiting_is_measured():
    slow = Slow()
    batches = batches_of(projections=slow)
    assert (batches.waited, batches.total) == (0, 0)
    for _ in batches:
        pass
    assert 0.007 * len(EPOCH) < batches.waited <= batches.total
    waited, total = batches.waited, batches.total
    for made in batches:  # each batch is there before it is asked for, but for the first
        while slow.n_made < len(EPOCH) + min(made.number + 3, len(EPOCH)):
            time.sleep(0.001)
    assert 0.009 < batches.waited - waited < 0.5 * waited
    assert batches.total - total > 0.009 * len(EPOCH)


def test_time_is_known_while_batches_are_used():
    batches = batches_of()
    for made in batches:
        if made.number == 1:
            break
        time.sleep(0.01)
    assert batches.total > 0.009
