"""Training of the estimators: parameter bundles, callbacks, and the training engine."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
