"""Settings of the recipes ``reversal`` and ``reversal-sgd``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.runner.settings import setting


@dataclass(frozen=True)
class ReversalSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    outputs: tuple[str, ...] = setting(("softmax", "hsigmoid"), "output layers to compare")
    arity: int = setting(
        2, "children of a node of the tree; with more than 2 the tree is as deep everywhere"
    )
    n_symbols: int = setting(1000, "symbols, without the end-of-string symbol")
    max_length: int = setting(4, "maximum number of symbols of a string")
    n_train: int = setting(3000, "training strings per epoch")
    n_validation: int = setting(50, "validation strings for the loss")
    n_test: int = setting(
        1000, "validation strings for the exact match; the number of test strings is the same"
    )
    epochs: int = setting(20, "epochs on fixed strings")
    stop_at: float = setting(0.98, "exact match at which training on fresh strings stops")
    max_epochs: int = setting(150, "maximum number of epochs on fresh strings; 0 leaves them out")
    batch_size: int = setting(16, "batch size; the reference has 1")
    optimizer: Literal["adam", "sgd"] = setting(
        "adam", "adam, or sgd on the summed loss of a string as the reference"
    )
    learning_rate: float = setting(0.003, "learning rate")
    init: Literal["torch", "glorot"] = setting(
        "torch", "initial weights: torch's, or glorot as the reference's library"
    )
    embeddings: Literal["normal", "tree", "other_tree"] = setting(
        "normal",
        "initial embeddings: normal; or what symbols below a node of the tree have in common, "
        "or those below a node of another random tree",
    )
    embedding_dim: int = setting(200, "embedding dimension")
    encoder_size: int = setting(210, "hidden size of the encoder")
    decoder_size: int = setting(210, "hidden size of the decoder")
    encoder_layers: int = setting(1, "LSTM layers of the encoder")
    decoder_layers: int = setting(1, "LSTM layers of the decoder")
    layer_repeats: int = setting(200, "timed steps of each output layer alone")
