"""SGNN classifiers with weights of eight bits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from sklearn_hashnlp.classifiers import QuantizedSGNNClassifier, SGNNClassifier, quantize

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (600, 96), dtype=np.uint8)
# Three classes by sums of bits, with noise.
LABELS = np.array(["low", "middle", "top"])[np.digitize(BITS[:, :6].sum(axis=1) + RNG.normal(0, 0.3, 600), [2.5, 3.5])]


def small(**parameters) -> SGNNClassifier:
    return SGNNClassifier(
        **{"hidden_layer_sizes": (32, 16), "max_epochs": 8, "learning_rate": 0.006, "random_state": 0} | parameters
    )


@pytest.fixture(name="trained", scope="module")
def _trained() -> SGNNClassifier:
    return small().fit(BITS[:400], LABELS[:400])


def test_labels_and_probabilities_are_nearly_those_before(trained):
    model = quantize(trained)
    assert (model.predict(BITS) == trained.predict(BITS)).mean() > 0.99
    assert np.abs(model.predict_proba(BITS) - trained.predict_proba(BITS)).max() < 0.05
    assert model.predict_proba(BITS).sum(axis=1) == pytest.approx(1)
    assert model.score(BITS, LABELS) > 0.6
    assert model.classes_.tolist() == trained.classes_.tolist()
    assert model.n_features_in_ == 96


def test_fit_is_to_train_and_to_quantise(trained):
    fitted = QuantizedSGNNClassifier(small()).fit(BITS[:400], LABELS[:400])
    assert np.array_equal(fitted.decision_function(BITS), quantize(trained).decision_function(BITS))
    weight = np.where(LABELS == "low", 0.0, 1.0)
    weighted = QuantizedSGNNClassifier(small()).fit(BITS, LABELS, sample_weight=weight)
    assert "low" not in weighted.predict(BITS)


def test_bits_signs_and_packed_bits():
    packed = np.packbits(BITS, axis=1)
    by_packed = quantize(small(packed=True).fit(packed, LABELS))
    by_bits = quantize(small().fit(BITS, LABELS))
    assert np.array_equal(by_packed.decision_function(packed), by_bits.decision_function(BITS))
    signs = (2 * BITS.astype(np.int8) - 1).astype(np.int8)
    trained = small().fit(signs, LABELS)
    assert (quantize(trained).predict(signs) == trained.predict(signs)).mean() > 0.99
    with pytest.raises(ValueError, match="takes rows of bytes, an array of uint8, got one of float64"):
        by_packed.predict(packed.astype(float))


def test_rows_beyond_one_are_refused(trained):
    with pytest.raises(ValueError, match=r"from -1 to 1 .* got numbers from 0 to 1\.5"):
        quantize(trained).predict(BITS * 1.5)
    with pytest.raises(ValueError, match="from -2 to 0"):
        QuantizedSGNNClassifier(small()).fit(BITS * -2.0, LABELS)
    with pytest.raises(ValueError, match="expecting 96 features"):
        quantize(trained).predict(BITS[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        quantize(trained).predict(np.full((1, 96), np.nan))


def test_one_against_all_and_any_number_of_labels():
    trained = small(loss="ova").fit(BITS, LABELS)
    assert (quantize(trained).predict(BITS) == trained.predict(BITS)).mean() > 0.99
    several = np.stack([LABELS == "low", BITS[:, 30] == 1], axis=1).astype(int)
    trained = small(loss="ova").fit(BITS, several)
    model = quantize(trained)
    assert (model.predict(BITS) == trained.predict(BITS)).mean() > 0.99
    assert np.array_equal(model.predict(BITS), model.predict_proba(BITS) > 0.5)
    assert get_tags(model).classifier_tags.multi_label


def test_more_rows_than_are_scored_at_once(trained):
    model = quantize(trained)
    many = np.tile(BITS, (7, 1))
    assert np.array_equal(model.decision_function(many)[-600:], model.decision_function(BITS))


def test_size_report(trained):
    report = quantize(trained).size_report()
    sizes = {part.part: (part.before, part.after) for part in report}
    assert sizes["layer 1 weights"] == (4 * 96 * 32, 96 * 32)
    assert sizes["layer 3 weights"] == (4 * 16 * 3, 16 * 3)
    assert report[-1].part == "total"
    assert report[-1].before == sum(part.before for part in report[:-1])
    assert report[-1].after == sum(part.after for part in report[:-1])
    # What is counted before is what was learned, in four bytes each, and eight for each of standardising.
    assert report[-1].before == 4 * trained.n_parameters_ + 8 * 97


def test_pipelines_keep_their_other_steps(trained):
    pipeline = make_pipeline(FunctionTransformer(), small()).fit(BITS, LABELS)
    model = quantize(pipeline)
    assert model[0] is pipeline[0]
    assert list(model.named_steps) == list(pipeline.named_steps)
    assert isinstance(pipeline[-1], SGNNClassifier)
    assert np.array_equal(model.predict(BITS), model[-1].predict(BITS))


def test_what_is_no_fitted_classifier_is_refused():
    with pytest.raises(TypeError, match="got LogisticRegression"):
        quantize(LogisticRegression())
    with pytest.raises(TypeError, match="got Pipeline that ends in LogisticRegression"):
        quantize(make_pipeline(LogisticRegression()))
    with pytest.raises(NotFittedError):
        quantize(small())
    with pytest.raises(NotFittedError):
        QuantizedSGNNClassifier().predict(BITS)
