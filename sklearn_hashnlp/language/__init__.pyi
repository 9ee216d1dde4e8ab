from sklearn_hashnlp.language._cache_language_model import CacheLanguageModel
from sklearn_hashnlp.language._hsigmoid_language_model import HsigmoidLanguageModel
from sklearn_hashnlp.language._interpolated_language_model import InterpolatedLanguageModel
from sklearn_hashnlp.language._kneser_ney_language_model import KneserNeyLanguageModel
from sklearn_hashnlp.language._language_parameters import LanguageSchedule, Regularization

__all__ = [
    "CacheLanguageModel",
    "HsigmoidLanguageModel",
    "InterpolatedLanguageModel",
    "KneserNeyLanguageModel",
    "LanguageSchedule",
    "Regularization",
]
