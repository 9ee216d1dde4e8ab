"""What scikit-learn's users expect of any estimator: parameters, pipelines, searches, copies, streams, interrupts."""

import copy
import inspect
import os
import pickle
import signal
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import estimator_html_repr, get_tags
from skorch.callbacks import Callback

import sklearn_hashnlp
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from tests.sentence_texts import PARAGRAPHS, QUERIES, bytes_of, make

Y = [number % 4 for number in range(40)]
ENCODER = make().fit(PARAGRAPHS)
FAST = {"max_epochs": 1}


def test_parameters():
    signature = inspect.signature(SGNNSentenceEncoder)
    parameters = SGNNSentenceEncoder().get_params()
    assert parameters == {name: parameter.default for name, parameter in signature.parameters.items()}
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in signature.parameters.values())
    encoder = make().set_params(width=16, masked_weight=(0, 1))
    assert encoder.get_params() == make(width=16, masked_weight=(0, 1)).get_params()
    assert repr(clone(encoder)) == repr(encoder)
    with pytest.raises(ValueError, match="Invalid parameter 'widht'"):
        encoder.set_params(widht=3)


def test_fit_does_not_write_parameters_and_a_clone_is_not_fitted(tmp_path):
    encoder = make(checkpoint_dir=tmp_path, random_state=3, callbacks=[Callback()])
    before = encoder.get_params()
    assert encoder.fit(PARAGRAPHS) is encoder
    assert encoder.get_params() == before
    fresh = clone(encoder)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    assert bytes_of(fresh.set_params(checkpoint_dir=None).fit(PARAGRAPHS)) == bytes_of(encoder)


def test_fitted_anew_it_is_as_if_it_had_never_been_fitted():
    encoder = make().fit(PARAGRAPHS[:9]).partial_fit(PARAGRAPHS)
    assert bytes_of(encoder.fit(PARAGRAPHS)) == bytes_of(ENCODER)
    assert [entry["epoch"] for entry in encoder.history_] == [1, 2]
    wider = encoder.set_params(width=16, n_projections=7).fit(PARAGRAPHS)
    assert wider.transform(QUERIES).shape == (6, 32)


def test_before_fit():
    encoder = make()
    for method, arguments in (
        ("transform", [QUERIES]),
        ("similarity", [QUERIES, QUERIES]),
        ("most_similar", [QUERIES, QUERIES]),
        ("get_feature_names_out", []),
    ):
        with pytest.raises(NotFittedError, match="SGNNSentenceEncoder"):
            getattr(encoder, method)(*arguments)
    with pytest.raises(NotFittedError):
        save_model(encoder, "nowhere")
    assert bytes_of(pickle.loads(pickle.dumps(encoder)).fit(PARAGRAPHS)) == bytes_of(ENCODER)


def test_tags_and_pictures():
    tags = get_tags(ENCODER)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required
    assert tags.estimator_type is None
    assert tags.transformer_tags is not None
    assert "SGNNSentenceEncoder" in estimator_html_repr(ENCODER)
    assert sklearn_hashnlp.sentences.SGNNSentenceEncoder is SGNNSentenceEncoder


def test_before_a_classifier():
    pipeline = make_pipeline(make(context_weight=0.5), LogisticRegression(C=1e3)).fit(PARAGRAPHS, Y)
    assert pipeline.score(PARAGRAPHS, Y) == 1.0
    scores = cross_val_score(make_pipeline(make(), LogisticRegression()), PARAGRAPHS, Y, cv=2)
    assert scores.mean() > 0.5  # chance is a quarter
    both = make_union(make(), make(random_state=1)).fit(PARAGRAPHS)
    assert both.transform(QUERIES).shape == (6, 48)


def test_searches():
    pipeline = make_pipeline(make(**FAST), LogisticRegression())
    grid = {"sgnnsentenceencoder__context_weight": [0.0, np.float32(0.5), 1], "logisticregression__C": [1.0, 1e3]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(PARAGRAPHS, Y)
    assert search.best_score_ > 0.5
    assert len(search.cv_results_["params"]) == 6

    def scorer(encoder, X, y=None):
        return float(encoder.similarity(X[:-1], X[1:]).mean())

    search = GridSearchCV(make(**FAST), {"width": np.array([4, 8])}, scoring=scorer, cv=2, error_score="raise")
    assert search.fit(PARAGRAPHS).best_estimator_.transform(QUERIES).shape[1] in (20, 24)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    processes = GridSearchCV(make(**FAST), {"width": [4]}, scoring=scorer, cv=2, n_jobs=2, error_score="raise")
    with joblib.parallel_backend("threading"):
        found = processes.fit(PARAGRAPHS).cv_results_["mean_test_score"][0]
    assert found == search.cv_results_["mean_test_score"][0]


def test_fit_transform():
    assert make().fit_transform(PARAGRAPHS).tobytes() == ENCODER.transform(PARAGRAPHS).tobytes()
    assert make().fit_transform(PARAGRAPHS, Y).tobytes() == ENCODER.transform(PARAGRAPHS).tobytes()


def test_frames():
    pandas = pytest.importorskip("pandas")
    encoder = copy.deepcopy(ENCODER).set_output(transform="pandas")
    series = pandas.Series(QUERIES, index=[f"row{number}" for number in range(6)])
    found = encoder.transform(series)
    assert found.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert found.index.tolist() == series.index.tolist()
    assert set(found.dtypes) == {np.dtype(np.float32)}
    assert found.to_numpy().tobytes() == ENCODER.transform(QUERIES).tobytes()
    # What compares vectors does not mind.
    assert encoder.similarity(QUERIES, QUERIES).tobytes() == ENCODER.similarity(QUERIES, QUERIES).tobytes()
    indices, _ = encoder.most_similar(QUERIES, PARAGRAPHS, k=2)
    assert np.array_equal(indices, ENCODER.most_similar(QUERIES, PARAGRAPHS, k=2)[0])
    assert np.array_equal(encoder.most_similar(QUERIES, encoder.transform(PARAGRAPHS).to_numpy(), k=2)[0], indices)
    with pytest.raises(ValueError, match="expects one column of documents"):
        encoder.transform(pandas.DataFrame({"text": QUERIES}))


VARIED = [
    {},
    {"masked_weight": 1.0, "n_layers": 2, "depths": 2, "pooling_width": 5, "pooling": "attention", "start": "random"},
    {"n_tables": 0, "n_components_removed": 0},
    {"context_weight": 0.0},
    {"context_weight": 1.0, "positions": False},
]


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_copies(tmp_path, options):
    encoder = make(**options).fit(PARAGRAPHS)
    save_model(encoder, tmp_path / "bare")
    if options.get("context_weight") == 0.0:
        with pytest.raises(ValueError, match="this model has no training state"):
            save_model(encoder, tmp_path / "folder", training_state=True)
    save_model(encoder, tmp_path / "folder", training_state=options.get("context_weight") != 0.0)
    expected, trained_on = bytes_of(encoder), []
    for other in (
        pickle.loads(pickle.dumps(encoder)),
        copy.deepcopy(encoder),
        load_model(tmp_path / "folder"),
        load_model(tmp_path / "bare"),
    ):
        assert bytes_of(other) == expected
        assert other.get_params() == encoder.get_params()
        for name in ("history_", "log_", "n_parameters_", "waiting_share_"):
            assert getattr(other, name) == getattr(encoder, name)
        trained_on.append(bytes_of(other.partial_fit(PARAGRAPHS[:9])))
    # With what the optimiser has gathered it goes on as the first would.
    assert [bytes_of(encoder.partial_fit(PARAGRAPHS[:9]))] * 3 == trained_on[:3]
    assert (trained_on[3] != trained_on[0]) == (options.get("context_weight") != 0.0)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_smaller_models_are_close(tmp_path, precision):
    save_model(ENCODER, tmp_path, precision=precision)
    vectors = load_model(tmp_path).transform(PARAGRAPHS)
    np.testing.assert_allclose(vectors, ENCODER.transform(PARAGRAPHS), atol=0.02)


def test_in_another_process(tmp_path):
    pipeline = make_pipeline(make(), LogisticRegression()).fit(PARAGRAPHS, Y)
    joblib.dump(pipeline, tmp_path / "pipeline.joblib")
    joblib.dump(ENCODER, tmp_path / "encoder.joblib")
    save_model(ENCODER, tmp_path / "folder")
    code = (
        "import joblib, sys; from pathlib import Path; from sklearn_hashnlp import load_model\n"
        "folder = Path(sys.argv[1]); texts = ['bar carn', '', 'time']\n"
        "for encoder in (joblib.load(folder / 'encoder.joblib'), load_model(folder / 'folder')):\n"
        "    print(encoder.transform(texts).tobytes().hex())\n"
        "print(joblib.load(folder / 'pipeline.joblib').predict_proba(texts).tobytes().hex())"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True).stdout
    texts = ["bar carn", "", "time"]
    vectors = ENCODER.transform(texts).tobytes().hex()
    assert out.split() == [vectors, vectors, pipeline.predict_proba(texts).tobytes().hex()]


def test_a_stream():
    encoder = make(max_time=1e-9, max_epochs=7)
    for _ in range(3):
        assert encoder.partial_fit(iter(PARAGRAPHS)) is encoder
    assert [entry["epoch"] for entry in encoder.history_] == [1, 2, 3]
    losses = [entry["train_loss"] for entry in encoder.history_]
    assert losses[2] < losses[0]
    assert len(encoder.log_) == 3
    common, rare = encoder.net_.module_.network.common, encoder._reader
    before = bytes_of(encoder)
    encoder.partial_fit(["Words that nobody knows. They know nobody."])
    assert bytes_of(encoder) != before
    assert encoder.net_.module_.network.common is common
    assert encoder._reader is rare
    assert bytes_of(make().partial_fit(PARAGRAPHS)) == bytes_of(make(max_epochs=5, n_jobs=2).partial_fit(PARAGRAPHS))


def test_a_stream_goes_on_from_fit():
    first = make().fit(PARAGRAPHS)
    expected = bytes_of(first.partial_fit(PARAGRAPHS[:20]))
    assert [entry["epoch"] for entry in first.history_] == [1, 2, 3]
    assert expected != bytes_of(ENCODER)
    # The same in another run.
    assert bytes_of(make().fit(PARAGRAPHS).partial_fit(PARAGRAPHS[:20])) == expected
    with pytest.raises(ValueError, match="no word in X"):
        first.partial_fit([""])
    assert bytes_of(first) == expected


def test_a_stream_has_another_order_each_time():
    orders = []

    class Orders(Callback):
        def on_epoch_begin(self, net, **kwargs):
            orders.append([])

        def on_batch_begin(self, net, batch=None, **kwargs):
            orders[-1].append(batch.batch.weights.sum().item())

    encoder = make(callbacks=[Orders()]).fit(PARAGRAPHS)
    for _ in range(2):
        encoder.partial_fit(PARAGRAPHS)
    assert len({tuple(order) for order in orders}) == len(orders) == 4


def test_a_stream_is_watched_by_the_monitor():
    asked = []

    def monitor(encoder):
        asked.append(encoder)
        return 0.0

    encoder = make(monitor=monitor).partial_fit(PARAGRAPHS)
    assert [entry["stage"] for entry in encoder.log_] == ["untrained", "words", "sentences"]
    assert all(one is encoder for one in asked)


class Watcher(Callback):
    def __init__(self, tasks=None):
        self.tasks, self.seen = tasks or {}, []

    def see(self, name):
        self.seen.append(name)
        self.tasks.get((name, self.seen.count(name)), lambda: None)()

    def on_train_begin(self, net, **kwargs):
        self.see("train")

    def on_epoch_begin(self, net, **kwargs):
        self.see("epoch")

    def on_batch_begin(self, net, batch=None, **kwargs):
        self.see("batch")

    def on_grad_computed(self, net, named_parameters, **kwargs):
        assert {name.split(".")[0] for name, _ in named_parameters} == {"network"}
        self.see("gradient")

    def on_batch_end(self, net, loss=None, **kwargs):
        assert loss.ndim == 0
        self.see("step")

    def on_train_end(self, net, **kwargs):
        self.see("end")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_callbacks_reach_skorch():
    watcher = Watcher()
    encoder = make(callbacks=[("watcher", watcher)]).fit(PARAGRAPHS)
    n_steps = watcher.seen.count("batch")
    assert watcher.seen[:5] == ["train", "epoch", "batch", "gradient", "step"]
    assert watcher.seen.count("gradient") == watcher.seen.count("step") == n_steps > 10
    assert (watcher.seen.count("epoch"), watcher.seen[-1]) == (2, "end")
    assert bytes_of(encoder) == bytes_of(ENCODER)

    class Enough(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt  # skorch's way to end training

    assert len(make(max_epochs=9, callbacks=[Enough()]).fit(PARAGRAPHS).history_) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt(tmp_path, n_jobs):
    watcher = Watcher({("batch", 11): interrupt})
    encoder = make(callbacks=[watcher], checkpoint_dir=tmp_path, checkpoint_every=0, max_epochs=5, n_jobs=n_jobs)
    with pytest.warns(UserWarning, match="Training interrupted by user") as caught:
        encoder.fit(PARAGRAPHS)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(encoder.history_) == 1
    assert 0 <= encoder.waiting_share_ <= 1
    vectors = bytes_of(encoder)
    assert bytes_of(pickle.loads(pickle.dumps(encoder))) == vectors
    encoder.partial_fit(PARAGRAPHS)
    # What was saved last is taken up as after any other interruption.
    encoder.set_params(resume=True, callbacks=None).fit(PARAGRAPHS)
    assert bytes_of(encoder) == bytes_of(make(max_epochs=5).fit(PARAGRAPHS))


def test_an_interrupt_leaves_the_best_weights():
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return -float(len(vectors))

    watcher = Watcher({("batch", 9): interrupt})
    with pytest.warns(UserWarning, match="Training interrupted by user"):
        encoder = make(callbacks=[watcher], monitor=monitor, log_every=2).fit(PARAGRAPHS)
    assert len(vectors) > 4
    assert bytes_of(encoder) == vectors[2]


def test_threads_end_with_the_training():
    import threading

    before = threading.active_count()
    watcher = Watcher({("batch", 3): interrupt})
    with pytest.warns(UserWarning, match="Training interrupted"):
        make(callbacks=[watcher], n_jobs=3).fit(PARAGRAPHS)
    make(n_jobs=3, max_time=1e-9).fit(PARAGRAPHS)
    assert threading.active_count() == before


def test_the_text_does_not_outlive_its_training():
    import gc

    from sklearn_hashnlp.sentences._paragraphs import Paragraphs
    from sklearn_hashnlp.sentences._projections import CachedProjections

    def count():
        gc.collect()
        return sum(type(thing) in (CachedProjections, Paragraphs) for thing in gc.get_objects())

    before = count()
    encoder = make(monitor=lambda encoder: 0.0).fit(PARAGRAPHS).partial_fit(PARAGRAPHS)
    assert count() == before
    assert encoder.history_
