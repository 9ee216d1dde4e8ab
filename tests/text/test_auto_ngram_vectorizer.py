"""AutoNgramVectorizer: its values against scikit-learn's vectorizers, and what it decides."""

import numpy as np
import pytest
from scipy.sparse import hstack
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp.text import AutoNgramVectorizer, _auto_ngram_vectorizer

TEXTS = [
    "To be, or not to be: that is the question",
    "",
    "no no no no",
    "ÉTÉ à la plage 😀",
    "the question",
]


def plain(texts, *, characters, lowercase=True, n_features=2**20):
    options = {
        "n_features": n_features // 2,
        "alternate_sign": False,
        "norm": None,
        "lowercase": lowercase,
    }
    words = HashingVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), **options)
    parts = [words.transform([f"\x02 {text} \x03" for text in texts])]
    parts.append(
        HashingVectorizer(analyzer="char_wb", ngram_range=(2, 5), **options).transform(texts)
    )
    for part in parts:
        part.data = 1 + np.log(part.data)
    return hstack([parts[0], 0.5 * parts[1] if characters else 0 * parts[1]]).toarray()


@pytest.mark.parametrize("lowercase", [True, False])
def test_values(lowercase):
    vectorizer = AutoNgramVectorizer(lowercase=lowercase, n_features=2**20)
    words = vectorizer.transform(text for text in TEXTS)
    np.testing.assert_allclose(
        words.toarray(), plain(TEXTS, characters=False, lowercase=lowercase), rtol=1e-6
    )
    both = vectorizer.fit_transform(text for text in TEXTS)
    assert vectorizer.features_ == "words+characters"
    assert both.dtype == words.dtype == np.float32
    np.testing.assert_allclose(
        both.toarray(), plain(TEXTS, characters=True, lowercase=lowercase), rtol=1e-6
    )


def test_many_texts_have_characters_only_if_many_words_are_new(monkeypatch):
    monkeypatch.setattr(_auto_ngram_vectorizer, "_MANY_TEXTS", 40)
    few_words = [f"w{i % 7} w{i % 5}" for i in range(40)]
    new_words = [f"v{i} w{i % 5}" for i in range(40)]
    vectorizer = AutoNgramVectorizer()
    assert vectorizer.fit(few_words).features_ == "words"
    assert vectorizer.unseen_share_ == 0
    assert vectorizer.fit(new_words).features_ == "words+characters"
    assert vectorizer.unseen_share_ == 0.5
    assert vectorizer.fit(few_words[:39]).features_ == "words+characters"
    monkeypatch.setattr(_auto_ngram_vectorizer, "_MANY_CHARACTERS", 100)
    assert vectorizer.fit(few_words[:39]).features_ == "words"


def test_columns_do_not_depend_on_the_decision():
    vectorizer = AutoNgramVectorizer(n_features=1001)
    words, both = vectorizer.transform(TEXTS), vectorizer.fit_transform(TEXTS)
    assert words.shape == both.shape == (5, 1001)
    assert (words[:, :500] != both[:, :500]).nnz == 0


def test_fit_checks_the_range_of_ngrams():
    with pytest.raises(ValueError, match="ngram_range"):
        AutoNgramVectorizer(ngram_range=(2, 1)).fit(TEXTS)


def test_texts_with_many_letters_have_single_characters():
    latin = ["".join(map(chr, range(97, 123))), "warm und schön"]
    many = ["".join(map(chr, range(0x4E00, 0x4E00 + 120))), "中文"]
    assert AutoNgramVectorizer().fit(latin).character_range_ == (2, 5)
    # symbols
    assert AutoNgramVectorizer().fit(
        ["".join(map(chr, range(0x2600, 0x2700)))]
    ).character_range_ == (2, 5)
    vectorizer = AutoNgramVectorizer().fit(many)
    assert vectorizer.character_range_ == (1, 4)
    assert vectorizer.ngram_specs()[-1].ngram_range == (1, 4)
    values, arrays = vectorizer._get_model_state()
    for damaged in ([2.0, 5.0], [True, 4], [1, 5], "(1, 4)"):
        with pytest.raises(ValueError, match="cannot have n-grams of"):
            AutoNgramVectorizer()._set_model_state(values | {"character_range": damaged}, arrays)
