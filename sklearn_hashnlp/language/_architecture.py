"""The network of a language model, built from its architecture."""

from __future__ import annotations

from typing import Any, Final

from sklearn_hashnlp._named_sizes import check_sizes, split_sizes
from sklearn_hashnlp.language._bundles import as_regularization
from sklearn_hashnlp.language._reader import Tokenizer
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
from sklearn_hashnlp.nn._layers import SteadyLinear
from sklearn_hashnlp.nn._nplm import HASHED_DIRECT, HIDDEN_LAYERS
from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding

_OWN_KEYS = "hashed_words", "projected_words", "hash_seed"  # all other keys of an architecture are arguments of NPLM
_PARAMETERS: Final = {"hashed_words": "embedding", "projected_words": "embedding", "padding_id": "embedding"} | {
    "dropout": "regularization"
}
"""Names of the parameters that determine an architecture's values, if they differ from the key."""


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Build the network of an architecture."""
    embedding = _make_embedding(architecture)
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


def _make_embedding(architecture: dict[str, Any]) -> HashEmbedding | ProjectedEmbedding | None:
    hashed, projected = architecture["hashed_words"], architecture["projected_words"]
    if hashed is not None:
        return HashEmbedding(**hashed, append_weight=False, sparse=True)
    if projected is not None:
        return ProjectedEmbedding(projected["n_projections"] * projected["n_bits"], architecture["embedding_dim"])
    return None


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
        "padding_id": vocabulary.start_id if embedding == "table" else int(hash_words([start_token])[0]),
        "hashed_words": hashed,
        "projected_words": projected,
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
    name = type(estimator).__name__
    reading = _reading(tokenizer.padding, tokenizer.special_tokens, tokenizer.far.across_sentences)
    trained = net.get_params_for("module")["architecture"] | reading
    wanted = language_architecture(estimator, tokenizer.vocabulary, trained["hash_seed"])
    wanted |= _reading(estimator.padding, SpecialTokens.of(estimator), FarContext.of(estimator).across_sentences)
    for key, value in wanted.items():
        if trained[key] != value:
            parameter = _PARAMETERS.get(key, key)
            raise ValueError(
                f"{name} cannot continue training a net that was made with another {parameter!r} than "
                f"{getattr(estimator, parameter)!r}. Set it back, or start a new training with warm_start=False and "
                "another checkpoint_dir."
            )
    if estimator.device not in ("auto", net.device):
        raise ValueError(
            f"{name}(device={estimator.device!r}) cannot continue training a net that is on {net.device!r}. Set "
            f"device={net.device!r}, or start a new training with warm_start=False and another checkpoint_dir."
        )


def _reading(padding: str, special_tokens: SpecialTokens, across_sentences: bool) -> dict[str, Any]:
    """Return the parameters that determine the windows of a sentence."""
    return {"padding": padding, "across_sentences": across_sentences, "special_tokens": special_tokens}
