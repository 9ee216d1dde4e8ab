"""Parameters of the sentence encoder: bundles, architecture, and the ones that may not change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeAlias

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, literal_options
from sklearn_hashnlp.nn._sgnn_transformer import Pooling
from sklearn_hashnlp.training._check_unchanged import check_unchanged
from sklearn_hashnlp.training._checkpoints import Checkpoints
from sklearn_hashnlp.training._settings import Bundle, as_bundle, check_training_parameters

SentenceLoss: TypeAlias = Literal["bxent", "infonce", "proximity", "vmf"]
Weight: TypeAlias = float | tuple[float, float]
_WEIGHTS = ("sentence_weight", "word_weight", "masked_weight")
_MAX_KEY_BITS = 48
# Parameters that may change after an interruption: they do not affect the weights, since seeds have
# been drawn.
_FREE = {
    "callbacks",
    "checkpoint_dir",
    "checkpoint_every",
    "device",
    "n_jobs",
    "random_state",
    "resume",
    "scoring",
    "sentence_splitter",
    "verbose",
}


@dataclass(eq=False, repr=False)
class Network(Bundle):
    """The network of the second part of sentence vectors.

    The value of the parameter ``network`` of :class:`SGNNSentenceEncoder`. The parameters are
    arguments of :class:`~sklearn_hashnlp.nn.SGNNTransformer`, which has more.

    Parameters
    ----------
    embedding_dim : int, default=128
        Dimension of the word embeddings, and so of the second part; with layers a multiple of
        ``n_heads``.
    n_layers : int, default=0
        Number of Transformer layers; 0 pools the word embeddings directly, which is many times as
        fast.
    n_heads : int, default=8
        Number of attention heads.
    feedforward_size : int, default=1024
        Hidden size of the feed-forward layers.
    pooling : {"weighted", "max", "mean", "attention"}, default="weighted"
        How word embeddings are pooled: their mean, weighted by the rarity of the words; the maximum
        of each dimension; their mean; or their mean, weighted by learned attention too.
    depths : {1, 2}, default=1
        With 2, the outputs of the middle layer are concatenated to the outputs of the last layer.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder
    >>> encoder = SGNNSentenceEncoder(network=Network(n_layers=2))
    >>> encoder.set_params(network__pooling="max").network
    Network(n_layers=2, pooling='max')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "embedding_dim": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_layers": [Interval(Integral, 0, 100, closed="both")],
        "n_heads": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "feedforward_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "pooling": [literal_options(Pooling)],
        "depths": [Interval(Integral, 1, 2, closed="both")],
    }

    embedding_dim: int = 128
    n_layers: int = 0
    n_heads: int = 8
    feedforward_size: int = 1024
    pooling: Pooling = "weighted"
    depths: int = 1

    def _check(self) -> None:
        """Check constraints between fields."""
        if self.n_layers and self.embedding_dim % self.n_heads:
            raise ValueError(
                "The 'embedding_dim' parameter of Network must be a multiple of "
                f"n_heads={self.n_heads}. Got {self.embedding_dim!r} instead."
            )
        if self.depths == 2 and self.n_layers < 2:
            raise ValueError(
                f"Network(depths=2) needs n_layers of at least 2. Got n_layers={self.n_layers!r}."
            )


@dataclass(eq=False, repr=False)
class Objectives(Bundle):
    """The losses of the contrastive training of sentence vectors, and their weights.

    The value of the parameter ``objectives`` of :class:`SGNNSentenceEncoder`. A weight that is a
    pair of numbers fades linearly from the first number, at the first training step, to the second,
    at the last. At least one weight must be positive at some time.

    Parameters
    ----------
    loss : {"infonce", "bxent", "proximity", "vmf"}, default="infonce"
        Loss function of the sentences of a paragraph, and of the words of a sentence:
        :class:`~sklearn_hashnlp.nn.InfoNCELoss`, :class:`~sklearn_hashnlp.nn.SimilarityBXENT`,
        :class:`~sklearn_hashnlp.nn.CosineProximityLoss` or
        :class:`~sklearn_hashnlp.nn.VonMisesFisherLoss`.
    temperature : float, default=0.05
        Temperature of ``"infonce"``.
    sentence_weight : float or (float, float), default=1.0
        Weight of ``loss`` for the sentences of a paragraph.
    word_weight : float or (float, float), default=0.0
        Weight of ``loss`` for the words of a sentence.
    masked_weight : float or (float, float), default=0.0
        Weight of masked word prediction, which needs layers.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import Objectives, SGNNSentenceEncoder
    >>> encoder = SGNNSentenceEncoder(objectives=Objectives("bxent"))
    >>> encoder.set_params(objectives__word_weight=(1.0, 0.0)).objectives
    Objectives(loss='bxent', word_weight=(1.0, 0.0))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [literal_options(SentenceLoss)],
        "temperature": [Interval(Real, 0, MAX_REAL, closed="right")],
        **{name: [Interval(Real, 0, MAX_REAL, closed="both"), tuple, list] for name in _WEIGHTS},
    }

    loss: SentenceLoss = "infonce"
    temperature: float = 0.05
    sentence_weight: Weight = 1.0
    word_weight: Weight = 0.0
    masked_weight: Weight = 0.0

    def _check(self) -> None:
        """Check the pairs, and that a weight is positive."""
        for name in _WEIGHTS:
            weight = getattr(self, name)
            parts = first_and_last(weight)
            if len(parts) != 2 or not all(
                isinstance(part, Real) and 0 <= float(part) < math.inf for part in parts
            ):
                raise ValueError(
                    f"The {name!r} parameter of Objectives must be a number, or (first, last), two "
                    f"numbers of at least 0. Got {weight!r} instead."
                )
        if not any(any(first_and_last(getattr(self, name))) for name in _WEIGHTS):
            raise ValueError(
                f"Objectives: one of {', '.join(_WEIGHTS)} must be more than 0. To skip the second "
                "stage of training, set max_epochs=0."
            )


def first_and_last(weight: Any) -> tuple[Any, ...]:
    """Return the weights of an objective at the first and the last step; a number is both."""
    return tuple(weight) if isinstance(weight, tuple | list) else (weight, weight)


_BUNDLES: dict[str, type[Bundle]] = {"network": Network, "objectives": Objectives}


def sentence_architecture(estimator: Any) -> dict[str, Any]:
    """Return the sizes and options of the network of an estimator, as JSON values."""
    network, weight = as_bundle(estimator.network, Network()), estimator.context_weight
    objectives = as_bundle(estimator.objectives, Objectives())
    return {
        "transformer": {
            "n_features": int(estimator.n_projections) * int(estimator.n_bits),
            "embedding_dim": int(network.embedding_dim),
            "n_layers": int(network.n_layers),
            "n_heads": int(network.n_heads),
            "feedforward_size": int(network.feedforward_size),
            "pooling": network.pooling,
            "depths": int(network.depths),
            "n_tables": int(estimator.n_tables),
            "table_bits": int(estimator.table_bits),
            "key_bits": _key_bits(estimator),
            "init": estimator.init,
        },
        "projection_dim": int(estimator.projection_dim),
        "context_weight": weight if weight == "auto" else float(weight),
        "masked_words": weight != 0 and any(first_and_last(objectives.masked_weight)),
    }


def _key_bits(estimator: Any) -> int | None:
    """Return the number of projection bits that select a table row; enough bits separate words."""
    if not estimator.n_tables:
        return None
    available = int(estimator.n_projections) * int(estimator.n_bits) // int(estimator.n_tables)
    return max(int(estimator.table_bits), min(_MAX_KEY_BITS, available))


def check_parameters(estimator: Any) -> None:
    """Check constraints between the parameters of an estimator."""
    name = type(estimator).__name__
    network, objectives = (
        as_bundle(estimator.network, Network()),
        as_bundle(estimator.objectives, Objectives()),
    )
    check_training_parameters(estimator)
    pair = estimator.ngram_range
    if (
        len(pair) != 2
        or not all(isinstance(n, Integral) for n in pair)
        or not 1 <= pair[0] <= pair[1]
    ):
        raise ValueError(
            f"The 'ngram_range' parameter of {name} must be a pair (min_n, max_n) of integers with "
            f"1 <= min_n <= max_n. Got {pair!r} instead."
        )
    if network.n_layers == 0 and any(first_and_last(objectives.masked_weight)):
        raise ValueError(
            f"{name}: Objectives(masked_weight={objectives.masked_weight!r}) predicts masked words "
            "from the words around them, which needs layers. Set n_layers of Network to 1 or more."
        )
    n_features, n_pointing = (
        estimator.n_projections * estimator.n_bits,
        estimator.n_tables * estimator.table_bits,
    )
    if n_pointing > n_features:
        raise ValueError(
            f"{name}(n_tables={estimator.n_tables}, table_bits={estimator.table_bits}) needs "
            f"projections of {n_pointing} columns or more, and n_projections * n_bits is "
            f"{n_features}. Take fewer or smaller tables."
        )
    n_removed = 0 if estimator.n_components_removed == "auto" else estimator.n_components_removed
    if estimator.context_weight != 1 and n_removed >= estimator.projection_dim:
        raise ValueError(
            f"The 'n_components_removed' parameter of {name} must be less than "
            f"projection_dim={estimator.projection_dim}. Got {estimator.n_components_removed!r} "
            "instead."
        )
    Checkpoints.of(estimator)


def check_same_training(estimator: Any, model: Any) -> None:
    """Check that the training of a checkpoint is resumed with the same parameters."""
    wanted, free = estimator.get_params(deep=False), _FREE
    if isinstance(wanted["random_state"], Integral) and model.random_state is not None:
        free = _FREE - {"random_state"}  # a different seed asks for a different encoder
    own, others = (
        {
            parameter: _plain(parameter, value)
            for parameter, value in parameters.items()
            if parameter not in free
        }
        for parameters in (wanted, model.get_params(deep=False))
    )
    check_unchanged(estimator, own, others, device=model.net_.device)


def _plain(name: str, value: Any) -> Any:
    """Return the value of a parameter with lists for tuples, and a bundle as its fields."""
    if name in _BUNDLES:
        return {
            field: _plain(field, own)
            for field, own in as_bundle(value, _BUNDLES[name]()).get_params().items()
        }
    return list(value) if isinstance(value, tuple) else value
