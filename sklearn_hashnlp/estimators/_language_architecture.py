"""What the network of a language model is made of."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.estimators._vocabulary import BEGIN, Vocabulary
from sklearn_hashnlp.estimators._word_windows import hash_words
from sklearn_hashnlp.nn import NPLM, HashEmbedding

_HASHED_WORDS = {"num_hashes": 2, "append_weight": False}


def make_nplm(architecture: dict[str, Any], tree: Any) -> NPLM:
    """Make the network.

    Parameters
    ----------
    architecture : dict
        JSON values: keyword arguments of :class:`NPLM`, and ``hashed_words``, None or keyword arguments of the
        :class:`HashEmbedding` that takes the place of its table.
    tree : SoftmaxTree or None
        Of the output layer.

    Returns
    -------
    NPLM
        The network, with fresh weights.
    """
    hashed = architecture["hashed_words"]
    return NPLM(
        **{name: value for name, value in architecture.items() if name != "hashed_words"},
        tree=tree,
        embedding=None if hashed is None else HashEmbedding(**hashed, **_HASHED_WORDS, sparse=True),
        sparse=True,
    )


def language_architecture(estimator: Any, vocabulary: Vocabulary, hash_seed: int) -> dict[str, Any]:
    """Say what a network is made of.

    Parameters
    ----------
    estimator : HsigmoidLanguageModel
        Its parameters count.
    vocabulary : Vocabulary
        The words.
    hash_seed : int
        Of the hash functions.

    Returns
    -------
    dict
        As :func:`make_nplm` takes it.
    """
    hashed = None
    if estimator.embedding == "hash":
        hashed = {
            "num_embeddings": int(estimator.n_embeddings),
            "num_buckets": int(estimator.n_buckets),
            "embedding_dim": int(estimator.embedding_dim),
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
        "padding_id": vocabulary.begin if hashed is None else int(hash_words([BEGIN])[0]),
        "hashed_words": hashed,
    }
