"""scikit-learn estimators with a skorch net inside."""

from sklearn_hashnlp.estimators._augmented_text_classifier import AugmentedTextClassifier
from sklearn_hashnlp.estimators._export_predictor import export_predictor
from sklearn_hashnlp.estimators._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.estimators._hsigmoid_language_model import HsigmoidLanguageModel
from sklearn_hashnlp.estimators._quantized_sgnn_classifier import QuantizedSGNNClassifier, quantize
from sklearn_hashnlp.estimators._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.estimators._sgnn_sentence_encoder import SGNNSentenceEncoder
from sklearn_hashnlp.estimators._text_classifier import make_text_classifier

__all__ = [
    "AugmentedTextClassifier",
    "HashEmbeddingClassifier",
    "HsigmoidLanguageModel",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "SGNNSentenceEncoder",
    "export_predictor",
    "make_text_classifier",
    "quantize",
]
