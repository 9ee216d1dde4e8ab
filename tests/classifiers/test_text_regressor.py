"""TextRegressor: ridge regression on texts, learned at once or one text after the other."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_hashnlp import HashingNgramVectorizer, TextRegressor, load_model, save_model
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows
from sklearn_hashnlp.kernels.linear._online_ridge import learn_rows
from sklearn_hashnlp.text._count_ngrams import TOKENS
from tests.trainings import SEEDS, assert_as_good, assert_near, assert_same_bits

RNG = np.random.default_rng(0)
WORDS = [f"word{index}" for index in range(40)]
VALUES = dict(zip(WORDS, RNG.normal(size=40), strict=True))


def texts(n: int, seed: int = 0) -> tuple[list[str], NDArray[np.float64]]:
    """Return texts whose numbers are 5 plus the mean of the values of their words."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(WORDS, rng.integers(3, 12)) for _ in range(n)]
    return [" ".join(words) for words in chosen], np.array([5 + np.mean([VALUES[w] for w in one]) for one in chosen])


def regressor(**options: Any) -> TextRegressor:
    return TextRegressor(**{"features": "words", "ngram_range": (1, 1), "random_state": 0} | options)


@pytest.fixture(scope="module")
def model() -> TextRegressor:
    return regressor().fit(*texts(400))


def test_numbers_of_new_texts_are_predicted(model: TextRegressor) -> None:
    X, y = texts(200, seed=1)
    assert model.score(X, y) > 0.9
    assert model.predict(X).shape == (200,)
    assert is_regressor(model)
    assert model.predict([""])[0] == pytest.approx(model.predict(["unknown"])[0])
    assert abs(model.predict([""])[0] - 5) < 0.5


def test_predictions_are_those_of_scikit_learns_ridge() -> None:
    X, y = texts(300)
    weights = RNG.uniform(0.5, 2, 300)
    counts = HashingNgramVectorizer(token_pattern=TOKENS, norm=None, alternate_sign=False).fit_transform(X)
    rows = TfidfTransformer().fit(counts)
    ridge = Ridge(alpha=0.7, solver="sparse_cg", tol=1e-8).fit(rows.transform(counts), y, sample_weight=weights)
    ours = regressor(alpha=0.7).fit(X, y, sample_weight=weights)
    assert ours.alpha_ == 0.7
    assert ours._curvature.sum() == pytest.approx(weights.sum(), rel=1e-3)  # rows have length one
    assert_near(ours.predict(X), ridge.predict(rows.transform(counts)), atol=2e-3)


def test_the_penalty_is_chosen_by_the_noise() -> None:
    X, y = texts(400)
    noisy = [y + np.random.default_rng(seed).normal(scale=3, size=400) for seed in SEEDS]
    penalties = [regressor(random_state=seed).fit(X, noisy[seed]).alpha_ for seed in SEEDS]
    assert_as_good(penalties, regressor().fit(X, y).alpha_, margin=0)
    assert regressor().fit(X[:29], y[:29]).alpha_ == 1


def rows_of(matrix: NDArray[np.float64]) -> LinearRows:
    X = csr_matrix(matrix.astype(np.float32))
    return LinearRows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, np.zeros(len(matrix), np.int64))


def test_a_step_is_the_minimum_for_its_row() -> None:
    """Against a general solver: cost (y - w x - b)^2 + sum of precision times squared change."""
    rng = np.random.default_rng(0)
    matrix, y, costs = rng.normal(size=(6, 4)), rng.normal(size=6), rng.uniform(0.5, 2, 6).astype(np.float32)
    matrix[rng.random((6, 4)) < 0.4] = 0
    weights, curvature, bias = np.zeros(4, np.float32), np.ones(4, np.float32), np.array([0.3, 2.0])
    w, precision = np.append(np.zeros(4), 0.3), np.append(np.full(4, 0.5 + 1), 2.0)
    for x, target, cost in zip(matrix, y, costs, strict=True):
        x = np.append(x, 1.0)
        used = np.diag(np.where(x != 0, precision, 1)).astype(float)
        step = np.linalg.solve(used + cost * np.outer(x, x), cost * (target - w @ x) * x)
        w += np.where(x != 0, step, 0)
        precision += cost * x**2
    learn_rows(rows_of(matrix), y, costs, weights, curvature, bias, 0.5)
    np.testing.assert_allclose(np.append(weights, bias[0]), w, atol=1e-5)
    np.testing.assert_allclose(np.append(curvature + 0.5, bias[1]), precision, atol=1e-5)


def test_learning_on_improves_and_forgets_nothing(model: TextRegressor) -> None:
    X, y = texts(400)
    valid = texts(200, seed=1)
    before, after = [], []
    for seed in SEEDS:
        half = regressor(alpha=0.1, random_state=seed).fit(X[:100], y[:100])
        before.append(half.score(*valid))
        for start in range(100, 400, 50):
            half.partial_fit(X[start : start + 50], y[start : start + 50])
        after.append(half.score(*valid))
    assert_as_good(after, before, margin=0)
    kept = clone(model).fit(X, y)
    for night in range(10):  # of one text that all others contradict
        kept.partial_fit([X[0]] * 5, [y[0] + 0.5] * 5)
        assert r2_score(y, kept.predict(X)) > 0.7, night
    assert kept.predict([X[0]])[0] > y[0] + 0.2
    stream = regressor(alpha=0.1)
    for start in range(0, 400, 50):
        stream.partial_fit(X[start : start + 50], y[start : start + 50])
    assert stream.score(*valid) > 0.7


def test_weights_are_repetitions_and_zeros_are_dropped() -> None:
    X, y = texts(60)
    twice = [index for index in range(60) for _ in range(1 + (index % 3 == 0))]
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    options = {"alpha": 1.0, "features": "words"}
    dropped = regressor(**options).fit([*X, "word1 word2"], [*y, 1e6], sample_weight=[*np.ones(60), 0])
    assert_near(dropped.predict(X), regressor(**options).fit(X, y).predict(X), atol=1e-5)
    weighted = regressor(**options).fit(X, y, sample_weight=weights)
    repeated = regressor(**options).fit([X[index] for index in twice], y[twice])
    assert_near(weighted.predict(X), repeated.predict(X), atol=0.1)  # document frequencies differ


def test_copies_predict_and_learn_the_same(model: TextRegressor, tmp_path: Path) -> None:
    X, y = texts(50, seed=3)
    X[:2] = ["new words", "more new words"]  # whose importance depends on the number of texts so far
    save_model(model, tmp_path / "model")
    copies = [load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    expected = pickle.loads(pickle.dumps(model)).partial_fit(X, y).predict(X)
    for copy in copies:
        assert copy.predict(X).tobytes() == model.predict(X).tobytes()
        assert_same_bits(copy.partial_fit(X, y).predict(X), expected)
    with pytest.raises(NotFittedError):
        save_model(regressor(), tmp_path / "other")


def test_an_explanation_sums_to_the_prediction(model: TextRegressor) -> None:
    text = "word1 word2 word3 unknown"
    explanation = explain(model, text)
    total = float(explanation.contributions.sum() + explanation.bias[0])
    assert total == pytest.approx(model.predict([text])[0], abs=1e-5)
    order = [ngram for ngram, _ in explanation.top(3)]
    assert order[0] == max(["word1", "word2", "word3"], key=lambda word: VALUES[word])
    assert "word1" in str(explanation)


@pytest.mark.parametrize("features", ["words", "auto"])
def test_an_exported_file_predicts_the_same(features: str, tmp_path: Path) -> None:
    X, y = texts(80)
    model = regressor(features=features).fit(X, y)
    export_predictor(model, tmp_path / "model.py")
    module = runpy.run_path(str(tmp_path / "model.py"))
    np.testing.assert_allclose(module["predict"]([*X, ""]), model.predict([*X, ""]), atol=1e-5)
    with pytest.raises(ValueError, match="predicts numbers, which have no probabilities"):
        module["predict_proba"](X)


def test_it_is_searched_and_cross_validated() -> None:
    X, y = texts(100)
    assert cross_val_score(regressor(alpha=0.1), X, y, cv=3).mean() > 0.5
    search = GridSearchCV(regressor(), {"alpha": [0.1, 1000.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}
    assert clone(regressor(alpha=3.0)).get_params()["alpha"] == 3.0
    frame = pd.DataFrame({"text": X})
    assert regressor().fit(frame, pd.Series(y)).score(frame, y) > 0.5


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (["a", "b"], [1.0, np.nan], {}, "y contains NaN"),
        (["a", "b"], ["good", "bad"], {}, "could not convert string to float"),
        (["a", "b"], [1.0], {}, "inconsistent numbers of samples"),
        (["a", "b"], [[1.0, 2.0], [3.0, 4.0]], {}, "y should be a 1d array"),
        (["a", "b"], [1.0, 2.0], {"alpha": 0.0}, "The 'alpha' parameter of TextRegressor"),
        (["a", "b"], [1.0, 2.0], {"features": "all"}, "The 'features' parameter of TextRegressor"),
        ("a text", [1.0], {}, "TextRegressor"),
    ],
)
def test_wrong_inputs_are_named(X: Any, y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        regressor(**options).fit(X, y)
    with pytest.raises(NotFittedError, match="TextRegressor"):
        regressor().predict(["a"])
