"""TextClassifier with unlabeled texts and with the encoder that comes with the package."""

import json

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.sentences import CooccurrenceEncoder, load_pretrained
from sklearn_hashnlp.text import _choose_weight, _ngram_vector_union
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
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
    assert np.ptp(alone.decision_function(UNSEEN)) < np.ptp(model.decision_function(UNSEEN)) / 3
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
    assert not isinstance(refit.pipeline_[0], NgramVectorUnion)


def test_unlabeled_texts_that_are_refused():
    model = TextClassifier(**SMALL)
    with pytest.raises(TypeError, match=r"TextClassifier\.fit, unlabeled"):
        model.fit(TEXTS, LABELS, unlabeled=7)
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
        model.fit(TEXTS, LABELS, unlabeled="nothing.txt")
    with pytest.raises(TypeError):
        model.fit(TEXTS, LABELS, unlabeled=[b"bytes", None])
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


def test_the_weight_of_vectors_is_chosen_from_150_texts_on(monkeypatch):
    data = load_stdlib_docstrings()
    texts, labels = data.data[::9][:160], data.target[::9][:160]
    encoder = CooccurrenceEncoder().fit(data.data[:1000])

    def weight(n, y=labels):
        union = TextClassifier(pretrained=encoder, **SMALL).fit(texts[:n], y[:n]).pipeline_[0]
        return union.weight_

    assert weight(149) == 1.0
    chosen = []
    monkeypatch.setattr(
        _ngram_vector_union,
        "choose_weight",
        lambda *arguments: chosen.append(arguments) or 0.25,
    )
    assert weight(150) == 0.25
    (rows, first, weights, encoded, _) = chosen[0]
    assert rows.shape == (150, first + 100)
    assert weights == (0.5, 0.25, 1.0)
    assert len(encoded) == 150
    lists = [[label] for label in labels]
    assert weight(150, lists) == 0.5  # the default where nothing can be compared


def test_a_weight_wins_by_more_than_noise(monkeypatch):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 200)
    import scipy.sparse

    noise = generator.integers(0, 50, (200, 6)).ravel()
    columns = np.column_stack([noise.reshape(200, 6), 50 + labels])
    rows = scipy.sparse.csr_matrix(
        (np.ones(columns.size, np.float32), (np.repeat(np.arange(200), 7), columns.ravel()))
    )
    assert _choose_weight.choose_weight(rows, 50, (0.01, 0.02, 1.0), labels, 1) == 1.0
    monkeypatch.setattr(_choose_weight, "_NOISE", 100)
    assert _choose_weight.choose_weight(rows, 50, (0.01, 0.02, 1.0), labels, 1) == 0.01


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
    assert load_pretrained("english")._model.reference["sha256"] in saved
    assert json.loads(saved)
