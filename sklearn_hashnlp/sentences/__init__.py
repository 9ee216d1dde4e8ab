"""Sentence encoders; the names load torch on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["DistilledSentenceEncoder", "Network", "Objectives", "SGNNSentenceEncoder"]

if TYPE_CHECKING:
    from sklearn_hashnlp.sentences._bundles import Network, Objectives
    from sklearn_hashnlp.sentences._distilled_sentence_encoder import DistilledSentenceEncoder
    from sklearn_hashnlp.sentences._sgnn_sentence_encoder import SGNNSentenceEncoder
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_bundles": ["Network", "Objectives"],
            "_distilled_sentence_encoder": ["DistilledSentenceEncoder"],
            "_sgnn_sentence_encoder": ["SGNNSentenceEncoder"],
        },
    )
