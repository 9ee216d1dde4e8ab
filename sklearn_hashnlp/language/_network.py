"""What the network of a language model is made of."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.language._reader import CorpusReader
from sklearn_hashnlp.language._vocabulary import BEGIN, Vocabulary
from sklearn_hashnlp.language._word_codes import HashedWords, OpenWords, ProjectedWords, hash_words
from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._layers import SteadyLinear
from sklearn_hashnlp.nn._word_embeddings import ProjectedEmbedding

_WORDS = ("hashed_words", "projected_words")


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Make the network."""
    embedding = _make_embedding(architecture)
    network = NPLM(
        **{name: value for name, value in architecture.items() if name not in _WORDS},
        tree=tree,
        embedding=embedding,
        sparse=True,
    )
    network.hidden_layer = SteadyLinear(network.hidden_layer)  # the tree's kernel takes row by row anyway
    if isinstance(embedding, ProjectedEmbedding):
        embedding.linear = SteadyLinear(embedding.linear)
    return network


def _make_embedding(architecture: dict[str, Any]) -> HashEmbedding | ProjectedEmbedding | None:
    hashed, projected = architecture["hashed_words"], architecture.get("projected_words")
    if hashed is not None:
        return HashEmbedding(**hashed, append_weight=False, sparse=True)
    if projected is not None:
        return ProjectedEmbedding(projected["n_projections"] * projected["n_bits"], architecture["embedding_dim"])
    return None


def language_architecture(estimator: Any, vocabulary: Vocabulary, hash_seed: int) -> dict[str, Any]:
    """Say what a network is made of."""
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
        "padding_id": vocabulary.begin if estimator.embedding == "table" else int(hash_words([BEGIN])[0]),
        "hashed_words": hashed,
        "projected_words": projected,
    }


def open_words_of(architecture: dict[str, Any]) -> OpenWords | None:
    """Return what the contexts of a network show."""
    if architecture["hashed_words"] is not None:
        return HashedWords()
    projected = architecture.get("projected_words")  # models of before it was there hold none
    return None if projected is None else ProjectedWords(**projected)


def check_same_network(estimator: Any, net: Any, reader: CorpusReader) -> None:
    """Check that training can go on with a net that is there."""
    name = type(estimator).__name__
    made_of = net.get_params_for("module")["architecture"] | {"padding": reader.padding}
    wanted = language_architecture(estimator, reader.vocabulary, made_of["direct_seed"])
    for key, value in (wanted | {"padding": estimator.padding}).items():
        if made_of.get(key) != value:  # models of before there were projected words say nothing of them
            parameter = "embedding" if key in (*_WORDS, "padding_id") else key
            if key == "projected_words" and value is not None and made_of.get(key) is not None:
                parameter = next(name for name in value if made_of[key][name] != value[name])
            raise ValueError(
                f"{name} cannot go on with a trained net that was made with another {parameter!r} than "
                f"{getattr(estimator, parameter)!r}. Set it back, or start anew with warm_start=False and another "
                "checkpoint_dir."
            )
    if estimator.device not in ("auto", net.device):
        raise ValueError(
            f"{name}(device={estimator.device!r}) cannot go on with a trained net that is on {net.device!r}. Set "
            f"device={net.device!r}, or start anew with warm_start=False and another checkpoint_dir."
        )
