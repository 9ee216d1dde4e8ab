"""The neural probabilistic language model of Bengio et al. (2003)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Final, Literal, TypeAlias, get_args

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from sklearn_hashnlp._constraints import check_parameters, check_shape, integer, is_integer, one_of
from sklearn_hashnlp.nn._hashing import history_hashes
from sklearn_hashnlp.nn._hierarchical_softmax import HierarchicalSoftmax, Search
from sklearn_hashnlp.nn._layers import ResidualBlocks, SeededDropout, SteadyLinear
from sklearn_hashnlp.nn._softmax_layers import AdaptiveSoftmax, FullSoftmax, SoftmaxOutput
from sklearn_hashnlp.nn._word_embeddings import WordAverages, WordTable
from sklearn_hashnlp.trees import SoftmaxTree

HiddenLayer: TypeAlias = Literal["tanh", "sigmoid", "residual"]
Initialization: TypeAlias = Literal["default", "uniform", "reference"]

_CONSTRAINTS = {
    **dict.fromkeys(("num_words", "num_classes", "hidden_size", "embedding_dim"), integer()),
    "order": integer(2),
    "far_context": integer(0),
    "init": one_of(*get_args(Initialization)),
}
Softmax: TypeAlias = Literal["softmax", "tied_softmax", "adaptive"]

HIDDEN_LAYERS: Final[dict[str, tuple[int, ...]]] = {"tanh": (), "sigmoid": (), "residual": (1,)}
"""The kinds of hidden layers, and the default number of residual blocks."""
HASHED_DIRECT: Final[dict[str, tuple[int, ...]]] = {"hashed": (2**22,)}
"""The default number of weights of hashed direct connections."""

_ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}


class NPLM(nn.Module):
    r"""Neural probabilistic language model: predict a word from the ``order - 1`` previous words.

    x is the concatenation of the vectors of the context words. The input of the output layer is a
    hidden layer over x and, with direct connections W, also x itself [1]_:

    .. math:: y = b + W x + U \tanh(d + H x)

    P(word | context) is the softmax of y, or a hierarchical softmax with a row of U, W and b for
    each tree node.

    Parameters
    ----------
    num_words : int
        Number of words in contexts: ids ``0 .. num_words - 1``.
    order : int, default=5
        Length of the n-grams, including the predicted word; n in the paper. At least 2.
    embedding_dim : int, default=64
        Dimension of the word vectors; m in the paper.
    hidden_size : int, default=256
        Width of the hidden layer; h in the paper.
    num_classes : int, default=None
        Number of words that can be predicted: ids ``0 .. num_classes - 1``; V in the paper. None is
        ``num_words``. A padding word that is never predicted can have the last id, ``num_classes``.
    output : {"softmax", "tied_softmax", "adaptive"} or SoftmaxTree, default="softmax"
        The output layer. A tree of ``num_classes`` classes: :class:`HierarchicalSoftmax`.
        ``"softmax"``: :class:`FullSoftmax`. ``"tied_softmax"``: a softmax with the table of word
        vectors as U [4]_, after a linear layer from ``hidden_size`` to ``embedding_dim``; without
        ``embedding`` and direct connections, and with a dense gradient of the table.
        ``"adaptive"``: torch's adaptive softmax, which requires word ids sorted by descending
        frequency.
    direct_connections : bool, "hashed", ("hashed", int) or ("hashed", int, int), default=False
        Whether x is an input of the output layer. ``"hashed"``: instead of W x, add the weights of
        the last word, the last two words, and so on, from a hash table, as in maximum-entropy
        models with hashed n-gram features [2]_; only with a tree. ``("hashed", n)``: a table of n
        weights instead of 2**22; a third number is the seed of the hash function.
    hidden_layer : {"tanh", "sigmoid", "residual"} or ("residual", int), default="tanh"
        The activation function of the hidden layer. ``"residual"``: no activation function but a
        residual block with layer normalization [3]_, h + V relu(a + U norm(h)) + b; the output
        layer reads norm(h). ``("residual", n)``: n blocks.
    dropout : float or (float, float, float), default=0.0
        Dropout probability of the hidden layer; or three probabilities: of the hidden layer, of the
        elements of x, and of whole words of the window.
    init : {"default", "uniform", "reference"}, default="default"
        Initialization of word vectors and layers. ``"default"``: vectors from a normal distribution
        of standard deviation 0.1, and torch's initialization of the linear layer. ``"uniform"``,
        for all parameters: vectors and H uniform between -1 and 1, d and U between 0 and 1, W
        normal with mean -1 and standard deviation 1, b one. The same holds for an adaptive softmax
        and for tree nodes, with the difference of two such rows for a binary node; hashed direct
        connections are zero. ``"reference"``: vectors normal with standard deviation 0.001, H
        normal with 1 / sqrt(8 embedding_dim), and d zero.
    sparse : bool, default=False
        Whether the gradients of word vectors and tree are sparse tensors, for
        :class:`sklearn_hashnlp.optim.RowwiseAdagrad` and
        :class:`sklearn_hashnlp.optim.RowwiseAdam`.
    embedding : Module, default=None
        A module that replaces the table of word vectors, such as a :class:`HashEmbedding`: from ids
        of shape (...) to vectors of shape (..., embedding_dim). It defines which ids are valid, and
        keeps its own initialization. Its input may have several numbers per word, in a last axis of
        the contexts; the first is then the word id.
    padding_id : int, default=None
        The word that pads contexts on the left; hashed direct connections only use its first
        occurrence.
    far_context : int, default=0
        Number of words before the window that are also read, as two averages of their vectors [3]_,
        times 4: an equally weighted one, and one with weights that halve every three words. Words
        with ``padding_id`` are excluded.
    device, dtype : default=None
        Device and dtype of the parameters; a given ``embedding`` is not moved.

    Attributes
    ----------
    embedding : Module
        The word vectors: a table with ``weight`` of shape (num_words, embedding_dim), or the given
        module.
    hidden_layer : torch.nn.Linear
        H and d.
    blocks : Module
        The residual blocks; only with ``hidden_layer="residual"``.
    output_layer : Module
        b, and U concatenated with W.

    References
    ----------
    .. [1] Bengio, Ducharme, Vincent & Jauvin (2003). A neural probabilistic language model. JMLR 3,
           section 2, equation 1.
    .. [2] Mikolov, Deoras, Povey, Burget & Černocký (2011). Strategies for training large scale
           neural network language models. ASRU, section 4.
    .. [3] Sun & Iyyer (2021). Revisiting simple neural probabilistic language models. NAACL.
    .. [4] Press & Wolf (2017). Using the output embedding to improve language models. EACL.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import NPLM
    >>> model = NPLM(
    ...     100, order=3, embedding_dim=8, hidden_size=16, output="softmax"
    ... )
    >>> contexts, words = torch.tensor([[3, 4], [7, 99]]), torch.tensor([5, 0])
    >>> log_probs, loss = model(contexts, words)
    >>> (
    ...     log_probs.shape,
    ...     model.log_prob(contexts).shape,
    ...     model.predict(contexts).shape,
    ... )
    (torch.Size([2]), torch.Size([2, 100]), torch.Size([2]))
    """

    def __init__(
        self,
        num_words: int,
        order: int = 5,
        embedding_dim: int = 64,
        hidden_size: int = 256,
        *,
        num_classes: int | None = None,
        output: Softmax | SoftmaxTree = "softmax",
        direct_connections: bool | str | Sequence[Any] = False,
        hidden_layer: HiddenLayer | Sequence[Any] = "tanh",
        dropout: float | Sequence[float] = 0.0,
        init: Initialization = "default",
        sparse: bool = False,
        embedding: nn.Module | None = None,
        padding_id: int | None = None,
        far_context: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        num_classes = num_words if num_classes is None else num_classes
        check_parameters("NPLM", _CONSTRAINTS, locals())
        _check_width(embedding, embedding_dim)
        if not isinstance(output, SoftmaxTree):
            check_parameters("NPLM", {"output": one_of(*get_args(Softmax))}, locals())
        check_sizes(hidden_layer, HIDDEN_LAYERS, parameter="hidden_layer", caller="NPLM")
        direct_connections, n_direct, hash_seed = _direct_connections(direct_connections)
        if output == "tied_softmax" and (embedding is not None or direct_connections):
            raise ValueError(
                "NPLM: output='tied_softmax' needs a table of word vectors and no direct "
                f"connections, got embedding={embedding!r:.60} and "
                f"direct_connections={direct_connections!r}."
            )
        hidden_dropout, embedding_dropout, word_dropout = _dropouts(dropout)
        self.order = order
        self.num_words = num_words
        self.num_classes = num_classes
        self.output = "hsigmoid" if isinstance(output, SoftmaxTree) else output
        self.direct_connections = direct_connections
        self.activation, n_blocks = split_sizes(hidden_layer, HIDDEN_LAYERS)
        self.padding_id = padding_id
        self.far_context = far_context
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        if embedding is None:
            embedding = WordTable(
                num_words, embedding_dim, sparse=sparse and output != "tied_softmax", **place
            )
        self.embedding = embedding
        self.word_dropout = SeededDropout(word_dropout)
        self.embedding_dropout = SeededDropout(embedding_dropout)
        self.dropout = SeededDropout(hidden_dropout)
        width = (order - 1) * embedding_dim
        if far_context:
            self.far_averages = WordAverages(far_context, padding_id, **place)
            width += self.far_averages.n_averages * embedding_dim
        self.hidden_layer = nn.Linear(width, hidden_size, **place)
        if self.activation == "residual":
            self.blocks = ResidualBlocks(hidden_size, n_blocks[0], self.dropout, **place)
        in_features = hidden_size + (width if direct_connections is True else 0)
        if output == "tied_softmax":
            in_features = embedding_dim
            self.projection = SteadyLinear(nn.Linear(hidden_size, embedding_dim, **place))
        self.output_layer = _output_layer(
            output,
            in_features,
            num_classes,
            n_direct=n_direct,
            hash_seed=hash_seed,
            sparse=sparse,
            **place,
        )
        if output == "tied_softmax":
            self.output_layer.weight = self.embedding.weight
        self._initialize(init, embedding_dim, hidden_size)

    def init_bias(self, counts: ArrayLike) -> None:
        """Set output biases from word counts, so that training starts at the word frequencies."""
        self.output_layer.init_bias(counts)

    def forward(self, context: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the log-probabilities of the target words, and the loss.

        Parameters
        ----------
        context : Tensor of shape (rows, far_context + order - 1), dtype int64
            Word ids in text order: the last column is the word just before the target.
        target : Tensor of shape (rows,), dtype int64
            The next word of each row.

        Returns
        -------
        log_probs : Tensor of shape (rows,)
            log P(target | context).
        loss : Tensor of shape ()
            Mean negative log-likelihood.
        """
        result: SoftmaxOutput = self.output_layer(
            self.hidden(context), target, *self._features(context)
        )
        return result.output, result.loss

    def hidden(self, context: Tensor) -> Tensor:
        """Compute the input of the output layer for contexts as in :meth:`forward`.

        Its shape is (rows, hidden_size), plus the width of x with direct connections; (rows,
        embedding_dim) with ``output="tied_softmax"``.
        """
        axes: tuple[str, ...] = ()
        if context.dim() == 3 and not isinstance(self.embedding, WordTable):
            axes = ("n_values",)
        n_words = self.far_context + self.order - 1
        check_shape(
            "NPLM",
            "context",
            context,
            "rows",
            n_words,
            *axes,
            note=", the words before the predicted one",
        )
        x = self._input(context)
        hidden: Tensor = self.hidden_layer(x)
        residual = self.activation == "residual"
        hidden = self.dropout(
            self.blocks(hidden) if residual else _ACTIVATIONS[self.activation](hidden)
        )
        if self.output == "tied_softmax":
            hidden = self.projection(hidden)
        return torch.cat([hidden, x], dim=1) if self.direct_connections is True else hidden

    def _input(self, context: Tensor) -> Tensor:
        """Compute x."""
        vectors = self.embedding(context[:, self.far_context :])
        if self.word_dropout.p:
            vectors = vectors * self.word_dropout(vectors.new_ones((*vectors.shape[:2], 1)))
        x = vectors.flatten(1)
        if self.far_context:
            x = torch.cat(
                [x, self.far_averages(self.embedding, context[:, : self.far_context])], dim=1
            )
        dropped: Tensor = self.embedding_dropout(x)
        return dropped

    def log_prob(self, context: Tensor) -> Tensor:
        """Compute the log-probabilities of all words, of shape (rows, num_classes)."""
        log_probs: Tensor = self.output_layer.log_prob(
            self.hidden(context), *self._features(context)
        )
        return log_probs

    def predict(self, context: Tensor, search: Search = "exact") -> Tensor:
        """Predict the most probable word, int64 (rows,), for contexts as in :meth:`forward`.

        ``search="greedy"``, only with a tree, follows the most probable child of each node.
        """
        hidden, features = self.hidden(context), self._features(context)
        words: Tensor
        if self.output == "hsigmoid":
            words = self.output_layer.predict(hidden, search, *features)
            return words
        if search != "exact":
            raise ValueError(
                f"NPLM(output={self.output!r}) has no tree: search must be 'exact', got {search!r}."
            )
        words = self.output_layer.predict(hidden)
        return words

    def topk(self, context: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Predict the k most probable words: descending log-probabilities and words, (rows, k)."""
        result: tuple[Tensor, Tensor] = self.output_layer.topk(
            self.hidden(context), k, *self._features(context)
        )
        return result

    def sample(self, context: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Sample the next word of each context, (rows,), by default with torch's generator."""
        words: Tensor = self.output_layer.sample(
            self.hidden(context), *self._features(context), generator=generator
        )
        return words

    def _features(self, context: Tensor) -> tuple[Tensor, ...]:
        """Return the features of hashed direct connections, if any, for the output layer."""
        if self.direct_connections != "hashed":
            return ()
        window = context[:, self.far_context :]
        return (history_hashes(window if window.dim() == 2 else window[..., 0], self.padding_id),)

    @torch.no_grad()
    def _initialize(self, init: str, embedding_dim: int, hidden_size: int) -> None:
        table = self.embedding.weight if isinstance(self.embedding, WordTable) else torch.empty(0)
        if init == "default":
            table.normal_(0, 0.1)
        elif init == "uniform":
            for parameter, minimum in (
                (table, -1),
                (self.hidden_layer.weight, -1),
                (self.hidden_layer.bias, 0),
            ):
                parameter.uniform_(minimum, 1)
            # U is uniform between 0 and 1, W around -1, and biases are 1.
            layer = self.output_layer
            for name, parameter in layer.named_parameters():
                if name.endswith("bias"):
                    parameter.fill_(1)
                elif parameter.dim() == 2:
                    parameter[:, :hidden_size].uniform_(0, 1)
                    parameter[:, hidden_size:].normal_(-1, 1)
            if isinstance(layer, HierarchicalSoftmax):
                # A binary node has one row: the difference of the two rows of a softmax over its
                # branches.
                rows = torch.from_numpy(layer.tree.score_offsets[:-1][layer.tree.arities == 2]).to(
                    layer.weight.device
                )
                others = torch.empty_like(layer.weight[rows])
                others[:, :hidden_size].uniform_(0, 1)
                others[:, hidden_size:].normal_(-1, 1)
                layer.weight[rows] -= others
                layer.bias[rows] = 0
        else:
            table.normal_(0, 0.001)
            self.hidden_layer.weight.normal_(0, 1 / math.sqrt(8 * embedding_dim))
            self.hidden_layer.bias.zero_()

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return (
            f"order={self.order}, far_context={self.far_context}, "
            f"direct_connections={self.direct_connections!r}, hidden_layer={self.activation!r}"
        )


def _output_layer(
    output: Softmax | SoftmaxTree,
    in_features: int,
    num_classes: int,
    *,
    n_direct: int,
    hash_seed: int,
    sparse: bool,
    **place: Any,  # device and dtype
) -> Any:
    if not isinstance(output, SoftmaxTree):
        if n_direct:
            raise ValueError(
                f"NPLM: direct_connections='hashed' needs a tree as output, got output={output!r}. "
                "Set direct_connections=True."
            )
        if output == "adaptive":
            return AdaptiveSoftmax(in_features, num_classes, **place)
        return FullSoftmax(in_features, num_classes, ignore_index=None, **place)
    if output.n_classes != num_classes:
        raise ValueError(
            f"NPLM: the tree must have num_classes={num_classes} classes, got {output.n_classes}."
        )
    return HierarchicalSoftmax(
        output,
        in_features,
        n_direct=n_direct,
        direct_seed=hash_seed,
        ignore_index=None,
        sparse=sparse,
        **place,
    )


def _check_width(embedding: nn.Module | None, embedding_dim: int) -> None:
    """Raise an error for a given embedding with vectors of another dimension."""
    for name in ("output_dim", "embedding_dim"):
        if isinstance(size := getattr(embedding, name, None), int):
            if size != embedding_dim:
                raise ValueError(
                    f"NPLM: embedding_dim must be {size}, the {name} of the "
                    f"{type(embedding).__name__} given as embedding, got {embedding_dim}."
                )
            return


def _direct_connections(value: Any) -> tuple[bool | str, int, int]:
    """Return the kind of direct connections, and the size and the seed of their table."""
    hash_seed = 0
    if isinstance(value, bool):
        return value, 0, hash_seed
    if isinstance(value, tuple | list) and len(value) == 3:
        hash_seed, value = value[2], value[:2]
    check_sizes(
        value, HASHED_DIRECT, parameter="direct_connections", caller="NPLM", besides=(False, True)
    )
    kind, (n_direct,) = split_sizes(value, HASHED_DIRECT)
    return kind, n_direct, hash_seed


def _dropouts(dropout: Any) -> tuple[float, float, float]:
    """Return the dropout of the hidden layer, embeddings and words."""
    if isinstance(dropout, Real):
        return float(dropout), 0.0, 0.0
    if len(dropout) != 3:
        raise ValueError(
            "NPLM: dropout must be a probability, or three: of the hidden layer, of x and of "
            f"words. Got {dropout!r} instead."
        )
    hidden, embedding, word = dropout
    return hidden, embedding, word


_MAX_SIZE = 2**31 - 1


def split_sizes(option: Any, usual: Mapping[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """Return the name of an option and its sizes; a name alone has the usual ones."""
    if isinstance(option, str):
        return option, usual[option]
    return option[0], tuple(int(size) for size in option[1:])


def check_sizes(
    option: Any,
    usual: Mapping[str, tuple[int, ...]],
    *,
    parameter: str,
    caller: str,
    besides: tuple[Any, ...] = (),
) -> None:
    """Check an option that is a name, or a tuple of the name and as many sizes as usual."""
    if isinstance(option, str) and option in usual:
        return
    if (
        isinstance(option, tuple | list)
        and option
        and isinstance(option[0], str)
        and usual.get(option[0])
    ):
        sizes = option[1:]
        are_sizes = all(is_integer(size) and 1 <= size <= _MAX_SIZE for size in sizes)
        if are_sizes and len(sizes) == len(usual[option[0]]):
            return
    names = ", ".join(repr(name) for name in (*besides, *usual))
    pairs = " or ".join(repr((name, *sizes)) for name, sizes in usual.items() if sizes)
    raise ValueError(
        f"The {parameter!r} parameter of {caller} must be {names}, or a tuple of a name and "
        f"integers from 1 to {_MAX_SIZE}, such as {pairs}. Got {option!r} instead."
    )
