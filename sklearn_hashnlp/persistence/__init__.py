"""Save and load models without pickles, and word vectors."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
