"""The batches of an epoch: whole paragraphs, prefetched in other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.dataset import Dataset
from torch import Tensor

from sklearn_hashnlp._threads import effective_n_jobs, map_in_background
from sklearn_hashnlp.kernels._ragged import Ragged, of_lengths
from sklearn_hashnlp.nn import WordBatch
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections, Paragraphs, SentenceReader
from sklearn_hashnlp.trees._arrays import ranges

_WINDOW = 64  # batches: paragraphs of similar length are grouped within them


class TrainingText(NamedTuple):
    """Paragraphs, with the weights and the projections of their words."""

    paragraphs: Paragraphs
    weights: NDArray[np.float32]  # (n_words,): in a sentence
    projections: CachedProjections

    @classmethod
    def of(cls, paragraphs: Paragraphs, reader: SentenceReader) -> TrainingText:
        """Weigh and project the words of paragraphs."""
        words, counts = (
            paragraphs.words,
            np.bincount(paragraphs.sentences.values, minlength=len(paragraphs.words)),
        )
        projections = CachedProjections(words, counts, reader.featurizer, reader.projector)
        return cls(paragraphs, reader.frequencies.weights(words), projections)

    def batch(self, rows: NDArray[np.int64]) -> WordBatch:
        """Make a batch of some sentences, with the projection of each of their words once."""
        sentences = take_rows(self.paragraphs.sentences, rows)
        distinct, index = np.unique(sentences.values, return_inverse=True)
        words, word_weights = pad_sentences(
            Ragged(index, sentences.offsets), self.weights[distinct]
        )
        return WordBatch(torch.from_numpy(self.projections.rows(distinct)), words, word_weights)


class ParagraphBatch(NamedTuple):
    """The sentences of some whole paragraphs."""

    batch: WordBatch  # the sentences, paragraph after paragraph
    blocks: Tensor  # (n_sentences,): index, within the batch, of the paragraph of each sentence
    # (n_sentences, longest): mask of the words to predict; None if none are hidden
    hidden: Tensor | None
    number: int  # of the batch in its epoch, from 0
    epoch: int = 0  # of the training, from 0
    progress: float = 1.0  # share of the training that is done; 1 where nothing decays

    def to(self, device: torch.device | str) -> ParagraphBatch:
        """Move all tensors to a device."""
        hidden = None if self.hidden is None else self.hidden.to(device)
        return self._replace(
            batch=self.batch.to(device), blocks=self.blocks.to(device), hidden=hidden
        )


# A batch depends on the paragraphs, batch_size, seed and epoch alone: not on n_jobs, first or the
# cache.
@dataclass(eq=False)
class ParagraphBatches(Dataset):  # type: ignore[misc]  # skorch has no types
    """Iterate over the batches of an epoch, in a random order; each time over the next epoch."""

    text: TrainingText
    _: KW_ONLY
    batch_size: int  # sentences, at most; a single paragraph may have more
    seed: int  # of the order and the hidden words
    epoch: int = 0
    first: int = 0  # first batch of the epoch to make; earlier ones are skipped at no cost
    n_epochs: int | None = None  # of the training; None if nothing decays
    mask_probability: float = 0.0  # of a word to be hidden
    n_jobs: int | None = 1  # threads that prepare batches; at most twice as many batches wait
    waited: float = field(default=0.0, init=False)  # seconds, for batches
    total: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._plan()

    def _plan(self) -> None:
        """Draw the order of an epoch."""
        generator = np.random.default_rng((self.seed, self.epoch))
        self._order, self._boundaries = _pack_batches(
            self.text.paragraphs, self.batch_size, generator
        )
        self._batches = generator.permutation(len(self._boundaries) - 1)
        self._planned = self.epoch

    def __len__(self) -> int:
        return self.text.paragraphs.n_sentences

    @property
    def n_batches(self) -> int:
        """Number of batches of the epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[ParagraphBatch]:
        if self._planned != self.epoch:
            self._plan()
        numbers = range(self.first, self.n_batches)
        started = perf_counter()
        batches = map_in_background(self.make, numbers, effective_n_jobs(self.n_jobs))
        try:
            with closing(batches):
                for _ in numbers:
                    requested = perf_counter()
                    batch = next(batches)
                    self.waited += perf_counter() - requested
                    yield batch
                    del batch  # it may be freed while the next one is prepared
        finally:
            self.total += perf_counter() - started
        self.epoch, self.first = self.epoch + 1, 0

    def make(self, number: int) -> ParagraphBatch:
        """Make a batch by its number in the epoch."""
        index = self._batches[number]
        chosen = self._order[self._boundaries[index] : self._boundaries[index + 1]]
        offsets = self.text.paragraphs.offsets
        n_sentences = np.diff(offsets)[chosen]
        blocks = np.repeat(np.arange(len(chosen)), n_sentences)
        batch = self.text.batch(ranges(offsets[chosen], n_sentences))
        hidden = None
        if self.mask_probability > 0:
            # number + 1, since numpy ignores trailing zeros of a seed: batch 0 would draw the
            # numbers of the order.
            generator = np.random.default_rng((self.seed, self.epoch, number + 1))
            draws = torch.from_numpy(generator.random(batch.words.shape, dtype=np.float32))
            hidden = (draws < self.mask_probability) & (batch.words >= 0)
        progress = 1.0
        if self.n_epochs is not None:
            progress = min(1.0, (self.epoch + number / self.n_batches) / self.n_epochs)
        return ParagraphBatch(batch, torch.from_numpy(blocks), hidden, number, self.epoch, progress)


# Paragraphs of similar length share a batch, so that there is little padding: within each window of
# the random order they are sorted by their longest sentence, and packed whole into batches. Windows
# are sorted ascending and descending in turn, so that a batch of two windows holds the longest
# paragraphs of both, or the shortest of both.
def _pack_batches(
    paragraphs: Paragraphs, batch_size: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of the paragraphs, and the boundaries of batches in it."""
    order = generator.permutation(len(paragraphs))
    n_sentences = np.diff(paragraphs.offsets)
    window = (np.cumsum(n_sentences[order]) - n_sentences[order]) // (_WINDOW * batch_size)
    longest = np.maximum.reduceat(np.diff(paragraphs.sentences.offsets), paragraphs.offsets[:-1])[
        order
    ]
    order = order[np.lexsort((np.where(window % 2, -longest, longest), window))]
    ends = np.concatenate(([0], np.cumsum(n_sentences[order])))
    boundaries = [0]
    while boundaries[-1] < len(order):
        end = int(np.searchsorted(ends, ends[boundaries[-1]] + batch_size, side="right")) - 1
        boundaries.append(max(end, boundaries[-1] + 1))
    # A very small last batch would have few negatives: it shares paragraphs evenly with the one
    # before.
    sizes = np.diff(ends[boundaries])
    if len(sizes) > 1 and sizes[-2] > sizes[-1]:
        boundaries[-2] = int(
            np.searchsorted(ends, (ends[boundaries[-3]] + ends[boundaries[-1]]) / 2)
        )
    return order, np.array(boundaries)


def pad_sentences(
    sentences: Ragged,  # of word ids
    weights: NDArray[np.float32],  # (n_words,)
    # Both (n_sentences, longest): word ids, -1 is padding, and their weights
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences to one length; a repeated word has its weight once, in equal parts."""
    lengths = np.diff(sentences.offsets)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    words = np.full(mask.shape, -1, dtype=np.int64)
    words[mask] = sentences.values
    word_weights = np.zeros(mask.shape, dtype=np.float32)
    keys = np.repeat(np.arange(len(lengths)) * len(weights), lengths) + sentences.values
    # Occurrences of each word in its sentence
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    word_weights[mask] = weights[sentences.values] / counts.astype(np.float32)[inverse]
    return torch.from_numpy(words), torch.from_numpy(word_weights)


def take_rows(rows: Ragged, indices: NDArray[np.int64]) -> Ragged:
    """Return some of the rows."""
    lengths = rows.offsets[indices + 1] - rows.offsets[indices]
    return of_lengths(rows.values[ranges(rows.offsets[indices], lengths)], lengths)
