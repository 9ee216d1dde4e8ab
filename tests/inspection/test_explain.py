"""explain: contributions that sum to the scores, of the right n-grams, and clear errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    SGNNClassifier,
    SGNNProjector,
    TextClassifier,
)
from sklearn_hashnlp.classifiers import (
    EmbeddingTables,
    export_predictor,
    make_text_classifier,
    merge_classifiers,
)
from sklearn_hashnlp.inspection import NgramInverter, explain
from sklearn_hashnlp.inspection._explain import explain_by_steps, text_pipeline
from sklearn_hashnlp.inspection._explanation import Explanation
from tests.golden._register import labels, texts

DOCSTRINGS, LABELS = texts(), labels().tolist()  # of eight modules
CHOSEN = [
    index
    for index, label in enumerate(LABELS)
    if label in ("asyncio", "email", "logging", "unittest")
][:100]
X = [DOCSTRINGS[index] for index in CHOSEN]
Y = [LABELS[index] for index in CHOSEN]
BINARY = [label in ("asyncio", "unittest") for label in Y]
SEVERAL = [
    [label, "long"] if len(text) > 200 else [label] for label, text in zip(Y, X, strict=True)
]
TEXTS = ["", *[text[:300] for text in X[5:35:10]], "ÉCOLE  İstanbul event loop \x00 <b>\n"]

SMALL: dict[str, Any] = {"n_buckets": 5000, "n_embeddings": 5000, "random_state": 0, "n_jobs": 1}
ROWS: dict[str, Any] = {"n_buckets": 500, "n_embeddings": 2000, "random_state": 0}


def check(model: Any, texts: list[str] = TEXTS) -> Explanation:
    """Check that the contributions of every text sum to its scores; return the last explanation."""
    for text in texts:
        explanation = explain(model, text)
        scores = np.atleast_1d(model.decision_function([text])[0])
        np.testing.assert_allclose(
            explanation.bias + explanation.contributions.sum(axis=0), scores, atol=1e-4, rtol=0
        )
        np.testing.assert_allclose(explanation.scores, scores, atol=1e-12)
        assert len(explanation.labels) == len(scores)
        assert not [ngram for ngram in explanation.ngrams if ngram.startswith("column ")]
    return explanation


@pytest.mark.parametrize("loss", ["auto", "softmax", "hinge", "ova"])
def test_two_classes(loss: Any) -> None:
    options = {} if loss == "auto" else {"loss": loss, "max_epochs": 2}
    model = TextClassifier(features="words", **SMALL, **options).fit(X, BINARY)
    explanation = check(model)
    assert explanation.labels.tolist() == [True]
    np.testing.assert_allclose(
        explanation.contributions_to(False), -explanation.contributions_to(True)
    )


@pytest.mark.parametrize(
    "options",
    [
        {
            "n_hashes": 3,
            "aggregation": "median",
            "embedding": EmbeddingTables(importance_init="ones"),
        },
        {"n_hashes": 2, "aggregation": "concat", "normalize": "l1"},
        {"variant": "paper", "n_hashes": 2, "normalize": None, "learning_rate": 0.05},
        {"variant": "standard", "loss": "ova"},
    ],
    ids=lambda options: next(iter(options.values())),
)
def test_variants_of_hash_embeddings(options: dict[str, Any]) -> None:
    classifier = HashEmbeddingClassifier(**ROWS, max_epochs=2, embedding_dim=4).set_params(
        **options
    )
    model = make_pipeline(
        HashingNgramVectorizer(norm=None, n_features=2**31 - 1, ngram_range=(1, 2)), classifier
    )
    assert check(model.fit(X, Y)).method == "linear"


@pytest.mark.parametrize(
    "options",
    [
        {"hidden_layer_sizes": (30, 20)},
        {"loss": "hsigmoid"},
        {"loss": "hsigmoid", "hidden_layer_sizes": (9,)},
    ],
)
def test_integrated_gradients(options: dict[str, Any]) -> None:
    model = make_text_classifier(features="words", max_epochs=3, **SMALL)
    model["classifier"].set_params(**options)
    explanation = check(model.fit(X, Y))
    assert explanation.method == "integrated gradients"
    part = explain(model, TEXTS[3], labels=["logging", "asyncio"])
    whole = explain(model, TEXTS[3])
    np.testing.assert_allclose(
        part.contributions_to("asyncio"), whole.contributions_to("asyncio"), atol=1e-3
    )


@pytest.mark.parametrize(
    "vectorizer",
    [
        HashingNgramVectorizer(n_features=300, ngram_range=(1, 2)),
        HashingNgramVectorizer(tokenizer=str.split, token_pattern=None),
        CharNgramFeaturizer(n_features=5000, norm="l2"),
        FrequentNgramVectorizer(max_features=500),
        HashingVectorizer(n_features=5000),
    ],
    ids=lambda vectorizer: type(vectorizer).__name__,
)
def test_vectorizers(vectorizer: Any) -> None:
    check(make_pipeline(vectorizer, HashEmbeddingClassifier(**ROWS, max_epochs=2)).fit(X, Y))


@pytest.mark.parametrize(
    "y", [BINARY, Y, SEVERAL], ids=["two classes", "four classes", "several labels"]
)
def test_explaining_only_the_shown_labels_gives_the_same_view(y: Any) -> None:
    model = TextClassifier(**SMALL, max_epochs=1, features="words").fit(X, y)
    for text in TEXTS:
        explanation, shown = (
            explain(model, text),
            explain_by_steps(model, *text_pipeline(model), text, only_shown=True),
        )
        assert shown.to_html() == explanation.to_html()
        assert str(shown) == str(explanation)
        assert y is BINARY or len(shown.labels) < len(explanation.labels)


def test_unions() -> None:
    counts = HashingNgramVectorizer(norm=None, alternate_sign=False, n_features=5000)
    union = FeatureUnion(
        [("words", counts), ("none", "drop"), ("characters", CharNgramFeaturizer(n_features=700))],
        transformer_weights={"characters": 0.3},
    )
    explanation = check(make_pipeline(union, HashEmbeddingClassifier(**ROWS)).fit(X, Y))
    assert set(explanation.kinds) == {"words", "characters"}


def test_merged_models() -> None:
    classifier = TextClassifier(features="words", max_epochs=1, **SMALL)
    halves = [
        TextClassifier(**classifier.get_params()).fit(X[half], Y[half])
        for half in (slice(50), slice(50, None))
    ]
    check(merge_classifiers(halves))


def test_vectors_of_a_pretrained_model_are_one_entry() -> None:
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0)).fit(X)
    explanation = check(TextClassifier(pretrained=encoder, **SMALL).fit(X, Y), TEXTS[1:4])
    assert explanation.ngrams[-1] == "vector of Pipeline"
    assert explanation.columns.tolist().count(-1) == 1
    assert np.abs(explanation.contributions[-1]).max() > 1e-3


def test_a_contribution_is_the_score_of_the_column_alone() -> None:
    """Without normalization and moves of short rows, the score of a single column is the bias and
    its contribution.
    """
    options = {
        "normalize": None,
        "calibrate": "temperature",
        "learning_rate": 0.05,
        "max_epochs": 2,
    }
    classifier = HashEmbeddingClassifier(**ROWS, **options)
    model = make_pipeline(HashingNgramVectorizer(norm=None, alternate_sign=False), classifier).fit(
        X, Y
    )
    explanation = explain(model, X[3])
    assert len(explanation.ngrams) > 10
    for column, count, parts in zip(
        explanation.columns, explanation.counts, explanation.contributions, strict=True
    ):
        alone = csr_matrix(([float(count)], [int(column)], [0, 1]), shape=(1, 2**20))
        np.testing.assert_allclose(
            classifier.decision_function(alone)[0] - explanation.bias, parts, atol=1e-5
        )


def test_a_shared_column_is_divided_and_named() -> None:
    model = make_pipeline(
        HashingNgramVectorizer(n_features=2, norm=None), HashEmbeddingClassifier(**ROWS)
    )
    explanation = check(model.fit(X, Y))
    explanation = explain(model, "one two two three four five")
    for ngram, column, shared in zip(
        explanation.ngrams, explanation.columns, explanation.shared_with, strict=True
    ):
        others = [
            other
            for other, its in zip(explanation.ngrams, explanation.columns, strict=True)
            if its == column and other != ngram
        ]
        assert list(shared) == others
    assert any(explanation.shared_with)


def test_occurrences_and_characters() -> None:
    model = TextClassifier(features="words", **SMALL).fit(X, Y)
    text = "The event loop. The EVENT loop!"
    explanation = explain(model, text)
    index = explanation.ngrams.index("event")
    assert explanation.spans[index] == [(4, 9), (20, 25)]
    assert explanation.counts[index] == 2
    weights = explanation.character_weights("asyncio")
    assert weights.shape == (len(text),)
    total = explanation.contributions_to("asyncio").sum()  # all n-grams of words have a place
    np.testing.assert_allclose(weights.sum(), total)
    slow = np.zeros(len(text))
    for spans, value in zip(
        explanation.spans, explanation.contributions_to("asyncio"), strict=True
    ):
        for begin, end in spans:
            slow[begin:end] += value / len(spans) / (end - begin)
    np.testing.assert_allclose(weights, slow, atol=1e-12)
    assert explanation.top(3, "asyncio") == explanation.top(9, "asyncio")[:3]
    magnitudes = [abs(value) for _, value in explanation.top(99)]
    assert magnitudes == sorted(magnitudes, reverse=True)


def test_ends_of_the_text_have_names() -> None:
    model = TextClassifier(**SMALL).fit(X, Y)
    explanation = explain(model, "an event")
    words = [
        ngram
        for ngram, kind in zip(explanation.ngrams, explanation.kinds, strict=True)
        if kind == "words"
    ]
    assert words == ["<s>", "an", "event", "</s>", "<s> an", "an event", "event </s>"]
    spans = explanation.spans[: len(words)]
    assert spans == [[], [(0, 2)], [(3, 8)], [], [(0, 2)], [(0, 8)], [(3, 8)]]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(), "best_estimator_.*a pipeline with its vectorizer.*eli5 or shap"),
        (
            make_pipeline(HashingNgramVectorizer(), LogisticRegression()),
            "got a LogisticRegression.*eli5 or shap",
        ),
        (
            make_pipeline(
                HashingNgramVectorizer(), TfidfTransformer(), HashEmbeddingClassifier(**ROWS)
            ),
            "not followed through a TfidfTransformer.*eli5 or shap",
        ),
        (
            make_pipeline(TfidfVectorizer(), HashEmbeddingClassifier(**ROWS)),
            "columns of a TfidfVectorizer .*eli5",
        ),
        (
            make_pipeline(CharNgramFeaturizer(), SGNNProjector(), SGNNClassifier(max_epochs=1)),
            "signs of sums",
        ),
        (
            GridSearchCV(TextClassifier(**SMALL), {"max_epochs": [1]}, cv=2),
            "got a GridSearchCV.*best_estimator_",
        ),
    ],
)
def test_models_without_contributions_are_refused(model: Any, words: str) -> None:
    model.fit(
        HashingNgramVectorizer().transform(X) if isinstance(model, LogisticRegression) else X, Y
    )
    with pytest.raises(TypeError, match=words):
        explain(model, "event loop")


def test_models_that_are_not_fitted_are_refused() -> None:
    for model in (
        TextClassifier(),
        make_pipeline(HashingNgramVectorizer(), HashEmbeddingClassifier()),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            explain(model, "event loop")


def test_a_model_of_a_data_frame_is_told_what_to_do(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": X, "length": [len(text) for text in X]})
    columns = make_column_transformer((HashingNgramVectorizer(), "text"), remainder="passthrough")
    model = make_pipeline(columns, HashEmbeddingClassifier(max_epochs=1, **ROWS)).fit(frame, Y)
    calls: list[Callable[[], Any]] = [
        lambda: explain(model, "event loop"),
        lambda: explain(model, frame[:1]),  # type: ignore[arg-type]
        lambda: NgramInverter(model).fit(X),
        lambda: export_predictor(model, tmp_path / "model.py"),
    ]
    for call in calls:
        with pytest.raises(
            TypeError,
            match=r"A ColumnTransformer takes a data frame.* Train a TextClassifier .*\.$",
        ):
            call()


def test_wrong_arguments_are_refused() -> None:
    model = TextClassifier(features="words", max_epochs=1, **SMALL).fit(X, Y)
    with pytest.raises(TypeError, match="takes one text"):
        explain(model, ["event loop"])  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"needs labels of the model.*'asyncio'.*got \['nothing'\]"
    ):
        explain(model, "event loop", labels=["nothing"])
    with pytest.raises(ValueError, match="pass a list"):
        explain(model, "event loop", labels="asyncio")
    with pytest.raises(ValueError, match=r"pass a list, \[5\]"):
        explain(model, "event loop", labels=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got \[None, \['email'\]\]"):
        explain(model, "event loop", labels=[None, ["email"]])
    explanation = explain(model, "event loop", labels=["email"])
    with pytest.raises(ValueError, match="labels 'email'; got 'asyncio'"):
        explanation.top(1, "asyncio")
    binary = TextClassifier(features="words", max_epochs=1, **SMALL).fit(X, BINARY)
    with pytest.raises(ValueError, match="one score"):
        explain(binary, "event loop", labels=[True])


def test_scores_that_are_not_additive_are_refused() -> None:
    class Squared(HashEmbeddingClassifier):
        def decision_function(self, X: Any) -> Any:
            return super().decision_function(X) ** 2

    model = make_pipeline(HashingNgramVectorizer(), Squared(**ROWS)).fit(X, Y)
    with pytest.raises(ValueError, match="differ from the scores"):
        explain(model, "event loop")


def test_hidden_layers_with_two_classes_and_with_several_labels() -> None:
    model = make_text_classifier(features="words", max_epochs=2, **SMALL)
    model["classifier"].set_params(hidden_layer_sizes=(8,))
    check(model.fit(X, BINARY), TEXTS[:3])
    assert isinstance(check(model.fit(X, SEVERAL)).predicted, list)
