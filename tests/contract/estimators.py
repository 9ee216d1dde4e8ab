"""The table of all public estimators and transformers: small parameters, data to fit, and methods
that answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array, issparse

from sklearn_hashnlp import (
    CacheLanguageModel,
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
    QuantizedSGNNClassifier,
    SGNNClassifier,
    SGNNProjector,
    SGNNWordProjector,
    make_text_classifier,
)
from sklearn_hashnlp.classifiers import make_fasttext_classifier
from sklearn_hashnlp.sentences import CooccurrenceEncoder, DistilledSentenceEncoder
from sklearn_hashnlp.text import AutoNgramVectorizer
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.training import EarlyStopping
from tests.language.hsigmoid import small_models
from tests.sentence_texts import PARAGRAPHS, QUERIES
from tests.sentence_texts import make as make_encoder
from tests.text_classifiers import text_classifier

RNG = np.random.default_rng(0)
WORDS = [
    ["vote", "law", "minister"],
    ["goal", "match", "team"],
    ["rain", "wind", "sun"],
    ["play", "actor", "stage"],
]
CLASSES = RNG.integers(0, 4, 80)
LABELS = np.array(["politics", "sport", "weather", "theatre"])[CLASSES]
TEXTS = [" ".join(RNG.choice(WORDS[number], 5)) for number in CLASSES]
TOPICS = np.stack([CLASSES > 1, CLASSES == 0, CLASSES < 3], axis=1).astype(np.int64)
VECTORS = np.random.default_rng(1).normal(size=(4, 8))[CLASSES]
BITS = (RNG.integers(0, 2, (4, 24))[CLASSES] ^ (RNG.random((80, 24)) < 0.2)).astype(np.uint8)
COUNTS = csr_array(BITS * RNG.integers(1, 4, BITS.shape), dtype=np.float64)


class Case(NamedTuple):
    """``make(**parameters).fit(X, y)``, and the methods that answer for other rows."""

    make: Callable[..., Any]
    X: Any
    y: Any
    asked: Any
    answers: tuple[str, ...]


def _hash_embedding(X: Any = COUNTS, y: Any = LABELS, **options: Any) -> Case:
    small = {"n_buckets": 300, "n_embeddings": 1000, "max_epochs": 3, "random_state": 0}
    return Case(_maker(HashEmbeddingClassifier, small | options), X, y, X[:20], _SCORES)


def _sgnn(X: Any = BITS, y: Any = LABELS, **options: Any) -> Case:
    small = {
        "hidden_layer_sizes": (16,),
        "max_epochs": 5,
        "batch_size": 16,
        "learning_rate": 0.02,
        "random_state": 0,
    }
    return Case(_maker(SGNNClassifier, small | options), X, y, X[:20], _SCORES)


def _language_model(**options: Any) -> Case:
    asked = ["a b c", "h g", "never seen", ""]
    make = _maker(small_models.make, {"batch_size": 32, "max_epochs": 2} | options)
    return Case(
        make, small_models.SENTENCES, None, asked, ("score_samples", "predict_proba", "perplexity")
    )


def _counting(**options: Any) -> Case:
    case = _language_model()
    return case._replace(make=_maker(KneserNeyLanguageModel, {"order": 3} | options))


def _cache(**options: Any) -> Case:
    return _language_model()._replace(make=_maker(CacheLanguageModel, options))


def _mixture(**options: Any) -> Case:
    models = [KneserNeyLanguageModel(order=3), CacheLanguageModel()]
    return _language_model()._replace(
        make=_maker(InterpolatedLanguageModel, {"models": models} | options)
    )


def _encoder(**options: Any) -> Case:
    return Case(_maker(make_encoder, options), PARAGRAPHS, None, QUERIES, ("transform",))


def _texts(make: Callable[..., Any], **options: Any) -> Case:
    return Case(_maker(make, options), TEXTS, None, [*TEXTS[:9], "", "日本語 🙂"], ("transform",))


def _maker(make: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    return lambda **others: make(**options | others)


def _quantized(**options: Any) -> QuantizedSGNNClassifier:
    return QuantizedSGNNClassifier(_sgnn().make(), **options)


def _pipeline(**options: Any) -> Any:
    small = {
        "classifier__n_buckets": 300,
        "classifier__n_embeddings": 1000,
        "classifier__max_epochs": 3,
    }
    return make_text_classifier(random_state=0).set_params(**small | options)


def _fasttext_pipeline(**options: Any) -> Any:
    return make_fasttext_classifier(word_ngrams=2, bucket=1000).set_params(**options)


def _text_classifier(y: Any = LABELS, **options: Any) -> Case:
    small = {"n_buckets": 300, "n_embeddings": 1000, "max_epochs": 3, "random_state": 0}
    return Case(_maker(text_classifier, small | options), np.array(TEXTS), y, TEXTS[:20], _SCORES)


def _union(**options: Any) -> NgramVectorUnion:
    encoder = SGNNWordProjector(
        CharNgramFeaturizer(), SGNNProjector(n_projections=2, n_bits=3).fit(COUNTS)
    )
    return NgramVectorUnion(
        **{"vectorizer": FrequentNgramVectorizer(), "encoders": [encoder]} | options
    )


def _word_projector(**options: Any) -> SGNNWordProjector:
    parts = {
        "featurizer": CharNgramFeaturizer(),
        "projector": SGNNProjector(n_projections=3, n_bits=5),
    }
    return SGNNWordProjector(**parts | options)


_SCORES = ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_topk")

CASES: dict[str, Case] = {
    "HashingNgramVectorizer": _texts(HashingNgramVectorizer, ngram_range=(1, 2)),
    "FrequentNgramVectorizer": _texts(FrequentNgramVectorizer, max_features=9, ngram_range=(1, 2)),
    "FastTextVectorizer": _texts(FastTextVectorizer, word_ngrams=2, max_n=3, bucket=1000),
    "AutoNgramVectorizer": _texts(AutoNgramVectorizer, ngram_range=(1, 3), n_features=2**16),
    "NgramVectorUnion": _texts(_union),
    "CharNgramFeaturizer": _texts(CharNgramFeaturizer),
    "SGNNProjector": Case(
        _maker(SGNNProjector, {"n_bits": 5}), COUNTS, None, COUNTS[:20], ("transform",)
    ),
    "SGNNWordProjector": _texts(_word_projector),
    "KneserNeyLanguageModel": _counting(),
    "CacheLanguageModel": _cache(),
    "InterpolatedLanguageModel": _mixture(),
    "HashEmbeddingClassifier": _hash_embedding(),
    "HashEmbeddingClassifier, ova, hidden layers": _hash_embedding(
        loss="ova", hidden_layer_sizes=(8,)
    ),
    "HashEmbeddingClassifier, hinge, adam": _hash_embedding(
        loss="hinge", optimizer="adam", ngram_dropout=(2, 5)
    ),
    "HashEmbeddingClassifier, hsigmoid": _hash_embedding(
        loss="hsigmoid",
        tree="huffman",
        optimizer="adam",
        early_stopping=EarlyStopping(validation_fraction=0.6),
    ),
    "HashEmbeddingClassifier, several labels": _hash_embedding(y=TOPICS, loss="ova"),
    "SGNNClassifier": _sgnn(),
    "SGNNClassifier, packed, adagrad": _sgnn(
        X=np.packbits(BITS, axis=1), packed=True, optimizer="adagrad"
    ),
    "SGNNClassifier, several labels": _sgnn(y=TOPICS, loss="ova"),
    "QuantizedSGNNClassifier": Case(_quantized, BITS, LABELS, BITS[:20], _SCORES),
    "make_text_classifier": Case(_pipeline, TEXTS, LABELS, TEXTS[:20], _SCORES[:-1]),
    "make_fasttext_classifier": Case(_fasttext_pipeline, TEXTS, LABELS, TEXTS[:20], _SCORES[:-1]),
    "TextClassifier": _text_classifier(),
    "TextClassifier, several labels": _text_classifier(
        y=np.array([{"politics"}, {"sport", "outside"}, {"outside"}, set()], dtype=object)[CLASSES],
        features="words+characters",
    ),
    "TextClassifier, soft labels": _text_classifier(
        y=np.array([[0.7, 0.3, 0], [0, 0.9, 0.1], [0, 0.5, 0.5], [1, 0, 0]])[CLASSES],
        loss="soft_softmax",
    ),
    "HsigmoidLanguageModel": _language_model(),
    "HsigmoidLanguageModel, softmax, adam": _language_model(
        output="softmax", optimizer="adam", learning_rate=0.01, regularization__dropout=0.3
    ),
    "HsigmoidLanguageModel, modern": _language_model(
        hidden_layer="residual", far_context=4, regularization__word_dropout=0.2
    ),
    "HsigmoidLanguageModel, characters": _language_model(embedding=("sgnn", 20, 14), tree="random"),
    "HsigmoidLanguageModel, n-grams": _language_model(
        embedding=("ngrams", 1000), direct_connections=("hashed", 1000)
    ),
    "SGNNSentenceEncoder": _encoder(),
    "SGNNSentenceEncoder, three losses": _encoder(
        objectives__masked_weight=0.5, objectives__word_weight=0.5
    ),
    "DistilledSentenceEncoder": _texts(
        DistilledSentenceEncoder, n_features=200, n_components=5
    )._replace(y=VECTORS),
    "CooccurrenceEncoder": _texts(CooccurrenceEncoder, n_components=5),
}


def kind(name: str) -> str:
    """Return the name of the class, or of the function that makes the pipeline."""
    return name.split(",")[0]


ONE_OF_A_KIND = [name for name in CASES if "," not in name and not name.startswith("make_")]
"""One case for each public class, for laws that options have no part in."""
TRAINED = [
    name
    for name in CASES
    if kind(name) not in ONE_OF_A_KIND[: ONE_OF_A_KIND.index("HashEmbeddingClassifier")]
]
"""Those that learn weights, from random ones on."""
NETS = [name for name in TRAINED if hasattr(CASES[name].make(), "callbacks")]
"""Those that train a net of their own, with ``callbacks``."""
STREAMS = [name for name in NETS if hasattr(CASES[name].make(), "partial_fit")]
CLASSIFIERS = [name for name in NETS if "Classifier" in name]


def fit(name: str, **parameters: Any) -> Any:
    """Make a new model and fit it."""
    return refit(name, CASES[name].make(**parameters))


@cache
def _fitted(name: str) -> Any:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = fit(name)
    torch.set_num_threads(n_threads)
    return model


def fitted(name: str) -> Any:
    """Return a copy of a model that was fitted once in this process, on one thread of torch."""
    return copy.deepcopy(_fitted(name))


def answers(name: str, model: Any) -> dict[str, bytes]:
    """Return what each method answers, to the last bit."""
    case = CASES[name]
    return {method: as_bytes(getattr(model, method)(case.asked)) for method in case.answers}


def as_bytes(value: Any) -> bytes:
    """Return the bytes of an array, a matrix, a list or a number."""
    if issparse(value):
        return b"".join(
            np.ascontiguousarray(part).tobytes()
            for part in (value.data, value.indices, value.indptr)
        )
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    return repr(value).encode()


def refit(name: str, model: Any) -> Any:
    """Fit a model on what its case has."""
    case = CASES[name]
    return model.fit(case.X) if case.y is None else model.fit(case.X, case.y)


def part_fit(name: str, model: Any, part: slice) -> Any:
    """Train on some rows more."""
    case = CASES[name]
    if case.y is None:
        return model.partial_fit(case.X[part])
    if case.y.ndim == 2:
        classes = range(case.y.shape[1])
    else:
        classes = set().union(*case.y) if isinstance(case.y[0], set) else set(case.y.tolist())
    return model.partial_fit(case.X[part], case.y[part], classes=sorted(classes))
