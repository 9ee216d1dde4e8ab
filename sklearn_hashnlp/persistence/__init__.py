"""Save and load models without pickles, word vectors, and fastText's models."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
