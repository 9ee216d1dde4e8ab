"""Training parameters that are "auto"."""

from __future__ import annotations

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.language._bundles import auto_settings
from sklearn_hashnlp.persistence import load_model, save_model
from tests.language.hsigmoid.small_models import SENTENCES, bytes_of

TINY = {"order": 3, "embedding_dim": 4, "hidden_size": 8, "random_state": 0}


@pytest.mark.parametrize(
    ("n_windows", "batch_size"), [(1, 32), (1300, 32), (6600, 64), (22_000, 128), (66_000, 512), (10**7, 512)]
)
def test_the_batch_size_grows_with_the_text(n_windows, batch_size):
    assert auto_settings(HsigmoidLanguageModel(), n_windows, None)["batch_size"] == batch_size
    assert auto_settings(HsigmoidLanguageModel(batch_size=7), n_windows, None)["batch_size"] == 7


@pytest.mark.parametrize(("optimizer", "rate"), [("adagrad", 0.5), ("adam", 0.002), ("sgd", 0.25 * 32**0.5)])
def test_auto_is_the_same_as_the_values_that_are_shown(optimizer, rate):
    model = HsigmoidLanguageModel(**TINY, optimizer=optimizer).fit(SENTENCES)
    shown = {name: getattr(model, f"{name}_") for name in ("batch_size", "learning_rate", "max_epochs")}
    assert shown == {"batch_size": 32, "learning_rate": rate, "max_epochs": 5}
    assert len(model.history_) == 5
    assert bytes_of(model) == bytes_of(HsigmoidLanguageModel(**TINY, optimizer=optimizer, **shown).fit(SENTENCES))


def test_later_calls_keep_the_batch_size_of_the_first(tmp_path):
    model = HsigmoidLanguageModel(**TINY).partial_fit(SENTENCES)
    save_model(model, tmp_path / "lm")
    many = SENTENCES * 25
    assert HsigmoidLanguageModel(**TINY).partial_fit(many).batch_size_ > 32
    for each in (model, load_model(tmp_path / "lm")):
        assert each.partial_fit(many).batch_size_ == 32


def test_the_learning_rate_of_sgd_depends_on_the_words_of_a_batch():
    model = HsigmoidLanguageModel(**TINY, optimizer="sgd", batch_size=10**5).fit(SENTENCES)
    n_words = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    assert model.learning_rate_ == pytest.approx(0.25 * n_words**0.5)
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]
