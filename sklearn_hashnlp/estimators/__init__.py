"""scikit-learn estimators with a skorch net inside."""

from sklearn_hashnlp.estimators._hash_embedding_classifier import HashEmbeddingClassifier

__all__ = ["HashEmbeddingClassifier"]
