"""What the network of a sentence encoder is made of."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._sgnn_transformer import SGNNTransformer
from sklearn_hashnlp.nn._word_batch import WordBatch, WordPooling


class MaskedWordHead(nn.Module):
    """Guess hidden words from what an encoder made of their places, among the different words of the batch.

    A linear layer makes of the encoder's vector of a hidden place a guess at the word's own vector. The probability of
    a word is the softmax, over the batch's different words, of the cosine between guess and vector divided by the
    temperature. As there is no list of words, the batch is all there is to choose from.

    Parameters
    ----------
    width : int
        Columns of the encoder's vectors and of the words' vectors.
    temperature : float, default=0.05
        Positive.

    Attributes
    ----------
    linear : torch.nn.Linear
        From an encoder's vector to a guess.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    References
    ----------
    .. [1] Devlin, Chang, Lee & Toutanova (2019). BERT: pre-training of deep bidirectional transformers for language
           understanding. NAACL, arXiv:1810.04805, section 3.1, "masked LM".

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import MaskedWordHead, SGNNTransformer, WordBatch
    >>> network = SGNNTransformer(n_features=40, width=16, n_layers=2, n_heads=2, feedforward_size=32)
    >>> head = MaskedWordHead(16)
    >>> words = torch.tensor([[0, 1, 2], [2, 0, -1]])
    >>> hidden = torch.tensor([[False, True, False], [True, False, False]])
    >>> batch = WordBatch(torch.randn(3, 40), words, (words >= 0).float())
    >>> encoded = network.encode_words(batch, hidden=hidden)
    >>> head(encoded, network.word_vectors(batch.projections), words, hidden).shape
    torch.Size([])
    """

    def __init__(self, width: int, temperature: float = 0.05) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"MaskedWordHead: width must be 1 or more, got {width}.")
        if not temperature > 0:
            raise ValueError(f"MaskedWordHead: temperature must be positive, got {temperature}.")
        self.temperature = temperature
        self.linear = nn.Linear(width, width)

    def forward(self, encoded: Tensor, vectors: Tensor, words: Tensor, hidden: Tensor) -> Tensor:
        """Compute how badly hidden words are guessed.

        Parameters
        ----------
        encoded : Tensor of shape (n_sentences, longest, width)
            What :meth:`SGNNTransformer.encode_words` made of the sentences without their hidden words.
        vectors : Tensor of shape (n_different, width)
            What :meth:`SGNNTransformer.word_vectors` made of the batch's different words.
        words : Tensor of shape (n_sentences, longest), dtype int64
            Each word's row in ``vectors``; -1 is padding.
        hidden : Tensor of shape (n_sentences, longest), dtype bool
            Which places were hidden; padding among them does not count.

        Returns
        -------
        Tensor of shape ()
            The mean negative log-probability of the hidden words; zero if there are none.
        """
        hidden = hidden & (words >= 0)
        hidden_words = words[hidden]
        guesses = functional.normalize(self.linear(encoded[hidden]).float(), dim=1)
        candidates = functional.normalize(vectors.float(), dim=1)
        scores = functional.linear(guesses, candidates).float() / self.temperature
        total = functional.cross_entropy(scores, hidden_words, reduction="sum")
        return total / max(len(hidden_words), 1)

    def extra_repr(self) -> str:
        """Describe the head in ``repr``.

        Returns
        -------
        str
            Its temperature.
        """
        return f"temperature={self.temperature}"


_NOTHING = 1e-5  # length, beside that of one, up to which a vector may be rounding


class SentenceNetwork(nn.Module):
    """Make unit vectors of sentences of two parts: what the words look like, and what a Transformer makes of them.

    With p_i the projections of a sentence's words and w_i their weights, the first part is s = S sum_i w_i p_i, scaled
    to length one, where S is semi-orthogonal: the cosine of two such parts is about that of weighted counts of
    character n-grams. The second is the unit vector of an :class:`SGNNTransformer`. A sentence's vector is

        (sqrt(1 - c) s', sqrt(c) t)

    so that the cosine of two sentences is 1 - c parts spelling and c parts use. s' is s without its components along
    ``common``, some directions that all sentences share [1]_, and scaled to length one again.

    Parameters
    ----------
    transformer : SGNNTransformer
        Makes the second part.
    spelling_width : int
        Columns of the first part.
    context_share : float
        c, from 0 to 1. With 1 there is no first part, with 0 no second.

    Attributes
    ----------
    transformer : SGNNTransformer or None
        None with a ``context_share`` of 0.
    spelling : torch.nn.Linear or None
        S, of shape (spelling_width, n_features); it is not trained. None with a ``context_share`` of 1.
    common : Tensor of shape (n_common, spelling_width)
        Orthonormal rows; none at the start.
    dim : int
        Columns of a sentence's vector.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    References
    ----------
    .. [1] Mu & Viswanath (2018). All-but-the-top: simple and effective postprocessing for word representations. ICLR,
           arXiv:1702.01417; of sentences: Arora, Liang & Ma (2017). A simple but tough-to-beat baseline for sentence
           embeddings. ICLR.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import SentenceNetwork, SGNNTransformer, WordBatch
    >>> network = SentenceNetwork(SGNNTransformer(40, 16, 1, 2, 32), spelling_width=8, context_share=0.2)
    >>> words = torch.tensor([[0, 1, 2], [2, -1, -1]])
    >>> network(WordBatch(torch.randn(3, 40), words, (words >= 0).float())).shape
    torch.Size([2, 24])
    """

    common: Tensor

    def __init__(self, transformer: SGNNTransformer, spelling_width: int, context_share: float) -> None:
        super().__init__()
        if not 0 <= context_share <= 1:
            raise ValueError(f"SentenceNetwork: context_share must be between 0 and 1, got {context_share}.")
        if context_share < 1 and spelling_width < 1:
            raise ValueError(f"SentenceNetwork: spelling_width must be 1 or more, got {spelling_width}.")
        self.context_share = context_share
        self.transformer = transformer if context_share > 0 else None
        self.spelling: nn.Linear | None = None
        if context_share < 1:
            self.spelling = nn.Linear(transformer.n_features, spelling_width, bias=False).requires_grad_(False)
            nn.init.orthogonal_(self.spelling.weight)
        n_spelling = spelling_width if context_share < 1 else 0
        self.register_buffer("common", torch.zeros(0, n_spelling))
        self.dim = n_spelling + (transformer.dim if context_share > 0 else 0)
        self.pooling = WordPooling(n_spelling, "weighted")

    def forward(self, batch: WordBatch) -> Tensor:
        """Make the vectors of sentences.

        Parameters
        ----------
        batch : WordBatch
            The sentences.

        Returns
        -------
        Tensor of shape (n_sentences, dim), dtype float32
            Unit rows; zero for a sentence without words.

        Raises
        ------
        ValueError
            If the batch is not as :class:`SGNNTransformer` wants it.
        """
        parts = []
        if self.spelling is not None:
            parts.append(self.remove_common(self.spell(batch)) * math.sqrt(1 - self.context_share))
        if self.transformer is not None:
            parts.append(self.transformer(batch) * math.sqrt(self.context_share))
        # A part may be zero where the other is not: projections of all zeros, or nothing but common directions.
        return functional.normalize(torch.cat(parts, dim=1), dim=1)

    def spell(self, batch: WordBatch) -> Tensor:
        """Make the first parts with all that they have in common.

        Parameters
        ----------
        batch : WordBatch
            The sentences.

        Returns
        -------
        Tensor of shape (n_sentences, spelling_width)
            s, unit rows; zero for a sentence without words.

        Raises
        ------
        RuntimeError
            If there is no first part.
        """
        if self.spelling is None:
            raise RuntimeError("SentenceNetwork.spell: with context_share=1 there is no such part.")
        projections = batch.projections
        if projections.dtype == torch.uint8:
            projections = 2 * projections.to(self.spelling.weight.dtype) - 1
        vectors = functional.pad(self.spelling(projections.to(self.spelling.weight.dtype)), (0, 0, 0, 1))
        there = batch.words >= 0
        words = functional.embedding(batch.words.masked_fill(~there, len(projections)), vectors)
        pooled: Tensor = self.pooling(words, there, batch.weights)
        return pooled

    def remove_common(self, spelled: Tensor) -> Tensor:
        """Take off what sentences share.

        Parameters
        ----------
        spelled : Tensor of shape (n_sentences, spelling_width)
            s.

        Returns
        -------
        Tensor of that shape
            s', unit rows or zero.
        """
        if not len(self.common):
            return spelled
        rest = spelled - spelled @ self.common.T @ self.common
        # What rounding leaves of nothing is nothing, and has no direction.
        kept: Tensor = functional.normalize(rest, dim=1) * (
            torch.linalg.vector_norm(rest, dim=1, keepdim=True) > _NOTHING
        )
        return kept

    def extra_repr(self) -> str:
        """Describe the module in ``repr``.

        Returns
        -------
        str
            What its parts do not say.
        """
        return f"context_share={self.context_share}, n_common={len(self.common)}, dim={self.dim}"


class SentenceModule(nn.Module):
    """A network, and what only its training needs."""

    def __init__(self, network: SentenceNetwork, *, masked_words: bool) -> None:
        super().__init__()
        self.network = network
        self.masked_head: MaskedWordHead | None = None
        if masked_words and network.transformer is not None:
            self.masked_head = MaskedWordHead(network.transformer.width)

    def forward(self, batch: WordBatch) -> Tensor:
        """Make the vectors of sentences."""
        vectors: Tensor = self.network(batch)
        return vectors


def make_sentence_module(architecture: dict[str, Any]) -> SentenceModule:
    """Make the network with fresh weights."""
    network = SentenceNetwork(
        SGNNTransformer(**architecture["transformer"]), architecture["spelling_width"], architecture["context_share"]
    )
    if network.transformer is not None and network.transformer.tables is not None:
        # They are learned from counts of words, before sentences are learned from.
        network.transformer.tables.requires_grad_(False)
    return SentenceModule(network, masked_words=architecture["masked_words"])


def sentence_architecture(estimator: Any) -> dict[str, Any]:
    """Say what a network is made of."""
    share, masked = float(estimator.context_share), estimator.masked_weight
    return {
        "transformer": {
            "n_features": int(estimator.n_projections) * int(estimator.n_bits),
            "width": int(estimator.width),
            "n_layers": int(estimator.n_layers),
            "n_heads": int(estimator.n_heads),
            "feedforward_size": int(estimator.feedforward_size),
            "pooling": estimator.pooling,
            "pooling_width": None if estimator.pooling_width is None else int(estimator.pooling_width),
            "depths": int(estimator.depths),
            "positions": bool(estimator.positions),
            "n_tables": int(estimator.n_tables),
            "table_bits": int(estimator.table_bits),
            "dropout": float(estimator.dropout),
            "start": estimator.start,
        },
        "spelling_width": int(estimator.spelling_width),
        "context_share": share,
        "masked_words": bool(share > 0 and (any(masked) if isinstance(masked, tuple | list) else masked)),
    }
