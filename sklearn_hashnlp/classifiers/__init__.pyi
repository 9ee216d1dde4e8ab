from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._make_text_classifier import make_text_classifier
from sklearn_hashnlp.classifiers._quantized_sgnn_classifier import (
    QuantizedSGNNClassifier,
    quantize_classifier,
)
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers._tune_text_classifier import tune_text_classifier
from sklearn_hashnlp.classifiers.export._export_predictor import export_predictor
from sklearn_hashnlp.classifiers.fasttext._load_fasttext import load_fasttext
from sklearn_hashnlp.classifiers.fasttext._make_fasttext_classifier import make_fasttext_classifier
from sklearn_hashnlp.classifiers.fasttext._save_fasttext import save_fasttext
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.merging._merge import merge_classifiers

__all__ = [
    "EmbeddingTables",
    "HashEmbeddingClassifier",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "TextClassifier",
    "export_predictor",
    "load_fasttext",
    "make_fasttext_classifier",
    "make_text_classifier",
    "merge_classifiers",
    "quantize_classifier",
    "save_fasttext",
    "tune_text_classifier",
]
