"""Texts of a model with encoders, scored in one native call: as from the rows of the union."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.sentences import CooccurrenceEncoder, DistilledSentenceEncoder
from tests.strategies import TEXTS as STRANGE

RNG = np.random.default_rng(0)
WORDS = [f"{begin}{end}" for begin in "bcdfg" for end in ("ar", "arn", "el", "elm", "im", "ime")]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(2, 12))) + "." for _ in range(160)]
LABELS = ["many" if text.count("a") > 4 else "few" for text in TEXTS]
QUERIES = [
    *TEXTS,
    "",
    "unknown words only",
    "?!",
    "naïve bar Élm 日本語",
    "NUL \x00 bar",
    "bar " * 2000,
    "İstanbul ΑΣ",
]


def encoder(texts: list[str] = TEXTS, n_columns: int = 13, **parameters: Any) -> Any:
    """Return a fitted encoder."""
    vectors = np.random.default_rng(1).normal(size=(len(texts), n_columns))
    return DistilledSentenceEncoder(n_components=None, **parameters).fit(texts, vectors)


def fit(features: str = "auto", pretrained: Any = None, **parameters: Any) -> TextClassifier:
    pretrained = encoder() if pretrained is None else pretrained
    model = TextClassifier(features=features, pretrained=pretrained, random_state=0, **parameters)
    return model.fit(TEXTS, LABELS, unlabeled=TEXTS)


MODEL = fit()


def by_rows(model: TextClassifier, texts: list[str]) -> np.ndarray:
    """Return the scores of the rows of the union."""
    return HashEmbeddingClassifier._scores(model._fitted(), model._rows(texts))


def assert_same_scores(model: TextClassifier, texts: list[str]) -> None:
    assert model._scorer()._native is not None
    expected = by_rows(model, texts)
    assert model._scores(texts).tobytes() == expected.tobytes()
    labels = model.classes_[expected.argmax(axis=1)].tolist()
    assert model.predict(texts).tolist() == labels
    assert [model.predict([text])[0] for text in texts] == labels


@pytest.mark.filterwarnings("ignore:.*texts are truncated")
@pytest.mark.parametrize("features", ["auto", "words", "characters", "words+characters"])
def test_scores_are_those_of_the_rows(features: str) -> None:
    model = fit(features)
    (_, union), _ = model.pipeline_.steps
    assert len(union.encoders) == 2
    assert isinstance(union.encoders[1].estimator, CooccurrenceEncoder)
    assert_same_scores(model, QUERIES)


@given(STRANGE)
def test_scores_of_strange_texts(texts: list[str]) -> None:
    if texts:
        assert_same_scores(MODEL, texts)


def test_threads_change_no_bit() -> None:
    texts = QUERIES[:150] * 60
    expected = MODEL._scorer().score(texts, 1, with_scores=True)
    assert expected is not None
    many = MODEL._scorer().score(texts, 4, with_scores=True)
    assert many is not None
    assert many.tobytes() == expected.tobytes()


def test_saved_models_and_encoders_in_4_bits(tmp_path: Path) -> None:
    save_model(encoder(), tmp_path / "encoder", precision="int4")
    model = fit(pretrained=load_model(tmp_path / "encoder"))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same_scores(loaded, TEXTS)
    assert loaded.predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()


@pytest.mark.filterwarnings("ignore:.*texts are truncated")
def test_an_encoder_that_changes_is_followed() -> None:
    pretrained = encoder()
    model = fit(pretrained=pretrained)
    before = model._scores(TEXTS)
    pretrained.set_params(max_words=2)
    assert model._scores(TEXTS).tobytes() != before.tobytes()
    assert_same_scores(model, TEXTS)
    pretrained.set_params(max_words=512)
    assert model._scores(TEXTS).tobytes() == before.tobytes()
    pretrained._model = encoder(TEXTS[50:])._model
    assert model._scores(TEXTS).tobytes() != before.tobytes()
    assert_same_scores(model, TEXTS)


class Upside(DistilledSentenceEncoder):
    """An encoder with code of its own."""

    def transform(self, X: Any) -> np.ndarray:
        """Return the vectors in the other direction."""
        return -super().transform(X)


def test_encoders_with_other_code_are_asked() -> None:
    vectors = np.random.default_rng(1).normal(size=(len(TEXTS), 5))
    model = fit(pretrained=Upside().fit(TEXTS, vectors))
    assert model._scorer()._native is None
    expected = by_rows(model, TEXTS)
    assert model._scores(TEXTS).tobytes() == expected.tobytes()
    assert model.predict([TEXTS[3]])[0] == model.classes_[expected[3].argmax()]


def test_a_lone_surrogate_is_named() -> None:
    for texts in (["bar \ud800"], ["bar", "carn \udfff"]):
        with pytest.raises(ValueError, match=f"document {len(texts) - 1} holds the lone surrogate"):
            MODEL.predict(texts)
