"""The training objective of a sentence encoder: a weighted sum of the losses of three heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sklearn_hashnlp.nn import CosineProximityLoss, InfoNCELoss, SimilarityBXENT, VonMisesFisherLoss
from sklearn_hashnlp.nn._sentence_losses import BlockLoss, word_blocks
from sklearn_hashnlp.nn._sentence_network import SentenceModule
from sklearn_hashnlp.sentences._batches import ParagraphBatch
from sklearn_hashnlp.sentences._bundles import Objectives, first_and_last

_MAX_WORDS = 512  # of the word loss; a batch has thousands, and the loss compares all pairs


@dataclass(frozen=True)
class SentenceObjective:
    """A weighted sum of losses."""

    loss: str  # over the sentences of a paragraph, and over the words of a sentence
    temperature: float  # of "infonce"
    sentence: LinearSchedule
    word: LinearSchedule
    masked: LinearSchedule
    seed: int  # of the sample of words

    def compute(self, module: SentenceModule, batch: ParagraphBatch, *, epoch: int, progress: float) -> Tensor:
        """Compute the loss of a batch; ``progress`` is the share of the training that is done."""
        criterion, terms = self._criterion(), []
        transformer = module.network.transformer
        if transformer is not None and (weight := self.sentence.at(progress)):
            # Of the trained part of the vectors alone: the spelling part would dominate the similarities.
            terms.append(weight * criterion(transformer(batch.batch), batch.blocks))
        if transformer is not None and (weight := self.word.at(progress)):
            words, blocks = self._sample_words(batch, epoch)
            if len(words):
                vectors = functional.normalize(transformer.word_vectors(batch.batch.projections[words]), dim=1)
                terms.append(weight * criterion(vectors, blocks))
        if transformer is not None and module.masked_head is not None and (weight := self.masked.at(progress)):
            encoded = transformer.encode_words(batch.batch, hidden=batch.hidden)
            word_vectors = transformer.word_vectors(batch.batch.projections)
            terms.append(weight * module.masked_head(encoded, word_vectors, batch.batch.words, batch.hidden))
        if not terms:  # all weights are zero at this step
            terms = [parameter.sum() * 0.0 for parameter in module.parameters() if parameter.requires_grad]
        return torch.stack(terms).sum() if terms else torch.zeros(())

    def _criterion(self) -> BlockLoss:
        if self.loss == "infonce":
            return InfoNCELoss(self.temperature)
        others: dict[str, type[BlockLoss]] = {
            "bxent": SimilarityBXENT,
            "proximity": CosineProximityLoss,
            "vmf": VonMisesFisherLoss,
        }
        return others[self.loss]()

    def _sample_words(self, batch: ParagraphBatch, epoch: int) -> tuple[Tensor, Tensor]:
        """Sample distinct words, each in one of its sentences: in two, it would be a negative of itself."""
        words, blocks = (part.cpu().numpy() for part in word_blocks(batch.batch.words))
        order = np.random.default_rng((self.seed, epoch, batch.number)).permutation(len(words))
        _, first = np.unique(words[order], return_index=True)
        sample = order[np.sort(first)[:_MAX_WORDS]]
        device = batch.batch.words.device
        return torch.from_numpy(words[sample]).to(device), torch.from_numpy(blocks[sample]).to(device)


@dataclass(frozen=True)
class LinearSchedule:
    """A weight that changes linearly during training."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Return the weight when that share of the training is done."""
        return self.start + (self.end - self.start) * progress


def sentence_objective(objectives: Objectives, seed: int) -> SentenceObjective:
    """Build the objective from the parameter of an estimator."""
    weights = (objectives.sentence_weight, objectives.word_weight, objectives.masked_weight)
    sentence, word, masked = (LinearSchedule(*map(float, first_and_last(weight))) for weight in weights)
    return SentenceObjective(objectives.loss, float(objectives.temperature), sentence, word, masked, seed)
