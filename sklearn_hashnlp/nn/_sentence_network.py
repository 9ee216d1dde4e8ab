"""The network of a sentence encoder, and the masked-word head of its training."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, integer, number
from sklearn_hashnlp.nn._sgnn_transformer import SGNNTransformer, WordBatch, WordVectors, pool_rows

ContextWeight = float | Literal["auto"]

_ZERO_LENGTH = 1e-5  # what is left of a unit vector by rounding has at most this length
# a text of so many words has parts of equal weight with context_weight="auto"
_EQUAL_PARTS_WORDS = 50
# half of the common component of the second part is removed from a text of so many words
_HALF_REMOVED_WORDS = 35


class SentenceNetwork(nn.Module):
    """Embed sentences as unit vectors of two parts: words' spelling and a Transformer's vector."""

    # With p_i the projections of the words of a sentence and w_i their weights, the first part s is
    # S sum_i w_i p_i, normalized, where S is semi-orthogonal: the cosine similarity of two such
    # parts is about that of weighted n-gram counts. The second part t is the vector of the
    # transformer. A sentence is (sqrt(1 - c) s', sqrt(c) t'): its cosine similarities are weighted
    # means of the parts' similarities; c is ``context_weight``. s' is s without the common
    # components of all sentences (Mu & Viswanath 2018, Arora, Liang & Ma 2017); t' is t without a
    # share of its own, which grows with the number of words.

    transformer: SGNNTransformer | None  # None with context_weight=0
    # S, (projection_dim, n_features), not trained; None with context_weight=1
    spelling: nn.Linear | None
    # (n_components_removed, projection_dim): orthonormal directions that are removed from s
    common: Tensor
    # (0 or 1, transformer.dim): a unit vector, a part of which is removed from t
    context_common: Tensor
    dim: int  # columns of the vector of a sentence

    def __init__(
        self,
        transformer: SGNNTransformer,
        projection_dim: int,
        context_weight: ContextWeight,
    ) -> None:
        super().__init__()
        if context_weight != "auto" and not 0 <= context_weight <= 1:
            raise ValueError(
                "SentenceNetwork: context_weight must be between 0 and 1, or 'auto', got "
                f"{context_weight}."
            )
        if context_weight != 1:
            check_parameters("SentenceNetwork", {"projection_dim": integer()}, locals())
        self.context_weight = context_weight
        self.transformer = transformer if context_weight != 0 else None
        self.spelling = None
        if context_weight != 1:
            self.spelling = nn.Linear(
                transformer.n_features, projection_dim, bias=False
            ).requires_grad_(False)
            nn.init.orthogonal_(self.spelling.weight)
        n_columns = projection_dim if context_weight != 1 else 0
        n_context = transformer.dim if context_weight != 0 else 0
        self.register_buffer("common", torch.zeros(0, n_columns))
        self.register_buffer("context_common", torch.zeros(0, n_context))
        self.dim = n_columns + n_context

    def forward(self, batch: WordBatch, context_weight: ContextWeight | None = None) -> Tensor:
        """Embed sentences as :meth:`SGNNTransformer.forward`; ``context_weight`` is an override."""
        return self.embed_sentences(
            self.embed_words(batch.projections), batch.words, batch.weights, context_weight
        )

    def embed_words(self, projections: Tensor) -> WordVectors:
        """Return the word vectors of both parts from projections or bits (n_words, n_features)."""
        context = None if self.transformer is None else self.transformer.word_vectors(projections)
        return WordVectors(
            None if self.spelling is None else _spell_words(self.spelling, projections), context
        )

    def embed_sentences(
        self,
        vectors: WordVectors,
        words: Tensor,
        weights: Tensor,
        context_weight: ContextWeight | None = None,
    ) -> Tensor:
        """Embed sentences, as :meth:`forward`, from word vectors of :meth:`embed_words`."""
        weight = self.context_weight if context_weight is None else context_weight
        n_words = (words >= 0).sum(dim=1, keepdim=True)
        many = n_words / (n_words + _EQUAL_PARTS_WORDS)  # towards one with more words
        first: Tensor | float
        second: Tensor | float
        if weight == "auto":
            first, second = (1 - many).sqrt(), many.sqrt()
        else:
            first, second = math.sqrt(1 - weight), math.sqrt(weight)
        parts = []
        if vectors.spelling is not None:
            parts.append(self.remove_common(pool_rows(vectors.spelling, words, weights)) * first)
        if self.transformer is not None and vectors.context is not None:
            used = self.transformer.embed_sentences(vectors.context, words, weights)
            if len(self.context_common):
                share = n_words**2 / (n_words**2 + _HALF_REMOVED_WORDS**2)
                removed = (share * used) @ self.context_common.T @ self.context_common
                used = functional.normalize(used - removed, dim=1)
            parts.append(used * second)
        # One part alone may be zero: projections of zeros, or common components only.
        return functional.normalize(torch.cat(parts, dim=1), dim=1)

    def spell(self, batch: WordBatch) -> Tensor:
        """Return s, the spelling of each sentence's words, (n_sentences, projection_dim)."""
        if self.spelling is None:
            raise RuntimeError(
                "SentenceNetwork.spell: with context_weight=1 the network has no spelling part."
            )
        return pool_rows(_spell_words(self.spelling, batch.projections), batch.words, batch.weights)

    def remove_common(self, spelled: Tensor) -> Tensor:
        """Return s' for s of :meth:`spell`: unit vectors without common components, or zeros."""
        if not len(self.common):
            return spelled
        common = self.common.to(spelled.dtype)  # of half precision only the modules are
        rest = spelled - spelled @ common.T @ common
        # A rest of rounding errors counts as zero: its direction is random.
        result: Tensor = functional.normalize(rest, dim=1) * (
            torch.linalg.vector_norm(rest, dim=1, keepdim=True) > _ZERO_LENGTH
        )
        return result

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return (
            f"context_weight={self.context_weight}, n_components_removed={len(self.common)}, "
            f"dim={self.dim}"
        )


def _spell_words(spelling: nn.Linear, projections: Tensor) -> Tensor:
    dtype = spelling.weight.dtype
    if projections.dtype == torch.uint8:
        projections = 2 * projections.to(dtype) - 1
    vectors: Tensor = spelling(projections.to(dtype))
    return vectors


class MaskedWordHead(nn.Module):
    """Masked language modeling without a vocabulary, over the distinct words of the batch."""

    # Devlin, Chang, Lee & Toutanova (2019), section 3.1. A linear layer predicts the vector of a
    # hidden word from its contextual vector; probabilities are the softmax of the cosine
    # similarities, divided by the temperature.

    def __init__(self, embedding_dim: int, temperature: float = 0.05) -> None:
        super().__init__()
        constraints = {"embedding_dim": integer(), "temperature": number(above=True)}
        check_parameters("MaskedWordHead", constraints, locals())
        self.temperature = temperature
        self.linear = nn.Linear(embedding_dim, embedding_dim)

    def forward(
        self,
        # (n_sentences, longest, embedding_dim): contextual vectors, computed with the same mask
        encoded: Tensor,
        vectors: Tensor,  # (n_distinct, embedding_dim): of the distinct words of the batch
        words: Tensor,  # (n_sentences, longest): index of each word in the vectors; -1 is padding
        # (n_sentences, longest): mask of the hidden words; padding in it is ignored
        hidden: Tensor,
    ) -> Tensor:  # ()
        """Compute the mean negative log-likelihood of the hidden words; zero if there are none."""
        hidden = hidden & (words >= 0)
        hidden_words = words[hidden]
        predictions = functional.normalize(self.linear(encoded[hidden]).float(), dim=1)
        candidates = functional.normalize(vectors.float(), dim=1)
        scores = functional.linear(predictions, candidates).float() / self.temperature
        total = functional.cross_entropy(scores, hidden_words, reduction="sum")
        return total / max(len(hidden_words), 1)

    def extra_repr(self) -> str:
        """Describe the head in ``repr``."""
        return f"temperature={self.temperature}"


class SentenceModule(nn.Module):
    """A network, and the head that only its training needs."""

    def __init__(self, network: SentenceNetwork, *, masked_words: bool) -> None:
        super().__init__()
        self.network = network
        self.masked_head: MaskedWordHead | None = None
        if masked_words and network.transformer is not None:
            self.masked_head = MaskedWordHead(network.transformer.embedding_dim)

    def forward(self, batch: WordBatch, context_weight: ContextWeight | None = None) -> Tensor:
        """Embed sentences."""
        vectors: Tensor = self.network(batch, context_weight)
        return vectors


def make_sentence_module(architecture: dict[str, Any]) -> SentenceModule:
    """Build the network with initial weights."""
    transformer = SGNNTransformer(**architecture["transformer"])
    network = SentenceNetwork(
        transformer, architecture["projection_dim"], architecture["context_weight"]
    )
    if network.transformer is not None and network.transformer.tables is not None:
        # Word pretraining learns them, before the training on sentences.
        network.transformer.tables.requires_grad_(False)
    return SentenceModule(network, masked_words=architecture["masked_words"])
