"""Saving and loading of models, without pickles, and of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "ModelFormatError",
    "load_model",
    "load_word_vectors",
    "save_model",
    "save_word_vectors",
]

if TYPE_CHECKING:
    from sklearn_hashnlp.persistence._model_folder import load_model, save_model
    from sklearn_hashnlp.persistence._values import ModelFormatError
    from sklearn_hashnlp.persistence._word_vectors import load_word_vectors, save_word_vectors
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_model_folder": ["load_model", "save_model"],
            "_values": ["ModelFormatError"],
            "_word_vectors": ["load_word_vectors", "save_word_vectors"],
        },
    )
