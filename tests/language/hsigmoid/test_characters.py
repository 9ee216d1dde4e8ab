"""``HsigmoidLanguageModel(embedding="sgnn")``: input words by their characters."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from tests.trainings import assert_same_bits

RNG = np.random.default_rng(0)

STEMS = [
    "start",
    "walk",
    "print",
    "order",
    "mention",
    "report",
    "visit",
    "shout",
    "plant",
    "lift",
    "open",
    "cook",
]

SMALL = {"order": 3, "embedding_dim": 16, "hidden_size": 32, "batch_size": 32, "random_state": 0}


def sentence(stems):
    """Return a sentence whose last word depends on the ending of the verb."""
    stem = RNG.choice(stems)
    return RNG.choice([f"he {stem}s today", f"he {stem}ed yesterday", f"when {stem}ing slowly"])


SENTENCES = [sentence(STEMS[1:]) for _ in range(400)]


def make(**options):
    return HsigmoidLanguageModel(
        **SMALL | {"regularization": Regularization(dropout=0.0)} | options
    )


def fitted(**options):
    return make(**{"embedding": "sgnn", "max_epochs": 6} | options).fit(SENTENCES)


@pytest.fixture(scope="module", name="model")
def _model():
    return fitted()


def test_words_never_seen_are_read_by_their_endings(model):
    contexts = ["he starts", "he started", "when starting"]
    assert not {"starts", "started", "starting"} & set(model.vocabulary_)
    assert model.predict(contexts).tolist() == ["today", "yesterday", "slowly"]
    table = fitted(embedding="table", max_epochs=1).predict(contexts).tolist()
    assert table[0] == table[1]  # which is <unk> to a table


def test_later_calls_bring_new_words():
    model = make(embedding="sgnn")
    for _ in range(6):
        model.partial_fit(SENTENCES)
    n_parameters = model.n_parameters_
    at = model.vocabulary_["today"]
    assert model.predict_proba(["zebras quarrelled"])[0, at] < 0.3
    for _ in range(4):
        model.partial_fit(["zebras quarrelled today"] * 40)
    assert model.n_parameters_ == n_parameters
    assert "quarrelled" not in model.vocabulary_  # a new word is read and not predicted
    assert model.predict_proba(["zebras quarrelled"])[0, at] > 0.5
    assert model.predict(["zebras quarrelled"]).tolist() == ["today"]


def test_no_array_has_a_row_for_each_word(tmp_path, model):
    shapes = {
        name: tuple(tensor.shape)
        for name, tensor in model.net_.module_.embedding.state_dict().items()
    }
    assert shapes == {"linear.weight": (16, 1120)}
    _, arrays = model._get_model_state()
    assert set(arrays) == {*model.net_.module_.state_dict(), "tree.children", "tree.offsets"}


def test_a_later_training_keeps_the_hyperplanes_of_the_first(tmp_path):
    options = {"embedding": ("sgnn", 80, 3), "warm_start": True}
    model = make(**options, max_epochs=1, checkpoint_dir=tmp_path).fit(SENTENCES[:64])
    model.set_params(random_state=9).fit(SENTENCES[:64])
    whole = make(**options, max_epochs=1).fit(SENTENCES[:64])
    whole.set_params(random_state=9, max_epochs=2, schedule=LanguageSchedule("constant")).fit(
        SENTENCES[:64]
    )
    options |= {"random_state": None, "checkpoint_dir": tmp_path}
    resumed = make(**options, max_epochs=2, resume=True).fit(SENTENCES[:64])
    assert_same_bits(
        resumed._tokenizer.word_encoder,
        model._tokenizer.word_encoder,
        whole._tokenizer.word_encoder,
    )
    assert len(resumed.history_) == 3


def test_learning_rate_and_damping_depend_on_the_number_of_bits():
    for n_bits in (1, 4):
        options = {
            "embedding": ("sgnn", 25, n_bits),
            "max_epochs": 1,
            "schedule": LanguageSchedule("constant", 0),
        }
        net = make(**options, learning_rate=0.3).fit(SENTENCES[:64]).net_
        [group] = [
            each
            for each in net.optimizer_.param_groups
            if each["params"][0] is net.module_.embedding.linear.weight
        ]
        root = np.sqrt(25 * n_bits)
        assert len(group["params"]) == 1
        assert group["lr"] == pytest.approx(0.1 / root)
        assert group["eps"] == pytest.approx(15 / 32 / root)
        assert len(net.optimizer_.param_groups) == 4
        assert sum(len(each["params"]) for each in net.optimizer_.param_groups) == len(
            list(net.module_.parameters())
        )


def test_words_of_any_characters(model):
    odd = ["", " ", "\0", "naïve", "語", "😀", "x" * 10_000, "New York"]
    assert np.isfinite(model.score_samples([[word, "today"] for word in odd])).all()
    with pytest.raises(ValueError, match="lone surrogate"):
        model.score([["\ud800"]])
