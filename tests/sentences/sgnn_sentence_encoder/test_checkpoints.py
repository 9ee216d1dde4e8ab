import json

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import load_model
from tests.sentence_texts import PARAGRAPHS, learned, make


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


def test_checkpoints_do_not_hold_functions_and_generators(tmp_path):
    functions = {"monitor": lambda encoder: 0.0, "sentence_splitter": lambda text: text.split(".")}
    generator = np.random.RandomState(0)
    encoder = make(checkpoint_dir=tmp_path, callbacks=[Callback()], random_state=generator, **functions)
    encoder.fit(PARAGRAPHS)
    loaded = load_model(tmp_path)
    assert (loaded.callbacks, loaded.monitor, loaded.random_state, loaded.sentence_splitter) == (None,) * 4
    assert learned(loaded) == learned(encoder)
    assert json.loads((tmp_path / "parameters.json").read_text())["model"]["class"] == "SGNNSentenceEncoder"
