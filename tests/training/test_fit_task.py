"""The callbacks of scikit-learn, which it has since version 1.9: fit is a task, and its epochs are
subtasks.
"""

import copy
import gc
import pickle
import signal
import weakref
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import HsigmoidLanguageModel, SGNNSentenceEncoder, TextClassifier
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.text import HashingNgramVectorizer
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.sentence_texts import make as make_encoder
from tests.text_classifiers import text_classifier
from tests.trainings import assert_same_bits

callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn has callbacks since version 1.9"
)

TEXTS = ["fine and funny", "long and dull", "funny", "so long", "a fine day", "dull and so on"] * 10
LABELS = ["good", "bad", "good", "bad", "good", "bad"] * 10
ROWS = np.random.RandomState(0).random_sample((60, 8))
SENTENCES = ["the cat sat on the mat. it slept", "the dog sat on the rug. it ran away"] * 5

SMALL = {"n_buckets": 20, "n_embeddings": 100, "random_state": 0}
MODELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "texts": (text_classifier(loss="softmax", max_epochs=3, **SMALL), (TEXTS, LABELS)),
    "rows": (HashEmbeddingClassifier(loss="softmax", max_epochs=3, **SMALL), (ROWS, LABELS)),
    "dense rows": (
        SGNNClassifier(max_epochs=3, hidden_layer_sizes=(4,), random_state=0),
        (ROWS, LABELS),
    ),
    "words": (
        HsigmoidLanguageModel(
            order=2, embedding_dim=4, hidden_size=4, max_epochs=3, random_state=0
        ),
        (SENTENCES,),
    ),
    "sentences": (make_encoder(max_epochs=3, word_steps=0), (SENTENCES,)),
}


def answers(model: Any) -> Any:
    """Return what a model answers on its kind of data."""
    if isinstance(model, HsigmoidLanguageModel):
        return model.score_samples(["the cat sat"])
    if isinstance(model, SGNNSentenceEncoder):
        return model.transform(["the cat sat"])
    return model.predict_proba(TEXTS[:3] if isinstance(model, TextClassifier) else ROWS[:3])


class Recorder:
    """Record the calls of a callback, and ask to stop after an epoch."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fitted: list[Any] = []
        self.answers: list[Any] = []
        self.stop_after = stop_after

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup",))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown",))

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        self.calls.append(("begin", context.task_name, context.task_id, context.max_subtasks))
        self.X = X

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        self.calls.append(("end", context.task_name, context.task_id))
        self.fitted.append(fitted_estimator)
        self.answers.append(answers(fitted_estimator))
        return context.task_name == "epoch" and context.task_id + 1 == self.stop_after


def with_recorder(name: str, **parameters: Any) -> tuple[Any, tuple[Any, ...], Recorder]:
    model, data = MODELS[name]
    recorder = Recorder(**parameters)
    return type(model)(**model.get_params(deep=False)).set_callbacks(recorder), data, recorder


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_and_its_epochs_are_reported(name: str) -> None:
    model, data, recorder = with_recorder(name)
    model.fit(*data)
    epochs = [call for i in range(3) for call in (("begin", "epoch", i, 0), ("end", "epoch", i))]
    assert recorder.calls == [
        ("setup",),
        ("begin", "fit", 0, 3),
        *epochs,
        ("end", "fit", 0),
        ("teardown",),
    ]
    assert recorder.X is data[0]
    assert "_callback_fit_ctx" not in vars(model)


@pytest.mark.parametrize("name", MODELS)
def test_a_callback_does_not_change_the_model(name: str) -> None:
    model, data, _ = with_recorder(name)
    plain = MODELS[name][0].fit(*data)
    arrays = (
        model.fit(*data)._get_model_state()[1]
        if name != "texts"
        else {"p": model.fit(*data).predict_proba(TEXTS)}
    )
    expected = plain._get_model_state()[1] if name != "texts" else {"p": plain.predict_proba(TEXTS)}
    for key, array in arrays.items():
        assert_same_bits(array, expected[key])


@pytest.mark.parametrize("name", MODELS)
def test_a_callback_stops_the_training(name: str) -> None:
    model, data, recorder = with_recorder(name, stop_after=2)
    assert len(model.fit(*data).history_) == 2
    assert recorder.calls[-2:] == [("end", "fit", 0), ("teardown",)]


@pytest.mark.parametrize("name", MODELS)
def test_an_error_ends_the_callbacks(name: str) -> None:
    model, _, recorder = with_recorder(name)
    with pytest.raises((ValueError, TypeError)):
        model.fit([1, "a"], [[["b"]]])
    assert recorder.calls == [("setup",), ("teardown",)]
    assert "_callback_fit_ctx" not in vars(model)


@pytest.mark.parametrize("name", ["texts", "rows", "dense rows"])
def test_the_scores_of_epochs_are_those_of_shorter_trainings(name: str) -> None:
    _, data = MODELS[name]

    def scores_of(n_epochs: int) -> list[float]:
        constant = {
            "max_epochs": n_epochs,
            "schedule": Schedule(),
            "calibrate": False,
            "random_state": 0,
        }
        rows = (SGNNClassifier if name == "dense rows" else HashEmbeddingClassifier)(
            loss="softmax", **constant
        )
        rows.set_params(**{} if name == "dense rows" else {"n_buckets": 20, "n_embeddings": 100})
        monitor = callback.ScoringMonitor(scoring="neg_log_loss")
        model = TextClassifier(classifier=rows) if name == "texts" else rows
        model.set_callbacks(monitor).fit(*data)
        return [
            row["neg_log_loss"] for row in monitor.get_logs().data if row["task_name"] == "epoch"
        ]

    scores = scores_of(3)
    assert len(set(scores)) == 3
    assert_same_bits(scores, [scores_of(n_epochs)[-1] for n_epochs in (1, 2, 3)])


def test_the_perplexity_after_an_epoch() -> None:
    perplexities = []

    class Measure(Recorder):
        def on_fit_task_end(
            self, estimator: Any, context: Any, *, fitted_estimator: Any = None
        ) -> bool:
            perplexities.append(fitted_estimator.perplexity(SENTENCES))
            return False

    model = MODELS["words"][0]
    model = type(model)(**model.get_params(deep=False)).set_callbacks(Measure()).fit(SENTENCES)
    assert len(set(perplexities[:3])) == 3
    assert perplexities[2] == perplexities[3] == model.perplexity(SENTENCES)


def test_the_dual_solver_has_no_epochs() -> None:
    recorder = Recorder()
    model = TextClassifier(random_state=0).set_callbacks(recorder).fit(TEXTS, LABELS)
    assert model.solver_ == "dual"
    assert recorder.calls == [("setup",), ("begin", "fit", 0, 0), ("end", "fit", 0), ("teardown",)]
    assert recorder.fitted[0].predict(["funny", "dull"]).tolist() == ["good", "bad"]


class Unfitted(Recorder):
    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # type: ignore[override]
        assert not hasattr(estimator, "pipeline_")


def test_the_dual_solver_has_not_begun_when_the_beginning_is_reported() -> None:
    TextClassifier(random_state=0).set_callbacks(Unfitted()).fit(TEXTS, LABELS)


@pytest.mark.parametrize("name", ["rows", "dense rows", "words"])
def test_a_training_that_continues_has_each_epoch_once(name: str) -> None:
    model, data, recorder = with_recorder(name)
    model.set_params(warm_start=True).fit(*data).fit(*data)
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4, 5, 6]
    assert len(recorder.calls) == 2 * (4 + 2 * 3)


def test_an_error_of_a_callback_is_its_own() -> None:
    class Wrong(Recorder):
        def on_fit_task_end(self, estimator: Any, context: Any) -> bool:  # type: ignore[override]
            raise KeyError("valid_score")

    model, data, _ = with_recorder("rows")
    with pytest.raises(KeyError, match="valid_score"):
        model.set_callbacks(Wrong()).fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupt_ends_the_callbacks_but_not_the_task(name: str) -> None:
    model, data, recorder = with_recorder(name)

    def interrupt(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    # by a user, in the first epoch
    recorder.on_fit_task_end = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert recorder.calls == [
        ("setup",),
        ("begin", "fit", 0, 3),
        ("begin", "epoch", 0, 0),
        ("teardown",),
    ]
    assert len(model.history_) == 1


@pytest.mark.parametrize("name", MODELS)
def test_the_training_data_is_freed(name: str) -> None:
    class Data(list[Any]):
        pass

    model, data, recorder = with_recorder(name)
    X = np.array(data[0]) if name in ("rows", "dense rows") else Data(data[0])
    freed = weakref.ref(X)
    model.fit(X, *data[1:])
    recorder.X, recorder.fitted = None, []
    del X
    gc.collect()
    assert freed() is None


class Copier(Recorder):
    """Copy the estimator after each task, and train the first copy further."""

    def __init__(self, *data: Any) -> None:
        super().__init__()
        self.data = data
        self.deep: list[Any] = []
        self.pickled: list[Any] = []

    def __reduce__(self) -> Any:
        return Recorder, ()  # the estimators have their callbacks: copies of copies

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        stop = super().on_fit_task_end(estimator, context, fitted_estimator=fitted_estimator)
        self.pickled.append(pickle.loads(pickle.dumps(fitted_estimator)))
        self.deep.append(copy.deepcopy(fitted_estimator))
        if len(self.deep) == 1:
            self.deep[0].partial_fit(*self.data)
        return stop


@pytest.mark.parametrize("name", MODELS)
def test_the_estimator_of_an_epoch_is_copied_pickled_and_trained_further(name: str) -> None:
    model, data, _ = with_recorder(name)
    copier = Copier(*data)
    model.set_callbacks(copier).fit(*data)
    assert sum(call[0] == "end" for call in copier.calls) == 4  # none of them by partial_fit
    for copied in (copier.deep[1:3], copier.pickled[:3]):
        for one, expected in zip(copied, copier.answers[3 - len(copied) : 3], strict=True):
            np.testing.assert_allclose(answers(one), expected, rtol=1e-5)


class Silent(Recorder):
    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        self.calls.append(("end", context.task_name, context.task_id))
        self.fitted.append(fitted_estimator)
        return False


def test_callbacks_of_a_classifier_and_of_the_classifier_within() -> None:
    inner, outer = Silent(), Recorder()
    rows = HashEmbeddingClassifier(loss="softmax", max_epochs=2, random_state=0).set_callbacks(
        inner
    )
    TextClassifier(classifier=rows, random_state=0).set_callbacks(outer).fit(TEXTS, LABELS)
    assert inner.calls == outer.calls
    assert {type(each) for each in inner.fitted} == {HashEmbeddingClassifier}
    assert {type(each) for each in outer.fitted} == {TextClassifier}


def test_a_reader_is_read_once() -> None:
    n_calls = []

    def reader() -> Any:
        n_calls.append(1)
        return iter(SENTENCES)

    model, _, recorder = with_recorder("words")
    plain = MODELS["words"][0].fit(reader)
    n_plain = len(n_calls)
    model.fit(reader)
    assert len(n_calls) == 2 * n_plain
    assert recorder.X is None
    assert len(plain.history_) == len(model.history_) == 3


def test_wrong_arguments_are_the_same_error_as_without_callbacks() -> None:
    model, _, _ = with_recorder("texts")
    with pytest.raises(
        TypeError, match=r"fit\(\) missing 2 required positional arguments: 'X' and 'y'"
    ):
        model.fit()


def test_weights_are_passed_on() -> None:
    seen = []

    class Metadata(Recorder):
        def on_fit_task_begin(self, estimator: Any, context: Any, *, metadata: Any = None) -> None:  # type: ignore[override]
            seen.append(metadata)

    weights = [1.0, 2.0] * 30
    model, data, _ = with_recorder("rows")
    model.set_callbacks(Metadata()).fit(*data, sample_weight=weights)
    assert all(each["sample_weight"] is weights for each in seen)
    assert len(seen) == 4


def test_early_stopping_ends_the_task() -> None:
    model, data, recorder = with_recorder("rows")
    model.set_params(
        early_stopping=EarlyStopping(patience=1, validation_fraction=0.4), max_epochs=50
    ).fit(*data)
    assert recorder.calls[1] == ("begin", "fit", 0, 50)
    assert sum(call[:2] == ("end", "epoch") for call in recorder.calls) == len(model.history_) < 50


def test_partial_fit_reports_nothing() -> None:
    model, _, recorder = with_recorder("texts")
    model.partial_fit(TEXTS, LABELS, classes=["bad", "good"])
    assert recorder.calls == []


def test_texts_of_an_iterator_are_not_passed_on() -> None:
    model, _, recorder = with_recorder("texts")
    model.fit(iter(TEXTS), LABELS)
    assert recorder.X is None


class Propagated(Recorder):
    max_propagation_depth = None

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # type: ignore[override]
        self.calls.append(
            (type(estimator).__name__, context.task_name, context.source_estimator_name)
        )

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:  # type: ignore[override]
        return False


def test_the_fits_of_a_grid_search_are_nested() -> None:
    recorder = Propagated()
    search = GridSearchCV(MODELS["texts"][0], {"max_epochs": [1, 2]}, cv=2).set_callbacks(recorder)
    search.fit(TEXTS, LABELS)
    own = [call for call in recorder.calls if call[0] == "TextClassifier"]
    n_epochs = 2 * (1 + 2) + search.best_params_["max_epochs"]
    assert own.count(("TextClassifier", "epoch", None)) == n_epochs
    assert own.count(("TextClassifier", "fit", "GridSearchCV")) == 5


def test_the_last_step_of_a_pipeline_reports() -> None:
    recorder = Propagated()
    pipeline = make_pipeline(
        HashingNgramVectorizer(n_features=2**10), MODELS["rows"][0]
    ).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="HashingNgramVectorizer does not support callbacks"):
        pipeline.fit(TEXTS, LABELS)
    assert recorder.calls.count(("HashEmbeddingClassifier", "epoch", None)) == 3
