"""Parameters of the neural language model: bundles, automatic values, checks, architecture."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from numbers import Real
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from sklearn_hashnlp._sklearn import MAX_REAL, Interval
from sklearn_hashnlp.language._corpus import SpecialTokens, Vocabulary, hash_words
from sklearn_hashnlp.language._language_net import DIRECT, HIDDEN_BIAS
from sklearn_hashnlp.language._tokenizer import FarContext, Tokenizer, TrainingData
from sklearn_hashnlp.nn._nplm import HASHED_DIRECT, HIDDEN_LAYERS, check_sizes, split_sizes
from sklearn_hashnlp.training._callbacks import TimeLimit, callbacks_of_kind
from sklearn_hashnlp.training._check_unchanged import cannot_continue, check_unchanged
from sklearn_hashnlp.training._checkpoints import Checkpoints, best_epoch
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._settings import (
    Bundle,
    Decay,
    EarlyStopping,
    Schedule,
    as_bundle,
    as_early_stopping,
    as_schedule,
    check_training_parameters,
)

# What early_stopping="valid_loss" stands for
_EARLY_STOPPING = EarlyStopping("valid_loss", patience=2, validation_fraction=0.1)
# Of the network that tree="learned" trains first: its share of a TimeLimit, and the parameters of
# the other one.
_SMALL_EMBEDDING = 64
_SMALL_HIDDEN = 256
_SMALL_EPOCHS = 2
_SMALL_TIME = 0.25
_SMALL_PARAMETERS = (
    *("order", "far_context", "across_sentences", "embedding"),
    *("optimizer", "learning_rate", "batch_size", "device"),
)


@dataclass(eq=False, repr=False)
class Regularization(Bundle):
    """Dropout, weight decay and gradient clipping of a :class:`HsigmoidLanguageModel`.

    Parameters
    ----------
    dropout : float, default=0.35
        Dropout probability of the hidden layer.
    embedding_dropout : float, default=0.1
        Dropout probability of the elements of word embeddings.
    word_dropout : float, default=0.0
        Probability that a word of the window is dropped: its whole embedding is zero.
    weight_decay : float, default=0.0
        Decoupled weight decay: each update also subtracts ``learning_rate * weight_decay`` times
        the weight. Rows of tables, such as word embeddings, decay only in steps that train them
        [1]_. Biases do not decay.
    max_grad_norm : float or None, default=0.5
        Maximum norm of the gradient of a batch's mean loss [2]_. None does not clip, and the loss
        may rise at first.

    References
    ----------
    .. [1] Loshchilov & Hutter (2019). Decoupled weight decay regularization. ICLR.
    .. [2] Pascanu, Mikolov & Bengio (2013). On the difficulty of training recurrent neural
           networks. ICML.

    Examples
    --------
    >>> from sklearn_hashnlp.language import (
    ...     HsigmoidLanguageModel,
    ...     Regularization,
    ... )
    >>> model = HsigmoidLanguageModel(
    ...     regularization=Regularization(dropout=0.5)
    ... )
    >>> model.set_params(regularization__weight_decay=0.001).regularization
    Regularization(dropout=0.5, weight_decay=0.001)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
        "word_dropout": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, MAX_REAL, closed="both")],
        "max_grad_norm": [Interval(Real, 0, MAX_REAL, closed="right"), None],
    }

    dropout: float = 0.35
    embedding_dropout: float = 0.1
    word_dropout: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float | None = 0.5


class LanguageSchedule(Schedule):  # not a dataclass: it has no ``shuffle``
    """Learning rate schedule of a :class:`HsigmoidLanguageModel`, with two factors.

    ``partial_fit`` keeps the learning rate constant, after a warmup in the first call of a new
    model.

    Parameters
    ----------
    decay : {"constant", "linear"}, default="linear"
        ``"linear"``: the learning rate decays linearly to zero over all epochs.
    warmup_steps : int, default=100
        Steps over which the learning rate rises from zero, at most three epochs; 0 disables warmup,
        and the loss may rise at first. A pretrained model needs no warmup.
    plateau : (int, float) or None, default=None
        Patience and factor: the learning rate is multiplied by the factor after ``patience`` epochs
        without a lower validation loss. Requires validation sentences.
    average : bool, default=False
        Whether to average the weights over the last quarter of the steps. Not with validation
        sentences or ``resume``.
    bias_learning_rate : float, default=1.0
        Factor of the learning rate of the hidden layer's bias.
    direct_learning_rate : float, default=1.0
        Factor of the learning rate of hashed direct connections.

    Examples
    --------
    >>> from sklearn_hashnlp.language import (
    ...     HsigmoidLanguageModel,
    ...     LanguageSchedule,
    ... )
    >>> model = HsigmoidLanguageModel(schedule=LanguageSchedule(warmup_steps=0))
    >>> model.set_params(schedule__bias_learning_rate=2.0).schedule
    LanguageSchedule(bias_learning_rate=2.0, warmup_steps=0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: Schedule._parameter_constraints[name]
            for name in ("decay", "warmup_steps", "plateau", "average")
        },
        "bias_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
        "direct_learning_rate": [Interval(Real, 0, MAX_REAL, closed="right")],
    }

    def __init__(
        self,
        decay: Decay = "linear",
        warmup_steps: int = 100,
        plateau: tuple[int, float] | list[float] | None = None,
        average: bool = False,
        bias_learning_rate: float = 1.0,
        direct_learning_rate: float = 1.0,
    ) -> None:
        super().__init__(decay, warmup_steps, plateau, average)
        self.bias_learning_rate = bias_learning_rate
        self.direct_learning_rate = direct_learning_rate


def as_regularization(value: Regularization | str | None) -> Regularization:
    """Return the value of ``regularization``; None disables everything."""
    return as_bundle(value, Regularization(), Regularization(0.0, 0.0, 0.0, 0.0, None))


def schedule_of(estimator: Any) -> Schedule:
    """Return the schedule of an estimator."""
    return as_schedule(estimator.schedule, LanguageSchedule())


def stopping_of(estimator: Any) -> EarlyStopping | None:
    """Return the early stopping of an estimator, if it has any."""
    return as_early_stopping(estimator.early_stopping, _EARLY_STOPPING)


def learning_rate_factors(schedule: Schedule) -> dict[str, float]:
    """Return the factors of the learning rates of the hidden bias and of direct connections."""
    if not isinstance(schedule, LanguageSchedule):
        return {HIDDEN_BIAS: 1.0, DIRECT: 1.0}
    return {
        HIDDEN_BIAS: float(schedule.bias_learning_rate),
        DIRECT: float(schedule.direct_learning_rate),
    }


Auto: TypeAlias = Literal["auto"]
_LEARNING_RATES: Final[dict[OptimizerName, float]] = {"adagrad": 0.5, "adam": 0.002}
_SGD_LEARNING_RATE = 0.25  # multiplied by the square root of the batch size
_EPOCHS = 5  # with the linear schedule, more epochs overfit for any size of text
_STEPS = 128  # approximate number of steps per epoch, if the batch size allows
_LOG_BATCH_SIZES = 5, 9  # 32 to 512
# factor after fit: sentences from another domain then cost the old text at most 3 %
PARTIAL_FIT_RATE = 1 / 12
# Factors after fit: the lowest, with the same cost in five epochs, and that for equal sizes
_WARM_START_RATES = 1 / 32, 1 / 4


def auto_settings(
    estimator: Any, n_windows: int, batch_size: int | None, rate_factor: float = 1.0
) -> dict[str, Any]:
    """Return the settings of a training; ``batch_size`` is the previous one, if there is any."""
    if estimator.batch_size != "auto":
        batch_size = int(estimator.batch_size)
    # the optimizer's state depends on it, so a net keeps its first batch size
    elif batch_size is None:
        batch_size = int(2 ** np.clip(np.round(np.log2(n_windows / _STEPS)), *_LOG_BATCH_SIZES))
    learning_rate = estimator.learning_rate
    if learning_rate == "auto":
        sgd_rate = _SGD_LEARNING_RATE * sqrt(min(batch_size, n_windows))
        learning_rate = _LEARNING_RATES.get(estimator.optimizer, sgd_rate) * rate_factor
    max_grad_norm = as_regularization(estimator.regularization).max_grad_norm
    return {
        "learning_rate": float(learning_rate),
        "max_epochs": _EPOCHS if estimator.max_epochs == "auto" else int(estimator.max_epochs),
        "batch_size": batch_size,
        "schedule": schedule_of(estimator),
        "early_stopping": stopping_of(estimator),
        "max_grad_norm": None if max_grad_norm is None else float(max_grad_norm),
    }


def small_network(estimator: Any) -> dict[str, Any]:
    """Return the parameters of the network that ``tree="learned"`` trains first."""
    limits = callbacks_of_kind(estimator.callbacks or (), TimeLimit)
    max_grad_norm = as_regularization(estimator.regularization).max_grad_norm
    return {name: getattr(estimator, name) for name in _SMALL_PARAMETERS} | {
        "embedding_dim": min(estimator.embedding_dim, _SMALL_EMBEDDING),
        "hidden_size": min(estimator.hidden_size, _SMALL_HIDDEN),
        "tree": "cluster",
        "max_epochs": _SMALL_EPOCHS,
        "schedule": Schedule("linear", schedule_of(estimator).warmup_steps),
        "regularization": Regularization(0.25, 0.0, max_grad_norm=max_grad_norm),
        "callbacks": [TimeLimit(_SMALL_TIME * limit.seconds) for limit in limits],
    }


def warm_start_rate(n_windows: int, n_before: int) -> float:
    """Return the learning rate's factor for training on ``n_windows`` after ``n_before`` others."""
    lowest, equal_sizes = _WARM_START_RATES
    return min(max(equal_sizes * (n_windows / n_before) ** 2, lowest), 1.0) if n_before else 1.0


_PARAMETERS: Final = {"dropout": "regularization"} | dict.fromkeys(
    ("hashed_words", "projected_words", "ngram_rows", "padding_id"), "embedding"
)
"""Names of the parameters that determine an architecture's values, if they differ from the key."""


EMBEDDINGS: Final[dict[str, tuple[int, ...]]] = {
    "table": (),
    "ngrams": (2**18,),
    "hash": (10**6, 10**5),
    "sgnn": (80, 14),
}
"""The kinds of word embeddings and their sizes: rows; rows of importance table and pool;
projections and their bits."""


def embedding_architecture(estimator: Any, hash_seed: int) -> dict[str, Any]:
    """Return the part of an architecture that the parameter ``embedding`` determines."""
    name, sizes = split_sizes(estimator.embedding, EMBEDDINGS)
    values: dict[str, Any] = {"hashed_words": None, "projected_words": None, "ngram_rows": None}
    if name == "hash":
        names = "num_embeddings", "num_buckets", "embedding_dim", "seed"
        values["hashed_words"] = dict(
            zip(names, (*sizes, int(estimator.embedding_dim), hash_seed), strict=True)
        )
    elif name == "sgnn":
        values["projected_words"] = {
            "n_projections": sizes[0],
            "n_bits": sizes[1],
            "seed": hash_seed,
        }
    elif name == "ngrams":
        values["ngram_rows"] = sizes[0]
    return values


def language_architecture(estimator: Any, vocabulary: Vocabulary, hash_seed: int) -> dict[str, Any]:
    """Return the architecture of a network as values for JSON."""
    embedding = embedding_architecture(estimator, hash_seed)
    reads_any_word = embedding["ngram_rows"] is None and any(embedding.values())
    direct = estimator.direct_connections
    hidden_layer, n_blocks = split_sizes(estimator.hidden_layer, HIDDEN_LAYERS)
    regularization = as_regularization(estimator.regularization)
    start_token = vocabulary.special_tokens.start
    return {
        "num_words": len(vocabulary),
        "num_classes": vocabulary.n_classes,
        "order": int(estimator.order),
        "embedding_dim": int(estimator.embedding_dim),
        "hidden_size": int(estimator.hidden_size),
        "output": estimator.output,
        "direct_connections": _hashed_direct(direct) if is_hashed(direct) else bool(direct),
        "hash_seed": hash_seed,
        "hidden_layer": [hidden_layer, *n_blocks] if n_blocks else hidden_layer,
        "dropout": [
            float(regularization.dropout),
            float(regularization.embedding_dropout),
            float(regularization.word_dropout),
        ],
        "init": estimator.init,
        "padding_id": int(hash_words([start_token])[0]) if reads_any_word else vocabulary.start_id,
        **embedding,
        "far_context": int(estimator.far_context),
    }


def check_parameters(estimator: Any) -> None:
    """Check what the declared constraints cannot express."""
    name, stopping = type(estimator).__name__, stopping_of(estimator)
    check_training_parameters(estimator)
    _check_network_parameters(estimator)
    Checkpoints.of(estimator)
    if stopping is not None and stopping.monitor != "valid_loss":
        raise ValueError(
            f"{name}(early_stopping={stopping!r}) has no accuracy to monitor. Set "
            "EarlyStopping('valid_loss', ...)."
        )
    if estimator.resume and schedule_of(estimator).average:
        raise ValueError(
            f"{name}(resume=True) cannot continue an average of weights, which checkpoints do not "
            "hold. Set schedule__average=False."
        )


def _check_network_parameters(estimator: Any) -> None:
    """Check the parameters that determine the network, beyond their declared constraints."""
    name, direct = type(estimator).__name__, estimator.direct_connections
    check_sizes(estimator.hidden_layer, HIDDEN_LAYERS, parameter="hidden_layer", caller=name)
    check_sizes(estimator.embedding, EMBEDDINGS, parameter="embedding", caller=name)
    if is_hashed(direct):
        check_sizes(
            direct,
            HASHED_DIRECT,
            parameter="direct_connections",
            caller=name,
            besides=(False, True),
        )
        if estimator.output != "hsigmoid":
            raise ValueError(
                f"{name}(direct_connections={direct!r}) needs output='hsigmoid', where a word has "
                f"the scores of a path and not of all words. Got output={estimator.output!r}; set "
                "direct_connections=True or False."
            )
    if estimator.output == "tied_softmax" and (estimator.embedding != "table" or direct):
        raise ValueError(
            f"{name}(output='tied_softmax') needs embedding='table' and direct_connections=False, "
            f"got {estimator.embedding!r} and {direct!r}. Set these, or output='softmax'."
        )


def is_hashed(direct_connections: Any) -> bool:
    """Return whether direct connections are hashed."""
    return isinstance(direct_connections, str | tuple | list)


def _hashed_direct(direct_connections: Any) -> list[Any]:
    name, sizes = split_sizes(direct_connections, HASHED_DIRECT)
    return [name, *sizes]


def check_same_network(estimator: Any, net: Any, tokenizer: Tokenizer) -> None:
    """Check that training can continue with a trained net."""
    reading = _reading(tokenizer.padding, tokenizer.special_tokens, tokenizer.far.across_sentences)
    trained = net.get_params_for("module")["architecture"] | reading
    wanted = language_architecture(estimator, tokenizer.vocabulary, trained["hash_seed"])
    wanted |= _reading(
        estimator.padding, SpecialTokens.of(estimator), FarContext.of(estimator).across_sentences
    )
    check_unchanged(estimator, wanted, trained, device=net.device, parameters=_PARAMETERS)


def _reading(padding: str, special_tokens: SpecialTokens, across_sentences: bool) -> dict[str, Any]:
    """Return the parameters that determine the windows of a sentence."""
    return {
        "padding": padding,
        "across_sentences": across_sentences,
        "special_tokens": special_tokens,
    }


def check_same_training(
    estimator: Any,
    model: Any,
    corpus: TrainingData,
    checkpoints: Checkpoints,
    stopping: EarlyStopping | None,
) -> None:
    """Check that the resumed training gives the result of an uninterrupted one."""
    own, others = ({"optimizer": one.optimizer, "tree": one.tree} for one in (estimator, model))
    check_unchanged(estimator, own, others)
    if corpus.tokenizer.vocabulary.words != model._tokenizer.vocabulary.words:
        raise cannot_continue(
            estimator, "on these words", "on others", "Give the same sentences and vocabulary"
        )
    if model._trained_on not in (None, corpus.windows.digest()):
        remedy = (
            "Give the same ones in the same order (each fold of a cross-validation needs a folder "
            "of its own)"
        )
        raise cannot_continue(estimator, "on these sentences", "on others", remedy)
    history, first = model.history_, model._first_epoch
    if any(
        ("valid_loss" in entry) != (corpus.valid_windows is not None) for entry in history[first:]
    ):
        now, then = ("with", "without") if corpus.valid_windows is not None else ("without", "with")
        remedy = "Give X_valid and early_stopping as then"
        raise cannot_continue(estimator, f"{now} validation sentences", f"{then} them", remedy)
    best = best_epoch(history, first)
    if stopping is not None and stopping.restore_best and best not in checkpoints.epochs():
        raise ValueError(
            f"{type(estimator).__name__}: checkpoint_dir={str(checkpoints.folder)!r} lacks "
            f"{checkpoints.path(best).name}, the best epoch, which early_stopping restores. Train "
            "anew in another folder, or set early_stopping=False and give the same X_valid."
        )
