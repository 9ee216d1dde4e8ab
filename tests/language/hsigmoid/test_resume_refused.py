"""Trainings that must not be resumed, and one that is killed outright."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from sklearn_hashnlp import load_model
from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule
from sklearn_hashnlp.training import EarlyStopping

RNG = np.random.default_rng(1)
SENTENCES = [" ".join(RNG.choice(list("abcd"), size=RNG.integers(1, 7)).tolist()) for _ in range(60)]
VALID = [" ".join(RNG.choice(list("abcd"), size=4).tolist()) for _ in range(20)]


def make(folder, **options):
    small = {"order": 3, "embedding_dim": 6, "hidden_size": 12, "batch_size": 16, "max_epochs": 2, "random_state": 0}
    return HsigmoidLanguageModel(**small | {"checkpoint_dir": folder, "resume": True} | options)


@pytest.mark.parametrize(
    "others", [SENTENCES[::-1], SENTENCES[1:], [*SENTENCES, "a b"], [*SENTENCES[:-1], "d c b a d c b a"]], ids=len
)
def test_other_sentences(tmp_path, others):
    make(tmp_path).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"holds a training on other (sentences|words)"):
        make(tmp_path, max_epochs=3).fit(others)
    make(tmp_path, max_epochs=3).fit(iter(SENTENCES))


def test_folds_are_not_taken_for_each_other(tmp_path):
    with pytest.raises(ValueError, match="each fold of a cross-validation needs a folder of its own"):
        cross_val_score(make(tmp_path, vocabulary={"a": 0, "b": 1}), SENTENCES, cv=3, error_score="raise")


@pytest.mark.parametrize("early_stopping", [False, "valid_loss"])
def test_validation_sentences_that_were_added_or_left_out(tmp_path, early_stopping):
    make(tmp_path / "without").fit(SENTENCES)
    with pytest.raises(ValueError, match=r"training without validation sentences.*go on with them"):
        make(tmp_path / "without", early_stopping=early_stopping).fit(SENTENCES, X_valid=VALID)
    make(tmp_path / "with", early_stopping=early_stopping).fit(SENTENCES, X_valid=VALID)
    with pytest.raises(ValueError, match=r"training with validation sentences.*go on without them"):
        make(tmp_path / "with").fit(SENTENCES)


def test_the_best_epoch_is_gone(tmp_path):
    stopping = EarlyStopping("valid_loss", patience=None)
    options = {"early_stopping": stopping, "learning_rate": 0.1, "optimizer": "adam", "max_epochs": 9}
    losses = [entry["valid_loss"] for entry in make(tmp_path, **options).fit(SENTENCES, X_valid=VALID).history_]
    best = losses.index(min(losses)) + 1
    assert best < 9
    shutil.rmtree(tmp_path / f"epoch-{best:05d}")
    with pytest.raises(ValueError, match=f"lacks epoch-0000{best}, the best epoch"):
        make(tmp_path, **options).fit(SENTENCES, X_valid=VALID)


def test_the_digest_of_the_windows_is_saved(tmp_path):
    model = make((tmp_path, "all")).fit(SENTENCES)
    assert load_model(tmp_path / "epoch-00001")._trained_on == model._trained_on is not None
    assert model.partial_fit(SENTENCES)._trained_on is None


def test_a_process_that_is_killed_outright(tmp_path):
    code = (
        "import sys; from tests.language.hsigmoid.test_resume_refused import *\n"
        "make(sys.argv[1], max_epochs=10_000, schedule=LanguageSchedule('constant')).fit(SENTENCES)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[3])
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "epoch-00003").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    checkpoints = sorted(path for path in tmp_path.iterdir() if path.name.startswith("epoch-"))
    assert checkpoints
    last = len(load_model(checkpoints[-1]).history_)
    options = {"max_epochs": last + 2, "schedule": LanguageSchedule("constant")}
    resumed = make(tmp_path, **options).fit(SENTENCES)
    whole = make(None, resume=False, **options).fit(SENTENCES)
    assert resumed.score_samples(VALID).tobytes() == whole.score_samples(VALID).tobytes()
    assert not list(tmp_path.glob(".unfinished*"))
