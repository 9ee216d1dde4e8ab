"""The sentence encoder; the name loads torch on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["SGNNSentenceEncoder"]

if TYPE_CHECKING:
    from sklearn_hashnlp.sentences._sgnn_sentence_encoder import SGNNSentenceEncoder
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_sgnn_sentence_encoder": ["SGNNSentenceEncoder"],
        },
    )
