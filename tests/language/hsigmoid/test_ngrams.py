"""``HsigmoidLanguageModel(embedding="ngrams")``: hashed n-grams of the context at the input."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.nn.ngrams._ngram_word_table import NgramWordTable

from .small_models import GRAMMAR, fitted, make


@pytest.fixture(scope="module", name="model")
def _model():
    return fitted(embedding=("ngrams", 500), order=4)


def test_the_input_has_the_ngrams_at_each_word(model):
    table = model.net_.module_.embedding
    assert isinstance(table, NgramWordTable)
    assert table.ngrams.weight.any()
    start = model.vocabulary_["<s>"]
    context = torch.tensor([[start, start, 1], [2, 0, 1]])
    with torch.no_grad():
        added = table(context) - torch.nn.functional.embedding(context, table.weight)
        torch.testing.assert_close(added, 0.1 * table.ngrams(context))
    assert not added[0, :2].any()  # a history starts at the last <s>
    assert added[0, 2].any()
    # vectors of single words
    assert np.array_equal(model.embeddings_, table.weight.detach().numpy())


def test_ngrams_are_dropped_in_training_only(model):
    table = copy.deepcopy(model.net_.module_.embedding)
    torch.nn.init.normal_(table.ngrams.weight)
    context = torch.tensor([[2, 0, 1]]).repeat(1000, 1)
    plain = torch.nn.functional.embedding(context, table.weight)
    with torch.no_grad():
        table.train()
        share = float(((table(context) - plain).abs().sum(dim=2) == 0)[:, 2].float().mean())
        table.eval()
    assert 0.6 < share < 0.8
    assert torch.equal(table(context)[0], table(context)[-1])


def test_it_learns_the_grammar(model):
    assert model.perplexity(GRAMMAR) < 4
    assert model.score(GRAMMAR) == pytest.approx(
        fitted(embedding=("ngrams", 500), order=4).score(GRAMMAR), abs=0
    )


def test_its_options_are_checked():
    with pytest.raises(
        ValueError, match="'embedding' parameter of HsigmoidLanguageModel must be 'table', 'ngrams'"
    ):
        make(embedding=("ngrams", 0)).fit(GRAMMAR)
    with pytest.raises(ValueError, match="needs embedding='table'"):
        make(embedding="ngrams", output="tied_softmax").fit(GRAMMAR)
    warm = make(embedding=("ngrams", 500), warm_start=True).fit(GRAMMAR)
    with pytest.raises(ValueError, match=r"with embedding=.*: it was trained with"):
        warm.set_params(embedding=("ngrams", 501)).fit(GRAMMAR)
    assert isinstance(warm, HsigmoidLanguageModel)
