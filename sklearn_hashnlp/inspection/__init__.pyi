from sklearn_hashnlp.inspection._collision_report import collision_report, suggest_buckets
from sklearn_hashnlp.inspection._explain import explain
from sklearn_hashnlp.inspection._ngram_inverter import NgramInverter

__all__ = [
    "NgramInverter",
    "collision_report",
    "explain",
    "suggest_buckets",
]
