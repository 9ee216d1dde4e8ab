from sklearn_hashnlp.inspection._compare_texts import compare_texts
from sklearn_hashnlp.inspection._explain import explain
from sklearn_hashnlp.inspection._ngram_inverter import NgramInverter

__all__ = [
    "NgramInverter",
    "compare_texts",
    "explain",
]
