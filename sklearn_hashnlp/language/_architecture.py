"""The network of a language model, built from its architecture, and checks before a training is resumed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from skorch.callbacks import Callback

from sklearn_hashnlp._named_sizes import check_sizes, split_sizes
from sklearn_hashnlp.language._bundles import as_regularization
from sklearn_hashnlp.language._reader import Tokenizer, TrainingData
from sklearn_hashnlp.language._vocabulary import (
    EMBEDDINGS,
    HashEncoder,
    ProjectionEncoder,
    SpecialTokens,
    Vocabulary,
    WordEncoder,
    hash_words,
)
from sklearn_hashnlp.language._windows import FarContext
from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._layers import SeededDropout, SteadyLinear
from sklearn_hashnlp.nn._nplm import HASHED_DIRECT, HIDDEN_LAYERS
from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding
from sklearn_hashnlp.nn.ngrams._ngram_word_table import NgramWordTable
from sklearn_hashnlp.training._check_unchanged import cannot_continue, check_unchanged
from sklearn_hashnlp.training._checkpoints import Checkpoints, best_epoch

_OWN_KEYS = (
    "hashed_words",
    "projected_words",
    "ngram_rows",
    "hash_seed",
)  # all other keys of an architecture are arguments of NPLM
_PARAMETERS: Final = {"dropout": "regularization"} | dict.fromkeys(
    ("hashed_words", "projected_words", "ngram_rows", "padding_id"), "embedding"
)
"""Names of the parameters that determine an architecture's values, if they differ from the key."""


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Build the network of an architecture."""
    hashed, projected = architecture["hashed_words"], architecture["projected_words"]
    embedding: HashEmbedding | ProjectedEmbedding | NgramWordTable | None = None
    if hashed is not None:
        embedding = HashEmbedding(**hashed, append_weight=False, sparse=True)
    elif projected is not None:
        n_features = projected["n_projections"] * projected["n_bits"]
        embedding = ProjectedEmbedding(n_features, architecture["embedding_dim"])
    elif architecture["ngram_rows"] is not None:
        names = "num_words", "embedding_dim", "ngram_rows", "padding_id", "hash_seed"
        embedding = NgramWordTable(*(architecture[name] for name in names))
    arguments = {name: value for name, value in architecture.items() if name not in _OWN_KEYS}
    if isinstance(arguments["direct_connections"], list):
        arguments["direct_connections"] = [*arguments["direct_connections"], architecture["hash_seed"]]
    if tree is not None:
        arguments["output"] = tree
    network = NPLM(**arguments, embedding=embedding, sparse=True)
    network.hidden_layer = SteadyLinear(network.hidden_layer)  # the tree kernel computes each row separately anyway
    if isinstance(embedding, ProjectedEmbedding):
        embedding.linear = SteadyLinear(embedding.linear)
    return network


def language_architecture(estimator: Any, vocabulary: Vocabulary, hash_seed: int) -> dict[str, Any]:
    """Return the architecture of a network as values for JSON."""
    hashed, projected = None, None
    embedding, sizes = split_sizes(estimator.embedding, EMBEDDINGS)
    if embedding == "hash":
        hashed = {
            "num_embeddings": sizes[0],
            "num_buckets": sizes[1],
            "embedding_dim": int(estimator.embedding_dim),
            "seed": hash_seed,
        }
    elif embedding == "sgnn":
        projected = {"n_projections": sizes[0], "n_bits": sizes[1], "seed": hash_seed}
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
        "padding_id": int(hash_words([start_token])[0]) if hashed or projected else vocabulary.start_id,
        "hashed_words": hashed,
        "projected_words": projected,
        "ngram_rows": sizes[0] if embedding == "ngrams" else None,
        "far_context": int(estimator.far_context),
    }


def check_network_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator that determine the network, beyond their declared constraints."""
    name, direct = type(estimator).__name__, estimator.direct_connections
    check_sizes(estimator.hidden_layer, HIDDEN_LAYERS, parameter="hidden_layer", caller=name)
    check_sizes(estimator.embedding, EMBEDDINGS, parameter="embedding", caller=name)
    if is_hashed(direct):
        check_sizes(direct, HASHED_DIRECT, parameter="direct_connections", caller=name, besides=(False, True))
        if estimator.output != "hsigmoid":
            raise ValueError(
                f"{name}(direct_connections={direct!r}) needs output='hsigmoid', where a word has the scores of a path "
                f"and not of all words. Got output={estimator.output!r}; set direct_connections=True or False."
            )
    if estimator.output == "tied_softmax" and (estimator.embedding != "table" or direct):
        raise ValueError(
            f"{name}(output='tied_softmax') needs embedding='table' and direct_connections=False, got "
            f"{estimator.embedding!r} and {direct!r}. Set these, or output='softmax'."
        )


def is_hashed(direct_connections: Any) -> bool:
    """Return whether direct connections are hashed."""
    return isinstance(direct_connections, str | tuple | list)


def _hashed_direct(direct_connections: Any) -> list[Any]:
    name, sizes = split_sizes(direct_connections, HASHED_DIRECT)
    return [name, *sizes]


def word_encoder_of(architecture: dict[str, Any]) -> WordEncoder | None:
    """Return the encoder of the words in a network's contexts."""
    if architecture["hashed_words"] is not None:
        return HashEncoder()
    projected = architecture["projected_words"]
    return None if projected is None else ProjectionEncoder(**projected)


def check_same_network(estimator: Any, net: Any, tokenizer: Tokenizer) -> None:
    """Check that training can continue with a trained net."""
    reading = _reading(tokenizer.padding, tokenizer.special_tokens, tokenizer.far.across_sentences)
    trained = net.get_params_for("module")["architecture"] | reading
    wanted = language_architecture(estimator, tokenizer.vocabulary, trained["hash_seed"])
    wanted |= _reading(estimator.padding, SpecialTokens.of(estimator), FarContext.of(estimator).across_sentences)
    check_unchanged(estimator, wanted, trained, device=net.device, parameters=_PARAMETERS)


def _reading(padding: str, special_tokens: SpecialTokens, across_sentences: bool) -> dict[str, Any]:
    """Return the parameters that determine the windows of a sentence."""
    return {"padding": padding, "across_sentences": across_sentences, "special_tokens": special_tokens}


def check_same_training(estimator: Any, model: Any, corpus: TrainingData, checkpoints: Checkpoints) -> None:
    """Check that the resumed training gives the result of an uninterrupted one."""
    own, others = ({"optimizer": one.optimizer, "tree": one.tree} for one in (estimator, model))
    check_unchanged(estimator, own, others)
    if corpus.tokenizer.vocabulary.words != model._tokenizer.vocabulary.words:
        raise cannot_continue(estimator, "on these words", "on others", "Give the same sentences and vocabulary")
    if model._trained_on not in (None, corpus.windows.digest()):
        remedy = "Give the same ones in the same order (each fold of a cross-validation needs a folder of its own)"
        raise cannot_continue(estimator, "on these sentences", "on others", remedy)
    history, first = model.history_, model._first_epoch
    if any(("valid_loss" in entry) != (corpus.valid_windows is not None) for entry in history[first:]):
        now, then = ("with", "without") if corpus.valid_windows is not None else ("without", "with")
        remedy = "Give X_valid and early_stopping as then"
        raise cannot_continue(estimator, f"{now} validation sentences", f"{then} them", remedy)
    best = best_epoch(history, first)
    if estimator.early_stopping and best not in checkpoints.epochs():
        raise ValueError(
            f"{type(estimator).__name__}: checkpoint_dir={str(checkpoints.folder)!r} lacks "
            f"{checkpoints.path(best).name}, the best epoch, which early_stopping restores. Train anew in another "
            "folder, or set early_stopping=False and give the same X_valid."
        )


class SeedEpochs(Callback):  # type: ignore[misc]  # skorch has no types
    """Seed the order and dropout of every epoch by the training's seed and the epoch's number."""

    def __init__(self, seed: int, generator: np.random.Generator) -> None:
        self.seed = seed
        self.generator = generator

    def on_epoch_begin(self, net: Any, **_: Any) -> None:
        """Seed the generators."""
        layers = _dropout_layers(net)
        order_seed, *seeds = np.random.SeedSequence((self.seed, len(net.history))).generate_state(1 + len(layers))
        self.generator.bit_generator.state = np.random.default_rng(order_seed).bit_generator.state
        for layer, seed in zip(layers, seeds, strict=True):
            if net.device_type == "cpu":
                layer.generator = np.random.default_rng(seed)
            else:
                layer.generator = torch.Generator(net.device).manual_seed(int(seed))

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Remove the generators."""
        for layer in _dropout_layers(net):
            layer.generator = None


def _dropout_layers(net: Any) -> list[SeededDropout]:
    module = net.module_
    layers = [module.dropout, module.embedding_dropout, module.word_dropout]
    return [*layers, module.embedding.dropout] if isinstance(module.embedding, NgramWordTable) else layers
