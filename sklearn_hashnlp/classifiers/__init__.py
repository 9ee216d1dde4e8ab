"""Classifiers of texts, of sparse rows and of projected rows; torch is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "AugmentedTextClassifier",
    "EmbeddingTables",
    "HashEmbeddingClassifier",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "TextClassifier",
    "export_predictor",
    "from_fasttext",
    "make_text_classifier",
    "merge_classifiers",
    "quantize_classifier",
    "tune_text_classifier",
]

if TYPE_CHECKING:
    from sklearn_hashnlp.classifiers._augmented_text_classifier import AugmentedTextClassifier
    from sklearn_hashnlp.classifiers._from_fasttext import from_fasttext
    from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
    from sklearn_hashnlp.classifiers._make_text_classifier import make_text_classifier
    from sklearn_hashnlp.classifiers._quantized_sgnn_classifier import QuantizedSGNNClassifier, quantize_classifier
    from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
    from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
    from sklearn_hashnlp.classifiers.export._export_predictor import export_predictor
    from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
    from sklearn_hashnlp.classifiers.merging._merge import merge_classifiers
    from sklearn_hashnlp.classifiers.tuning._tune_text_classifier import tune_text_classifier
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_augmented_text_classifier": ["AugmentedTextClassifier"],
            "export._export_predictor": ["export_predictor"],
            "hash_embedding._embedding_tables": ["EmbeddingTables"],
            "_from_fasttext": ["from_fasttext"],
            "_hash_embedding_classifier": ["HashEmbeddingClassifier"],
            "_make_text_classifier": ["make_text_classifier"],
            "merging._merge": ["merge_classifiers"],
            "_quantized_sgnn_classifier": ["QuantizedSGNNClassifier", "quantize_classifier"],
            "_sgnn_classifier": ["SGNNClassifier"],
            "_text_classifier": ["TextClassifier"],
            "tuning._tune_text_classifier": ["tune_text_classifier"],
        },
    )
