"""A Transformer encoder that reads projections of words where others read a table."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp.nn._word_batch import WordBatch, WordPooling
from sklearn_hashnlp.nn._word_embeddings import LSHEmbedding

_LONGEST_WAVE = 10000.0


def sinusoids(length: int, width: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return each position a vector of sines and cosines."""
    even = torch.arange(0, width, 2, dtype=torch.float32, device=device)
    frequencies = torch.exp(even * (-math.log(_LONGEST_WAVE) / width))
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]


_STARTS = ("random", "identity")


class SGNNTransformer(nn.Module):
    """Turn sentences into unit vectors, from projections of their words' characters.

    1. A word's projection p is multiplied by a matrix, x = W p, once for each different word of the batch. Bits are
       taken as signs, p = (2 b - 1) / sqrt(n_features). Tables may add to it.
    2. Sinusoids of the word's position [2]_, times a learned gain, are added.
    3. Layers of a Transformer's encoder read the words of a sentence. They normalise what they read, not what they add
       ("pre-norm").
    4. The words' vectors are pooled into one, which is scaled to length one.

    There is no table of words: any string has a projection, and so a vector.

    Parameters
    ----------
    n_features : int, default=1120
        Columns of a projection.
    width : int, default=512
        Columns of a word's vector in all layers; with layers a multiple of ``n_heads``.
    n_layers : int, default=6
        Number of encoder layers. 0 leaves a bag of words: positions, if any, are added and then pooled.
    n_heads : int, default=8
        Of the attention.
    feedforward_size : int, default=2048
        Width of the hidden layer within an encoder layer.
    pooling : {"max", "mean", "attention", "weighted"}, default="max"
        The largest value in each column; the mean; a mean by the batch's weights times what learned attention says; a
        mean by the batch's weights.
    pooling_width : int, default=None
        Columns to which a linear layer widens the words' vectors before they are pooled; the report suggests 2000.
        None: there is no such layer.
    depths : {1, 2}, default=1
        2: what is pooled is the output of the middle layer beside that of the last, ``2 * width`` columns.
    positions : bool, default=True
        Whether the network is told where words stand.
    n_tables, table_bits : int, default=0, 13
        Of an :class:`LSHEmbedding`, whose vector of a word is added to W p; 0 tables are none. They let words that are
        spelled alike differ, where W alone cannot.
    dropout : float, default=0.0
        Share of the values in the encoder's layers that are dropped in training.
    start : {"random", "identity"}, default="random"
        How a fresh network starts. ``"random"``: as Transformers usually do. ``"identity"``: layers add nothing and the
        sinusoids' gain is zero, so that the vector of a sentence is the pool of its words' x, whose cosines are about
        those of the projections. The outputs are then not normalised either, which would change cosines.

    Attributes
    ----------
    linear : torch.nn.Linear
        W, of shape (width, n_features). It starts semi-orthogonal, at a scale that gives a projection of length one
        an x of elements around one, as normalised layers expect.
    tables : LSHEmbedding or None
        Start as zeros.
    position_gain : torch.nn.Parameter or None
        A single number.
    layers : torch.nn.ModuleList
        Of :class:`torch.nn.TransformerEncoderLayer`.
    dim : int
        Columns of a sentence's vector.

    Raises
    ------
    ValueError
        If a size or a name is not as described.

    References
    ----------
    .. [1] Chevalier (2019). SGNN-Transformer sentence model trained by the paragraph-skip-gram-like SimilarityBXENT.
           Université Laval, IFT-7022, part 2; pooling width and depths from its conclusion.
    .. [2] Vaswani et al. (2017). Attention is all you need. NIPS, arXiv:1706.03762, sections 3.1 and 3.5.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import SGNNTransformer, WordBatch
    >>> network = SGNNTransformer(n_features=40, width=16, n_layers=2, n_heads=2, feedforward_size=32)
    >>> words = torch.tensor([[0, 1, 2], [2, -1, -1]])
    >>> batch = WordBatch(torch.randn(3, 40), words, (words >= 0).float())
    >>> network(batch).shape, network.encode_words(batch).shape
    (torch.Size([2, 16]), torch.Size([2, 3, 16]))
    """

    def __init__(
        self,
        n_features: int = 1120,
        width: int = 512,
        n_layers: int = 6,
        n_heads: int = 8,
        feedforward_size: int = 2048,
        *,
        pooling: str = "max",
        pooling_width: int | None = None,
        depths: int = 1,
        positions: bool = True,
        n_tables: int = 0,
        table_bits: int = 13,
        dropout: float = 0.0,
        start: str = "random",
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("n_features", n_features, 1),
            ("width", width, 1),
            ("n_layers", n_layers, 0),
            ("n_heads", n_heads, 1),
            ("feedforward_size", feedforward_size, 1),
            ("pooling_width", 1 if pooling_width is None else pooling_width, 1),
            ("n_tables", n_tables, 0),
        ):
            if value < least:
                raise ValueError(f"SGNNTransformer: {name} must be {least} or more, got {value}.")
        if n_layers and width % n_heads:
            raise ValueError(f"SGNNTransformer: width must be a multiple of n_heads={n_heads}, got {width}.")
        if depths not in (1, 2):
            raise ValueError(f"SGNNTransformer: depths must be 1 or 2, got {depths!r}.")
        if depths == 2 and n_layers < 2:
            raise ValueError(f"SGNNTransformer: depths=2 needs n_layers of 2 or more, got {n_layers}. Take depths=1.")
        if start not in _STARTS:
            raise ValueError(f"SGNNTransformer: start must be one of {_STARTS}, got {start!r}.")
        self.n_features, self.width, self.depths, self.start = n_features, width, depths, start
        self.linear = nn.Linear(n_features, width, bias=False)
        self.tables = LSHEmbedding(n_tables, table_bits, width) if n_tables else None
        self.position_gain = nn.Parameter(torch.ones(())) if positions else None
        layers = [
            nn.TransformerEncoderLayer(width, n_heads, feedforward_size, dropout, batch_first=True, norm_first=True)
            for _ in range(n_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(width) if start == "random" else nn.Identity() for _ in range(depths))
        self.dim = depths * width if pooling_width is None else pooling_width
        self.widen = nn.Identity() if pooling_width is None else nn.Linear(depths * width, pooling_width, bias=False)
        self.pooling = WordPooling(self.dim, pooling)
        self._start(layers)

    def forward(self, batch: WordBatch) -> Tensor:
        """Make the vectors of sentences.

        Parameters
        ----------
        batch : WordBatch
            The sentences.

        Returns
        -------
        Tensor of shape (n_sentences, dim)
            Unit rows; zero for a sentence without words. float32 also under autocast.

        Raises
        ------
        ValueError
            If the tensors' shapes do not fit, or on the CPU, where looking costs no wait, a word has no projection.
        """
        words = self.widen(torch.cat(self._encode(batch, None), dim=2))
        vectors: Tensor = self.pooling(words, batch.words >= 0, batch.weights)
        return vectors

    def word_vectors(self, projections: Tensor) -> Tensor:
        """Make the vectors of words, as the first layer reads them but for their positions.

        Parameters
        ----------
        projections : Tensor of shape (n_words, n_features), dtype uint8 or floating
            Bits or projections.

        Returns
        -------
        Tensor of shape (n_words, width)
            x = W p of each, and the vector of the tables.
        """
        from_tables = None if self.tables is None else self.tables(projections)
        if projections.dtype == torch.uint8:
            signs = 2 * projections.to(self.linear.weight.dtype) - 1
            projections = signs / math.sqrt(self.n_features)
        vectors: Tensor = self.linear(projections.to(self.linear.weight.dtype))
        return vectors if from_tables is None else vectors + from_tables

    def encode_words(self, batch: WordBatch, *, hidden: Tensor | None = None) -> Tensor:
        """Make the vectors of words in their sentences: what the last layer gives, before it is widened and pooled.

        Parameters
        ----------
        batch : WordBatch
            The sentences.
        hidden : Tensor of shape (n_sentences, longest), dtype bool, default=None
            Places whose words are kept from the network: in place of x it reads zeros. For :class:`MaskedWordHead`.

        Returns
        -------
        Tensor of shape (n_sentences, longest, width)
            The vectors; those at padding mean nothing.

        Raises
        ------
        ValueError
            If the tensors' shapes do not fit, or on the CPU, where looking costs no wait, a word has no projection.
        """
        return self._encode(batch, hidden)[-1]

    def _encode(self, batch: WordBatch, hidden: Tensor | None) -> list[Tensor]:
        """Return the outputs that are pooled side by side, of shape (n_sentences, longest, width)."""
        self._check(batch)
        told = batch.words if hidden is None else batch.words.masked_fill(hidden, -1)
        # The last row, of zeros, is for padding and for words that are hidden.
        vectors = functional.pad(self.word_vectors(batch.projections), (0, 0, 0, 1))
        outputs = [functional.embedding(told.masked_fill(told < 0, len(batch.projections)), vectors)]
        if self.position_gain is not None:
            waves = sinusoids(batch.words.shape[1], self.width, device=batch.words.device)
            outputs[0] = outputs[0] + self.position_gain * waves
        absent = batch.words < 0
        # A sentence without words looks at its first place, since attention to nothing is not a number.
        absent[:, :1] &= ~absent.all(dim=1, keepdim=True)
        for layer in self.layers if absent.numel() else ():
            outputs.append(layer(outputs[-1], src_key_padding_mask=absent))
        kept = [outputs[len(outputs) // 2], outputs[-1]][-self.depths :]
        return [norm(output) for norm, output in zip(self.norms, kept, strict=True)]

    def _check(self, batch: WordBatch) -> None:
        if batch.projections.dim() != 2 or batch.projections.shape[1] != self.n_features:
            raise ValueError(
                f"SGNNTransformer: projections must have shape (n_different, {self.n_features}), "
                f"got {tuple(batch.projections.shape)}."
            )
        if batch.words.dim() != 2 or batch.weights.shape != batch.words.shape:
            raise ValueError(
                "SGNNTransformer: words and weights must have the same shape (n_sentences, longest), "
                f"got {tuple(batch.words.shape)} and {tuple(batch.weights.shape)}."
            )
        n_different = len(batch.projections)
        if batch.words.device.type == "cpu" and batch.words.numel() and int(batch.words.max()) >= n_different:
            raise ValueError(
                f"SGNNTransformer: words must be rows of the {n_different} projections, or -1 for padding, "
                f"got {int(batch.words.max())}."
            )

    @torch.no_grad()
    def _start(self, layers: list[nn.TransformerEncoderLayer]) -> None:
        # Rows, or where they are fewer the columns, are orthogonal and so long that a projection of length one becomes,
        # on average, a vector of length sqrt(width).
        nn.init.orthogonal_(self.linear.weight, gain=math.sqrt(max(self.n_features, self.width)))
        if isinstance(self.widen, nn.Linear):
            nn.init.orthogonal_(self.widen.weight)
        if self.start == "identity":
            if self.position_gain is not None:
                self.position_gain.zero_()
            for layer in layers:
                for last in (layer.self_attn.out_proj, layer.linear2):
                    last.weight.zero_()
                    last.bias.zero_()

    def extra_repr(self) -> str:
        """Describe the module in ``repr``.

        Returns
        -------
        str
            What its parts do not say.
        """
        return f"depths={self.depths}, start={self.start!r}, dim={self.dim}"
