"""The options of ``hashnlp lm``: the kinds of networks, and what its commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class OutputLayer(StrEnum):
    """How a word is told from all others."""

    hsigmoid = "hsigmoid"
    softmax = "softmax"
    adaptive = "adaptive"


class TreeKind(StrEnum):
    """The trees of a hierarchical softmax."""

    huffman = "huffman"
    cluster = "cluster"
    binary_cluster = "binary_cluster"
    complete = "complete"
    balanced = "balanced"
    random = "random"
    two_level = "two_level"


class DirectConnections(StrEnum):
    """What the output layer reads beside the hidden layer."""

    none = "none"
    dense = "dense"
    hashed = "hashed"


class Activation(StrEnum):
    """Of the hidden layer."""

    tanh = "tanh"
    sigmoid = "sigmoid"


class Init(StrEnum):
    """How word vectors and hidden layer start."""

    default = "default"
    uniform = "uniform"
    reference = "reference"


class Embedding(StrEnum):
    """Where word vectors come from."""

    table = "table"
    hash = "hash"
    sgnn = "sgnn"


class Padding(StrEnum):
    """What contexts at the beginning of a sentence look like."""

    full = "full"
    reference = "reference"


class Optimizer(StrEnum):
    """Who takes the steps."""

    adagrad = "adagrad"
    adam = "adam"


class Schedule(StrEnum):
    """What becomes of the step size."""

    constant = "constant"
    linear = "linear"


class Keep(StrEnum):
    """Which passes stay in the checkpoint folder."""

    best = "best"
    last = "last"
    all = "all"


class Search(StrEnum):
    """How the next word is found in a tree."""

    exact = "exact"
    greedy = "greedy"


LanguageModelFolder = Annotated[
    Path,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="Folder of the model; also a pass of a checkpoint folder, such as passes/pass-00003.",
        show_default=False,
    ),
]
