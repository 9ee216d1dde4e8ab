"""Results of two trainings are compared by the helpers of tests/trainings.py alone."""

from pathlib import Path

import numpy as np
import pytest

from tests.processors._two_trainings import comparisons
from tests.trainings import assert_as_good, assert_near, assert_other_bits, assert_same_bits

ROOT = Path(__file__).parents[2]


def test_tests_compare_two_trainings_by_helpers_alone() -> None:
    found = comparisons(sorted((ROOT / "tests").rglob("*.py")), ROOT)
    assert not found, "\n".join(
        ["Compare results of trainings with a helper of tests/trainings.py:", *found]
    )


COMPARING = """
import numpy as np
from benchmarks import run_script
from functools import cache

MODELS = [make(seed).fit(X) for seed in (0, 1)]

@cache
def fitted(name="a"):
    return make(name).fit(X)

def train(seed):
    return make(seed).fit(X)

def check(first, second):
    assert first == second

def test_scores():
    first, second = make(0).fit(X), make(1).fit(X)
    assert first.classes_ == second.classes_
    assert first.score(X) > 0.9
    assert first is not second
    assert first.score(X) > second.score(X)  # here

def test_further_training(model):
    before = model.fit(X).score(X)
    assert model.score(X) == before
    assert model.partial_fit(X).score(X) >= before  # here

def test_functions():
    assert np.array_equal(train(0).coef_, train(1).coef_)  # here
    np.testing.assert_allclose(fitted().coef_, fitted("b").coef_)  # here
    check(train(0), train(0))  # here
    assert fitted().coef_ == fitted().coef_
    assert_same_bits(train(0), train(0))

def test_collections():
    one, other = [train(seed) for seed in (0, 1)]
    assert one.coef_ == pytest.approx(other.coef_)  # here
    assert MODELS[0].coef_ != MODELS[1].coef_  # here
    found = []
    for seed in (0, 1):
        found.append(train(seed).score(X))
    gain = found[1] - found[0]
    assert gain > 0  # here
    assert found[0] == 1
    assert np.diff(found).min() > 0  # here
    losses = [loss(model) for model in (one, other)]
    assert losses[0] < losses[1]  # here
    first, second = (make(option).fit(X)[0] for option in "ab")
    assert first.coef_ != second.coef_  # here
    assert [entry["loss"] for entry in one.history_] == [entry["loss"] for entry in one.log_]

def test_scripts(name):
    models = run_script("bench_x")["models"]
    assert {n for n in models if models[n]["accuracy"] != models["defaults"]["accuracy"]}  # here
    assert models["small"]["bytes"] < models["large"]["bytes"]

def test_counts():
    counts = CountVectorizer()
    assert (counts.fit_transform(X) != counts.fit_transform(Y)).nnz
"""


def test_comparisons_are_found(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(COMPARING)
    found = [
        int(line.rpartition(" ")[2]) for line in comparisons([tmp_path / "test_some.py"], tmp_path)
    ]
    assert found == [
        n for n, line in enumerate(COMPARING.splitlines(), 1) if line.endswith("# here")
    ]
    names = {line.partition(",")[0] for line in comparisons([tmp_path / "test_some.py"], tmp_path)}
    assert "test_some.py::test_scores" in names


def test_helpers_refuse_what_depends_on_the_processor() -> None:
    assert_same_bits(
        {"a": [np.arange(3), 1.5]}, {"a": [np.arange(3), 1.5]}, {"a": [np.arange(3), 1.5]}
    )
    for other in (
        np.float32([0, 1]),
        np.array([0, 1 + 1e-15]),
        np.array([[0.0, 1.0]]),
        np.array([-0.0, 1.0]),
    ):
        with pytest.raises(AssertionError):
            assert_same_bits(np.array([0.0, 1.0]), other)
    assert_other_bits(np.arange(4.0), np.arange(4.0) + 1e-15)
    with pytest.raises(AssertionError):
        assert_other_bits(np.arange(4.0), np.arange(4.0))
    with pytest.raises(ValueError, match="at least 4 numbers, got 1"):
        assert_other_bits(0.9, 0.8)
    assert_near([1.0, 2.0], [1.0, 2.0 + 1e-6], rtol=1e-6)
    with pytest.raises(AssertionError):
        assert_near([1.0, 2.0], [1.0, 2.1], rtol=1e-6)
    with pytest.raises(ValueError, match="a tolerance of at least"):
        assert_near(np.float32([1, 2]), [1, 2], rtol=1e-7)
    assert_as_good([0.8, 0.7, 0.9], [0.81], margin=0.02)
    with pytest.raises(AssertionError):
        assert_as_good([0.8, 0.7, 0.9], [0.81], margin=0)
    with pytest.raises(ValueError, match="at least 3 seeds, got 1"):
        assert_as_good(0.8, 0.7, margin=0)
