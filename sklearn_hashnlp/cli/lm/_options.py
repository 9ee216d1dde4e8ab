"""Options of the commands of ``hashnlp lm``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ModelType(StrEnum):
    """Kind of language model."""

    network = "network"
    kneser_ney = "kneser-ney"


class OutputLayer(StrEnum):
    """Output layer of the network."""

    hsigmoid = "hsigmoid"
    softmax = "softmax"
    adaptive = "adaptive"


class TreeKind(StrEnum):
    """Tree of the hierarchical softmax."""

    huffman = "huffman"
    learned = "learned"
    cluster = "cluster"
    binary_cluster = "binary_cluster"
    complete = "complete"
    balanced = "balanced"
    random = "random"
    two_level = "two_level"


class DirectConnections(StrEnum):
    """Inputs of the output layer besides the hidden layer."""

    none = "none"
    dense = "dense"
    hashed = "hashed"


class Architecture(StrEnum):
    """Layers between the word embeddings and the output layer."""

    plain = "plain"
    modern = "modern"


class Activation(StrEnum):
    """Activation function of the hidden layer."""

    tanh = "tanh"
    sigmoid = "sigmoid"


class Init(StrEnum):
    """Initialization of the weights."""

    default = "default"
    uniform = "uniform"
    reference = "reference"


class Embedding(StrEnum):
    """Word embedding."""

    table = "table"
    hash = "hash"
    sgnn = "sgnn"


class Padding(StrEnum):
    """Padding of contexts at the beginning of a sentence."""

    full = "full"
    reference = "reference"


class Optimizer(StrEnum):
    """Optimizer."""

    adagrad = "adagrad"
    adam = "adam"
    sgd = "sgd"


class Schedule(StrEnum):
    """Learning rate schedule."""

    constant = "constant"
    linear = "linear"


class Keep(StrEnum):
    """Epochs that are kept in the checkpoint folder."""

    best = "best"
    all = "all"


class Search(StrEnum):
    """Search for the most probable word."""

    exact = "exact"
    greedy = "greedy"


LanguageModelFolder = Annotated[
    Path,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="Folder of the model, or of one epoch of a checkpoint folder, such as checkpoints/epoch-00003; or an ARPA "
        "file (.arpa, also compressed: .arpa.gz, .arpa.bz2, .arpa.xz, .arpa.zip).",
        show_default=False,
    ),
]
MaxLength = Annotated[int, typer.Option("--max-length", min=1, help="Maximum number of words of a sentence.")]
SampleSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="Random seed: same seed, same sentences. Default: other sentences each time.",
        show_default=False,
    ),
]
WordSearch = Annotated[
    Search,
    typer.Option(
        "--search",
        help="exact: the most probable word. greedy: the more probable branch at each node of the tree, which is "
        "faster and may give another word.",
    ),
]


def check_search(search: Search, top: int | None) -> None:
    """Raise an error for several words of a greedy search."""
    if top is not None and search is Search.greedy:
        raise typer.BadParameter("--top uses exact search; leave out --search greedy.")
