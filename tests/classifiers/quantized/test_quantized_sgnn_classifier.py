"""SGNN classifiers with weights of eight bits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from sklearn_hashnlp.classifiers import QuantizedSGNNClassifier, SGNNClassifier, quantize_classifier
from tests.trainings import assert_same_bits

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (600, 96), dtype=np.uint8)
# Three classes by sums of bits, with noise.
LABELS = np.array(["low", "middle", "top"])[
    np.digitize(BITS[:, :6].sum(axis=1) + RNG.normal(0, 0.3, 600), [2.5, 3.5])
]


def small(**parameters) -> SGNNClassifier:
    return SGNNClassifier(
        **{
            "hidden_layer_sizes": (32, 16),
            "max_epochs": 8,
            "learning_rate": 0.006,
            "random_state": 0,
        }
        | parameters
    )


@pytest.fixture(name="trained", scope="module")
def _trained() -> SGNNClassifier:
    return small().fit(BITS[:400], LABELS[:400])


def test_labels_and_probabilities_are_nearly_those_before(trained):
    model = quantize_classifier(trained)
    assert (model.predict(BITS) == trained.predict(BITS)).mean() > 0.99
    assert np.abs(model.predict_proba(BITS) - trained.predict_proba(BITS)).max() < 0.05
    assert model.predict_proba(BITS).sum(axis=1) == pytest.approx(1)
    assert model.score(BITS, LABELS) > 0.6
    assert model.classes_.tolist() == trained.classes_.tolist()
    many = np.tile(BITS, (7, 1))  # more rows than are scored at once
    assert np.array_equal(model.decision_function(many)[-600:], model.decision_function(BITS))


def test_fit_is_to_train_and_to_quantise(trained):
    fitted = QuantizedSGNNClassifier(small()).fit(BITS[:400], LABELS[:400])
    assert np.array_equal(
        fitted.decision_function(BITS), quantize_classifier(trained).decision_function(BITS)
    )
    weight = np.where(LABELS == "low", 0.0, 1.0)
    weighted = QuantizedSGNNClassifier(small()).fit(BITS, LABELS, sample_weight=weight)
    assert "low" not in weighted.predict(BITS)


def test_bits_signs_and_packed_bits():
    packed = np.packbits(BITS, axis=1)
    by_packed = quantize_classifier(small(packed=True).fit(packed, LABELS))
    by_bits = quantize_classifier(small().fit(BITS, LABELS))
    assert_same_bits(by_packed.decision_function(packed), by_bits.decision_function(BITS))
    signs = (2 * BITS.astype(np.int8) - 1).astype(np.int8)
    trained = small().fit(signs, LABELS)
    assert (quantize_classifier(trained).predict(signs) == trained.predict(signs)).mean() > 0.99
    with pytest.raises(
        ValueError, match="takes rows of bytes, an array of uint8, got one of float64"
    ):
        by_packed.predict(packed.astype(float))


def test_rows_beyond_one_are_refused(trained):
    with pytest.raises(ValueError, match=r"from -1 to 1 .* got numbers from 0 to 1\.5"):
        quantize_classifier(trained).predict(BITS * 1.5)
    with pytest.raises(ValueError, match="from -2 to 0"):
        QuantizedSGNNClassifier(small()).fit(BITS * -2.0, LABELS)
    with pytest.raises(ValueError, match="expecting 96 features"):
        quantize_classifier(trained).predict(BITS[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        quantize_classifier(trained).predict(np.full((1, 96), np.nan))


def test_one_against_all_and_any_number_of_labels():
    trained = small(loss="ova").fit(BITS, LABELS)
    assert (quantize_classifier(trained).predict(BITS) == trained.predict(BITS)).mean() > 0.99
    several = np.stack([LABELS == "low", BITS[:, 30] == 1], axis=1).astype(int)
    trained = small(loss="ova").fit(BITS, several)
    model = quantize_classifier(trained)
    assert (model.predict(BITS) == trained.predict(BITS)).mean() > 0.99
    assert np.array_equal(model.predict(BITS), model.predict_proba(BITS) > 0.5)
    assert get_tags(model).classifier_tags.multi_label


def test_size_report(trained):
    report = quantize_classifier(trained).size_report()
    sizes = {part.part: (part.before, part.after) for part in report}
    assert sizes["layer 1 weights"] == (4 * 96 * 32, 96 * 32)
    assert sizes["layer 3 weights"] == (4 * 16 * 3, 16 * 3)
    totals = [
        sum(values)
        for values in zip(*[(part.before, part.after) for part in report[:-1]], strict=True)
    ]
    assert (report[-1].part, [report[-1].before, report[-1].after]) == ("total", totals)
    # What is counted before is what was learned, in four bytes each, and eight for each of
    # standardising.
    assert report[-1].before == 4 * trained.n_parameters_ + 8 * 97


def test_pipelines_keep_their_other_steps(trained):
    pipeline = make_pipeline(FunctionTransformer(), small()).fit(BITS, LABELS)
    model = quantize_classifier(pipeline)
    assert model[0] is pipeline[0]
    assert list(model.named_steps) == list(pipeline.named_steps)
    assert isinstance(pipeline[-1], SGNNClassifier)
    assert np.array_equal(model.predict(BITS), model[-1].predict(BITS))


def test_what_is_no_fitted_classifier_is_refused():
    with pytest.raises(TypeError, match="got LogisticRegression"):
        quantize_classifier(LogisticRegression())
    with pytest.raises(TypeError, match="got Pipeline that ends in LogisticRegression"):
        quantize_classifier(make_pipeline(LogisticRegression()))
    with pytest.raises(NotFittedError):
        quantize_classifier(small())
