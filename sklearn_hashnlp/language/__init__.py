"""Language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "CacheLanguageModel",
    "HsigmoidLanguageModel",
    "InterpolatedLanguageModel",
    "KneserNeyLanguageModel",
    "LanguageSchedule",
    "Regularization",
]

if TYPE_CHECKING:
    from sklearn_hashnlp.language._bundles import LanguageSchedule, Regularization
    from sklearn_hashnlp.language._cache_language_model import CacheLanguageModel
    from sklearn_hashnlp.language._hsigmoid_language_model import HsigmoidLanguageModel
    from sklearn_hashnlp.language._interpolated_language_model import InterpolatedLanguageModel
    from sklearn_hashnlp.language._kneser_ney_language_model import KneserNeyLanguageModel
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_bundles": ["LanguageSchedule", "Regularization"],
            "_cache_language_model": ["CacheLanguageModel"],
            "_hsigmoid_language_model": ["HsigmoidLanguageModel"],
            "_interpolated_language_model": ["InterpolatedLanguageModel"],
            "_kneser_ney_language_model": ["KneserNeyLanguageModel"],
        },
    )
