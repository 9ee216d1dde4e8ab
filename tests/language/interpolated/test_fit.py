"""fit of mixtures: clones or fitted models, the split of validation text, errors, scikit-learn's
searches, copies.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from sklearn_hashnlp import (
    CacheLanguageModel,
    InterpolatedLanguageModel,
    KneserNeyLanguageModel,
    save_model,
)
from sklearn_hashnlp.persistence import ModelFormatError
from tests.language.interpolated.models import (
    TRAIN,
    UNSEEN,
    VALID,
    fitted_members,
    mixture,
    network,
)
from tests.persistence.damaged_models import reread
from tests.trainings import assert_near, assert_same_bits


def counting():
    return [KneserNeyLanguageModel(order=2), CacheLanguageModel()]


def counts(**options):
    return InterpolatedLanguageModel(counting(), **options)


def test_clones_are_fitted_with_the_vocabulary_of_the_first():
    members = [
        KneserNeyLanguageModel(order=3, max_features=4),
        network(),
        CacheLanguageModel(min_count=9),
    ]
    model = InterpolatedLanguageModel(members).fit(TRAIN, X_valid=VALID)
    assert [list(one.vocabulary_) for one in model.models_] == [list(model.vocabulary_)] * 3
    assert len(model.vocabulary_) == 4 + 3
    assert not any(hasattr(one, "vocabulary_") for one in members)
    assert "valid_loss" in model.models_[1].history_[0]
    alone = network(vocabulary=model.vocabulary_).fit(TRAIN, X_valid=VALID)
    assert_same_bits(model.models_[1].score_samples(UNSEEN), alone.score_samples(UNSEEN))


def test_mixtures_in_mixtures_are_fitted_with_the_vocabulary_of_the_first():
    first = KneserNeyLanguageModel(order=3, min_count=30, special_tokens=("<b>", "<e>", "<unk>"))
    inner = InterpolatedLanguageModel([counts(), CacheLanguageModel(reset="sentence")])
    model = InterpolatedLanguageModel([first, inner]).fit(TRAIN, X_valid=VALID)
    deepest = model.models_[1].models_[0]
    assert len(model.vocabulary_) < 6 + 3
    for one in (model.models_[1], deepest, *deepest.models_, model.models_[1].models_[1]):
        assert one.vocabulary_ == model.vocabulary_
    # only the clones are changed
    assert all(template.vocabulary is None for template in inner.models[0].models)
    innermost = InterpolatedLanguageModel([inner, CacheLanguageModel()]).fit(TRAIN, X_valid=VALID)
    assert (
        innermost.models_[1].vocabulary_ == innermost.models_[0].models_[0].models_[0].vocabulary_
    )


def test_a_mixture_of_fitted_models_in_a_mixture_keeps_its_vocabulary():
    fitted = mixture()
    model = InterpolatedLanguageModel(
        [KneserNeyLanguageModel(vocabulary=fitted.vocabulary_), fitted]
    )
    assert model.fit(TRAIN, X_valid=VALID).models_[1].models_[0] is fitted.models_[0]
    with pytest.raises(
        ValueError,
        match=r"is a word of models\[1\], InterpolatedLanguageModel, but not of models\[0\]",
    ):
        InterpolatedLanguageModel([KneserNeyLanguageModel(min_count=30), fitted]).fit(
            TRAIN, X_valid=VALID
        )


def test_the_last_sentences_are_validation_text_where_there_is_no_other():
    model = counts(validation_fraction=0.25).fit(TRAIN)
    split = counts().fit(TRAIN[:60], X_valid=TRAIN[60:])
    assert_same_bits(model.weights_, split.weights_)
    assert_same_bits(model.score_samples(UNSEEN), split.score_samples(UNSEEN))
    everything = counts(weights="equal").fit(TRAIN)
    assert len(everything.models_[0].vocabulary_) == len(
        KneserNeyLanguageModel().fit(TRAIN).vocabulary_
    )
    with pytest.raises(ValueError, match="cannot split validation sentences off 1"):
        counts().fit(["a b"])


def test_words_that_only_one_model_has_are_named():
    first, second = KneserNeyLanguageModel().fit(["a b"]), CacheLanguageModel().fit(["a c"])
    for models, word, message in (
        (
            [first, second],
            "b",
            r"models\[0\], KneserNeyLanguageModel, but not of models\[1\], CacheLanguageModel",
        ),
        (
            [second, first],
            "c",
            r"models\[0\], CacheLanguageModel, but not of models\[1\], KneserNeyLanguageModel",
        ),
        (
            [first, CacheLanguageModel().fit(["a b d"])],
            "d",
            r"models\[1\], CacheLanguageModel, but not of models\[0\]",
        ),
    ):
        with pytest.raises(ValueError, match=f"'{word}' is a word of {message}"):
            InterpolatedLanguageModel(models, prefit=True).fit(X_valid=["a"])


def test_special_tokens_are_those_of_the_first():
    models = [
        KneserNeyLanguageModel(order=2, special_tokens=("<b>", "<e>", "<unk>")),
        CacheLanguageModel(),
    ]
    sentences = [f"<b> {sentence} <e>" for sentence in TRAIN]
    model = InterpolatedLanguageModel(models).fit(sentences, X_valid=VALID)
    plain = counts().fit(TRAIN, X_valid=VALID)
    assert_near(model.score_samples(UNSEEN), plain.score_samples(UNSEEN), rtol=1e-7)
    assert "<e>" in model.vocabulary_
    assert "</s>" not in model.vocabulary_
    other = CacheLanguageModel(vocabulary=model.vocabulary_).fit(TRAIN)
    with pytest.raises(
        ValueError, match=r"models\[1\], CacheLanguageModel, has <s>, </s>, <unk>, and models\[0\]"
    ):
        InterpolatedLanguageModel([model.models_[0], other], prefit=True).fit(X_valid=VALID)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: InterpolatedLanguageModel([]).fit(TRAIN),
            ValueError,
            "at least one language model",
        ),
        (
            lambda: InterpolatedLanguageModel([1]).fit(TRAIN),
            TypeError,
            r"mixes language models, got 1 as models\[0\]",
        ),
        (lambda: counts().fit(), ValueError, "needs X, sentences to fit"),
        (lambda: counts(weights=[1.0]).fit(TRAIN), ValueError, "1 numbers for 2 models"),
        (lambda: counts(weights=[0.5, 0.6]).fit(TRAIN), ValueError, "sum to 1"),
        (lambda: counts(weights=[1.5, -0.5]).fit(TRAIN), ValueError, "at least 0"),
        (lambda: counts(weights=["a", "b"]).fit(TRAIN), ValueError, "must be numbers"),
        (
            lambda: counts(weights="equal", frequency_bins=True).fit(TRAIN),
            ValueError,
            "set weights='em', got 'equal'",
        ),
        (lambda: counts(prefit=True).fit(X_valid=VALID), NotFittedError, "KneserNey"),
        (lambda: counts().fit(TRAIN, X_valid=[]), ValueError, "X is empty"),
        (lambda: counts().fit("a b"), TypeError, "a single str is ambiguous"),
        (
            lambda: mixture().fit(),
            ValueError,
            "needs X_valid: sentences that the models were not trained on",
        ),
        (
            lambda: mixture(frequency_bins=True).fit(X_valid=VALID),
            ValueError,
            "needs X: the training text",
        ),
        (
            lambda: mixture().score(lambda: iter([(0, 1, 2, 3)])),
            TypeError,
            "its reader gave the word ids",
        ),
        (
            lambda: InterpolatedLanguageModel([network(padding="reference")]).fit(TRAIN),
            ValueError,
            "padding='full'",
        ),
    ],
)
def test_errors_say_what_to_do(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_failed_fit_leaves_the_model():
    model = mixture()
    before = model.score_samples(UNSEEN).tobytes()
    with pytest.raises(ValueError, match="is a word of"):
        model.set_params(models=[*model.models, CacheLanguageModel().fit(["strange"])]).fit(
            X_valid=VALID
        )
    assert model.score_samples(UNSEEN).tobytes() == before


def test_parameters_of_models_are_searched():
    model = counts()
    assert model.get_params()["kneserneylanguagemodel__order"] == 2
    search = GridSearchCV(
        model,
        {"cachelanguagemodel__cache_size": [1, 50], "kneserneylanguagemodel__order": [1, 3]},
        cv=3,
        error_score="raise",
    ).fit(TRAIN)
    order = search.best_params_["kneserneylanguagemodel__order"]
    assert search.best_estimator_.models_[0]._tokenizer.order == order
    assert model.models[0].order == 2
    other = KneserNeyLanguageModel(order=4)
    assert model.set_params(kneserneylanguagemodel=other).models[0] is other
    assert model.set_params(models=[other, other]).get_params()["kneserneylanguagemodel-2"] is other
    with pytest.raises(ValueError, match="Invalid parameter 'cachelanguagemodel'"):
        model.set_params(cachelanguagemodel__decay=0.5)


def test_clones_of_mixtures_of_fitted_models_keep_these():
    model = mixture()
    copy = clone(model)
    assert copy.models[0] is model.models[0]
    assert_same_bits(copy.fit(TRAIN, X_valid=VALID).weights_, model.weights_)
    templates = counts()
    assert clone(templates).models[0] is not templates.models[0]


def test_fitted_models_are_saved_once(tmp_path):
    model = mixture()
    save_model(model.models_[0], tmp_path / "one")
    save_model(model, tmp_path / "all")
    sizes = [(tmp_path / name / "weights.safetensors").stat().st_size for name in ("one", "all")]
    assert sizes[1] < 1.6 * sizes[0]


@pytest.fixture(scope="module")
def nested():
    """Return a mixture of a mixture and a network, with weights for bins of context frequency."""
    model = InterpolatedLanguageModel(
        [mixture(), fitted_members()[0]], prefit=True, frequency_bins=True
    )
    return model.fit(TRAIN, X_valid=VALID)


def test_a_copy_of_mixtures_in_mixtures_answers_alike(nested):
    copy = reread(nested)
    assert copy.score_samples(UNSEEN).tobytes() == nested.score_samples(UNSEEN).tobytes()
    assert copy.sample(3, 0) == nested.sample(3, 0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("weights", lambda weights: weights[:-1]),
        ("weights", lambda weights: weights + 0.5),
        ("weights", lambda weights: weights.astype(np.float32)),
        ("weights", lambda weights: np.full_like(weights, np.nan)),
        ("context_keys", lambda keys: keys[::-1]),
        ("context_keys", lambda keys: keys[:-1]),
        ("context_keys", lambda keys: keys[:0]),
        ("context_counts", lambda array: array * 0),
        ("context_counts", lambda array: array.astype(np.float64)),
    ],
)
def test_damaged_models_are_refused(nested, name, change):
    with pytest.raises(ModelFormatError):
        reread(nested, lambda _, arrays: arrays.update({name: change(arrays[name])}))


def test_models_with_other_words_are_refused_when_they_are_loaded():
    def rename(state, _):
        state["models"][0]["estimator"]["state"]["words"][2] = "strange"

    with pytest.raises(ModelFormatError, match="strange"):
        reread(counts().fit(TRAIN), rename)
