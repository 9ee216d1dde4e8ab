import warnings

import pytest
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp._sklearn import level_of_user
from tests.sentence_texts import make


def test_a_user_who_calls_is_the_next():
    assert level_of_user() == 1


def test_calls_of_the_package_and_of_scikit_learn_are_passed_over():
    encoder = make(max_words=2)
    calls = (encoder.fit, encoder.transform, encoder.fit_transform, encoder.partial_fit)
    for call in (*calls, make_pipeline(encoder).fit):
        with pytest.warns(UserWarning, match="truncated to 2 words") as caught:
            call(["One two three. Four five six."])
        assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder.most_similar(["one two three"], ["one"])
    assert [warning.filename for warning in caught] == [__file__]
