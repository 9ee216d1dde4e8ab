"""Scores of nets without hidden layers: the bits of torch's modules, on any number of threads, for
any matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csc_array, csr_array, csr_matrix

from sklearn_hashnlp import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding import _model
from sklearn_hashnlp.classifiers.hash_embedding._model import score_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import plain_rows
from sklearn_hashnlp.nn._hash_embedding_network import HashEmbeddingNetwork
from tests.classifiers.hash_embedding.raw_scores import raw_scores

N_COLUMNS = 500


def rows(n_rows: int = 60, *, seed: int = 0, density: float = 0.05) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(
        rng.integers(1, 4, (n_rows, N_COLUMNS)) * (rng.random((n_rows, N_COLUMNS)) < density),
        dtype=np.float32,
    )


def trained(**parameters: Any) -> HashEmbeddingClassifier:
    defaults = {
        "n_buckets": 50,
        "n_embeddings": 300,
        "embedding_dim": 5,
        "random_state": 0,
        "max_epochs": 1,
    }
    model = HashEmbeddingClassifier(**defaults | parameters)
    return model.fit(rows(), np.arange(60) % 3)


def by_torch(
    model: HashEmbeddingClassifier, X: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Any]:
    with monkeypatch.context() as patch:
        patch.setattr(HashEmbeddingNetwork, "linear_model", lambda _: None)
        scores = model.net_.score_rows(model._rows(X))
        return scores, model.classes_[scores.argmax(axis=1)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"variant": "paper", "normalize": None, "n_hashes": 1},
        {"variant": "standard", "loss": "ova"},
        {"aggregation": "concat", "loss": "ova", "embedding": EmbeddingTables(append_weight=False)},
        {"variant": "paper", "aggregation": "concat"},
    ],
    ids=str,
)
def test_the_bits_of_torch(options, monkeypatch):
    model = trained(**options)
    assert model.net_.module_.linear_model() is not None
    X = rows(80, seed=1)
    scores, labels = by_torch(model, X, monkeypatch)
    assert np.array_equal(raw_scores(model, X), scores)
    assert np.array_equal(
        model.classes_[score_rows(model._model.linear, model._rows(X)).labels], labels
    )
    assert np.array_equal(model.net_.score_rows(model._rows(X)), scores)


def test_other_nets_are_left_to_torch():
    assert trained(hidden_layer_sizes=(4,)).net_.module_.linear_model() is None
    assert trained(loss="hsigmoid").net_.module_.linear_model() is None
    assert trained(aggregation="median").net_.module_.linear_model() is None
    assert trained(aggregation="median", variant="standard").net_.module_.linear_model() is not None
    model = trained()
    assert trained().net_.module_.double().linear_model() is None
    seen = []
    model.net_.module_.bag.register_forward_hook(lambda *_: seen.append(1))
    assert model.net_.module_.linear_model() is None
    model.net_.score_rows(model._rows(rows()))
    assert seen


def test_weights_that_change_are_seen():
    model = trained()
    before = raw_scores(model, rows())
    with torch.no_grad():
        model.net_.module_.head[0].bias += 1
    assert raw_scores(model, rows()) == pytest.approx(before + 1, abs=1e-5)


def test_any_number_of_threads(monkeypatch):
    model = trained()
    X = rows(3000, seed=2, density=0.1)  # several blocks for each thread
    results = []
    for n_threads in (1, 2, 5):
        monkeypatch.setattr(_model, "_n_processors", lambda n_threads=n_threads: n_threads)
        results.append(model._scores(X))
    monkeypatch.setattr(_model, "_MIN_VALUES", 10**9)
    for result in results:
        assert np.array_equal(result, model._scores(X))


def test_rows_of_a_vectorizer_need_no_conversion():
    X = rows()
    assert plain_rows(X, N_COLUMNS) is not None
    assert plain_rows(csr_matrix(X), N_COLUMNS) is not None
    wide = csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert plain_rows(wide, N_COLUMNS) is not None
    assert plain_rows(csr_array((2, N_COLUMNS), dtype=np.float32), N_COLUMNS) is not None


def changed(value: float) -> Any:
    X = rows()
    X.data[3] = value
    return X


def unsorted() -> Any:
    X = rows()
    X.indices[:2] = X.indices[:2][::-1].copy()
    return X


@pytest.mark.parametrize(
    "X",
    [
        *map(changed, [np.inf, np.nan, 0, 1e20]),
        *(
            unsorted(),
            rows().toarray(),
            csc_array(rows()),
            rows().astype(np.float64),
            rows()[:, :-1],
        ),
    ],
    ids=[
        "infinite",
        "nan",
        "zero",
        "large",
        "unsorted",
        "dense",
        "columns",
        "float64",
        "fewer columns",
    ],
)
def test_other_rows_need_the_full_checks(X):
    assert plain_rows(X, N_COLUMNS) is None
