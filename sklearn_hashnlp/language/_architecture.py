"""The network of a language model, from its architecture."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.language._vocabulary import SpecialTokens, Vocabulary
from sklearn_hashnlp.language._windows import FarContext
from sklearn_hashnlp.language._word_codes import HashEncoder, ProjectionEncoder, WordEncoder, hash_words
from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._reproducible_layers import SteadyLinear
from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding

WordEmbedding: TypeAlias = Literal["table", "hash", "sgnn"]

_EMBEDDINGS = ("hashed_words", "projected_words")  # the other keys of an architecture are arguments of NPLM


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Build the network of an architecture."""
    embedding = _make_embedding(architecture)
    network = NPLM(
        **{name: value for name, value in architecture.items() if name not in _EMBEDDINGS},
        tree=tree,
        embedding=embedding,
        sparse=True,
    )
    network.hidden_layer = SteadyLinear(network.hidden_layer)  # the tree's kernel reads row by row anyway
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
    """Return the architecture of a network, as values for JSON."""
    hashed, projected = None, None
    if estimator.embedding == "hash":
        hashed = {
            "num_embeddings": int(estimator.n_embeddings),
            "num_buckets": int(estimator.n_buckets),
            "embedding_dim": int(estimator.embedding_dim),
            "seed": hash_seed,
        }
    elif estimator.embedding == "sgnn":
        projected = {
            "n_projections": int(estimator.n_projections),
            "n_bits": int(estimator.n_bits),
            "seed": hash_seed,
        }
    direct = estimator.direct_connections
    start_token = vocabulary.special_tokens.start
    return {
        "num_words": len(vocabulary),
        "num_classes": vocabulary.n_classes,
        "order": int(estimator.order),
        "embedding_dim": int(estimator.embedding_dim),
        "hidden_size": int(estimator.hidden_size),
        "output": estimator.output,
        "direct_connections": direct if direct == "hashed" else bool(direct),
        "n_direct": int(estimator.n_direct),
        "direct_seed": hash_seed,
        "activation": estimator.activation,
        "dropout": float(estimator.dropout),
        "embedding_dropout": float(estimator.embedding_dropout),
        "init": estimator.init,
        "padding_id": vocabulary.start_id if estimator.embedding == "table" else int(hash_words([start_token])[0]),
        "hashed_words": hashed,
        "projected_words": projected,
        "arch": estimator.arch,
        "n_blocks": int(estimator.n_blocks),
        "far_context": int(estimator.far_context),
        "word_dropout": float(estimator.word_dropout),
        "tie_weights": bool(estimator.tie_weights),
    }


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
    wanted = language_architecture(estimator, tokenizer.vocabulary, trained["direct_seed"])
    wanted |= _reading(estimator.padding, SpecialTokens.of(estimator), FarContext.of(estimator).across_sentences)
    for key, value in wanted.items():
        if trained[key] != value:
            parameter = "embedding" if key in (*_EMBEDDINGS, "padding_id") else key
            if key == "projected_words" and value is not None and trained[key] is not None:
                parameter = next(name for name in value if trained[key][name] != value[name])
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
    """Return the parameters that say how sentences are read."""
    tokens = {f"{name}_token": token for name, token in special_tokens._asdict().items()}
    return {"padding": padding, "across_sentences": across_sentences} | tokens
