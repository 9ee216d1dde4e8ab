"""Training that is interrupted and resumed, bit for bit, and checkpoints of another training."""

import json

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.sentences import Network, Objectives, SGNNSentenceEncoder
from sklearn_hashnlp.sentences._sentence_parameters import check_same_training
from sklearn_hashnlp.text import SGNNProjector
from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.sentence_texts import PARAGRAPHS, learned, make
from tests.sentences.callbacks import StopAfter, StopAtEnd, StopError
from tests.trainings import assert_same_bits


def first_component(encoder):
    return float(encoder.transform(["bar carn"])[0, 0])


def falling(encoder):
    """Return the best score for the first weights of the second stage."""
    return -float(len(encoder.log_))


def rising_and_falling(encoder):
    return -abs(len(encoder.log_) - 4.0)


HEADS = {"sentence": (1, 0.2), "word": (0, 1.0), "masked": 0.5}
REPORT = {
    "network__n_layers": 2,
    "network__depths": 2,
    "init": "random",
    "objectives__loss": "bxent",
    "n_tables": 0,
}
OPTIONS = {
    "plain": {},
    "heads": {f"objectives__{head}_weight": weight for head, weight in HEADS.items()},
    "best first": {"scoring": falling, "every": 2},
    "best between": {
        "scoring": rising_and_falling,
        "every": 3,
        "objectives__masked_weight": (0, 1),
    },
    "best last": {"scoring": first_component, "every": 5},
    "report": REPORT | {"context_weight": 1.0},
}


def make_one(name, callbacks=(), **options):
    """Return the encoder of some options; ``every`` is the number of steps of a log."""
    given = dict(OPTIONS[name])
    logs = [StepLog(given.pop("every"))] if "every" in given else []
    return make(**given, **options, callbacks=[*callbacks, *logs])


@pytest.fixture(scope="module")
def uninterrupted():
    return {name: learned(make_one(name).fit(PARAGRAPHS)) for name in OPTIONS}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_training_that_stops_repeatedly(tmp_path, name, uninterrupted):
    options = {"checkpoint_dir": tmp_path, "resume": True}
    for n_steps in (3, 6, 1):
        with pytest.raises(StopError):
            make_one(name, **options, checkpoint_every=0, callbacks=[StopAfter(n_steps)]).fit(
                PARAGRAPHS
            )
    assert_same_bits(learned(make_one(name, **options).fit(PARAGRAPHS)), uninterrupted[name])
    # Nothing is left to resume.
    assert_same_bits(
        learned(make_one(name, **options, callbacks=[StopAfter(1)]).fit(PARAGRAPHS)),
        uninterrupted[name],
    )
    assert learned(load_model(tmp_path)) == uninterrupted[name]


@pytest.mark.parametrize("name", ["plain", "heads", "best between"])
@pytest.mark.parametrize("method", ["on_epoch_end", "on_train_end"])
def test_a_training_that_stops_at_the_end(tmp_path, name, method, uninterrupted):
    options = {"checkpoint_dir": tmp_path, "resume": True}
    with pytest.raises(StopError):
        make_one(name, **options, callbacks=[StopAtEnd(method)]).fit(PARAGRAPHS)
    assert load_model(tmp_path)._training_state.epoch == 2
    assert_same_bits(learned(make_one(name, **options).fit(PARAGRAPHS)), uninterrupted[name])


def test_a_training_that_stops_after_word_pretraining(tmp_path, uninterrupted, monkeypatch):
    options = {"checkpoint_dir": tmp_path, "resume": True}

    def stop(*args, **kwargs):
        raise StopError

    with monkeypatch.context() as patch:
        patch.setattr("sklearn_hashnlp.sentences._sgnn_sentence_encoder.fit_net", stop)
        with pytest.raises(StopError):
            make(**options).fit(PARAGRAPHS)
    monkeypatch.setattr("sklearn_hashnlp.sentences._sgnn_sentence_encoder.pretrain", stop)
    assert_same_bits(learned(make(**options).fit(PARAGRAPHS)), uninterrupted["plain"])


def test_parameters_that_may_differ(tmp_path, uninterrupted):
    with pytest.raises(StopError):
        make(checkpoint_dir=tmp_path, checkpoint_every=0, callbacks=[StopAfter(9)]).fit(PARAGRAPHS)
    others = {
        "n_jobs": 2,
        "random_state": None,
        "callbacks": [TimeLimit(1e9)],
        "checkpoint_every": 1e9,
    }
    others["device"] = "auto"
    resumed = make(**others, checkpoint_dir=str(tmp_path), resume=True).fit(PARAGRAPHS)
    assert_same_bits(learned(resumed), uninterrupted["plain"])
    assert resumed.random_state is None


OTHERS = [
    *(
        {"n_projections": 7},
        {"n_bits": 9},
        {"ngram_range": (1, 5)},
        {"projection_dim": 8},
        {"context_weight": 0.5},
    ),
    *(
        {"n_components_removed": 1},
        {"network__embedding_dim": 4},
        {"network__n_layers": 2},
        {"network": "auto"},
    ),
    *(
        {"n_tables": 1},
        {"table_bits": 5},
        {"init": "random"},
        {"word_steps": 1},
        {"objectives__loss": "bxent"},
    ),
    *(
        {"objectives__masked_weight": (0, 1)},
        {"max_sentences": 3},
        {"max_words": 4},
        {"max_epochs": 3},
    ),
    *({"batch_size": 8}, {"learning_rate": 0.1}, {"random_state": 1}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("training")
    with pytest.raises(StopError):
        make(checkpoint_dir=path, checkpoint_every=0, callbacks=[StopAfter(4)]).fit(PARAGRAPHS)
    return path


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_other_parameters_are_an_error(folder, other):
    name = next(iter(other)).partition("__")[0]
    before = (folder / "weights.safetensors").read_bytes()
    with pytest.raises(
        ValueError, match=rf"with {name}=.*: it was trained with .* or give another folder"
    ):
        make(**other, checkpoint_dir=folder, resume=True).fit(PARAGRAPHS)
    assert (folder / "weights.safetensors").read_bytes() == before


def test_another_device_is_an_error(folder):
    with pytest.raises(ValueError, match=r"with device='cuda': it was trained with 'cpu'\. Set"):
        check_same_training(
            make(checkpoint_dir=folder, resume=True, device="cuda"), load_model(folder)
        )


def test_other_paragraphs_are_an_error(folder):
    for others in (
        PARAGRAPHS[1:],
        PARAGRAPHS[::-1],
        [*PARAGRAPHS, "one more"],
        [PARAGRAPHS[0].upper() + "x"],
    ):
        with pytest.raises(
            ValueError, match=r"on these paragraphs: it was trained on others\. Give the same ones"
        ):
            make(checkpoint_dir=folder, resume=True).fit(others)
    with pytest.raises(ValueError, match="on these paragraphs: it was trained on others"):
        make(checkpoint_dir=folder, resume=True, sentence_splitter=lambda text: [text]).fit(
            PARAGRAPHS
        )


def test_folders_that_are_not_empty(tmp_path, folder):
    with pytest.raises(ValueError, match=r"already has .*\. Set resume=True to continue"):
        make(checkpoint_dir=folder).fit(PARAGRAPHS)
    (tmp_path / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(ValueError, match=r"already has notes\.txt"):
            make(checkpoint_dir=tmp_path, resume=resume).fit(PARAGRAPHS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    save_model(SGNNProjector(), tmp_path / "projector")
    with pytest.raises(ValueError, match=r"has a SGNNProjector\."):
        make(checkpoint_dir=tmp_path / "projector", resume=True).fit(PARAGRAPHS)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("weights.safetensors", "parameters.json"):
        (damaged / name).write_bytes((folder / name).read_bytes()[:-9])
    with pytest.raises(ModelFormatError):
        make(checkpoint_dir=damaged, resume=True).fit(PARAGRAPHS)


def test_default_bundles_are_the_same_as_auto(tmp_path):
    parameters = {"n_projections": 6, "n_tables": 0, "projection_dim": 16, "random_state": 0}
    parameters["checkpoint_dir"] = tmp_path
    encoder = SGNNSentenceEncoder(**parameters, network=Network()).fit(PARAGRAPHS)
    again = SGNNSentenceEncoder(**parameters, objectives=Objectives(), resume=True).fit(PARAGRAPHS)
    assert_same_bits(learned(again), learned(encoder))


def test_a_saved_encoder_without_training_state_is_loaded(tmp_path):
    encoder = make().fit(PARAGRAPHS)
    save_model(encoder, tmp_path)
    assert_same_bits(
        learned(make(checkpoint_dir=tmp_path, resume=True).fit(PARAGRAPHS)), learned(encoder)
    )


def test_a_checkpoint_dir_that_is_a_file(tmp_path):
    file = tmp_path / "model"
    file.write_text("x")
    for resume in (False, True):
        encoder = make(checkpoint_dir=file, resume=resume)
        with pytest.raises(FileExistsError, match="is a file"):
            encoder.fit(PARAGRAPHS)
        assert not hasattr(encoder, "net_")  # the error comes before the training


def test_when_checkpoints_are_saved(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "sklearn_hashnlp.training._checkpoints.save_model",
        lambda model, folder, training_state: saved.append(
            model._training_state and (model._training_state.epoch, model._training_state.batch)
        ),
    )
    make(checkpoint_dir=tmp_path).fit(PARAGRAPHS)
    assert saved == [(0, 0), (1, 0), (2, 0), None]
    saved.clear()
    make(checkpoint_dir=tmp_path, checkpoint_every=0).fit(PARAGRAPHS)
    assert len(saved) >= 15
    # after the first stage, and before each step
    assert saved[:4] == [(0, 0), (0, 0), (0, 1), (0, 2)]
    saved.clear()
    encoder = make(checkpoint_dir=tmp_path, checkpoint_every=0).partial_fit(PARAGRAPHS)
    assert not saved
    assert encoder.history_


def test_checkpoints_do_not_hold_functions_and_generators(tmp_path):
    functions = {"scoring": lambda encoder: 0.0, "sentence_splitter": lambda text: text.split(".")}
    generator = np.random.RandomState(0)
    encoder = make(
        checkpoint_dir=tmp_path, callbacks=[Callback()], random_state=generator, **functions
    )
    encoder.fit(PARAGRAPHS)
    loaded = load_model(tmp_path)
    assert (loaded.callbacks, loaded.scoring, loaded.random_state, loaded.sentence_splitter) == (
        None,
    ) * 4
    assert learned(loaded) == learned(encoder)
    assert (
        json.loads((tmp_path / "parameters.json").read_text())["model"]["class"]
        == "SGNNSentenceEncoder"
    )


def test_without_a_second_stage_there_is_no_training_state(tmp_path):
    with pytest.raises(ValueError, match="this model has no training state"):
        save_model(
            make(context_weight=0.0).fit(PARAGRAPHS), tmp_path / "folder", training_state=True
        )
