from sklearn_hashnlp.inspection._collision_report import CollisionReport, collision_report, suggest_buckets
from sklearn_hashnlp.inspection._explain import explain
from sklearn_hashnlp.inspection._explanation import Explanation
from sklearn_hashnlp.inspection._ngram_inverter import NgramInverter

__all__ = [
    "CollisionReport",
    "Explanation",
    "NgramInverter",
    "collision_report",
    "explain",
    "suggest_buckets",
]
