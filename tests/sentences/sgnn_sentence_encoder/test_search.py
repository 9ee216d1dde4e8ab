"""The weight of the context, which can be changed after training, and searches for vectors in place
of texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp import SGNNSentenceEncoder, load_model, save_model
from sklearn_hashnlp.sentences import Network, _fitted_encoder

SMALL = {
    "n_projections": 20,
    "n_bits": 8,
    "projection_dim": 32,
    "network": Network(16),
    "n_tables": 2,
    "table_bits": 6,
}
PARAGRAPHS = [
    "The cat sleeps all day. It purrs when it sleeps.",
    "Shares fell sharply. Investors sold their shares.",
    "The dog barks at the cat. The cat runs away.",
] * 4
TEXTS = [
    "The cat sleeps all day.",
    "Shares fell sharply.",
    "The dog barks at the cat.",
    "It rains.",
    "",
]


@pytest.fixture(scope="module")
def encoder() -> SGNNSentenceEncoder:
    return SGNNSentenceEncoder(**SMALL, random_state=0).fit(PARAGRAPHS)


def test_the_weight_of_the_context_is_changed_after_training(encoder: SGNNSentenceEncoder) -> None:
    model = encoder.set_params(context_weight="auto")
    pair = ["A cat sleeps."], ["The dog barks."]
    by_weight = {}
    try:
        for weight in (0.0, 0.5, 1.0):
            by_weight[weight] = model.set_params(context_weight=weight).similarity(*pair)[0]
    finally:
        model.set_params(context_weight="auto")
    assert by_weight[0.0] != by_weight[1.0]
    assert by_weight[0.5] == pytest.approx((by_weight[0.0] + by_weight[1.0]) / 2, abs=1e-5)


def test_a_changed_weight_is_saved_with_the_model(
    encoder: SGNNSentenceEncoder, tmp_path: Path
) -> None:
    wanted = encoder.set_params(context_weight=0.75).transform(["A cat sleeps."])
    save_model(encoder, tmp_path / "model")
    unchanged = encoder.set_params(context_weight="auto").transform(["A cat sleeps."])
    assert not np.allclose(wanted, unchanged)
    assert load_model(tmp_path / "model").transform(["A cat sleeps."]).tobytes() == wanted.tobytes()


def test_a_wrong_weight_is_refused_after_training_too(encoder: SGNNSentenceEncoder) -> None:
    for weight in (1.5, "half", None):
        with pytest.raises(
            ValueError, match="'context_weight' parameter of SGNNSentenceEncoder must be a number"
        ):
            encoder.set_params(context_weight=weight).transform(["A cat"])
        for texts in ([], [None]):  # before any text is read
            with pytest.raises(ValueError, match="'context_weight' parameter"):
                encoder.transform(texts)
    encoder.set_params(context_weight="auto")


def test_a_weight_that_changes_while_texts_are_read_changes_no_row(
    encoder: SGNNSentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fitted_encoder, "CHUNK_CHARACTERS", 1)
    texts = ["A cat sleeps.", "A dog barks."]
    wanted = encoder.set_params(context_weight=0.75).transform(texts)

    def changing() -> Iterator[str]:
        for text in texts:
            yield text
            encoder.set_params(context_weight=0.25)

    result = encoder.transform(changing())
    encoder.set_params(context_weight="auto")
    np.testing.assert_array_equal(result, wanted)


def test_an_encoder_of_one_part_says_that_the_other_was_not_trained() -> None:
    model = SGNNSentenceEncoder(**SMALL, context_weight=1, random_state=0).fit(PARAGRAPHS)
    with pytest.raises(
        ValueError, match="was fitted with context_weight=1 and has no other part to weigh"
    ):
        model.set_params(context_weight=0.5).transform(["A cat"])


def test_few_sentences_are_not_emptied_of_what_they_have_in_common(
    encoder: SGNNSentenceEncoder,
) -> None:
    assert len(encoder.net_.module_.network.common) == 0


def _assert_same(
    found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]
) -> None:
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5)


def test_a_search_takes_vectors_in_place_of_queries_and_of_texts(
    encoder: SGNNSentenceEncoder,
) -> None:
    vectors, expected = encoder.transform(TEXTS), encoder.most_similar(TEXTS[:2], TEXTS)
    for queries in (TEXTS[:2], vectors[:2], vectors[:2].astype(np.float64) * 3):
        for texts in (TEXTS, vectors, vectors * 2):
            _assert_same(encoder.most_similar(queries, texts), expected)
    assert encoder.most_similar(vectors[:0], vectors)[0].shape == (0, 5)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_search_takes_frames_of_vectors_and_of_one_column_of_texts(
    encoder: SGNNSentenceEncoder, container: str
) -> None:
    frames = pytest.importorskip(container)
    expected = encoder.most_similar(TEXTS[:2], TEXTS)
    copied = deepcopy(encoder).set_output(transform=container)
    vectors = copied.transform(TEXTS)
    assert isinstance(vectors, frames.DataFrame)
    _assert_same(copied.most_similar(vectors[:2], vectors), expected)
    column = frames.DataFrame({"text": TEXTS})
    _assert_same(copied.most_similar(column[:2], column), expected)


def test_vectors_of_another_encoder_are_refused(encoder: SGNNSentenceEncoder) -> None:
    good, other = encoder.transform(TEXTS), np.ones((2, 3))
    for queries, texts, name in ((other, good, "queries"), (good, other, "texts")):
        with pytest.raises(
            ValueError, match=f"the vectors of {name} have 3 columns and this encoder's have 48"
        ):
            encoder.most_similar(queries, texts)
    with pytest.raises(ValueError, match="Input queries contains NaN"):
        encoder.most_similar(good[:1] * np.nan, good)


def test_similarities_are_from_minus_one_to_one(encoder: SGNNSentenceEncoder) -> None:
    texts = [f"{text} {number}" for text in TEXTS[:4] for number in range(60)]
    same = encoder.similarity(texts, texts)
    nearest = encoder.most_similar(texts, texts, k=1)[1]
    for cosines in (same, nearest):
        assert cosines.dtype == np.float32
        assert np.isfinite(np.arccos(cosines)).all()
        np.testing.assert_allclose(cosines, 1, atol=1e-5)
