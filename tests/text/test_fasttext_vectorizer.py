"""FastTextVectorizer counts the rows that fastText adds up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from tests.oracles import fasttext as oracle
from tests.persistence.fasttext_models import TEXTS

PLAIN = [text.replace("\n", " ") for text in TEXTS]
OPTIONS: dict[str, dict[str, Any]] = {
    "words": {},
    "characters": {"max_n": 3, "bucket": 70},
    "all": {"word_ngrams": 3, "min_n": 2, "max_n": 5, "bucket": 1000, "min_count": 2},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_counts_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    options = dict(OPTIONS[name])
    vectorizer = FastTextVectorizer(**options).fit(TEXTS)
    min_count = options.pop("min_count", 1)
    counts = Counter(
        token
        for text in PLAIN
        for token in oracle.tokens(text)
        if not token.startswith(b"__label__")
    )
    words = [word for word, count in counts.most_common() if count >= min_count]
    model = oracle.Model(words, [b"a"], np.empty((0, 1)), np.empty((1, 1)), **options)
    rows = np.zeros((len(PLAIN), len(words) + model.bucket))
    for row, text in zip(rows, PLAIN, strict=True):
        np.add.at(row, oracle.rows_of_text(model, text), 1)
    save_model(vectorizer, tmp_path)
    for one in (vectorizer, load_model(tmp_path)):
        assert one.words_ == [word.decode() for word in words]
        assert one.transform(TEXTS).toarray().tolist() == rows.tolist()


def test_another_prefix_of_labels() -> None:
    texts = ["#tea a pot", "#cake __label__x"]
    assert FastTextVectorizer(label_prefix="#").fit(texts).words_ == [
        "</s>",
        "a",
        "pot",
        "__label__x",
    ]
    without = FastTextVectorizer(label_prefix="", word_ngrams=2, bucket=9).fit(texts)
    assert without.words_[1:3] == ["#tea", "a"]
    # "</s>", and n-grams of words that are no labels
    assert without.transform(["unknown words"]).sum() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": 5}, "no word occurs 5 times"),
        ({"max_n": 2, "bucket": 2**31 - 1}, "are more than 2147483647 columns"),
    ],
)
def test_wrong_texts_and_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FastTextVectorizer(**options).fit(["a pan", "a pot"])
