"""n-grams with their places in the text: the same columns as the vectorizers, and the right
characters.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp.inspection._aligned_text import AlignedText
from sklearn_hashnlp.inspection._text_columns import TextColumns
from sklearn_hashnlp.text import (
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashingNgramVectorizer,
)
from tests.golden._register import texts as docstrings

DOCSTRINGS = docstrings()
MIXED = "ÉCOLE  İstanbul ΟΔΟΣ\t\n x, don't stop: naïve ﬁne Å"

VECTORIZERS: list[Any] = [
    HashingNgramVectorizer(norm=None, ngram_range=(1, 3)),
    HashingNgramVectorizer(
        norm=None, token_pattern=r"\w+|[^\w\s]", ngram_range=(2, 2), stop_words=["the", "of"]
    ),
    HashingNgramVectorizer(norm=None, analyzer="char", ngram_range=(1, 4), strip_accents="unicode"),
    HashingNgramVectorizer(
        norm=None, analyzer="char_wb", ngram_range=(1, 5), strip_accents="ascii", lowercase=False
    ),
    HashingVectorizer(norm=None, token_pattern=r"(\w)\w*", alternate_sign=False),
    HashingVectorizer(norm=None, tokenizer=str.split, token_pattern=None, preprocessor=str.upper),
    HashingVectorizer(norm=None, strip_accents=lambda text: text.replace("e", "")),
    HashingVectorizer(norm=None, analyzer=str.split),
    CharNgramFeaturizer(ngram_range=(1, 4)),
    CharNgramFeaturizer(split="punctuation", lowercase=True, alternate_sign=True, n_features=500),
    CharNgramFeaturizer(analyzer="skipgram", ngram_range=(1, 3), max_skip=2),
    CharNgramFeaturizer(analyzer="skipgram", ngram_range=(3, 3), max_skip=0),
    FrequentNgramVectorizer(max_features=300, ngram_range=(1, 2)).fit(DOCSTRINGS[:50]),
]


def find_ngrams(vectorizer: Any, text: str) -> dict[str, Any]:
    [source] = TextColumns.of(vectorizer).sources
    return source.find(text)


def counted(vectorizer: Any, text: str) -> Counter[int]:
    """Return the sums of the columns by the n-grams that were found."""
    [source] = TextColumns.of(vectorizer).sources
    found = source.find(text)
    columns, signs = source.columns_of(list(found))
    counts: Counter[int] = Counter()
    for spans, column, sign in zip(found.values(), columns.tolist(), signs.tolist(), strict=True):
        counts[column] += sign * len(spans)
    return Counter({column: count for column, count in counts.items() if column >= 0 and count})


def transformed(vectorizer: Any, text: str) -> Counter[int]:
    row = vectorizer.transform([text]).tocsr()
    values = zip(row.indices.tolist(), row.data.tolist(), strict=True)
    return Counter({column: int(value) for column, value in values if value})


@pytest.mark.parametrize(
    "vectorizer", VECTORIZERS, ids=lambda vectorizer: type(vectorizer).__name__
)
@pytest.mark.parametrize("text", [MIXED, "", " ", "a", *DOCSTRINGS[3:60:19]], ids=range(7))
def test_ngrams_equal_the_vectorizer(vectorizer: Any, text: str) -> None:
    assert counted(vectorizer, text) == transformed(vectorizer, text)


@settings(max_examples=25)
@given(st.text(alphabet=st.sampled_from("aB é\u0301İΣς,'\t\n\x1f\u3000漢ﬁ_-"), max_size=20))
@example("aΣ aΣ. İİ")
def test_ngrams_of_any_text(text: str) -> None:
    for vectorizer in VECTORIZERS[:4] + VECTORIZERS[8:11]:
        assert counted(vectorizer, text) == transformed(vectorizer, text)


@pytest.mark.parametrize(
    "vectorizer", VECTORIZERS[:4] + VECTORIZERS[8:], ids=lambda one: type(one).__name__
)
def test_spans_show_the_ngram(vectorizer: Any) -> None:
    text = "The IDs of  the file's name"
    for ngram, spans in find_ngrams(vectorizer, text).items():
        for span in spans:
            if span is None:  # only boundaries of words
                assert set(ngram) <= set(" <>")
                continue
            shown = text[slice(*span)].lower()
            whole = shown.strip()
            parts = [part for part in ngram.lower().strip(" <>").split(" ") if part]
            assert whole.startswith(parts[0]) if parts else shown.isspace()
            assert not parts or whole.endswith(parts[-1])


def test_spans_lead_back_through_lowercase_accents_and_spaces() -> None:
    text = "İx e\u0301A  \u3000Z ﬁn"
    found = find_ngrams(
        HashingVectorizer(analyzer="char", ngram_range=(1, 2), strip_accents="unicode"), text
    )
    assert found["ix"] == [(0, 2)]
    assert found["ea"] == [(2 + 1, 6)]
    assert found["a "] == [(5, 9)]  # a run of three spaces is one
    assert found[" z"] == [(6, 10)]
    assert found["fi"] == [(11, 12)]  # a ligature is two characters
    assert AlignedText.of("abc").replaced("ab").span(0, 1) is None
