"""scikit-learn's own checks of the estimators that take any numbers, and the few of them that are
meant to fail.

Of those that take texts, and of QuantizedSGNNClassifier, which takes bits, ``test_parameters`` runs
the checks that need no data.
"""

from __future__ import annotations

from functools import partial

import pytest
from sklearn.utils.estimator_checks import check_class_weight_classifiers, check_estimator

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, SGNNProjector

# A row of weight 2 is one step of twice the size; the same row twice is two rows, in batches of
# their own.
_REPEATED_ROWS = (
    "no learner by shuffled batches learns the same from weighted rows and from repeated rows"
)
_DENSE = {"check_sample_weight_equivalence_on_dense_data": _REPEATED_ROWS}
_SPARSE = {"check_sample_weight_equivalence_on_sparse_data": _REPEATED_ROWS}
_FEW_STEPS = {
    "check_class_weight_classifiers": (
        "two epochs over its 50 rows are four steps; with more epochs it passes"
    )
}
_SMALL_TABLES = partial(HashEmbeddingClassifier, n_buckets=10_000, n_embeddings=100_000)
_FEW_EPOCHS = {"max_epochs": 6, "learning_rate": 0.01}
CASES = {
    "HashEmbeddingClassifier": (_SMALL_TABLES(max_epochs=10), _DENSE | _SPARSE),
    "HashEmbeddingClassifier, defaults": (HashEmbeddingClassifier(), _DENSE | _SPARSE),
    "HashEmbeddingClassifier, ova": (_SMALL_TABLES(loss="ova"), _DENSE | _SPARSE | _FEW_STEPS),
    "HashEmbeddingClassifier, hinge": (_SMALL_TABLES(loss="hinge"), _DENSE | _SPARSE),
    "HashEmbeddingClassifier, hsigmoid": (
        _SMALL_TABLES(loss="hsigmoid"),
        _DENSE | _SPARSE | _FEW_STEPS,
    ),
    "SGNNClassifier": (SGNNClassifier(hidden_layer_sizes=(32, 32), **_FEW_EPOCHS), _DENSE),
    "SGNNClassifier, ova": (
        SGNNClassifier(loss="ova", hidden_layer_sizes=(64,), **_FEW_EPOCHS),
        _DENSE,
    ),
    **{
        f"SGNNProjector, {output}, {hyperplanes}": (
            SGNNProjector(n_projections=2, n_bits=5, output=output, hyperplanes=hyperplanes),
            {},
        )
        for output, hyperplanes in {
            "binary": "normal",
            "sign": "sign",
            "packed": "google",
            "float": "normal",
        }.items()
    },
}


# Other losses share all but the loss with these classifiers; by default few rows are trained for
# some 200 epochs.
_SLOW = [name for name in CASES if "Classifier, " in name]
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_scikit_learns_own_checks_pass(name):
    model, expected = CASES[name]
    # another failure raises
    results = check_estimator(model, on_skip=None, expected_failed_checks=expected)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    # needs an environment variable; we claim no support
    assert skipped <= {"check_array_api_input"}
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(
        expected
    )
    assert len(results) > (30 if "Projector" in name else 50)


@pytest.mark.parametrize("loss", ["ova", "hsigmoid"])
def test_the_check_that_needs_more_steps_passes_with_more_epochs(loss):
    check_class_weight_classifiers(
        "HashEmbeddingClassifier", _SMALL_TABLES(loss=loss, max_epochs=40)
    )
