"""Explanations of predictions, and collisions of n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "CollisionReport",
    "Explanation",
    "NgramInverter",
    "collision_report",
    "explain",
    "suggest_buckets",
]

if TYPE_CHECKING:
    from sklearn_hashnlp.inspection._collision_report import CollisionReport, collision_report, suggest_buckets
    from sklearn_hashnlp.inspection._explain import explain
    from sklearn_hashnlp.inspection._explanation import Explanation
    from sklearn_hashnlp.inspection._ngram_inverter import NgramInverter
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_collision_report": ["CollisionReport", "collision_report", "suggest_buckets"],
            "_explain": ["explain"],
            "_explanation": ["Explanation"],
            "_ngram_inverter": ["NgramInverter"],
        },
    )
