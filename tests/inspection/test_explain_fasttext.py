"""explain for models of fastText: every word and n-gram that is added up, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.classifiers import load_fasttext
from sklearn_hashnlp.inspection import NgramInverter, explain
from sklearn_hashnlp.inspection._text_columns import TextColumns
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from tests.persistence.fasttext_models import DATA, TEXTS, kept_buckets, random_model, save

FILES = sorted(path.name for path in DATA.iterdir() if path.suffix in (".bin", ".ftz"))
VECTORIZER, WITHOUT_LABELS = (
    FastTextVectorizer(word_ngrams=3, min_n=1, max_n=3, bucket=23, label_prefix=prefix).fit(
        ["the sauce <b> </s> x", "a crêpe"]
    )
    for prefix in ("__label__", "")
)


@pytest.mark.parametrize("name", FILES)
def test_contributions_sum_to_the_scores_of_the_model(name: str) -> None:
    model = load_fasttext(DATA / name)
    texts = [*TEXTS, "how long should I bake bread in a gas oven?"]
    # hundreds of gradients take a second
    for text in texts[::8] if len(model.classes_) > 100 else texts:
        explanation = explain(model, text)
        scores = np.atleast_1d(model.decision_function([text])[0])
        np.testing.assert_allclose(
            explanation.bias + explanation.contributions.sum(axis=0), scores, atol=1e-4
        )
        assert explanation.predicted == model.predict([text])[0]
        assert explanation.probabilities == pytest.approx(model.predict_proba([text])[0])
        assert not [ngram for ngram in explanation.ngrams if ngram.startswith("column ")]


def counts_of_features(vectorizer: FastTextVectorizer, text: str) -> dict[int, int]:
    """Return how often each column is counted, by the n-grams that are named."""
    counts: dict[int, int] = {}
    for source in TextColumns.of(vectorizer).sources:
        found = source.find(text)
        for column, spans in zip(
            source.columns_of(list(found))[0].tolist(), found.values(), strict=True
        ):
            if column >= 0:
                counts[column] = counts.get(column, 0) + len(spans)
    return counts


def counts_of_row(vectorizer: FastTextVectorizer, text: str) -> dict[int, int]:
    row = vectorizer.transform([text])
    return dict(zip(row.indices.tolist(), row.data.astype(int).tolist(), strict=True))


@given(st.text(st.sampled_from("the sauce<b>é日 \n\0\x85</s>__label__"), max_size=40))
def test_features_are_what_the_vectorizer_counts(text: str) -> None:
    for vectorizer in (VECTORIZER, WITHOUT_LABELS):
        assert counts_of_features(vectorizer, text) == counts_of_row(vectorizer, text)


def test_features_are_what_a_pruned_model_counts(tmp_path: Path) -> None:
    options = {"bucket": 40, "word_ngrams": 2, "min_n": 2, "max_n": 4}
    model = random_model(quantized="i", pruned=kept_buckets(**options), **options)
    vectorizer = load_fasttext(save(model, tmp_path / "model.bin"))[0]
    for text in TEXTS:
        assert counts_of_features(vectorizer, text) == counts_of_row(vectorizer, text)


def test_ngrams_of_one_bucket_share_its_value() -> None:
    features = TextColumns.of(VECTORIZER).features("the sauce of the crêpe")
    by_column = [
        [one for one in features if one.column == column]
        for column in {one.column for one in features}
    ]
    for group in by_column:
        assert sum(one.share for one in group) == pytest.approx(1.0)
    assert {"word n-grams", "characters"} in [{one.kind for one in group} for group in by_column]


def test_ngrams_have_their_places_in_the_text() -> None:
    features = {
        (f.ngram, f.kind): f.spans for f in TextColumns.of(VECTORIZER).features("a the the")
    }
    assert features["the", "words"] == [(2, 5), (6, 9)]
    assert features["the", "characters"] == [(2, 5), (6, 9)]
    assert features["<th", "characters"] == [(2, 4), (6, 8)]
    assert features["a the", "word n-grams"] == [(0, 5)]
    assert features["</s>", "words"] == [None]


def test_ngrams_of_columns_and_of_labels() -> None:
    model = load_fasttext(DATA / "softmax.bin")
    inverter = NgramInverter(model).fit(["how to bake bread", "which pan for bread"])
    column = int(inverter.columns_of("bread")[0])
    assert inverter.get_feature_names_out([column]) == ["bread"]
    assert len(inverter.top_ngrams(model, "baking", n=3)) == 3
