from sklearn_hashnlp.inspection._explain import explain
from sklearn_hashnlp.inspection._ngram_inverter import NgramInverter

__all__ = [
    "NgramInverter",
    "explain",
]
