"""The small models of ``hashnlp warmup``: each kind is trained, saved, loaded and applied."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import make_pipeline

import sklearn_hashnlp as hashnlp
from sklearn_hashnlp.classifiers import load_fasttext
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.language import Regularization
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.text import distort_texts
from sklearn_hashnlp.training import EarlyStopping

_TEXTS = ["what a fine film", "I was bored to tears", "funny, warm and wise", "Dull from start to end: 2/10, très."] * 6
_FEW = _TEXTS[:1]
_LABELS = ["good", "bad", "good", "bad"] * 6
_GRADES = ["good", "bad", "very good", "bad"] * 6
_TAGS = [["fine"], ["bored"], ["fine", "wise"], []] * 6
_TABLES: dict[str, Any] = {"n_buckets": 100, "n_embeddings": 1000, "random_state": 0}
_PRECISIONS: tuple[Literal["float32", "float16", "int8"], ...] = ("float32", "float16", "int8")


def _classify(model: Any, labels: Any) -> None:
    """Train a classifier, predict before and after saving, and continue training."""
    model.fit(_TEXTS, labels)
    with tempfile.TemporaryDirectory() as folder:
        for precision in _PRECISIONS:
            hashnlp.save_model(model, Path(folder, precision), precision=precision)
        models = [model, *(hashnlp.load_model(Path(folder, precision)) for precision in _PRECISIONS)]
    for fitted in models:
        for texts in (_TEXTS, _FEW):
            fitted.predict(texts)
            fitted.predict_proba(texts)
            fitted.predict_topk(texts, k=2)
    for trained in models[:2]:
        trained.partial_fit(_TEXTS, labels)
        trained.predict_proba(_TEXTS)


def _text_classifiers() -> None:
    for features in ("auto", "words", "characters", "words+characters"):
        _classify(hashnlp.TextClassifier(features=features, **_TABLES), _LABELS)
    for labels in (_GRADES, _TAGS):
        _classify(hashnlp.TextClassifier(**_TABLES), labels)
    hashnlp.TextClassifier(early_stopping=EarlyStopping(validation_fraction=0.5), **_TABLES).fit(_TEXTS, _LABELS)
    weights = np.ones(len(_TEXTS))
    hashnlp.TextClassifier(class_weight="balanced", **_TABLES).fit(_TEXTS, _LABELS, sample_weight=weights)
    pipeline = hashnlp.make_text_classifier(**_TABLES)
    hashnlp.AugmentedTextClassifier(pipeline, random_state=0).fit(_TEXTS, _LABELS).predict(_TEXTS)
    explain(pipeline.fit(_TEXTS, _LABELS), _TEXTS[0])
    X = hashnlp.HashingNgramVectorizer(n_features=2**20).transform(_TEXTS)
    for dtype in (np.float32, np.float64):
        for index_dtype in (np.int32, np.int64):
            rows = X.astype(dtype)
            rows.indices, rows.indptr = rows.indices.astype(index_dtype), rows.indptr.astype(index_dtype)
            classifier = hashnlp.HashEmbeddingClassifier(max_epochs=1, **_TABLES)
            classifier.fit(rows, _LABELS).predict_proba(rows)
            classifier.partial_fit(rows, _LABELS).predict_proba(rows)


def _gradient_training() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"n_hashes": 2, "early_stopping": EarlyStopping(validation_fraction=0.5)},
        {"aggregation": "concat", "normalize": None},
        {"aggregation": "median"},
        {"optimizer": "adam"},
        {"variant": "standard"},
        {"loss": "hinge"},
        {"loss": "hsigmoid"},
        {"hidden_layer_sizes": (8,)},
    ]
    for more in options:
        parameters = _TABLES | {"loss": "softmax", "max_epochs": 1} | more
        classifier = hashnlp.make_text_classifier()["classifier"].set_params(**parameters)
        _classify(hashnlp.TextClassifier(classifier=classifier), _GRADES)
    _classify(hashnlp.TextClassifier(loss="ova", max_epochs=1, **_TABLES), _TAGS)


def _networks_of_bits() -> None:
    featurizer, projector = hashnlp.CharNgramFeaturizer(), hashnlp.SGNNProjector()
    network = hashnlp.SGNNClassifier(hidden_layer_sizes=(8,), max_epochs=1, random_state=0)
    pipeline = make_pipeline(featurizer, projector, network).fit(_TEXTS, _LABELS)
    pipeline.predict_proba(_TEXTS)
    hashnlp.quantize_classifier(pipeline).predict_proba(_TEXTS)
    rows = featurizer.transform(_TEXTS)
    for hyperplanes in ("normal", "google"):
        for output in ("binary", "sign", "packed", "float"):
            hashnlp.SGNNProjector(hyperplanes=hyperplanes, output=output).transform(rows)


def _vectorizers() -> None:
    featurizer, projector = hashnlp.CharNgramFeaturizer(), hashnlp.SGNNProjector()
    for analyzer in ("word", "char", "char_wb"):
        for options in ({}, {"norm": None, "alternate_sign": False}, {"norm": "l1", "binary": True}):
            hashnlp.HashingNgramVectorizer(analyzer=analyzer, ngram_range=(1, 2), **options).transform(_TEXTS)
    hashnlp.FrequentNgramVectorizer(ngram_range=(1, 2)).fit_transform(_TEXTS)
    hashnlp.SGNNWordProjector(featurizer, projector).fit_transform(_TEXTS)
    hashnlp.CharNgramFeaturizer(analyzer="skipgram", ngram_range=(1, 2), max_skip=1).transform(_TEXTS)
    distort_texts(_TEXTS, 0.1)


def _fasttext_models() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.bin")
        file.write_bytes(_fasttext_file())
        pipeline = load_fasttext(file)
        hashnlp.save_model(pipeline, Path(folder, "saved"))
        loaded = hashnlp.load_model(Path(folder, "saved"))
    for fitted in (pipeline, loaded):
        fitted.predict_proba(_TEXTS)
    rows = pipeline[:-1].transform(_TEXTS)
    pipeline[-1].document_vectors(pipeline[0].transform_words(["film"]))
    pipeline[-1].partial_fit(rows, _LABELS).predict_proba(rows)


def _fasttext_file() -> bytes:
    """Return a model of fastText with two words, two labels, four buckets and two columns."""
    magic, version, n_words, n_buckets, dim, softmax, supervised = 793712314, 12, 2, 4, 2, 3, 3
    arguments = (dim, 5, 5, 1, 5, 2, softmax, supervised, n_buckets, 2, 3, 100, 1e-4)
    entries = {b"</s>": 0, b"film": 0, b"__label__good": 1, b"__label__bad": 1}
    content = struct.pack("<2i12id", magic, version, *arguments)
    content += struct.pack("<3i2q", len(entries), n_words, len(entries) - n_words, 99, -1)
    for entry, kind in entries.items():
        content += entry + b"\0" + struct.pack("<qb", 7, kind)
    for n_rows in (n_words + n_buckets, len(entries) - n_words):
        content += struct.pack("<?2q", False, n_rows, dim) + np.ones((n_rows, dim), dtype="<f4").tobytes()
    return content


def _language_models() -> None:
    small: dict[str, Any] = {"order": 3, "embedding_dim": 8, "hidden_size": 8, "max_epochs": 1, "random_state": 0}
    network, counts = hashnlp.HsigmoidLanguageModel, hashnlp.KneserNeyLanguageModel
    models: list[Any] = [
        counts(order=3),
        network(**small),
        network(**small, direct_connections=("hashed", 100), tree="learned"),
        network(**small, output="softmax", optimizer="sgd", regularization=Regularization(weight_decay=1e-4)),
        network(**small, embedding="hash", optimizer="adam"),
        network(**small, embedding="sgnn"),
        network(**small, hidden_layer="residual", far_context=5, across_sentences=True),
        network(**small, early_stopping=EarlyStopping("valid_loss", 2, 0.5)),
        hashnlp.CacheLanguageModel(),
        hashnlp.InterpolatedLanguageModel([network(**small), counts(), hashnlp.CacheLanguageModel()]),
    ]
    for model in models:
        model.fit(_TEXTS)
        with tempfile.TemporaryDirectory() as folder:
            hashnlp.save_model(model, folder)
            loaded = hashnlp.load_model(folder)
        for fitted in (model, loaded):
            fitted.perplexity(_TEXTS)
            fitted.predict(["what a"])
            fitted.predict_proba(["what a", "</s> funny"])
            fitted.predict_topk(["what a"])
            fitted.sample(2, random_state=0)
        if isinstance(model, network):
            model.partial_fit(_TEXTS)
    with tempfile.TemporaryDirectory() as folder:
        arpa = Path(folder, "counts.arpa")
        models[0].save_arpa(arpa)
        counts.load_arpa(arpa).perplexity(_TEXTS)


def _sentence_encoders() -> None:
    small: dict[str, Any] = {"max_epochs": 1, "word_steps": 2, "batch_size": 16, "random_state": 0}
    encoder = hashnlp.SGNNSentenceEncoder(**small).fit(_TEXTS)
    with tempfile.TemporaryDirectory() as folder:
        hashnlp.save_model(encoder, folder)
        for fitted in (encoder, hashnlp.load_model(folder)):
            fitted.most_similar(_FEW, _TEXTS)
    encoder.partial_fit(_TEXTS)
    vectors = np.random.default_rng(0).normal(size=(len(_TEXTS), 4))
    DistilledSentenceEncoder().fit(_TEXTS, vectors).transform(_TEXTS)
    encoder.set_params(context_weight=1.0)
    hashnlp.TextClassifier(pretrained=encoder, **_TABLES).fit(_TEXTS, _LABELS).predict(_TEXTS)


KINDS: dict[str, Callable[[], None]] = {
    "text classifiers": _text_classifiers,
    "text classifiers, trained by gradients": _gradient_training,
    "self-governing neural networks": _networks_of_bits,
    "vectorizers": _vectorizers,
    "models of fastText": _fasttext_models,
    "language models": _language_models,
    "sentence encoders": _sentence_encoders,
}
