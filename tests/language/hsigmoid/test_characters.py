"""``HsigmoidLanguageModel(embedding="sgnn")``: input words by their characters."""

from __future__ import annotations

import os
import re
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch

from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from sklearn_hashnlp.persistence import load_model, save_model

RNG = np.random.default_rng(0)


STEMS = ["start", "walk", "print", "order", "mention", "report", "visit", "shout", "plant", "lift", "open", "cook"]


SMALL = {"order": 3, "embedding_dim": 16, "hidden_size": 32, "batch_size": 32, "random_state": 0}


def sentence(stems):
    """Return a sentence whose last word depends on the ending of the verb."""
    stem = RNG.choice(stems)
    return RNG.choice([f"he {stem}s today", f"he {stem}ed yesterday", f"when {stem}ing slowly"])


SENTENCES = [sentence(STEMS[1:]) for _ in range(800)]


def make(**options):
    return HsigmoidLanguageModel(**SMALL | {"regularization": Regularization(dropout=0.0)} | options)


def fitted(**options):
    return make(**{"embedding": "sgnn", "max_epochs": 6} | options).fit(SENTENCES)


@pytest.fixture(scope="module", name="model")
def _model():
    return fitted()


def test_words_never_seen_are_read_by_their_endings(model):
    contexts = ["he starts", "he started", "when starting"]
    assert not {"starts", "started", "starting"} & set(model.vocabulary_)
    assert model.predict(contexts).tolist() == ["today", "yesterday", "slowly"]
    table = fitted(embedding="table").predict(contexts).tolist()
    assert table[0] == table[1]  # which is <unk> to a table


def test_a_word_never_seen_is_near_those_that_are_spelled_alike(model):
    nearest = [word for word, _ in model.most_similar("started", n=11)]
    assert all(word.endswith("ed") for word in nearest[:5])
    words = [word for word, _ in model.analogy("walks", "walked", "starts", n=5)]
    assert sum(word.endswith("ed") for word in words) >= 3


def test_words_never_seen_are_scored_and_sampled_after(model):
    natural, strange = model.score_samples(["he started yesterday", "he started slowly"])
    assert natural > strange
    assert np.isfinite(model.perplexity(["he started yesterday", "unheard of words", ""]))
    drawn = {tuple(words) for words in model.sample(20, random_state=0, start="he started")}
    assert ("he", "started", "yesterday") in drawn


def test_a_score_does_not_depend_on_the_other_sentences(model):
    sentences = [sentence(STEMS) for _ in range(400)]
    together = model.score_samples(sentences)
    for index in range(0, 400, 40):
        assert model.score_samples(sentences[index : index + 1])[0] == together[index]
        assert model.score_samples(sentences[index : index + 7])[0] == together[index]


def test_later_calls_bring_new_words():
    model = make(embedding="sgnn")
    for _ in range(6):
        model.partial_fit(SENTENCES)
    n_parameters = model.n_parameters_
    before = model.predict_proba(["zebras quarrelled"])[0]
    for _ in range(4):
        model.partial_fit(["zebras quarrelled today"] * 40)
    assert model.n_parameters_ == n_parameters
    assert "quarrelled" not in model.vocabulary_  # a new word is read and not predicted
    at = model.vocabulary_["today"]
    assert model.predict_proba(["zebras quarrelled"])[0, at] > before[at] + 0.2
    assert model.predict(["zebras quarrelled"]).tolist() == ["today"]


def test_no_array_has_a_row_for_each_word(tmp_path, model):
    shapes = {name: tuple(tensor.shape) for name, tensor in model.net_.module_.embedding.state_dict().items()}
    assert shapes == {"linear.weight": (16, 1120)}
    _, arrays = model._get_model_state()
    assert set(arrays) == {*model.net_.module_.state_dict(), "tree.children", "tree.offsets"}


def test_copies_know_words_never_seen_as_well(tmp_path, model):
    save_model(model, tmp_path / "folder")
    joblib.dump(model, tmp_path / "model.joblib")
    sentences = ["he started yesterday", "unheard of words"]
    for other in (load_model(tmp_path / "folder"), joblib.load(tmp_path / "model.joblib")):
        assert other.score_samples(sentences).tobytes() == model.score_samples(sentences).tobytes()
        assert other.most_similar("started") == model.most_similar("started")


def test_a_later_training_keeps_the_hyperplanes_of_the_first(tmp_path):
    options = {"embedding": ("sgnn", 80, 3), "warm_start": True}
    model = make(**options, max_epochs=1, checkpoint_dir=tmp_path).fit(SENTENCES)
    model.set_params(random_state=9).fit(SENTENCES)
    whole = make(**options, max_epochs=1).fit(SENTENCES)
    whole.set_params(random_state=9, max_epochs=2, schedule=LanguageSchedule("constant")).fit(SENTENCES)
    options |= {"random_state": None, "checkpoint_dir": tmp_path}
    resumed = make(**options, max_epochs=2, resume=True).fit(SENTENCES)
    assert resumed._tokenizer.word_encoder == model._tokenizer.word_encoder == whole._tokenizer.word_encoder
    assert len(resumed.history_) == 3


@pytest.mark.parametrize("embedding", [("sgnn", 80, 7), ("sgnn", 40, 14), "hash"], ids=str)
def test_a_net_of_other_projections_is_refused(embedding):
    model = make(embedding="sgnn").fit(SENTENCES[:50])
    with pytest.raises(ValueError, match=re.escape(f"another 'embedding' than {embedding!r}")):
        model.set_params(embedding=embedding).partial_fit(SENTENCES[:50])


def test_the_seed_draws_the_hyperplanes():
    one, same, other = (fitted(max_epochs=1, random_state=seed) for seed in (0, 0, 1))
    assert one._tokenizer.word_encoder == same._tokenizer.word_encoder != other._tokenizer.word_encoder
    assert one.embeddings_.tobytes() == same.embeddings_.tobytes()


def test_learning_rate_and_damping_depend_on_the_number_of_bits():
    for n_bits in (1, 4):
        options = {"embedding": ("sgnn", 25, n_bits), "max_epochs": 1, "schedule": LanguageSchedule("constant")}
        net = fitted(**options, learning_rate=0.3).net_
        [group] = [
            each for each in net.optimizer_.param_groups if each["params"][0] is net.module_.embedding.linear.weight
        ]
        root = np.sqrt(25 * n_bits)
        assert len(group["params"]) == 1
        assert group["lr"] == pytest.approx(0.1 / root)
        assert group["eps"] == pytest.approx(15 / 32 / root)
        assert len(net.optimizer_.param_groups) == 4
        assert sum(len(each["params"]) for each in net.optimizer_.param_groups) == len(list(net.module_.parameters()))


def test_words_of_any_characters(model):
    odd = ["", " ", "\0", "naïve", "語", "😀", "x" * 10_000, "New York"]
    assert np.isfinite(model.score_samples([[word, "today"] for word in odd])).all()
    with pytest.raises(ValueError, match="lone surrogate"):
        model.score([["\ud800"]])


@pytest.mark.gpu
def test_cuda():
    on_cpu = fitted(max_epochs=2)
    on_gpu = fitted(max_epochs=2, device="cuda")
    assert on_gpu.score(SENTENCES) == pytest.approx(on_cpu.score(SENTENCES), abs=0.1)
    assert on_gpu.predict(["he started"]).shape == (1,)
    assert torch.device(on_gpu.net_.device).type == "cuda"


@pytest.mark.slow
@pytest.mark.skipif("HASHNLP_DATA" not in os.environ, reason="HASHNLP_DATA names no folder")
def test_penn_treebank_with_words_never_seen():
    folder = Path(os.environ["HASHNLP_DATA"]) / "ptb"
    train = (folder / "train.txt").read_text(encoding="utf-8").splitlines()[:10_000]
    valid = (folder / "valid.txt").read_text(encoding="utf-8").splitlines()
    relative_of = {"started": "starts", "increased": "increases", "reported": "reports", "continued": "continues"}
    relative_of |= {"officials": "official", "prices": "price", "analysts": "analyst", "companies": "company"}
    unseen = list(relative_of)
    pattern = re.compile(rf"\b({'|'.join(unseen)})\b")
    train = [line for line in train if not pattern.search(line)]
    after = [line for line in valid if pattern.search(line)]
    scores, models = {}, {}
    for embedding in ("table", "sgnn"):
        model = HsigmoidLanguageModel(embedding=embedding, optimizer="adam", learning_rate=0.002, max_epochs=2)
        model.set_params(random_state=0).fit(train)
        assert not set(unseen) & set(model.vocabulary_)
        models[embedding] = model
        scores[embedding] = model.perplexity(valid), model.perplexity(after)
    sgnn = models["sgnn"]
    # It loses little on everything, and less where words stand that training never saw.
    assert scores["sgnn"][1] / scores["table"][1] < scores["sgnn"][0] / scores["table"][0]
    # They are to the network more like their relatives than like other words: in their vectors, and in what follows.
    at = sgnn._tokenizer.vocabulary.encode(relative_of.values())
    others = np.random.default_rng(0).choice(np.setdiff1d(np.arange(len(sgnn.vocabulary_) - 1), at), 300)
    cosines = sgnn._unit_vectors(unseen) @ sgnn._unit_vectors(list(sgnn.vocabulary_)).T
    nearer = [(row[others] > row[own]).mean() for row, own in zip(cosines, at, strict=True)]
    words = list(sgnn.vocabulary_)
    after_others = np.log(sgnn.predict_proba([["it", words[number]] for number in others]))
    likelier = []
    for word, relative in relative_of.items():
        mine, its = np.log(sgnn.predict_proba([["it", word], ["it", relative]]))
        of_others = (np.exp(mine) * (mine - after_others)).sum(axis=1)
        likelier.append((of_others < (np.exp(mine) * (mine - its)).sum()).mean())
    assert np.mean(nearer) < 0.1
    assert nearer[0] < 0.25
    assert np.mean(likelier) < 0.25
    assert likelier[0] < 0.5
