"""One epoch of whole paragraphs, batch by batch, prepared ahead on other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from joblib import effective_n_jobs
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import map_in_background
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import WordBatch
from sklearn_hashnlp.sentences._paragraphs import Paragraphs
from sklearn_hashnlp.sentences._projections import CachedProjections


def make_word_batch(sentences: Ragged, weights: NDArray[np.float32], projections: CachedProjections) -> WordBatch:
    """Make a batch."""
    different, rows = np.unique(sentences.values, return_inverse=True)
    lengths = np.diff(sentences.offsets)
    there = np.arange(lengths.max(initial=0)) < lengths[:, None]
    words = np.full(there.shape, -1, dtype=np.int64)
    words[there] = rows
    shares = np.zeros(there.shape, dtype=np.float32)
    shares[there] = weights[sentences.values] / _times(rows, lengths, len(different))
    made = torch.from_numpy(projections.rows(different))
    return WordBatch(made, torch.from_numpy(words), torch.from_numpy(shares))


def _times(rows: NDArray[np.int64], lengths: NDArray[np.int64], n_different: int) -> NDArray[np.float32]:
    """Count how often the word of each place stands in its sentence."""
    keys = np.repeat(np.arange(len(lengths)) * n_different, lengths) + rows
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    times: NDArray[np.float32] = counts.astype(np.float32)[which]
    return times


_WINDOW = 64  # batches among whose paragraphs those of like length are brought together


class ParagraphBatch(NamedTuple):
    """The sentences of some whole paragraphs."""

    batch: WordBatch  # the sentences, paragraph after paragraph
    blocks: Tensor  # (n_sentences,): which of the batch's paragraphs each sentence is from: 0, 1 and so on
    hidden: Tensor | None  # (n_sentences, longest): places whose words are to be guessed; None if no words are
    number: int  # its place in the epoch, from 0
    epoch: int = 0  # of the training, from 0
    progress: float = 1.0  # share of the training that is done; 1 where nothing decays

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> ParagraphBatch:
        """Move all tensors."""
        hidden = None if self.hidden is None else self.hidden.to(device, non_blocking=non_blocking)
        blocks = self.blocks.to(device, non_blocking=non_blocking)
        batch = self.batch.to(device, non_blocking=non_blocking)
        return self._replace(batch=batch, blocks=blocks, hidden=hidden)


class ParagraphBatches:
    """Go once through paragraphs in an order of the epoch's own, batch by batch."""

    def __init__(
        self,
        paragraphs: Paragraphs,
        weights: NDArray[np.float32],
        projections: CachedProjections,
        *,
        batch_size: int,
        seed: int,
        epoch: int,
        first: int = 0,
        hidden_share: float = 0.0,
        n_jobs: int | None = 1,
    ) -> None:
        self.paragraphs = paragraphs
        self.weights = weights
        self.projections = projections
        self.seed = seed
        self.epoch = epoch
        self.first = first
        self.hidden_share = hidden_share
        self.n_jobs = n_jobs
        self.waited = self.total = 0.0
        generator = np.random.default_rng((seed, epoch))
        self._order, self._ends = _pack(paragraphs, batch_size, generator)
        self._batches = generator.permutation(len(self._ends) - 1)

    def __len__(self) -> int:
        return max(len(self._batches) - self.first, 0)

    def __iter__(self) -> Iterator[ParagraphBatch]:
        begin, before = perf_counter(), self.total
        numbers = range(self.first, len(self._batches))
        batches = map_in_background(self.make, numbers, effective_n_jobs(self.n_jobs))
        try:
            with closing(batches):
                for _ in numbers:
                    asked = perf_counter()
                    made = next(batches)
                    self.waited += perf_counter() - asked
                    yield made
                    del made  # it may be freed while the next one is waited for
                    self.total = before + perf_counter() - begin
        finally:
            self.total = before + perf_counter() - begin

    def make(self, number: int) -> ParagraphBatch:
        """Make one batch."""
        place = self._batches[number]
        chosen = self._order[self._ends[place] : self._ends[place + 1]]
        sentences = np.diff(self.paragraphs.offsets)[chosen]
        blocks = np.repeat(np.arange(len(chosen)), sentences)
        batch = make_word_batch(
            take_rows(self.paragraphs.sentences, _spans(self.paragraphs.offsets[chosen], sentences)),
            self.weights,
            self.projections,
        )
        hidden = None
        if self.hidden_share > 0:
            # To a generator, numbers that end with zero are what they are without it: the order's own would come twice.
            generator = np.random.default_rng((self.seed, self.epoch, number + 1))
            drawn = torch.from_numpy(generator.random(batch.words.shape, dtype=np.float32))
            hidden = (drawn < self.hidden_share) & (batch.words >= 0)
        return ParagraphBatch(batch, torch.from_numpy(blocks), hidden, number)


def _pack(
    paragraphs: Paragraphs, batch_size: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the paragraphs, and where in it each batch begins, and the last one ends."""
    order = generator.permutation(len(paragraphs))
    sentences = np.diff(paragraphs.offsets)
    window = (np.cumsum(sentences[order]) - sentences[order]) // (_WINDOW * batch_size)
    longest = np.maximum.reduceat(np.diff(paragraphs.sentences.offsets), paragraphs.offsets[:-1])[order]
    # Up and down in turn: a batch with paragraphs of two windows has the longest of both or the shortest of both.
    order = order[np.lexsort((np.where(window % 2, -longest, longest), window))]
    ends = np.concatenate(([0], np.cumsum(sentences[order])))
    cuts = [0]
    while cuts[-1] < len(order):
        fitting = int(np.searchsorted(ends, ends[cuts[-1]] + batch_size, side="right")) - 1
        cuts.append(max(fitting, cuts[-1] + 1))
    if len(cuts) > 2 and ends[cuts[-2]] - ends[cuts[-3]] > ends[cuts[-1]] - ends[cuts[-2]]:
        cuts[-2] = int(np.searchsorted(ends, (ends[cuts[-3]] + ends[cuts[-1]]) / 2))
    return order, np.array(cuts)


def take_rows(rows: Ragged, chosen: NDArray[np.int64]) -> Ragged:
    lengths = rows.offsets[chosen + 1] - rows.offsets[chosen]
    return Ragged(rows.values[_spans(rows.offsets[chosen], lengths)], np.concatenate(([0], np.cumsum(lengths))))


def _spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of spans, one after the other: starts[0], starts[0] + 1 and so on."""
    places: NDArray[np.int64] = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    places += np.arange(len(places))
    return places
