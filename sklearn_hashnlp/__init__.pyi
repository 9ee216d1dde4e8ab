from sklearn_hashnlp import classifiers as classifiers
from sklearn_hashnlp import datasets as datasets
from sklearn_hashnlp import inspection as inspection
from sklearn_hashnlp import language as language
from sklearn_hashnlp import nn as nn
from sklearn_hashnlp import optim as optim
from sklearn_hashnlp import persistence as persistence
from sklearn_hashnlp import plotting as plotting
from sklearn_hashnlp import sentences as sentences
from sklearn_hashnlp import text as text
from sklearn_hashnlp import trees as trees
from sklearn_hashnlp.classifiers import (
    HashEmbeddingClassifier,
    QuantizedSGNNClassifier,
    SGNNClassifier,
    TextClassifier,
    export_predictor,
    make_text_classifier,
    quantize_classifier,
)
from sklearn_hashnlp.language import (
    CacheLanguageModel,
    HsigmoidLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
)
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.text import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashingNgramVectorizer,
    SGNNProjector,
    SGNNWordProjector,
)

__all__ = [
    "CacheLanguageModel",
    "CharNgramFeaturizer",
    "FrequentNgramVectorizer",
    "HashEmbeddingClassifier",
    "HashingNgramVectorizer",
    "HsigmoidLanguageModel",
    "InterpolatedLanguageModel",
    "KneserNeyLanguageModel",
    "QuantizedSGNNClassifier",
    "SGNNClassifier",
    "SGNNProjector",
    "SGNNSentenceEncoder",
    "SGNNWordProjector",
    "TextClassifier",
    "__version__",
    "export_predictor",
    "load_model",
    "make_text_classifier",
    "quantize_classifier",
    "save_model",
]

__version__: str
