"""Small models of every kind, as documents and arrays, and the reading of changed ones."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    HsigmoidLanguageModel,
    SGNNClassifier,
    SGNNProjector,
    SGNNSentenceEncoder,
    TextClassifier,
)
from sklearn_hashnlp.classifiers import load_fasttext, quantize_classifier
from sklearn_hashnlp.language import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
)
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.persistence._folder_files import read_folder
from sklearn_hashnlp.text import FrequentNgramVectorizer
from tests.fuzz.mutation import mutate_json
from tests.persistence.fasttext_models import DATA as FASTTEXT_FILES
from tests.persistence.model_files import write
from tests.persistence.saved_models import FOLDER

_DTYPES = [np.float16, np.float64, np.int8, np.int64, np.uint8, np.bool_]
Arrays = dict[str, Any]
Model = tuple[dict[str, Any], Arrays]

TEXTS = [
    "a fine film",
    "dull and long. Too long!",
    "fine, funny acting",
    "too dull to sit through",
] * 5
LABELS = ["good", "bad", "good", "bad"] * 5
SENTENCES = ["the cat sat", "the dog sat down", "a cat ran"] * 3
PROBES = ["a fine cat sat.", "", "\0 x \ud7ff\U0010ffff"]
SMALL: dict[str, Any] = {
    "n_buckets": 40,
    "n_embeddings": 60,
    "embedding_dim": 2,
    "max_epochs": 1,
    "random_state": 0,
}


def _text_classifier(precision: str = "float32", **parameters: Any) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        model = TextClassifier(**SMALL, **parameters).fit(TEXTS, LABELS)
        save_model(model, folder, precision=precision)  # type: ignore[arg-type]

    return save


def _hash_embeddings(folder: Path) -> None:
    vectorizer = FeatureUnion(
        [("a", HashingNgramVectorizer()), ("b", FrequentNgramVectorizer(max_features=50))]
    )
    classifier = HashEmbeddingClassifier(**SMALL, loss="hsigmoid", hidden_layer_sizes=(3,))
    save_model(
        make_pipeline(vectorizer, classifier).fit(TEXTS, [*"abcd"] * 5), folder, training_state=True
    )


def _sgnn(folder: Path, *, quantized: bool = False) -> None:
    projector = SGNNProjector(n_projections=2, n_bits=4)
    classifier = SGNNClassifier(hidden_layer_sizes=(4,), max_epochs=1, random_state=0)
    model = make_pipeline(CharNgramFeaturizer(), projector, classifier).fit(TEXTS, LABELS)
    save_model(quantize_classifier(model) if quantized else model, folder)


def _hsigmoid(folder: Path) -> None:
    model = HsigmoidLanguageModel(
        order=3, embedding_dim=2, hidden_size=3, max_epochs=1, random_state=0
    )
    save_model(model.fit(SENTENCES), folder)


def _counts(folder: Path) -> None:
    counts = KneserNeyLanguageModel(order=3).fit(SENTENCES)
    mixture = InterpolatedLanguageModel([counts, CacheLanguageModel().fit(SENTENCES)])
    save_model(mixture.fit(SENTENCES), folder)


def _encoder(folder: Path) -> None:
    save_model(SGNNSentenceEncoder(max_epochs=1, random_state=0).fit([*TEXTS, *SENTENCES]), folder)


def _fasttext(folder: Path) -> None:
    save_model(load_fasttext(FASTTEXT_FILES / "pruned.ftz"), folder)


BUILDERS: dict[str, Callable[[Path], None]] = {
    "TextClassifier": _text_classifier(features="words"),
    "TextClassifier, int8": _text_classifier("int8"),
    "HashEmbeddingClassifier": _hash_embeddings,
    "SGNNClassifier": _sgnn,
    "QuantizedSGNNClassifier": partial(_sgnn, quantized=True),
    "LogisticRegression": partial(copytree, FOLDER / "newest" / "linear"),
    "HsigmoidLanguageModel": _hsigmoid,
    "InterpolatedLanguageModel": _counts,
    "SGNNSentenceEncoder": _encoder,
    "fastText": _fasttext,
}


@cache
def saved(name: str, folder: Path) -> Model:
    """Train and save a small model in a folder once, and return its document and arrays."""
    BUILDERS[name](folder)
    return read_folder(folder)


def use(model: Any) -> None:
    """Let a model predict, score or transform some texts."""
    if hasattr(model, "predict_topk") and hasattr(model, "score_samples"):
        model.score_samples(PROBES)
        model.predict_topk([["the", "cat"]], k=2)
        return
    if hasattr(model, "predict"):
        model.predict(PROBES)
    if hasattr(model, "predict_proba"):
        model.predict_proba(PROBES)
    elif hasattr(model, "transform"):
        model.transform(PROBES)


def change_model(draw: random.Random, model: Model) -> Model:
    """Return a model with one to three parts changed."""
    document, arrays = model
    if draw.random() < 0.6 or not arrays:
        document = document | {"model": mutate_json(draw, document["model"])}
    if draw.random() < 0.6 and arrays:
        arrays = dict(arrays)
        for name in draw.sample(sorted(arrays), min(len(arrays), draw.choice([1, 1, 2]))):
            change_array(draw, arrays, name)
    return document, arrays


def read_lightly(seed: int, model: Model, folder: Path) -> bool:
    """Load and use a changed model as ``hashnlp predict`` does; return whether it was legal."""
    try:
        changed = change_model(random.Random(seed), model)
        write(folder, *changed)
    except (RecursionError, UnicodeEncodeError):  # no JSON
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            load_model(folder, predict_only=True).predict_topk(PROBES, 1)
    except ValueError:
        return False
    return True


def change_array(draw: random.Random, arrays: Arrays, name: str) -> None:
    """Change the values, the shape or the type of an array, or remove it."""
    array = arrays[name]
    match draw.randint(0, 6):
        case 0:
            del arrays[name]
        case 1:
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(draw.choice(_DTYPES))
        case 2:
            arrays[name] = np.concatenate([array.reshape(-1), array.reshape(-1)[:1]])
        case 3:
            arrays[name] = (
                array[: max(len(array) - 1, 0)].copy() if array.ndim else array.reshape(1)
            )
        case 4:
            arrays[name] = array.T.copy() if array.ndim > 1 else array[np.newaxis].copy()
        case _:
            changed = array.copy()
            flat = changed.reshape(-1)
            if flat.size:
                limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
                large = 6e4 if array.dtype == np.float16 else 1e30
                extreme = (
                    [np.nan, np.inf, -large, large]
                    if limits is None
                    else [limits.min, limits.max, 0, 1, 1000]
                )
                flat[draw.randrange(flat.size)] = np.array(draw.choice(extreme)).astype(array.dtype)
            arrays[name] = changed
