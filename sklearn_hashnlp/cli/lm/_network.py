"""The network of ``hashnlp lm train`` from the options of the command."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sklearn_hashnlp.cli.lm._options import Architecture, DirectConnections, Keep

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel

# The options that are parameters of the same name.
_PARAMETERS: Final = (
    *("order", "embedding_dim", "hidden_size", "tree", "far_context", "across_sentences", "init", "embedding"),
    *("min_count", "padding", "optimizer", "resume", "device"),
)
_REGULARIZATION: Final = "dropout", "embedding_dropout", "word_dropout", "weight_decay"
_DIRECT_CONNECTIONS: Final = {DirectConnections.none: False, DirectConnections.dense: True}


def make_network(given: dict[str, Any]) -> HsigmoidLanguageModel:
    """Make a network from options by their names; bundles of defaults are "auto"."""
    from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization

    options: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()
    }
    regularization = Regularization(
        **{name: options[name] for name in _REGULARIZATION}, max_grad_norm=options["max_grad_norm"] or None
    )
    schedule = LanguageSchedule(
        options["schedule"],
        options["warmup_steps"],
        bias_learning_rate=options["bias_learning_rate"],
        direct_learning_rate=options["direct_learning_rate"],
    )
    return HsigmoidLanguageModel(
        **{name: options[name] for name in _PARAMETERS},
        output="tied_softmax" if options["tie_weights"] else options["output"],
        direct_connections=_direct_connections(given["direct_connections"], options["n_direct"]),
        hidden_layer=_hidden_layer(given["arch"], options["n_blocks"], options["activation"]),
        max_features=options["max_vocabulary"],
        special_tokens=(options["start_token"], options["end_token"], options["unknown_token"]),
        regularization=_auto(regularization),
        learning_rate="auto" if options["learning_rate"] is None else options["learning_rate"],
        schedule=_auto(schedule),
        max_epochs="auto" if options["epochs"] is None else options["epochs"],
        batch_size="auto" if options["batch_size"] is None else options["batch_size"],
        early_stopping=_early_stopping(options) if options["early_stopping"] else False,
        checkpoint_dir=_checkpoints(options["checkpoint_dir"], given["keep"]),
        random_state=options["seed"],
    )


def callbacks_of(given: dict[str, Any]) -> list[Any]:
    """Make the callbacks of ``--max-time`` and ``--log-every``."""
    from sklearn_hashnlp.training import StepLog, TimeLimit

    callbacks: list[Any] = []
    if given["max_time"] is not None:
        callbacks.append(TimeLimit(given["max_time"]))
    if given["log_every"] is not None:
        callbacks.append(StepLog(given["log_every"]))
    return callbacks


def _auto(bundle: Any) -> Any:
    return "auto" if bundle == type(bundle)() else bundle


def _direct_connections(kind: DirectConnections, n_direct: int) -> Any:
    if kind is not DirectConnections.hashed:
        return _DIRECT_CONNECTIONS[kind]
    return "hashed" if n_direct == 2**22 else ("hashed", n_direct)


def _hidden_layer(arch: Architecture, n_blocks: int, activation: str) -> Any:
    if arch is Architecture.plain:
        return activation
    return "residual" if n_blocks == 1 else ("residual", n_blocks)


def _early_stopping(options: dict[str, Any]) -> Any:
    from sklearn_hashnlp.language._bundles import EARLY_STOPPING
    from sklearn_hashnlp.training import EarlyStopping

    stopping = EarlyStopping("valid_loss", options["patience"], options["validation_fraction"])
    return "valid_loss" if stopping == EARLY_STOPPING else stopping


def _checkpoints(folder: Any, keep: Keep) -> Any:
    if folder is None:
        return None
    return (str(folder), "all") if keep is Keep.all else str(folder)
