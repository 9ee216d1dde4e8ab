"""Messages about texts: as scikit-learn's, and with advice that exists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp import HashEmbeddingClassifier, HashingNgramVectorizer, make_text_classifier
from sklearn_hashnlp.text import distort_texts


def raised(function: Any, *args: Any) -> str:
    """Return the message of the ValueError that a call raises."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is what is tested)
        function(*args)
    return str(caught.value)


def test_a_program_that_matches_scikit_learns_message_on_nan_still_works() -> None:
    texts = ["hello world", np.nan, "hello hello"]
    theirs = raised(HashingVectorizer().fit_transform, texts)
    ours = raised(HashingNgramVectorizer().fit_transform, texts)
    assert ours.startswith(theirs)
    assert "document 1 is nan" in ours


def test_a_single_text_is_refused_with_advice_that_exists() -> None:
    model = make_text_classifier(random_state=0).fit(["fine film", "dull film"], ["good", "bad"])
    for call in (model.predict, distort_texts):
        message = raised(call, "one text")
        assert "in a list, [text]" in message
        assert "transform(" not in message  # a classifier's user calls predict, and distort_texts has no methods


def test_a_classifier_of_rows_shows_the_whole_text_that_it_refuses() -> None:
    assert "got the text 'one text'" in raised(HashEmbeddingClassifier().fit, "one text", [0])
