"""TextClassifier and make_text_classifier: their parts and parameters, pretrained vectors, streams
of batches.
"""

from __future__ import annotations

from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from sklearn_hashnlp.classifiers import (
    HashEmbeddingClassifier,
    TextClassifier,
    export_predictor,
    make_text_classifier,
)
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder
from sklearn_hashnlp.text import (
    AutoNgramVectorizer,
    HashingNgramVectorizer,
    _auto_ngram_vectorizer,
    _count_ngrams,
)
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from tests.text_classifiers import text_classifier
from tests.trainings import assert_near, assert_same_bits

TEXTS = ["what ?", "oh , really ?", "who knows ?", "no .", "yes .", "it is so ."]
LABELS = ["question"] * 3 + ["statement"] * 3


def test_its_parts_and_parameters():
    options = {
        "n_buckets": 500, "n_hashes": 3, "n_embeddings": 900, "embedding_dim": "auto",
        "loss": "hinge", "class_weight": "balanced", "learning_rate": 0.3,
        "early_stopping": "valid_acc", "max_epochs": 4, "device": "auto", "random_state": 5,
        "verbose": 1,
    }  # fmt: skip
    auto = make_text_classifier(ngram_range=(1, 3), n_jobs=2, lowercase=False)["vectorizer"]
    assert isinstance(auto, AutoNgramVectorizer)
    assert (auto.ngram_range, auto.n_jobs, auto.n_features, auto.lowercase) == (
        (1, 3),
        2,
        2**30,
        False,
    )
    model = make_text_classifier(features="words", ngram_range=(1, 3), n_jobs=2, **options)
    vectorizer, classifier = model["vectorizer"], model["classifier"]
    assert isinstance(vectorizer, HashingNgramVectorizer)
    assert isinstance(classifier, HashEmbeddingClassifier)
    assert (vectorizer.ngram_range, vectorizer.n_jobs, vectorizer.n_features) == ((1, 3), 2, 2**30)
    assert {name: getattr(classifier, name) for name in options} == options
    assert clone(model).get_params().keys() == model.get_params().keys()
    characters = make_text_classifier(features="characters", ngram_range=(3, 4))["vectorizer"]
    assert (characters.analyzer, characters.ngram_range, characters.n_features) == (
        "char_wb",
        (1, 4),
        2**30,
    )


def test_defaults_are_the_defaults_of_the_classifier_except_sizes():
    given, own = (
        estimator.get_params()
        for estimator in (make_text_classifier()["classifier"], HashEmbeddingClassifier())
    )
    sizes = {"n_buckets": 2**20, "n_hashes": 1, "n_embeddings": 2**20, "embedding_dim": "auto"}
    assert given == own | sizes | {"loss": "auto"}
    assert make_text_classifier()["vectorizer"].n_jobs == -1


def test_parameters_have_the_names_and_defaults_of_the_parts():
    function, text, rows = (
        {name: parameter.default for name, parameter in signature(part).parameters.items()}
        for part in (make_text_classifier, TextClassifier, HashEmbeddingClassifier)
    )
    assert function == text
    assert set(text) - set(rows) == {
        "features",
        "lowercase",
        "ngram_range",
        "n_jobs",
        "pretrained",
        "classifier",
    }
    assert len(text) == 19


def test_words_and_characters_stand_side_by_side():
    model = make_text_classifier(
        features="words+characters", ngram_range=(1, 3), n_jobs=2, random_state=0
    )
    words, characters = (vectorizer for _, vectorizer in model["vectorizer"].transformer_list)
    assert (words.analyzer, words.ngram_range, words.n_jobs) == ("word", (1, 3), 2)
    assert (characters.analyzer, characters.ngram_range, characters.n_jobs) == (
        "char_wb",
        (2, 5),
        2,
    )
    rows = model["vectorizer"].transform(TEXTS)
    assert rows.shape == (6, 2**30)
    assert rows.indices.dtype == np.int32
    assert rows.dtype == np.float32
    assert (rows[:, : 2**29] != words.transform(TEXTS)).nnz == 0
    assert (rows[:, 2**29 :] != 0.5 * characters.transform(TEXTS)).nnz == 0


def test_other_features_are_refused():
    with pytest.raises(
        ValueError,
        match=r"'features' parameter of make_text_classifier must be 'auto', .* Got 'bytes'",
    ):
        make_text_classifier(features="bytes")


class Topics(TransformerMixin, BaseEstimator):
    """Vectors that know which words are about animals, and which about money."""

    WORDS = (
        {"cat", "dog", "purrs", "barks", "kitten"},
        {"shares", "price", "fell", "sold", "stocks"},
    )

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        counts = [[len(words & set(text.split())) for words in self.WORDS] for text in X]
        return np.array(counts, dtype=float) - 0.1


FEW = ["the cat purrs", "the dog barks", "shares fell today", "they sold at any price"] * 10
KINDS = ["pet", "pet", "money", "money"] * 10
UNSEEN = ["one kitten", "some stocks"]
SMALL = {"n_buckets": 999, "n_embeddings": 9999, "random_state": 0}


@pytest.mark.parametrize("make", [TextClassifier, make_text_classifier])
def test_pretrained_vectors_know_words_that_no_training_text_has(make):
    assert make(random_state=0, pretrained=Topics().fit([])).fit(FEW, KINDS).predict(
        UNSEEN
    ).tolist() == [
        "pet",
        "money",
    ]
    alone = make(random_state=0).fit(FEW, KINDS).decision_function(UNSEEN)
    assert np.ptp(alone) < 0.5


def test_a_frozen_pretrained_model_in_a_parameter_grid(tmp_path):
    encoder = SGNNSentenceEncoder(
        n_projections=8,
        n_tables=0,
        projection_dim=8,
        network=Network(8),
        max_epochs=0,
        random_state=0,
    )
    grid = {"pretrained": [FrozenEstimator(encoder.fit(FEW))]}
    search = GridSearchCV(TextClassifier(random_state=0), grid, cv=2).fit(FEW, KINDS)
    model = search.best_estimator_
    save_model(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model").predict_proba(UNSEEN), model.predict_proba(UNSEEN)
    )


def test_a_range_of_ngrams_as_a_list(tmp_path):
    model = TextClassifier(ngram_range=[1, 3], random_state=0).fit(TEXTS, LABELS)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    loaded.set_params(ngram_range=(1, 3)).partial_fit(TEXTS, LABELS)


def test_a_pretrained_model_is_checked(tmp_path):
    with pytest.raises(ValueError, match=r"this Topics is not fitted. Fit it on other texts"):
        TextClassifier(pretrained=Topics()).fit(FEW, KINDS)
    for wrong in ("folder", SimpleNamespace(transform=len)):
        with pytest.raises(ValueError, match="'pretrained' parameter of TextClassifier"):
            TextClassifier(pretrained=wrong).fit(FEW, KINDS)
    with pytest.raises(ValueError, match="this Topics is not fitted"):
        TextClassifier(pretrained=Topics()).partial_fit(FEW, KINDS, classes=["money", "pet"])
    model = TextClassifier(pretrained=Topics().fit([]), random_state=0).fit(FEW, KINDS)
    with pytest.raises(TypeError, match="with the vectors of a Topics cannot be exported, only of"):
        export_predictor(model, tmp_path / "model.py")
    assert model.partial_fit(FEW, KINDS).predict(UNSEEN).tolist() == ["pet", "money"]
    with pytest.raises(ValueError, match="pretrained was changed after fit"):
        model.set_params(pretrained=None).partial_fit(FEW, KINDS)


def test_a_pretrained_encoder_is_saved_once(tmp_path):
    encoder = SGNNSentenceEncoder(
        n_projections=8,
        n_tables=0,
        projection_dim=64,
        network=Network(8),
        max_epochs=0,
        random_state=0,
    )
    encoder.fit(FEW)
    save_model(encoder, tmp_path / "encoder")
    alone = TextClassifier(n_buckets=2, n_embeddings=2**12, random_state=0).fit(FEW, KINDS)
    save_model(alone, tmp_path / "alone")
    model = clone(alone).set_params(pretrained=encoder).fit(FEW, KINDS)
    expected = model.predict_proba(UNSEEN)
    save_model(model, tmp_path / "model")
    size_of = {
        folder.name: (folder / "weights.safetensors").stat().st_size
        for folder in tmp_path.iterdir()
    }
    assert size_of["model"] < 1.05 * (size_of["alone"] + size_of["encoder"])
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), expected)
    assert loaded.partial_fit(FEW, KINDS).pipeline_[0].encoders[0].estimator is loaded.pretrained
    with pytest.raises(ValueError, match="pretrained was changed after fit"):
        save_model(model.set_params(pretrained=None), tmp_path / "changed")


def test_batches_of_a_stream_have_the_same_features(monkeypatch):
    model = TextClassifier(random_state=0)
    for batch in (TEXTS[:2], TEXTS[2:]):
        model.partial_fit(batch, ["statement"] * len(batch), classes=["question", "statement"])
        # words: a batch does not tell which help
        assert not hasattr(model.pipeline_[0], "features_")
    fitted = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    monkeypatch.setattr(_auto_ngram_vectorizer, "_MANY_TEXTS", 5)
    assert AutoNgramVectorizer().fit(["no ."] * 9).features_ == "words"
    fitted.partial_fit(["no ."] * 9, ["statement"] * 9)
    assert fitted.pipeline_[0].features_ == "words+characters"


def test_a_stream_can_begin_with_pretrained_vectors():
    model = TextClassifier(pretrained=Topics().fit([]), **SMALL)
    model.partial_fit(iter(FEW), KINDS, classes=["money", "pet"])
    union = model.pipeline_[0]
    assert not hasattr(union.vectorizer_, "features_")  # words: a batch does not tell which help
    counts = AutoNgramVectorizer(n_features=2**30).transform(FEW)
    columns, indices = np.unique(counts.indices, return_inverse=True)
    counts = csr_array((counts.data, indices, counts.indptr), shape=(len(FEW), len(columns)))
    weighted = TfidfTransformer(norm=None).fit_transform(counts)
    ratios = np.linalg.norm(weighted.toarray(), axis=1) / np.linalg.norm(counts.toarray(), axis=1)
    ratio = union.norm_ratio_
    assert_near(ratio, ratios.mean(), rtol=1e-5)
    for start in range(0, 40, 4):
        model.partial_fit(FEW[start : start + 4], KINDS[start : start + 4])
    assert_same_bits(model.pipeline_[0].norm_ratio_, ratio)
    assert model.predict(UNSEEN).tolist() == ["pet", "money"]


def test_a_first_batch_that_fails_leaves_the_model_unfitted():
    model = TextClassifier(pretrained=Topics().fit([]), **SMALL)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(FEW, KINDS)
    assert not hasattr(model, "pipeline_")
    model.partial_fit(FEW, KINDS, classes=["money", "pet"])


def test_a_changed_pretrained_model_needs_a_new_fit():
    model = TextClassifier(pretrained=Topics().fit([]), **SMALL).fit(FEW, KINDS)
    expected = model.predict_proba(UNSEEN)
    for other in (None, Topics().fit([])):
        model.set_params(pretrained=other)
        # as after any change of a parameter
        assert model.predict_proba(UNSEEN).tobytes() == expected.tobytes()
        warm = make_text_classifier(**SMALL)["classifier"].set_params(warm_start=True)
        sizes = dict.fromkeys(("n_buckets", "n_embeddings"), 2**20)
        other = clone(model).set_params(classifier=warm, **sizes)
        other.pipeline_, other._fitted_features = model.pipeline_, model._fitted_features
        for refused in (model.partial_fit, other.fit):
            with pytest.raises(ValueError, match="pretrained was changed after fit"):
                refused(FEW, KINDS)
    alone = model.set_params(pretrained=None).fit(FEW, KINDS)
    assert not isinstance(alone.pipeline_[0], NgramVectorUnion)


@pytest.fixture
def threads_of_transforms(monkeypatch):
    """Return a list that grows by the ``n_jobs`` with which n-grams are counted."""
    seen, hashed_counts = [], _count_ngrams.hashed_counts

    def counted(*arguments, n_jobs, **options):
        seen.append(n_jobs)
        return hashed_counts(*arguments, n_jobs=n_jobs, **options)

    monkeypatch.setattr(_count_ngrams, "hashed_counts", counted)
    return seen


@pytest.mark.parametrize(
    ("features", "pretrained"), [("auto", True), ("words", False), ("words+characters", True)]
)
def test_n_jobs_set_after_fit_reach_the_vectorizer(features, pretrained, threads_of_transforms):
    encoder = Topics().fit([]) if pretrained else None
    model = TextClassifier(features=features, pretrained=encoder, n_jobs=2, **SMALL).fit(FEW, KINDS)
    expected = model.predict_proba(FEW)
    vectorizer = model.pipeline_[0]
    before = repr(model.pipeline_[0])
    assert set(threads_of_transforms) == {2}
    for n_jobs in (1, None):
        threads_of_transforms.clear()
        model.n_jobs = n_jobs
        assert model.predict_proba(FEW).tobytes() == expected.tobytes()
        # else counts are not needed
        assert set(threads_of_transforms) == ({n_jobs} if pretrained else set())
    assert model.pipeline_[0] is vectorizer
    assert repr(vectorizer) == before
    threads_of_transforms.clear()
    model.set_params(n_jobs=1).partial_fit(FEW, KINDS)
    assert set(threads_of_transforms) == {1}
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        model.set_params(n_jobs="many").predict([*FEW, "many " * 100_000])


@pytest.mark.parametrize("model", [TextClassifier(random_state=0), TextClassifier(max_epochs=2)])
def test_a_batch_of_distinct_labels_trains_without_a_warning(model):
    labels = [f"label {i}" for i in range(30)]
    # warnings are errors
    fitted = clone(model).partial_fit([f"text {i}" for i in range(30)], labels, classes=labels)
    assert len(fitted.classes_) == 30


FILMS = [
    "a fine, funny film",
    "dull and far too long",
    "funny and fine acting",
    "too dull to sit through",
] * 6
TASTES = ["good", "bad", "good", "bad"] * 6


@pytest.mark.parametrize(
    ("features", "lowercase"), [("words", True), ("words+characters", False), ("characters", True)]
)
def test_it_is_the_pipeline(features, lowercase):
    options = SMALL | {
        "features": features,
        "lowercase": lowercase,
        "learning_rate": 0.1,
        "n_hashes": 2,
    }
    texts = [text.title() for text in FILMS]
    pipeline = make_text_classifier(**options).fit(texts, TASTES)
    model = TextClassifier(**options).fit(texts, TASTES)
    assert_same_bits(model.predict_proba(FILMS), pipeline.predict_proba(FILMS))
    assert model.pipeline_["classifier"].get_params() == pipeline["classifier"].get_params()


def test_lowercase_false_tells_us_from_us():
    texts, labels = ["US troops", "give us more"] * 10, ["world", "home"] * 10
    model = text_classifier(**SMALL, lowercase=False, ngram_range=(1, 1)).fit(texts, labels)
    assert model.predict(["US", "us"]).tolist() == ["world", "home"]


def test_it_is_a_classifier_among_classifiers():
    assert is_classifier(text_classifier(**SMALL))
    assert (
        cross_val_score(text_classifier(**SMALL), FILMS, TASTES, cv=3, scoring="roc_auc").mean()
        > 0.9
    )
    members = [(str(seed), text_classifier(**SMALL | {"random_state": seed})) for seed in (1, 2)]
    votes = VotingClassifier(members, voting="soft")
    assert votes.fit(FILMS, TASTES).score(FILMS, TASTES) == 1


def test_warm_start_goes_on():
    warm = text_classifier(**SMALL, features="words", warm_start=True, max_epochs=4).fit(
        FILMS, TASTES
    )
    assert len(warm.fit(FILMS, TASTES).history_) == 2 * 4
    with pytest.raises(
        ValueError, match=r"cannot continue training with features='characters'.* 'words'"
    ):
        warm.set_params(features="characters").fit(FILMS, TASTES)
    with pytest.raises(ValueError, match="was not seen before"):
        warm.set_params(features="words").partial_fit(["x"], ["other"])
    assert warm.score(FILMS, TASTES) == 1


@pytest.mark.parametrize("ngram_range", [(2, 1), (1, 2, 3), (0, 1), ("1", "2")])
def test_a_wrong_ngram_range_is_refused(ngram_range):
    with pytest.raises(
        ValueError, match="'ngram_range' parameter of TextClassifier must be a pair"
    ):
        text_classifier(**SMALL, ngram_range=ngram_range).fit(FILMS, TASTES)


def test_scikit_learns_checks_pass():
    with pytest.warns(
        UserWarning, match="Can't test estimator TextClassifier which requires input"
    ):  # it takes texts, and scikit-learn has numbers
        results = check_estimator(TextClassifier(), on_fail=None)
    assert {result["check_name"] for result in results if result["status"] == "failed"} == set()


@pytest.mark.parametrize(
    ("texts", "labels", "error", "message"),
    [
        ([["row"], *TEXTS[1:]], LABELS, TypeError, r"document 0 is \['row'\] .*row\[0\]"),
        ([None, *TEXTS[1:]], LABELS, TypeError, "^TextClassifier expects .* document 0 is None"),
        ([np.nan, *TEXTS[1:]], LABELS, ValueError, "TextClassifier expects .* document 0 is nan"),
        (TEXTS, LABELS[1:], ValueError, r"samples: \[6, 5\] in X and y$"),
        ([], [], ValueError, r"0 sample\(s\) while a minimum of 1 is required by TextClassifier"),
    ],
    ids=["rows", "None", "nan", "a label missing", "empty"],
)
@pytest.mark.parametrize("features", ["auto", "words+characters"])
def test_errors_name_what_was_passed(features, texts, labels, error, message):
    model = TextClassifier(features=features)
    with pytest.raises(error, match=message):
        model.fit(texts, labels)
    with pytest.raises(error, match=message):
        model.partial_fit(texts, labels, classes=sorted(set(LABELS)))
