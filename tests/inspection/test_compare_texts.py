"""compare_texts raises the alarm on drift, seldom without it, and says what differs."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import Pipeline

from sklearn_hashnlp import SGNNClassifier, TextClassifier, load_model, save_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.inspection import compare_texts
from sklearn_hashnlp.inspection._text_comparison import Measure, TextComparison
from tests.trainings import assert_same_bits

N_NEW = 250
N_SEEDS = 6
LEFT_OUT = "turtle"  # a module with words of its own


def read() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return different docstrings: the same one may be in several modules."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    first = np.unique(np.array(texts, dtype=object), return_index=True)[1]
    return np.array(texts, dtype=object)[first], np.array(labels)[first]


@pytest.fixture(scope="module")
def fitted() -> list[tuple[TextClassifier, list[str], list[str]]]:
    """Return models with new texts of the same kind, and texts of an unknown module."""
    texts, labels = read()
    others, result = np.flatnonzero(labels != LEFT_OUT), []
    for seed in range(N_SEEDS):
        order = np.random.default_rng(seed).permutation(others)
        train, new = order[N_NEW:], order[:N_NEW]
        model = TextClassifier(features="words", random_state=seed)
        model.fit(texts[train].tolist(), labels[train])
        unknown = np.random.default_rng(seed).permutation(texts[labels == LEFT_OUT])
        result.append((model, texts[new].tolist(), unknown.tolist()))
    return result


def test_texts_of_the_same_kind_are_seldom_different(fitted):
    assert sum(compare_texts(model, new).alarm for model, new, _ in fitted) <= 1


CHANGES = {
    "translated": lambda text: text.translate(str.maketrans("aeiou", "øæåéü")),
    "upside down": lambda text: text[::-1],
    "cut": lambda text: " ".join(text.split()[:2]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_tenth_of_changed_texts_raises_the_alarm(fitted, name):
    for model, new, _ in fitted:
        changed = [CHANGES[name](text) for text in new[: N_NEW // 10]] + new[N_NEW // 10 :]
        assert compare_texts(model, changed).alarm


def test_a_new_category_raises_the_alarm_by_its_words(fitted):
    for model, new, unknown in fitted:
        comparison = compare_texts(model, unknown[: N_NEW // 5] + new[N_NEW // 5 :])
        assert comparison.alarm
        assert comparison.unknown_ngrams[0][1] >= 5
    assert any("turtle" in ngram for ngram, _ in comparison.unknown_ngrams)


def test_the_number_of_texts_counts(fitted):
    model, new, unknown = fitted[0]
    assert not compare_texts(model, new[:20]).alarm
    assert compare_texts(model, [""] * 20).alarm
    p_values = [
        {name: p for name, _, _, p in compare_texts(model, unknown[:n]).measures} for n in (20, 60)
    ]
    assert p_values[1]["unknown n-grams"] < p_values[0]["unknown n-grams"]


def test_measures_are_those_of_the_predictions(fitted):
    model, new, _ = fitted[0]
    comparison = compare_texts(model, new)
    probabilities = model.predict_proba(new)
    measures = {measure.name: measure for measure in comparison.measures}
    assert measures["largest probability"].new == pytest.approx(probabilities.max(axis=1).mean())
    shares = {label: share for label, (_, share) in comparison.label_shares.items()}
    assert list(shares) == model.classes_.tolist()
    np.testing.assert_allclose(list(shares.values()), probabilities.mean(axis=0))
    classifier = model.pipeline_[-1]
    lengths = classifier._model.lengths(classifier._rows(model.pipeline_[0].transform(new)))
    assert measures["row length"].new == pytest.approx(lengths.mean())
    for name, texts in comparison.cumulative.items():
        assert texts.shape == (2, 21), name
        assert (texts[:, 0] == 0).all()
        assert (texts[:, -1] == 1).all()


def test_loaded_models_and_pipelines_compare_alike(fitted, tmp_path):
    model, new, unknown = fitted[0]
    texts = unknown[:20] + new
    save_model(model, tmp_path / "model")
    expected = compare_texts(model, texts).to_dict()
    assert json.loads(json.dumps(expected)) == expected
    for other in (load_model(tmp_path / "model"), model.pipeline_):
        assert compare_texts(other, texts).to_dict() == expected


def test_a_model_that_learned_more_raises_no_alarm_by_it():
    """Without the rows of the batches more n-grams would be known than in training."""
    texts, labels = read()
    order = np.random.default_rng(0).permutation(len(texts))
    texts, labels = texts[order], labels[order]
    model = TextClassifier(features="words", random_state=0).fit(texts[:200].tolist(), labels[:200])
    before = pickle.loads(pickle.dumps(model.pipeline_[-1]._calibration.summary))
    for start in range(200, 1_000, 200):
        part = slice(start, start + 200)
        classes = np.union1d(model.classes_, labels[part])
        model.partial_fit(texts[part].tolist(), labels[part], classes=classes)
    new = texts[1_000:1_250].tolist()
    assert not compare_texts(model, new).alarm
    model.pipeline_[-1]._calibration.summary = before
    assert compare_texts(model, new).alarm


def test_words_of_several_labels_and_characters():
    texts, labels = (part[:800] for part in read())
    lists = [[label, "all"] for label in labels]
    model = TextClassifier(features="characters", max_epochs=2, random_state=0).fit(texts, lists)
    comparison = compare_texts(model, ["жук и муха", "жук"] * 30)
    assert comparison.alarm
    assert comparison.label_shares == {}
    assert comparison.unknown_ngrams[0][1] == 60


def test_multilabel_models_raise_few_false_alarms():
    texts, labels = read()
    alarms = 0
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(texts))
        train, new = order[N_NEW:], order[:N_NEW]
        model = TextClassifier(features="words", max_epochs=4, random_state=seed)
        model.fit(texts[train].tolist(), [[label] for label in labels[train]])
        alarms += compare_texts(model, texts[new].tolist()).alarm
    assert alarms <= 1


def test_of_many_texts_more_may_have_an_unknown_ngram_than_are_counted():
    texts, labels = read()
    model = TextClassifier(features="words", random_state=0).fit(texts[::5].tolist(), labels[::5])
    measure = compare_texts(model, texts.tolist() * 10).measures[2]
    assert measure.p_value == 1
    assert measure.training == measure.new > 0


def test_unknown_ngrams_are_of_words_where_words_are_counted():
    texts, labels = (part[:400] for part in read())
    model = TextClassifier(features="words+characters", max_epochs=2, random_state=0)
    model.fit(texts, labels)
    unknown = dict(compare_texts(model, ["жук муха"] * 30).unknown_ngrams)
    assert unknown == {"жук": 30, "муха": 30, "жук муха": 30}


def test_what_cannot_be_compared_is_named(fitted, tmp_path):
    model, new, _ = fitted[0]
    with pytest.raises(ValueError, match="compare_texts needs at least 20 texts, got 1"):
        compare_texts(model, new[:1])
    with pytest.raises(TypeError, match="str"):
        compare_texts(model, [3] * 20)
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 0"):
        compare_texts(model, new, level=0)
    with pytest.raises(TypeError, match=r"level must be a number, got '0\.05'"):
        compare_texts(model, new, level="0.05")
    save_model(model, tmp_path / "model")
    with pytest.raises(TypeError, match=r"got a .*\. Load it without predict_only\.$"):
        compare_texts(load_model(tmp_path / "model", predict_only=True), new)
    for other in (SGNNClassifier(), Pipeline([("classifier", SGNNClassifier())])):
        with pytest.raises(TypeError, match=rf"a TextClassifier or .*got a {type(other).__name__}"):
            compare_texts(other, new)
    few = TextClassifier(random_state=0).fit(["fine", "dull"] * 5, ["good", "bad"] * 5)
    with pytest.raises(ValueError, match=r"remembers its training texts.*Call fit"):
        compare_texts(few, new)


HOSTILE = "<script>\x1b[31m"


def comparison_of(*measures: Measure) -> TextComparison:
    class Summary:
        n_rows = 1000

    line = np.linspace([0, 0], [1, 1], 21).T
    return TextComparison.of(
        list(measures),
        level=0.05,
        n_texts=250,
        summary=Summary(),  # type: ignore[arg-type]
        label_shares={HOSTILE: (0.25, 0.5)},
        unknown_ngrams=[(HOSTILE, 12)],
        cumulative={"row length": line},
    )


@pytest.mark.parametrize(
    ("measure", "advice"),
    [
        (Measure("unknown n-grams", 0.1, 0.3, 0.001), "another language"),
        (Measure("unknown n-grams", 0.3, 0.1, 0.001), "copies"),
        (Measure("row length", 3.0, 2.0, 0.001), "say less"),
        (Measure("row length", 3.0, 4.0, 0.001), "say more"),
        (Measure("largest probability", 0.9, 0.7, 0.001), "less certain"),
        (Measure("label good", 0.3, 0.7, 0.001), "label good"),
        (Measure("label good", 0.3, 0.4, 0.2), "Nothing to do"),
    ],
)
def test_the_advice_is_about_the_measure_that_differs_most(measure, advice):
    comparison = comparison_of(Measure("unknown texts", 0.0, 0.0, 0.04), measure)
    assert comparison.alarm
    if measure.p_value > 0.05:
        comparison = comparison_of(measure)
        assert not comparison.alarm
    assert advice in comparison.advice
    assert comparison.advice in str(comparison)


def test_views_escape_what_texts_contain():
    comparison = comparison_of(Measure(f"label {HOSTILE}", 0.25, 0.5, 1e-9))
    assert repr(comparison) == "<TextComparison of 250 texts: alarm=True>"
    html = comparison._repr_html_()
    assert "<script" not in html
    assert "25.0%</td><td>50.0%</td><td>&lt; 0.0001" in html
    assert "\x1b" not in html + str(comparison)
    assert "25.0%  50.0%  < 0.0001" in str(comparison)


def test_the_plot_has_a_line_for_each_value(fitted):
    model, new, _ = fitted[0]
    ax = compare_texts(model, new).plot(ax=Figure().subplots())
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["no difference", "unknown n-grams", "row length", "largest probability"]


def test_labels_that_were_added_later_have_a_small_share_in_training(fitted, tmp_path):
    model, new, unknown = fitted[0]
    save_model(model, tmp_path / "first")
    model = load_model(tmp_path / "first")
    model.partial_fit(unknown, [LEFT_OUT] * len(unknown), classes=[*model.classes_, LEFT_OUT])
    save_model(model, tmp_path / "second")
    found = compare_texts(load_model(tmp_path / "second"), new)
    assert_same_bits(found.to_dict(), compare_texts(model, new).to_dict())
    before, now = found.label_shares[LEFT_OUT]
    assert 0 < before < 0.2
    assert now < 0.2
