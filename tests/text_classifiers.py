"""TextClassifier with any parameter of its classifier."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn_hashnlp import TextClassifier, make_text_classifier

_OF_TEXTS = ("features", "lowercase", "ngram_range", "pretrained", "n_jobs")


def text_classifier(**options: Any) -> TextClassifier:
    """Return a text classifier; parameters that it does not have are set in its ``classifier``."""
    if set(options) <= set(signature(TextClassifier).parameters):
        return TextClassifier(**options)
    of_texts = {name: options.pop(name) for name in _OF_TEXTS if name in options}
    return TextClassifier(
        classifier=make_text_classifier()["classifier"].set_params(**options), **of_texts
    )
