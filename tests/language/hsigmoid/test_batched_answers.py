"""Scores and predictions do not depend on the other sentences of a call."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.language._base import BATCH_SIZE

RNG = np.random.default_rng(0)
SENTENCES = [" ".join(map(str, RNG.integers(50, size=RNG.integers(12)))) for _ in range(300)]


def test_many_contexts():
    model = HsigmoidLanguageModel(hidden_size=8, max_epochs=1, random_state=0).fit(SENTENCES)
    contexts = [sentence.split()[:3] for sentence in SENTENCES] * 9  # several batches
    assert len(contexts) > 2 * BATCH_SIZE
    probabilities = model.predict_proba(contexts)
    assert len(probabilities) == len(contexts)
    some = [*range(0, len(contexts), 400), len(contexts) - 1]
    np.testing.assert_allclose(probabilities[some], model.predict_proba([contexts[index] for index in some]), rtol=1e-5)
    for words in (model.predict(contexts), [row[0][0] for row in model.predict_topk(contexts, k=2)]):
        chosen = probabilities[np.arange(len(contexts)), [model.vocabulary_[word] for word in words]]
        np.testing.assert_allclose(chosen, probabilities.max(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"direct_connections": True}, {"direct_connections": ("hashed", 1000)}], ids=str
)
def test_a_score_does_not_depend_on_the_other_sentences(options):
    model = HsigmoidLanguageModel(max_epochs=1, random_state=0, **options).fit(SENTENCES)
    together = model.score_samples(SENTENCES)  # more than a batch
    for index in range(0, len(SENTENCES), 5):
        assert model.score_samples(SENTENCES[index : index + 1])[0] == together[index]
        assert model.score_samples(SENTENCES[index : index + 7])[0] == together[index]
