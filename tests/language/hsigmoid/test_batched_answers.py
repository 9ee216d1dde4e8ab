"""Answers do not depend on the sentences that are asked for together."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.language._base import BATCH_SIZE

RNG = np.random.default_rng(0)


SENTENCES = [" ".join(map(str, RNG.integers(50, size=RNG.integers(12)))) for _ in range(300)]


@pytest.mark.parametrize(
    ("output", "search", "wanted"),
    [
        ("hsigmoid", "fast", "'exact' or 'greedy', got 'fast'"),
        ("softmax", "fast", "'exact', since the model has no tree, got 'fast'"),
        ("adaptive", "greedy", "'exact', since the model has no tree, got 'greedy'"),
    ],
)
def test_no_such_search(output, search, wanted):
    model = HsigmoidLanguageModel(output=output, hidden_size=4, max_epochs=1, random_state=0).fit(SENTENCES[:9])
    with pytest.raises(ValueError, match=rf"HsigmoidLanguageModel\.predict needs search to be {wanted}"):
        model.predict(["1"], search=search)


def test_many_contexts():
    model = HsigmoidLanguageModel(hidden_size=8, max_epochs=1, random_state=0).fit(SENTENCES)
    contexts = [sentence.split()[:3] for sentence in SENTENCES] * 9  # several blocks
    assert len(contexts) > 2 * BATCH_SIZE
    probabilities = model.predict_proba(contexts)
    assert len(probabilities) == len(contexts)
    some = [*range(0, len(contexts), 400), len(contexts) - 1]
    np.testing.assert_allclose(probabilities[some], model.predict_proba([contexts[at] for at in some]), rtol=1e-5)
    for found in (model.predict(contexts), [row[0][0] for row in model.predict_topk(contexts, k=2)]):
        chosen = probabilities[np.arange(len(contexts)), [model.vocabulary_[word] for word in found]]
        np.testing.assert_allclose(chosen, probabilities.max(axis=1), rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"direct_connections": True}, {"direct_connections": "hashed"}], ids=str)
def test_a_sentence_has_the_same_score_in_any_company(options):
    model = HsigmoidLanguageModel(max_epochs=1, random_state=0, n_direct=1000, **options).fit(SENTENCES)
    together = model.score_samples(SENTENCES)  # more than a block
    for at in range(0, len(SENTENCES), 5):
        assert model.score_samples(SENTENCES[at : at + 1])[0] == together[at]
        assert model.score_samples(SENTENCES[at : at + 7])[0] == together[at]
