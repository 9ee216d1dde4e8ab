"""collision_report and suggest_buckets: against strings and dictionaries, and the formulas."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    TextClassifier,
)
from sklearn_hashnlp.inspection import collision_report, suggest_buckets
from tests.golden._register import texts

TEXTS = [text[:300] for text in texts()[:300]]


def colliding(ids: list[Any]) -> tuple[int, float]:
    """Return the number of pairs with equal ids, and the share of those with any other."""
    counts = Counter(ids)
    pairs = sum(count * (count - 1) // 2 for count in counts.values())
    return pairs, sum(count for count in counts.values() if count > 1) / len(ids)


def columns_of_words(vectorizer: Any, texts: list[str]) -> list[int]:
    words = sorted({word for text in texts for word in vectorizer.build_analyzer()(text)})
    return list(vectorizer.transform(words).indices)


def test_columns_of_a_vectorizer() -> None:
    vectorizer = HashingNgramVectorizer(n_features=700)
    report = collision_report(TEXTS, vectorizer)
    columns = columns_of_words(vectorizer, TEXTS)
    [row] = report.rows
    assert row.kind == "column"
    assert report.n_ngrams == len(columns)
    assert report.n_texts == len(TEXTS)
    assert (row.counted_pairs, row.counted_share) == colliding(columns)
    n = len(columns)
    assert row.expected_pairs == pytest.approx(n * (n - 1) / 2 / 700)
    assert row.counted_pairs == pytest.approx(row.expected_pairs, rel=0.1)
    assert row.counted_share == pytest.approx(row.expected_share, abs=0.03)


@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_parameters_of_hash_embeddings(variant: Any, is_fitted: bool) -> None:
    vectorizer = HashingNgramVectorizer(norm=None, n_features=5000)
    classifier = HashEmbeddingClassifier(
        variant=variant, n_embeddings=300, n_buckets=20, n_hashes=2, max_epochs=1, random_state=3, embedding_dim=2
    )
    model = make_pipeline(vectorizer, classifier)
    if is_fitted:
        model.fit(TEXTS[:40], ["a", "b"] * 20)
    report = collision_report(TEXTS, model)
    rows = {row.kind: row for row in report.rows}
    for row in rows.values():
        assert row.counted_pairs == pytest.approx(row.expected_pairs, rel=0.25)
        assert row.counted_share == pytest.approx(row.expected_share, abs=0.05)
    if not is_fitted:
        return
    ids = torch.tensor([int(column) for column in columns_of_words(vectorizer, TEXTS)])
    rows_of, slots = classifier.net_.module_.bag.locate(ids)
    parts = list(zip(rows_of.tolist(), map(tuple, slots.tolist()), strict=True))
    if variant == "standard":
        assert set(rows) == {"column", "embedding"}
    else:
        assert rows["importance weights"].counted_pairs == colliding([row for row, _ in parts])[0]
        assert rows["components"].counted_pairs == colliding([part for _, part in parts])[0]
    assert rows["embedding"].counted_pairs == colliding(parts)[0]


def test_unions_and_the_default_model() -> None:
    report = collision_report(TEXTS[:30])
    characters = make_pipeline(HashingVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    n_characters = len({n for text in TEXTS[:30] for n in characters[0].build_analyzer()(text)})
    assert report.n_ngrams > n_characters
    assert [row.kind for row in report.rows] == ["column", "importance weights", "components", "embedding"]
    words = collision_report(TEXTS[:30], TextClassifier(features="words"))
    assert words.n_ngrams < n_characters
    assert "30 texts" in repr(words)
    assert collision_report([], TextClassifier(features="words")).rows[0].counted_pairs == 0


def test_buckets_keep_collisions_below_the_limit() -> None:
    vectorizer = CharNgramFeaturizer()
    n_ngrams = collision_report(TEXTS, vectorizer).n_ngrams
    for share, n_hashes in ((0.5, 1), (0.01, 1), (0.01, 2), (0.3, 3)):
        n_buckets = suggest_buckets(TEXTS, share, vectorizer=vectorizer, n_hashes=n_hashes)
        assert 2 ** int(np.log2(n_buckets)) == n_buckets
        assert 1 - (1 - n_buckets**-n_hashes) ** (n_ngrams - 1) <= share
        assert 1 - (1 - (n_buckets / 2) ** -n_hashes) ** (n_ngrams - 1) > share
    counted = collision_report(
        TEXTS, CharNgramFeaturizer(n_features=suggest_buckets(TEXTS, 0.3, vectorizer=vectorizer))
    )
    assert counted.rows[0].counted_share < 0.3
    assert suggest_buckets([]) == suggest_buckets(["a"], vectorizer=HashingNgramVectorizer()) == 2
    pipeline = make_pipeline(HashingNgramVectorizer(), LogisticRegression())
    assert suggest_buckets(TEXTS, 0.1, vectorizer=pipeline) == suggest_buckets(TEXTS, 0.1, vectorizer=pipeline[0])


def test_wrong_arguments_are_refused() -> None:
    for share in (0, 1, -3, "0.1", None):
        with pytest.raises(ValueError, match="between 0 and 1"):
            suggest_buckets(TEXTS, share)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        suggest_buckets(TEXTS, n_hashes=0)
    with pytest.raises(ValueError, match=r"more than 2\*\*30 buckets.*n_hashes=2"):
        suggest_buckets(TEXTS, 1e-9)
    with pytest.raises(TypeError, match="FrequentNgramVectorizer has a vocabulary"):
        collision_report(["one two"], FrequentNgramVectorizer(max_features=2).fit(["one two"]))
    with pytest.raises(ValueError, match="wrap a single one"):
        collision_report("one text")


def test_views() -> None:
    report = collision_report(["one two", "three"], HashingNgramVectorizer(n_features=1))
    assert str(report).splitlines() == [
        "3 distinct n-grams in 2 texts",
        "n-grams with the same  pairs expected  counted  share expected    counted",
        "column                            3.0        3       100.0000%  100.0000%",
    ]
    assert "<td>column</td><td>3.0</td><td>3</td>" in report._repr_html_()


def test_searches_are_unwrapped() -> None:
    labels = ["a", "b"] * 3
    model = TextClassifier(features="words", n_buckets=64, random_state=0)
    search = GridSearchCV(model, {"random_state": [0]}, cv=2).fit(TEXTS[:6], labels)
    assert str(collision_report(TEXTS, search)) == str(collision_report(TEXTS, search.best_estimator_))
