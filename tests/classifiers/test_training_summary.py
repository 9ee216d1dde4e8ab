"""What a model remembers of left-out training rows: as if each of them were a new one."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier, merge_classifiers
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary, histograms
from sklearn_hashnlp.classifiers.hash_embedding._known_columns import (
    DocumentFrequencies,
    KnownColumns,
)
from tests.trainings import assert_near, assert_same_bits

N_TEXTS = 240
MODELS_OF_BEFORE = Path(__file__).parents[1] / "persistence" / "data" / "models" / "newest"


def make_texts(n_texts=N_TEXTS, seed=0):
    """Return texts of words by Zipf's law, of which the first tells the label."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c"], n_texts, p=[0.5, 0.3, 0.2])
    texts = [
        " ".join(
            [f"is{label}", *(f"w{word}" for word in rng.zipf(1.4, rng.integers(3, 12)) % 5000)]
        )
        for label in labels
    ]
    return texts, labels


def make_model(**parameters):
    sizes = {"n_buckets": 2**18, "n_embeddings": 2**18}
    classifier = HashEmbeddingClassifier(**(sizes | parameters))
    return TextClassifier(features="words", classifier=classifier, random_state=0)


def summary_of(model):
    return model.pipeline_[-1]._calibration.summary


def columns_of(model, texts):
    rows = model.pipeline_[0].transform(texts)
    return [part.tolist() for part in np.split(rows.indices, rows.indptr[1:-1])]


MODELS = {
    "dual": {"loss": "hinge", "n_hashes": 1},
    "small pool": {"loss": "hinge", "n_hashes": 1, "n_buckets": 256},
    "two hashes": {"loss": "hinge", "n_hashes": 2},
    "paper": {"loss": "hinge", "variant": "paper"},
    "standard": {"loss": "hinge", "variant": "standard"},
    "ones": {"loss": "hinge", "embedding": EmbeddingTables(importance_init="ones")},
    "sgd": {"solver": "sgd", "max_epochs": 4},
    "sgd, standard": {"solver": "sgd", "max_epochs": 4, "variant": "standard"},
    "hidden": {"solver": "sgd", "max_epochs": 4, "hidden_layer_sizes": (8,)},
}


@pytest.mark.parametrize("name", MODELS)
def test_an_ngram_is_unknown_if_no_other_row_has_it(name):
    texts, labels = make_texts()
    model = make_model(**MODELS[name]).fit(texts, labels)
    columns, summary = columns_of(model, texts), summary_of(model)
    frequencies = Counter(column for row in columns for column in row)
    shares = np.array([np.mean([frequencies[column] == 1 for column in row]) for row in columns])
    if name == "ones":  # all columns have a weight
        shares *= 0
    # Of the dual solver all rows; else the last quarter of the first epoch
    is_dual = model.solver_ == "dual"
    assert summary.n_rows == (N_TEXTS if is_dual else pytest.approx(N_TEXTS / 4, abs=40))
    assert summary.mean(0) == pytest.approx(shares.mean(), abs=0.005 if is_dual else 0.08)
    spectrum = np.bincount(list(Counter(frequencies.values()).elements()), minlength=33)[1:6]
    np.testing.assert_allclose(summary.spectrum[:5], spectrum, rtol=0.02, atol=5)


def test_a_row_is_as_long_as_if_it_were_new():
    texts, labels = make_texts()
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    classifier = model.pipeline_[-1]
    rows, tables = classifier._rows(model.pipeline_[0].transform(texts)), classifier._model.tables
    of_rows = np.zeros(len(tables.known), dtype=np.int32)
    frequencies = DocumentFrequencies.of(classifier._model.architecture, tables, rows)
    of_rows[:] = frequencies.of_rows
    training = DocumentFrequencies.of(classifier._model.architecture, tables, rows, of_rows)
    without = KnownColumns.of(tables, rows, training)
    for index in range(5):
        others = [at for at in range(N_TEXTS) if at != index]
        other = make_model(**MODELS["dual"]).fit([texts[at] for at in others], labels[others])
        parts = other.pipeline_[-1]
        row = parts._rows(other.pipeline_[0].transform([texts[index]]))
        new = KnownColumns.of(parts._model.tables, row)
        assert_near(new.lengths[0], without.lengths[index], rtol=0.01)
        assert_same_bits(new.unknown_shares[0], without.unknown_shares[index])


def test_an_ngram_without_weights_is_known():
    """The dual solver gives none to columns of rows that are far from every other label."""
    texts, labels = make_texts()
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    classifier = model.pipeline_[-1]
    rows, tables = classifier._rows(model.pipeline_[0].transform(texts)), classifier._model.tables
    before = KnownColumns.of(tables, rows)
    assert before.is_known.all()
    without = KnownColumns.of(tables._replace(pool=np.zeros_like(tables.pool)), rows)
    assert without.is_known.all()
    assert (without.lengths == 0).all()
    assert (before.lengths > 0).all()


def test_probabilities_are_those_of_rows_not_trained_on():
    texts, labels = make_texts(480)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(480) < 0.5, rng.permutation(labels), labels)
    model = make_model(**MODELS["dual"]).fit(texts[:240], noisy[:240])
    summary = summary_of(model)
    of_new = model.predict_proba(texts[240:])
    assert model.predict_proba(texts[:240]).max(axis=1).mean() > summary.mean(2) + 0.05
    assert of_new.max(axis=1).mean() == pytest.approx(summary.mean(2), abs=0.03)
    np.testing.assert_allclose(summary.shares.mean(axis=0), of_new.mean(axis=0), atol=0.1)
    assert summary.sizes.tolist() == [80, 80, 80]


def test_validation_rows_are_left_out():
    texts, labels = make_texts(480)
    model = make_model(solver="sgd", max_epochs=4, early_stopping="valid_acc").fit(texts, labels)
    assert summary_of(model).n_rows == 24
    other = make_texts(90, seed=1)
    model.fit(texts, labels, validation_data=other)
    summary = summary_of(model)
    assert summary.n_rows == 90
    classifier = model.pipeline_[-1]
    known = KnownColumns.of(
        classifier._model.tables, classifier._rows(model.pipeline_[0].transform(other[0]))
    )
    assert summary.mean(0) == pytest.approx(known.unknown_shares.mean())
    assert summary.mean(1) == pytest.approx(known.lengths.mean())


def test_several_labels_have_a_share_each():
    texts, labels = make_texts()
    model = make_model(loss="ova", max_epochs=4).fit(texts, [[one, "all"] for one in labels])
    assert summary_of(model).shares.shape == (1, 4)
    assert summary_of(model).shares[0, model.classes_.tolist().index("all")] > 0.8


@pytest.mark.parametrize(
    "parameters",
    [{"calibrate": False}, {"loss": "hsigmoid"}, {"solver": "sgd", "loss": "softmax"}],
    ids=["not calibrated", "tree", "few rows"],
)
def test_without_left_out_rows_there_is_none(parameters):
    texts, labels = make_texts(100)
    assert summary_of(make_model(**{"max_epochs": 2, **parameters}).fit(texts, labels)) is None
    assert summary_of(make_model(solver="sgd").partial_fit(texts, labels, list("abc"))) is None


def test_it_is_kept_saved_and_copied(tmp_path):
    texts, labels = make_texts()
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    arrays = summary_of(model).to_arrays()
    save_model(model, tmp_path / "model")
    copies = [load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for copy in copies:
        assert summary_of(copy).to_arrays().keys() == arrays.keys()
        for name, array in summary_of(copy).to_arrays().items():
            assert_same_bits(array, arrays[name])
    assert not hasattr(clone(model), "pipeline_")


def test_more_rows_are_judged_before_they_are_trained_on():
    texts, labels = make_texts()
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    more, more_labels = make_texts(120, seed=1)
    before, as_new = summary_of(model), model.predict_proba(more).max(axis=1)
    known = {column for row in columns_of(model, texts) for column in row}
    counts = Counter(column for row in columns_of(model, more) for column in row)
    shares = [
        np.mean([column not in known and counts[column] == 1 for column in row])
        for row in columns_of(model, more)
    ]
    model.partial_fit(more, more_labels)
    after, kept = summary_of(model), (240 / 360) ** 4
    assert (after.n_trained, after.n_rows) == (360, round(kept * 240 + 120))
    share = 120 / (kept * 240 + 120)

    def of_new(value):  # without the earlier rows
        return (after.mean(value) - (1 - share) * before.mean(value)) / share

    assert_near(of_new(0), np.mean(shares), rtol=0.01)  # of hashed n-grams
    # The batches before it made the model of a row a better one.
    assert of_new(2) == pytest.approx(as_new.mean(), abs=0.1)
    assert of_new(1) > 0


def test_a_night_of_more_rows_changes_little():
    texts, labels = make_texts(1_000)
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    before = summary_of(model)
    model.partial_fit(*make_texts(20, seed=1))
    after = summary_of(model)
    assert after.n_rows == round(1_000 * (1_000 / 1_020) ** 4 + 20)
    assert_near(after.means, before.means, rtol=0.03)
    assert_near(after.shares, before.shares, atol=0.01)


def test_an_added_label_gets_a_share():
    texts, labels = make_texts()
    model = make_model(**MODELS["dual"]).fit(texts, labels)
    more = [f"other {text}" for text in make_texts(80, seed=1)[0]]
    for start in (0, 40):
        part = more[start : start + 40]
        model.partial_fit(part, ["other"] * 40, classes=[*model.classes_, "other"])
    shares = summary_of(model).shares.mean(axis=0)
    assert shares.shape == (4,)
    assert 0.02 < shares[model.classes_.tolist().index("other")] < 0.5
    assert shares.sum() == pytest.approx(1)


def test_a_folder_of_before_is_loaded():
    model = load_model(MODELS_OF_BEFORE / "hash_embeddings")
    assert model[-1]._calibration.summary is None


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("counts", lambda array: array[:2]),
        ("quantiles", lambda array: array[:, ::-1].copy()),
        ("sizes", lambda array: 0 * array),
        ("shares", lambda array: array - 1),
        ("means", lambda array: array * np.nan),
        ("spectrum", lambda array: array.astype(np.float32)),
    ],
)
def test_a_damaged_summary_is_refused(name, damage):
    model = make_model(**MODELS["dual"]).fit(*make_texts())
    arrays = summary_of(model).to_arrays()
    arrays[f"training_summary.{name}"] = damage(arrays[f"training_summary.{name}"])
    with pytest.raises(ValueError, match="summary"):
        TrainingSummary.from_arrays(arrays, 3)


def test_a_merged_model_has_none():
    texts, labels = make_texts(480)
    parts = [
        make_model(solver="sgd", max_epochs=2).fit(texts[start::2], labels[start::2])
        for start in range(2)
    ]
    assert all(summary_of(part) is not None for part in parts)
    assert summary_of(merge_classifiers(parts)) is None


def test_rows_are_counted_between_quantiles():
    values = np.array([[0.0, 1.0, 0.5]] * 30 + [[0.2, 3.0, 0.7]] * 10)
    quantiles = np.quantile(values, np.linspace(0, 1, 21), axis=0).T
    counts = histograms(values, quantiles)
    assert counts.sum(axis=1).tolist() == [40, 40, 40]
    assert counts[:, 0].tolist() == [30, 30, 30]
    assert histograms(np.full((2, 3), 9.0), quantiles)[:, -1].tolist() == [2, 2, 2]
