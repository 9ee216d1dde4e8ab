"""A Transformer sentence encoder over projections of words instead of a vocabulary; pooling."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, check_shape, integer, none_or, one_of
from sklearn_hashnlp.nn._word_embeddings import LSHEmbedding

Init: TypeAlias = Literal["random", "identity"]
Pooling: TypeAlias = Literal["max", "mean", "attention", "weighted"]

_CONSTRAINTS = {
    **dict.fromkeys(("n_features", "embedding_dim", "n_heads", "feedforward_size"), integer()),
    **dict.fromkeys(("n_layers", "n_tables"), integer(0)),
    "table_bits": integer(1, 31),
    "pooling": one_of(*get_args(Pooling)),
    "pooling_dim": none_or(integer()),
    "depths": integer(1, 2),
    "init": one_of(*get_args(Init)),
}


class WordBatch(NamedTuple):
    """A batch of sentences, with each distinct word once.

    Parameters
    ----------
    projections : Tensor of shape (n_distinct, n_features), dtype float32 or uint8
        A row for each distinct word of the batch: the projection of its characters, or its bits, 0
        and 1.
    words : Tensor of shape (n_sentences, longest), dtype int64
        The words of each sentence, as row indices of ``projections``; -1 is padding.
    weights : Tensor of shape (n_sentences, longest), dtype float32
        The weight of each word in the pooling; not negative, and 0 for padding.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import WordBatch
    >>> # a sentence of three words and one of one
    >>> words = torch.tensor([[0, 1, 0], [1, -1, -1]])
    >>> batch = WordBatch(torch.randn(2, 1120), words, (words >= 0).float())
    >>> batch.to("cpu").words.shape
    torch.Size([2, 3])
    """

    projections: Tensor
    words: Tensor
    weights: Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> WordBatch:
        """Move the batch to a device; ``non_blocking`` copies pinned tensors asynchronously."""
        return WordBatch(*(tensor.to(device, non_blocking=non_blocking) for tensor in self))


class WordVectors(NamedTuple):
    """Word vectors with which a ``SentenceNetwork`` embeds sentences; None for a missing part."""

    # (n_words, projection_dim): the reduced projections of the words' characters
    spelling: Tensor | None
    context: Tensor | None  # (n_words, width): the input of the Transformer


class SGNNTransformer(nn.Module):
    """Embed sentences as unit vectors by a Transformer encoder over projections of words.

    1. The projection p of a word is multiplied by a matrix, x = W p, once for each distinct word of
       the batch. Bits are read as signs, p = (2 b - 1) / sqrt(n_features). The vector from hashed
       tables may be added.
    2. The sinusoidal encoding of the position of the word [2]_, times a learned gain, is added.
    3. The layers of a Transformer encoder, with layer normalization before attention and
       feed-forward ("pre-norm"), read the words of a sentence.
    4. The vectors of the words are pooled into one, which is normalized to length one.

    There is no vocabulary: any string has a projection, and so a vector.

    Parameters
    ----------
    n_features : int, default=1120
        Columns of a projection.
    embedding_dim : int, default=512
        Columns of the vector of a word in all layers; a multiple of ``n_heads`` unless
        ``n_layers=0``.
    n_layers : int, default=6
        Number of encoder layers. With 0 the vectors of the words, and of their positions, are
        pooled directly.
    n_heads : int, default=8
        Number of attention heads.
    feedforward_size : int, default=2048
        Width of the hidden layer of the feed-forward network.
    pooling : {"max", "mean", "attention", "weighted"}, default="max"
        The maximum of each column; the mean; the mean weighted by the batch's weights times learned
        attention; the mean weighted by the batch's weights.
    pooling_dim : int, default=None
        Columns of a linear layer between the encoder and the pooling; the report suggests 2000.
        None: no such layer.
    depths : {1, 2}, default=1
        1 pools the output of the last layer; 2 pools the outputs of the middle and of the last
        layer, concatenated to ``2 * embedding_dim`` columns.
    positions : bool, default=True
        Whether the positions of words are encoded.
    key_bits : int or None, default=None
        Bits of a projection that each table reads, if more than ``table_bits``: they are hashed,
        so that words only share a row by chance, unless they agree in all of these bits.
    n_tables, table_bits : int, default=0, 13
        Number of tables of ``2 ** table_bits`` rows, and bits of a projection that select a row of
        one: the sum of a word's rows is added to W p. They separate words of similar spelling,
        which W alone cannot.
    dropout : float, default=0.0
        Dropout probability in the encoder layers.
    init : {"random", "identity"}, default="random"
        Initialization. ``"random"``: the usual one of Transformers. ``"identity"``: the layers add
        nothing and the gain of the positional encoding is zero, so that the vector of a sentence is
        the pooled x of its words, with cosine similarities near those of the projections. The
        output then has no layer normalization, which would change cosine similarities.

    Attributes
    ----------
    linear : torch.nn.Linear
        W, of shape (embedding_dim, n_features). It is initialized semi-orthogonal and scaled so
        that the elements of x are around one for a projection of length one, as layer normalization
        expects.
    tables : torch.nn.Module or None
        The hashed tables, initialized with zeros.
    position_gain : torch.nn.Parameter or None
        The gain of the positional encoding, a scalar.
    layers : torch.nn.ModuleList
        The :class:`torch.nn.TransformerEncoderLayer` modules.
    dim : int
        Columns of the vector of a sentence.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like
           SimilarityBXENT. Université Laval, IFT-7022, part 2; pooling dimension and depths from
           its conclusion.
    .. [2] Vaswani et al. (2017). Attention is all you need. NIPS, arXiv:1706.03762, sections 3.1
           and 3.5.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import SGNNTransformer, WordBatch
    >>> network = SGNNTransformer(
    ...     n_features=40,
    ...     embedding_dim=16,
    ...     n_layers=2,
    ...     n_heads=2,
    ...     feedforward_size=32,
    ... )
    >>> words = torch.tensor([[0, 1, 2], [2, -1, -1]])
    >>> batch = WordBatch(torch.randn(3, 40), words, (words >= 0).float())
    >>> network(batch).shape, network.encode_words(batch).shape
    (torch.Size([2, 16]), torch.Size([2, 3, 16]))
    """

    def __init__(
        self,
        n_features: int = 1120,
        embedding_dim: int = 512,
        n_layers: int = 6,
        n_heads: int = 8,
        feedforward_size: int = 2048,
        *,
        pooling: Pooling = "max",
        pooling_dim: int | None = None,
        depths: int = 1,
        positions: bool = True,
        n_tables: int = 0,
        table_bits: int = 13,
        key_bits: int | None = None,
        dropout: float = 0.0,
        init: Init = "random",
    ) -> None:
        super().__init__()
        check_parameters("SGNNTransformer", _CONSTRAINTS, locals())
        of_keys = {"key_bits": none_or(integer(table_bits, 62))}
        check_parameters("SGNNTransformer", of_keys, locals())
        if n_layers and embedding_dim % n_heads:
            raise ValueError(
                f"SGNNTransformer: embedding_dim must be a multiple of n_heads={n_heads}, got "
                f"{embedding_dim}."
            )
        if depths == 2 and n_layers < 2:
            raise ValueError(
                f"SGNNTransformer: depths=2 needs n_layers of 2 or more, got {n_layers}. Set "
                "depths=1."
            )
        self.n_features = n_features
        self.embedding_dim = embedding_dim
        self.depths = depths
        self.init = init
        self.linear = nn.Linear(n_features, embedding_dim, bias=False)
        self.tables = (
            LSHEmbedding(n_tables, table_bits, embedding_dim, key_bits) if n_tables else None
        )
        self.position_gain = nn.Parameter(torch.ones(())) if positions else None
        layers = [
            nn.TransformerEncoderLayer(
                embedding_dim, n_heads, feedforward_size, dropout, batch_first=True, norm_first=True
            )
            for _ in range(n_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(
            nn.LayerNorm(embedding_dim) if init == "random" else nn.Identity()
            for _ in range(depths)
        )
        self.dim = depths * embedding_dim if pooling_dim is None else pooling_dim
        self.widen = (
            nn.Identity()
            if pooling_dim is None
            else nn.Linear(depths * embedding_dim, pooling_dim, bias=False)
        )
        self.pooling = WordPooling(self.dim, pooling)
        self._initialize(layers)

    def forward(self, batch: WordBatch) -> Tensor:
        """Embed sentences as unit vectors, (n_sentences, dim); zero for a sentence without words.

        They are float32, also of half precision and under autocast, or float64 of float64.
        """
        return self.embed_sentences(
            self.word_vectors(batch.projections), batch.words, batch.weights
        )

    def embed_sentences(self, vectors: Tensor, words: Tensor, weights: Tensor) -> Tensor:
        """Embed sentences, as :meth:`forward`, from word vectors of :meth:`word_vectors`.

        Parameters
        ----------
        vectors : Tensor of shape (n_distinct, embedding_dim)
            The vectors of words.
        words : Tensor of shape (n_sentences, longest), dtype int64
            The words of each sentence, as indices of rows of ``vectors``; -1 is padding.
        weights : Tensor of shape (n_sentences, longest), dtype float32
            The weight of each word in the pooling; not negative, and 0 at padding.
        """
        _check_words(len(vectors), words, weights)
        encoded = self.widen(torch.cat(self._encode(vectors, words, None), dim=2))
        pooled: Tensor = self.pooling(encoded, words >= 0, weights)
        return pooled

    def word_vectors(self, projections: Tensor) -> Tensor:
        """Return x = W p of each word, plus its vector from the tables, (n_words, embedding_dim).

        Parameters
        ----------
        projections : Tensor of shape (n_words, n_features), dtype uint8 or floating
            Bits, or real-valued projections.
        """
        check_shape("SGNNTransformer", "projections", projections, "n_distinct", self.n_features)
        from_tables = None if self.tables is None else self.tables(projections)
        if projections.dtype == torch.uint8:
            signs = 2 * projections.to(self.linear.weight.dtype) - 1
            projections = signs / math.sqrt(self.n_features)
        vectors: Tensor = self.linear(projections.to(self.linear.weight.dtype))
        return vectors if from_tables is None else vectors + from_tables

    def encode_words(self, batch: WordBatch, *, hidden: Tensor | None = None) -> Tensor:
        """Compute contextual vectors of words: the output of the last layer, before pooling.

        Parameters
        ----------
        batch : WordBatch
            The sentences, with each distinct word once.
        hidden : Tensor of shape (n_sentences, longest), dtype bool, default=None
            Mask of the words that are hidden from the network, which reads zeros instead of x; see
            ``MaskedWordHead``.

        Returns
        -------
        Tensor of shape (n_sentences, longest, embedding_dim)
            The vectors; arbitrary at padding.
        """
        vectors = self.word_vectors(batch.projections)
        _check_words(len(vectors), batch.words, batch.weights)
        return self._encode(vectors, batch.words, hidden)[-1]

    def _encode(self, vectors: Tensor, words: Tensor, hidden: Tensor | None) -> list[Tensor]:
        """Return outputs to concatenate and pool, each (n_sentences, longest, embedding_dim)."""
        visible = words if hidden is None else words.masked_fill(hidden, -1)
        # The last row, of zeros, is for padding and hidden words.
        rows = visible.masked_fill(visible < 0, len(vectors))
        outputs = [functional.embedding(rows, functional.pad(vectors, (0, 0, 0, 1)))]
        if self.position_gain is not None:
            waves = sinusoids(words.shape[1], self.embedding_dim, device=words.device)
            outputs[0] = outputs[0] + self.position_gain * waves.to(self.position_gain.dtype)
        padding = words < 0
        # A sentence without words attends to its first position: attention to nothing is NaN.
        padding[:, :1] &= ~padding.all(dim=1, keepdim=True)
        for layer in self.layers if padding.numel() else ():
            outputs.append(layer(outputs[-1], src_key_padding_mask=padding))
        pooled = [outputs[len(outputs) // 2], outputs[-1]][-self.depths :]
        return [norm(output) for norm, output in zip(self.norms, pooled, strict=True)]

    @torch.no_grad()
    def _initialize(self, layers: list[nn.TransformerEncoderLayer]) -> None:
        # W is semi-orthogonal, scaled so that a projection of length one gives an x of mean length
        # sqrt(embedding_dim).
        nn.init.orthogonal_(
            self.linear.weight, gain=math.sqrt(max(self.n_features, self.embedding_dim))
        )
        if isinstance(self.widen, nn.Linear):
            nn.init.orthogonal_(self.widen.weight)
        if self.init == "identity":
            if self.position_gain is not None:
                self.position_gain.zero_()
            for layer in layers:
                for last in (layer.self_attn.out_proj, layer.linear2):
                    last.weight.zero_()
                    last.bias.zero_()

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return f"depths={self.depths}, init={self.init!r}, dim={self.dim}"


def _check_words(n_distinct: int, words: Tensor, weights: Tensor) -> None:
    check_shape("SGNNTransformer", "words", words, "n_sentences", "longest")
    check_shape("SGNNTransformer", "weights", weights, *words.shape, note=", the shape of words")
    if words.device.type == "cpu" and words.numel() and int(words.max()) >= n_distinct:
        raise ValueError(
            f"SGNNTransformer: words must be indices of the {n_distinct} projections, or -1 for "
            f"padding, got {int(words.max())}."
        )


_MAX_WAVELENGTH = 10000.0  # divided by 2 pi


def sinusoids(length: int, width: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return the sinusoidal positional encoding, of shape (length, width)."""
    even = torch.arange(0, width, 2, dtype=torch.float32, device=device)
    frequencies = torch.exp(even * (-math.log(_MAX_WAVELENGTH) / width))
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]


class WordPooling(nn.Module):
    """Pool the vectors of the words of a sentence into one unit vector."""

    def __init__(self, width: int, pooling: Pooling) -> None:
        super().__init__()
        self.pooling = pooling
        self.score: nn.Linear | None = None
        if pooling == "attention":
            self.score = nn.Linear(width, 1, bias=False)
            nn.init.zeros_(self.score.weight)

    def forward(
        self,
        vectors: Tensor,  # (n_sentences, longest, width)
        mask: Tensor,  # (n_sentences, longest)
        weights: Tensor,  # (n_sentences, longest)
    ) -> Tensor:  # (n_sentences, width)
        """Pool the words in the mask; the vector of a sentence without words is zero."""
        if not vectors.shape[1]:
            pooled = vectors.sum(dim=1)
        elif self.pooling == "max":
            pooled = vectors.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(dim=1)
        else:
            pooled = torch.bmm(
                self._word_weights(vectors, mask, weights).unsqueeze(1), vectors
            ).squeeze(1)
        pooled = pooled.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
        if pooled.dtype != torch.float64:
            pooled = pooled.float()  # under autocast it has half precision
        return functional.normalize(pooled, dim=1)

    def _word_weights(self, vectors: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        """Return the weights of words, which sum to one in each sentence."""
        word_weights = mask.to(vectors.dtype)
        if self.pooling != "mean":
            word_weights = _known_weights(word_weights, weights)
        if self.score is not None:
            scores = self.score(vectors).squeeze(2)
            # Not minus infinity: the softmax of a sentence without words would be NaN.
            lowest = torch.finfo(scores.dtype).min
            word_weights = word_weights * scores.masked_fill(word_weights == 0, lowest).softmax(
                dim=1
            )
        return _normalize_sum(word_weights).to(vectors.dtype)

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return repr(self.pooling)


def pool_rows(
    vectors: Tensor,  # (n_distinct, width)
    words: Tensor,  # (n_sentences, longest): rows of the vectors, -1 for padding
    weights: Tensor,  # (n_sentences, longest)
) -> Tensor:  # (n_sentences, width)
    """Pool as ``WordPooling(width, "weighted")``, without copying the vector of each position."""
    if not len(vectors) or not words.shape[1]:
        return vectors.new_zeros(len(words), vectors.shape[1])
    shares = _normalize_sum(_known_weights((words >= 0).to(vectors.dtype), weights))
    pooled = functional.embedding_bag(
        words.clamp(min=0), vectors, per_sample_weights=shares, mode="sum"
    )
    return functional.normalize(pooled if pooled.dtype == torch.float64 else pooled.float(), dim=1)


def _known_weights(mask: Tensor, weights: Tensor) -> Tensor:
    """Return the weights of words, or equal weights for a sentence with only zero weights."""
    weights = weights.to(mask.dtype) * mask
    return torch.where(weights.sum(dim=1, keepdim=True) > 0, weights, mask)


def _normalize_sum(weights: Tensor) -> Tensor:
    return weights / weights.sum(dim=1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
