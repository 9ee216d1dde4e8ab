"""What a sentence encoder learns by: losses of several heads that fade one into another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import BlockLoss, word_blocks
from sklearn_hashnlp.nn._sentence_network import SentenceModule
from sklearn_hashnlp.sentences._batches import ParagraphBatch

LOSSES: Final[tuple[str, ...]] = ("bxent", "infonce", "proximity", "vmf")
"""Their names as a parameter."""

_WORDS_OF_HEAD = 512  # a batch has thousands, and the loss compares each with each


@dataclass(frozen=True)
class Fade:
    """A weight that changes linearly over a training."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Return the weight."""
        return self.start + (self.end - self.start) * progress


@dataclass(frozen=True)
class SentenceObjective:
    """A weighted sum of losses."""

    loss: str  # what draws sentences of a paragraph together, and words of a sentence
    temperature: float  # of "infonce"
    sentence: Fade
    word: Fade
    masked: Fade
    seed: int  # of the choice of words

    def measure(self, module: SentenceModule, batch: ParagraphBatch, *, epoch: int, progress: float) -> Tensor:
        """Compute the loss of a batch."""
        criterion, parts = self._criterion(), []
        transformer = module.network.transformer
        if transformer is not None and (weight := self.sentence.at(progress)):
            # The part that does not learn would hide from this one what it is to learn.
            parts.append(weight * criterion(transformer(batch.batch), batch.blocks))
        if transformer is not None and (weight := self.word.at(progress)):
            words, blocks = self._some_words(batch, epoch)
            if len(words):
                vectors = functional.normalize(transformer.word_vectors(batch.batch.projections[words]), dim=1)
                parts.append(weight * criterion(vectors, blocks))
        if transformer is not None and module.masked_head is not None and (weight := self.masked.at(progress)):
            encoded = transformer.encode_words(batch.batch, hidden=batch.hidden)
            own = transformer.word_vectors(batch.batch.projections)
            parts.append(weight * module.masked_head(encoded, own, batch.batch.words, batch.hidden))
        if not parts:  # a weight may pass through zero
            parts = [parameter.sum() * 0.0 for parameter in module.parameters() if parameter.requires_grad]
        return torch.stack(parts).sum() if parts else torch.zeros(())

    def _criterion(self) -> BlockLoss:
        if self.loss == "infonce":
            return InfoNCELoss(self.temperature)
        others: dict[str, type[BlockLoss]] = {
            "bxent": SimilarityBXENT,
            "proximity": CosineProximityLoss,
            "vmf": VonMisesFisherLoss,
        }
        return others[self.loss]()

    def _some_words(self, batch: ParagraphBatch, epoch: int) -> tuple[Tensor, Tensor]:
        """Choose words, each in one of its sentences: a word that is in two would be told to be unlike itself."""
        words, blocks = (part.cpu().numpy() for part in word_blocks(batch.batch.words))
        order = np.random.default_rng((self.seed, epoch, batch.number)).permutation(len(words))
        _, first = np.unique(words[order], return_index=True)
        chosen = order[np.sort(first)[:_WORDS_OF_HEAD]]
        device = batch.batch.words.device
        return torch.from_numpy(words[chosen]).to(device), torch.from_numpy(blocks[chosen]).to(device)


def both_ends(weight: Any) -> tuple[Any, ...]:
    """Read a head's weight: a number is the weight at both ends of a training."""
    return tuple(weight) if isinstance(weight, tuple | list) else (weight, weight)


def sentence_objective(estimator: Any, seed: int) -> SentenceObjective:
    """Say what ``fit`` learns by."""
    weights = (estimator.sentence_weight, estimator.word_weight, estimator.masked_weight)
    sentence, word, masked = (Fade(*map(float, both_ends(weight))) for weight in weights)
    return SentenceObjective(estimator.loss, float(estimator.temperature), sentence, word, masked, seed)
