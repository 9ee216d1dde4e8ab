import numpy as np
import pytest

from tests.sentence_texts import PARAGRAPHS, QUERIES, fitted

ENCODER = fitted()


def test_rows_are_unit_vectors_of_float32():
    vectors = ENCODER.transform(QUERIES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, 24)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0, 1, 1], atol=1e-6)
    assert not vectors[3].any()
    assert ENCODER.transform([]).shape == (0, 24)
    assert not ENCODER.transform(["", " \n", "\u3000"]).any()


def test_case_does_not_matter_and_words_do():
    bar, upper, carn, seen, unseen = ENCODER.transform(["bar carn", "BAR Carn", "carn", "bar", "barrr"])
    np.testing.assert_allclose(bar, upper, atol=1e-6)  # equal texts may differ by the rounding of their rows
    assert not np.allclose(bar, carn)
    assert seen @ unseen < 0.999


def test_emoji_and_other_scripts_have_distinct_vectors():
    texts = ["🙂", "👩🏽‍🔬", "🇫🇷", "日本語", "한국", "ไทย", "é", "e\u0301", "½", "_"]
    vectors = ENCODER.transform(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert len({row.tobytes() for row in vectors}) == len(texts)


def test_a_vector_does_not_depend_on_the_other_texts():
    texts = [*QUERIES, *PARAGRAPHS, "bar " * 50]
    together = ENCODER.transform(texts)
    for index, text in enumerate(texts):
        np.testing.assert_allclose(ENCODER.transform([text])[0], together[index], atol=1e-5)
    np.testing.assert_allclose(ENCODER.transform(texts[::-1])[::-1], together, atol=1e-5)


def test_long_texts_are_truncated_with_one_warning():
    long = "bar carn belm " * 3334
    with pytest.warns(UserWarning, match="the longest text has 10,002 words; texts are truncated to 512") as caught:
        vectors = ENCODER.transform(["bar", long, long, "bar carn"])
    assert len(caught) == 1
    assert vectors[1].tobytes() == vectors[2].tobytes()
    np.testing.assert_allclose(vectors[1], ENCODER.transform(["bar carn belm " * 170 + "bar carn"])[0], atol=1e-6)
