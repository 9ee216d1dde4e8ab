"""One trial of a hash-embedding experiment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks.recipes.hash_embedding_pipeline import make_network, make_pipeline
from benchmarks.recipes.hash_embedding_settings import HashEmbeddingSettings
from benchmarks.recipes.hash_embedding_trial import (
    count_texts,
    cross_validate_value,
    drop_ngrams,
    read_texts,
    train_and_test,
)

from ...labelled_words import write_text_set

SMALL = HashEmbeddingSettings(
    dataset="words",
    dictionary=True,
    n_embeddings=400,
    n_buckets=60,
    embedding_dim=6,
    max_epochs=3,
    validation_fraction=0.2,
)


@pytest.fixture
def settings(tmp_path):
    write_text_set(tmp_path / "sets" / "words")
    return replace(SMALL, data=str(tmp_path / "sets"))


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    limits=st.tuples(st.integers(1, 6), st.integers(0, 6)),
    seed=st.integers(0, 99),
)
def test_rows_keep_as_many_n_grams_as_in_training(lengths, limits, seed):
    least, most = limits[0], limits[0] + limits[1]
    X = csr_array(
        np.array([[column < length for column in range(12)] for length in lengths])
        * np.arange(1.0, 13.0)
    )
    result = drop_ngrams(X, (least, most), np.random.RandomState(seed))
    assert result.shape == X.shape
    assert result.has_sorted_indices
    for length, row in zip(lengths, range(len(lengths)), strict=True):
        values = result[[row]].data
        assert min(length, least) <= len(values) <= min(length, most)
        assert len(set(values.tolist())) == len(values)
        assert set(values.tolist()) <= set(X[[row]].data.tolist())


def test_rows_are_sampled_by_the_seed(settings):
    some = replace(settings, n_train=50, n_test=7)
    first, again, other = (read_texts(some, seed) for seed in (0, 0, 1))
    assert first.train_texts == again.train_texts != other.train_texts
    assert (len(first.train_labels), len(first.test_labels)) == (50, 7)
    whole = read_texts(settings, 0)
    pairs = set(zip(whole.train_texts, whole.train_labels.tolist(), strict=True))
    assert set(zip(first.train_texts, first.train_labels.tolist(), strict=True)) <= pairs
    assert first.test_texts == other.test_texts
    assert first.test_texts != whole.test_texts[:7]
    pairs = set(zip(whole.test_texts, whole.test_labels.tolist(), strict=True))
    assert set(zip(first.test_texts, first.test_labels.tolist(), strict=True)) <= pairs


def test_a_csv_file_has_a_tenth_of_test_rows(tmp_path):
    rows = [f"{'ab'[row % 2]},text number {row}" for row in range(50)]
    (tmp_path / "films.csv").write_text("label,text\n" + "\n".join(rows) + "\n")
    texts = read_texts(replace(SMALL, dataset="films.csv", data=str(tmp_path)), 0)
    assert (len(texts.train_texts), len(texts.test_texts)) == (45, 5)
    pairs = [*zip(texts.train_labels, texts.train_texts, strict=True)]
    pairs += zip(texts.test_labels, texts.test_texts, strict=True)
    assert sorted(f"{label},{text}" for label, text in pairs) == sorted(rows)
    assert (
        read_texts(replace(SMALL, dataset=str(tmp_path / "films.csv")), 3).test_texts
        == texts.test_texts
    )
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv does not exist"):
        read_texts(replace(SMALL, dataset="nowhere.csv"), 0)


def test_a_value_is_cross_validated(settings, tmp_path):
    texts = read_texts(settings, 0)
    for parameter, value in (("n_buckets", 20), ("n_embeddings", 30)):
        search = replace(settings, **{f"{parameter}_grid": (value, 2 * value)})
        result = cross_validate_value(search, parameter, value, texts, 5, tmp_path)
        plain = make_pipeline(replace(settings, **{parameter: value}), 5, tmp_path)
        folds = StratifiedKFold(3, shuffle=True, random_state=5)
        expected = cross_val_score(
            plain.set_params(memory=None), texts.train_texts, texts.train_labels, cv=folds
        )
        assert result["folds"] == expected.tolist()
        assert result["accuracy"] == pytest.approx(expected.mean())
        assert (result["part"], result["parameter"], result["value"]) == (
            "choice",
            parameter,
            value,
        )
    once = cross_validate_value(replace(settings, folds=1), "n_buckets", 20, texts, 5, tmp_path)
    assert len(once["folds"]) == 1


def test_n_grams_of_a_fold_are_counted_once(settings, tmp_path, monkeypatch):
    from sklearn_hashnlp.text import FrequentNgramVectorizer

    fits = []
    plain = FrequentNgramVectorizer.fit_transform

    def counting(self, X, y=None):
        fits.append(len(X))
        return plain(self, X, y)

    monkeypatch.setattr(FrequentNgramVectorizer, "fit_transform", counting)
    texts = read_texts(settings, 0)
    for value in (20, 30, 40):
        cross_validate_value(
            replace(settings, n_buckets_grid=(20, 30, 40)), "n_buckets", value, texts, 0, tmp_path
        )
    assert fits == [160, 160, 160]


def test_training_accuracy_is_measured_under_dropout(settings):
    few = replace(settings, ngram_dropout=(1, 1))
    counted = count_texts(few, read_texts(few, 0))
    network = make_network(few, 3).fit(counted.train, counted.train_labels)
    result = drop_ngrams(counted.train, (1, 1), np.random.RandomState(3))
    score = network.score(result, counted.train_labels)
    assert train_and_test(few, counted, 3)[0]["train_accuracy"] == score
    assert score < network.score(counted.train, counted.train_labels)


def test_a_trial_repeats_and_measures_its_network(settings):
    counted = count_texts(settings, read_texts(settings, 0))
    result, probabilities = train_and_test(settings, counted, 3)
    again, same = train_and_test(settings, counted, 3)
    assert np.array_equal(probabilities, same)
    times = {"fit_seconds", "test_seconds", "count_seconds", "seconds_per_row"}
    assert {name: value for name, value in result.items() if name not in times} == {
        name: value for name, value in again.items() if name not in times
    }
    network = make_network(settings, 3).fit(counted.train, counted.train_labels)
    assert result["accuracy"] == network.score(counted.test, counted.test_labels) > 0.5
    assert result["valid_accuracy"] == max(epoch["valid_acc"] for epoch in network[-1].history_)
    assert (result["n_train"], result["n_test"], result["n_classes"]) == (240, 60, 3)
    assert result["n_parameters"] == network[-1].n_parameters_
    assert result["seconds_per_row"] * 240 == pytest.approx(
        result["count_seconds"] + result["fit_seconds"]
    )
