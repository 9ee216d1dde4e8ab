"""Trainings that are killed and taken up, and those that are refused."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.sentences._checkpoint import read_checkpoint
from sklearn_hashnlp.text import SGNNProjector
from tests.sentence_texts import PARAGRAPHS, make


def state_of(encoder):
    """Give all that was learned, to the last bit."""
    values, arrays = encoder._get_model_state()
    shown = {name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()}
    history = [(entry["epoch"], entry["train_loss"]) for entry in encoder.history_]
    return shown, values["seeds"], values["trained_on"], history, encoder.log_


class InterruptionError(Exception):
    pass


class StopAt(Callback):
    """Stop after so many steps in all, as a fault of the machine would."""

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def on_batch_end(self, net, **kwargs):
        self.n_steps -= 1
        if self.n_steps == 0:
            raise InterruptionError


def last_part(encoder):
    return float(encoder.transform(["bar carn"])[0, 0])


def falling(encoder):
    """Score the first weights of the second stage as the best, and later ones less and less."""
    return -float(len(encoder.log_))


def middle(encoder):
    return -abs(len(encoder.log_) - 4.0)


VARIED = {
    "plain": {},
    "heads": {"sentence_weight": (1, 0.2), "word_weight": (0, 1.0), "masked_weight": 0.5, "dropout": 0.2},
    "monitor, best first": {"monitor": falling, "log_every": 2},
    "monitor, best between": {"monitor": middle, "log_every": 3, "masked_weight": (0, 1)},
    "monitor, best last": {"monitor": last_part, "log_every": 5},
    "report": {"context_weight": 1.0, "n_layers": 2, "depths": 2, "start": "random", "n_tables": 0, "loss": "bxent"},
}


N_FIRST = 7  # steps of the first epoch


@pytest.fixture(scope="module")
def whole():
    return {name: state_of(make(**options).fit(PARAGRAPHS)) for name, options in VARIED.items()}


KILLS = """
import os, signal, sys
from skorch.callbacks import Callback
from tests.sentences.sgnn_sentence_encoder.test_resume import KILLED, VARIED
from tests.sentence_texts import PARAGRAPHS, make

class KillAfter(Callback):
    def __init__(self, n_steps):
        self.n_steps = n_steps

    def on_batch_end(self, net, **kwargs):
        self.n_steps -= 1
        if self.n_steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)

make(max_epochs=1).fit(PARAGRAPHS)  # loads everything, not to do so in each process
for place, (name, n_steps) in enumerate(KILLED):
    child = os.fork()
    if not child:
        kept = {"checkpoint_dir": f"{sys.argv[1]}/{place}", "checkpoint_every": 0, "n_jobs": 2, "resume": True}
        make(**VARIED[name], **kept, callbacks=[KillAfter(n_steps)]).fit(PARAGRAPHS)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
KILLED = [("plain", 1), ("heads", 12), ("monitor, best first", 11), ("monitor, best between", 13), ("report", 5)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
def test_a_training_that_was_killed_gives_the_same_weights_when_taken_up(tmp_path, whole):
    root = Path(__file__).parents[3]
    run = subprocess.run(
        [sys.executable, "-c", KILLS, str(tmp_path)], capture_output=True, text=True, check=False, cwd=root
    )
    assert run.stdout.split() == [str(-signal.SIGKILL)] * len(KILLED), run.stderr
    for place, (name, n_steps) in enumerate(KILLED):
        folder = tmp_path / str(place)
        state = load_model(folder)._training_state
        assert (state.epoch > 0) == (n_steps > 7), "both epochs are to be tried"
        assert len(state.losses) == state.batch == (n_steps - N_FIRST * state.epoch)
        kept = {"checkpoint_dir": folder, "resume": True, "n_jobs": 2}
        resumed = make(**VARIED[name], **kept).fit(PARAGRAPHS)
        assert state_of(resumed) == whole[name], (name, n_steps)


@pytest.mark.parametrize("name", VARIED)
def test_a_training_that_stops_again_and_again(tmp_path, name, whole):
    kept = {"checkpoint_dir": tmp_path, "resume": True}
    for n_steps in (3, 6, 1, 3):
        with pytest.raises(InterruptionError):
            make(**VARIED[name], **kept, checkpoint_every=0, callbacks=[StopAt(n_steps)]).fit(PARAGRAPHS)
    assert state_of(make(**VARIED[name], **kept).fit(PARAGRAPHS)) == whole[name]
    # Taken up once more there is nothing left to do.
    assert state_of(make(**VARIED[name], **kept, callbacks=[StopAt(1)]).fit(PARAGRAPHS)) == whole[name]
    assert state_of(load_model(tmp_path)) == whole[name]


class Moments(Callback):
    """Stop at the end of the second epoch, before the last checkpoint or after it."""

    def __init__(self, method):
        self.method = method

    def __getattribute__(self, name):
        if name in {"on_epoch_end", "on_train_end"} and name == object.__getattribute__(self, "method"):
            return self.stop
        return object.__getattribute__(self, name)

    def stop(self, net, **kwargs):
        if len(net.history) == 2:
            raise InterruptionError


@pytest.mark.parametrize("name", VARIED)
@pytest.mark.parametrize("moment", ["on_epoch_end", "on_train_end"])
def test_a_training_that_stops_at_its_very_end(tmp_path, name, moment, whole):
    kept = {"checkpoint_dir": tmp_path, "resume": True}
    with pytest.raises(InterruptionError):
        make(**VARIED[name], **kept, callbacks=[Moments(moment)]).fit(PARAGRAPHS)
    assert load_model(tmp_path)._training_state.epoch == 2
    assert state_of(make(**VARIED[name], **kept).fit(PARAGRAPHS)) == whole[name]


def test_a_training_that_stops_before_its_first_step_keeps_what_words_have_learned(tmp_path, whole, monkeypatch):
    kept = {"checkpoint_dir": tmp_path, "resume": True}

    def stop(*args, **kwargs):
        raise InterruptionError

    with monkeypatch.context() as patch:
        patch.setattr("sklearn_hashnlp.sentences._sgnn_sentence_encoder.fit_net", stop)
        with pytest.raises(InterruptionError):
            make(**kept).fit(PARAGRAPHS)
    monkeypatch.setattr("sklearn_hashnlp.sentences._sgnn_sentence_encoder.pretrain", stop)
    assert state_of(make(**kept).fit(PARAGRAPHS)) == whole["plain"]


def test_what_decides_nothing_may_be_another(tmp_path, whole):
    with pytest.raises(InterruptionError):
        make(checkpoint_dir=tmp_path, checkpoint_every=0, callbacks=[StopAt(9)]).fit(PARAGRAPHS)
    free = {"n_jobs": 2, "random_state": None, "verbose": 0, "max_time": 1e9, "checkpoint_every": 1e9, "device": "auto"}
    resumed = make(**free, checkpoint_dir=str(tmp_path), resume=True).fit(PARAGRAPHS)
    assert state_of(resumed) == whole["plain"]
    assert resumed.random_state is None


def test_a_file_is_no_folder_for_a_training(tmp_path):
    file = tmp_path / "model"
    file.write_text("x")
    for resume in (False, True):
        encoder = make(checkpoint_dir=file, resume=resume)
        with pytest.raises(FileExistsError, match="is a file"):
            encoder.fit(PARAGRAPHS)
        assert not hasattr(encoder, "net_")  # it is said before anything is learned


WRONG = [
    *({"n_projections": 7}, {"n_bits": 9}, {"ngram_range": (1, 5)}, {"projection_dim": 8}, {"context_weight": 0.5}),
    *(
        {"n_components_removed": 1},
        {"width": 4},
        {"n_layers": 2},
        {"n_heads": 1},
        {"feedforward_size": 8},
        {"pooling": "max"},
    ),
    *({"pooling_width": 3}, {"positions": False}, {"n_tables": 1}, {"table_bits": 5}, {"dropout": 0.1}),
    *({"start": "random"}, {"word_steps": 1}, {"loss": "bxent"}, {"temperature": 0.1}, {"sentence_weight": 2.0}),
    *({"word_weight": 1.0}, {"masked_weight": (0, 1)}, {"max_sentences": 3}, {"max_words": 4}, {"max_epochs": 3}),
    *({"batch_size": 8}, {"learning_rate": 0.1}, {"random_state": 1}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("training")
    with pytest.raises(InterruptionError):
        make(checkpoint_dir=path, checkpoint_every=0, callbacks=[StopAt(4)]).fit(PARAGRAPHS)
    return path


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_another_training_is_not_taken_up(folder, wrong):
    (name,) = wrong
    before = (folder / "weights.safetensors").read_bytes()
    with pytest.raises(ValueError, match=rf"cannot go on with the training in checkpoint_dir=.*: its {name} is .* Set"):
        make(**wrong, checkpoint_dir=folder, resume=True).fit(PARAGRAPHS)
    assert (folder / "weights.safetensors").read_bytes() == before


def test_a_training_on_another_device_is_not_taken_up(folder):
    with pytest.raises(ValueError, match=r"\(device='cuda'\) cannot go on with a training that is on 'cpu'\. Set"):
        read_checkpoint(make(checkpoint_dir=folder, resume=True, device="cuda"))


def test_other_paragraphs_are_not_taken_up(folder):
    for others in (PARAGRAPHS[1:], PARAGRAPHS[::-1], [*PARAGRAPHS, "one more"], [PARAGRAPHS[0].upper() + "x"]):
        with pytest.raises(ValueError, match=r"holds a training on other paragraphs\. Give the same ones"):
            make(checkpoint_dir=folder, resume=True).fit(others)
    with pytest.raises(ValueError, match="holds a training on other paragraphs"):
        make(checkpoint_dir=folder, resume=True, sentence_splitter=lambda text: [text]).fit(PARAGRAPHS)


def test_folders_that_hold_something(tmp_path, folder):
    with pytest.raises(ValueError, match=r"is not empty. Set resume=True to go on"):
        make(checkpoint_dir=folder).fit(PARAGRAPHS)
    (tmp_path / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(ValueError, match="is not empty"):
            make(checkpoint_dir=tmp_path, resume=resume).fit(PARAGRAPHS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    save_model(SGNNProjector(), tmp_path / "projector")
    with pytest.raises(ValueError, match=r"holds a SGNNProjector\."):
        make(checkpoint_dir=tmp_path / "projector", resume=True).fit(PARAGRAPHS)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("weights.safetensors", "parameters.json"):
        (damaged / name).write_bytes((folder / name).read_bytes()[:-9])
    with pytest.raises(ModelFormatError):
        make(checkpoint_dir=damaged, resume=True).fit(PARAGRAPHS)


def test_a_folder_of_an_encoder_without_training_has_nothing_to_go_on_with(tmp_path):
    encoder = make().fit(PARAGRAPHS)
    save_model(encoder, tmp_path)
    assert state_of(make(checkpoint_dir=tmp_path, resume=True).fit(PARAGRAPHS)) == state_of(encoder)


def test_how_often_is_saved(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "sklearn_hashnlp.sentences._sgnn_sentence_encoder.save_model",
        lambda model, folder, training_state: saved.append(
            model._training_state and (model._training_state.epoch, model._training_state.batch)
        ),
    )
    make(checkpoint_dir=tmp_path).fit(PARAGRAPHS)
    assert saved == [(0, 0), (1, 0), (2, 0), None]
    saved.clear()
    make(checkpoint_dir=tmp_path, checkpoint_every=0).fit(PARAGRAPHS)
    assert len(saved) >= 15
    assert saved[:4] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    saved.clear()
    encoder = make(checkpoint_dir=tmp_path, checkpoint_every=0).partial_fit(PARAGRAPHS)
    assert not saved
    assert encoder.history_


def test_saved_objects_are_left_out(tmp_path):
    generator = np.random.RandomState(0)
    splitter = {"sentence_splitter": lambda text: text.split(".")}
    encoder = make(
        checkpoint_dir=tmp_path, callbacks=[Callback()], monitor=last_part, random_state=generator, **splitter
    )
    encoder.fit(PARAGRAPHS)
    loaded = load_model(tmp_path)
    assert (loaded.callbacks, loaded.monitor, loaded.random_state, loaded.sentence_splitter) == (None,) * 4
    assert state_of(loaded) == state_of(encoder)
    assert json.loads((tmp_path / "parameters.json").read_text())["model"]["class"] == "SGNNSentenceEncoder"
