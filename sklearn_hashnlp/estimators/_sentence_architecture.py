"""What the network of a sentence encoder is made of."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from sklearn_hashnlp.nn import MaskedWordHead, SentenceNetwork, SGNNTransformer, WordBatch


class SentenceModule(nn.Module):
    """A network, and what only its training needs."""

    def __init__(self, network: SentenceNetwork, *, masked_words: bool) -> None:
        super().__init__()
        self.network = network
        self.masked_head: MaskedWordHead | None = None
        if masked_words and network.transformer is not None:
            self.masked_head = MaskedWordHead(network.transformer.width)

    def forward(self, batch: WordBatch) -> Tensor:
        """Make the vectors of sentences."""
        vectors: Tensor = self.network(batch)
        return vectors


def make_sentence_module(architecture: dict[str, Any]) -> SentenceModule:
    """Make the network with fresh weights."""
    network = SentenceNetwork(
        SGNNTransformer(**architecture["transformer"]), architecture["spelling_width"], architecture["context_share"]
    )
    if network.transformer is not None and network.transformer.tables is not None:
        # They are learned from counts of words, before sentences are learned from.
        network.transformer.tables.requires_grad_(False)
    return SentenceModule(network, masked_words=architecture["masked_words"])


def sentence_architecture(estimator: Any) -> dict[str, Any]:
    """Say what a network is made of."""
    share, masked = float(estimator.context_share), estimator.masked_weight
    return {
        "transformer": {
            "n_features": int(estimator.n_projections) * int(estimator.n_bits),
            "width": int(estimator.width),
            "n_layers": int(estimator.n_layers),
            "n_heads": int(estimator.n_heads),
            "feedforward_size": int(estimator.feedforward_size),
            "pooling": estimator.pooling,
            "pooling_width": None if estimator.pooling_width is None else int(estimator.pooling_width),
            "depths": int(estimator.depths),
            "positions": bool(estimator.positions),
            "n_tables": int(estimator.n_tables),
            "table_bits": int(estimator.table_bits),
            "dropout": float(estimator.dropout),
            "start": estimator.start,
        },
        "spelling_width": int(estimator.spelling_width),
        "context_share": share,
        "masked_words": bool(share > 0 and (any(masked) if isinstance(masked, tuple | list) else masked)),
    }
