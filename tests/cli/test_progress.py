"""The progress of trainings: moves of the bar, and lines of epochs and log entries."""

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.cli._progress import Progress
from sklearn_hashnlp.training import StepLog

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug"] * 5  # 70 words with </s>


class Told:
    def __init__(self, log: StepLog | None = None) -> None:
        self.lines: list[str] = []
        self.moves: list[tuple[float, int, str]] = []
        entries = (lambda: log.log_) if log is not None else list
        self.callback = Progress(
            self.lines.append, lambda *move: self.moves.append(move), log=entries, perplexity=True
        )


def model(told: Told, **parameters: Any) -> HsigmoidLanguageModel:
    sizes = {"order": 3, "embedding_dim": 4, "hidden_size": 4, "batch_size": 32, "max_epochs": 2}
    return HsigmoidLanguageModel(**sizes | parameters, random_state=0, callbacks=[told.callback])


def test_batches_move_and_epochs_tell() -> None:
    told = Told()
    trained = model(told).fit(SENTENCES)
    done = [0, 32 / 70, 64 / 70, 1, 1, 1 + 32 / 70, 1 + 64 / 70, 2]
    assert [move[0] for move in told.moves] == pytest.approx(done)
    assert {move[1] for move in told.moves} == {2}
    assert (told.moves[0][2], told.moves[-1][2]) == ("Epoch 1/2", "Epoch 2/2")
    perplexity = trained.history_[1]["train_perplexity"]
    assert [line.split("   ")[0] for line in told.lines] == ["Epoch 1/2", "Epoch 2/2"]
    assert f"training perplexity {perplexity:.2f}" in told.lines[1]


def test_the_log_and_validation_are_told() -> None:
    log = StepLog(2)
    told = Told(log)
    trained = (
        model(told).set_params(callbacks=[log, told.callback]).fit(SENTENCES, X_valid=SENTENCES[:2])
    )
    assert len(trained.log_) == 2
    assert [line.split("   ")[0] for line in told.lines] == [
        "  step 2",
        "Epoch 1/2",
        "  step 2",
        "Epoch 2/2",
    ]
    assert all("validation perplexity" in line for line in told.lines)
    assert f"validation perplexity {trained.perplexity(SENTENCES[:2]):.2f}" in told.lines[-1]


def test_epochs_before_an_interruption_count(tmp_path: Path) -> None:
    model(Told(), checkpoint_dir=tmp_path, max_epochs=1).fit(SENTENCES)
    told = Told()
    model(told, checkpoint_dir=tmp_path, max_epochs=3, resume=True).fit(SENTENCES)
    assert [line.split("   ")[0] for line in told.lines] == ["Epoch 2/3", "Epoch 3/3"]
    assert told.moves[0] == (1, 3, "Epoch 2/3")
    assert told.moves[-1][:2] == (3, 3)
