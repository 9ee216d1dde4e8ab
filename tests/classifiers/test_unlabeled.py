"""TextClassifier with unlabeled texts and with the encoder that comes with the package."""

import json
from importlib import resources

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.sentences import CooccurrenceEncoder, load_pretrained
from tests.trainings import assert_same_bits

SMALL = {"n_buckets": 2**10, "n_embeddings": 2**12, "random_state": 0}
PETS = ["the cat purrs at the dog", "a kitten purrs", "a puppy barks", "the dog barks at a cat"]
MONEY = ["shares fell and stocks fell", "stocks were sold", "investors sold shares", "prices fell"]
UNLABELED = [f"{text} {other}" for texts in (PETS, MONEY) for text in texts for other in texts] * 3
TEXTS, LABELS = ["the cat", "some shares"] * 3, ["pet", "money"] * 3
UNSEEN = ["kitten", "puppy", "stocks", "investors"]


def test_unlabeled_texts_tell_what_new_words_mean():
    model = TextClassifier(**SMALL).fit(TEXTS, LABELS, unlabeled=iter(UNLABELED))
    assert model.predict(UNSEEN).tolist() == ["pet", "pet", "money", "money"]
    alone = TextClassifier(**SMALL).fit(TEXTS, LABELS)
    assert np.abs(alone.decision_function(UNSEEN)).max() < 0.3
    # the same as an encoder that was fitted to the labeled and unlabeled texts before
    encoder = CooccurrenceEncoder().fit(TEXTS + UNLABELED)
    before = TextClassifier(pretrained=encoder, **SMALL).fit(TEXTS, LABELS)
    assert_same_bits(before.decision_function(UNSEEN), model.decision_function(UNSEEN))


def test_unlabeled_texts_of_a_file(tmp_path):
    model = TextClassifier(**SMALL).fit(TEXTS, LABELS, unlabeled=UNLABELED)
    lines, table = tmp_path / "more.txt", tmp_path / "more.csv"
    lines.write_text("\n".join(UNLABELED), encoding="utf-8")
    table.write_text("\n".join(["text", *UNLABELED]), encoding="utf-8")
    for file in (lines, str(table)):
        other = TextClassifier(**SMALL).fit(TEXTS, LABELS, unlabeled=file)
        assert_same_bits(other.decision_function(UNSEEN), model.decision_function(UNSEEN))


def test_a_model_of_unlabeled_texts_is_saved_continued_and_explained(tmp_path):
    model = TextClassifier(**SMALL).fit(TEXTS, LABELS, unlabeled=UNLABELED)
    save_model(model, tmp_path / "model", training_state=True)
    loaded = load_model(tmp_path / "model")
    assert_same_bits(loaded.decision_function(UNSEEN), model.decision_function(UNSEEN))
    for each in (model, loaded):
        each.partial_fit(["a puppy", "prices"], ["pet", "money"])
    assert_same_bits(loaded.decision_function(UNSEEN), model.decision_function(UNSEEN))
    assert "vector of CooccurrenceEncoder" in explain(model, "the kitten").ngrams
    refit = model.fit(TEXTS, LABELS)
    assert type(refit.pipeline_[0]).__name__ == "AutoNgramVectorizer"


def test_unlabeled_texts_that_are_refused():
    model = TextClassifier(**SMALL)
    with pytest.raises(TypeError, match=r"TextClassifier\.fit, unlabeled"):
        model.fit(TEXTS, LABELS, unlabeled=7)
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
        model.fit(TEXTS, LABELS, unlabeled="nothing.txt")
    with pytest.raises(TypeError, match=r"TextClassifier\.fit, unlabeled .* document 1 is None"):
        model.fit(TEXTS, LABELS, unlabeled=["a text", None])
    with pytest.raises(TypeError, match=r"TextClassifier expects .* document 6 is None"):
        model.fit([*TEXTS, None], [*LABELS, "pet"], unlabeled=UNLABELED)
    used = iter(UNLABELED)
    model.fit(TEXTS, LABELS, unlabeled=used)
    for nothing in ([], used):
        with pytest.raises(ValueError, match="there are no texts"):
            model.fit(TEXTS, LABELS, unlabeled=nothing)
    with pytest.raises(ValueError, match=r"fit, X and unlabeled: .* none in 3 texts"):
        model.fit(["rare", "words"], ["a", "b"], unlabeled=["one text"])
    warm = make_text_classifier(**SMALL)["classifier"].set_params(warm_start=True)
    warm = TextClassifier(classifier=warm).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="cannot learn from unlabeled texts where it continues"):
        warm.fit(TEXTS, LABELS, unlabeled=UNLABELED)


def test_unlabeled_texts_in_a_grid_search():
    grid = {"lowercase": [True, False]}
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier(**SMALL).set_fit_request(unlabeled=True)
        search = GridSearchCV(model, grid, cv=2).fit(TEXTS, LABELS, unlabeled=UNLABELED)
    assert search.predict(UNSEEN).tolist() == ["pet", "pet", "money", "money"]


def test_texts_of_weight_0_are_ignored():
    junk = ["qqq www eee", "zzz"] * 30
    weights = np.repeat([1.0, 0.0], [len(TEXTS), len(junk)])
    for more in ({"pretrained": "english"}, {"unlabeled": UNLABELED}):
        unlabeled = {"unlabeled": more.pop("unlabeled", None)}
        alone = TextClassifier(**more, **SMALL).fit(TEXTS, LABELS, **unlabeled)
        model = TextClassifier(**more, **SMALL)
        model.fit([*TEXTS, *junk], [*LABELS, *["pet"] * len(junk)], weights, **unlabeled)
        assert_same_bits(model.decision_function(UNSEEN), alone.decision_function(UNSEEN))


def test_nobody_can_change_the_weights_of_the_package():
    with pytest.raises(ValueError, match="read-only"):
        load_pretrained().intercept_[:] = 1
    load_pretrained().coef_[:] = 1  # a copy
    assert load_pretrained().transform(["a"]).std() > 0.01


@pytest.mark.parametrize("make", [TextClassifier, make_text_classifier])
def test_the_english_encoder_is_saved_by_name(make, tmp_path):
    texts, labels = ["a cat", "a dog", "shares", "the market"], ["pet", "pet", "money", "money"]
    model = make(pretrained="english", **SMALL).fit(texts, labels)
    assert model.predict(["my kitten", "stock exchange"]).tolist() == ["pet", "money"]
    save_model(model, tmp_path / "model")
    assert (tmp_path / "model" / "weights.safetensors").stat().st_size < 10**6
    loaded = load_model(tmp_path / "model")
    assert_same_bits(loaded.decision_function(texts), model.decision_function(texts))
    saved = (tmp_path / "model" / "parameters.json").read_text(encoding="utf-8")
    provenance = resources.files("sklearn_hashnlp.sentences") / "english" / "provenance.json"
    assert json.loads(provenance.read_text(encoding="utf-8"))["sha256"] in saved
