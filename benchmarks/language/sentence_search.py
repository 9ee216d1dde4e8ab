"""Evaluation of search: neighbors with the same label, and the source paragraph of a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.common.data import DataFolder, read_text
from benchmarks.language.sentence_models import make_encoder
from sklearn_hashnlp.text import split_sentences

SETS = ("ag_news", "swda", "wikipedia", "imdb")
BASELINE = "TF-IDF, words, sublinear"
MODELS: dict[str, dict[str, Any]] = {
    "encoder, default": {},
    "context weight 0.1": {"context_weight": 0.1},
    "context weight 0.5": {"context_weight": 0.5},
    "context weight 1": {"context_weight": 1.0},
    "no components removed": {"n_components_removed": 0},
}
N_TEXTS = 5_000
N_QUERIES = 800
N_NEIGHBORS = 5
MIN_SENTENCES = 3  # of a paragraph of which one is the query


def evaluate(
    name: str, data: DataFolder, seed: int, models: list[str]
) -> Iterator[tuple[str, float]]:
    """Fit each model and yield the percentage of same-label neighbors or mean reciprocal rank."""
    texts, queries, targets = (paragraphs if name == "wikipedia" else labelled)(name, data, seed)
    score = reciprocal_rank if name == "wikipedia" else share_of_label
    if BASELINE in models:
        tfidf = TfidfVectorizer(sublinear_tf=True).fit(texts)
        yield (
            BASELINE,
            score((tfidf.transform(queries) @ tfidf.transform(texts).T).toarray(), targets),
        )
    encoder = None
    for model, settings in MODELS.items():
        if model not in models:
            continue
        if encoder is None or "n_components_removed" in settings:
            with warnings.catch_warnings():
                # The encoder warns of texts of one sentence, such as utterances.
                warnings.simplefilter("ignore", UserWarning)
                encoder = make_encoder(settings | {"random_state": seed}).fit(texts)
        encoder.set_params(**{"context_weight": "auto"} | settings)
        yield model, score(encoder.transform(queries) @ encoder.transform(texts).T, targets)


def labelled(
    name: str, data: DataFolder, seed: int
) -> tuple[list[str], list[str], tuple[Any, Any]]:
    """Return texts to search, queries, and the labels of both; all are training rows."""
    rows = data.train(name)
    order = np.random.default_rng(seed).permutation(len(rows.texts))
    n_texts = min(N_TEXTS, len(order) * 4 // 5)
    parts = order[:n_texts], order[n_texts : n_texts + N_QUERIES]
    (texts, queries), labels = (
        ([rows.texts[i] for i in part] for part in parts),
        np.array(rows.labels),
    )
    return texts, queries, (labels[parts[0]], labels[parts[1]])


def paragraphs(
    name: str, data: DataFolder, seed: int
) -> tuple[list[str], list[str], NDArray[np.int64]]:
    """Return paragraphs without one of their sentences, and such sentences as queries."""
    split = [split_sentences(text) for text in read_text(data, name, "paragraphs.txt")]
    split = [sentences for sentences in split if len(sentences) >= MIN_SENTENCES]
    generator = np.random.default_rng(seed)
    split = [split[i] for i in generator.permutation(len(split))[:N_TEXTS]]
    queries = [sentences.pop(int(generator.integers(len(sentences)))) for sentences in split]
    return (
        [" ".join(rest) for rest in split],
        queries[:N_QUERIES],
        np.arange(min(N_QUERIES, len(queries))),
    )


def share_of_label(
    similarities: NDArray[Any], labels: tuple[NDArray[np.str_], NDArray[np.str_]]
) -> float:
    """Return how many of the nearest neighbors have the label of the query, in percent."""
    nearest = np.argsort(-similarities, axis=1, kind="stable")[:, :N_NEIGHBORS]
    return 100 * float((labels[0][nearest] == labels[1][:, np.newaxis]).mean())


def reciprocal_rank(similarities: NDArray[Any], targets: NDArray[np.int64]) -> float:
    """Return the mean reciprocal rank of the targets, in percent."""
    wanted = np.take_along_axis(similarities, targets[:, np.newaxis], axis=1)
    return 100 * float((1 / (1 + (similarities > wanted).sum(axis=1))).mean())
